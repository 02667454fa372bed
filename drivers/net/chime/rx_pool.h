// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_mempool.h>

#include "base/error.h"
#include "hca/memory.h"

namespace chime::net {

/// How the memory of a receive mempool lies, as far as refilling cares.
struct PoolLayout {
  std::uint32_t buffer_step;  ///< from an mbuf to behind its headroom
  std::uint32_t buffer_size;  ///< bytes of an mbuf behind the headroom
  std::uint32_t lkey_be;      ///< of all of it, unless many_keys
  bool read_buf_addr;         ///< buffers are not behind their mbufs (pinned external memory)
  bool many_keys;             ///< it lies in several registered ranges
};

/// @return EINVAL for a data room smaller than the headroom, EFAULT when some of it is not registered
Result<PoolLayout> layout_of(rte_mempool& pool, const hca::MemoryMap::Shared& keys) noexcept;

}  // namespace chime::net

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/array.h"
#include "base/error.h"
#include "hca/device.h"
#include "hca/verbs/handle.h"

namespace chime::hca::verbs {

/// ibv_reg_mr.
struct RegisteredRange {
  Owned<Handle> handle;
  std::uint32_t lkey;
  std::uint32_t rkey;
};
Result<RegisteredRange> register_range(const Handle& pd, void* address, std::size_t length,
                                       Access access) noexcept;

/// mlx5dv_devx_umem_reg.
Result<Owned<Handle>> make_umem(ibv_context& context, void* address, std::size_t length,
                                Access access) noexcept;

}  // namespace chime::hca::verbs

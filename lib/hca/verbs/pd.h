// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>

#include "base/array.h"
#include "base/error.h"
#include "hca/verbs/handle.h"

namespace chime::hca::verbs {

/// A protection domain that commands and ibv_reg_mr both know: made by the kernel for the user context, its
/// number told by rdma-core.
/// @param out ALLOC_PD's answer is written there
Result<Owned<Handle>> alloc_pd(ibv_context& context, std::span<std::byte> out) noexcept;

}  // namespace chime::hca::verbs

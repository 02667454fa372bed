// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>

#include "base/array.h"
#include "base/error.h"
#include "hca/verbs/handle.h"

/// @file
/// Commands of a user context: DevX.

namespace chime::hca::verbs {

Result<> general_command(ibv_context& context, std::span<const std::byte> in,
                         std::span<std::byte> out) noexcept;
/// ALLOC_PD becomes ibv_alloc_pd: memory can be registered on it too.
Result<Owned<Handle>> create_object(ibv_context& context, std::span<const std::byte> in,
                                    std::span<std::byte> out) noexcept;
Result<> modify_object(const Handle& handle, std::span<const std::byte> in,
                       std::span<std::byte> out) noexcept;
Result<> query_object(const Handle& handle, std::span<const std::byte> in, std::span<std::byte> out) noexcept;

}  // namespace chime::hca::verbs

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>

#include "hca/device.h"
#include "model/hca.h"

/// @file
/// What tests ask of an embedded HCA. Every Device here must be one that Runtime::open made without `ibdev`.

namespace chime::hca::embedded {

/// The card's live objects by kind. @return number of kinds written
std::size_t count_objects(Device& device, std::span<model::ObjectCount> counts) noexcept;

/// The n-th command from now is answered INTERNAL_ERR without reaching the card; 1 is the next, 0 none.
void fail_command(Device& device, unsigned n) noexcept;

/// Executes a command as it is, uid included: what the kernel or another user context would do.
Result<> execute(Device& device, std::span<const std::byte> in, std::span<std::byte> out) noexcept;

/// Objects whose handles ended but which the card refused to destroy; a test wants 0.
std::uint32_t refused_destroys(Device& device) noexcept;

/// The device's condition() is an error from now on, as that of a card that was taken away.
void lose(Device& device) noexcept;

}  // namespace chime::hca::embedded

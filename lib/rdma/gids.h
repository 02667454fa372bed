// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>

#include "base/error.h"
#include "hca/device.h"

namespace chime::rdma {

/// An own address of the port.
struct OwnGid {
  std::array<std::uint8_t, 16> gid;
  std::array<std::uint8_t, 6> mac;
};
/// The place of the GID table; an empty or an impossible one is an error that says which there are.
Result<OwnGid> read_gid(hca::Device& device, std::uint32_t index) noexcept;

}  // namespace chime::rdma

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>

#include "base/error.h"
#include "hca/model/kernel.h"
#include "hca/port.h"

/// @file
/// What the kernel writes to and reads from the NIC's virtual port.

namespace chime::hca::embedded {

Result<MacAddress> read_address(Kernel& kernel) noexcept;
Result<> write_address(Kernel& kernel, const MacAddress& mac) noexcept;
/// Frames of raw queues to the port's own addresses go to the wire, as mlx5_core has it while there is one
/// user context.
Result<> disable_local_loopback(Kernel& kernel) noexcept;
Result<> write_vport_mtu(Kernel& kernel, std::uint32_t mtu) noexcept;
/// The addresses that the port lets in: its own and further ones. ENOSPC names the card's limit.
Result<> write_unicast(Kernel& kernel, const MacAddress& own, std::span<const MacAddress> list) noexcept;
Result<> write_multicast(Kernel& kernel, std::span<const MacAddress> list) noexcept;
Result<> write_promiscuity(Kernel& kernel, bool promiscuous, bool all_multicast) noexcept;

/// Sets the packets and bytes by kind, and the errors.
Result<> read_vport_counters(Kernel& kernel, PortCounters& counters) noexcept;
Result<> read_steer_missed(Kernel& kernel, PortCounters& counters) noexcept;

}  // namespace chime::hca::embedded

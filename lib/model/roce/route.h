// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "model/card.h"
#include "model/object/qp.h"
#include "model/packet/roce.h"
#include "model/roce/send_wqe.h"

/// @file
/// From address paths and GIDs to what lies below BTH.

namespace chime::model {

/// The table's entry that RoCE v2 packets can be sent from or come to; nullptr when it is empty or of v1.
const RoceAddress* roce_address(const Hca::Card& card, std::uint32_t index) noexcept;

/// RC and UC. @return false when the path's GID index names nothing
bool connected_route(const Hca::Card& card, const QpPath& path, net::RouteHeader& route) noexcept;

/// One datagram. @return false when the vector's GID index names nothing
bool datagram_route(const Hca::Card& card, const WqeAddressVector& vector, net::RouteHeader& route) noexcept;

/// The address at which a packet came, and the one that it came from, as GIDs.
struct PacketAddresses {
  GidBytes source{};
  GidBytes destination{};
};
PacketAddresses packet_addresses(const std::byte* front, const net::Headers& headers) noexcept;

/// Whether a packet to `destination` under this tag and MAC address is for the entry.
bool is_for(const RoceAddress& address, const GidBytes& destination, const net::Headers& headers) noexcept;

}  // namespace chime::model

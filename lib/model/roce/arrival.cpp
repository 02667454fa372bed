// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>

#include "model/datapath/gather.h"
#include "model/datapath/report.h"
#include "model/packet/bytes.h"
#include "model/roce/roce.h"
#include "model/roce/route.h"

/// From a received frame to the queue pair that it is for.

namespace chime::model {
namespace {

using net::RoceKind;

constexpr std::uint32_t grh_size = 40;

/// CQE flags_rqpn: what lies before a datagram.
constexpr std::uint32_t cqe_grh = 1u << 28, cqe_roce_ipv6 = 1u << 24, cqe_roce_ipv4 = 2u << 24;

bool answers(RoceKind kind) noexcept {
  return kind == RoceKind::acknowledge || kind == RoceKind::read_response ||
         kind == RoceKind::atomic_acknowledge || kind == RoceKind::extended_acknowledge;
}

bool receives(QpState state) noexcept {
  return state == QpState::rtr || state == QpState::rts || state == QpState::sqd || state == QpState::sqer;
}

bool serves(const Qp& qp, net::Transport transport) noexcept {
  switch (qp.service) {
    case QpService::rc:
      return transport == net::Transport::rc || transport == net::Transport::manufacturer;
    case QpService::uc:
      return transport == net::Transport::uc;
    case QpService::ud:
    case QpService::gsi:
      return transport == net::Transport::ud;
    case QpService::xrc:
      return transport == net::Transport::xrc || transport == net::Transport::manufacturer;
    case QpService::umr:
      return false;
  }
  return false;
}

}  // namespace

void Roce::drop(Fault fault, std::uint32_t number, std::uint64_t detail) noexcept {
  if (worth_a_word(++dropped_)) {
    report(shared_.card, fault, number, "QP 0x%x: %s (0x%llx); dropped so far: %llu", number,
           info(fault).meaning, static_cast<unsigned long long>(detail),
           static_cast<unsigned long long>(dropped_));
  }
}

/// Whether the packet comes to an address of the port; of a connected QP, to its own from the other end's.
Roce::Address Roce::address_of(const Qp* qp, const std::byte* front, const net::Headers& headers) noexcept {
  const PacketAddresses at = packet_addresses(front, headers);
  if (qp && is_connected(qp->service)) {
    const RoceAddress* const own = roce_address(shared_.card, qp->attributes.path.gid_index);
    if (own && is_for(*own, at.destination, headers)) {
      return at.source == qp->attributes.path.remote_gid || !receives(qp->state) ? Address::own
                                                                                 : Address::wrong;
    }
  }
  for (const RoceAddress& address : shared_.card.roce_addresses) {
    if (address.empty() || !is_for(address, at.destination, headers)) continue;
    return qp && is_connected(qp->service) && receives(qp->state) ? Address::wrong : Address::own;
  }
  return Address::other;
}

bool Roce::take(const std::byte* front, const net::Headers& headers, const Frame& frame, bool own) noexcept {
  const std::uint32_t bth = std::uint32_t{headers.l4_offset} + net::udp_header;
  std::uint32_t available = frame.segments[0].length;
  if (front != frame.segments[0].data) {
    available = std::min({frame.length, net::usual_header_room});
  }
  const bool has_bth = available >= bth + net::bth_size;
  const std::uint32_t number = has_bth ? net::load_be<std::uint32_t>(front + bth + 4) & net::psn_mask : 0;
  Qp* const qp = number == gsi_qpn ? shared_.card.gsi : shared_.card.qps.find(number);
  const GidBytes group = number == multicast_qpn ? packet_addresses(front, headers).destination : GidBytes{};
  const bool to_group = number == multicast_qpn && shared_.card.multicast.members(group) != 0;
  const Address address = to_group ? Address::own : address_of(qp, front, headers);
  if (address == Address::other) return false;

  // All of it in one piece.
  const std::byte* whole = frame.segments[0].data;
  if (frame.segment_count != 1) {
    if (frame.length > packet_.size()) {
      drop(Fault::roce_malformed, number, frame.length);
      return true;
    }
    gather(packet_.data(), {frame.segments, frame.segment_count}, frame.length);
    whole = packet_.data();
  }
  net::RocePacket packet;
  const net::RoceParse parsed = net::parse_roce(packet, whole, frame.length, headers);
  const Segment piece{whole, frame.length};
  if (parsed == net::RoceParse::truncated) {
    drop(Fault::roce_malformed, number, frame.length);
  } else if (!net::icrc_ok(whole, {&piece, 1}, headers)) {
    drop(Fault::roce_icrc, number, packet.psn);
  } else if (parsed != net::RoceParse::ok) {
    drop(Fault::roce_malformed, number, packet.opcode);
  } else if (to_group) {
    shared_.card.multicast.for_each(group, [&](Qp& member) {
      const bool blocked = own && member.block_own_multicast && packet.source_qpn == member.number;
      if (!blocked) dispatch(member, packet, whole, headers);
    });
  } else if (!qp) {
    drop(Fault::roce_unknown_qp, number, packet.opcode);
  } else if (address == Address::wrong) {
    drop(Fault::roce_address, number, packet.psn);
  } else {
    dispatch(*qp, packet, whole, headers);
  }
  return true;
}

void Roce::dispatch(Qp& qp, const net::RocePacket& packet, const std::byte* frame,
                    const net::Headers& headers) noexcept {
  if (!receives(qp.state)) {
    drop(Fault::roce_qp_state, qp.number, static_cast<std::uint64_t>(qp.state));
    return;
  }
  if (!serves(qp, packet.transport)) {
    drop(Fault::roce_service, qp.number, packet.opcode);
    return;
  }
  const std::byte* const payload = frame + packet.payload_offset;
  if (answers(packet.shape.kind)) {
    requester_.receive(qp, packet, payload);
    return;
  }
  std::byte network[grh_size] = {};
  std::uint32_t flags = 0;
  if (is_datagram(qp.service)) {
    const std::byte* const l3 = frame + headers.l3_offset;
    const bool ipv6 = headers.l3 == net::L3::ipv6;
    flags = cqe_grh | (ipv6 ? cqe_roce_ipv6 : cqe_roce_ipv4);
    // An IPv4 header is the last half.
    constexpr std::uint32_t ipv4 = 20;
    std::memcpy(network + (ipv6 ? 0 : grh_size - ipv4), l3, ipv6 ? grh_size : ipv4);
  }
  responder_.receive(qp, packet, payload, network, flags);
}

}  // namespace chime::model

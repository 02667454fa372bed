// SPDX-License-Identifier: BSD-3-Clause
#include "model/packet/roce.h"

#include <algorithm>

#include "model/packet/bytes.h"

namespace chime::net {
namespace {

constexpr std::uint32_t reth_size = 16, atomic_eth_size = 28, atomic_ack_size = 8, imm_size = 4;
constexpr std::uint32_t deth_size = 8, xrceth_size = 4, ieth_size = 4;
constexpr unsigned ops = 0x18;

constexpr RoceShape shape(RoceKind kind, bool first, bool last, bool immediate = false,
                          bool invalidate = false) noexcept {
  const bool reth = kind == RoceKind::read_request || (kind == RoceKind::write && first);
  const bool aeth = kind == RoceKind::acknowledge || kind == RoceKind::atomic_acknowledge ||
                    kind == RoceKind::extended_acknowledge ||
                    (kind == RoceKind::read_response && (first || last));
  std::uint32_t headers = (reth ? reth_size : 0) + (aeth ? aeth_size : 0) + (immediate ? imm_size : 0) +
                          (invalidate ? ieth_size : 0);
  if (kind == RoceKind::atomic) headers += atomic_eth_size;
  if (kind == RoceKind::atomic_acknowledge) headers += atomic_ack_size;
  if (kind == RoceKind::extended_atomic) headers += extended_atomic_header;
  return {kind, first, last, immediate, invalidate, reth, aeth, static_cast<std::uint8_t>(headers)};
}

/// By RoceOp.
constexpr RoceShape shapes[ops] = {
    shape(RoceKind::send, true, false),
    shape(RoceKind::send, false, false),
    shape(RoceKind::send, false, true),
    shape(RoceKind::send, false, true, true),
    shape(RoceKind::send, true, true),
    shape(RoceKind::send, true, true, true),
    shape(RoceKind::write, true, false),
    shape(RoceKind::write, false, false),
    shape(RoceKind::write, false, true),
    shape(RoceKind::write, false, true, true),
    shape(RoceKind::write, true, true),
    shape(RoceKind::write, true, true, true),
    shape(RoceKind::read_request, true, true),
    shape(RoceKind::read_response, true, false),
    shape(RoceKind::read_response, false, false),
    shape(RoceKind::read_response, false, true),
    shape(RoceKind::read_response, true, true),
    shape(RoceKind::acknowledge, true, true),
    shape(RoceKind::atomic_acknowledge, true, true),
    shape(RoceKind::atomic, true, true),
    shape(RoceKind::atomic, true, true),
    RoceShape{},
    shape(RoceKind::send, false, true, false, true),
    shape(RoceKind::send, true, true, false, true),
};
static_assert(bth_size + xrceth_size + atomic_eth_size <= largest_bth &&
              bth_size + reth_size + imm_size <= largest_bth);

constexpr Transport transport_of(std::uint8_t opcode) noexcept {
  return static_cast<Transport>(opcode >> 5);
}

/// XRC's requests name a shared receive queue.
constexpr bool has_xrceth(Transport transport, RoceKind kind) noexcept {
  return transport == Transport::xrc && (kind == RoceKind::send || kind == RoceKind::write ||
                                         kind == RoceKind::read_request || kind == RoceKind::atomic);
}

}  // namespace

RoceShape roce_shape(std::uint8_t opcode) noexcept {
  if (opcode == extended_atomic_request) return shape(RoceKind::extended_atomic, true, true);
  if (opcode == extended_atomic_acknowledge) return shape(RoceKind::extended_acknowledge, true, true);
  const unsigned op = opcode & 0x1f;
  if (op >= ops) return {};
  switch (transport_of(opcode)) {
    case Transport::rc:
      return shapes[op];
    case Transport::xrc: {
      RoceShape request = shapes[op];
      if (has_xrceth(Transport::xrc, request.kind)) {
        request.headers = static_cast<std::uint8_t>(request.headers + xrceth_size);
      }
      return request;
    }
    case Transport::uc:
      if (shapes[op].invalidate) return {};
      return shapes[op].kind == RoceKind::send || shapes[op].kind == RoceKind::write ? shapes[op]
                                                                                     : RoceShape{};
    case Transport::ud: {
      if (shapes[op].kind != RoceKind::send || !shapes[op].first || !shapes[op].last) return {};
      if (shapes[op].invalidate) return {};
      RoceShape datagram = shapes[op];
      datagram.headers = static_cast<std::uint8_t>(datagram.headers + deth_size);
      return datagram;
    }
    default:
      return {};
  }
}

bool is_roce(const std::byte* front, const Headers& headers) noexcept {
  return headers.l4 == L4::udp && load_be<std::uint16_t>(front + headers.l4_offset + 2) == roce_port;
}

RoceParse parse_roce(RocePacket& packet, const std::byte* front, std::uint32_t available,
                     const Headers& headers) noexcept {
  const std::uint32_t bth = std::uint32_t{headers.l4_offset} + udp_header;
  const std::uint32_t end = headers.ip_end;
  if (!headers.ip_length_ok || end < bth + bth_size + icrc_size || available < bth + bth_size) {
    return RoceParse::truncated;
  }
  if (load_be<std::uint16_t>(front + headers.l4_offset + 4) != end - headers.l4_offset) {
    return RoceParse::truncated;
  }
  const std::byte* at = front + bth;
  packet.opcode = byte_at(at);
  const std::uint8_t flags = byte_at(at + 1);
  packet.solicited = (flags & 0x80) != 0;
  packet.pad = flags >> 4 & 3;
  packet.partition = load_be<std::uint16_t>(at + 2);
  packet.qpn = load_be<std::uint32_t>(at + 4) & psn_mask;
  const auto word = load_be<std::uint32_t>(at + 8);
  packet.ack_request = word >> 31 != 0;
  packet.psn = word & psn_mask;
  packet.transport = transport_of(packet.opcode);
  packet.shape = roce_shape(packet.opcode);
  if ((flags & 0xf) != 0) return RoceParse::version;
  if (packet.shape.kind == RoceKind::unknown) return RoceParse::opcode;

  const RoceShape& s = packet.shape;
  packet.payload_offset = bth + bth_size + s.headers;
  if (packet.payload_offset > available || packet.payload_offset + packet.pad + icrc_size > end) {
    return RoceParse::truncated;
  }
  packet.payload_length = end - icrc_size - packet.pad - packet.payload_offset;
  at += bth_size;
  if (has_xrceth(packet.transport, s.kind)) {
    packet.srqn = load_be<std::uint32_t>(at) & psn_mask;
    at += xrceth_size;
  }
  if (packet.transport == Transport::ud) {
    packet.qkey = load_be<std::uint32_t>(at);
    packet.source_qpn = load_be<std::uint32_t>(at + 4) & psn_mask;
    at += deth_size;
  }
  if (s.reth || s.kind == RoceKind::atomic || s.kind == RoceKind::extended_atomic) {
    packet.address = load_be<std::uint64_t>(at);
    packet.rkey = load_be<std::uint32_t>(at + 8);
    if (s.reth) {
      packet.message_length = load_be<std::uint32_t>(at + 12);
      at += reth_size;
    } else if (s.kind == RoceKind::atomic) {
      packet.swap_or_add = load_be<std::uint64_t>(at + 12);
      packet.compare = load_be<std::uint64_t>(at + 20);
    } else {
      packet.extended_kind = byte_at(at + 12);
      packet.log_size = byte_at(at + 13);
    }
  }
  if (s.aeth) {
    const auto aeth = load_be<std::uint32_t>(at);
    packet.syndrome = static_cast<std::uint8_t>(aeth >> 24);
    packet.msn = aeth & psn_mask;
    at += aeth_size;
  }
  if (s.kind == RoceKind::atomic_acknowledge) packet.original = load_be<std::uint64_t>(at);
  if (s.immediate || s.invalidate) packet.immediate = load_be<std::uint32_t>(at);
  return RoceParse::ok;
}

std::uint32_t write_roce(std::byte* to, const RocePacket& packet) noexcept {
  const RoceShape s = roce_shape(packet.opcode);
  store_be(to, packet.opcode);
  store_be(to + 1, static_cast<std::uint8_t>((packet.solicited ? 0x80 : 0) | 0x40 | packet.pad << 4));
  store_be(to + 2, packet.partition);
  store_be(to + 4, packet.qpn & psn_mask);
  store_be(to + 8, (packet.ack_request ? 0x80000000u : 0u) | (packet.psn & psn_mask));
  std::byte* at = to + bth_size;
  if (has_xrceth(transport_of(packet.opcode), s.kind)) {
    store_be(at, packet.srqn & psn_mask);
    at += xrceth_size;
  }
  if (transport_of(packet.opcode) == Transport::ud) {
    store_be(at, packet.qkey);
    store_be(at + 4, packet.source_qpn & psn_mask);
    at += deth_size;
  }
  if (s.reth || s.kind == RoceKind::atomic || s.kind == RoceKind::extended_atomic) {
    store_be(at, packet.address);
    store_be(at + 8, packet.rkey);
    if (s.reth) {
      store_be(at + 12, packet.message_length);
      at += reth_size;
    } else if (s.kind == RoceKind::atomic) {
      store_be(at + 12, packet.swap_or_add);
      store_be(at + 20, packet.compare);
      at += atomic_eth_size;
    } else {
      store_be(at + 12, std::uint32_t{packet.extended_kind} << 24 | std::uint32_t{packet.log_size} << 16);
      at += extended_atomic_header;
    }
  }
  if (s.aeth) {
    store_be(at, std::uint32_t{packet.syndrome} << 24 | (packet.msn & psn_mask));
    at += aeth_size;
  }
  if (s.kind == RoceKind::atomic_acknowledge) {
    store_be(at, packet.original);
    at += atomic_ack_size;
  }
  if (s.immediate || s.invalidate) {
    store_be(at, packet.immediate);
    at += imm_size;
  }
  return static_cast<std::uint32_t>(at - to);
}

}  // namespace chime::net

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "model/packet/headers.h"
#include "model/wire.h"

/// @file
/// RoCE v2 packets (InfiniBand Architecture Specification, volume 1, and its annex A17):
///
///     Ethernet (VLAN) | IPv4 or IPv6 | UDP, port 4791 | BTH | extension headers | payload, pad | ICRC
///
///      BTH  +--------+--------+--------+--------+     RETH +-----------------------------------+
///       00  | opcode |se m pad|    partition    |       00 | address                           |
///       04  |f b     |    destination QP        |       08 | rkey                              |
///       08  |a       |    PSN                   |       0c | length of the whole message       |
///           +--------+--------+--------+--------+          +-----------------------------------+
///      AETH +--------+--------------------------+     AtomicETH: address, rkey, swap or add, compare
///       00  |syndrome|    MSN                   |     AtomicAckETH: the original value
///           +--------+--------------------------+     DETH: qkey, source QP     ImmDt: immediate data
///      XRCETH, behind the BTH of XRC's requests: shared receive queue; IETH: an rkey to invalidate
///
/// Masked atomics and those of other sizes than 8 bytes have no opcode in the specification; they are sent
/// in two of the opcodes that it leaves to manufacturers (doc/prm/extended-atomics.rst).

namespace chime::net {

inline constexpr std::uint16_t roce_port = 4791;
inline constexpr std::uint32_t udp_header = 8;
inline constexpr std::uint32_t bth_size = 12;
inline constexpr std::uint32_t aeth_size = 4;
inline constexpr std::uint32_t icrc_size = 4;
inline constexpr std::uint16_t default_partition = 0xffff;

inline constexpr std::uint32_t psn_mask = 0xffffff;

/// How far `psn` is ahead of `of`, or behind (negative); numbers have 24 bits and go round.
constexpr std::int32_t psn_distance(std::uint32_t psn, std::uint32_t of) noexcept {
  return static_cast<std::int32_t>((psn - of) << 8) >> 8;
}
constexpr std::uint32_t psn_add(std::uint32_t psn, std::uint32_t count) noexcept {
  return (psn + count) & psn_mask;
}

/// Opcode bits [7:5].
enum class Transport : std::uint8_t {
  rc = 0,
  uc = 1,
  rd = 2,
  ud = 3,
  congestion = 4,
  xrc = 5,
  manufacturer = 6
};

/// Opcode bits [4:0]; not every transport has all of them.
enum class RoceOp : std::uint8_t {
  send_first = 0x00,
  send_middle = 0x01,
  send_last = 0x02,
  send_last_imm = 0x03,
  send_only = 0x04,
  send_only_imm = 0x05,
  write_first = 0x06,
  write_middle = 0x07,
  write_last = 0x08,
  write_last_imm = 0x09,
  write_only = 0x0a,
  write_only_imm = 0x0b,
  read_request = 0x0c,
  read_response_first = 0x0d,
  read_response_middle = 0x0e,
  read_response_last = 0x0f,
  read_response_only = 0x10,
  acknowledge = 0x11,
  atomic_acknowledge = 0x12,
  compare_swap = 0x13,
  fetch_add = 0x14,
  send_last_invalidate = 0x16,
  send_only_invalidate = 0x17,
};

/// The manufacturer's: an extended atomic, and its acknowledgement.
inline constexpr std::uint8_t extended_atomic_request = 0xd3;
inline constexpr std::uint8_t extended_atomic_acknowledge = 0xd2;

inline constexpr unsigned op_mask = 0x1f;

constexpr std::uint8_t roce_opcode(Transport transport, RoceOp op) noexcept {
  return static_cast<std::uint8_t>(static_cast<unsigned>(transport) << 5 | static_cast<unsigned>(op));
}

/// What a packet is for.
enum class RoceKind : std::uint8_t {
  unknown,
  send,
  write,
  read_request,
  read_response,
  acknowledge,
  atomic,
  atomic_acknowledge,
  extended_atomic,
  extended_acknowledge,
};

/// What follows from an opcode alone.
struct RoceShape {
  RoceKind kind = RoceKind::unknown;
  bool first = false;       ///< begins a message
  bool last = false;        ///< ends one
  bool immediate = false;   ///< has ImmDt
  bool invalidate = false;  ///< has IETH
  bool reth = false;
  bool aeth = false;
  std::uint8_t headers = 0;  ///< bytes of extension headers
};

RoceShape roce_shape(std::uint8_t opcode) noexcept;

/// The extended atomic's header, 16 bytes, before its operands.
///
///     +-----------------------------------+
///  00 | address                           |
///  08 | rkey                              |
///  0c | kind   |log size| 0               |
///     +-----------------------------------+
///  10 | operands, as they lie in the WQE  |
///     +-----------------------------------+
inline constexpr std::uint32_t extended_atomic_header = 16;

/// A packet's headers in host order. Fields that the opcode does not have are left as they were.
struct RocePacket {
  std::uint8_t opcode = 0;
  RoceShape shape;
  Transport transport = Transport::rc;
  bool solicited = false;
  bool ack_request = false;
  std::uint8_t pad = 0;  ///< bytes behind the payload
  std::uint16_t partition = default_partition;
  std::uint32_t qpn = 0;
  std::uint32_t psn = 0;

  std::uint64_t address = 0;         // RETH, AtomicETH
  std::uint32_t rkey = 0;            // RETH, AtomicETH
  std::uint32_t message_length = 0;  // RETH
  std::uint64_t swap_or_add = 0;     // AtomicETH
  std::uint64_t compare = 0;         // AtomicETH
  std::uint8_t extended_kind = 0;    // extended atomic: as AtomicKind of model/roce/atomic.h
  std::uint8_t log_size = 0;         // extended atomic: log2 of bytes
  std::uint8_t syndrome = 0;         // AETH
  std::uint32_t msn = 0;             // AETH
  std::uint64_t original = 0;        // AtomicAckETH
  std::uint32_t immediate = 0;       // ImmDt; IETH: the rkey
  std::uint32_t qkey = 0;            // DETH
  std::uint32_t source_qpn = 0;      // DETH
  std::uint32_t srqn = 0;            // XRCETH

  std::uint32_t payload_offset = 0;  ///< in the frame
  std::uint32_t payload_length = 0;  ///< without pad
};

/// AETH syndromes: kind [6:5], value [4:0].
inline constexpr std::uint8_t aeth_ack = 0x1f;  ///< with a credit count that says nothing
inline constexpr std::uint8_t aeth_rnr = 0x20;  ///< with the timer's number
inline constexpr std::uint8_t aeth_nak = 0x60;
enum class Nak : std::uint8_t {
  sequence_error = 0,
  invalid_request = 1,
  remote_access = 2,
  remote_operation = 3,
  invalid_rd_request = 4,
};

/// Whether a parsed frame is UDP to RoCE's port.
bool is_roce(const std::byte* front, const Headers& headers) noexcept;

enum class RoceParse : std::uint8_t { ok, truncated, version, opcode };

/// Reads BTH and extension headers. Everything that the headers promise is within the frame when it says ok.
/// @param front     the frame's first bytes
/// @param available bytes of `front`
RoceParse parse_roce(RocePacket& packet, const std::byte* front, std::uint32_t available,
                     const Headers& headers) noexcept;

/// Writes BTH and extension headers for `packet.opcode` and returns their length; `transport` and payload
/// are not looked at.
std::uint32_t write_roce(std::byte* to, const RocePacket& packet) noexcept;

/// Everything of a packet below BTH that does not change from one to the next.
struct RoceRoute {
  std::array<std::uint8_t, 6> destination_mac{};
  std::array<std::uint8_t, 6> source_mac{};
  bool tagged = false;
  std::uint16_t tci = 0;
  bool ipv6 = false;
  std::array<std::uint8_t, 16> source{};       ///< an IPv4 address is the last four
  std::array<std::uint8_t, 16> destination{};  ///< likewise
  std::uint8_t traffic_class = 0;              ///< DSCP and ECN
  std::uint8_t hop_limit = 0;
  std::uint32_t flow_label = 0;
  std::uint16_t source_port = 0;
};

inline constexpr std::uint32_t largest_route = ethernet_header + vlan_tag_size + 40 + udp_header;
inline constexpr std::uint32_t largest_bth = bth_size + 28 + 4;  ///< with extension headers

/// The route as bytes, lengths and IPv4 checksum left 0.
struct RouteHeader {
  std::array<std::byte, largest_route> bytes;
  std::uint8_t length = 0;
  std::uint8_t l3_offset = 0;
  bool ipv6 = false;
};

RouteHeader make_route_header(const RoceRoute& route) noexcept;

/// Completes a frame: `route` at `frame`, BTH and all but ICRC behind it are there already.
/// @param content bytes of BTH, extension headers, payload and pad
/// @return bytes of the whole frame
std::uint32_t finish_roce(std::byte* frame, const RouteHeader& route, std::uint32_t content) noexcept;

/// ICRC of a packet that begins at its IP header, as it is stored: all that a router may change counts as
/// ones.
/// @param segments  the frame
/// @param l3_offset of the IP header in it
/// @param length    from the IP header to the ICRC
std::uint32_t icrc_of(const std::byte* front, std::span<const model::Segment> segments,
                      const Headers& headers) noexcept;

/// Whether the frame's last four bytes are its ICRC.
bool icrc_ok(const std::byte* front, std::span<const model::Segment> segments,
             const Headers& headers) noexcept;

}  // namespace chime::net

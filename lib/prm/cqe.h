// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "prm/be.h"

/// @file
/// The 64-byte completion queue element. The card toggles the owner bit at every pass over the ring:
/// an entry is software's when owner == (consumer_index >> log_cq_size) & 1 and the opcode is not `invalid`.
///
///     received packet                                   error
///     +--------+--------+--------+--------+
///  00 |outer_l3|        |     wqe_id      |
///  04 | lro ...                           |
///  0c | rss_hash_result                   |
///  10 |hashtype|        |                 |
///  14 | check_sum       | slid            |
///  18 | flags_rqpn                        |
///  1c |hds_ipx | l4l3   |   vlan_info     |
///  20 | srqn                              |             20 | srqn                                |
///  24 | immediate / ft_metadata           |
///  2c | byte_cnt                          |
///  30 | timestamp                         |             36 | vendor_err_synd | 37 | syndrome      |
///  38 | send opcode / flow tag [23:0]     |             38 | send opcode | qpn                    |
///  3c | wqe_counter     | sign.  |op_own  |             3c | wqe_counter     | sign.  | op_own   |
///     +-----------------------------------+

namespace chime::prm {

inline constexpr std::size_t cqe_size = 64;

enum class cqe_opcode : std::uint8_t {
  requester = 0x0,
  responder_rdma_write_imm = 0x1,
  responder_send = 0x2,
  responder_send_imm = 0x3,
  responder_send_inval = 0x4,
  resize_cq = 0x5,
  requester_error = 0xd,
  responder_error = 0xe,
  invalid = 0xf,
};

enum class cqe_syndrome : std::uint8_t {
  local_length = 0x01,
  local_qp_operation = 0x02,
  local_protection = 0x04,
  flushed = 0x05,
  memory_window_bind = 0x06,
  bad_response = 0x10,
  local_access = 0x11,
  remote_invalid_request = 0x12,
  remote_access = 0x13,
  remote_operation = 0x14,
  transport_retry_exceeded = 0x15,
  rnr_retry_exceeded = 0x16,
  remote_aborted = 0x22,
};

struct Cqe {
  std::uint8_t outer_l3_tunneled;
  std::uint8_t reserved_01;
  Be16 wqe_id;
  std::uint8_t lro_tcppsh_abort_dupack;
  std::uint8_t lro_min_ttl;
  Be16 lro_tcp_win;
  Be32 lro_ack_seq_num;
  Be32 rss_hash_result;
  std::uint8_t
      rss_hash_type;  ///< L4 destination [7:6], L4 source [5:4], L3 destination [3:2], L3 source [1:0]
  std::uint8_t ml_path;
  std::uint8_t reserved_12[2];
  Be16 check_sum;  ///< ones'-complement sum of everything after the Ethernet header
  Be16 slid;
  Be32 flags_rqpn;
  std::uint8_t hds_ip_ext;      ///< l4_ok bit 2, l3_ok bit 1, l2_ok bit 0
  std::uint8_t l4_l3_hdr_type;  ///< ip_frag bit 7, l4 [6:4], l3 [3:2], VLAN stripped ("cv") bit 0
  Be16 vlan_info;               ///< the stripped tag
  Be32 srqn;
  Be32 imm_inval_pkey;  ///< immediate data, or the steering metadata
  std::uint8_t reserved_28[4];
  Be32 byte_cnt;
  Be64 timestamp;
  Be32 sop_drop_qpn;  ///< requester: send opcode [31:24], qpn; responder: flow tag [23:0]
  Be16 wqe_counter;
  std::uint8_t signature;
  std::uint8_t op_own;  ///< opcode [7:4], format [3:2], solicited bit 1, owner bit 0
};
static_assert(sizeof(Cqe) == cqe_size);
static_assert(offsetof(Cqe, rss_hash_result) == 0x0c && offsetof(Cqe, rss_hash_type) == 0x10);
static_assert(offsetof(Cqe, check_sum) == 0x14 && offsetof(Cqe, flags_rqpn) == 0x18);
static_assert(offsetof(Cqe, hds_ip_ext) == 0x1c && offsetof(Cqe, vlan_info) == 0x1e);
static_assert(offsetof(Cqe, srqn) == 0x20 && offsetof(Cqe, byte_cnt) == 0x2c &&
              offsetof(Cqe, timestamp) == 0x30);
static_assert(offsetof(Cqe, sop_drop_qpn) == 0x38 && offsetof(Cqe, wqe_counter) == 0x3c);
static_assert(offsetof(Cqe, op_own) == 0x3f);

struct ErrorCqe {
  std::uint8_t reserved_00[32];
  Be32 srqn;
  std::uint8_t reserved_24[18];
  std::uint8_t vendor_err_synd;
  std::uint8_t syndrome;
  Be32 s_wqe_opcode_qpn;
  Be16 wqe_counter;
  std::uint8_t signature;
  std::uint8_t op_own;
};
static_assert(sizeof(ErrorCqe) == cqe_size);
static_assert(offsetof(ErrorCqe, vendor_err_synd) == 0x36 && offsetof(ErrorCqe, syndrome) == 0x37);

inline constexpr std::uint8_t cqe_owner = 0x01;
inline constexpr std::uint8_t cqe_solicited = 0x02;

/// op_own format [3:2]: data are in the CQE's first 32 bytes, or in the 64 bytes before it (128-byte CQEs).
inline constexpr std::uint8_t cqe_inline_32 = 0x04;
inline constexpr std::uint8_t cqe_inline_64 = 0x08;

/// op_own format [3:2] 3: a compressed block; byte_cnt CQEs in all, of which this one has what they share,
/// and the next one, the ninth, the seventeenth are arrays of eight mini CQEs.
inline constexpr std::uint8_t cqe_compressed = 0x0c;

/// What a CQE of a compressed block has for itself.
struct MiniCqe {
  Be16 check_sum;     ///< or, with the next, rss_hash_result
  Be16 stride_index;  ///< wqe_counter
  Be32 byte_cnt;
};
static_assert(sizeof(MiniCqe) == 8 && offsetof(MiniCqe, byte_cnt) == 4);
inline constexpr unsigned mini_cqes = 8;  ///< of an array

/// byte_cnt of a striding queue's packet: bytes [15:0], strides that it took [29:16], filler bit 31.
inline constexpr std::uint32_t cqe_filler = 0x80000000;
inline constexpr unsigned cqe_strides_shift = 16;

inline constexpr std::uint8_t cqe_l4_ok = 0x04;
inline constexpr std::uint8_t cqe_l3_ok = 0x02;
inline constexpr std::uint8_t cqe_l2_ok = 0x01;

inline constexpr std::uint8_t cqe_vlan_stripped = 0x01;
inline constexpr std::uint8_t cqe_ip_fragment = 0x80;
enum class cqe_l3 : std::uint8_t { none = 0, ipv6 = 1, ipv4 = 2 };
enum class cqe_l4 : std::uint8_t {
  none = 0,
  tcp_no_ack = 1,
  udp = 2,
  tcp_ack_no_data = 3,
  tcp_ack_and_data = 4
};

constexpr std::uint8_t cqe_hdr_type(cqe_l3 l3, cqe_l4 l4) noexcept {
  return static_cast<std::uint8_t>(static_cast<unsigned>(l4) << 4 | static_cast<unsigned>(l3) << 2);
}
constexpr cqe_opcode cqe_opcode_of(std::uint8_t op_own) noexcept {
  return static_cast<cqe_opcode>(op_own >> 4);
}
constexpr std::uint8_t cqe_op_own(cqe_opcode opcode, std::uint8_t owner) noexcept {
  return static_cast<std::uint8_t>(static_cast<unsigned>(opcode) << 4 | owner);
}

}  // namespace chime::prm

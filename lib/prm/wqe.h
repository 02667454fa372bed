// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "prm/be.h"

/// @file
/// Work queue elements. A send queue is a ring of 64-byte basic blocks (WQEBB); a WQE takes whole blocks,
/// and may run over the end of the ring. A receive queue is a ring of WQEs of one size (the stride).
///
///     Ethernet SEND WQE, one basic block            with 18 bytes of header in line
///     +--------+--------+--------+--------+         +--------+--------+--------+--------+
///  00 | opmod  |    wqe_index    | opcode |      00 | control segment                   |
///  04 |          sqn             |   ds   |      10 | Ethernet segment, inline_hdr_sz 18|
///  08 | sign.  |                 |fm_ce_se|      1e |   first 2 bytes of the header     |
///  0c |              imm                  |      20 |   the other 16                    |
///     +-----------------------------------+      30 | data segment: the rest            |
///  10 | software parser offsets           |         +-----------------------------------+
///  14 |cs_flags|swp_flag|      mss        |      ds counts 16-byte units over all segments.
///  18 |     flow_table_metadata           |
///  1c | inline_hdr_sz   | inline start    |
///     |   or insert type|   vlan_tci      |
///     +-----------------------------------+
///  20 | byte_count  (bit 31: inline data) |
///  24 | lkey                              |
///  28 | address                           |
///     +-----------------------------------+
///  30 | a second data segment             |
///     +-----------------------------------+

namespace chime::prm {

inline constexpr std::size_t wqebb_size = 64;  ///< send WQE basic block
inline constexpr std::size_t wqe_unit = 16;    ///< what `ds` counts
inline constexpr std::uint32_t max_ds = 63;    ///< `ds` is six bits

enum class wqe_opcode : std::uint8_t {
  nop = 0x00,
  send_inval = 0x01,
  rdma_write = 0x08,
  rdma_write_imm = 0x09,
  send = 0x0a,
  send_imm = 0x0b,
  lso = 0x0e,
  rdma_read = 0x10,
  atomic_cs = 0x11,
  atomic_fa = 0x12,
  atomic_masked_cs = 0x14,
  atomic_masked_fa = 0x15,
  umr = 0x25,
  enhanced_mpsw = 0x29,
};

/// Completion mode, bits [3:2] of fm_ce_se.
enum class wqe_ce : std::uint8_t {
  on_error = 0x00,        ///< a CQE on error only
  on_first_error = 0x04,  ///< a CQE on the first error after a good one
  always = 0x08,          ///< a CQE
  always_and_eqe = 0x0c,  ///< a CQE and an event
};

/// Fence mode, bits [7:5] of fm_ce_se.
enum class wqe_fm : std::uint8_t {
  none = 0x00,
  small = 0x20,            ///< "initiator small fence": wait for outstanding local invalidates
  fence = 0x40,            ///< wait for outstanding reads and atomics
  strong_ordering = 0x60,  ///< wait for everything outstanding
  small_and_fence = 0x80,
};

inline constexpr std::uint8_t wqe_solicited = 0x02;  ///< bit 1 of fm_ce_se: the peer's event is solicited

struct WqeCtrl {
  Be32 opmod_idx_opcode;  ///< opmod [31:24], wqe_index [23:8], opcode [7:0]
  Be32 qpn_ds;            ///< queue number [31:8], ds [5:0]
  std::uint8_t signature;
  std::uint8_t reserved[2];
  std::uint8_t fm_ce_se;
  Be32 imm;
};
static_assert(sizeof(WqeCtrl) == 16 && offsetof(WqeCtrl, fm_ce_se) == 11 && offsetof(WqeCtrl, imm) == 12);

/// WqeEth::cs_flags. "inner" speaks of the innermost headers; without a tunnel the plain ones are used.
inline constexpr std::uint8_t eth_l3_inner_csum = 0x10;
inline constexpr std::uint8_t eth_l4_inner_csum = 0x20;
inline constexpr std::uint8_t eth_l3_csum = 0x40;
inline constexpr std::uint8_t eth_l4_csum = 0x80;

/// WqeEth::inline_or_insert in place of an inline header: insert the VLAN tag in the low 16 bits.
inline constexpr std::uint32_t eth_insert_vlan = 0x80000000;   ///< C-VLAN, TPID 0x8100
inline constexpr std::uint32_t eth_insert_svlan = 0x40000000;  ///< with eth_insert_vlan: S-VLAN, TPID 0x88a8
inline constexpr std::uint32_t eth_inline_size_mask = 0x3ff;   ///< inline_hdr_sz, in the high 16 bits

struct WqeEth {
  std::uint8_t swp_outer_l4_offset;
  std::uint8_t swp_outer_l3_offset;
  std::uint8_t swp_inner_l4_offset;
  std::uint8_t swp_inner_l3_offset;
  std::uint8_t cs_flags;
  std::uint8_t swp_flags;
  Be16 mss;
  Be32 flow_table_metadata;
  Be16 inline_hdr_sz;            ///< or, with bit 15 set: insert type
  std::uint8_t inline_start[2];  ///< first bytes of the inline header, or the VLAN tag (big-endian)
};
static_assert(sizeof(WqeEth) == 16 && offsetof(WqeEth, cs_flags) == 4 && offsetof(WqeEth, mss) == 6);
static_assert(offsetof(WqeEth, flow_table_metadata) == 8 && offsetof(WqeEth, inline_hdr_sz) == 12);

inline constexpr std::uint32_t data_seg_inline =
    0x80000000;  ///< WqeData::byte_count bit 31: the data follow in the WQE
inline constexpr std::uint32_t invalid_lkey = 0x100;  ///< ends the segment list of a receive WQE

struct WqeData {
  Be32 byte_count;
  Be32 lkey;
  Be64 address;
};
static_assert(sizeof(WqeData) == 16 && offsetof(WqeData, lkey) == 4 && offsetof(WqeData, address) == 8);

/// First unit of a receive WQE in a linked list or with strides; data segments follow.
struct WqeNext {
  Be16 reserved_00;
  Be16 next_wqe_index;  ///< linked list: the WQE that is consumed after this one
  std::uint8_t signature;
  std::uint8_t reserved_05[11];
};
static_assert(sizeof(WqeNext) == 16 && offsetof(WqeNext, next_wqe_index) == 2);

/// After the control segment of RDMA and atomic operations.
struct WqeRaddr {
  Be64 address;
  Be32 rkey;
  Be32 reserved;
};
static_assert(sizeof(WqeRaddr) == 16 && offsetof(WqeRaddr, rkey) == 8);

constexpr std::uint32_t wqe_opmod_idx_opcode(std::uint8_t opmod, std::uint16_t index,
                                             wqe_opcode opcode) noexcept {
  return std::uint32_t{opmod} << 24 | std::uint32_t{index} << 8 | static_cast<std::uint32_t>(opcode);
}
constexpr std::uint32_t wqe_qpn_ds(std::uint32_t qpn, std::uint32_t ds) noexcept {
  return qpn << 8 | ds;
}

}  // namespace chime::prm

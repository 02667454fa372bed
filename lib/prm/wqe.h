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

/// opmod of wqe_opcode::lso: no large send, but packets of one length (mss), the first form of multi-packet
/// requests.
inline constexpr std::uint32_t lso_multi_packet = 1;

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

/// UMR, "user memory region": a request that changes a memory key, whose number is in the control segment's
/// imm.
///
///     +-----------------------------------+
///  00 | control segment                   |
///  10 | UMR control segment, 48 bytes     |
///  40 | memory key context, as prm::mkc   |  what mkey_mask names of it is taken over
///  80 | translations: in line, or a data  |
///     |   segment that points at them     |
///     +-----------------------------------+
struct WqeUmr {
  std::uint8_t flags;
  std::uint8_t reserved_01[3];
  Be16 octwords;        ///< of translations, 16 bytes each: two pages, or one piece of another key
  Be16 octword_offset;  ///< where they go in the key, with umr_offset; low 16 bits
  Be64 mkey_mask;       ///< umr_mask_*
  Be32 octword_offset_47_16;
  std::uint8_t reserved_14[28];
};
static_assert(sizeof(WqeUmr) == 48 && offsetof(WqeUmr, octwords) == 4 &&
              offsetof(WqeUmr, octword_offset) == 6 && offsetof(WqeUmr, mkey_mask) == 8 &&
              offsetof(WqeUmr, octword_offset_47_16) == 16);

inline constexpr std::uint8_t umr_inline = 0x80;          ///< WqeUmr::flags: the translations follow in line
inline constexpr std::uint8_t umr_check_free = 0x40;      ///< refuse when the key is free
inline constexpr std::uint8_t umr_check_not_free = 0x20;  ///< refuse when it is not
inline constexpr std::uint8_t umr_offset = 0x10;          ///< octword_offset counts

inline constexpr std::uint64_t umr_mask_len = 1ull << 0;
inline constexpr std::uint64_t umr_mask_page_size = 1ull << 1;
inline constexpr std::uint64_t umr_mask_start_addr = 1ull << 6;
inline constexpr std::uint64_t umr_mask_pd = 1ull << 7;
inline constexpr std::uint64_t umr_mask_en_rinval = 1ull << 8;
inline constexpr std::uint64_t umr_mask_bsf_en = 1ull << 12;
inline constexpr std::uint64_t umr_mask_key = 1ull << 13;
inline constexpr std::uint64_t umr_mask_qpn = 1ull << 14;
inline constexpr std::uint64_t umr_mask_lr = 1ull << 17;
inline constexpr std::uint64_t umr_mask_lw = 1ull << 18;
inline constexpr std::uint64_t umr_mask_rr = 1ull << 19;
inline constexpr std::uint64_t umr_mask_rw = 1ull << 20;
inline constexpr std::uint64_t umr_mask_a = 1ull << 21;
inline constexpr std::uint64_t umr_mask_free = 1ull << 29;

/// An entry of KLM and KSM keys.
struct KeyEntry {
  Be32 byte_count;  ///< KLM
  Be32 key;
  Be64 address;
};
static_assert(sizeof(KeyEntry) == 16);

constexpr std::uint32_t wqe_opmod_idx_opcode(std::uint8_t opmod, std::uint16_t index,
                                             wqe_opcode opcode) noexcept {
  return std::uint32_t{opmod} << 24 | std::uint32_t{index} << 8 | static_cast<std::uint32_t>(opcode);
}
constexpr std::uint32_t wqe_qpn_ds(std::uint32_t qpn, std::uint32_t ds) noexcept {
  return qpn << 8 | ds;
}

}  // namespace chime::prm

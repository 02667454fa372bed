// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "prm/be.h"
#include "prm/wqe.h"
#include "tx_offload.h"
#include "tx_recovery.h"
#include "txq.h"

/// @file
/// Building send WQEs of any shape: header in line, VLAN tag, checksums, several segments, segmentation
/// (LSO).

namespace chime::net {

inline constexpr std::uint32_t min_frame = 14;  ///< an Ethernet header; the card pads

/// What min_inline_mode L2 asks for: an Ethernet header with one VLAN tag.
inline constexpr std::uint32_t ethernet_inline = 18;

/// Headers of a segmented packet, VLAN tag included: a tunnel's, IPv6 and TCP with all options fit.
inline constexpr std::uint32_t largest_inline = 256;

/// What a packet's WQE will look like; or why there will be none.
struct WqePlan {
  std::uint64_t TxCounters::*drop;  ///< the counter of the reason, nullptr when all is well
  std::uint32_t units;              ///< 16-byte units, `ds`
  std::uint32_t inline_size;        ///< bytes of header in the WQE, VLAN tag included
  std::uint32_t blocks() const noexcept { return (units + 3) / 4; }
};

/// The key of a data segment, or MemoryMap::no_key. The last range is remembered.
inline std::uint32_t tx_key(TxQueue& q, std::uintptr_t address) noexcept {
  if (likely(address - q.hot.start < q.hot.size)) return q.hot.lkey_be;
  return tx_find_key(q, address);
}

/// 16-byte units for `size` bytes of header: the first 2 lie in the Ethernet segment.
constexpr std::uint32_t inline_units(std::uint32_t size) noexcept {
  return size <= 2 ? 0 : (size - 2 + 15) / 16;
}

/// Whether the card can cut the packet into frames.
inline bool tx_can_segment(const TxQueue& q, const rte_mbuf& packet, std::uint32_t tag) noexcept {
  const std::uint32_t header = tx_header_size(packet);
  return header >= min_frame && header + tag <= largest_inline && packet.pkt_len > header &&
         packet.pkt_len - header <= q.max_large_send && packet.tso_segsz != 0 &&
         header + packet.tso_segsz <= q.max_frame;
}

inline WqePlan tx_plan(const TxQueue& q, const rte_mbuf& packet) noexcept {
  const bool segmented = (packet.ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0;
  const std::uint32_t tag =
      (packet.ol_flags & RTE_MBUF_F_TX_VLAN) != 0 && (segmented || q.inline_size != 0) ? 4 : 0;
  std::uint32_t wanted = q.inline_size;
  if (segmented) {
    if (unlikely(!tx_can_segment(q, packet, tag))) return {&TxCounters::drop_segmentation, 0, 0};
    wanted = tx_header_size(packet) + tag;
  } else {
    if (unlikely(packet.pkt_len < min_frame)) return {&TxCounters::drop_too_short, 0, 0};
    if (unlikely(packet.pkt_len > q.max_frame)) return {&TxCounters::drop_too_long, 0, 0};
  }
  const std::uint32_t inline_size = std::min<std::uint32_t>(wanted, packet.pkt_len + tag);
  std::uint32_t units = 2 + inline_units(inline_size);

  // Segments that have something left behind the header; the length is only as good as their sum.
  std::uint32_t skip = inline_size - tag, sum = 0;
  if (inline_size == 0) skip = 0;
  for (const rte_mbuf* segment = &packet; segment != nullptr; segment = segment->next) {
    const std::uint32_t length = segment->data_len;
    sum += length;
    if (length > skip) {
      ++units;
      skip = 0;
    } else {
      skip -= length;
    }
  }
  if (unlikely(sum != packet.pkt_len)) return {&TxCounters::drop_chain, 0, 0};
  if (unlikely(units > q.max_ds)) return {&TxCounters::drop_chain_too_long, 0, 0};
  return {nullptr, units, inline_size};
}

/// The ring in 16-byte units, from a WQE's start on and over the end.
class WqeWriter {
 public:
  WqeWriter(const TxQueue& q, std::uint32_t block) noexcept
      : ring_(q.wqes), mask_((q.size() << 2) - 1), unit_(block << 2) {}

  std::byte* next() noexcept { return ring_ + std::size_t{unit_++ & mask_} * prm::wqe_unit; }

 private:
  std::byte* ring_;
  std::uint32_t mask_;
  std::uint32_t unit_;
};

/// Reads a chain's bytes one after the other.
class ChainReader {
 public:
  explicit ChainReader(const rte_mbuf& head) noexcept : segment_(&head) {}

  void copy(std::byte* to, std::uint32_t size) noexcept {
    while (size != 0) {
      const std::uint32_t here = std::min<std::uint32_t>(size, segment_->data_len - offset_);
      std::memcpy(to, rte_pktmbuf_mtod_offset(segment_, const std::byte*, offset_), here);
      to += here;
      size -= here;
      offset_ += here;
      if (offset_ == segment_->data_len && size != 0) next();
    }
  }
  void next() noexcept {
    segment_ = segment_->next;
    offset_ = 0;
  }
  const rte_mbuf* segment() const noexcept { return segment_; }
  std::uint32_t offset() const noexcept { return offset_; }

 private:
  const rte_mbuf* segment_;
  std::uint32_t offset_ = 0;
};

/// The header in line, with the VLAN tag behind the addresses where asked for.
inline void tx_write_inline(WqeWriter& writer, prm::WqeEth& eth, ChainReader& reader, const rte_mbuf& packet,
                            std::uint32_t size) noexcept {
  alignas(16) std::byte header[largest_inline + prm::wqe_unit];
  if (packet.ol_flags & RTE_MBUF_F_TX_VLAN) {
    const prm::Be16 tpid(RTE_ETHER_TYPE_VLAN), tag(packet.vlan_tci);
    reader.copy(header, 12);
    std::memcpy(header + 12, &tpid, 2);
    std::memcpy(header + 14, &tag, 2);
    reader.copy(header + 16, size - 16);
  } else {
    reader.copy(header, size);
  }
  eth.inline_hdr_sz = static_cast<std::uint16_t>(size);
  std::memcpy(eth.inline_start, header, 2);
  for (std::uint32_t done = 2; done < size; done += 16) std::memcpy(writer.next(), header + done, 16);
}

/// What is the same in all one-block WQEs of a burst.
struct SinglePlan {
  std::uint64_t qpn_ds;     ///< in the upper half, as in memory
  std::uint32_t in_line;    ///< 0 or ethernet_inline
  std::uint32_t data_unit;  ///< of the data segment

  explicit SinglePlan(const TxQueue& q) noexcept : in_line(q.inline_size), data_unit(in_line == 0 ? 2 : 3) {
    qpn_ds = std::uint64_t{prm::host_to_be(q.sqn_shifted | (data_unit + 1))} << 32;
  }
};

/// One segment longer than `ethernet_inline` and no VLAN tag to write in line: the WQE is one block, in few
/// large stores.
/// @param index_opcode first word of the control segment
inline void tx_write_single(std::byte* wqe, const SinglePlan& plan, std::uint32_t index_opcode,
                            const rte_mbuf& packet, std::uintptr_t address, std::uint32_t key) noexcept {
  auto* word = reinterpret_cast<std::uint64_t*>(wqe);
  word[0] = plan.qpn_ds | prm::host_to_be(index_opcode);
  word[1] = static_cast<std::uint64_t>(prm::wqe_ce::on_first_error) << 24;
  word[2] = std::uint64_t{tx_checksum_flags(packet.ol_flags)} << 32;
  std::uint32_t inline_start = 0;  // inline_hdr_sz and the first bytes, or the tag
  if (plan.in_line != 0) {
    const auto* header = reinterpret_cast<const std::byte*>(address);
    std::uint16_t first;
    std::memcpy(&first, header, sizeof first);
    inline_start = prm::host_to_be(static_cast<std::uint16_t>(plan.in_line)) | std::uint32_t{first} << 16;
    std::memcpy(wqe + 2 * prm::wqe_unit, header + 2, ethernet_inline - 2);
  } else if (packet.ol_flags & RTE_MBUF_F_TX_VLAN) {
    inline_start = prm::host_to_be(prm::eth_insert_vlan | packet.vlan_tci);
  }
  word[3] = std::uint64_t{inline_start} << 32;

  auto* data = reinterpret_cast<prm::WqeData*>(wqe + plan.data_unit * prm::wqe_unit);
  data->byte_count = packet.data_len - plan.in_line;
  data->lkey = prm::Be32::from_raw(key);
  data->address = address + plan.in_line;
}

/// Writes the WQE. @return false when a segment's memory is not registered; nothing is posted then
inline bool tx_write(TxQueue& q, const WqePlan& plan, const rte_mbuf& packet, std::uint32_t block) noexcept {
  WqeWriter writer(q, block);
  const bool segmented = (packet.ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0;
  auto* control = reinterpret_cast<prm::WqeCtrl*>(writer.next());
  control->opmod_idx_opcode = prm::wqe_opmod_idx_opcode(
      0, static_cast<std::uint16_t>(block), segmented ? prm::wqe_opcode::lso : prm::wqe_opcode::send);
  control->qpn_ds = q.sqn_shifted | plan.units;
  control->signature = 0;
  control->reserved[0] = control->reserved[1] = 0;
  control->fm_ce_se = static_cast<std::uint8_t>(prm::wqe_ce::on_first_error);
  control->imm = 0;

  auto* eth = reinterpret_cast<prm::WqeEth*>(writer.next());
  std::memset(eth, 0, sizeof *eth);
  eth->cs_flags = tx_any_checksum_flags(packet.ol_flags);
  if (segmented) eth->mss = packet.tso_segsz;

  ChainReader reader(packet);
  if (plan.inline_size != 0) {
    tx_write_inline(writer, *eth, reader, packet, plan.inline_size);
  } else if (packet.ol_flags & RTE_MBUF_F_TX_VLAN) {
    eth->inline_hdr_sz = static_cast<std::uint16_t>(prm::eth_insert_vlan >> 16);
    const prm::Be16 tag(packet.vlan_tci);
    std::memcpy(eth->inline_start, &tag, 2);
  }

  for (; reader.segment() != nullptr; reader.next()) {
    const rte_mbuf& segment = *reader.segment();
    const std::uint32_t length = segment.data_len - reader.offset();
    if (length == 0) continue;  // to the card, 0 would be 2^31
    const std::uintptr_t address =
        reinterpret_cast<std::uintptr_t>(segment.buf_addr) + segment.data_off + reader.offset();
    const std::uint32_t key = tx_key(q, address);
    if (unlikely(key == hca::MemoryMap::no_key)) return false;
    auto* data = reinterpret_cast<prm::WqeData*>(writer.next());
    data->byte_count = length;
    data->lkey = prm::Be32::from_raw(key);
    data->address = address;
  }
  return true;
}

}  // namespace chime::net

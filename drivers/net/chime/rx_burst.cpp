// SPDX-License-Identifier: BSD-3-Clause
#include "rx_burst.h"

#include <rte_mbuf.h>
#include <rte_prefetch.h>
#include <rte_vect.h>

#include <algorithm>

#include "cqe_ring.h"
#include "flow_mark.h"
#include "packet_info.h"
#include "rx_recovery.h"
#include "rx_refill.h"

namespace chime::net {
namespace {

using prm::Cqe;

/// Bytes of a received packet over one chunk, in the lane of pkt_len.
using Lengths = __m128i;

/// The 16 bytes from mbuf packet_type on: packet_type, pkt_len, data_len, vlan_tci, hash.rss; in host order.
static_assert(offsetof(rte_mbuf, packet_type) == 32 && offsetof(rte_mbuf, pkt_len) == 36);
static_assert(offsetof(rte_mbuf, data_len) == 40 && offsetof(rte_mbuf, vlan_tci) == 42);
static_assert(offsetof(rte_mbuf, hash) == 44);
inline __m128i descriptor_fields(const Cqe& cqe, std::uint32_t packet_type) noexcept {
  const auto* quarter = reinterpret_cast<const __m128i*>(&cqe);
  // Dwords 0x18, 0x28, 0x1c, 0x2c of the CQE: of them, vlan_info is in bytes 10 and 11, byte_cnt in 12..15.
  __m128i words = _mm_unpackhi_epi32(_mm_load_si128(quarter + 1), _mm_load_si128(quarter + 2));
  words = _mm_insert_epi32(words, static_cast<int>(cqe.rss_hash_result.raw), 0);
  const __m128i order = _mm_set_epi8(0, 1, 2, 3, 10, 11, 14, 15, 12, 13, 14, 15, -1, -1, -1, -1);
  return _mm_insert_epi32(_mm_shuffle_epi8(words, order), static_cast<int>(packet_type), 0);
}

inline std::uint64_t flags_of(const RxQueue& q, const Cqe& cqe, const PacketInfo& info) noexcept {
  std::uint32_t flags = info.flags & q.flag_mask;
  if (unlikely(cqe.rss_hash_type == 0)) flags &= ~static_cast<std::uint32_t>(RTE_MBUF_F_RX_RSS_HASH);
  return flags;
}

inline void set_mark(rte_mbuf& mbuf, std::uint32_t tag) noexcept {
  mbuf.ol_flags |= RTE_MBUF_F_RX_FDIR;
  if (tag == flow_tag_flag) return;
  mbuf.ol_flags |= RTE_MBUF_F_RX_FDIR_ID;
  mbuf.hash.fdir.hi = mark_of_flow_tag(tag);
}

/// Spreads a packet over the mbufs of its WQE; those that it does not reach stay posted.
inline void chain(const RxQueue& q, rte_mbuf** slots, std::uint32_t length) noexcept {
  rte_mbuf* head = slots[0];
  rte_mbuf* last = head;
  slots[0] = nullptr;
  if (likely(length <= q.buffer_size)) return;
  head->data_len = static_cast<std::uint16_t>(q.buffer_size);
  std::uint16_t segments = 1;
  for (std::uint32_t left = length - q.buffer_size; left != 0; ++segments) {
    const std::uint32_t here = std::min(left, q.buffer_size);
    rte_mbuf* next = slots[segments];
    slots[segments] = nullptr;
    __builtin_memcpy(&next->rearm_data, &q.rearm, sizeof q.rearm);
    next->data_len = static_cast<std::uint16_t>(here);
    last->next = next;
    last = next;
    left -= here;
  }
  head->nb_segs = segments;
}

/// Takes up to `most` packets from CQEs and WQEs that lie in one piece. @return how many
template <RxVariant variant>
inline std::uint32_t take(RxQueue& q, const Cqe* cqe, rte_mbuf** slots, rte_mbuf** packets,
                          std::uint32_t most, unsigned expected, Lengths& lengths) noexcept {
  const std::size_t slot_step = variant == RxVariant::plain ? 1 : std::size_t{1} << q.log_slots;
  std::uint32_t taken = 0;
  for (; taken < most; ++taken, ++cqe, slots += slot_step) {
    if ((load_op_own(*cqe) & op_own_mask) != expected) break;
    rte_mbuf* mbuf = *slots;

    std::uint16_t header_word;
    __builtin_memcpy(&header_word, &cqe->hds_ip_ext, sizeof header_word);
    const PacketInfo& info = packet_info_table[packet_info_index(header_word)];
    const __m128i fields = descriptor_fields(*cqe, info.packet_type);
    _mm_store_si128(reinterpret_cast<__m128i*>(&mbuf->packet_type), fields);
    __builtin_memcpy(&mbuf->rearm_data, &q.rearm, sizeof q.rearm);
    mbuf->ol_flags = flags_of(q, *cqe, info);
    lengths = _mm_add_epi32(lengths, fields);
    packets[taken] = mbuf;

    constexpr std::uint32_t tag_mask = prm::host_to_be(std::uint32_t{0xffffff});
    if (unlikely(cqe->sop_drop_qpn.raw & tag_mask)) set_mark(*mbuf, cqe->sop_drop_qpn & 0xffffff);

    if constexpr (variant == RxVariant::full) {
      if (q.timestamp_flag != 0) {
        *RTE_MBUF_DYNFIELD(mbuf, q.timestamp_offset, rte_mbuf_timestamp_t*) = cqe->timestamp;
        mbuf->ol_flags |= q.timestamp_flag;
      }
      chain(q, slots, mbuf->pkt_len);
    }
  }
  return taken;
}

template <RxVariant variant>
std::uint16_t rx_burst(void* queue, rte_mbuf** packets, std::uint16_t count_wanted) {
  RxQueue& q = *static_cast<RxQueue*>(queue);
  const std::uint32_t size = q.size();
  std::uint32_t taken = 0;
  Lengths lengths = _mm_setzero_si128();

  while (taken < count_wanted) {
    // Up to the end of either ring there is no index to mask and one owner parity.
    const std::uint32_t at_cqe = q.cq_consumer & (size - 1), at_wqe = q.consumed & (size - 1);
    const std::uint32_t most = std::min({std::uint32_t{count_wanted} - taken, size - at_cqe, size - at_wqe});
    const unsigned parity = owner_parity(q.cq_consumer, q.log_size);
    const unsigned expected = prm::cqe_op_own(prm::cqe_opcode::responder_send, 0) | parity;
    rte_mbuf** slots = q.mbufs + (variant == RxVariant::plain ? at_wqe : std::size_t{at_wqe} << q.log_slots);
    const std::uint32_t here =
        take<variant>(q, q.cqes + at_cqe, slots, packets + taken, most, expected, lengths);
    q.cq_consumer += here;
    q.consumed += here;
    taken += here;
    if (here < most) {
      // The card may have completed this very entry since take() looked: a good one waits for the next burst.
      const Cqe& next = q.cqes[at_cqe + here];
      const unsigned op_own = load_op_own(next);
      if (unlikely((op_own & op_own_mask) != expected && is_software_owned(op_own, parity)))
        rx_meet_error(q, next);
      break;
    }
  }

  std::uint32_t room = size - (q.posted - q.consumed);
  const std::uint32_t batch = q.refill_threshold;
  if (room < batch) {
    if (taken == 0) return 0;
  } else {
    do {
      const bool done = variant == RxVariant::plain ? rx_refill_plain(q, batch) : rx_refill_full(q, batch);
      if (unlikely(!done)) {
        count(q.counters.no_mbuf, 1);
        break;
      }
      room -= batch;
    } while (room >= batch);
  }
  rx_publish(q);
  if (taken != 0) {
    count(q.counters.packets, taken);
    count(q.counters.bytes, static_cast<std::uint32_t>(_mm_extract_epi32(lengths, 1)));
  }
  return static_cast<std::uint16_t>(taken);
}

}  // namespace

RxVariant rx_variant(const RxQueue& queue) noexcept {
  const bool full =
      queue.log_slots != 0 || queue.read_buf_addr || queue.many_keys || queue.timestamp_flag != 0;
  return full ? RxVariant::full : RxVariant::plain;
}

eth_rx_burst_t rx_burst_function(RxVariant variant) noexcept {
  return variant == RxVariant::plain ? rx_burst<RxVariant::plain> : rx_burst<RxVariant::full>;
}

const char* rx_burst_description(RxVariant variant) noexcept {
  return variant == RxVariant::plain ? "Scalar, one segment" : "Scalar, scattered, all offloads";
}

}  // namespace chime::net

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "model/card.h"
#include "model/datapath/completions.h"
#include "model/datapath/compressed_cqes.h"
#include "model/datapath/egress.h"
#include "model/datapath/keys.h"
#include "model/datapath/port.h"
#include "model/datapath/scatter.h"
#include "model/datapath/steering.h"
#include "model/packet/checksum.h"
#include "model/packet/headers.h"
#include "model/wire.h"

namespace chime::model {

class Roce;

/// The way of a frame from the wire to receive queues. A burst goes through in three passes, so that what one
/// needs of host memory is on its way while others are worked on:
///
///     classify   headers, steering, RSS: frame -> (RQ, hash)
///     reserve    the RQ's next WQE is taken
///     complete   data are scattered, the CQE is written
class Receive {
 public:
  Receive(Hca::Card& card, Completions& completions, Keys& keys, Port& port, Roce& roce) noexcept
      : card_(card),
        completions_(completions),
        keys_(keys),
        port_(port),
        roce_(roce),
        steering_(card),
        scatter_(keys),
        compressed_(completions, card.capabilities.general().get(prm::cmd_hca_cap::cqe_compression_max_num)),
        checksum_full_(card.capabilities
                           .view<prm::per_protocol_networking_offload_caps>(
                               static_cast<unsigned>(prm::hca_cap_type::ethernet_offloads))
                           .get(prm::per_protocol_networking_offload_caps::cqe_checksum_full) != 0) {}

  void deliver(std::span<const Frame> frames) noexcept;
  /// Frames of this card that did not leave it: see Egress.
  void turned_back(std::span<const Frame> frames, const Origin& origin) noexcept;
  void state_changed(Rq& rq, QueueState from) noexcept;

 private:
  static constexpr unsigned burst = 32;
  static constexpr unsigned max_deliveries = 2 * burst;

  /// A frame of the burst.
  struct Arrival {
    const Frame* frame;
    const std::byte* front;  ///< its first bytes in one piece
    net::Headers headers;
    net::ChecksumStatus checksum;
    bool summed;
    Segment whole;  ///< when all of the frame is in one piece
    std::span<const Segment> segments;
  };

  /// One RQ that a frame goes to.
  struct Delivery {
    Arrival* arrival;
    Rq* rq;
    std::byte* wqe;
    std::byte* buffer;  ///< when all of the frame goes to one place
    std::uint32_t hash;
    std::uint32_t flow_tag;
    std::uint16_t wqe_counter;
    std::uint16_t wqe_id;  ///< with strides: the WQE, while wqe_counter is the stride
    std::uint8_t hash_type;
  };

  void all_of(std::span<const Frame> frames) noexcept;
  void burst_of(std::span<const Frame> frames) noexcept;
  bool to_steering(const Arrival& arrival) const noexcept;
  bool blocks(const Tir& tir) const noexcept;
  bool acceptable(const Frame& frame) noexcept;
  void look_at(Arrival& arrival, unsigned slot, const Frame& frame) noexcept;
  void dispatch(Arrival& arrival, Tir& tir, std::uint32_t flow_tag) noexcept;

  void serve() noexcept;
  bool reserve(Delivery& delivery) noexcept;
  bool read_record(Rq& rq) noexcept;
  void complete(Delivery& delivery) noexcept;
  void complete_striding(Delivery& delivery) noexcept;
  bool open_wqe(Rq& rq) noexcept;
  void take_strides(Rq& rq, std::uint32_t count) noexcept;
  void fill_up(Delivery& delivery) noexcept;
  void sum_up(Arrival& arrival) noexcept {
    if (arrival.summed) return;
    arrival.checksum = net::check(arrival.front, arrival.headers, arrival.segments, arrival.frame->length);
    arrival.summed = true;
  }
  static bool strips(const Rq& rq, const Arrival& arrival) noexcept {
    return rq.vlan_strip && arrival.headers.vlans != 0 &&
           arrival.headers.vlan_type[0] == net::ethertype_cvlan;
  }
  static void out_of_buffer(Rq& rq) noexcept {
    ++rq.out_of_buffer;
    if (rq.q_counter) ++rq.q_counter->out_of_buffer;
  }
  void too_long(const Delivery& delivery, std::uint32_t length, std::uint32_t room) noexcept;
  bool scatter(const Delivery& delivery, std::uint32_t skip, std::uint32_t length) noexcept;
  std::uint16_t check_sum(const Arrival& arrival, bool stripped) const noexcept;
  void fill_cqe(prm::Cqe& cqe, const Delivery& delivery, std::uint32_t byte_cnt,
                bool stripped) const noexcept;
  void write_cqe(const Delivery& delivery, std::uint32_t byte_cnt, bool stripped) noexcept;
  void fail(Rq& rq, std::uint16_t wqe_counter, Fault fault, std::uint32_t detail) noexcept;
  void flush(Rq& rq) noexcept;

  Hca::Card& card_;
  Completions& completions_;
  Keys& keys_;
  Port& port_;
  Roce& roce_;
  Steering steering_;
  Scatter scatter_;
  CompressedCqes compressed_;
  const bool checksum_full_;  ///< "cqe_checksum_full": check_sum has all behind the Ethernet header

  const Origin* own_ = nullptr;  ///< who sent the frames at hand, when they did not leave the card
  std::array<Arrival, burst> arrivals_;
  std::array<Delivery, max_deliveries> deliveries_;
  unsigned delivery_count_ = 0;
  alignas(64) std::array<std::array<std::byte, net::usual_header_room>, burst> fronts_;
  std::array<std::array<std::byte, net::largest_header_room>, burst> long_fronts_;
};

}  // namespace chime::model

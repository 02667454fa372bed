// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../unit/model/datapath/rig.h"

/// @file
/// A stepped card whose wire brings back what is sent, with software that does no more than keep its queues
/// going.

namespace chime::bench {

struct CardSetting {
  const char* name;
  const char* description;
  std::size_t length = 64;  ///< bytes of a packet
  std::size_t inline_header = 0;
  unsigned cs_flags = 0;
  unsigned queues = 1;   ///< receive queues spread over by RSS
  unsigned idle = 0;     ///< queue pairs that exist besides
  unsigned entries = 0;  ///< flow entries by UDP port in front of the one that matches all
};

class LoopedCard {
 public:
  static constexpr unsigned log_ring = 10, ring_size = 1u << log_ring, burst_size = 32;

  explicit LoopedCard(const CardSetting& setting);
  LoopedCard(const LoopedCard&) = delete;
  LoopedCard& operator=(const LoopedCard&) = delete;

  const CardSetting& setting() const noexcept { return setting_; }
  /// Sends 32 packets and receives them. @return TSC cycles from doorbell to the end of the step
  std::uint64_t burst();
  std::uint64_t lost() const noexcept { return sent_ - received_; }

 private:
  void make_receive_queues();
  void make_steering();
  void make_send_queue();

  CardSetting setting_;
  test::Rig rig_;
  std::vector<test::CompletionQueue> rx_cq_;
  std::vector<test::ReceiveQueue> rx_;
  test::CompletionQueue tx_cq_;
  test::SendQueue sq_;
  std::uint64_t sent_ = 0, received_ = 0;
};

}  // namespace chime::bench

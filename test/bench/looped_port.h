// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <cstdint>
#include <string>
#include <vector>

/// @file
/// A virtual port, from probe to packets that go round: what is sent comes back, and is sent again.

namespace chime::bench {

struct PortSetting {
  std::string device = "net_chime0";
  std::uint16_t queues = 1;   ///< each way; the first has `ring` entries and the traffic
  unsigned flows = 0;         ///< rules, one UDP port each
  std::uint16_t length = 60;  ///< bytes of a packet, without FCS
  unsigned window = 512;      ///< packets under way
  static constexpr std::uint16_t ring = 1024;
  static constexpr std::uint16_t idle_ring = 128;  ///< of the queues without traffic
};

/// What came before the first packet, in milliseconds.
struct StartTimes {
  double probe_ms = 0, configure_ms = 0, start_ms = 0, flows_ms = 0;
};

struct LoopResult {
  std::uint64_t packets = 0;  ///< received
  double seconds = 0;
  std::uint64_t lost = 0;  ///< sent, and not back in time
};

class LoopedPort {
 public:
  /// Probes, configures and starts. Throws std::runtime_error.
  explicit LoopedPort(const PortSetting& setting);
  ~LoopedPort();
  LoopedPort(const LoopedPort&) = delete;
  LoopedPort& operator=(const LoopedPort&) = delete;

  const StartTimes& times() const noexcept { return times_; }
  /// Sends `window` packets, forwards what comes back for that long, and takes all from the wire.
  LoopResult run(double seconds);

 private:
  static constexpr std::uint16_t burst = 32;

  void probe();
  void configure();
  void add_flows();
  void fill(rte_mbuf& packet, unsigned number) const noexcept;
  void send_window();
  std::uint64_t drain(std::uint64_t wanted);

  PortSetting setting_;
  StartTimes times_;
  std::uint16_t port_ = 0;
  rte_mempool* pool_ = nullptr;
  rte_ether_addr address_{};
};

}  // namespace chime::bench

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_ethdev.h>

#include <atomic>
#include <cstdint>
#include <mutex>

#include "base/array.h"
#include "wire/bare_wire.h"
#include "wire/ethdev_events.h"
#include "wire/factory.h"
#include "wire/mbuf_pool.h"
#include "wire/name.h"

namespace chime::wire {

/// Bytes, without FCS, of the largest frame that a port with this description can be set up for.
std::uint32_t usable_frame(const rte_eth_dev_info& info) noexcept;

/// A wire that is a DPDK port. Its life:
///
///     waiting --appears or is there--> claimed --ready()--> prepared --begin()--> in use
///
/// and back to waiting when it goes. Claiming sets the port's owner and nothing else; prepared, it is started
/// but nobody bursts on it, which is also what end() leads back to. Once it has been prepared, it is again as
/// soon as it comes back. Bursts are the stepping thread's alone, and no ethdev control function that may
/// wait is called there: a wire may be another port of ours, whose control operations run on that same
/// thread.
class EthdevWire final : public BareWire {
 public:
  static Result<Owned<EthdevWire>> make(const char* port_name, const char* ethdev, EthdevEvents& events,
                                        Executor& executor, model::Clock& clock) noexcept;
  EthdevWire(EthdevEvents& events, Executor& executor, model::Clock& clock) noexcept
      : events_(events), executor_(executor), clock_(clock) {}
  /// Stops the ethdev, and gives it back to who may want it.
  ~EthdevWire() override;

  void plug(model::WirePort* port) noexcept override;
  void transmit(std::span<const model::Frame> frames) noexcept override;
  unsigned poll(unsigned budget) noexcept override;
  model::WireLink link() const noexcept override { return link_; }
  std::uint32_t largest_frame() const noexcept override { return largest_.load(std::memory_order_relaxed); }

  Result<> ready() noexcept override;
  void begin() noexcept override;
  void end() noexcept override;

 private:
  friend class EthdevEvents;
  static constexpr std::uint16_t none = RTE_MAX_ETHPORTS;
  static constexpr std::uint16_t burst = 32;
  static constexpr std::uint64_t look_at_link_every_ns = 50'000'000;

  /// How the ethdev was configured.
  struct Setup {
    std::uint16_t port = none;
    bool receives = false, sends = false;
    std::uint32_t largest = standard_frame;
  };

  // Control: any thread.
  Result<> claim() noexcept;
  Result<> claim(std::uint16_t port) noexcept;
  bool claimed_name_is_right(std::uint16_t port) const noexcept;
  void let_go(std::uint16_t port) noexcept;
  Result<> prepare(std::uint16_t port) noexcept;
  Result<> configure(std::uint16_t port, Setup& setup) noexcept;
  Result<> take_pool(std::uint16_t port, unsigned count, std::uint32_t room) noexcept;
  Result<> start(std::uint16_t port) noexcept;
  // For EthdevEvents.
  void appeared(std::uint16_t port) noexcept;
  /// @return false when it is too early
  bool look_after() noexcept;
  void gone(std::uint16_t port) noexcept;

  // Between two steps.
  void handle(std::uint32_t events) noexcept;
  void stop_using() noexcept;
  /// @return whether it has changed
  bool look_at_link() noexcept;
  void tell_port() noexcept {
    if (plugged_) plugged_->wire_changed();
  }

  // In a step.
  unsigned receive(std::uint16_t budget) noexcept;
  void hand_over(std::span<rte_mbuf*> mbufs) noexcept;
  void send(std::span<const model::Frame> frames) noexcept;
  bool fits(const model::Frame& frame) const noexcept {
    return frame.length != 0 && frame.length <= used_.largest;
  }
  /// @param bytes of the packets; made that of those that went
  /// @return packets that the driver did not take, and which were dropped
  std::uint64_t burst_out(std::span<rte_mbuf*> packets, std::uint64_t& bytes) noexcept;

  EthdevEvents& events_;
  Executor& executor_;
  model::Clock& clock_;
  Name port_name_, ethdev_;
  rte_eth_dev_owner owner_{};
  EthdevWire* next_ = nullptr;  // EthdevEvents' list

  std::atomic<std::uint16_t> claimed_{none};
  std::atomic<std::uint32_t> largest_{standard_frame};
  /// `checked`: chosen, and nothing is locked yet.
  enum class Care : std::uint8_t { none, now, checked, later };
  std::atomic<Care> wants_care_{Care::none};
  std::uint64_t care_turn_ = 0;      // EthdevEvents': of the last who chose it
  std::atomic<bool> pulled_{false};  ///< RTE_ETH_EVENT_INTR_RMV, and not gone yet

  std::mutex control_;
  Setup prepared_;  // published by EthdevEvents::prepared_event
  bool was_ready_ = false;
  rte_mempool* pool_ = nullptr;

  // The stepping thread's.
  bool begun_ = false;
  Setup used_;
  model::WireLink link_;
  model::WirePort* plugged_ = nullptr;
  MbufCache mbufs_;
  std::uint64_t link_looked_at_ = 0;
  unsigned polls_ = 0;
};

}  // namespace chime::wire

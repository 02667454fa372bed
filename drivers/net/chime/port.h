// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ethdev_driver.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "base/array.h"
#include "base/error.h"
#include "devargs.h"
#include "flow/rules.h"
#include "hca/port.h"
#include "hca/runtime.h"
#include "interrupts.h"
#include "periodic_alarm.h"
#include "port_hca.h"
#include "port_shared.h"
#include "queue_context.h"
#include "rdma/session.h"
#include "rx_queue.h"
#include "rx_steering.h"
#include "tx_queue.h"

/// @file
/// A port is two things. PortShared lies in EAL memory (dev_private) and is plain data: what bursts and
/// secondary processes reach. PortControl lives on the primary's heap (process_private) and owns the HCA and
/// its objects.

namespace chime::net {

/// What the application wants to receive; kept while the port is stopped.
struct FilterSettings {
  bool promiscuous = false;
  bool all_multicast = false;
  std::array<hca::MacAddress, max_mac_addresses> unicast{};  ///< [0] is the port's own; zero: free
  Array<hca::MacAddress> multicast;
  bool vlan_filter = false;
  VlanSet vlans{};
};

/// What the card counted, as 64-bit numbers that nobody resets.
struct HcaCounters {
  hca::PortCounters port;
  std::uint64_t out_of_buffer;
};

/// The primary process's half of a port. Its functions are called with `mutex` held, unless they say
/// otherwise; Op in ops.h takes it.
struct PortControl {
  PortControl(rte_eth_dev& dev, hca::Runtime& runtime, const DevArgs& args) noexcept
      : dev(dev), shared(shared_of(dev)), runtime(runtime), args(args) {}
  PortControl(const PortControl&) = delete;
  PortControl& operator=(const PortControl&) = delete;
  ~PortControl();

  rte_eth_dev& dev;
  PortShared& shared;
  hca::Runtime& runtime;
  const DevArgs args;
  std::mutex mutex;

  FilterSettings filter;

  // Users go first: in reverse order.
  Owned<PortHca> hca;         ///< nullptr after a reset that failed: nothing but reset and close works
  Owned<rdma::Session> rdma;  ///< of the private API; made at its first use
  hca::WireUse wire;          ///< while started
  std::array<Owned<RxQueueControl>, max_queues> rx;
  std::array<Owned<TxQueueControl>, max_queues> tx;
  Owned<RxSteering> steering;  ///< while started, if there are receive queues
  FlowRules flow;
  Interrupts interrupts;
  std::atomic<bool> tells_link{false};     ///< intr_conf.lsc, for EAL's interrupt thread
  std::atomic<bool> tells_removal{false};  ///< intr_conf.rmv
  bool loss_told = false;                  ///< of this HCA; EAL's interrupt thread's alone
  PeriodicAlarm recovery;                  ///< while started

  HcaCounters counters{};        ///< as last read
  HcaCounters counters_reset{};  ///< when statistics were last reset

  const char* name() const noexcept { return shared.name; }
  bool started() const noexcept { return shared.running.load(std::memory_order_relaxed); }
};

/// nullptr in a secondary process.
inline PortControl* control_of(const rte_eth_dev& dev) noexcept {
  return static_cast<PortControl*>(dev.process_private);
}

/// Opens the HCA and fills PortShared. On failure nothing is left open.
Result<> open_hca(PortControl& port) noexcept;
/// Ends queues and HCA. The port is stopped.
void close_hca(PortControl& port) noexcept;

QueueContext queue_context(PortControl& port) noexcept;

/// What every operation answers when there is no HCA, or one that was lost.
Error no_hca() noexcept;
Result<> check_hca(const PortControl& port) noexcept;
/// The card failed or was taken away: what goes on going wrong has been said.
bool is_lost(const PortControl& port) noexcept;

Result<> configure(PortControl& port) noexcept;
// These take the port's lock themselves, where they can.
int start(rte_eth_dev* dev) noexcept;
int stop(rte_eth_dev* dev) noexcept;
/// Ends everything and opens the HCA anew; the application configures and sets up its queues again.
int reset(rte_eth_dev* dev) noexcept;

}  // namespace chime::net

// SPDX-License-Identifier: BSD-3-Clause
#include "wire/ethdev_events.h"

#include <rte_alarm.h>
#include <rte_dev.h>
#include <rte_log.h>
#include <sched.h>

#include <array>
#include <cstdio>
#include <cstring>

#include "base/thread_sanitizer.h"
#include "wire/ethdev.h"

// Of the driver interface, which stock packages don't install. While RTE_ETH_EVENT_NEW is raised the port has
// no name yet for rte_eth_dev_get_name_by_port(), but this finds it already.
extern "C" struct rte_eth_dev* rte_eth_dev_allocated(const char* name);

namespace chime::wire {

namespace {
constexpr rte_eth_event_type heard[] = {RTE_ETH_EVENT_NEW, RTE_ETH_EVENT_DESTROY, RTE_ETH_EVENT_INTR_LSC,
                                        RTE_ETH_EVENT_INTR_RMV};

/// The device of a port that has its name, as virtual and PCI devices' ports do; nullptr: others. It lives as
/// long as its port does. Takes the bus's lock.
const rte_device* device_of(const char* ethdev) noexcept {
  for (const char* way : {"bus=vdev,name=%s", "bus=pci,addr=%s"}) {
    std::array<char, Name::capacity + 16> text;
    std::snprintf(text.data(), text.size(), way, ethdev);
    rte_dev_iterator iterator{};
    if (rte_dev_iterator_init(&iterator, text.data()) != 0) continue;
    // One step: a second one would begin at a device that may be gone by then.
    if (const rte_device* device = rte_dev_iterator_next(&iterator)) return device;
  }
  return nullptr;
}
}  // namespace

Result<> EthdevEvents::start() noexcept {
  logtype_ = rte_log_register_type_and_pick_level("lib.chime.wire", RTE_LOG_NOTICE);
  if (logtype_ < 0) return fail(ENOMEM, "EAL has no room for the log type lib.chime.wire");
  for (rte_eth_event_type event : heard) {
    int error = rte_eth_dev_callback_register(RTE_ETH_ALL, event, on_event, this);
    if (error) {
      return fail(-error, "a callback for ethdev events: %s; is EAL initialised?", strerror(-error));
    }
  }
  return {};
}

EthdevEvents::~EthdevEvents() {
  unregister();
  // A callback that is running stays registered.
  while (running_.load() != 0) sched_yield();
  unregister();
  rte_eal_alarm_cancel(on_alarm, this);
  taken_over(this);
}

void EthdevEvents::unregister() noexcept {
  for (rte_eth_event_type event : heard) {
    rte_eth_dev_callback_unregister(RTE_ETH_ALL, event, on_event, this);
  }
}

void EthdevEvents::add(EthdevWire& wire) noexcept {
  std::lock_guard guard(lock_);
  wire.next_ = first_;
  first_ = &wire;
}

void EthdevEvents::remove(EthdevWire& wire) noexcept {
  {
    std::lock_guard guard(lock_);
    EthdevWire** link = &first_;
    while (*link && *link != &wire) link = &(*link)->next_;
    if (*link) *link = wire.next_;
  }
  std::lock_guard wait_for_callbacks(wire.control_);
}

void EthdevEvents::wake() noexcept {
  handed_over(this);
  rte_eal_alarm_set(1, on_alarm, this);
}

int EthdevEvents::on_event(std::uint16_t port, rte_eth_event_type event, void* self, void*) noexcept {
  auto& events = *static_cast<EthdevEvents*>(self);
  events.running_.fetch_add(1);
  switch (event) {
    case RTE_ETH_EVENT_NEW:
      events.appeared(port);
      break;
    case RTE_ETH_EVENT_DESTROY:
      events.gone(port);
      break;
    case RTE_ETH_EVENT_INTR_LSC:
      events.of(port).fetch_or(link_event, std::memory_order_release);
      break;
    case RTE_ETH_EVENT_INTR_RMV:
      events.of(port).fetch_or(removal_event, std::memory_order_release);
      break;
    default:
      break;
  }
  events.running_.fetch_sub(1);
  return 0;
}

void EthdevEvents::appeared(std::uint16_t port) noexcept {
  std::lock_guard guard(lock_);
  for (EthdevWire* wire = first_; wire; wire = wire->next_) {
    if (wire->claimed_.load() != EthdevWire::none) continue;
    // Allocated but not yet to be found: this is the one that is being announced. (Should a driver announce
    // ports in another order than it allocates them, look_after() lets go of the wrong one.)
    std::uint16_t known;
    if (rte_eth_dev_get_port_by_name(wire->ethdev_.text(), &known) == 0) continue;
    if (!rte_eth_dev_allocated(wire->ethdev_.text())) continue;
    wire->appeared(port);
    wake();
    return;
  }
}

void EthdevEvents::gone(std::uint16_t port) noexcept {
  for (;;) {
    EthdevWire* wire;
    {
      std::lock_guard guard(lock_);
      wire = first_;
      while (wire && wire->claimed_.load() != port) wire = wire->next_;
      // Its control functions may take this lock, by way of another port of ours: never wait for it here.
      if (wire && !wire->control_.try_lock()) {
        sched_yield();
        continue;
      }
    }
    if (wire) {
      wire->gone(port);
      wire->control_.unlock();
    }
    pools_.forget_port(port);
    return;
  }
}

void EthdevEvents::look_after(EthdevWire& wire) noexcept {
  using Care = EthdevWire::Care;
  wire.wants_care_.store(Care::now);
  look_after_one(&wire);
  if (wire.wants_care_.load() != Care::none) wake();
}

void EthdevEvents::on_alarm(void* self) noexcept {
  using Care = EthdevWire::Care;
  auto& events = *static_cast<EthdevEvents*>(self);
  taken_over(self);
  while (events.look_after_one(nullptr)) continue;
  bool again = false;
  {
    std::lock_guard guard(events.lock_);
    for (EthdevWire* wire = events.first_; wire; wire = wire->next_) {
      Care later = Care::later;
      again |= wire->wants_care_.compare_exchange_strong(later, Care::now);
    }
  }
  if (again) rte_eal_alarm_set(1000, on_alarm, self);
  handed_over(self);
}

bool EthdevEvents::look_after_one(const EthdevWire* only) noexcept {
  using Care = EthdevWire::Care;
  EthdevWire* wire;
  std::uint64_t turn;
  std::uint16_t port;
  Name ethdev;
  {
    std::lock_guard guard(lock_);
    wire = first_;
    while (wire && ((only && wire != only) || wire->wants_care_.load() != Care::now)) wire = wire->next_;
    if (!wire) return false;
    wire->wants_care_.store(Care::checked);
    turn = wire->care_turn_ = ++care_turns_;
    port = wire->claimed_.load();
    ethdev = wire->ethdev_;
  }
  // The bus's lock is held by who removes a device and waits for us in gone(): nothing may be locked here,
  // and the wire may end meanwhile.
  const rte_device* device = port == EthdevWire::none ? nullptr : device_of(ethdev.text());
  {
    std::lock_guard guard(lock_);
    const EthdevWire* listed = first_;
    while (listed && listed != wire) listed = listed->next_;
    // It has ended, or another port has appeared for it, which has its own turn.
    if (!listed || wire->care_turn_ != turn || wire->wants_care_.load() != Care::checked) return true;
    const bool free = wire->control_.try_lock();
    wire->wants_care_.store(free ? Care::none : Care::later);
    if (!free) return true;
  }
  // From here on the port can't go, and neither can its device. RTE_ETH_EVENT_NEW came from the midst of the
  // probe, and the port is valid soon after; the ethdev library asks for the device's driver, which the bus
  // sets at the end.
  const bool early = wire->claimed_.load() == port && device && !rte_dev_is_probed(device);
  if (early || !wire->look_after()) wire->wants_care_.store(Care::later);
  wire->control_.unlock();
  return true;
}

}  // namespace chime::wire

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>

#include "base/error.h"

namespace chime::hca {

using MacAddress = std::array<std::uint8_t, 6>;

struct LinkState {
  bool up = false;
  bool full_duplex = true;
  bool autoneg = true;
  std::uint32_t speed_mbps = 0;  ///< 0: unknown
};

/// Of the port since it was opened. Bytes are without FCS.
struct PortCounters {
  std::uint64_t rx_unicast_packets, rx_unicast_bytes;
  std::uint64_t rx_multicast_packets, rx_multicast_bytes;
  std::uint64_t rx_broadcast_packets, rx_broadcast_bytes;
  std::uint64_t tx_unicast_packets, tx_unicast_bytes;
  std::uint64_t tx_multicast_packets, tx_multicast_bytes;
  std::uint64_t tx_broadcast_packets, tx_broadcast_bytes;
  std::uint64_t rx_error_packets, tx_error_packets;
  std::uint64_t rx_wire_packets, rx_wire_bytes, tx_wire_packets, tx_wire_bytes;  ///< physical port (PPCNT)
  std::uint64_t rx_steer_missed;               ///< arrived, and no rule took it
  std::uint64_t rx_too_long;                   ///< longer than the port's MTU
  std::uint64_t wire_drops_tx, wire_drops_rx;  ///< what the embedded HCA's wire could not carry; 0 on a card
};

enum class GidType : std::uint8_t { roce_v1, roce_v2 };

/// A place of the port's table of RDMA addresses.
struct GidEntry {
  std::array<std::uint8_t, 16> raw;  ///< as it is on the wire; an IPv4 address IPv6-mapped (::ffff:a.b.c.d)
  MacAddress mac;
  GidType type;
};

class Port;

/// A use of a port's wire; ends with the object. The ethdev port is one while it is started, a queue pair is
/// one as long as it lives: the wire goes on until nobody uses it.
class WireUse {
 public:
  WireUse() noexcept = default;
  WireUse(WireUse&& other) noexcept : port_(std::exchange(other.port_, nullptr)) {}
  WireUse& operator=(WireUse&& other) noexcept {
    std::swap(port_, other.port_);
    return *this;
  }
  inline ~WireUse();
  explicit operator bool() const noexcept { return port_ != nullptr; }

 private:
  friend class Port;
  explicit WireUse(Port& port) noexcept : port_(&port) {}
  Port* port_ = nullptr;
};

/// The port as the host sees it: on a card the kernel's netdev, restored at close; on the software HCA its
/// registers and vport context. Thread-safe.
class Port {
 public:
  virtual ~Port() = default;

  /// To be called before use(): gets the embedded HCA's wire ready, so that max_mtu() is final; its frames
  /// wait until somebody uses it. A card needs nothing. ENODEV, EBUSY or ELOOP list the wires that would
  /// work.
  virtual Result<> prepare() noexcept { return {}; }
  /// The wire's frames may come: to be called when there are queues and steering, or queue pairs, for them.
  /// When the last use has ended, the wire is left alone: what it is may be removed safely. A card's wire is
  /// the kernel driver's.
  [[nodiscard]] WireUse use() noexcept {
    const std::lock_guard lock(uses_mutex_);
    if (uses_++ == 0) begin_wire();
    return WireUse(*this);
  }

  virtual Result<LinkState> link() noexcept = 0;
  virtual Result<> set_link(bool up) noexcept = 0;

  /// MTU: bytes of the packet after the Ethernet header (and after VLAN tags).
  virtual Result<std::uint32_t> mtu() noexcept = 0;
  virtual Result<std::uint32_t> max_mtu() noexcept = 0;
  virtual Result<> set_mtu(std::uint32_t mtu) noexcept = 0;

  virtual Result<MacAddress> mac() noexcept = 0;
  virtual Result<> set_mac(const MacAddress& mac) noexcept = 0;
  /// Replaces the lists of further addresses that the port lets in.
  virtual Result<> set_unicast_list(std::span<const MacAddress> list) noexcept = 0;
  virtual Result<> set_multicast_list(std::span<const MacAddress> list) noexcept = 0;
  virtual Result<> set_promiscuous(bool on) noexcept = 0;
  virtual Result<> set_all_multicast(bool on) noexcept = 0;

  /// Places of the table of RDMA addresses, filled or not; 0 where the card has no RoCE.
  virtual unsigned gid_count() noexcept = 0;
  /// EINVAL: the table has no such place; ENODATA: nothing is in it.
  virtual Result<GidEntry> gid(unsigned index) noexcept = 0;
  /// Gives the port an address of RoCE v2, as a host's kernel does when its netdev gets it. The link-local
  /// one of the MAC is there from the start.
  /// @param address 4 bytes of IPv4 or 16 of IPv6, as on the wire
  /// @return its place, also where it was there before; ENOSPC when the table is full
  virtual Result<unsigned> add_address(std::span<const std::uint8_t> address) noexcept = 0;

  virtual Result<PortCounters> counters() noexcept = 0;
  virtual Result<> firmware_version(std::span<char> text) noexcept = 0;

  /// A descriptor that polls readable when link(), mtu(), max_mtu() or the device's condition() may answer
  /// otherwise than before.
  virtual int change_fd() const noexcept = 0;
  /// Makes change_fd() unreadable again, and condition() answer what is.
  virtual void acknowledge_change() noexcept = 0;

 private:
  friend class WireUse;
  virtual void begin_wire() noexcept {}
  virtual void end_wire() noexcept {}
  void end_use() noexcept {
    const std::lock_guard lock(uses_mutex_);
    if (--uses_ == 0) end_wire();
  }

  std::mutex uses_mutex_;
  unsigned uses_ = 0;
};

WireUse::~WireUse() {
  if (port_ != nullptr) port_->end_use();
}

}  // namespace chime::hca

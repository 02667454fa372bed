// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>

#include "base/array.h"
#include "base/file_descriptor.h"
#include "wire/bare_wire.h"

namespace chime::wire {

/// A TAP interface of the kernel's, taken directly: what the card sends, the interface receives. Beside
/// net_tap it takes large sends uncut (the kernel cuts them where it must, which is nowhere on the way to a
/// local socket), jumbo frames, and no signal for each frame that arrives.
///
///     /dev/net/tun:  struct virtio_net_hdr (10 bytes, host order)   frame without FCS
class TapWire final : public BareWire {
 public:
  /// Makes the interface, or takes a persistent one that nobody has, and sets it up; a made one ends with the
  /// wire. Addresses, MTU and namespace are the administrator's.
  /// @return EINVAL: not a name of an interface, or another kind of interface has it; EPERM: no
  /// CAP_NET_ADMIN; EBUSY: another process has it; ENOENT: no /dev/net/tun
  static Result<Owned<BareWire>> make(const char* port_name, const char* interface) noexcept;
  TapWire(FileDescriptor device, Array<std::byte> arrived) noexcept
      : device_(std::move(device)), arrived_(std::move(arrived)) {}

  void plug(model::WirePort* port) noexcept override;
  void transmit(std::span<const model::Frame> frames) noexcept override;
  unsigned poll(unsigned budget) noexcept override;
  model::WireLink link() const noexcept override { return {!gone_, unbound_speed_mbps}; }
  std::uint32_t largest_frame() const noexcept override { return largest; }
  bool cuts() const noexcept override { return true; }
  void begin() noexcept override { begun_.store(true); }
  void end() noexcept override { begun_.store(false); }
  int descriptor() const noexcept override {
    return gone_ || !begun_.load(std::memory_order_relaxed) ? -1 : device_.get();
  }

 private:
  static constexpr std::uint32_t largest = 9978 + frame_overhead;
  static constexpr unsigned batch = 64;

  void send(const model::Frame& frame) noexcept;
  /// @return bytes of the frame read to `to`, 0: there is none
  std::uint32_t receive(std::byte* to) noexcept;
  void interface_is_gone() noexcept;

  FileDescriptor device_;
  Array<std::byte> arrived_;  ///< a batch of frames
  model::WirePort* port_ = nullptr;
  bool gone_ = false;  ///< deleted under the wire
  std::atomic<bool> begun_{false};
};

}  // namespace chime::wire

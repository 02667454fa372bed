// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hca/device.h"
#include "hca/queues.h"
#include "hca/receive_path.h"
#include "hca/steering.h"

namespace chime::test {

/// EAL memory for packets, registered for one device.
class PacketMemory {
 public:
  static Result<PacketMemory> make(hca::Device& device, const hca::Object& pd, std::size_t bytes);
  PacketMemory() = default;
  PacketMemory(PacketMemory&& other) noexcept;
  PacketMemory& operator=(PacketMemory&& other) noexcept;
  ~PacketMemory();

  std::byte* at(std::size_t offset) const { return data_ + offset; }
  std::uint32_t lkey() const { return region_.lkey; }

 private:
  std::byte* data_ = nullptr;
  hca::MemoryRegion region_;
};

/// One queue each way, everything that reaches the port led to the receive queue. What a driver does, in its
/// smallest form.
struct Path {
  static constexpr std::uint8_t log_size = 6;
  static constexpr std::size_t buffer = 2048;

  /// @param arm_rx whether the receive CQ gets an arm doorbell
  static Result<Path> make(hca::Device& device);

  /// Posts one send WQE of these bytes, and rings.
  void send(std::span<const std::byte> frame);
  /// Posts `count` receive WQEs.
  void post_receives(unsigned count);
  /// The next CQE when it is there, else nullptr.
  const prm::Cqe* poll_receive();
  const prm::Cqe* poll_send();
  std::span<const std::byte> received(const prm::Cqe& cqe) const;

  hca::Object pd, td, tis, q_counter;
  hca::Uar uar;
  PacketMemory packets;
  hca::CompletionQueue send_cq, receive_cq;
  hca::SendQueue sq;
  hca::ReceiveQueue rq;
  hca::Object tir, table, group, entry, root;
  hca::Doorbell doorbell;

  std::uint16_t sent = 0;
  std::uint16_t posted = 0;
  std::uint32_t send_consumer = 0;
  std::uint32_t receive_consumer = 0;
};

}  // namespace chime::test

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/array.h"
#include "base/error.h"
#include "model/wire.h"

namespace chime::wire {

/// An IP address that is to be found at a MAC address.
struct OwnAddress {
  std::array<std::uint8_t, 16> ip;  ///< IPv4: IPv6-mapped
  std::array<std::uint8_t, 6> mac;
};

/// Answers to ARP requests and IPv6 neighbour solicitations that ask for some addresses, as they come; kept
/// until they can be sent.
///
///     ARP request, target 10.0.0.1           ->  ARP reply to who asked
///     solicitation, target fe80::1           ->  advertisement to who asked
///     the same from :: (address detection)   ->  advertisement to all nodes
class NeighbourAnswers {
 public:
  static constexpr std::size_t longest = 86;  ///< bytes: Ethernet, IPv6, advertisement with one option
  static constexpr std::size_t room = 32;     ///< answers that can wait; more are not given

  Result<> set(std::span<const OwnAddress> addresses) noexcept;

  /// Whether the frame asks for one of the addresses; its answer waits then.
  bool take(const model::Frame& frame) noexcept;

  bool waiting() const noexcept { return count_ != 0; }
  /// Hands what waits to `send(std::span<const model::Frame>)`.
  template <class Send>
  void flush(Send&& send) noexcept {
    std::array<model::Segment, room> segments;
    std::array<model::Frame, room> frames;
    for (std::size_t i = 0; i < count_; ++i) {
      segments[i] = {answers_[i].bytes.data(), answers_[i].length};
      frames[i] = {&segments[i], 1, answers_[i].length};
    }
    const std::size_t count = count_;
    count_ = 0;
    send(std::span<const model::Frame>(frames).first(count));
  }

 private:
  struct Answer {
    std::array<std::byte, longest> bytes;
    std::uint32_t length;
  };

  const OwnAddress* find(std::span<const std::uint8_t, 16> ip) const noexcept;
  bool arp(std::span<const std::uint8_t> frame) noexcept;
  bool solicitation(std::span<const std::uint8_t> frame) noexcept;
  /// A place for an answer, zeroed; nullptr when there is no room.
  std::uint8_t* add(std::uint32_t length) noexcept;

  Array<OwnAddress> addresses_;
  std::array<Answer, room> answers_;
  std::size_t count_ = 0;
};

}  // namespace chime::wire

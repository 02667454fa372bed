// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

/// @file
/// Frames built by hand.

namespace chime::test {

using Frame = std::vector<std::uint8_t>;

/// What a frame is made of; unset parts are left out.
struct Build {
  std::vector<std::uint8_t> dst = {0x02, 0, 0, 0, 0, 1};
  std::vector<std::uint8_t> src = {0x02, 0, 0, 0, 0, 2};
  std::vector<std::pair<unsigned, unsigned>> tags = {};  ///< TPID, TCI
  unsigned type = 0x88b5;                                ///< without IP
  unsigned ip = 0;                                       ///< 0, 4 or 6
  std::uint32_t from = 0x0a000001, to = 0x0a000002;      ///< IPv4; the last word of IPv6
  unsigned protocol = 17;
  unsigned sport = 1000, dport = 2000;  ///< TCP, UDP
  bool fragment = false;
  unsigned ttl = 64, tos = 0, tcp_flags = 0x10;
};

inline void put(Frame& frame, std::uint32_t value, unsigned bytes) {
  for (unsigned i = bytes; i-- > 0;) frame.push_back(static_cast<std::uint8_t>(value >> 8 * i));
}

inline Frame l4(const Build& b) {
  Frame frame;
  put(frame, b.sport, 2);
  put(frame, b.dport, 2);
  if (b.protocol == 6) {
    put(frame, 1, 4);
    put(frame, 2, 4);
    put(frame, 0x5000 | b.tcp_flags, 2);
    put(frame, 1024, 2);
    put(frame, 0, 4);
  } else {
    put(frame, 8 + 16, 2);
    put(frame, 0, 2);
  }
  for (unsigned i = 0; i < 16; ++i) put(frame, i, 1);
  return frame;
}

inline Frame build(const Build& b) {
  Frame frame(b.dst);
  frame.insert(frame.end(), b.src.begin(), b.src.end());
  for (auto [tpid, tci] : b.tags) {
    put(frame, tpid, 2);
    put(frame, tci, 2);
  }
  const Frame payload = l4(b);
  if (b.ip == 4) {
    put(frame, 0x0800, 2);
    const std::size_t header = frame.size();
    put(frame, 0x4500 | b.tos, 2);
    put(frame, static_cast<std::uint32_t>(20 + payload.size()), 2);
    put(frame, 0, 2);
    put(frame, b.fragment ? 0x2000 : 0, 2);
    put(frame, b.ttl, 1);
    put(frame, b.protocol, 1);
    put(frame, 0, 2);
    put(frame, b.from, 4);
    put(frame, b.to, 4);
    std::uint32_t sum = 0;
    for (std::size_t i = header; i < frame.size(); i += 2)
      sum += static_cast<std::uint32_t>(frame[i] << 8 | frame[i + 1]);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = ~(sum + (sum >> 16));
    frame[header + 10] = static_cast<std::uint8_t>(sum >> 8);
    frame[header + 11] = static_cast<std::uint8_t>(sum);
  } else if (b.ip == 6) {
    put(frame, 0x86dd, 2);
    put(frame, 0x60000000u | b.tos << 20, 4);
    put(frame, static_cast<std::uint32_t>(payload.size() + (b.fragment ? 8 : 0)), 2);
    put(frame, b.fragment ? 44 : b.protocol, 1);
    put(frame, b.ttl, 1);
    for (std::uint32_t last : {b.from, b.to}) {
      put(frame, 0x20010db8, 4);
      put(frame, 0, 4);
      put(frame, 0, 4);
      put(frame, last, 4);
    }
    if (b.fragment) {
      put(frame, b.protocol << 24, 4);  // next header, reserved, offset 0
      frame.back() = 1;                 // more fragments
      put(frame, 7, 4);
    }
  } else {
    put(frame, b.type, 2);
  }
  frame.insert(frame.end(), payload.begin(), payload.end());
  while (frame.size() < 60) frame.push_back(0);
  return frame;
}

}  // namespace chime::test

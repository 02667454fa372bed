// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

/// @file
/// Frames for tests, put together byte by byte.

namespace chime::test {

using Bytes = std::vector<std::byte>;

/// Appends big-endian values and other pieces.
class FrameBuilder {
 public:
  FrameBuilder& u8(unsigned value);
  FrameBuilder& u16(unsigned value);
  FrameBuilder& u32(std::uint32_t value);
  FrameBuilder& hex(std::string_view digits);  ///< blanks are skipped
  FrameBuilder& fill(std::size_t count, unsigned first = 0, unsigned step = 1);

  FrameBuilder& ethernet(unsigned ethertype);            ///< 02:00:00:00:00:02 <- 02:00:00:00:00:01
  FrameBuilder& vlan(unsigned tci, unsigned ethertype);  ///< the type before it must be a tag's
  /// @param payload bytes behind the header; checksum right unless told
  FrameBuilder& ipv4(unsigned protocol, std::size_t payload, unsigned options_words = 0,
                     unsigned fragment = 0x4000);
  FrameBuilder& ipv6(unsigned next, std::size_t payload);
  FrameBuilder& udp(std::size_t payload, unsigned source = 1000, unsigned destination = 2000);
  FrameBuilder& tcp(unsigned flags = 0x10, unsigned source = 1000, unsigned destination = 2000);

  std::size_t size() const { return bytes_.size(); }
  const Bytes& bytes() const { return bytes_; }

 private:
  Bytes bytes_;
};

/// Ethernet, IPv4, UDP and as much payload as makes `length` bytes; all checksums right.
Bytes udp4_frame(std::size_t length, unsigned source_port = 1000);

/// RFC 1071, word by word.
std::uint16_t naive_sum(const std::byte* data, std::size_t length, std::uint32_t start = 0);

}  // namespace chime::test

// SPDX-License-Identifier: BSD-3-Clause
#include "frames.h"

namespace chime::test {

FrameBuilder& FrameBuilder::u8(unsigned value) {
  bytes_.push_back(static_cast<std::byte>(value));
  return *this;
}

FrameBuilder& FrameBuilder::u16(unsigned value) {
  return u8(value >> 8 & 0xff).u8(value & 0xff);
}

FrameBuilder& FrameBuilder::u32(std::uint32_t value) {
  return u16(value >> 16).u16(value & 0xffff);
}

FrameBuilder& FrameBuilder::hex(std::string_view digits) {
  unsigned value = 0, count = 0;
  for (char c : digits) {
    if (c == ' ') continue;
    value = value << 4 | static_cast<unsigned>(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    if (++count % 2 == 0) u8(value & 0xff);
  }
  return *this;
}

FrameBuilder& FrameBuilder::fill(std::size_t count, unsigned first, unsigned step) {
  for (std::size_t i = 0; i < count; ++i) u8((first + static_cast<unsigned>(i) * step) & 0xff);
  return *this;
}

FrameBuilder& FrameBuilder::ethernet(unsigned ethertype) {
  return hex("020000000002 020000000001").u16(ethertype);
}

FrameBuilder& FrameBuilder::vlan(unsigned tci, unsigned ethertype) {
  return u16(tci).u16(ethertype);
}

FrameBuilder& FrameBuilder::ipv4(unsigned protocol, std::size_t payload, unsigned options_words,
                                 unsigned fragment) {
  const std::size_t at = bytes_.size();
  const unsigned header = 20 + 4 * options_words;
  u8(0x40 | (5 + options_words)).u8(0).u16(static_cast<unsigned>(header + payload));
  u16(0x1234).u16(fragment).u8(64).u8(protocol).u16(0).hex("0a000001 0a000002");
  for (unsigned i = 0; i < options_words; ++i) u32(0x01010101);
  const auto sum = static_cast<std::uint16_t>(~naive_sum(bytes_.data() + at, header));
  bytes_[at + 10] = static_cast<std::byte>(sum >> 8);
  bytes_[at + 11] = static_cast<std::byte>(sum & 0xff);
  return *this;
}

FrameBuilder& FrameBuilder::ipv6(unsigned next, std::size_t payload) {
  u32(0x60012345).u16(static_cast<unsigned>(payload)).u8(next).u8(64);
  return hex("20010db8000000000000000000000001 20010db8000000000000000000000002");
}

FrameBuilder& FrameBuilder::udp(std::size_t payload, unsigned source, unsigned destination) {
  return u16(source).u16(destination).u16(static_cast<unsigned>(8 + payload)).u16(0);
}

FrameBuilder& FrameBuilder::tcp(unsigned flags, unsigned source, unsigned destination) {
  return u16(source).u16(destination).u32(0x01020304).u32(0x05060708).u16(0x5000 | flags).u16(512).u32(0);
}

std::uint16_t naive_sum(const std::byte* data, std::size_t length, std::uint32_t start) {
  std::uint32_t sum = start;
  for (std::size_t i = 0; i < length; ++i) {
    const auto byte = static_cast<std::uint32_t>(data[i]);
    sum += i % 2 == 0 ? byte << 8 : byte;
    sum = (sum & 0xffff) + (sum >> 16);
  }
  return static_cast<std::uint16_t>(sum);
}

Bytes udp4_frame(std::size_t length, unsigned source_port) {
  const std::size_t payload = length - 42;
  FrameBuilder builder;
  builder.ethernet(0x0800).ipv4(17, 8 + payload).udp(payload, source_port).fill(payload, 3, 7);
  Bytes frame = builder.bytes();
  std::uint32_t pseudo = 17 + 8 + static_cast<std::uint32_t>(payload);
  pseudo += naive_sum(frame.data() + 26, 8);
  const auto sum = static_cast<std::uint16_t>(~naive_sum(frame.data() + 34, 8 + payload, pseudo));
  frame[40] = static_cast<std::byte>((sum ? sum : 0xffff) >> 8);
  frame[41] = static_cast<std::byte>((sum ? sum : 0xffff) & 0xff);
  return frame;
}

}  // namespace chime::test

// SPDX-License-Identifier: BSD-3-Clause
#include "model/packet/checksum.h"

#include <gtest/gtest.h>

#include "frames.h"
#include "model/packet/bytes.h"

namespace chime {
namespace {

using model::Segment;
using test::Bytes;
using test::FrameBuilder;
using test::naive_sum;

std::uint16_t as_read(std::uint16_t in_memory) {
  return prm::host_to_be(in_memory);
}

/// Both zeros of ones' complement are one.
std::uint16_t canonical(std::uint16_t sum) {
  return sum == 0xffff ? 0 : sum;
}

std::uint32_t length(const Bytes& b) {
  return static_cast<std::uint32_t>(b.size());
}

net::ChecksumStatus check(const Bytes& frame) {
  const Segment whole{frame.data(), length(frame)};
  const net::Headers headers = net::parse(frame.data(), length(frame), length(frame));
  return net::check(frame.data(), headers, {&whole, 1}, length(frame));
}

TEST(Checksum, SumOfEveryLengthAtEveryAlignment) {
  FrameBuilder b;
  b.fill(700, 0x80, 37);
  for (std::size_t at = 0; at < 9; ++at) {
    for (std::size_t n = 0; at + n <= b.size(); ++n) {
      const std::byte* data = b.bytes().data() + at;
      ASSERT_EQ(canonical(as_read(net::fold(net::sum_bytes(data, n)))), canonical(naive_sum(data, n)))
          << at << " " << n;
    }
  }
}

TEST(Checksum, CarriesAreKept) {
  const Bytes ones(65536, std::byte{0xff});
  EXPECT_EQ(net::fold(net::sum_bytes(ones.data(), ones.size())), 0xffff);
}

TEST(Checksum, SegmentsMayBeginAnywhere) {
  FrameBuilder b;
  b.fill(200, 1, 91);
  for (std::uint32_t first = 1; first < 60; ++first) {
    for (std::uint32_t second = 1; second < 60; ++second) {
      const std::byte* d = b.bytes().data();
      const Segment parts[] = {{d, first}, {d + first, second}, {d + first + second, 200 - first - second}};
      for (std::uint32_t from : {0u, 14u, 17u, 70u}) {
        for (std::uint32_t to : {70u, 155u, 200u}) {
          ASSERT_EQ(canonical(as_read(net::fold(net::sum_frame(parts, from, to)))),
                    canonical(naive_sum(d + from, to - from)));
        }
      }
    }
  }
}

TEST(Checksum, CompleteSumIsOfEverythingBehindTheEthernetHeader) {
  const Bytes frame = test::udp4_frame(101);
  EXPECT_EQ(as_read(check(frame).complete), naive_sum(frame.data() + 14, frame.size() - 14));
}

TEST(Checksum, GoodAndBadUdp4) {
  for (std::size_t size = 42; size < 140; ++size) {
    Bytes frame = test::udp4_frame(size);
    EXPECT_TRUE(check(frame).l3_ok);
    EXPECT_TRUE(check(frame).l4_ok) << size;
    frame.back() ^= std::byte{1};
    EXPECT_TRUE(check(frame).l3_ok);
    EXPECT_FALSE(check(frame).l4_ok) << size;
    frame[22] ^= std::byte{1};
    EXPECT_FALSE(check(frame).l3_ok);
  }
}

TEST(Checksum, PaddingIsNotPartOfTheDatagram) {
  for (std::size_t size : {50u, 51u}) {
    for (unsigned pad = 1; pad < 10; ++pad) {
      Bytes frame = test::udp4_frame(size);
      for (unsigned i = 0; i < pad; ++i) frame.push_back(std::byte{0xa5});
      EXPECT_TRUE(check(frame).l4_ok);
      EXPECT_EQ(as_read(check(frame).complete), naive_sum(frame.data() + 14, frame.size() - 14));
    }
  }
}

TEST(Checksum, UdpWithoutChecksum) {
  Bytes frame = test::udp4_frame(60);
  frame[40] = frame[41] = std::byte{0};
  EXPECT_TRUE(check(frame).l4_ok);
  const auto six = FrameBuilder().ethernet(0x86dd).ipv6(17, 16).udp(8).fill(8).bytes();
  EXPECT_TRUE(check(six).l3_ok);
  EXPECT_FALSE(check(six).l4_ok);
}

/// insert_checksums on a frame of two segments, then check() of the result.
void insert_and_check(const FrameBuilder& b) {
  Bytes frame = b.bytes();
  const net::Headers headers = net::parse(frame.data(), length(frame), length(frame));
  ASSERT_NE(headers.l4, net::L4::none);
  const std::uint32_t front = headers.payload_offset;
  Bytes head(frame.begin(), frame.begin() + front);
  Segment parts[] = {{head.data(), front}, {frame.data() + front, length(frame) - front}};
  const std::size_t used = parts[1].length == 0 ? 1 : 2;
  net::insert_checksums(head.data(), headers, {parts, used}, net::insert_l3 | net::insert_l4);
  std::copy(head.begin(), head.end(), frame.begin());
  const auto status = check(frame);
  EXPECT_TRUE(status.l3_ok);
  if (headers.l4 != net::L4::icmp) {
    EXPECT_TRUE(status.l4_ok);
  } else {
    const std::uint32_t pseudo =
        headers.l3 == net::L3::ipv4
            ? 0
            : naive_sum(frame.data() + headers.l3_offset + 8, 32, 58u + headers.ip_end - headers.l4_offset);
    EXPECT_EQ(naive_sum(frame.data() + headers.l4_offset,
                        static_cast<std::size_t>(headers.ip_end - headers.l4_offset), pseudo),
              0xffff);
  }
}

TEST(Checksum, InsertsIntoEveryKind) {
  for (unsigned n : {0u, 1u, 7u, 64u, 1001u}) {
    insert_and_check(FrameBuilder().ethernet(0x0800).ipv4(17, 8 + n).udp(n).fill(n, 9, 3));
    insert_and_check(FrameBuilder().ethernet(0x0800).ipv4(6, 20 + n, 2).tcp().fill(n, 9, 3).fill(3));
    insert_and_check(FrameBuilder().ethernet(0x86dd).ipv6(17, 8 + n).udp(n).fill(n, 9, 3));
    insert_and_check(FrameBuilder().ethernet(0x8100).vlan(1, 0x86dd).ipv6(6, 20 + n).tcp().fill(n, 9, 3));
    insert_and_check(FrameBuilder().ethernet(0x0800).ipv4(1, 8 + n).hex("0800000012340001").fill(n));
    insert_and_check(FrameBuilder().ethernet(0x86dd).ipv6(58, 8 + n).hex("8000000012340001").fill(n));
  }
}

TEST(Checksum, UdpNeverGetsZero) {
  // The payload is such that the checksum would come out as 0.
  FrameBuilder b;
  b.ethernet(0x0800).ipv4(17, 10).udp(2, 0, 0).u16(0);
  Bytes frame = b.bytes();
  const std::uint32_t others = naive_sum(frame.data() + 34, 10, 17u + 10u + naive_sum(frame.data() + 26, 8));
  net::store_be(frame.data() + 42, static_cast<std::uint16_t>(0xffff - others));
  const net::Headers headers = net::parse(frame.data(), length(frame), length(frame));
  const Segment whole{frame.data(), length(frame)};
  net::insert_checksums(frame.data(), headers, {&whole, 1}, net::insert_l4);
  EXPECT_EQ(net::load_be<std::uint16_t>(frame.data() + 40), 0xffff);
  EXPECT_TRUE(check(frame).l4_ok);
}

TEST(Checksum, FragmentsAndOthersAreLeftAlone) {
  Bytes frame = FrameBuilder().ethernet(0x0800).ipv4(17, 16, 0, 0x2000).udp(8).fill(8).bytes();
  const Bytes before = frame;
  const net::Headers headers = net::parse(frame.data(), length(frame), length(frame));
  const Segment whole{frame.data(), length(frame)};
  net::insert_checksums(frame.data(), headers, {&whole, 1}, net::insert_l4);
  EXPECT_EQ(frame, before);
}

}  // namespace
}  // namespace chime

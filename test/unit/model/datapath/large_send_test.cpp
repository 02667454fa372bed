// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>

#include "rig.h"

namespace chime::test {
namespace {

constexpr unsigned both_checksums = prm::eth_l3_csum | prm::eth_l4_csum;
constexpr unsigned cwr_ack_psh_fin = 0x99;

unsigned at(const Bytes& frame, std::size_t offset) {
  return static_cast<unsigned>(frame[offset]);
}
unsigned word(const Bytes& frame, std::size_t offset) {
  return at(frame, offset) << 8 | at(frame, offset + 1);
}
std::uint32_t long_word(const Bytes& frame, std::size_t offset) {
  return word(frame, offset) << 16 | word(frame, offset + 2);
}

class LargeSend : public ::testing::Test {
 protected:
  LargeSend() : cq(rig.make_cq(6)), sq(rig.make_sq(6, cq)) {}

  /// Posts `payload` behind `header`, and checks that what was sent is the payload again.
  std::vector<Bytes> cut(const Bytes& header, const Bytes& payload, unsigned mss, unsigned pieces = 1) {
    std::vector<Data> segments;
    const std::uint64_t address = rig.memory.allocate(payload.size());
    rig.memory.write(address, payload);
    const std::size_t each = payload.size() / pieces;
    for (unsigned i = 0; i < pieces; ++i) {
      const std::size_t length = i + 1 == pieces ? payload.size() - i * each : each;
      segments.push_back(pointer(rig, address + i * each, length));
    }
    return send(header, segments, payload, mss);
  }

  /// Posts segments, in which `payload` lies, behind `header`.
  std::vector<Bytes> send(const Bytes& header, const std::vector<Data>& segments, const Bytes& payload,
                          unsigned mss) {
    sq.post(segments, {.inline_header = header,
                       .cs_flags = both_checksums,
                       .mss = mss,
                       .ce = prm::wqe_ce::always,
                       .opcode = prm::wqe_opcode::lso});
    rig.wire.sent.clear();
    rig.ring(sq);
    rig.run();
    Bytes together;
    for (const Bytes& frame : rig.wire.sent) {
      together.insert(together.end(), frame.begin() + static_cast<std::ptrdiff_t>(header.size()),
                      frame.end());
    }
    EXPECT_EQ(together, payload);
    prm::Cqe cqe;
    EXPECT_TRUE(cq.poll(cqe));
    EXPECT_FALSE(cq.poll(cqe));
    cq.publish();
    return rig.wire.sent;
  }

  Bytes pattern(std::size_t length) { return FrameBuilder().fill(length, 1, 7).bytes(); }

  Rig rig;
  CompletionQueue cq;
  SendQueue sq;
};

TEST_F(LargeSend, TcpOverIpv4) {
  const Bytes header = FrameBuilder().ethernet(0x0800).ipv4(6, 20).tcp(cwr_ack_psh_fin).bytes();
  const auto frames = cut(header, pattern(2500), 1000, 3);
  ASSERT_EQ(frames.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    const Bytes& frame = frames[i];
    const std::size_t payload = i < 2 ? 1000 : 500;
    ASSERT_EQ(frame.size(), 54 + payload);
    EXPECT_EQ(word(frame, 16), 40 + payload);
    EXPECT_EQ(word(frame, 18), ((word(header, 18) + i) & 0xffff));
    EXPECT_EQ(naive_sum(&frame[14], 20), 0xffff);
    EXPECT_EQ(long_word(frame, 38), static_cast<std::uint32_t>(long_word(header, 38) + i * 1000));
    EXPECT_EQ(at(frame, 47), i == 0 ? 0x90u : i == 1 ? 0x10u : 0x19u);
    // The pseudo header: addresses, protocol, length.
    const std::uint32_t pseudo = naive_sum(&frame[26], 8) + 6u + 20u + static_cast<std::uint32_t>(payload);
    EXPECT_EQ(naive_sum(&frame[34], frame.size() - 34, pseudo), 0xffff);
  }
}

TEST_F(LargeSend, UdpOverIpv6) {
  const Bytes header = FrameBuilder().ethernet(0x86dd).ipv6(17, 8).udp(0).bytes();
  ASSERT_EQ(header.size(), 62u);
  const auto frames = cut(header, pattern(1001), 500, 2);
  ASSERT_EQ(frames.size(), 3u);
  for (const Bytes& frame : frames) {
    const std::size_t udp = frame.size() - 54;
    EXPECT_EQ(word(frame, 18), udp);
    EXPECT_EQ(word(frame, 58), udp);
    const std::uint32_t pseudo = naive_sum(&frame[22], 32) + 17u + static_cast<std::uint32_t>(udp);
    EXPECT_EQ(naive_sum(&frame[54], udp, pseudo), 0xffff);
  }
}

TEST_F(LargeSend, MoreFramesThanABatchHas) {
  const Bytes header = FrameBuilder().ethernet(0x0800).ipv4(6, 20).tcp().bytes();
  EXPECT_EQ(cut(header, pattern(60000), 100, 40).size(), 600u);
}

TEST_F(LargeSend, LessThanOneSegment) {
  const Bytes header = FrameBuilder().ethernet(0x0800).ipv4(6, 20).tcp().bytes();
  EXPECT_EQ(cut(header, pattern(100), 1460).size(), 1u);
}

/// For a wire that cuts: the whole's headers, and of the TCP checksum the pseudo header's part.
TEST_F(LargeSend, UncutForAWireThatCuts) {
  rig.wire.cutting = true;
  const Bytes ipv4 = FrameBuilder().ethernet(0x0800).ipv4(6, 20).tcp(cwr_ack_psh_fin).bytes();
  const Bytes ipv6 = FrameBuilder().ethernet(0x86dd).ipv6(6, 20).tcp(cwr_ack_psh_fin).bytes();
  for (const Bytes& header : {ipv4, ipv6}) {
    rig.wire.cuts_sent.clear();
    const bool six = header == ipv6;
    const auto frames = cut(header, pattern(60000), 1000, 40);
    ASSERT_EQ(frames.size(), 1u);
    const model::Cut& how = rig.wire.cuts_sent[0];
    EXPECT_EQ(how.payload, 1000);
    EXPECT_EQ(how.headers, header.size());
    EXPECT_EQ(how.tcp, header.size() - 20);
    EXPECT_EQ(how.ipv6, six);
    const Bytes& frame = frames[0];
    EXPECT_EQ(word(frame, six ? 18 : 16), six ? 60020u : 60040u);
    if (!six) {
      EXPECT_EQ(naive_sum(&frame[14], 20), 0xffff);
    }
    EXPECT_EQ(at(frame, how.tcp + 13u), cwr_ack_psh_fin);
    EXPECT_EQ(word(frame, how.tcp + 16u), naive_sum(&frame[six ? 22 : 26], six ? 32 : 8, 6u + 60020u));
  }
}

TEST_F(LargeSend, CutHereWhatTheWireDoesNotCut) {
  rig.wire.cutting = true;
  const Bytes tcp = FrameBuilder().ethernet(0x0800).ipv4(6, 20).tcp().bytes();
  const Bytes udp = FrameBuilder().ethernet(0x86dd).ipv6(17, 8).udp(0).bytes();
  EXPECT_EQ(cut(udp, pattern(3000), 1000).size(), 3u);
  EXPECT_EQ(cut(tcp, pattern(65535), 1000, 40).size(), 66u) << "longer than an IP datagram";
  EXPECT_EQ(cut(tcp, pattern(1000), 1000).size(), 1u);
  for (const model::Cut& how : rig.wire.cuts_sent) EXPECT_EQ(how.payload, 0);
}

/// Of 57 pointers each, at the end of a page, in the next and at the beginning of one.
TEST_F(LargeSend, InManyPieces) {
  const Bytes header = FrameBuilder().ethernet(0x0800).ipv4(6, 20).tcp().bytes();
  constexpr std::size_t pointers = 57, each = 4400;
  const Bytes payload = pattern(pointers * each);
  std::vector<Data> segments;
  for (std::size_t i = 0; i < pointers; ++i) {
    const std::uint64_t address = rig.memory.allocate(3 * TestMemory::page, TestMemory::page) + 4000;
    const auto from = payload.begin() + static_cast<std::ptrdiff_t>(i * each);
    rig.memory.write(address, Bytes(from, from + each));
    segments.push_back(pointer(rig, address, each));
  }
  rig.memory.scatter();
  EXPECT_EQ(send(header, segments, payload, 1460).size(), 172u);
}

/// The ring is in pages, so that requests are put together in scratch memory: the payload of the first is
/// there until its last frame is sent.
TEST_F(LargeSend, RequestsInPiecesFollowEachOther) {
  SendQueue pages = rig.make_sq(7, cq);
  rig.memory.scatter();
  const Bytes header = FrameBuilder().ethernet(0x0800).ipv4(6, 20).tcp().bytes();
  const Bytes payload = pattern(800);
  pages.post({{.in_line = payload}}, {.inline_header = header, .mss = 10, .opcode = prm::wqe_opcode::lso});
  pages.post({{.in_line = udp4_frame(900)}});
  rig.ring(pages);
  rig.run();
  ASSERT_EQ(rig.wire.sent.size(), 81u);
  for (std::size_t i = 0; i < 80; ++i) {
    const Bytes& frame = rig.wire.sent[i];
    ASSERT_EQ(frame.size(), 64u);
    EXPECT_TRUE(
        std::equal(frame.begin() + 54, frame.end(), payload.begin() + static_cast<std::ptrdiff_t>(i) * 10))
        << i;
  }
  EXPECT_EQ(rig.wire.sent[80], udp4_frame(900));
}

TEST_F(LargeSend, AShortLastFrameIsPadded) {
  const Bytes header = FrameBuilder().ethernet(0x0800).ipv4(6, 20).tcp().bytes();
  sq.post({pointer(rig, pattern(1003))},
          {.inline_header = header, .cs_flags = both_checksums, .mss = 1000, .opcode = prm::wqe_opcode::lso});
  rig.ring(sq);
  rig.run();
  ASSERT_EQ(rig.wire.sent.size(), 2u);
  const Bytes& last = rig.wire.sent[1];
  ASSERT_EQ(last.size(), 60u);
  EXPECT_EQ(word(last, 16), 43u);
  EXPECT_EQ(naive_sum(&last[34], 23, naive_sum(&last[26], 8) + 6u + 23u), 0xffff);
  EXPECT_EQ(word(last, 57), 0u);
}

TEST_F(LargeSend, AtEveryOffsetOfTheRing) {
  const Bytes header = FrameBuilder().ethernet(0x0800).ipv4(6, 20).tcp().bytes();
  for (unsigned i = 0; i < 70; ++i) {
    ASSERT_EQ(cut(header, pattern(3000), 1460, 9).size(), 3u) << i;
    if (HasFailure()) return;
  }
}

TEST_F(LargeSend, WhatCantBeCutEndsTheQueue) {
  const Bytes tcp = FrameBuilder().ethernet(0x0800).ipv4(6, 20).tcp().bytes();
  const Bytes arp = FrameBuilder().ethernet(0x0806).fill(28).bytes();
  const Bytes cut_short(tcp.begin(), tcp.end() - 4);
  struct Case {
    Bytes header;
    unsigned mss;
    std::size_t payload;
  };
  for (const Case& c : {Case{tcp, 0, 100}, Case{arp, 1000, 100}, Case{cut_short, 1000, 100},
                        Case{{}, 1000, 100}, Case{tcp, 65490, 65490}}) {
    Rig fresh;
    CompletionQueue done = fresh.make_cq(4);
    SendQueue queue = fresh.make_sq(4, done);
    queue.post({pointer(fresh, pattern(c.payload))}, {.inline_header = c.header,
                                                      .cs_flags = both_checksums,
                                                      .mss = c.mss,
                                                      .opcode = prm::wqe_opcode::lso});
    fresh.ring(queue);
    fresh.run();
    EXPECT_EQ(done.poll_error().syndrome, static_cast<unsigned>(prm::cqe_syndrome::local_qp_operation));
    EXPECT_EQ(fresh.diagnostics.count("wqe.large-send"), 1u);
    EXPECT_TRUE(fresh.wire.sent.empty());
  }
}

}  // namespace
}  // namespace chime::test

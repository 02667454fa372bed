// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstring>

#include "model/packet/toeplitz.h"
#include "receive_fixture.h"

namespace chime {
namespace {

using model::QueueState;
using test::Bytes;
using test::CompletionQueue;
using test::FrameBuilder;
using test::pointer;
using test::ReceiveQueue;
using test::Rig;

struct Receive : test::ReceiveFixture {};

TEST_F(Receive, EveryFieldOfTheCqe) {
  const Bytes frame = test::udp4_frame(101);
  const prm::Cqe cqe = receive(frame);
  EXPECT_EQ(rig.memory.read(buffer(0), 101), frame);
  EXPECT_EQ(prm::cqe_opcode_of(cqe.op_own), prm::cqe_opcode::responder_send);
  EXPECT_EQ(cqe.byte_cnt, 101u);
  EXPECT_EQ(cqe.wqe_counter, 0);
  EXPECT_EQ(cqe.srqn, 0x99u);
  EXPECT_EQ(cqe.hds_ip_ext, prm::cqe_l2_ok | prm::cqe_l3_ok | prm::cqe_l4_ok);
  EXPECT_EQ(cqe.l4_l3_hdr_type, prm::cqe_hdr_type(prm::cqe_l3::ipv4, prm::cqe_l4::udp));
  EXPECT_EQ(cqe.check_sum, test::naive_sum(frame.data() + 14, 87));
  EXPECT_EQ(cqe.vlan_info, 0);
  EXPECT_EQ(cqe.rss_hash_result, 0u);
  EXPECT_EQ(cqe.rss_hash_type, 0);
  EXPECT_EQ(cqe.sop_drop_qpn, 0u);
  // 5 s of a counter of 78.125 MHz
  EXPECT_EQ(cqe.timestamp, 390'625'000u);
  EXPECT_EQ(rig.card->vport.received.unicast.packets, 1u);
  EXPECT_EQ(rig.card->vport.received.unicast.octets, 101u);
  EXPECT_EQ(rig.card->port.received_sizes[1], 1u);
  EXPECT_TRUE(rig.diagnostics.rules.empty());
}

TEST_F(Receive, RealTimeTimestamp) {
  rq.rq->timestamp = model::TimestampFormat::real_time;
  rig.clock.now = 7'000'000'123;
  EXPECT_EQ(receive(test::udp4_frame(64)).timestamp, std::uint64_t{7} << 32 | 123);
}

TEST_F(Receive, HeaderTypes) {
  using L3 = prm::cqe_l3;
  using L4 = prm::cqe_l4;
  const auto type = [&](const FrameBuilder& b) { return receive(b.bytes()).l4_l3_hdr_type; };
  const auto tcp = [&](unsigned flags, std::size_t data) {
    return type(FrameBuilder().ethernet(0x0800).ipv4(6, 20 + data).tcp(flags).fill(data));
  };
  EXPECT_EQ(tcp(0x02, 0), prm::cqe_hdr_type(L3::ipv4, L4::tcp_no_ack));
  EXPECT_EQ(tcp(0x10, 0), prm::cqe_hdr_type(L3::ipv4, L4::tcp_ack_no_data));
  EXPECT_EQ(tcp(0x18, 9), prm::cqe_hdr_type(L3::ipv4, L4::tcp_ack_and_data));
  EXPECT_EQ(type(FrameBuilder().ethernet(0x86dd).ipv6(17, 8).udp(0)), prm::cqe_hdr_type(L3::ipv6, L4::udp));
  EXPECT_EQ(type(FrameBuilder().ethernet(0x0800).ipv4(1, 8).fill(8)), prm::cqe_hdr_type(L3::ipv4, L4::none));
  EXPECT_EQ(type(FrameBuilder().ethernet(0x0800).ipv4(17, 16, 0, 0x2000).fill(16)),
            prm::cqe_hdr_type(L3::ipv4, L4::none) | prm::cqe_ip_fragment);
  EXPECT_EQ(type(FrameBuilder().ethernet(0x88b5).fill(50)), 0);
}

TEST_F(Receive, BadChecksums) {
  Bytes frame = test::udp4_frame(80);
  frame[70] ^= std::byte{1};
  EXPECT_EQ(receive(frame).hds_ip_ext, prm::cqe_l2_ok | prm::cqe_l3_ok);
  frame[20] ^= std::byte{1};
  EXPECT_EQ(receive(frame).hds_ip_ext & prm::cqe_l3_ok, 0);
}

TEST_F(Receive, VlanStrip) {
  const Bytes inner = test::udp4_frame(90);
  Bytes tagged(inner.begin(), inner.begin() + 12);
  for (unsigned byte : {0x81u, 0x00u, 0x60u, 0x07u}) tagged.push_back(static_cast<std::byte>(byte));
  tagged.insert(tagged.end(), inner.begin() + 12, inner.end());

  prm::Cqe cqe = receive(tagged);
  EXPECT_EQ(cqe.byte_cnt, 94u);
  EXPECT_EQ(cqe.l4_l3_hdr_type & prm::cqe_vlan_stripped, 0);
  EXPECT_EQ(cqe.check_sum, test::naive_sum(tagged.data() + 14, 80)) << "a tag that stays counts";

  rq.rq->vlan_strip = true;
  cqe = receive(tagged);
  EXPECT_EQ(cqe.check_sum, test::naive_sum(inner.data() + 14, 76));
  EXPECT_EQ(cqe.byte_cnt, 90u);
  EXPECT_EQ(cqe.l4_l3_hdr_type & prm::cqe_vlan_stripped, prm::cqe_vlan_stripped);
  EXPECT_EQ(cqe.vlan_info, 0x6007);
  EXPECT_EQ(cqe.hds_ip_ext, prm::cqe_l2_ok | prm::cqe_l3_ok | prm::cqe_l4_ok);
  EXPECT_EQ(rig.memory.read(buffer(1), 90), inner);
  // A service tag is not stripped, an untagged frame is left alone.
  tagged[12] = std::byte{0x88}, tagged[13] = std::byte{0xa8};
  EXPECT_EQ(receive(tagged).byte_cnt, 94u);
  EXPECT_EQ(receive(inner).byte_cnt, 90u);
}

/// An older card: Linux' mlx5e adds the tag and the padding itself.
TEST(ReceiveWithoutFullChecksum, LeavesTagsAndPaddingOut) {
  using Caps = prm::per_protocol_networking_offload_caps;
  model::Profile profile = test::roomy_profile();
  const auto page = static_cast<unsigned>(prm::hca_cap_type::ethernet_offloads);
  prm::View<Caps>(profile.capabilities.current(page)).set(Caps::cqe_checksum_full, 0);
  Rig rig(profile);
  CompletionQueue cq = rig.make_cq(4);
  ReceiveQueue rq = rig.make_rq(4, 1, cq);
  rig.receive_all(*rig.make_tir(rq));
  const std::uint64_t buffer = rig.memory.allocate(2048, 4096);

  for (const std::size_t size : {50u, 51u}) {
    Bytes frame = test::udp4_frame(size);
    const Bytes tag = {std::byte{0x81}, std::byte{}, std::byte{0x60}, std::byte{7}};
    frame.insert(frame.begin() + 12, tag.begin(), tag.end());
    const std::uint16_t packet = test::naive_sum(frame.data() + 18, size - 14);
    for (unsigned pad = 0; pad < 4; ++pad) {
      rq.post({pointer(rig, buffer, 2048)});
      rq.write_record();
      rig.wire.deliver(frame);
      prm::Cqe cqe{};
      ASSERT_TRUE(cq.poll(cqe));
      cq.publish();
      EXPECT_EQ(cqe.check_sum, packet) << size << " and " << pad;
      frame.push_back(std::byte{0xa5});
    }
  }
}

TEST_F(Receive, FramesInSegmentsOfEverySize) {
  for (std::size_t size : {64u, 127u, 128u, 129u, 1000u}) {
    const Bytes frame = test::udp4_frame(size);
    for (std::uint32_t first : {1u, 2u, 13u, 18u, 33u, 63u}) {
      for (std::uint32_t second : {1u, 7u, 31u}) {
        for (bool strip : {false, true}) {
          rq.rq->vlan_strip = strip;
          post(1);
          rig.wire.deliver(frame, {first, second});
          prm::Cqe cqe{};
          ASSERT_TRUE(cq.poll(cqe));
          cq.publish();
          ASSERT_EQ(cqe.byte_cnt, size);
          ASSERT_EQ(rig.memory.read(buffer(cqe.wqe_counter), size), frame);
          ASSERT_EQ(cqe.check_sum, test::naive_sum(frame.data() + 14, size - 14));
          ASSERT_EQ(cqe.hds_ip_ext, 7);
        }
      }
    }
  }
}

TEST_F(Receive, ScatterOverSeveralSegments) {
  for (bool strip : {false, true}) {
    Rig one;
    CompletionQueue done = one.make_cq(6);
    ReceiveQueue queue = one.make_rq(6, 4, done);
    one.receive_all(*one.make_tir(queue));
    queue.rq->vlan_strip = strip;
    const Bytes frame = FrameBuilder().ethernet(0x8100).vlan(3, 0x88b5).fill(400).bytes();
    Bytes expected = frame;
    if (strip) expected.erase(expected.begin() + 12, expected.begin() + 16);
    for (std::size_t first = 1; first < 30; ++first) {
      const std::uint64_t at = one.memory.allocate(2000);
      queue.post({pointer(one, at, first), pointer(one, at + 100, 5), pointer(one, at + 200, 600)});
      queue.write_record();
      one.wire.deliver(frame, {7, 300});
      prm::Cqe cqe{};
      ASSERT_TRUE(done.poll(cqe));
      done.publish();
      Bytes got = one.memory.read(at, first);
      for (std::byte b : one.memory.read(at + 100, 5)) got.push_back(b);
      const Bytes rest = one.memory.read(at + 200, expected.size() - first - 5);
      got.insert(got.end(), rest.begin(), rest.end());
      ASSERT_EQ(got, expected) << first;
      ASSERT_EQ(cqe.byte_cnt, expected.size());
    }
  }
}

TEST_F(Receive, BufferWhosePagesAreNotNeighbours) {
  rig.memory.scatter();
  const Bytes frame = test::udp4_frame(9000);
  const std::uint64_t at = rig.memory.allocate(9000, 8) + 1000;
  rq.post({pointer(rig, at, 9000)});
  rq.write_record();
  rig.wire.deliver(frame);
  prm::Cqe cqe{};
  ASSERT_TRUE(cq.poll(cqe));
  EXPECT_EQ(rig.memory.read(at, 9000), frame);
}

TEST_F(Receive, ByteCountMayHaveItsHighestBitSet) {
  test::Data data = pointer(rig, buffer(0), room);
  data.length |= 0x80000000;
  rq.post({data});
  rq.write_record();
  rig.wire.deliver(test::udp4_frame(64));
  prm::Cqe cqe{};
  ASSERT_TRUE(cq.poll(cqe));
  EXPECT_EQ(rig.memory.read(buffer(0), 64), test::udp4_frame(64));
}

TEST_F(Receive, RingsGoRoundManyTimes) {
  post(64);
  for (unsigned i = 0; i < 70000; ++i) {
    rig.wire.deliver(test::udp4_frame(60, i & 0xffff));
    prm::Cqe cqe{};
    ASSERT_TRUE(cq.poll(cqe)) << i;
    ASSERT_EQ(cqe.wqe_counter, i & 0xffff);
    if (i % 16 == 15) {
      cq.publish();
      post(16);
    }
  }
}

TEST_F(Receive, NoBuffer) {
  auto counter = std::make_unique<model::QCounter>();
  rq.rq->q_counter = model::Ref(counter.get());
  post(2);
  for (int i = 0; i < 5; ++i) rig.wire.deliver(test::udp4_frame(64));
  EXPECT_EQ(counter->out_of_buffer, 3u);
  EXPECT_EQ(rq.rq->out_of_buffer, 3u);
  post(1);
  rig.wire.deliver(test::udp4_frame(64));
  EXPECT_EQ(counter->out_of_buffer, 3u);
  prm::Cqe cqe{};
  for (unsigned i = 0; i < 3; ++i) {
    ASSERT_TRUE(cq.poll(cqe));
    EXPECT_EQ(cqe.wqe_counter, i);
  }
  rq.rq->q_counter.reset();
}

TEST_F(Receive, TooLongIsDroppedAndTheRequestKept) {
  rq.post({pointer(rig, buffer(0), 100)});
  rq.write_record();
  rig.wire.loop = true;
  // In one burst: two that do not fit between those that do.
  const Bytes good = test::udp4_frame(100), bad = test::udp4_frame(101);
  post(3);
  CompletionQueue sent = rig.make_cq(4);
  test::SendQueue sq = rig.make_sq(4, sent);
  sq.post({pointer(rig, bad)});
  sq.post({pointer(rig, good)});
  sq.post({pointer(rig, test::udp4_frame(2049))});
  sq.post({pointer(rig, good)});
  rig.ring(sq);
  rig.run();
  EXPECT_EQ(rq.rq->too_long, 2u);
  EXPECT_EQ(rig.diagnostics.count("rq.too-long"), 2u);
  prm::Cqe cqe{};
  for (unsigned i = 0; i < 2; ++i) {
    ASSERT_TRUE(cq.poll(cqe));
    EXPECT_EQ(cqe.wqe_counter, i);
    EXPECT_EQ(cqe.byte_cnt, 100u);
  }
  EXPECT_FALSE(cq.poll(cqe));
  EXPECT_EQ(rig.memory.read(buffer(1), 100), good);
  EXPECT_EQ(rq.rq->state, QueueState::ready);
}

TEST_F(Receive, WhatThePortDrops) {
  post(8);
  rig.card->port.admin_mtu = 1518;
  rig.wire.deliver(test::udp4_frame(1519));
  rig.wire.deliver(Bytes(13));
  rig.wire.set_up(false);
  rig.wire.deliver(test::udp4_frame(64));
  EXPECT_EQ(rig.card->port.received_too_long, 1u);
  EXPECT_EQ(rig.card->port.received_too_short, 1u);
  EXPECT_EQ(rig.card->port.received_no_match, 1u);
  prm::Cqe cqe{};
  EXPECT_FALSE(cq.poll(cqe));
}

TEST_F(Receive, WithoutRootAndWithoutMatch) {
  post(8);
  rig.card->root[0] = model::Ref(rig.make_table());
  rig.wire.deliver(test::udp4_frame(64));
  rig.card->root[0].reset();
  rig.wire.deliver(test::udp4_frame(64));
  EXPECT_EQ(rig.card->port.received_no_match, 2u);
}

TEST_F(Receive, QueueNotReady) {
  post(8);
  rq.rq->state = QueueState::reset;
  rig.wire.deliver(test::udp4_frame(64));
  EXPECT_EQ(rig.card->port.received_no_match, 1u);
  rq.rq->state = QueueState::ready;
  rig.card->engine->state_changed(*rq.rq, QueueState::reset);
  rig.wire.deliver(test::udp4_frame(64));
  prm::Cqe cqe{};
  EXPECT_TRUE(cq.poll(cqe));
  EXPECT_EQ(cqe.wqe_counter, 0);
}

// ---- RSS ----

TEST_F(Receive, SpreadsByHash) {
  std::vector<CompletionQueue> cqs;
  std::vector<ReceiveQueue> rqs;
  std::vector<ReceiveQueue*> table;
  for (int i = 0; i < 4; ++i) {
    cqs.push_back(rig.make_cq(6));
    rqs.push_back(rig.make_rq(6, 1, cqs.back()));
  }
  for (ReceiveQueue& queue : rqs) {
    for (unsigned i = 0; i < 64; ++i) queue.post({pointer(rig, rig.memory.allocate(128), 128)});
    queue.write_record();
  }
  for (int i : {0, 1, 2, 3, 3, 2, 1, 0}) table.push_back(&rqs[static_cast<std::size_t>(i)]);
  model::Tir* spread = rig.make_rss(table, 0xf);
  spread->outer.udp = true;
  rig.receive_all(*spread);
  std::size_t used = 0;
  for (unsigned port = 1000; port < 1040; ++port) {
    const Bytes frame = test::udp4_frame(64, port);
    rig.wire.deliver(frame);
    Bytes input(frame.begin() + 26, frame.begin() + 38);
    const std::uint32_t hash = spread->toeplitz->hash(input.data(), 12);
    const auto queue = static_cast<std::size_t>(hash % 8 < 4 ? hash % 8 : 7 - hash % 8);
    prm::Cqe cqe{};
    ASSERT_TRUE(cqs[queue].poll(cqe)) << port;
    EXPECT_EQ(cqe.rss_hash_result, hash);
    EXPECT_EQ(cqe.rss_hash_type, 0xa5);
    used |= std::size_t{1} << queue;
  }
  EXPECT_EQ(used, 0xfu);
  // What can't be hashed goes to the first.
  rig.wire.deliver(FrameBuilder().ethernet(0x88b5).fill(50).bytes());
  prm::Cqe cqe{};
  ASSERT_TRUE(cqs[0].poll(cqe));
}

TEST_F(Receive, InvertedXor) {
  model::Tir* spread = rig.make_rss({&rq}, 0x1);
  spread->hash = model::Tir::HashFunction::inverted_xor8;
  ASSERT_TRUE(model::Engine::prepare(*spread).has_value());
  rig.receive_all(*spread);
  EXPECT_EQ(receive(test::udp4_frame(64)).rss_hash_result, 0xffu ^ 0x0au ^ 0x01u);
}

// ---- errors ----

TEST_F(Receive, ForeignKey) {
  test::Data data = pointer(rig, buffer(0), room);
  data.lkey ^= 1;
  rq.rq->flush_in_error = true;
  rq.post({data});
  post(2);
  const prm::ErrorCqe error = expect_error("key.unknown", prm::cqe_syndrome::local_protection);
  EXPECT_EQ(error.wqe_counter, 0);
  for (unsigned counter : {1u, 2u}) {
    const prm::ErrorCqe flushed = cq.poll_error();
    EXPECT_EQ(flushed.syndrome, static_cast<std::uint8_t>(prm::cqe_syndrome::flushed));
    EXPECT_EQ(flushed.wqe_counter, counter);
  }
  rig.wire.deliver(test::udp4_frame(64));
  prm::Cqe cqe{};
  EXPECT_FALSE(cq.poll(cqe));
}

TEST_F(Receive, ReadOnlyKey) {
  rig.key->rights = model::local_read;
  post(1);
  expect_error("key.rights", prm::cqe_syndrome::local_protection);
}

TEST_F(Receive, QueueMemoryIsTakenAway) {
  post(2);
  prm::Cqe cqe{};
  rig.wire.deliver(test::udp4_frame(64));  // the record, which lies in the same page, has been read
  EXPECT_TRUE(cq.poll(cqe));
  rig.memory.take_away(rq.ring, 64);
  expect_error("wqe.memory", prm::cqe_syndrome::local_qp_operation);
}

TEST_F(Receive, RecordMemoryIsTakenAway) {
  post(1);
  ReceiveQueue other = rig.make_rq(4, 1, cq);
  other.record = rig.memory.allocate(64, 4096);
  other.rq->record = rig.buffer(other.record, 8);
  other.post({pointer(rig, buffer(0), room)});
  other.write_record();
  rig.receive_all(*rig.make_tir(other));
  rig.memory.take_away(other.record, 64);
  rig.wire.deliver(test::udp4_frame(64));
  EXPECT_EQ(rig.diagnostics.count("doorbell.record-memory"), 1u);
  EXPECT_EQ(other.rq->out_of_buffer, 1u);
}

TEST_F(Receive, RecordAheadOfTheRing) {
  rig.memory.at<prm::WqRecord>(rq.record).receive = 65;
  rig.wire.deliver(test::udp4_frame(64));
  EXPECT_EQ(rig.diagnostics.count("rq.record"), 1u);
  EXPECT_EQ(rq.rq->out_of_buffer, 1u);
}

TEST_F(Receive, CompletionQueueOverflow) {
  test::EventQueue eq = rig.make_eq(4, 1u << 4);
  CompletionQueue small = rig.make_cq(1);
  ReceiveQueue queue = rig.make_rq(4, 1, small);
  for (unsigned i = 0; i < 4; ++i) queue.post({pointer(rig, buffer(i), room)});
  queue.write_record();
  rig.receive_all(*rig.make_tir(queue));
  for (int i = 0; i < 3; ++i) rig.wire.deliver(test::udp4_frame(64));
  EXPECT_EQ(small.cq->state, model::Cq::State::overflow);
  EXPECT_EQ(queue.rq->state, QueueState::error);
  prm::Eqe eqe;
  ASSERT_TRUE(eq.poll(eqe));
  EXPECT_EQ(eqe.type, 0x04);
  EXPECT_EQ(eqe.data[0], small.cq->number);
  EXPECT_EQ(eqe.data[2] & 0xff, 1u);
}

TEST_F(Receive, ACommandThatPutsTheQueueInErrorFlushes) {
  post(3);
  rq.rq->flush_in_error = true;
  rq.rq->state = QueueState::error;
  rig.card->engine->state_changed(*rq.rq, QueueState::ready);
  for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(cq.poll_error().wqe_counter, i);
}

}  // namespace
}  // namespace chime

// SPDX-License-Identifier: BSD-3-Clause
#include "pair.h"

#include <gtest/gtest.h>

#include <bit>

#include "model/packet/bytes.h"
#include "model/packet/headers.h"

namespace chime::test {

using model::QpAttributes;
using model::QpState;

// ---- requests ----

Wqe::Wqe(prm::wqe_opcode opcode, unsigned mode, std::uint32_t immediate, unsigned opmod) {
  builder_.u32(opmod << 24 | static_cast<std::uint32_t>(opcode)).u32(0).u8(0).u8(0).u8(0).u8(mode);
  builder_.u32(immediate);
}

Wqe& Wqe::remote(std::uint64_t address, std::uint32_t rkey) {
  builder_.u32(static_cast<std::uint32_t>(address >> 32)).u32(static_cast<std::uint32_t>(address));
  builder_.u32(rkey).u32(0);
  return *this;
}

Wqe& Wqe::operands(const Bytes& bytes) {
  for (std::byte b : bytes) builder_.u8(static_cast<unsigned>(b));
  builder_.fill((16 - builder_.size() % 16) % 16, 0, 0);
  return *this;
}

Wqe& Wqe::data(std::uint64_t address, std::uint32_t length, std::uint32_t lkey) {
  builder_.u32(length).u32(lkey);
  builder_.u32(static_cast<std::uint32_t>(address >> 32)).u32(static_cast<std::uint32_t>(address));
  return *this;
}

Wqe& Wqe::in_line(const Bytes& bytes) {
  builder_.u32(static_cast<std::uint32_t>(prm::data_seg_inline | bytes.size()));
  return operands(bytes);
}

Wqe& Wqe::vector(const model::RoceAddress& to, std::uint32_t qpn, std::uint32_t qkey, unsigned gid_index) {
  builder_.u32(qkey).u32(0).u32(0x80000000 | qpn).u8(0).u8(0).u16(0xc007).u32(0);
  for (std::uint8_t b : to.mac) builder_.u8(b);
  builder_.u8(0).u8(64).u32(gid_index << 20);
  for (std::uint8_t b : to.gid) builder_.u8(b);
  return *this;
}

namespace {

Bytes two(std::uint64_t first, std::uint64_t second) {
  Bytes bytes(16);
  net::store_be(bytes.data(), first);
  net::store_be(bytes.data() + 8, second);
  return bytes;
}

}  // namespace

Wqe fetch_add(std::uint64_t add, std::uint64_t address, std::uint32_t rkey, std::uint64_t result,
              std::uint32_t lkey, unsigned mode) {
  return Wqe(prm::wqe_opcode::atomic_fa, mode)
      .remote(address, rkey)
      .operands(two(add, 0))
      .data(result, 8, lkey);
}

Wqe compare_swap(std::uint64_t compare, std::uint64_t swap, std::uint64_t address, std::uint32_t rkey,
                 std::uint64_t result, std::uint32_t lkey) {
  return Wqe(prm::wqe_opcode::atomic_cs)
      .remote(address, rkey)
      .operands(two(swap, compare))
      .data(result, 8, lkey);
}

Wqe masked(prm::wqe_opcode opcode, unsigned size, const Bytes& operands, std::uint64_t address,
           std::uint32_t rkey, std::uint64_t result, std::uint32_t lkey) {
  const unsigned opmod = 0x8 | (static_cast<unsigned>(std::countr_zero(size)) - 2);
  return Wqe(opcode, Wqe::signalled, 0, opmod)
      .remote(address, rkey)
      .operands(operands)
      .data(result, size, lkey);
}

// ---- queue pairs ----

void QueuePair::post(const Wqe& wqe) {
  Bytes bytes = wqe.bytes();
  auto& ctrl = *reinterpret_cast<prm::WqeCtrl*>(bytes.data());
  ctrl.opmod_idx_opcode = ctrl.opmod_idx_opcode | std::uint32_t{producer} << 8;
  ctrl.qpn_ds = prm::wqe_qpn_ds(qp->number, static_cast<std::uint32_t>(bytes.size() / 16));
  post_raw(std::move(bytes));
}

void QueuePair::post_raw(Bytes wqe) {
  last = producer;
  for (std::size_t i = 0; i < wqe.size(); ++i) {
    const std::uint64_t offset = (std::uint64_t{producer} * 64 + i) & (qp->send.size() * 64 - 1);
    *rig->memory.page_at(send + offset) = wqe[i];
  }
  producer = static_cast<std::uint16_t>(producer + std::max<std::size_t>(1, (wqe.size() + 63) / 64));
}

void QueuePair::ring() {
  rig->memory.at<prm::WqRecord>(record).send = producer;
  const std::uint64_t at = send + (std::uint64_t{last} & qp->send.mask()) * 64;
  rig->hca->doorbell(rig->uar->number, prm::uar_blueflame, rig->memory.at<std::uint64_t>(at));
}

void QueuePair::post_receive(const std::vector<Data>& segments) {
  std::uint64_t at =
      receive + ((receive_producer & qp->receive.mask()) * (std::uint64_t{1} << qp->receive.log_stride));
  const std::uint64_t end = at + (std::uint64_t{1} << qp->receive.log_stride);
  for (const Data& s : segments) {
    auto& data = rig->memory.at<prm::WqeData>(at);
    data.byte_count = s.length;
    data.lkey = s.lkey;
    data.address = s.address;
    at += sizeof data;
  }
  if (at < end) {
    auto& data = rig->memory.at<prm::WqeData>(at);
    data.byte_count = 0;
    data.lkey = prm::invalid_lkey;
  }
  ++receive_producer;
  rig->memory.at<prm::WqRecord>(record).receive = receive_producer;
}

void QueuePair::modify(QpState to, const QpAttributes& next) {
  ASSERT_TRUE(rig->card->engine->prepare(*qp, to, next).has_value());
  const QpState from = qp->state;
  qp->attributes = next;
  qp->state = to;
  rig->card->engine->state_changed(*qp, from);
  if (to == QpState::reset) {
    producer = receive_producer = 0;
    rig->memory.at<prm::WqRecord>(record) = {};
  }
}

// ---- rig ----

RoceRig::RoceRig() {
  using A = prm::atomic_caps;
  const auto type = static_cast<unsigned>(prm::hca_cap_type::atomic);
  EXPECT_TRUE(card->capabilities.add(type).has_value());
  prm::View<A>(card->capabilities.current(type))
      .set(A::atomic_req_8B_endianness_mode, 1)
      .set(A::atomic_operations, 0xf)
      .set(A::atomic_size_qp, 0x1fc);
  card->roce_addresses = std::move(*model::RoceAddressTable::make(4, "addresses"));
  card->roce_addresses[0] = {.gid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1},
                             .mac = {2, 0, 0, 0, 0, 1},
                             .l3 = model::RoceAddress::L3::ipv4};
  card->roce_addresses[1] = {.gid = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
                             .mac = {2, 0, 0, 0, 0, 1},
                             .vlan_valid = true,
                             .vlan = 77};
  target_key = make_key(TestMemory::base, TestMemory::page * TestMemory::pages,
                        model::local_read | model::local_write | model::remote_read | model::remote_write |
                            model::remote_atomic);
  wire.loop = true;
  wire.keep = false;
}

QueuePair RoceRig::make_qp(const QpOptions& o) {
  QueuePair queue;
  queue.rig = this;
  queue.send_cq = make_cq(o.log_cq);
  queue.receive_cq = make_cq(o.log_cq);
  auto qp = std::make_unique<model::Qp>();
  qp->service = o.service;
  qp->has_send = qp->has_receive = true;
  unsigned log_stride = 4;
  while (1u << (log_stride - 4) < o.receive_segments) ++log_stride;
  const std::size_t receive_bytes = std::size_t{1} << (o.log_receive + log_stride);
  const std::size_t send_bytes = prm::wqebb_size << o.log_send;
  queue.receive = memory.allocate(receive_bytes, TestMemory::page);
  queue.send = memory.allocate(send_bytes, TestMemory::page);
  queue.record = memory.allocate(64);
  qp->receive.log_size = static_cast<std::uint8_t>(o.log_receive);
  qp->receive.log_stride = static_cast<std::uint8_t>(log_stride);
  qp->receive.buffer = buffer(queue.receive, receive_bytes);
  qp->send.log_size = static_cast<std::uint8_t>(o.log_send);
  qp->send.log_stride = 6;
  qp->send.buffer = buffer(queue.send, send_bytes);
  qp->record = buffer(queue.record, sizeof(prm::WqRecord));
  qp->pd = model::Ref(pd);
  qp->uar = model::Ref(uar);
  qp->send_cq = model::Ref(queue.send_cq.cq);
  qp->receive_cq = model::Ref(queue.receive_cq.cq);
  qp->user_index = 0x55;
  auto put = card->qps.insert(std::move(qp));
  EXPECT_TRUE(put.has_value());
  queue.qp = *put;
  return queue;
}

QpAttributes RoceRig::attributes(const QueuePair& to, unsigned gid) const {
  QpAttributes a;
  a.path.gid_index = static_cast<std::uint8_t>(gid);
  a.path.remote_gid = card->roce_addresses[gid].gid;
  a.path.remote_mac = card->roce_addresses[gid].mac;
  a.path.hop_limit = 64;
  a.path.udp_source_port = 0xc111;
  a.path.ack_timeout = 10;  // 4.2 ms
  a.remote_qpn = to.qp->number;
  a.next_send_psn = 0xfffff0;
  a.next_receive_psn = 0xfffff0;
  a.qkey = 0x1234;
  a.log_mtu = 10;
  a.log_max_message = 30;
  a.log_sra_max = 4;
  a.log_rra_max = 4;
  a.retry_count = 7;
  a.rnr_retry = 7;
  a.min_rnr_nak = 1;
  a.remote_read = a.remote_write = a.remote_atomic = true;
  a.atomic_mode = prm::atomic_mode::up_to_256b;
  return a;
}

void RoceRig::bring_up(QueuePair& qp, const QpAttributes& a) {
  qp.modify(QpState::init, a);
  qp.modify(QpState::rtr, a);
  qp.modify(QpState::rts, a);
}

void RoceRig::connect(QueuePair& a, QueuePair& b, unsigned gid) {
  bring_up(a, attributes(b, gid));
  bring_up(b, attributes(a, gid));
}

void RoceRig::too_many_rounds() {
  FAIL() << "the card does not come to rest";
}

namespace {

std::size_t bth_of(const Bytes& frame) {
  const auto length = static_cast<std::uint32_t>(frame.size());
  return net::parse(frame.data(), length, length).l4_offset + std::size_t{8};
}

}  // namespace

unsigned opcode_of(const Bytes& frame) {
  return static_cast<unsigned>(frame[bth_of(frame)]);
}

std::uint32_t psn_of(const Bytes& frame) {
  return net::load_be<std::uint32_t>(frame.data() + bth_of(frame) + 8) & 0xffffff;
}

}  // namespace chime::test

// SPDX-License-Identifier: BSD-3-Clause
#include "path.h"

#include <rte_malloc.h>

#include <atomic>
#include <cstring>
#include <utility>

namespace chime::test {
namespace {

constexpr unsigned ring_size = 1u << Path::log_size;
constexpr std::size_t receive_area = ring_size * Path::buffer;

template <class T>
Result<> keep(T& where, Result<T> made) {
  if (!made) return fail(made.error());
  where = std::move(*made);
  return {};
}

const prm::Cqe* poll(hca::CompletionQueue& cq, std::uint32_t& consumer) {
  prm::Cqe& cqe = cq.ring()[consumer % ring_size];
  const std::uint8_t op_own = std::atomic_ref(cqe.op_own).load(std::memory_order_acquire);
  if (prm::cqe_opcode_of(op_own) == prm::cqe_opcode::invalid) return nullptr;
  if ((op_own & prm::cqe_owner) != (consumer >> Path::log_size & 1)) return nullptr;
  ++consumer;
  std::atomic_ref(cq.record()->consumer.raw).store(prm::host_to_be(consumer & 0xffffff));
  return &cqe;
}

}  // namespace

Result<PacketMemory> PacketMemory::make(hca::Device& device, const hca::Object& pd, std::size_t bytes) {
  PacketMemory memory;
  memory.data_ = static_cast<std::byte*>(rte_zmalloc("test_packets", bytes, 4096));
  if (!memory.data_) return fail(ENOMEM, "no memory for test packets");
  if (auto kept =
          keep(memory.region_, device.register_memory(pd, memory.data_, bytes, {.local_write = true}));
      !kept) {
    return fail(kept.error());
  }
  return memory;
}

PacketMemory::PacketMemory(PacketMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), region_(std::move(other.region_)) {}
PacketMemory& PacketMemory::operator=(PacketMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(region_, other.region_);
  return *this;
}
PacketMemory::~PacketMemory() {
  region_.mkey = {};
  region_.umem = {};
  rte_free(data_);
}

Result<Path> Path::make(hca::Device& device) {
  Path p;
  std::uint32_t eqn = 0;
  Result<> done = keep(p.pd, hca::alloc_pd(device));
  if (done) done = keep(p.td, hca::alloc_transport_domain(device));
  if (done) done = keep(p.tis, hca::create_tis(device, p.td.number()));
  if (done) done = keep(p.q_counter, hca::alloc_q_counter(device));
  if (done) done = keep(p.uar, device.alloc_uar());
  if (done) done = keep(p.packets, PacketMemory::make(device, p.pd, 2 * receive_area));
  if (done) done = keep(eqn, device.query_eqn(0));
  const hca::CompletionQueue::Config cq{.log_size = log_size,
                                        .uar_page = p.uar.object ? p.uar.page_id() : 0,
                                        .eqn = eqn,
                                        .socket = SOCKET_ID_ANY};
  if (done) done = keep(p.send_cq, hca::CompletionQueue::create(device, cq));
  if (done) done = keep(p.receive_cq, hca::CompletionQueue::create(device, cq));
  if (done) {
    done = keep(p.sq, hca::SendQueue::create(device, {.log_size = log_size,
                                                      .cqn = p.send_cq.number(),
                                                      .uar_page = p.uar.page_id(),
                                                      .pd = p.pd.number(),
                                                      .tisn = p.tis.number(),
                                                      .min_inline_mode = 0,
                                                      .allow_multi_packet = false,
                                                      .socket = SOCKET_ID_ANY}));
  }
  if (done) {
    done = keep(p.rq, hca::ReceiveQueue::create(
                          device, {.log_size = log_size,
                                   .log_stride = 4,
                                   .cqn = p.receive_cq.number(),
                                   .pd = p.pd.number(),
                                   .vlan_strip = false,
                                   .scatter_fcs = false,
                                   .counter_set_id = static_cast<std::uint8_t>(p.q_counter.number()),
                                   .socket = SOCKET_ID_ANY}));
  }
  if (done) done = p.sq.modify(hca::QueueState::reset, hca::QueueState::ready);
  if (done) done = p.rq.modify(hca::QueueState::reset, hca::QueueState::ready);
  if (done) done = keep(p.tir, hca::create_direct_tir(device, p.td.number(), p.rq.number()));
  if (done)
    done = keep(p.table, hca::create_flow_table(device, {.level = 64, .log_size = 4, .miss_table = {}}));
  if (done) done = keep(p.group, hca::create_flow_group(device, p.table.number(), 0, 15, 0, {}));
  if (done) {
    const hca::EntryDestination to_tir{hca::EntryDestination::Kind::tir, p.tir.number()};
    done = keep(p.entry, hca::create_flow_entry(device, {.table = p.table.number(),
                                                         .group = p.group.number(),
                                                         .index = 0,
                                                         .value = {},
                                                         .action = hca::EntryConfig::Action::forward,
                                                         .destinations = std::span(&to_tir, 1),
                                                         .counters = {},
                                                         .flow_tag = 0x1234}));
  }
  if (done) {
    done = keep(p.root,
                device.steering().root(0, {}, {}, 0, {hca::RootDestination::Kind::table, p.table.number()}));
  }
  if (!done) return fail(done.error());
  p.doorbell = p.uar.send;
  return p;
}

void Path::send(std::span<const std::byte> frame) {
  std::byte* buffer_at = packets.at(receive_area + sent % ring_size * buffer);
  std::memcpy(buffer_at, frame.data(), frame.size());
  struct Wqe {
    prm::WqeCtrl ctrl;
    prm::WqeEth eth;
    prm::WqeData data;
  };
  Wqe wqe{};
  wqe.ctrl.opmod_idx_opcode = prm::wqe_opmod_idx_opcode(0, sent, prm::wqe_opcode::send);
  wqe.ctrl.qpn_ds = prm::wqe_qpn_ds(sq.number(), sizeof wqe / prm::wqe_unit);
  wqe.ctrl.fm_ce_se = static_cast<std::uint8_t>(prm::wqe_ce::always);
  wqe.data.byte_count = static_cast<std::uint32_t>(frame.size());
  wqe.data.lkey = packets.lkey();
  wqe.data.address = reinterpret_cast<std::uintptr_t>(buffer_at);
  std::memcpy(sq.ring() + sent % ring_size * prm::wqebb_size, &wqe, sizeof wqe);
  ++sent;
  std::uint64_t value;
  std::memcpy(&value, &wqe, sizeof value);
  doorbell.ring(&sq.record()->send.raw, prm::host_to_be(std::uint32_t{sent}), value);
}

void Path::post_receives(unsigned count) {
  auto* ring = reinterpret_cast<prm::WqeData*>(rq.ring());
  for (; count > 0; --count, ++posted) {
    prm::WqeData& wqe = ring[posted % ring_size];
    wqe.byte_count = static_cast<std::uint32_t>(buffer);
    wqe.lkey = packets.lkey();
    wqe.address = reinterpret_cast<std::uintptr_t>(packets.at(posted % ring_size * buffer));
  }
  std::atomic_ref(rq.record()->receive.raw)
      .store(prm::host_to_be(std::uint32_t{posted}), std::memory_order_release);
}

const prm::Cqe* Path::poll_receive() {
  return poll(receive_cq, receive_consumer);
}
const prm::Cqe* Path::poll_send() {
  return poll(send_cq, send_consumer);
}

std::span<const std::byte> Path::received(const prm::Cqe& cqe) const {
  return {packets.at(std::uint16_t{cqe.wqe_counter} % ring_size * buffer), cqe.byte_cnt};
}

}  // namespace chime::test

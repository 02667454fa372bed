// SPDX-License-Identifier: BSD-3-Clause
#include "rings.h"

#include <rte_mbuf_dyn.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

#include "drivers/net/chime/packet_info.h"
#include "drivers/net/chime/rx_pool.h"

namespace chime::net {
namespace {

constexpr std::uint8_t log_cq_of_tx = 4;

void invalidate(prm::Cqe* ring, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    ring[i].op_own = prm::cqe_op_own(prm::cqe_opcode::invalid, prm::cqe_owner);
}

std::uint8_t owner(std::uint32_t index, unsigned log_size) {
  return static_cast<std::uint8_t>((index >> log_size) & 1);
}

}  // namespace

Pool::Pool(unsigned mbufs, unsigned data_room, unsigned cache) {
  static unsigned number;
  const std::string name = "test" + std::to_string(number++);
  pool_ = rte_pktmbuf_pool_create(name.c_str(), mbufs, cache, 0, static_cast<std::uint16_t>(data_room), 0);
  if (pool_ == nullptr) throw std::runtime_error("no mempool");
}

rte_mbuf* Pool::packet(std::span<const std::uint8_t> bytes) const {
  const std::size_t lengths[] = {bytes.size()};
  return chain(bytes, lengths);
}

rte_mbuf* Pool::chain(std::span<const std::uint8_t> bytes, std::span<const std::size_t> lengths) const {
  rte_mbuf* head = nullptr;
  std::size_t done = 0;
  for (const std::size_t length : lengths) {
    rte_mbuf* segment = rte_pktmbuf_alloc(pool_);
    if (segment == nullptr) throw std::runtime_error("no mbuf");
    char* room = rte_pktmbuf_append(segment, static_cast<std::uint16_t>(length));
    if (length != 0) std::memcpy(room, bytes.data() + done, length);
    done += length;
    if (head == nullptr)
      head = segment;
    else if (rte_pktmbuf_chain(head, segment) != 0)
      throw std::runtime_error("too long a chain");
  }
  return head;
}

std::vector<std::uint8_t> content(std::size_t length, unsigned seed) {
  std::vector<std::uint8_t> bytes(length);
  for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 + i / 251 + seed * 31);
  return bytes;
}

std::vector<std::uint8_t> bytes_of(const rte_mbuf& packet) {
  std::vector<std::uint8_t> bytes;
  for (const rte_mbuf* segment = &packet; segment != nullptr; segment = segment->next) {
    const auto* start = rte_pktmbuf_mtod(segment, const std::uint8_t*);
    bytes.insert(bytes.end(), start, start + segment->data_len);
  }
  return bytes;
}

Keys::Keys() {
  publish();
}

Keys::~Keys() {
  for (void* table : tables_) std::free(table);
}

void Keys::add(const Pool& pool, std::uint32_t lkey) {
  struct Visit {
    Keys& keys;
    std::uint32_t lkey;
  } visit{*this, lkey};
  rte_mempool_mem_iter(
      pool.get(),
      [](rte_mempool*, void* opaque, rte_mempool_memhdr* memory, unsigned) {
        const auto& v = *static_cast<Visit*>(opaque);
        v.keys.add(memory->addr, memory->len, v.lkey);
      },
      &visit);
}

void Keys::add(const void* start, std::size_t length, std::uint32_t lkey) {
  const auto address = reinterpret_cast<std::uintptr_t>(start);
  ranges_.push_back({address, address + length, prm::host_to_be(lkey), 0});
  publish();
}

void Keys::clear() {
  ranges_.clear();
  publish();
}

void Keys::publish() {
  std::sort(ranges_.begin(), ranges_.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
  void* memory = std::calloc(1, sizeof(hca::KeyTable) + ranges_.size() * sizeof(hca::KeyRange));
  auto* table = static_cast<hca::KeyTable*>(memory);
  tables_.push_back(memory);  // a reader may have the former one
  table->count = static_cast<std::uint32_t>(ranges_.size());
  table->generation = ++generation_;
  std::copy(ranges_.begin(), ranges_.end(), table->ranges);
  shared_.table.store(table, std::memory_order_release);
}

RxRing::RxRing(const Pool& pool, const Keys& keys, const RxSetting& setting)
    : setting_(setting),
      cqes_(std::size_t{1} << setting.log_size),
      wqes_((std::bit_ceil(setting.segments) * 16) << setting.log_size),
      mbufs_(std::size_t{std::bit_ceil(setting.segments)} << setting.log_size),
      cq_record_(1),
      rq_record_(1),
      q_(1) {
  invalidate(cqes_.get(), std::size_t{1} << setting.log_size);
  RxQueue& q = queue();
  const Result<PoolLayout> layout = layout_of(*pool.get(), keys.shared());
  if (!layout) throw std::runtime_error(layout.error().text);
  q.cqes = cqes_.get();
  q.wqes = wqes_.get();
  q.mbufs = mbufs_.get();
  q.pool = pool.get();
  q.cq_record = cq_record_.get();
  q.rq_record = rq_record_.get();
  q.rearm = rx_rearm_data(test_port);
  q.flag_mask = setting.flags | packet_info_vlan;
  q.buffer_step = layout->buffer_step;
  q.buffer_size = layout->buffer_size;
  q.lkey = layout->lkey_be;
  q.many_keys = layout->many_keys;
  q.read_buf_addr = layout->read_buf_addr;
  q.refill_threshold = static_cast<std::uint16_t>(setting.refill);
  q.log_size = static_cast<std::uint8_t>(setting.log_size);
  q.log_slots = static_cast<std::uint8_t>(std::bit_width(setting.segments - 1));
  q.segments = static_cast<std::uint16_t>(setting.segments);
  q.keys = &keys.shared();
  q.port_id = test_port;
  q.cqn = 0x55;
  if (setting.timestamps) rte_mbuf_dyn_rx_timestamp_register(&q.timestamp_offset, &q.timestamp_flag);
  const int error = rx_fill(q);
  if (error != 0) throw std::runtime_error("rx_fill: " + std::to_string(error));
}

RxRing::~RxRing() {
  rx_release(queue());
}

unsigned RxRing::posted() const {
  return (rq_record_.get()->receive - filled_) & 0xffff;
}

std::vector<prm::WqeData> RxRing::segments_of(std::uint32_t wqe) const {
  const RxQueue& q = q_.get()[0];
  const auto* slot =
      reinterpret_cast<const prm::WqeData*>(q.wqes + (std::size_t{wqe & (q.size() - 1)} * 16 << q.log_slots));
  std::vector<prm::WqeData> segments;
  for (unsigned s = 0; s < 1u << q.log_slots && slot[s].lkey != prm::invalid_lkey; ++s)
    segments.push_back(slot[s]);
  return segments;
}

prm::Cqe& RxRing::raw(std::uint8_t opcode) {
  prm::Cqe& cqe = cqes_.get()[produced_ & (queue().size() - 1)];
  std::memset(&cqe, 0, offsetof(prm::Cqe, op_own));
  cqe.op_own = static_cast<std::uint8_t>(opcode << 4 | owner(produced_++, setting_.log_size));
  return cqe;
}

bool RxRing::arrive(const Arrival& arrival) {
  if (posted() == 0) return false;
  std::size_t done = 0;
  for (const prm::WqeData& segment : segments_of(filled_)) {
    const std::size_t here = std::min<std::size_t>(segment.byte_count, arrival.content.size() - done);
    std::memcpy(reinterpret_cast<void*>(std::uintptr_t{segment.address}), arrival.content.data() + done,
                here);
    done += here;
  }
  if (done != arrival.content.size()) throw std::runtime_error("the packet does not fit its WQE");
  prm::Cqe& cqe = raw(static_cast<std::uint8_t>(prm::cqe_opcode::responder_send));
  cqe.rss_hash_result = arrival.hash;
  cqe.rss_hash_type = arrival.hash_type;
  cqe.hds_ip_ext = static_cast<std::uint8_t>(prm::cqe_l2_ok | (arrival.l3_ok ? prm::cqe_l3_ok : 0) |
                                             (arrival.l4_ok ? prm::cqe_l4_ok : 0));
  cqe.l4_l3_hdr_type = static_cast<std::uint8_t>(prm::cqe_hdr_type(arrival.l3, arrival.l4) |
                                                 (arrival.fragment ? prm::cqe_ip_fragment : 0) |
                                                 (arrival.stripped_vlan ? prm::cqe_vlan_stripped : 0));
  cqe.vlan_info = arrival.stripped_vlan.value_or(0);
  cqe.byte_cnt = static_cast<std::uint32_t>(arrival.content.size());
  cqe.timestamp = arrival.timestamp;
  cqe.sop_drop_qpn = arrival.flow_tag;
  cqe.wqe_counter = static_cast<std::uint16_t>(filled_++);
  return true;
}

void RxRing::fail(std::uint8_t syndrome, std::uint8_t vendor) {
  auto& cqe =
      reinterpret_cast<prm::ErrorCqe&>(raw(static_cast<std::uint8_t>(prm::cqe_opcode::responder_error)));
  cqe.syndrome = syndrome;
  cqe.vendor_err_synd = vendor;
  cqe.wqe_counter = static_cast<std::uint16_t>(filled_++);
}

std::vector<rte_mbuf*> RxRing::burst(std::uint16_t most) {
  std::vector<rte_mbuf*> packets(most);
  const std::uint16_t taken = rx_burst_function(setting_.variant)(&queue(), packets.data(), most);
  packets.resize(taken);
  return packets;
}

TxRing::TxRing(const Keys& keys, const TxSetting& setting)
    : setting_(setting),
      wqes_(std::size_t{64} << setting.log_size),
      mbufs_(std::size_t{1} << setting.log_size),
      cqes_(1u << log_cq_of_tx),
      cq_record_(1),
      sq_record_(1),
      uar_(1),
      q_(1) {
  invalidate(cqes_.get(), 1u << log_cq_of_tx);
  TxQueue& q = queue();
  q.wqes = wqes_.get();
  q.mbufs = mbufs_.get();
  q.cqes = cqes_.get();
  q.sq_record = sq_record_.get();
  q.cq_record = cq_record_.get();
  q.keys = &keys.shared();
  q.max_frame = setting.max_frame;
  q.request_interval = setting.interval;
  q.log_size = static_cast<std::uint8_t>(setting.log_size);
  q.log_cq_size = log_cq_of_tx;
  q.sqn_shifted = prm::wqe_qpn_ds(sqn, 0);
  q.max_ds = setting.max_ds;
  q.inline_size = setting.inline_size;
  q.max_large_send = setting.max_large_send;
  q.tunnels = setting.tunnels;
  q.doorbell.base = reinterpret_cast<std::byte*>(uar_.get());
  tx_release(q);
}

TxRing::~TxRing() {
  tx_release(queue());
}

std::uint16_t TxRing::burst(std::span<rte_mbuf*> packets) {
  return tx_burst_function(setting_.variant)(&queue(), packets.data(),
                                             static_cast<std::uint16_t>(packets.size()));
}

std::uint64_t TxRing::first_word_of(std::uint32_t block) const {
  std::uint64_t word;
  std::memcpy(&word, wqes_.get() + std::size_t{block & ((1u << setting_.log_size) - 1)} * 64, sizeof word);
  return word;
}

std::vector<SendWqe> TxRing::take() {
  std::vector<SendWqe> wqes;
  const std::uint32_t units = 4u << setting_.log_size;
  while (((record() - block_) & 0xffff) != 0) {
    std::uint32_t unit = block_ * 4;
    const auto next = [&] { return wqes_.get() + std::size_t{unit++ % units} * 16; };
    const auto* control = reinterpret_cast<const prm::WqeCtrl*>(next());
    const auto* eth = reinterpret_cast<const prm::WqeEth*>(next());
    SendWqe wqe{};
    wqe.opcode = static_cast<std::uint8_t>(control->opmod_idx_opcode & 0xff);
    wqe.index = static_cast<std::uint16_t>(control->opmod_idx_opcode >> 8);
    wqe.sqn = control->qpn_ds >> 8;
    wqe.ds = control->qpn_ds & 0x3f;
    wqe.fm_ce_se = control->fm_ce_se;
    wqe.checksum_flags = eth->cs_flags;
    wqe.mss = eth->mss;
    std::uint32_t left = wqe.ds - 2;
    const std::uint32_t size = eth->inline_hdr_sz;
    if ((size & 0x8000) != 0) {
      wqe.insert = size << 16 | std::uint32_t{eth->inline_start[0]} << 8 | eth->inline_start[1];
    } else if (size != 0) {
      wqe.in_line = {eth->inline_start[0], eth->inline_start[1]};
      for (; wqe.in_line.size() < size; --left) {
        const auto* bytes = reinterpret_cast<const std::uint8_t*>(next());
        wqe.in_line.insert(wqe.in_line.end(), bytes, bytes + 16);
      }
      wqe.in_line.resize(size);
    }
    for (; left != 0; --left) wqe.segments.push_back(*reinterpret_cast<const prm::WqeData*>(next()));
    if (wqe.asks_for_completion()) asked_.push_back(static_cast<std::uint16_t>(block_));
    block_ += (wqe.ds + 3) / 4;
    wqes.push_back(wqe);
  }
  return wqes;
}

prm::Cqe& TxRing::next_cqe(std::uint8_t opcode) {
  prm::Cqe& cqe = cqes_.get()[produced_ & ((1u << log_cq_of_tx) - 1)];
  std::memset(&cqe, 0, offsetof(prm::Cqe, op_own));
  cqe.op_own = static_cast<std::uint8_t>(opcode << 4 | owner(produced_++, log_cq_of_tx));
  return cqe;
}

void TxRing::complete() {
  for (const std::uint16_t index : asked_)
    next_cqe(static_cast<std::uint8_t>(prm::cqe_opcode::requester)).wqe_counter = index;
  asked_.clear();
}

void TxRing::fail(std::uint16_t wqe_counter, std::uint8_t syndrome, std::uint8_t vendor) {
  auto& cqe =
      reinterpret_cast<prm::ErrorCqe&>(next_cqe(static_cast<std::uint8_t>(prm::cqe_opcode::requester_error)));
  cqe.syndrome = syndrome;
  cqe.vendor_err_synd = vendor;
  cqe.wqe_counter = wqe_counter;
}

std::vector<std::uint8_t> SendWqe::bytes() const {
  std::vector<std::uint8_t> all = in_line;
  for (const prm::WqeData& segment : segments) {
    const auto* start = reinterpret_cast<const std::uint8_t*>(std::uintptr_t{segment.address});
    all.insert(all.end(), start, start + segment.byte_count);
  }
  return all;
}

}  // namespace chime::net

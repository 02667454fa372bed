// SPDX-License-Identifier: BSD-3-Clause
#include "rig.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace chime::test {

// ---- memory ----

TestMemory::TestMemory() : storage_((pages + 1) * page), where_(pages) {
  const auto start = (reinterpret_cast<std::uintptr_t>(storage_.data()) + page - 1) & ~(page - 1);
  for (std::size_t i = 0; i < pages; ++i) where_[i] = reinterpret_cast<std::byte*>(start) + i * page;
}

std::byte* TestMemory::map(std::uint64_t address, std::size_t length) noexcept {
  if (address < base || length > pages * page || address + length > base + pages * page) return nullptr;
  const std::uint64_t offset = address - base;
  const std::size_t first = offset / page, last = (offset + length - 1) / page;
  for (std::size_t i = first; i <= last; ++i) {
    if (!where_[i] || (i > first && where_[i] != where_[i - 1] + page)) return nullptr;
  }
  return where_[first] + offset % page;
}

std::uint64_t TestMemory::allocate(std::size_t size, std::size_t alignment) {
  next_ = (next_ + alignment - 1) / alignment * alignment;
  const std::uint64_t at = next_;
  next_ += size;
  EXPECT_LE(next_, base + pages * page);
  return at;
}

void TestMemory::scatter() {
  const std::vector<std::byte> before(where_[0], where_[0] + pages * page);
  std::reverse(where_.begin(), where_.end());
  for (std::size_t i = 0; i < pages; ++i) std::memcpy(where_[i], before.data() + i * page, page);
  ++generation_;
}

void TestMemory::take_away(std::uint64_t address, std::size_t length) {
  const std::size_t first = (address - base) / page, last = (address - base + length - 1) / page;
  for (std::size_t i = first; i <= last; ++i) where_[i] = nullptr;
  ++generation_;
}

std::byte* TestMemory::page_at(std::uint64_t address) {
  return where_[(address - base) / page] + address % page;
}

Bytes TestMemory::read(std::uint64_t address, std::size_t length) {
  Bytes bytes(length);
  for (std::size_t i = 0; i < length; ++i) bytes[i] = *page_at(address + i);
  return bytes;
}

void TestMemory::write(std::uint64_t address, const Bytes& bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) *page_at(address + i) = bytes[i];
}

// ---- wire, diagnostics ----

void TestWire::transmit(std::span<const model::Frame> frames) noexcept {
  batches.push_back(frames.size());
  if (keep) {
    for (const model::Frame& frame : frames) {
      Bytes bytes;
      for (const model::Segment& s : std::span(frame.segments, frame.segment_count)) {
        EXPECT_NE(s.length, 0u);
        bytes.insert(bytes.end(), s.data, s.data + s.length);
      }
      EXPECT_EQ(bytes.size(), frame.length);
      sent.push_back(std::move(bytes));
      cuts_sent.push_back(frame.cut);
    }
  }
  if (loop) port_->deliver(frames);
}

void TestWire::deliver(const Bytes& frame) {
  deliver(frame, {});
}

void TestWire::deliver_all(const std::vector<Bytes>& all) {
  std::vector<model::Segment> segments;
  std::vector<model::Frame> frames;
  segments.reserve(all.size());
  for (const Bytes& frame : all) {
    const auto length = static_cast<std::uint32_t>(frame.size());
    segments.push_back({frame.data(), length});
    frames.push_back({&segments.back(), 1, length});
  }
  port_->deliver(frames);
}

void TestWire::deliver(const Bytes& frame, std::vector<std::uint32_t> cuts) {
  std::vector<model::Segment> segments;
  std::uint32_t at = 0;
  const auto length = static_cast<std::uint32_t>(frame.size());
  cuts.push_back(length);
  for (std::uint32_t cut : cuts) {
    const std::uint32_t part = std::min(cut, length - at);
    if (part != 0) segments.push_back({frame.data() + at, part});
    at += part;
  }
  const model::Frame whole{segments.data(), static_cast<std::uint32_t>(segments.size()), length};
  port_->deliver({&whole, 1});
}

void TestWire::set_up(bool up) {
  link_.up = up;
  port_->wire_changed();
}

std::size_t TestDiagnostics::count(const std::string& rule) const {
  return static_cast<std::size_t>(std::count(rules.begin(), rules.end(), rule));
}

// ---- queues ----

bool CompletionQueue::poll(prm::Cqe& cqe) {
  const std::uint64_t at = ring + (consumer & cq->ring.mask()) * (std::uint64_t{1} << cq->ring.log_stride) +
                           (cq->ring.log_stride > 6 ? 64 : 0);
  cqe = memory->at<prm::Cqe>(at);
  if (prm::cqe_opcode_of(cqe.op_own) == prm::cqe_opcode::invalid ||
      (cqe.op_own & prm::cqe_owner) != cq->ring.owner(consumer)) {
    return false;
  }
  ++consumer;
  return true;
}

prm::ErrorCqe CompletionQueue::poll_error() {
  prm::Cqe cqe{};
  EXPECT_TRUE(poll(cqe));
  prm::ErrorCqe error;
  std::memcpy(&error, &cqe, sizeof error);
  return error;
}

void CompletionQueue::publish() {
  memory->at<prm::CqRecord>(record).consumer = consumer & 0xffffff;
}

bool EventQueue::poll(prm::Eqe& eqe) {
  eqe = memory->at<prm::Eqe>(ring + (consumer & eq->ring.mask()) * prm::eqe_size);
  if ((eqe.owner & 1) != eq->ring.owner(consumer)) return false;
  ++consumer;
  return true;
}

void SendQueue::post(const std::vector<Data>& data, const SendOptions& o) {
  FrameBuilder b;
  b.u32(0).u32(0).u8(0).u8(0).u8(0).u8(static_cast<unsigned>(o.ce)).u32(0);
  b.u32(0).u8(o.cs_flags).u8(0).u16(o.mss).u32(0);
  if (o.vlan >= 0) {
    b.u16(o.svlan ? 0xc000 : 0x8000).u16(static_cast<unsigned>(o.vlan));
  } else {
    b.u16(static_cast<unsigned>(o.inline_header.size()));
    for (std::byte byte : o.inline_header) b.u8(static_cast<unsigned>(byte));
    b.fill(o.inline_header.size() < 2 ? 2 - o.inline_header.size() : (16 - b.size() % 16) % 16, 0xee, 0);
  }
  for (const Data& d : data) {
    if (!d.in_line.empty()) {
      b.u32(static_cast<std::uint32_t>(0x80000000u | d.in_line.size()));
      for (std::byte byte : d.in_line) b.u8(static_cast<unsigned>(byte));
      b.fill((16 - b.size() % 16) % 16, 0xdd, 0);
    } else {
      b.u32(d.length).u32(d.lkey).u32(static_cast<std::uint32_t>(d.address >> 32));
      b.u32(static_cast<std::uint32_t>(d.address));
    }
  }
  Bytes wqe = b.bytes();
  const auto ds = static_cast<std::uint32_t>(wqe.size() / 16);
  auto& ctrl = *reinterpret_cast<prm::WqeCtrl*>(wqe.data());
  ctrl.opmod_idx_opcode = prm::wqe_opmod_idx_opcode(o.opmod, producer, o.opcode);
  ctrl.qpn_ds = prm::wqe_qpn_ds(sq->number, ds);
  post_raw(std::move(wqe));
}

void SendQueue::post_raw(Bytes wqe) {
  last = producer;
  last_ds = static_cast<std::uint32_t>(wqe.size() / 16);
  const auto blocks = static_cast<std::uint16_t>(std::max<std::size_t>(1, (wqe.size() + 63) / 64));
  for (std::size_t i = 0; i < wqe.size(); ++i) {
    const std::uint64_t offset = (std::uint64_t{producer} * 64 + i) & (sq->ring.size() * 64 - 1);
    *memory->page_at(ring + offset) = wqe[i];
  }
  producer = static_cast<std::uint16_t>(producer + blocks);
}

void SendQueue::write_record() {
  memory->at<prm::WqRecord>(record).send = producer;
}

std::uint64_t SendQueue::doorbell() const {
  return *reinterpret_cast<const std::uint64_t*>(
      memory->page_at(ring + (std::uint64_t{last} & sq->ring.mask()) * 64));
}

void ReceiveQueue::post(const std::vector<Data>& segments) {
  std::uint64_t at = ring + ((producer & rq->ring.mask()) * (std::uint64_t{1} << rq->ring.log_stride));
  const std::uint64_t end = at + (std::uint64_t{1} << rq->ring.log_stride);
  for (const Data& s : segments) {
    auto& data = memory->at<prm::WqeData>(at);
    data.byte_count = s.length;
    data.lkey = s.lkey;
    data.address = s.address;
    at += sizeof data;
  }
  if (at < end) {
    auto& data = memory->at<prm::WqeData>(at);
    data.byte_count = 0;
    data.lkey = prm::invalid_lkey;
    data.address = 0;
  }
  ++producer;
}

void ReceiveQueue::write_record() {
  memory->at<prm::WqRecord>(record).receive = producer;
}

// ---- rig ----

namespace {

template <class T>
T* put(model::ObjectTable<T>& table, Owned<T> object) {
  return *table.insert(std::move(object));
}

}  // namespace

model::Profile roomy_profile() {
  using G = prm::cmd_hca_cap;
  model::Profile profile;
  EXPECT_TRUE(profile.capabilities.add(0).has_value());
  for (auto bytes : {profile.capabilities.maximum(0), profile.capabilities.current(0)}) {
    prm::View<G>(bytes)
        .set(G::log_max_umem, 20)
        .set(G::log_max_pd, 16)
        .set(G::log_max_mkey, 20)
        .set(G::log_max_eq, 6)
        .set(G::log_max_cq, 16)
        .set(G::log_max_sq, 16)
        .set(G::log_max_rq, 16)
        .set(G::log_max_qp, 24)
        .set(G::log_max_rqt, 16)
        .set(G::log_max_tir, 16)
        .set(G::log_max_tis, 16)
        .set(G::max_flow_counter_15_0, 0xffff)
        .set(G::cqe_compression_max_num, 64)
        .set(G::device_frequency_khz, 78125);
  }
  const auto page = static_cast<unsigned>(prm::hca_cap_type::ethernet_offloads);
  EXPECT_TRUE(profile.capabilities.add(page).has_value());
  using Ethernet = prm::per_protocol_networking_offload_caps;
  prm::View<Ethernet>(profile.capabilities.current(page)).set(Ethernet::cqe_checksum_full, 1);
  return profile;
}

Rig::Rig() : Rig(roomy_profile()) {}

Rig::Rig(const model::Profile& profile) {
  auto made = model::Hca::create(profile, {memory, wire, interrupts, clock, diagnostics});
  EXPECT_TRUE(made.has_value());
  hca = std::move(*made);
  card = &hca->card();
  card->port.admin_mtu = 9998;
  card->port.admin_up = true;
  card->engine->port_changed();
  uar = put(card->uars, std::make_unique<model::Uar>());
  pd = put(card->pds, std::make_unique<model::Pd>());
  tis = put(card->tises, std::make_unique<model::Tis>());
  key = make_key(TestMemory::base, TestMemory::page * TestMemory::pages,
                 model::local_read | model::local_write);
}

model::Buffer Rig::buffer(std::uint64_t address, std::size_t length) {
  const std::uint64_t first = address / TestMemory::page * TestMemory::page;
  const std::size_t pages = (address + length - first + TestMemory::page - 1) / TestMemory::page;
  auto umem = std::make_unique<model::Umem>();
  umem->pages = std::move(*model::PageList::make(pages, 12, 0));
  for (std::size_t i = 0; i < pages; ++i) umem->pages.set_page(i, first + i * TestMemory::page);
  model::Umem* kept = put(card->umems, std::move(umem));
  return model::Buffer(card->host, *kept, address - first, length);
}

model::Mkey* Rig::make_key(std::uint64_t address, std::size_t length, std::uint8_t rights) {
  auto made = std::make_unique<model::Mkey>();
  auto umem = std::make_unique<model::Umem>();
  const std::uint64_t first = address / TestMemory::page * TestMemory::page;
  const std::size_t pages = (address + length - first + TestMemory::page - 1) / TestMemory::page;
  umem->pages = std::move(*model::PageList::make(pages, 12, 0));
  for (std::size_t i = 0; i < pages; ++i) umem->pages.set_page(i, first + i * TestMemory::page);
  made->umem = model::Ref(put(card->umems, std::move(umem)));
  made->mode = model::Mkey::Mode::umem;
  made->start = address;
  made->page_start = address - first;
  made->length = length;
  made->rights = rights;
  made->key_byte = 0x5a;
  made->pd = model::Ref(pd);
  return put(card->mkeys, std::move(made));
}

EventQueue Rig::make_eq(unsigned log_size, std::uint64_t mask, std::uint32_t vector) {
  EventQueue queue;
  queue.memory = &memory;
  queue.ring = memory.allocate(prm::eqe_size << log_size, TestMemory::page);
  auto eq = std::make_unique<model::Eq>();
  eq->ring.log_size = static_cast<std::uint8_t>(log_size);
  eq->ring.log_stride = 6;
  eq->ring.buffer = buffer(queue.ring, prm::eqe_size << log_size);
  eq->uar = model::Ref(uar);
  eq->event_mask = mask;
  eq->vector = vector;
  for (std::size_t i = 0; i < std::size_t{1} << log_size; ++i) {
    memory.at<prm::Eqe>(queue.ring + i * prm::eqe_size).owner = 1;
  }
  queue.eq = put(card->eqs, std::move(eq));
  return queue;
}

CompletionQueue Rig::make_cq(unsigned log_size, model::Eq* eq) {
  CompletionQueue queue;
  queue.memory = &memory;
  queue.ring = memory.allocate(prm::cqe_size << log_size, TestMemory::page);
  queue.record = memory.allocate(64);
  auto cq = std::make_unique<model::Cq>();
  cq->ring.log_size = static_cast<std::uint8_t>(log_size);
  cq->ring.log_stride = 6;
  cq->ring.buffer = buffer(queue.ring, prm::cqe_size << log_size);
  cq->record = buffer(queue.record, sizeof(prm::CqRecord));
  cq->uar = model::Ref(uar);
  if (eq) cq->eq = model::Ref(eq);
  for (std::size_t i = 0; i < std::size_t{1} << log_size; ++i) {
    memory.at<prm::Cqe>(queue.ring + i * prm::cqe_size).op_own = prm::cqe_op_own(prm::cqe_opcode::invalid, 1);
  }
  queue.cq = put(card->cqs, std::move(cq));
  return queue;
}

SendQueue Rig::make_sq(unsigned log_size, CompletionQueue& cq) {
  SendQueue queue;
  queue.memory = &memory;
  queue.ring = memory.allocate(prm::wqebb_size << log_size, TestMemory::page);
  queue.record = memory.allocate(64);
  auto sq = std::make_unique<model::Sq>();
  sq->ring.log_size = static_cast<std::uint8_t>(log_size);
  sq->ring.log_stride = 6;
  sq->ring.buffer = buffer(queue.ring, prm::wqebb_size << log_size);
  sq->record = buffer(queue.record, sizeof(prm::WqRecord));
  sq->pd = model::Ref(pd);
  sq->uar = model::Ref(uar);
  sq->cq = model::Ref(cq.cq);
  sq->tis = model::Ref(tis);
  sq->user_index = 0x77;
  sq->state = model::QueueState::ready;
  queue.sq = put(card->sqs, std::move(sq));
  return queue;
}

ReceiveQueue Rig::make_rq(unsigned log_size, unsigned segments, CompletionQueue& cq) {
  ReceiveQueue queue;
  queue.memory = &memory;
  unsigned log_stride = 4;
  while (1u << (log_stride - 4) < segments) ++log_stride;
  const std::size_t size = std::size_t{1} << (log_size + log_stride);
  queue.ring = memory.allocate(size, TestMemory::page);
  queue.record = memory.allocate(64);
  auto rq = std::make_unique<model::Rq>();
  rq->ring.log_size = static_cast<std::uint8_t>(log_size);
  rq->ring.log_stride = static_cast<std::uint8_t>(log_stride);
  rq->ring.buffer = buffer(queue.ring, size);
  rq->record = buffer(queue.record, sizeof(prm::WqRecord));
  rq->pd = model::Ref(pd);
  rq->cq = model::Ref(cq.cq);
  rq->vlan_strip = false;
  rq->user_index = 0x99;
  rq->state = model::QueueState::ready;
  queue.rq = put(card->rqs, std::move(rq));
  return queue;
}

model::Tir* Rig::make_tir(ReceiveQueue& rq) {
  auto tir = std::make_unique<model::Tir>();
  tir->rq = model::Ref(rq.rq);
  return put(card->tirs, std::move(tir));
}

model::Tir* Rig::make_rss(const std::vector<ReceiveQueue*>& queues, std::uint8_t fields) {
  auto rqt = std::make_unique<model::Rqt>();
  rqt->queues = std::move(*Array<model::Ref<model::Rq>>::make(queues.size(), "queues"));
  for (std::size_t i = 0; i < queues.size(); ++i) rqt->queues[i] = model::Ref(queues[i]->rq);
  auto tir = std::make_unique<model::Tir>();
  tir->rqt = model::Ref(put(card->rqts, std::move(rqt)));
  tir->hash = model::Tir::HashFunction::toeplitz;
  tir->outer.selected = fields;
  for (std::size_t i = 0; i < tir->toeplitz_key.size(); ++i) {
    tir->toeplitz_key[i] = static_cast<std::uint8_t>(i * 7 + 1);
  }
  EXPECT_TRUE(model::Engine::prepare(*tir).has_value());
  return put(card->tirs, std::move(tir));
}

model::FlowTable* Rig::make_table() {
  return put(card->flow_tables, std::make_unique<model::FlowTable>());
}

model::FlowGroup* Rig::make_group(model::FlowTable& table, std::uint32_t first, std::uint32_t last,
                                  const std::vector<model::MatchWord>& mask) {
  auto group = std::make_unique<model::FlowGroup>();
  group->first = first;
  group->last = last;
  group->mask = std::move(*Array<model::MatchWord>::make(mask.size(), "mask"));
  std::copy(mask.begin(), mask.end(), group->mask.begin());
  model::FlowGroup* kept = put(card->flow_groups, std::move(group));
  table.link(*kept);
  kept->table = model::Ref(&table);
  return kept;
}

model::FlowEntry* Rig::make_entry(model::FlowGroup& group, std::uint32_t index,
                                  const std::vector<std::uint32_t>& value, std::uint32_t action) {
  auto* entry = std::make_unique<model::FlowEntry>().release();
  entry->index = index;
  entry->value = std::move(*Array<std::uint32_t>::make(value.size(), "value"));
  std::copy(value.begin(), value.end(), entry->value.begin());
  entry->verdict.action = action;
  entry->group = model::Ref(&group);
  EXPECT_TRUE(group.table->entries.insert(index, entry).has_value());
  EXPECT_TRUE(group.add(*entry).has_value());
  return entry;
}

void Rig::add_destination(model::FlowEntry& entry, model::FlowTable* table, model::Tir* tir) {
  auto& old = entry.verdict.destinations;
  auto grown = std::move(*Array<model::FlowDestination>::make(old.size() + 1, "destinations"));
  std::move(old.begin(), old.end(), grown.begin());
  grown[old.size()] = {model::Ref(table), model::Ref(tir)};
  old = std::move(grown);
  entry.verdict.action |= model::action_forward;
}

void Rig::receive_all(model::Tir& tir) {
  model::FlowTable* table = make_table();
  model::FlowEntry* entry = make_entry(*make_group(*table, 0, 0), 0, {}, 0);
  add_destination(*entry, nullptr, &tir);
  card->root[0] = model::Ref(table);
}

void Rig::ring(SendQueue& queue) {
  queue.write_record();
  hca->doorbell(uar->number, prm::uar_blueflame, queue.doorbell());
}

void Rig::arm(CompletionQueue& queue, std::uint32_t sequence, prm::cq_arm command) {
  const std::uint32_t word = prm::cq_arm_word(sequence, command, queue.consumer);
  queue.publish();
  memory.at<prm::CqRecord>(queue.record).arm = word;
  hca->doorbell(uar->number, prm::uar_cq_doorbell,
                prm::host_to_be(std::uint64_t{word} << 32 | queue.cq->number));
}

void Rig::arm(EventQueue& queue, bool with_arm) {
  const std::uint32_t word = queue.eq->number << 24 | (queue.consumer & 0xffffff);
  hca->doorbell(uar->number, with_arm ? prm::uar_eq_arm : prm::uar_eq_update,
                prm::host_to_be(std::uint64_t{word} << 32));
}

unsigned Rig::run() {
  unsigned steps = 0;
  while (hca->step() != 0) ++steps;
  return steps;
}

Data pointer(const Rig& rig, std::uint64_t address, std::size_t length) {
  return {{}, address, static_cast<std::uint32_t>(length), rig.lkey()};
}

Data pointer(Rig& rig, const Bytes& bytes) {
  const std::uint64_t address = rig.memory.allocate(bytes.size());
  rig.memory.write(address, bytes);
  return pointer(static_cast<const Rig&>(rig), address, bytes.size());
}

}  // namespace chime::test

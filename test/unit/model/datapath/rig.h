// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../packet/frames.h"
#include "model/card.h"
#include "model/hca.h"
#include "prm/cqe.h"
#include "prm/doorbell.h"
#include "prm/eqe.h"
#include "prm/wqe.h"

/// @file
/// A stepped card with its surroundings, and the software's side of its queues. Objects are put into the card
/// directly: what commands make of their input is tested elsewhere.

namespace chime::test {

/// Host memory of 16 MiB, which may lie in this process in any order of pages and may be taken away.
class TestMemory final : public model::HostMemory {
 public:
  static constexpr std::uint64_t base = 0x40000000;
  static constexpr std::size_t page = 4096;
  static constexpr std::size_t pages = 4096;

  TestMemory();
  std::byte* map(std::uint64_t address, std::size_t length) noexcept override;
  std::uint64_t generation() const noexcept override { return generation_; }

  /// A new piece, zeroed. @return bus address
  std::uint64_t allocate(std::size_t size, std::size_t alignment = 64);
  /// From now on, no two pages that are neighbours on the bus are neighbours here. Keeps contents.
  void scatter();
  void take_away(std::uint64_t address, std::size_t length);
  std::byte* page_at(std::uint64_t address);
  Bytes read(std::uint64_t address, std::size_t length);
  void write(std::uint64_t address, const Bytes& bytes);
  /// For pieces that lie within one page.
  template <class T>
  T& at(std::uint64_t address) {
    return *reinterpret_cast<T*>(page_at(address));
  }

 private:
  std::vector<std::byte> storage_;
  std::vector<std::byte*> where_;
  std::uint64_t next_ = base;
  std::uint64_t generation_ = 1;
};

/// Keeps what is sent, or brings it back.
class TestWire final : public model::Wire {
 public:
  void plug(model::WirePort* port) noexcept override { port_ = port; }
  void transmit(std::span<const model::Frame> frames) noexcept override;
  unsigned poll(unsigned) noexcept override { return 0; }
  model::WireLink link() const noexcept override { return link_; }
  std::uint32_t largest_frame() const noexcept override { return 10000; }
  bool cuts() const noexcept override { return cutting; }
  bool loops() const noexcept override { return comes_back; }

  void deliver(const Bytes& frame);
  /// In one burst.
  void deliver_all(const std::vector<Bytes>& frames);
  /// In segments of these lengths, and the rest.
  void deliver(const Bytes& frame, std::vector<std::uint32_t> cuts);
  void set_up(bool up);

  bool loop = false;
  bool comes_back = true;  ///< what is sent, be it by the test's hand
  bool keep = true;
  bool cutting = false;
  std::vector<Bytes> sent;
  std::vector<model::Cut> cuts_sent;  ///< as many
  std::vector<std::size_t> batches;

 private:
  model::WirePort* port_ = nullptr;
  model::WireLink link_{true, 100000};
};

class TestInterrupts final : public model::Interrupts {
 public:
  void raise(unsigned vector) noexcept override { raised.push_back(vector); }
  std::vector<unsigned> raised;
};

class TestClock final : public model::Clock {
 public:
  std::uint64_t nanoseconds() noexcept override { return now; }
  std::uint64_t now = 5'000'000'000;
};

class TestDiagnostics final : public model::Diagnostics {
 public:
  void report(const model::Finding& finding) noexcept override {
    rules.emplace_back(finding.rule);
    texts.emplace_back(finding.text);
  }
  std::size_t count(const std::string& rule) const;
  std::vector<std::string> rules, texts;
};

struct Rig;

/// Software's side of a completion queue.
struct CompletionQueue {
  model::Cq* cq = nullptr;
  std::uint64_t ring = 0, record = 0;
  std::uint32_t consumer = 0;
  TestMemory* memory = nullptr;

  /// The next CQE if the card wrote it; goes on to the one behind.
  bool poll(prm::Cqe& cqe);
  prm::ErrorCqe poll_error();  ///< asserts that there is a CQE
  void publish();              ///< the consumer index, in the record
};

struct EventQueue {
  model::Eq* eq = nullptr;
  std::uint64_t ring = 0;
  std::uint32_t consumer = 0;
  TestMemory* memory = nullptr;
  bool poll(prm::Eqe& eqe);
};

/// One data segment: inline bytes, or a pointer.
struct Data {
  Bytes in_line = {};
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  std::uint32_t lkey = 0;
};

struct SendOptions {
  Bytes inline_header = {};
  unsigned cs_flags = 0;
  unsigned mss = 0;
  int vlan = -1;
  bool svlan = false;
  prm::wqe_ce ce = prm::wqe_ce::on_error;
  prm::wqe_opcode opcode = prm::wqe_opcode::send;
  std::uint8_t opmod = 0;
};

struct SendQueue {
  model::Sq* sq = nullptr;
  std::uint64_t ring = 0, record = 0;
  std::uint16_t producer = 0, last = 0;
  std::uint32_t last_ds = 0;
  TestMemory* memory = nullptr;

  void post(const std::vector<Data>& data, const SendOptions& options = {});
  /// Any request: whole units of 16 bytes, control segment first.
  void post_raw(Bytes wqe);
  void write_record();
  std::uint64_t doorbell() const;  ///< of the last request
};

struct ReceiveQueue {
  model::Rq* rq = nullptr;
  std::uint64_t ring = 0, record = 0;
  std::uint16_t producer = 0;
  TestMemory* memory = nullptr;

  void post(const std::vector<Data>& segments);
  void write_record();
};

/// Nothing but room for objects, and cqe_checksum_full.
model::Profile roomy_profile();

struct Rig {
  Rig();
  explicit Rig(const model::Profile& profile);

  CompletionQueue make_cq(unsigned log_size, model::Eq* eq = nullptr);
  EventQueue make_eq(unsigned log_size, std::uint64_t mask = 0, std::uint32_t vector = 0);
  SendQueue make_sq(unsigned log_size, CompletionQueue& cq);
  ReceiveQueue make_rq(unsigned log_size, unsigned segments, CompletionQueue& cq);
  model::Tir* make_tir(ReceiveQueue& rq);
  model::Tir* make_rss(const std::vector<ReceiveQueue*>& queues, std::uint8_t fields);
  model::FlowTable* make_table();
  model::FlowGroup* make_group(model::FlowTable& table, std::uint32_t first, std::uint32_t last,
                               const std::vector<model::MatchWord>& mask = {});
  model::FlowEntry* make_entry(model::FlowGroup& group, std::uint32_t index,
                               const std::vector<std::uint32_t>& value, std::uint32_t action);
  void add_destination(model::FlowEntry& entry, model::FlowTable* table, model::Tir* tir);
  /// Everything that comes goes to this TIR.
  void receive_all(model::Tir& tir);
  model::Mkey* make_key(std::uint64_t address, std::size_t length, std::uint8_t rights);
  /// Buffer, umem and all, over memory that was allocated.
  model::Buffer buffer(std::uint64_t address, std::size_t length);
  std::uint32_t lkey() const { return key->number << 8 | key->key_byte; }

  void ring(SendQueue& queue);  ///< record, doorbell
  void arm(CompletionQueue& queue, std::uint32_t sequence, prm::cq_arm command = prm::cq_arm::any);
  void arm(EventQueue& queue, bool with_arm = true);
  /// Steps until there is no work. @return steps
  unsigned run();

  TestMemory memory;
  TestWire wire;
  TestInterrupts interrupts;
  TestClock clock;
  TestDiagnostics diagnostics;
  Owned<model::Hca> hca;
  model::Hca::Card* card = nullptr;
  model::Uar* uar = nullptr;
  model::Pd* pd = nullptr;
  model::Tis* tis = nullptr;
  model::Mkey* key = nullptr;  ///< all of memory, local read and write
};

Data pointer(const Rig& rig, std::uint64_t address, std::size_t length);
/// A frame put into host memory.
Data pointer(Rig& rig, const Bytes& bytes);

}  // namespace chime::test

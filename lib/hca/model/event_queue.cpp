// SPDX-License-Identifier: BSD-3-Clause
#include "hca/model/event_queue.h"

#include <atomic>
#include <utility>

#include "hca/model/kernel.h"
#include "prm/doorbell.h"
#include "prm/layouts.h"

namespace chime::hca::embedded {
namespace {

constexpr std::uint32_t entries = 1u << EventQueue::log_size;
constexpr std::uint8_t owner_bit = 1;
constexpr std::size_t page_count = entries * prm::eqe_size / 4096;

}  // namespace

prm::Eqe& EventQueue::at(std::uint32_t i) noexcept {
  return reinterpret_cast<prm::Eqe*>(ring_.data())[i % entries];
}

Result<> EventQueue::create(Kernel& kernel, model::Hca& hca, RegisteredMemory& memory, unsigned vector,
                            std::uint64_t event_mask, std::uint32_t uar) noexcept {
  auto ring = Pages::make(entries * prm::eqe_size, "an event queue");
  if (!ring) return fail(ring.error());
  const PageRange range = PageRange::small(ring->data(), ring->size());
  if (auto added = memory.add(range); !added) return added;
  ring_ = std::move(*ring);
  range_ = range;
  uar_ = uar;
  consumer_ = 0;
  for (std::uint32_t i = 0; i < entries; ++i) at(i).owner = owner_bit;

  prm::Box<prm::create_eq_in, page_count * 8> in;
  prm::Box<prm::create_eq_out> out;
  in.at(prm::create_eq_in::eq_context_entry)
      .set(prm::eqc::log_eq_size, log_size)
      .set(prm::eqc::uar_page, uar)
      .set(prm::eqc::intr, vector);
  in.set(prm::create_eq_in::event_bitmask, 0, event_mask);
  for (std::size_t i = 0; i < page_count; ++i) {
    in.set(prm::create_eq_in::pas, i, range.first + (std::uint64_t{i} << range.log_page_size));
  }
  if (auto done = kernel.execute(in, out); !done) {
    memory.remove(range_);
    ring_ = {};
    return done;
  }
  number_ = out.get(prm::create_eq_out::eq_number);
  ring_doorbell(hca, prm::uar_eq_arm);
  return {};
}

void EventQueue::destroy(Kernel& kernel, RegisteredMemory& memory) noexcept {
  if (!exists()) return;
  prm::Box<prm::destroy_eq_in> in;
  prm::Box<prm::destroy_eq_out> out;
  in.set(prm::destroy_eq_in::eq_number, number_);
  kernel.undo(in.bytes(), out.bytes());
  memory.remove(range_);
  ring_ = {};
}

unsigned EventQueue::poll(model::Hca& hca, EventSink& sink) noexcept {
  unsigned events = 0;
  for (;;) {
    const prm::Eqe& eqe = at(consumer_);
    // What the card writes last says whether the rest is there.
    const auto owner = std::atomic_ref(const_cast<std::uint8_t&>(eqe.owner)).load(std::memory_order_acquire);
    if ((owner & owner_bit) != (consumer_ >> log_size & 1)) break;
    sink.event(eqe);
    ++consumer_;
    if (++events % (entries / 4) == 0) ring_doorbell(hca, prm::uar_eq_update);
  }
  ring_doorbell(hca, prm::uar_eq_arm);
  return events;
}

void EventQueue::ring_doorbell(model::Hca& hca, std::uint32_t offset) noexcept {
  const std::uint32_t word = number_ << 24 | (consumer_ & 0xffffff);
  hca.doorbell(uar_, offset, prm::host_to_be(word));
}

}  // namespace chime::hca::embedded

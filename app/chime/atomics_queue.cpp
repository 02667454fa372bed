// SPDX-License-Identifier: BSD-3-Clause
#include "atomics_queue.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace chime::app {

Producer::Producer(const Side& side, const rte_pmd_chime_mem_desc& queue, const Shared& scratch,
                   const ProducerSetting& setting)
    : side_(side),
      target_(queue),
      items_(scratch.as<std::uint64_t>() + setting.index * (batch + 1)),
      lkey_(scratch.lkey()),
      index_(setting.index),
      tail_probe_(setting.tail_probe),
      next_(setting.next),
      end_(setting.end) {
  if (rte_pmd_chime_mem_desc_check(&queue, 0, sizeof(Queue), RTE_PMD_CHIME_REMOTE_WRITE) != 0) fail("queue");
}

rte_pmd_chime_op Producer::atomic(std::uint8_t opcode, std::size_t offset) const {
  return rte_pmd_chime_atomic(opcode, 8, at(offset), target_.rkey, 0);
}

/// A burst whose last request is answered. A loss at its end is told of by no packet behind it, only by the
/// acknowledgement timeout; a tail probe is such a packet, and asks for nothing.
void Producer::post(rte_pmd_chime_op* ops, std::uint16_t count) const {
  if (tail_probe_) {
    ops[count] = atomic(RTE_PMD_CHIME_WRITE, offsetof(Queue, tail));
    ops[count].flags = 0;
    ops[count].length = 0;
    ++count;
  }
  side_.post(ops, count);
}

void Producer::take_places() {
  count_ = std::min<std::uint64_t>(batch, end_ - next_);
  rte_pmd_chime_op ops[1 + probe] = {atomic(RTE_PMD_CHIME_FETCH_ADD, offsetof(Queue, ticket))};
  rte_pmd_chime_op_add(&ops[0], count_);
  post(ops, 1);
  state_ = State::taking;
}

void Producer::look_at_head() {
  rte_pmd_chime_op ops[1 + probe] = {atomic(RTE_PMD_CHIME_READ, offsetof(Queue, head))};
  ops[0].local = reinterpret_cast<std::uintptr_t>(items_ + batch);
  ops[0].lkey = lkey_;
  post(ops, 1);
  state_ = State::looking;
}

/// Up to the ring's end, the rest at its beginning, and the new tail behind them: a card executes what comes
/// over one queue pair in order.
void Producer::write_and_publish() {
  rte_pmd_chime_op ops[3 + probe];
  std::uint16_t used = 0;
  for (std::uint64_t done = 0; done < count_;) {
    const std::uint64_t place = (ticket_ + done) % Queue::size;
    const std::uint64_t now = std::min(count_ - done, Queue::size - place);
    rte_pmd_chime_op& op = ops[used++];
    op = atomic(RTE_PMD_CHIME_WRITE, offsetof(Queue, slots) + place * sizeof(std::uint64_t));
    op.flags = 0;
    op.length = static_cast<std::uint32_t>(now * sizeof(std::uint64_t));
    op.local = reinterpret_cast<std::uintptr_t>(items_ + done);
    op.lkey = lkey_;
    done += now;
  }
  ops[used] = atomic(RTE_PMD_CHIME_COMPARE_SWAP, offsetof(Queue, tail));
  rte_pmd_chime_op_compare_swap(&ops[used], ticket_, ticket_ + count_);
  post(ops, static_cast<std::uint16_t>(used + 1));
  state_ = State::publishing;
}

void Producer::publish() {
  rte_pmd_chime_op ops[1 + probe] = {atomic(RTE_PMD_CHIME_COMPARE_SWAP, offsetof(Queue, tail))};
  rte_pmd_chime_op_compare_swap(&ops[0], ticket_, ticket_ + count_);
  post(ops, 1);
}

void Producer::answered(std::uint64_t original) {
  switch (state_) {
    case State::taking:
      ticket_ = original;
      for (std::uint64_t i = 0; i < count_; ++i) items_[i] = Item::make(index_, next_ + i);
      break;
    case State::looking:
      head_ = std::atomic_ref(items_[batch]).load(std::memory_order_acquire);
      break;
    case State::publishing:
      if (original != ticket_) {
        ++retries_;  // one with an earlier ticket is not ready
        patience_ = std::min(2 * patience_ + 1, longest_patience);
        waits_ = patience_;
        return;
      }
      patience_ = 0;
      next_ += count_;
      state_ = State::idle;
      return;
    case State::idle:
      throw Failure("a completion that nobody waits for");
  }
  if (ticket_ + count_ - head_ > Queue::size)
    look_at_head();
  else
    write_and_publish();
}

bool Producer::step() {
  rte_pmd_chime_completion completion;
  if (state_ == State::idle) {
    if (next_ == end_) return false;
    take_places();
  } else if (waits_ != 0) {
    if (--waits_ != 0) return false;
    publish();
  } else {
    if (!side_.poll(completion)) return false;
    answered(completion.original);
  }
  return true;
}

std::uint64_t Consumer::step() {
  const std::uint64_t tail = std::atomic_ref(queue_.tail).load(std::memory_order_acquire);
  std::uint64_t head = std::atomic_ref(queue_.head).load(std::memory_order_relaxed);
  const std::uint64_t first = head;
  while (head != tail) {
    const std::uint64_t item = queue_.slots[head % Queue::size];
    const auto producer = static_cast<unsigned>(item >> Item::shift);
    const std::uint64_t n = item & ((std::uint64_t{1} << Item::shift) - 1);
    if (producer >= next_.size()) next_.resize(producer + 1);
    if (n != next_[producer])
      throw Wrong(fmt::format("place {}: item {} of producer {}; item {} would be next: {}", head, n,
                              producer, next_[producer], n < next_[producer] ? "doubled" : "lost"));
    ++next_[producer];
    if (!std::atomic_ref(queue_.head).compare_exchange_strong(head, head + 1, std::memory_order_release))
      throw Wrong("another consumer moves the head");
    ++head;
  }
  return head - first;
}

void Consumer::repair() {
  const std::uint64_t tail = std::atomic_ref(queue_.tail).load(std::memory_order_acquire);
  std::atomic_ref(queue_.ticket).store(tail, std::memory_order_release);
}

}  // namespace chime::app

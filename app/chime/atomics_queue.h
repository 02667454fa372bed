// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "atomics_side.h"

/// @file
/// A lock-free queue with many producers, which reach it by RDMA only, and a consumer beside its memory.
///
///     word       changed by                       how
///     ticket     producers                        fetch-and-add of n: the next n places are one's own
///     slots      the producer that owns them      RDMA WRITE
///     tail       producers                        compare-and-swap t -> t + n: all before is written; a
///     producer
///                                                 waits for those with earlier tickets
///     head       consumer                         compare-and-swap by the CPU; producers read it
///
/// Every word is changed by the card only, or by the CPU only: the atomics of a card are atomic against each
/// other, and against the CPU's only where the card says so ("global").

namespace chime::app {

struct Queue {
  static constexpr std::uint64_t size = 1024;
  alignas(64) std::uint64_t counter;  ///< of the additions
  alignas(64) std::uint64_t ticket;
  alignas(64) std::uint64_t tail;
  alignas(64) std::uint64_t head;
  alignas(64) std::uint64_t slots[size];
};

/// Who put an item in, and as his how-manieth.
struct Item {
  static constexpr unsigned shift = 56;
  static std::uint64_t make(unsigned producer, std::uint64_t n) {
    return static_cast<std::uint64_t>(producer) << shift | n;
  }
};

/// The checker found an item lost or doubled.
struct Wrong : std::runtime_error {
  using runtime_error::runtime_error;
};

struct ProducerSetting {
  unsigned index;
  std::uint64_t next, end;  ///< the first item's number, one past the last one's
  bool tail_probe;          ///< a WRITE of no bytes behind every burst
};

/// Puts items in, a batch at a time.
class Producer {
 public:
  static constexpr unsigned batch = 16;

  Producer(const Side& side, const rte_pmd_chime_mem_desc& queue, const Shared& scratch,
           const ProducerSetting& setting);
  bool done() const { return state_ == State::idle && next_ == end_; }
  /// Never waits. @return whether there was something to do
  bool step();
  /// Items that are in the queue, or were.
  std::uint64_t put() const { return next_; }
  std::uint64_t retries() const { return retries_; }

 private:
  enum class State : std::uint8_t { idle, taking, looking, publishing };
  std::uint64_t at(std::size_t offset) const { return target_.address + offset; }
  static constexpr unsigned longest_patience = 1023;
  static constexpr std::uint16_t probe = 1;  ///< room for it
  rte_pmd_chime_op atomic(std::uint8_t opcode, std::size_t offset) const;
  void post(rte_pmd_chime_op* ops, std::uint16_t count) const;
  void take_places();
  void look_at_head();
  void write_and_publish();
  void publish();
  void answered(std::uint64_t original);

  const Side& side_;
  rte_pmd_chime_mem_desc target_;
  std::uint64_t* items_;  ///< scratch: the batch, then the head as read
  std::uint32_t lkey_;
  unsigned index_;
  bool tail_probe_;
  std::uint64_t next_, end_;
  std::uint64_t ticket_ = 0, count_ = 0, head_ = 0, retries_ = 0;
  /// Steps until a producer that waits for another one asks again: who asks all the time loses more, and is
  /// in a timeout of his own when it is his turn.
  unsigned waits_ = 0, patience_ = 0;
  State state_ = State::idle;
};

/// Takes items out, and checks: of every producer each item once, in order.
class Consumer {
 public:
  explicit Consumer(Queue& queue) : queue_(queue) {}
  /// @return items taken
  std::uint64_t step();
  /// Number of the item that `producer` must put in next.
  std::uint64_t next(unsigned producer) const { return producer < next_.size() ? next_[producer] : 0; }
  /// No producer lives: places that were taken and never published are free again.
  void repair();

 private:
  Queue& queue_;
  std::vector<std::uint64_t> next_;
};

}  // namespace chime::app

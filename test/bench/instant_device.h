// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_mbuf.h>

#include <cstdint>

#include "bench_peer.h"

/// @file
/// The card at its fastest: between two bursts everything is done at once. It knows nothing of a driver but
/// its rings.

namespace chime::bench {

/// Fills receive WQEs: writes CQEs, and no packet data.
class InstantReceiver {
 public:
  explicit InstantReceiver(const bench_rxq_view& view) noexcept : view_(view) {}

  /// Completes up to `most` of the posted WQEs with packets of `length` bytes. @return how many
  unsigned complete(unsigned most, std::uint32_t length) noexcept;
  /// Where the packet of the n-th completion (from the start) was put.
  std::uintptr_t address_of(std::uint32_t n) const noexcept;
  std::uint32_t completed() const noexcept { return completed_; }
  /// Writes the CQEs of the last completion back to memory and drops them from the caches.
  void flush() const noexcept;

 private:
  bench_rxq_view view_;
  std::uint32_t completed_ = 0;
  std::uint32_t flush_from_ = 0;
};

/// Executes send WQEs: completes those that ask for it, and checks them when told to.
class InstantSender {
 public:
  explicit InstantSender(const bench_txq_view& view) noexcept : view_(view) {}

  /// Takes everything that is posted. @return how many WQEs
  unsigned complete() noexcept;
  /// The same, and compares the WQEs with what was to be sent. @return nullptr or what is wrong
  const char* complete_checked(rte_mbuf* const* packets, unsigned count) noexcept;
  void flush() const noexcept;

 private:
  std::uint32_t posted() const noexcept;
  const char* check(const std::uint8_t* wqe, const rte_mbuf& packet) const noexcept;
  void write_cqe(std::uint16_t wqe_counter) noexcept;

  bench_txq_view view_;
  std::uint32_t block_ = 0;
  std::uint32_t cqes_ = 0;
  std::uint32_t flush_from_ = 0;
};

}  // namespace chime::bench

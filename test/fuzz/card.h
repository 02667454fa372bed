// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/array.h"
#include "model/hca.h"
#include "prm/be.h"
#include "surroundings.h"

/// @file
/// A software HCA with one queue of each kind, all made by commands, and frames that come to the receive
/// queue.

namespace chime::fuzz {

/// Where what lies in host memory. All of it is one umem.
namespace place {
inline constexpr std::uint64_t records = 0;  ///< a line each
inline constexpr std::uint64_t sq_record = 0, rq_record = 64, cq_record = 128;
inline constexpr std::uint64_t eq = 0x1000;
// These run over the ends of pages.
inline constexpr std::uint64_t cq = 0x1e00;
inline constexpr std::uint64_t sq = 0x2e00;
inline constexpr std::uint64_t rq = 0x4e00;
inline constexpr std::uint64_t data = 0x9000;
}  // namespace place

struct CardOptions {
  bool memory_in_one_piece = true;  ///< host memory, in this process
  std::uint8_t log_queue = 4;       ///< entries of SQ, RQ and CQ, at most 5
  std::uint8_t log_rq_stride = 6;   ///< 4 to 9
  std::uint8_t min_inline_mode = 0;
  std::uint8_t hash_fields = 0;    ///< 0: no RSS
  bool ipv6 = false, udp = false;  ///< what is hashed
  bool symmetric = false;
  bool large_cqe = false;
  bool cq_overrun_ignored = false;
  bool vlan_strip = false;
  bool flush_in_error = false;
  bool entries = false;  ///< the root table has entries that look at headers, before the one that takes all
  std::uint16_t cq_period = 0, cq_max_count = 0;
};

class Card {
 public:
  explicit Card(const CardOptions& options);

  /// Steps until there is no work, which must come soon.
  void settle() noexcept;
  void move_sq(unsigned from, unsigned to) noexcept;
  void move_rq(unsigned from, unsigned to) noexcept;
  void write32(std::uint64_t address, std::uint32_t value) noexcept;

  Surroundings around;
  Owned<model::Hca> hca;
  std::uint32_t uar = 0, other_uar = 0, eq = 0, cq = 0, sq = 0, rq = 0;
  /// Reaches all of host memory by its bus addresses; the second the first 100 bytes of data, to be read.
  std::uint32_t key = 0, small_key = 0;
  std::uint32_t pd = 0, umem = 0;

 private:
  void bring_up();
  void make_queues(const CardOptions& options);
  void receive(const CardOptions& options);
  std::uint32_t make_key(std::uint64_t start, std::uint64_t length, bool write);

  std::uint32_t domain_ = 0;
};

}  // namespace chime::fuzz

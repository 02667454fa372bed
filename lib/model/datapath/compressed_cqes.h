// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>

#include "model/datapath/completions.h"
#include "model/object/queue.h"
#include "prm/cqe.h"

namespace chime::model {

/// Gathers the CQEs of received packets that differ in little, and writes them as one compressed block:
///
///     slot  p        p+1              p+2 .. p+7   p+8                   ...  p+n-1
///           title    mini CQEs 0..7   (untouched)  mini CQEs 8..15
///
/// The block takes as many slots as it has CQEs. The title is the first CQE, with their number in byte_cnt.
/// Of the others software learns what a mini CQE keeps; all else is the title's. One block is open at a time,
/// and none outlives the burst that it began in: cqe_compression_timeout is met.
class CompressedCqes {
 public:
  /// @param most CQEs of a block: cqe_compression_max_num
  CompressedCqes(Completions& completions, std::uint32_t most) noexcept
      : completions_(completions), most_(std::min(most, largest)) {}

  /// @param cqe whole but for the owner bit
  void add(Rq& rq, const prm::Cqe& cqe) noexcept;
  /// Writes the open block, if there is one. An RQ whose CQ has no room goes to error.
  void flush() noexcept;

 private:
  static constexpr std::uint32_t largest = 64;

  bool fits(const Rq& rq, const prm::Cqe& cqe) const noexcept;
  /// @return false when the CQ has no room, or its memory is gone
  bool write(Cq& cq) noexcept;

  Completions& completions_;
  const unsigned most_;
  Rq* rq_ = nullptr;
  unsigned count_ = 0;
  prm::Cqe title_;
  std::uint16_t next_counter_ = 0;  ///< wqe_counter that software will assume of the next
  std::array<prm::MiniCqe, largest> minis_;
};

}  // namespace chime::model

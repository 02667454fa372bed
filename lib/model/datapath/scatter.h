// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/datapath/faults.h"
#include "model/datapath/keys.h"
#include "model/object/queue.h"
#include "model/wire.h"

namespace chime::model {

/// Where the bytes of a receive WQE go.
class Scatter {
 public:
  explicit Scatter(Keys& keys) noexcept : keys_(keys) {}

  struct Outcome {
    Fault fault = Fault::none;
    std::uint32_t detail = 0;  ///< the key that was at fault, or the room that there was
  };

  /// Copies a frame to the buffers of a WQE, in which bytes [12, 12 + skip) of the frame are left out.
  /// @param length of the frame without what is left out
  Outcome copy(Rq& rq, const std::byte* wqe, std::span<const Segment> frame, std::uint32_t skip,
               std::uint32_t length) noexcept;
  /// The same to an address.
  Outcome copy_to(Rq& rq, std::uint32_t key, std::uint64_t address, std::span<const Segment> frame,
                  std::uint32_t skip, std::uint32_t length) noexcept;
  /// The memory of the WQE's first segment, on its way to the caches; nullptr when not all of `length` goes
  /// there in one piece.
  std::byte* locate(Rq& rq, const std::byte* wqe, std::uint32_t length) noexcept;
  /// copy() to what locate() found.
  static void copy(std::byte* buffer, std::span<const Segment> frame, std::uint32_t skip,
                   std::uint32_t length) noexcept;

 private:
  static constexpr unsigned max_pieces = 96;

  struct Piece {
    std::byte* data;
    std::uint32_t length;
  };

  Outcome add_pieces(Rq& rq, std::uint32_t key, std::uint64_t address, std::uint32_t length) noexcept;
  void fill_pieces(std::span<const Segment> frame, std::uint32_t skip) noexcept;
  Outcome find_room(Rq& rq, const std::byte* wqe, std::uint32_t length) noexcept;

  Keys& keys_;
  Piece pieces_[max_pieces];
  unsigned piece_count_ = 0;
};

}  // namespace chime::model

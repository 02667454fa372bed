// SPDX-License-Identifier: BSD-3-Clause
#include "model/datapath/scatter.h"

#include <algorithm>
#include <cstring>

#include "prm/wqe.h"

namespace chime::model {
namespace {

constexpr std::uint32_t addresses = 12;  ///< the Ethernet addresses, behind which a tag is left out

struct SegmentList {
  const prm::WqeData* first;
  unsigned count;
};

/// The data segments of a cyclic queue's WQE; a signed one begins with its signature.
SegmentList segments_of(const Rq& rq, const std::byte* wqe) noexcept {
  const unsigned units = (1u << rq.ring.log_stride) / static_cast<unsigned>(prm::wqe_unit);
  const unsigned skip = rq.signature && units > 1 ? 1 : 0;
  return {reinterpret_cast<const prm::WqeData*>(wqe) + skip, units - skip};
}

std::uint32_t room_of(const prm::WqeData& data) noexcept {
  return data.byte_count & ~prm::data_seg_inline;
}

/// Reads a frame from its segments, in order. A looped frame may lie in the very buffer that it is received
/// in, so its bytes are moved, not copied.
class Reader {
 public:
  explicit Reader(std::span<const Segment> segments) noexcept
      : next_(segments.data()), here_(next_->data), left_(next_->length) {}

  void copy_to(std::byte* to, std::uint32_t count) noexcept {
    while (count != 0) {
      const std::uint32_t part = std::min(count, available());
      std::memmove(to, here_, part);
      to += part;
      count -= part;
      take(part);
    }
  }
  void skip(std::uint32_t count) noexcept {
    while (count != 0) {
      const std::uint32_t part = std::min(count, available());
      count -= part;
      take(part);
    }
  }

 private:
  std::uint32_t available() noexcept {
    if (left_ == 0) {
      ++next_;
      here_ = next_->data;
      left_ = next_->length;
    }
    return left_;
  }
  void take(std::uint32_t count) noexcept {
    here_ += count;
    left_ -= count;
  }

  const Segment* next_;
  const std::byte* here_;
  std::uint32_t left_;
};

}  // namespace

std::byte* Scatter::locate(Rq& rq, const std::byte* wqe, std::uint32_t length) noexcept {
  const prm::WqeData& first = *segments_of(rq, wqe).first;
  if (room_of(first) < length) return nullptr;
  const std::uint32_t key = first.lkey;
  const std::uint64_t address = first.address;
  std::byte* buffer = keys_.quick(key, rq.pd.get(), address, length, local_write);
  if (!buffer) [[unlikely]] {
    Fault fault = Fault::none;
    const Chunk chunk =
        keys_.reach(key, rq.pd.get(), rq.number, rq.reserved_lkey, address, length, local_write, fault);
    if (chunk.length < length) return nullptr;
    buffer = chunk.data;
  }
  constexpr std::uint32_t line = 64;
  __builtin_prefetch(buffer, 1);
  if (length > line) __builtin_prefetch(buffer + line, 1);
  return buffer;
}

void Scatter::copy(std::byte* buffer, std::span<const Segment> frame, std::uint32_t skip,
                   std::uint32_t length) noexcept {
  if (skip == 0 && frame.size() == 1) [[likely]] {
    std::memmove(buffer, frame[0].data, length);
    return;
  }
  Reader reader(frame);
  reader.copy_to(buffer, addresses);
  reader.skip(skip);
  reader.copy_to(buffer + addresses, length - addresses);
}

Scatter::Outcome Scatter::find_room(Rq& rq, const std::byte* wqe, std::uint32_t length) noexcept {
  const SegmentList list = segments_of(rq, wqe);
  std::uint32_t found = 0;
  piece_count_ = 0;
  for (unsigned i = 0; i < list.count && found < length; ++i) {
    const prm::WqeData& data = list.first[i];
    const std::uint32_t key = data.lkey;
    const std::uint32_t room = room_of(data);
    if (key == prm::invalid_lkey) break;
    const std::uint32_t part = std::min(room, length - found);
    if (const Outcome outcome = add_pieces(rq, key, data.address, part); outcome.fault != Fault::none)
        [[unlikely]] {
      return outcome;
    }
    found += part;
  }
  if (found < length) return {Fault::rq_too_long, found};
  return {};
}

Scatter::Outcome Scatter::copy(Rq& rq, const std::byte* wqe, std::span<const Segment> frame,
                               std::uint32_t skip, std::uint32_t length) noexcept {
  if (const Outcome outcome = find_room(rq, wqe, length); outcome.fault != Fault::none) [[unlikely]] {
    return outcome;
  }
  fill_pieces(frame, skip);
  return {};
}

Scatter::Outcome Scatter::copy_to(Rq& rq, std::uint32_t key, std::uint64_t address,
                                  std::span<const Segment> frame, std::uint32_t skip,
                                  std::uint32_t length) noexcept {
  piece_count_ = 0;
  if (const Outcome outcome = add_pieces(rq, key, address, length); outcome.fault != Fault::none)
    return outcome;
  fill_pieces(frame, skip);
  return {};
}

/// Memory that is in one piece for the card, in the pieces that it is in for us.
Scatter::Outcome Scatter::add_pieces(Rq& rq, std::uint32_t key, std::uint64_t address,
                                     std::uint32_t length) noexcept {
  while (length != 0) {
    Fault fault = Fault::none;
    const Chunk chunk =
        keys_.reach(key, rq.pd.get(), rq.number, rq.reserved_lkey, address, length, local_write, fault);
    if (!chunk.data) [[unlikely]]
      return {fault, key};
    if (piece_count_ == max_pieces) return {Fault::rq_too_long, length};
    const auto part = static_cast<std::uint32_t>(chunk.length);
    pieces_[piece_count_++] = {chunk.data, part};
    address += part;
    length -= part;
  }
  return {};
}

void Scatter::fill_pieces(std::span<const Segment> frame, std::uint32_t skip) noexcept {
  Reader reader(frame);
  std::uint32_t done = 0;
  for (unsigned i = 0; i < piece_count_; ++i) {
    Piece piece = pieces_[i];
    if (skip != 0 && done < addresses && done + piece.length >= addresses) {
      const std::uint32_t before = addresses - done;
      reader.copy_to(piece.data, before);
      reader.skip(skip);
      piece = {piece.data + before, piece.length - before};
      done += before;
    }
    reader.copy_to(piece.data, piece.length);
    done += piece.length;
  }
}

}  // namespace chime::model

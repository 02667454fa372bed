// SPDX-License-Identifier: BSD-3-Clause
#include "wire/frame_store.h"

namespace chime::wire {

Result<> FrameStore::allocate() noexcept {
  auto memory = Array<std::byte>::make(bytes, "frames on their way");
  if (!memory) return fail(memory.error());
  auto entries = Array<Entry>::make(frames, "frames on their way");
  if (!entries) return fail(entries.error());
  memory_ = std::move(*memory);
  entries_ = std::move(*entries);
  first_ = count_ = 0;
  return {};
}

bool FrameStore::push(const model::Frame& frame, std::uint64_t due) noexcept {
  if (count_ == frames) return false;
  std::size_t offset = 0;
  if (count_ != 0) {
    const Entry& oldest = entry(0);
    const Entry& newest = entry(count_ - 1);
    offset = newest.offset + newest.length;
    bool wrapped = newest.offset < oldest.offset;
    if (wrapped) {
      if (offset + frame.length > oldest.offset) return false;
    } else if (offset + frame.length > bytes) {
      // A frame lies in one piece: the rest of the memory stays unused this time round.
      offset = 0;
      if (frame.length > oldest.offset) return false;
    }
  } else if (frame.length > bytes) {
    return false;
  }
  gather(frame, memory_.data() + offset);
  entries_[(first_ + count_) % frames] = {static_cast<std::uint32_t>(offset), frame.length, due};
  ++count_;
  return true;
}

std::span<const std::byte> FrameStore::frame(std::size_t i) const noexcept {
  const Entry& e = entry(i);
  return {memory_.data() + e.offset, e.length};
}

void FrameStore::pop(std::size_t n) noexcept {
  first_ = (first_ + n) % frames;
  count_ -= n;
}

}  // namespace chime::wire

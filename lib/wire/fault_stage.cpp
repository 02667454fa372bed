// SPDX-License-Identifier: BSD-3-Clause
#include "wire/fault_stage.h"

namespace chime::wire {

namespace {

constexpr std::uint32_t ethernet_header = 14;

Result<> check(const FaultSpec& spec) noexcept {
  const struct {
    const char* name;
    std::uint32_t ppm;
  } rates[] = {{"loss", spec.loss_ppm},
               {"duplication", spec.duplicate_ppm},
               {"reordering", spec.reorder_ppm},
               {"corruption", spec.corrupt_ppm}};
  for (const auto& rate : rates) {
    if (rate.ppm > 1'000'000) {
      return fail(EINVAL, "%s of %u parts of a million is more than all (1000000)", rate.name, rate.ppm);
    }
  }
  if (spec.delay_us > 1'000'000) {
    return fail(EINVAL, "a delay of %u us is longer than the longest, 1000000 us", spec.delay_us);
  }
  return {};
}

}  // namespace

Result<> FaultStage::reserve(const FaultSpec& spec) noexcept {
  if (auto ok = check(spec); !ok) return ok;
  if (spec.delay_us && !store_.exists()) {
    if (auto ok = store_.allocate(); !ok) return ok;
  }
  if (spec.corrupt_ppm && spoiled_.empty()) {
    auto made = Array<std::byte>::make(unlimited_frame, "a corrupted frame");
    if (!made) return fail(made.error());
    spoiled_ = std::move(*made);
  }
  if (spec.reorder_ppm && behind_.empty()) {
    auto made = Array<std::byte>::make(unlimited_frame, "a frame that is held back");
    if (!made) return fail(made.error());
    behind_ = std::move(*made);
  }
  return {};
}

void FaultStage::set(const FaultSpec& spec, std::uint64_t direction) noexcept {
  spec_.delay_us = 0;
  let_held_back_go(0);
  release(~std::uint64_t{0});
  spec_ = spec;
  active_ = spec.any();
  Random seeds(spec.seed * 2 + direction);
  chances_ = Random(seeds.next());
  bits_ = Random(seeds.next());
}

void FaultStage::pass(std::span<const model::Frame> frames, std::uint64_t now) noexcept {
  if (spec_.link_down) {
    count_.link_down.add(frames.size());
    return;
  }
  for (const model::Frame& frame : frames) one(frame, now);
  flush();
}

void FaultStage::one(const model::Frame& frame, std::uint64_t now) noexcept {
  bool lost = chances_.chance(spec_.loss_ppm);
  bool corrupted = chances_.chance(spec_.corrupt_ppm);
  bool duplicated = chances_.chance(spec_.duplicate_ppm);
  bool reordered = chances_.chance(spec_.reorder_ppm);

  if (lost) {
    count_.lost.add(1);
    return;
  }
  model::Frame passing = frame;
  model::Segment spoiled;
  corrupted = corrupted && frame.length != 0 && frame.length <= spoiled_.size();
  if (corrupted) {
    if (spoiled_in_use_) flush();
    corrupt(frame);
    spoiled = {spoiled_.data(), frame.length};
    passing = {&spoiled, 1, frame.length};
    count_.corrupted.add(1);
  }
  if (duplicated) count_.duplicated.add(1);

  if (reordered && held_back_ == 0 && frame.length <= behind_.size()) {
    gather(passing, behind_.data());
    held_back_ = frame.length;
    held_until_ = now + longest_hold_ns;
    count_.reordered.add(1);
    // The copy of a duplicated one comes in time, the original late.
    if (duplicated) go(passing, now);
  } else {
    go(passing, now);
    if (duplicated) go(passing, now);
    let_held_back_go(now);
  }
  if (corrupted) spoiled_in_use_ = out_count_ != 0;
}

void FaultStage::corrupt(const model::Frame& frame) noexcept {
  gather(frame, spoiled_.data());
  std::uint32_t start = frame.length > ethernet_header ? ethernet_header : 0;
  std::uint32_t room = (frame.length - start) * 8;
  std::uint32_t flips = 1 + bits_.below(3);
  std::uint32_t bit = bits_.below(room);
  // Different bits, or they would flip back.
  for (std::uint32_t i = 0; i < flips; ++i) {
    std::uint32_t at = (bit + i * 11) % room;
    spoiled_[start + at / 8] ^= std::byte{1} << (at % 8);
  }
}

void FaultStage::go(const model::Frame& frame, std::uint64_t now) noexcept {
  if (spec_.delay_us == 0) {
    emit(frame);
    return;
  }
  if (store_.push(frame, now + std::uint64_t{spec_.delay_us} * 1000)) {
    count_.delayed.add(1);
  } else {
    count_.no_room.add(1);
  }
}

void FaultStage::let_held_back_go(std::uint64_t now) noexcept {
  if (held_back_ == 0) return;
  model::Segment segment{behind_.data(), held_back_};
  model::Frame frame{&segment, 1, held_back_};
  held_back_ = 0;
  go(frame, now);
  // behind_ may be wanted again at once.
  flush();
}

unsigned FaultStage::release(std::uint64_t now) noexcept {
  unsigned released = 0;
  if (held_back_ != 0 && held_until_ <= now) {
    let_held_back_go(now);
    ++released;
  }
  while (store_.size() != 0 && store_.due(0) <= now) {
    std::size_t n = 0;
    while (n < batch && n < store_.size() && store_.due(n) <= now) emit(store_.frame(n++));
    flush();
    store_.pop(n);
    released += static_cast<unsigned>(n);
  }
  return released;
}

void FaultStage::clear() noexcept {
  held_back_ = 0;
  store_.pop(store_.size());
}

void FaultStage::emit(const model::Frame& frame) noexcept {
  if (out_count_ == batch) flush();
  out_[out_count_] = frame;
  if (frame.segment_count == 1) {
    // One segment's description may be on the caller's stack.
    out_segments_[out_count_] = *frame.segments;
    out_[out_count_].segments = &out_segments_[out_count_];
  }
  ++out_count_;
}

void FaultStage::emit(std::span<const std::byte> bytes) noexcept {
  auto length = static_cast<std::uint32_t>(bytes.size());
  model::Segment segment{bytes.data(), length};
  emit(model::Frame{&segment, 1, length});
}

void FaultStage::flush() noexcept {
  std::size_t n = out_count_;
  out_count_ = 0;
  spoiled_in_use_ = false;
  if (n != 0) sink_.take({out_.data(), n});
}

InjectedFaults FaultStage::injected() const noexcept {
  return {count_.lost.get(),    count_.duplicated.get(), count_.reordered.get(), count_.corrupted.get(),
          count_.delayed.get(), count_.link_down.get(),  count_.no_room.get()};
}

}  // namespace chime::wire

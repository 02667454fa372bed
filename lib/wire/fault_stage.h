// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <span>

#include "base/array.h"
#include "base/error.h"
#include "model/wire.h"
#include "wire/counters.h"
#include "wire/faults.h"
#include "wire/frame_store.h"
#include "wire/random.h"

namespace chime::wire {

/// Where a FaultStage's frames go on.
class FrameSink {
 public:
  virtual void take(std::span<const model::Frame> frames) noexcept = 0;

 protected:
  ~FrameSink() = default;
};

/// One direction of a wire with something wrong with it. Order for each frame: link, loss, corruption,
/// duplication, reordering, delay. Every frame draws the same number of random numbers, so that which frames
/// one fault hits does not depend on the other faults' rates.
class FaultStage {
 public:
  explicit FaultStage(FrameSink& sink) noexcept : sink_(sink) {}

  /// Checks the faults, and allocates what they need.
  Result<> reserve(const FaultSpec& spec) noexcept;
  /// Lets held frames go, and starts anew with faults that reserve() took.
  /// @param direction makes the two directions' random numbers differ
  void set(const FaultSpec& spec, std::uint64_t direction) noexcept;
  bool active() const noexcept { return active_; }

  /// @param now nanoseconds
  void pass(std::span<const model::Frame> frames, std::uint64_t now) noexcept;
  /// Lets those frames go whose time has come. @return how many
  unsigned release(std::uint64_t now) noexcept;
  /// Frames wait here for release().
  bool holding() const noexcept { return store_.size() != 0 || held_back_ != 0; }
  /// Throws held frames away.
  void clear() noexcept;

  InjectedFaults injected() const noexcept;

 private:
  static constexpr std::size_t batch = 32;
  static constexpr std::uint64_t longest_hold_ns = 1'000'000;

  void one(const model::Frame& frame, std::uint64_t now) noexcept;
  void corrupt(const model::Frame& frame) noexcept;
  void go(const model::Frame& frame, std::uint64_t now) noexcept;
  void let_held_back_go(std::uint64_t now) noexcept;
  void emit(const model::Frame& frame) noexcept;
  void emit(std::span<const std::byte> frame) noexcept;
  void flush() noexcept;

  FrameSink& sink_;
  FaultSpec spec_;
  bool active_ = false;
  Random chances_, bits_;

  FrameStore store_;                   // delayed
  Array<std::byte> spoiled_, behind_;  // a corrupted frame until it is flushed; the one that is held back
  std::uint32_t held_back_ = 0;        // length of the frame in behind_, 0: none
  std::uint64_t held_until_ = 0;

  std::array<model::Frame, batch> out_;
  std::array<model::Segment, batch> out_segments_;  // of those out_ frames that are copies
  std::size_t out_count_ = 0;
  bool spoiled_in_use_ = false;  // by an out_ frame

  struct {
    Counter lost, duplicated, reordered, corrupted, delayed, link_down, no_room;
  } count_;
};

}  // namespace chime::wire

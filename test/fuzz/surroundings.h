// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <span>

#include "input.h"
#include "model/hca.h"

/// @file
/// What is around the software HCA that a fuzz target talks to.

namespace chime::fuzz {

/// Host memory from bus address 0 on, zeroed. Pages are allocations of their own, or lie in one piece.
class Memory final : public model::HostMemory {
 public:
  static constexpr std::size_t page = 4096, pages = 16, size = page * pages;

  explicit Memory(bool in_one_piece) : one_piece_(in_one_piece) {
    const std::size_t piece = in_one_piece ? size : page;
    for (std::size_t i = 0; i < pages; ++i) {
      pages_[i] = {i % (piece / page) == 0 ? allocate(piece) : pages_[i - 1].bytes + page, true};
    }
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() override {
    for (std::size_t i = 0; i < (one_piece_ ? 1 : pages); ++i) std::free(pages_[i].bytes);
  }

  std::byte* map(std::uint64_t address, std::size_t length) noexcept override {
    if (address >= size || length > size - address) return nullptr;
    const std::uint64_t first = address / page, last = (address + length - 1) / page;
    if (first != last && !one_piece_) return nullptr;
    for (std::uint64_t i = first; i <= last; ++i) {
      if (!pages_[i].there) return nullptr;
    }
    return &at(address);
  }
  std::uint64_t generation() const noexcept override { return generation_; }

  std::byte& at(std::uint64_t address) noexcept { return pages_[address / page].bytes[address % page]; }
  void write(std::uint64_t address, std::span<const std::uint8_t> bytes) noexcept {
    for (const std::uint8_t byte : bytes) at(address++ % size) = std::byte{byte};
  }
  /// Takes a page away from the card, or gives it back.
  void toggle(std::size_t number) noexcept {
    pages_[number].there = !pages_[number].there;
    ++generation_;
  }

 private:
  struct Page {
    std::byte* bytes;
    bool there;
  };

  static std::byte* allocate(std::size_t length) {
    void* const bytes = std::aligned_alloc(page, length);
    want(bytes != nullptr);
    return static_cast<std::byte*>(std::memset(bytes, 0, length));
  }

  bool one_piece_;
  std::array<Page, pages> pages_;
  std::uint64_t generation_ = 1;
};

/// Reads all of every frame, and brings it back.
class Wire final : public model::Wire {
 public:
  void plug(model::WirePort* port) noexcept override { port_ = port; }
  void transmit(std::span<const model::Frame> frames) noexcept override {
    for (const model::Frame& frame : frames) look_at(frame);
    deliver(frames);
  }
  unsigned poll(unsigned) noexcept override { return 0; }
  model::WireLink link() const noexcept override { return {true, 10'000}; }
  std::uint32_t largest_frame() const noexcept override { return 9978; }

  void deliver(std::span<const model::Frame> frames) noexcept {
    if (port_) port_->deliver(frames);
  }

 private:
  static void look_at(const model::Frame& frame) noexcept {
    std::uint64_t length = 0;
    for (const model::Segment& segment : std::span(frame.segments, frame.segment_count)) {
      want(segment.length != 0);
      length += segment.length;
      sum_ =
          std::accumulate(segment.data, segment.data + segment.length, sum_,
                          [](unsigned sum, std::byte byte) { return sum + std::to_integer<unsigned>(byte); });
    }
    want(length == frame.length && length >= 60);
  }

  static inline volatile unsigned sum_ = 0;
  model::WirePort* port_ = nullptr;
};

class Interrupts final : public model::Interrupts {
  void raise(unsigned) noexcept override {}
};

class Clock final : public model::Clock {
  std::uint64_t nanoseconds() noexcept override { return now_ += 1000; }
  std::uint64_t now_ = 0;
};

/// Every finding has a rule and words.
class Diagnostics final : public model::Diagnostics {
  void report(const model::Finding& finding) noexcept override {
    want(finding.rule && *finding.rule && finding.text && *finding.text);
  }
};

struct Surroundings {
  explicit Surroundings(bool memory_in_one_piece) : memory(memory_in_one_piece) {}

  Memory memory;
  Wire wire;
  Interrupts interrupts;
  Clock clock;
  Diagnostics diagnostics;

  operator model::Surroundings() noexcept { return {memory, wire, interrupts, clock, diagnostics}; }
};

}  // namespace chime::fuzz

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

/// @file
/// Counts the calling thread's instructions in user space exactly, without a performance counter (virtual
/// machines often have none): the processor's trap flag raises SIGTRAP after each, and a handler counts them.
/// Takes about a microsecond an instruction. x86-64; one per process.

namespace chime::bench {

class InstructionCounter {
 public:
  /// Takes SIGTRAP over. Without permission ok() is false (a debugger has it).
  InstructionCounter() noexcept;
  ~InstructionCounter();
  InstructionCounter(const InstructionCounter&) = delete;
  InstructionCounter& operator=(const InstructionCounter&) = delete;

  bool ok() const noexcept { return ok_; }

  /// Only what lies between these two is counted.
  [[gnu::always_inline]] static void start() noexcept {
    // Around the red zone, which is the caller's.
    __asm__ volatile(
        "lea -128(%%rsp), %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp"
        :
        :
        : "memory", "cc");
  }
  [[gnu::always_inline]] static void stop() noexcept {
    __asm__ volatile(
        "lea -128(%%rsp), %%rsp\n\tpushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp"
        :
        :
        : "memory", "cc");
  }
  /// Instructions so far, some of start() and stop() included: subtract an empty pair's.
  static std::uint64_t count() noexcept;

  /// Instructions of `f`, which is inlined; those of start() and stop() are taken off.
  template <class F>
  [[gnu::always_inline]] static std::uint64_t of(F&& f) noexcept {
    const std::uint64_t at_start = count();
    start();
    stop();
    const std::uint64_t before = count();
    start();
    f();
    stop();
    return count() - before - (before - at_start);
  }

 private:
  bool ok_ = false;
};

}  // namespace chime::bench

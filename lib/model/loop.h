// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/array.h"
#include "base/error.h"

namespace chime::model {

/// Something that a Loop steps: an embedded HCA with its doorbell apertures.
class Stepped {
 public:
  virtual ~Stepped() = default;
  /// @return units of work done, 0 when idle
  virtual unsigned step() noexcept = 0;
};

/// Who steps the embedded HCAs of a process.
struct LoopOptions {
  enum class Mode : std::uint8_t {
    thread,  ///< one of its own; idle, it spins, soon gives way in between, then sleeps for 1 us up to 100 us
    caller,  ///< nobody: whoever owns the loop calls step()
  };
  Mode mode = Mode::thread;
  int cpu = -1;  ///< CPU that the thread is bound to; -1 leaves it to the scheduler
};

/// Steps any number of HCAs, and runs control work between two steps, so that an HCA needs no lock.
class Loop {
 public:
  static Result<Owned<Loop>> create(const LoopOptions& options) noexcept;
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Runs `function(argument)` between two steps, and returns when it is done. Callable from any thread; in
  /// caller mode, and on the loop's own thread, it runs at once.
  void call(void (*function)(void*), void* argument) noexcept;

  /// call() for any callable.
  template <class F>
  void run(F&& f) noexcept {
    call([](void* p) { (*static_cast<std::remove_reference_t<F>*>(p))(); }, &f);
  }

  /// Takes effect before it returns.
  Result<> add(Stepped& stepped) noexcept;
  void remove(Stepped& stepped) noexcept;

  /// Caller mode: steps everything once. @return units of work done
  unsigned step() noexcept;

 private:
  struct State;
  explicit Loop(Owned<State> state) noexcept;
  Owned<State> state_;
};

}  // namespace chime::model

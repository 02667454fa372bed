// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <utility>

#include "base/array.h"
#include "base/error.h"
#include "model/aperture.h"
#include "model/hca.h"
#include "model/interrupts.h"
#include "model/loop.h"

namespace chime::hca::embedded {

/// Interrupts that the card raised and the kernel has not served yet.
class PendingInterrupts final : public model::Interrupts {
 public:
  void raise(unsigned vector) noexcept override { pending_ |= std::uint64_t{1} << (vector & 63); }
  /// @return a bit a vector
  std::uint64_t take() noexcept { return std::exchange(pending_, 0); }

 private:
  std::uint64_t pending_ = 0;
};

/// Who serves the interrupts: the kernel.
class InterruptHandler {
 public:
  virtual ~InterruptHandler() = default;
  /// @param vectors a bit an interrupt. @return units of work done
  virtual unsigned serve(std::uint64_t vectors) noexcept = 0;
};

/// One embedded HCA, as the loop steps it: doorbells first, then the card, then its interrupts.
///
/// A port may have hundreds of UARs of which few ring. Those that rang lately are looked at in every step,
/// some of the others in turn, and all of them when there is nothing else to do.
class Embedded final : public model::Stepped {
 public:
  Embedded(model::Hca& hca, PendingInterrupts& interrupts, InterruptHandler& handler) noexcept
      : hca_(hca), interrupts_(interrupts), handler_(handler) {}

  unsigned step() noexcept override;

  Result<> add(std::uint32_t uar, model::UarCells& cells) noexcept;
  void remove(std::uint32_t uar) noexcept;

  /// Hands over all that was stored. Before each command: on a card a store is there before a command that
  /// comes after it.
  unsigned drain() noexcept { return drain_busy() + drain_quiet(count_); }

 private:
  struct Watched {
    Owned<model::Aperture> aperture;
    std::uint32_t quiet_steps = 0;
  };

  unsigned drain_busy() noexcept;
  unsigned drain_quiet(std::size_t most) noexcept;

  model::Hca& hca_;
  PendingInterrupts& interrupts_;
  InterruptHandler& handler_;
  Array<Watched> watched_;  ///< the first busy_ rang lately; the first count_ are there
  std::size_t busy_ = 0;
  std::size_t count_ = 0;
  std::size_t turn_ = 0;  ///< of the quiet ones
};

}  // namespace chime::hca::embedded

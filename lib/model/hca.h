// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/array.h"
#include "base/error.h"
#include "model/clock.h"
#include "model/diagnostics.h"
#include "model/host_memory.h"
#include "model/interrupts.h"
#include "model/profile.h"
#include "model/wire.h"

namespace chime::model {

/// What surrounds the card. All of it must outlive the Hca.
struct Surroundings {
  HostMemory& memory;
  Wire& wire;
  Interrupts& interrupts;
  Clock& clock;
  Diagnostics& diagnostics;
};

/// Live objects by kind; what tests compare before and after.
struct ObjectCount {
  const char* kind;  ///< "CQ", "SQ", "mkey", ...
  std::uint32_t live;
};

/// The software HCA: one adapter with one port. It learns only from commands, doorbells, host memory and its
/// wire. Not thread-safe: one thread at a time (see model/loop.h for the thread that serves several).
class Hca {
 public:
  static Result<Owned<Hca>> create(const Profile& profile, const Surroundings& surroundings) noexcept;
  ~Hca();
  Hca(const Hca&) = delete;
  Hca& operator=(const Hca&) = delete;

  /// Executes one command (PRM, "Command Interface"), as the kernel's command queue would after gathering the
  /// mailboxes. Status and syndrome are in `out`. The issuer's user context is the command's uid field.
  /// @param in  the whole input, at least 16 bytes
  /// @param out the whole output, at least 16 bytes; wholly written
  void command(std::span<const std::byte> in, std::span<std::byte> out) noexcept;

  /// A store to a UAR page.
  /// @param uar    UAR number, as ALLOC_UAR gave it
  /// @param offset byte offset in the page (prm/doorbell.h)
  /// @param value  the 8 bytes as they lie in memory (big-endian fields, loaded in host order)
  void doorbell(std::uint32_t uar, std::uint32_t offset, std::uint64_t value) noexcept;

  /// Reads the doorbell records of everything on this UAR, for a host whose doorbells may have been lost.
  void replay_records(std::uint32_t uar) noexcept;

  /// Does some of what is to do: the wire's frames, rung queues. @return units of work done, 0 when idle
  unsigned step() noexcept;

  /// The command's words for the last refusal are in Diagnostics; counts are for tests and `chime`.
  /// @return number of kinds written to `counts`
  std::size_t count_objects(std::span<ObjectCount> counts) const noexcept;

  /// The implementation, for the files of lib/model.
  class Card;
  Card& card() noexcept { return *card_; }

 private:
  explicit Hca(Owned<Card> card) noexcept;
  Owned<Card> card_;
};

}  // namespace chime::model

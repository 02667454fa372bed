// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/card.h"
#include "model/datapath/faults.h"

namespace chime::model {

/// Translation of memory keys. Remembers what it looked up for one burst: no command comes in between.
class Keys {
 public:
  explicit Keys(Hca::Card& card) noexcept : card_(card) {}

  /// Must be called at the beginning of every burst.
  void forget() noexcept { recent_ = {}; }

  /// All `bytes` (not 0) of host memory at `va`, where the key was used in this burst already and all is as
  /// it should be; nullptr is no answer: reach() gives it.
  std::byte* quick(std::uint32_t key, const Pd* pd, std::uint64_t va, std::size_t bytes,
                   Rights right) const noexcept {
    const Recent& recent = recent_[slot(key)];
    const std::uint64_t offset = va - recent.start;
    if (recent.key == key && recent.pd == pd && (recent.rights & right) != 0 && offset < recent.length &&
        bytes <= recent.length - offset) [[likely]] {
      return recent.base + offset;
    }
    return nullptr;
  }

  /// Host memory at `va`: at most `bytes` (not 0), fewer where it is broken; ask again for the rest.
  /// @param queue    that uses it: a key may be one queue pair's alone
  /// @param reserved whether the queue may use the reserved lkey ("rlky"), which knows neither bounds nor PD
  /// @param fault    set when the result is empty
  Chunk reach(std::uint32_t key, const Pd* pd, std::uint32_t queue, bool reserved, std::uint64_t va,
              std::size_t bytes, Rights right, Fault& fault) noexcept;

 private:
  /// A piece of a key's range that lies in host memory in one piece.
  struct Recent {
    std::uint32_t key = 0;
    std::uint8_t rights = 0;
    const Pd* pd = nullptr;
    std::uint64_t start = 0;
    std::uint64_t length = 0;
    std::byte* base = nullptr;  ///< of `start`
  };
  static constexpr unsigned slots = 4;
  static constexpr std::size_t window = 64 * 1024;  ///< looked ahead in a key that is in pieces
  static constexpr unsigned most_levels = 5;        ///< keys on keys

  static constexpr unsigned slot(std::uint32_t key) noexcept { return (key >> 8) % slots; }
  Mkey* find(std::uint32_t key) const noexcept;
  Chunk through(const Mkey& outer, std::uint64_t va, std::size_t bytes, Rights right, Fault& fault) noexcept;
  Chunk reserved_key(std::uint64_t va, std::size_t bytes, Fault& fault) noexcept;
  static Fault fault_of(AccessError error) noexcept;

  Hca::Card& card_;
  std::array<Recent, slots> recent_{};
};

}  // namespace chime::model

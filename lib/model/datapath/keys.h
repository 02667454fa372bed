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

  /// Host memory at `va`: at most `bytes` (not 0), fewer where it is broken; ask again for the rest.
  /// @param reserved whether the queue may use the reserved lkey ("rlky"), which knows neither bounds nor PD
  /// @param fault    set when the result is empty
  Chunk reach(std::uint32_t key, const Pd* pd, bool reserved, std::uint64_t va, std::size_t bytes,
              Rights right, Fault& fault) noexcept {
    Recent& recent = recent_[(key >> 8) % recent_.size()];
    if (recent.key != key || !recent.mkey) [[unlikely]] {
      if (reserved && key == card_.reserved_lkey) return reserved_key(va, bytes, fault);
      Mkey* found = card_.mkeys.find(key >> 8);
      if (!found || found->key_byte != (key & 0xff)) {
        fault = Fault::key_unknown;
        return {};
      }
      recent = {key, found};
    }
    if (const AccessError error = recent.mkey->check(pd, va, bytes, right); error != AccessError::none)
        [[unlikely]] {
      fault = fault_of(error);
      return {};
    }
    const Chunk chunk = recent.mkey->translate(card_.host, va, bytes);
    if (!chunk.data) [[unlikely]]
      fault = Fault::key_memory;
    return chunk;
  }

 private:
  struct Recent {
    std::uint32_t key = 0;
    Mkey* mkey = nullptr;
  };

  Chunk reserved_key(std::uint64_t va, std::size_t bytes, Fault& fault) noexcept;
  static Fault fault_of(AccessError error) noexcept;

  Hca::Card& card_;
  std::array<Recent, 8> recent_{};
};

}  // namespace chime::model

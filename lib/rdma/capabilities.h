// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "base/error.h"
#include "hca/device.h"
#include "rdma/queue.h"

/// @file
/// What the card offers, by QUERY_HCA_CAP.

namespace chime::rdma {

struct Capabilities {
  std::uint16_t operations = 0;   ///< prm::atomic_operations; 0: no atomics at all
  std::uint16_t sizes = 0;        ///< bit n: operands of 2^n bytes
  bool host_replies = false;      ///< 8-byte originals come in host order (endianness mode 1 is in force)
  bool can_host_replies = false;  ///< mode 1 is there
  std::uint16_t pci_fetch_add = 0, pci_swap = 0,
                pci_compare_swap = 0;  ///< PCI Express sizes, bit n: 2^n bytes
  std::uint8_t log_max_depth = 0;      ///< basic blocks of a send queue
  std::uint8_t log_max_queue_pairs = 0;
  std::uint8_t log_max_completions = 0;
  std::uint8_t log_max_initiator_depth = 0;
  std::uint8_t log_max_responder_depth = 0;
  std::uint16_t gids = 0;   ///< places of the GID table
  std::uint8_t max_ds = 0;  ///< 16-byte units of the longest send request

  static Result<Capabilities> query(hca::Device& device) noexcept;

  /// The driver's operations at which size, bit n: 2^n bytes. Some have operands that no request holds; a
  /// queue pair needs room for them beside (Config::wide).
  AtomicSizes atomics() const noexcept;
  /// Compare-and-swap and fetch-and-add of 8 bytes, as InfiniBand has them.
  bool plain() const noexcept { return (operations & 3) == 3; }
  /// Atomic against the CPU and other cards too: PCI Express atomics of 8 bytes for both.
  bool global() const noexcept { return (pci_fetch_add & pci_compare_swap & 8) != 0; }
  /// Bytes of the largest atomic; 0: none.
  std::uint32_t largest() const noexcept;
  /// prm::atomic_mode of a queue pair that answers all that the card offers.
  std::uint8_t atomic_mode() const noexcept;
};

/// Which condition of a write that is atomic against atomics fails.
enum class WriteAtomicity : std::uint8_t {
  atomic,
  no_atomics,      ///< the card has none
  not_enabled,     ///< the receiving queue pair was not made with atomic writes
  too_long,        ///< longer than the largest atomic
  crosses_a_unit,  ///< no naturally aligned unit of the largest size or less has it all
  empty,
};

/// Whether a remote write of `length` bytes to `address` is atomic against atomics there.
/// @param enabled whether the receiving queue pair takes writes so
WriteAtomicity write_atomicity(const Capabilities& receiver, bool enabled, std::uint64_t address,
                               std::uint64_t length) noexcept;
const char* text_of(WriteAtomicity atomicity) noexcept;

}  // namespace chime::rdma

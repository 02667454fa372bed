// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/thread_sanitizer.h"
#include "prm/cqe.h"

/// @file
/// Whose a CQE is. The card toggles the owner bit at every pass, so an entry is software's when its owner bit
/// equals the parity of the pass and its opcode is not `invalid`.

namespace chime::net {

/// What decides in op_own: opcode and owner. Format and "solicited" say nothing to an Ethernet queue.
inline constexpr unsigned op_own_mask = 0xf0 | prm::cqe_owner;

/// @param consumer free-running consumer index
constexpr std::uint8_t owner_parity(std::uint32_t consumer, unsigned log_size) noexcept {
  return static_cast<std::uint8_t>((consumer >> log_size) & 1);
}

/// Reads op_own before everything else in the CQE: the card writes it last.
inline unsigned load_op_own(const prm::Cqe& cqe) noexcept {
  if constexpr (CHIME_THREAD_SANITIZER) {
    // The model writes eight bytes at once, of which a byte is another object to ThreadSanitizer.
    static_assert(offsetof(prm::Cqe, sop_drop_qpn) == 56 && offsetof(prm::Cqe, op_own) == 63);
    const auto* last = reinterpret_cast<const std::uint64_t*>(&cqe.sop_drop_qpn);
    return static_cast<unsigned>(__atomic_load_n(last, __ATOMIC_ACQUIRE) >> 56);
  }
  return __atomic_load_n(&cqe.op_own, __ATOMIC_ACQUIRE);
}

constexpr bool is_software_owned(unsigned op_own, unsigned parity) noexcept {
  return (op_own & prm::cqe_owner) == parity &&
         prm::cqe_opcode_of(static_cast<std::uint8_t>(op_own)) != prm::cqe_opcode::invalid;
}

constexpr bool is_error(prm::cqe_opcode opcode) noexcept {
  return opcode == prm::cqe_opcode::requester_error || opcode == prm::cqe_opcode::responder_error;
}

/// How many entries from `consumer` on are software's: they are contiguous, so the last one is searched for
/// by halving.
inline std::uint32_t count_software_owned(const prm::Cqe* ring, unsigned log_size,
                                          std::uint32_t consumer) noexcept {
  const std::uint32_t size = 1u << log_size;
  std::uint32_t low = 0, high = size;  // entries below low are software's, those from high on are not
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    const std::uint32_t index = consumer + middle;
    const unsigned op_own = load_op_own(ring[index & (size - 1)]);
    if (is_software_owned(op_own, owner_parity(index, log_size)))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

}  // namespace chime::net

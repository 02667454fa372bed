// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_vect.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "prm/wqe.h"
#include "rdma/operation.h"

/// @file
/// The units of a plain 8-byte atomic's WQE out of an Operation. Where the processor shuffles bytes, each is
/// one load, one shuffle and one store: fields that lie side by side in an Operation do so in the WQE, turned
/// around.
///
///     Operation          +16 local | +24 lkey rkey | +32 remote | +40 operand 0 | +48 operand 1
///     WQE unit 1         remote | rkey 0              from +24
///     WQE unit 2         operand 0 | operand 1        from +40
///     WQE unit 3         8 lkey | local               from +16

namespace chime::rdma {

static_assert(offsetof(Operation, lkey) == 24 && offsetof(Operation, rkey) == 28 &&
              offsetof(Operation, remote) == 32 && offsetof(Operation, operand) == 40);

inline void store(std::byte* unit, std::uint64_t first, std::uint64_t second) noexcept {
  std::memcpy(unit, &first, sizeof first);
  std::memcpy(unit + 8, &second, sizeof second);
}

#if defined(__SSSE3__)

inline __m128i load_unit(const void* from) noexcept {
  return _mm_loadu_si128(static_cast<const __m128i*>(from));
}
inline void store_unit(std::byte* unit, __m128i value) noexcept {
  _mm_store_si128(reinterpret_cast<__m128i*>(unit), value);
}

inline void copy_target(std::byte* unit, const Operation& operation) noexcept {
  const __m128i order = _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, -1, -1, -1, -1);
  store_unit(unit, _mm_shuffle_epi8(load_unit(&operation.lkey), order));
}

template <bool add>
void copy_operands(std::byte* unit, const Operation& operation) noexcept {
  const __m128i order = add ? _mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, -1, -1, -1, -1, -1, -1, -1, -1)
                            : _mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8);
  store_unit(unit, _mm_shuffle_epi8(load_unit(&operation.operand), order));
}

inline void copy_data(std::byte* unit, const Operation& operation) noexcept {
  const __m128i order = _mm_setr_epi8(-1, -1, -1, -1, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  const __m128i length = _mm_setr_epi8(0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  store_unit(unit, _mm_or_si128(_mm_shuffle_epi8(load_unit(&operation.local), order), length));
}

#else

inline void copy_target(std::byte* unit, const Operation& operation) noexcept {
  store(unit, prm::host_to_be(operation.remote), prm::host_to_be(operation.rkey));
}

template <bool add>
void copy_operands(std::byte* unit, const Operation& operation) noexcept {
  store(unit, prm::host_to_be(operation.operand[0].value),
        add ? 0 : prm::host_to_be(operation.operand[1].value));
}

inline void copy_data(std::byte* unit, const Operation& operation) noexcept {
  store(unit, std::uint64_t{prm::host_to_be(operation.lkey)} << 32 | prm::host_to_be(std::uint32_t{8}),
        prm::host_to_be(std::uint64_t{operation.local}));
}

#endif

}  // namespace chime::rdma

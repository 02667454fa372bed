// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_vect.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "prm/wqe.h"
#include "rdma/queue.h"

/// @file
/// The units of a plain 8-byte atomic's WQE out of an Operation, and what posting remembers of it. Where the
/// processor shuffles bytes, each is one load, one shuffle and one store: fields that lie side by side in an
/// Operation do so in the WQE, turned around.
///
///     Operation          +16 local | +24 lkey rkey | +32 remote | +40 operand 0 | +48 operand 1
///     WQE unit 1         remote | rkey 0              from +24
///     WQE unit 2         operand 0 | operand 1        from +40
///     WQE unit 3         8 lkey | local               from +16
///
/// What changes from one request of a run to the next is counted in a register: the index in unit 0, the
/// limit in the slot.

namespace chime::rdma {

static_assert(std::endian::native == std::endian::little);
static_assert(offsetof(Operation, lkey) == 24 && offsetof(Operation, rkey) == 28 &&
              offsetof(Operation, remote) == 32 && offsetof(Operation, operand) == 40);

inline void store(std::byte* unit, std::uint64_t first, std::uint64_t second) noexcept {
  std::memcpy(unit, &first, sizeof first);
  std::memcpy(unit + 8, &second, sizeof second);
}

#if defined(__SSSE3__)

static_assert(offsetof(SendSlot, length) == 16 && offsetof(SendSlot, limit) == 20);

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

/// The control segments of a run that does not go over the end of the ring.
class Controls {
 public:
  Controls(std::uint32_t block, std::uint32_t opcode, std::uint32_t qpn_ds, std::uint8_t mode) noexcept
      : next_(_mm_setr_epi32(static_cast<int>((block & 0xffff) << 8 | opcode), static_cast<int>(qpn_ds), mode,
                             0)) {}
  void write(std::byte* unit) noexcept {
    const __m128i order = _mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
    store_unit(unit, _mm_shuffle_epi8(next_, order));
    next_ = _mm_add_epi32(next_, _mm_setr_epi32(1 << 8, 0, 0, 0));
  }

 private:
  __m128i next_;
};

/// The second halves of a run's slots.
class SlotEnds {
 public:
  explicit SlotEnds(const SendSlot& first) noexcept : next_(load_unit(&first.length)) {}
  void write(SendSlot& slot) noexcept {
    store_unit(reinterpret_cast<std::byte*>(&slot.length), next_);
    next_ = _mm_add_epi32(next_, _mm_setr_epi32(0, 1, 0, 0));
  }

 private:
  __m128i next_;
};

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

class Controls {
 public:
  Controls(std::uint32_t block, std::uint32_t opcode, std::uint32_t qpn_ds, std::uint8_t mode) noexcept
      : index_opcode_((block & 0xffff) << 8 | opcode), qpn_ds_(qpn_ds), mode_(mode) {}
  void write(std::byte* unit) noexcept {
    const prm::WqeCtrl control{.opmod_idx_opcode = index_opcode_,
                               .qpn_ds = qpn_ds_,
                               .signature = 0,
                               .reserved = {},
                               .fm_ce_se = mode_,
                               .imm = 0};
    std::memcpy(unit, &control, sizeof control);
    index_opcode_ += 1u << 8;
  }

 private:
  std::uint32_t index_opcode_, qpn_ds_;
  std::uint8_t mode_;
};

class SlotEnds {
 public:
  explicit SlotEnds(const SendSlot& first) noexcept : next_(first) {}
  void write(SendSlot& slot) noexcept {
    std::memcpy(&slot.length, &next_.length, sizeof slot - offsetof(SendSlot, length));
    ++next_.limit;
  }

 private:
  SendSlot next_;
};

#endif

}  // namespace chime::rdma

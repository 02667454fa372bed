// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "prm/wqe.h"
#include "rdma/queue.h"

namespace chime::rdma {

/// The send ring in 16-byte units, from a basic block on and over the ring's end.
class WqeWriter {
 public:
  WqeWriter(const Qp& qp, std::uint32_t block) noexcept
      : ring_(qp.wqes), mask_((qp.mask << 2) | 3), begin_(block << 2), unit_(begin_) {}

  /// The next unit, to be written whole.
  template <class Segment>
  Segment& next() noexcept {
    static_assert(sizeof(Segment) == prm::wqe_unit);
    return *reinterpret_cast<Segment*>(place());
  }
  void bytes(const void* from, std::size_t size) noexcept {
    const auto* at = static_cast<const std::byte*>(from);
    for (; size != 0;) {
      const std::size_t now = std::min(size, prm::wqe_unit);
      std::memcpy(place(), at, now);
      at += now;
      size -= now;
    }
  }
  std::uint32_t units() const noexcept { return unit_ - begin_; }

 private:
  std::byte* place() noexcept { return ring_ + std::size_t{unit_++ & mask_} * prm::wqe_unit; }

  std::byte* ring_;
  std::uint32_t mask_;
  std::uint32_t begin_;
  std::uint32_t unit_;
};

}  // namespace chime::rdma

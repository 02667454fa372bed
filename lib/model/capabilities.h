// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/array.h"
#include "base/error.h"
#include "prm/layouts.h"
#include "prm/view.h"

namespace chime::model {

/// What QUERY_HCA_CAP answers: for each capability type the most that the card can do ("maximum"), and what
/// it does now ("current", which SET_HCA_CAP lowers). Raw structures of the manual; a type that was not added
/// does not exist.
class Capabilities {
 public:
  static constexpr std::size_t size = 4096;    ///< bytes of a structure
  static constexpr unsigned max_types = 0x40;  ///< types are below it
  using Structure = std::array<std::byte, size>;

  /// Adds a type, all zero; does nothing when it is there. ENOMEM; EINVAL for a type out of range.
  Result<> add(unsigned type) noexcept;
  bool has(unsigned type) const noexcept { return type < max_types && pairs_[type]; }

  /// Empty when there is no such type.
  std::span<std::byte> maximum(unsigned type) noexcept;
  std::span<std::byte> current(unsigned type) noexcept;
  std::span<const std::byte> maximum(unsigned type) const noexcept;
  std::span<const std::byte> current(unsigned type) const noexcept;

  Result<Capabilities> clone() const noexcept;

  /// Current values, by the type's layout; all zero where the type does not exist.
  prm::ConstView<prm::cmd_hca_cap> general() const noexcept { return view<prm::cmd_hca_cap>(0); }
  template <class S>
  prm::ConstView<S> view(unsigned type) const noexcept {
    return prm::ConstView<S>(has(type) ? std::span<const std::byte>(pairs_[type]->current) : none);
  }

 private:
  struct Pair {
    Structure maximum{};
    Structure current{};
  };
  static constexpr Structure none{};
  std::array<Owned<Pair>, max_types> pairs_;
};

}  // namespace chime::model

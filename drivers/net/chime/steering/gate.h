// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "base/error.h"
#include "hca/device.h"
#include "steering/destination.h"

namespace chime::net {

/// A place where everything goes one way, and the way can change under traffic: there are two slots, one
/// behind the other; the new way is laid into the free one before the old goes. Control path.
class Gate {
 public:
  Gate() noexcept = default;
  Gate(Gate&&) noexcept = default;
  Gate& operator=(Gate&&) = delete;  // member by member it would end the group before its entries

  /// The root of the port's receive path. Closed at first, as every gate.
  static Gate at_root(hca::Device& device) noexcept;
  /// Entries `first` and `first` + 1 of a table: what no entry before them takes.
  static Result<Gate> in_table(hca::Device& device, std::uint32_t table, std::uint32_t first) noexcept;

  /// Changes the way, or fails and leaves it.
  Result<> lead(Destination to) noexcept;
  /// The same in two steps, for changing several gates together. Between them either way may be taken.
  Result<> prepare(Destination to) noexcept;
  void commit() noexcept;
  void cancel() noexcept;

  void close() noexcept;
  bool open() const noexcept { return static_cast<bool>(way_); }

 private:
  friend class RxSteering;

  hca::Device* device_ = nullptr;
  bool root_ = false;
  std::uint32_t table_ = 0;
  std::uint32_t first_ = 0;
  hca::Object group_;
  hca::Object way_;
  hca::Object next_way_;
  unsigned slot_ = 0;     // of way_
  Gate* next_ = nullptr;  // in RxSteering's list; a gate in it does not move
};

}  // namespace chime::net

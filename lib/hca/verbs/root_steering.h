// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <mutex>
#include <span>

#include "base/array.h"
#include "base/error.h"
#include "hca/steering.h"
#include "hca/verbs/admission.h"
#include "hca/verbs/handles.h"
#include "hca/verbs/root_rule.h"

namespace chime::hca::verbs {

/// The port's rules in the kernel's bypass namespace, and the addresses that they are for. Thread-safe.
class RootSteering {
 public:
  RootSteering(ibv_context& context, Handles& handles) noexcept : context_(context), handles_(handles) {}
  RootSteering(const RootSteering&) = delete;
  RootSteering& operator=(const RootSteering&) = delete;

  /// As hca::Steering::root().
  Result<Owned<Handle>> root(std::uint8_t criteria_enable, std::span<const std::byte> mask,
                             std::span<const std::byte> value, std::uint16_t priority,
                             RootDestination destination) noexcept;
  /// From now on rules are for these. After an error they are for the same as before.
  Result<> admit(Array<AddressMatch> matches) noexcept;

  void remove(RootRule& rule) noexcept;

 private:
  ibv_context& context_;
  Handles& handles_;
  std::mutex mutex_;
  Array<AddressMatch> matches_;
  RootRule* rules_ = nullptr;
};

}  // namespace chime::hca::verbs

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "hca/model/handle.h"
#include "hca/model/root_steering.h"

namespace chime::hca::embedded {

/// A rule in the bypass namespace, made by the kernel for a user context.
class RootRule final : public Handle {
 public:
  explicit RootRule(RootTables& tables) noexcept
      : Handle(prm::cmd_opcode::set_flow_table_entry), tables_(tables) {}
  void set(const RootTables::Place& place) noexcept {
    place_ = place;
    number = place.index;
  }
  Result<> end(Kernel&) noexcept override { return tables_.remove(place_); }

 private:
  RootTables& tables_;
  RootTables::Place place_;
};

}  // namespace chime::hca::embedded

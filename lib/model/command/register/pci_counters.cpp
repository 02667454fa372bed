// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "model/command/register/register.h"

/// @file
/// MPCNT: counters of PCI Express.

namespace chime::model {

/// Between the model and its host there is no link that could err, and nothing to wait for: every counter
/// reads zero, before and after it is cleared. So does life_time_counter, whose unit is not public.
void mpcnt(const RegisterAccess<prm::mpcnt_reg>& a) noexcept {
  using R = prm::mpcnt_reg;
  if (a.in.get(R::grp) != prm::mpcnt_group::performance) {
    return a.c.refuse(Rule::register_group, 0, "MPCNT has no group %#x",
                      static_cast<unsigned>(a.in.get(R::grp)));
  }
  const std::uint32_t index = a.in.get(R::pcie_index);
  if (index != 0) return a.c.refuse(Rule::register_value, index, "pcie_index %u; there is 0", index);
  const auto counters = a.out.at(R::counter_set).bytes();
  std::fill(counters.begin(), counters.end(), std::byte{0});
}

}  // namespace chime::model

// SPDX-License-Identifier: BSD-3-Clause
#include "steering/table_limits.h"

#include <algorithm>

#include "hca/command.h"

namespace chime::net {

namespace {

constexpr std::uint32_t own_stages = 3;  // MAC filter, VLAN filter, spread

}  // namespace

Result<TableLimits> TableLimits::query(hca::Device& device) noexcept {
  hca::Command<prm::query_hca_cap> command;
  command.in.set(prm::query_hca_cap_in::op_mod, static_cast<std::uint32_t>(prm::hca_cap_type::flow_table)
                                                        << 1 |
                                                    static_cast<std::uint32_t>(prm::hca_cap_mode::cur));
  if (Result<> done = command.execute(device); !done) return fail(done.error());

  using layout = prm::flow_table_prop_layout;
  const auto caps = command.out.at(prm::query_hca_cap_out::capability)
                        .at(prm::hca_cap_union::flow_table_nic_cap)
                        .at(prm::flow_table_nic_cap::flow_table_properties_nic_receive);
  const std::uint32_t highest = caps.get(layout::max_ft_level);
  if (!caps.get(layout::ft_support) || highest < first_own_level + own_stages)
    return fail(ENOTSUP,
                "%s has receive flow tables up to level %u; the port needs levels %u to %u "
                "(QUERY_HCA_CAP, flow tables, nic_receive)",
                device.name(), highest, unsigned{first_own_level}, first_own_level + own_stages);

  TableLimits limits{};
  limits.log_max_table = static_cast<std::uint8_t>(caps.get(layout::log_max_ft_size));
  limits.counters = caps.get(layout::flow_counter);
  std::ranges::copy(caps.at(layout::ft_field_support).bytes(), limits.fields.begin());
  std::ranges::copy(caps.at(layout::ft_field_bitmask_support).bytes().first(limits.masked_fields.size()),
                    limits.masked_fields.begin());
  limits.spread_level = static_cast<std::uint8_t>(highest);
  limits.vlan_level = static_cast<std::uint8_t>(highest - 1);
  limits.mac_level = static_cast<std::uint8_t>(highest - 2);
  limits.flow_groups = limits.mac_level - std::uint32_t{first_own_level};
  return limits;
}

}  // namespace chime::net

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "model/command/command.h"
#include "model/object/steering.h"

/// @file
/// What the commands of flow tables, groups and entries have in common.

namespace chime::model {

/// The card's properties of flow tables; all zero when it has none.
prm::ConstView<prm::flow_table_prop_layout> table_properties(const Hca::Card& card) noexcept;

/// @return whether the type is supported; refused otherwise
bool read_table_type(Command& c, prm::flow_table_type wanted, TableType& type) noexcept;

/// Only the NIC's own steering domain is there. @return false when it refused
bool own_vport(Command& c, std::uint32_t other_vport) noexcept;

/// The table of that number, which is of that type; nullptr when it refused.
FlowTable* find_table(Command& c, prm::flow_table_type type, std::uint32_t number) noexcept;

/// Words of the match parameters that count, of a group's mask. Refuses what the card can't match on.
bool read_mask(Command& c, std::uint32_t criteria_enable, std::span<const std::byte> param,
               Array<MatchWord>& mask) noexcept;

/// What an entry does. @param ignore_level the command's ignore_flow_level. @return false when it refused
bool read_verdict(Command& c, prm::ConstView<prm::flow_context> context, const FlowTable& table,
                  bool ignore_level, FlowVerdict& verdict) noexcept;

}  // namespace chime::model

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_flow.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "flow/error.h"
#include "steering/match.h"
#include "steering/table_limits.h"

/// @file
/// How the fields of pattern items become match parameters of the card: tables of fields, one for each type
/// of item, in item_l2.cpp, item_l3.cpp and item_l4.cpp. pattern.h puts items together.

namespace chime::net {

/// Bit of flow_table_fields_supported, counted as in prm/view.h.
using Capability = std::uint16_t;
inline constexpr Capability no_capability = 0xffff;

/// The card tells packets without a tag, with an 802.1Q tag (0x8100) and with an 802.1ad tag (0x88a8) apart,
/// but one entry can't take two of these.
enum TagKinds : std::uint8_t { no_tag = 1, c_tag = 2, s_tag = 4, any_tag = c_tag | s_tag, any_or_no_tag = 7 };

/// An EtherType or TPID that an item asks for.
struct AskedType {
  std::uint16_t value = 0;
  std::uint16_t mask = 0;
  std::optional<bool> more_vlans;  ///< has_vlan, has_more_vlan
};

enum class Layer : std::uint8_t { none, ethernet, vlan, second_vlan, l3, l4 };

/// A pattern while its items are read.
struct PatternState {
  const TableLimits& limits;
  Match& match;
  Layer layer = Layer::none;
  std::size_t index = 0;  ///< of the item that is read
  unsigned vlans = 0;     ///< items so far
  AskedType ethernet{};   ///< type and has_vlan
  AskedType vlan[2]{};    ///< inner_type and has_more_vlan
  std::uint8_t outer_tags = any_or_no_tag;
  std::uint8_t second_tags = any_or_no_tag;
  std::uint16_t l3_type = 0;  ///< EtherType that an ipv4 or ipv6 item stands for

  // Fail where the card can't match (a part of) the field.
  using Bit = unsigned;  ///< of fte_match_param
  /// Adds whole bytes, as they lie in the packet.
  FlowResult<> add_bytes(const rte_flow_item& item, const char* field, Bit at, Capability capability,
                         std::span<const std::uint8_t> spec, std::span<const std::uint8_t> mask) noexcept;
  FlowResult<> add(const rte_flow_item& item, const char* field, Bit at, unsigned width,
                   Capability capability, std::uint32_t spec, std::uint32_t mask) noexcept;
};

struct ItemType;

/// The first bit of an item's bit fields, and the others. Bit fields are in the host's order.
struct ItemFlags {
  std::uint32_t first : 1, others : 31;
};

/// What an item's field looks like to a function that takes it: big-endian bytes.
struct FieldValue {
  const rte_flow_item& item;
  const ItemType& type;
  const char* name;
  std::span<const std::uint8_t> spec;  ///< under the mask
  std::span<const std::uint8_t> last;  ///< under the mask; equal to spec without a range
  std::span<const std::uint8_t> mask;

  bool range() const noexcept;
  std::uint32_t spec_number() const noexcept { return number(spec); }
  std::uint32_t last_number() const noexcept { return number(last); }
  std::uint32_t mask_number() const noexcept { return number(mask); }

 private:
  static std::uint32_t number(std::span<const std::uint8_t> bytes) noexcept;
};

/// A field of an item: copied to where the card has it, taken by a function, or refused.
struct ItemField {
  const char* name;  ///< as testpmd calls it
  std::uint8_t offset, size;
  unsigned at = 0;  ///< bit of fte_match_param
  Capability capability = no_capability;
  FlowResult<> (*take)(PatternState&, const FieldValue&) noexcept = nullptr;
  const char* refusal = nullptr;  ///< why it can't be matched
  bool takes_range = false;       ///< `take` looks at `last`
};

struct ItemType {
  rte_flow_item_type type;
  const char* name;
  std::size_t size;                   ///< of spec, last and mask
  const std::uint8_t* default_mask;   ///< where an item has a spec and no mask
  std::span<const ItemField> fields;  ///< cover all of the item
  Layer layer;                        ///< that it is of; a second vlan item is of second_vlan
  std::uint16_t l3_type = 0;          ///< EtherType that it stands for
  std::uint8_t protocol = 0;          ///< IP protocol that it stands for
};

extern const ItemType eth_item, vlan_item, ipv4_item, ipv6_item, tcp_item, udp_item;

/// After the last item: EtherTypes and tags, which several items have a say in.
/// @param pattern is to blame where no single item is
FlowResult<> finish_l2(PatternState& state, const rte_flow_item* pattern) noexcept;

// Where a field of fte_match_param lies, and the capability to match it.
template <class Owner, unsigned At, unsigned Width, class Value>
consteval unsigned bit_of(prm::Field<Owner, At, Width, Value>) noexcept {
  return At;
}
template <class Owner, unsigned Offset, class Nested>
consteval unsigned bit_of(prm::Nest<Owner, Offset, Nested>) noexcept {
  return Offset * 8;
}
template <class Field>
consteval unsigned outer(Field field) noexcept {
  return bit_of(prm::fte_match_param::outer_headers) + bit_of(field);
}
template <class Field>
consteval unsigned misc(Field field) noexcept {
  return bit_of(prm::fte_match_param::misc_parameters) + bit_of(field);
}
template <class Field>
consteval Capability can(Field field) noexcept {
  return static_cast<Capability>(bit_of(field));
}

}  // namespace chime::net

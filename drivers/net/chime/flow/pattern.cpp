// SPDX-License-Identifier: BSD-3-Clause
#include "flow/pattern.h"

#include <array>
#include <cstring>

namespace chime::net {

namespace {

using fields = prm::fte_match_set_lyr_2_4;
using misc_fields = prm::fte_match_set_misc;
using Bytes = std::span<const std::uint8_t>;

constexpr const ItemType* item_types[] = {&eth_item,  &vlan_item, &ipv4_item,
                                          &ipv6_item, &tcp_item,  &udp_item};

const ItemType* find_type(rte_flow_item_type type) noexcept {
  for (const ItemType* known : item_types)
    if (known->type == type) return known;
  return nullptr;
}

const char* name_of(rte_flow_item_type type) noexcept {
  const char* name = nullptr;
  rte_flow_conv(RTE_FLOW_CONV_OP_ITEM_NAME_PTR, &name, sizeof name,
                reinterpret_cast<const void*>(static_cast<std::uintptr_t>(type)), nullptr);
  return name ? name : "unknown";
}

FlowResult<> enter_layer(PatternState& state, const rte_flow_item& item, const ItemType& type) noexcept {
  Layer layer = type.layer;
  if (layer == Layer::vlan && state.vlans == 1) layer = Layer::second_vlan;
  if (layer == Layer::vlan && state.vlans == 2)
    return flow_fail(RTE_FLOW_ERROR_TYPE_ITEM, &item, ENOTSUP,
                     "item %zu (vlan): a third tag; the card looks at two", state.index);
  if (layer <= state.layer)
    return flow_fail(
        RTE_FLOW_ERROR_TYPE_ITEM, &item, ENOTSUP,
        "item %zu (%s) comes after an item of its layer or a higher one; the order is eth, vlan, "
        "vlan, ipv4 or ipv6, tcp or udp, and tunnels can't be matched",
        state.index, type.name);
  state.layer = layer;
  if (type.layer == Layer::vlan) ++state.vlans;
  if (type.l3_type != 0) state.l3_type = type.l3_type;
  if (type.protocol != 0)
    return state.add(item, "the IP protocol", outer(fields::ip_protocol), 8,
                     can(prm::flow_table_fields_supported::outer_ip_protocol), type.protocol, 0xff);
  return {};
}

/// An item's spec, last and mask as the rules of rte_flow complete them.
struct ItemBytes {
  static constexpr std::size_t max_size = sizeof(rte_flow_item_ipv6);
  std::array<std::uint8_t, max_size> spec, last, mask;
};

FlowResult<> read_field(PatternState& state, const rte_flow_item& item, const ItemType& type,
                        const ItemField& field, const ItemBytes& bytes) noexcept {
  const FieldValue value{.item = item,
                         .type = type,
                         .name = field.name,
                         .spec = Bytes(bytes.spec).subspan(field.offset, field.size),
                         .last = Bytes(bytes.last).subspan(field.offset, field.size),
                         .mask = Bytes(bytes.mask).subspan(field.offset, field.size)};
  bool masked = false;
  for (std::uint8_t byte : value.mask) masked |= byte != 0;
  if (!masked) return {};
  if (field.refusal)
    return flow_fail(RTE_FLOW_ERROR_TYPE_ITEM_MASK, item.mask, ENOTSUP, "item %zu (%s): %s: %s", state.index,
                     type.name, field.name, field.refusal);
  if (value.range() && !field.takes_range)
    return flow_fail(RTE_FLOW_ERROR_TYPE_ITEM_LAST, item.last, ENOTSUP,
                     "item %zu (%s): a range of %s; the card matches values under a mask, so split the range "
                     "into rules of one prefix each",
                     state.index, type.name, field.name);
  if (field.take) return field.take(state, value);
  return state.add_bytes(item, field.name, field.at, field.capability, value.spec, value.mask);
}

FlowResult<> read_item(PatternState& state, const rte_flow_item& item) noexcept {
  const ItemType* type = find_type(item.type);
  if (!type)
    return flow_fail(RTE_FLOW_ERROR_TYPE_ITEM, &item, ENOTSUP,
                     "item %zu (%s) can't be matched; what can: eth, vlan, ipv4, ipv6, tcp, udp, void",
                     state.index, name_of(item.type));
  if (!item.spec && (item.mask || item.last))
    return flow_fail(RTE_FLOW_ERROR_TYPE_ITEM, &item, EINVAL,
                     "item %zu (%s) has a %s and no spec that it is for", state.index, type->name,
                     item.mask ? "mask" : "last");
  if (FlowResult<> done = enter_layer(state, item, *type); !done) return done;
  if (!item.spec) return {};

  ItemBytes bytes{};
  std::memcpy(bytes.mask.data(), item.mask ? item.mask : type->default_mask, type->size);
  std::memcpy(bytes.spec.data(), item.spec, type->size);
  std::memcpy(bytes.last.data(), item.last ? item.last : item.spec, type->size);
  for (std::size_t i = 0; i < type->size; ++i) {
    bytes.spec[i] &= bytes.mask[i];
    bytes.last[i] &= bytes.mask[i];
  }
  for (const ItemField& field : type->fields)
    if (FlowResult<> done = read_field(state, item, *type, field, bytes); !done) return done;
  return {};
}

}  // namespace

FlowResult<> Pattern::parse(const rte_flow_item* items, const TableLimits& limits,
                            Pattern& pattern) noexcept {
  pattern = {};
  PatternState state{.limits = limits, .match = pattern.match_};
  for (const rte_flow_item* item = items; item->type != RTE_FLOW_ITEM_TYPE_END; ++item, ++state.index) {
    if (item->type == RTE_FLOW_ITEM_TYPE_VOID) continue;
    if (FlowResult<> done = read_item(state, *item); !done) return done;
  }
  if (FlowResult<> done = finish_l2(state, items); !done) return done;
  pattern.outer_tags_ = state.outer_tags;
  pattern.second_tags_ = state.outer_tags == no_tag ? std::uint8_t{any_or_no_tag} : state.second_tags;

  const auto outer_mask = pattern.match_.mask.at(prm::fte_match_param::outer_headers);
  if (pattern.outer_tags_ != any_or_no_tag) {
    outer_mask.set(fields::cvlan_tag, 1).set(fields::svlan_tag, 1);
    pattern.match_.criteria |= match_outer;
  }
  if (pattern.second_tags_ != any_or_no_tag) {
    pattern.match_.mask.at(prm::fte_match_param::misc_parameters)
        .set(misc_fields::outer_second_cvlan_tag, 1)
        .set(misc_fields::outer_second_svlan_tag, 1);
    pattern.match_.criteria |= match_misc;
  }
  pattern.select(0);
  return {};
}

void Pattern::select(unsigned entry) noexcept {
  const auto choose = [](std::uint8_t tags, unsigned choice) -> unsigned {
    if (tags == any_tag) return choice == 0 ? c_tag : s_tag;
    return tags == any_or_no_tag ? unsigned{no_tag} : tags;
  };
  const unsigned outer_tag = choose(outer_tags_, entry % outer_choices());
  const unsigned second_tag = choose(second_tags_, entry / outer_choices());
  match_.value.at(prm::fte_match_param::outer_headers)
      .set(fields::cvlan_tag, outer_tag == c_tag)
      .set(fields::svlan_tag, outer_tag == s_tag);
  match_.value.at(prm::fte_match_param::misc_parameters)
      .set(misc_fields::outer_second_cvlan_tag, second_tag == c_tag)
      .set(misc_fields::outer_second_svlan_tag, second_tag == s_tag);
}

}  // namespace chime::net

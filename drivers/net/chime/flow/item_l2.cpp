// SPDX-License-Identifier: BSD-3-Clause
#include <rte_ether.h>

#include <cstring>

#include "flow/item.h"

/// @file
/// Items eth and vlan. The card has one EtherType, the one behind the last tag; what stands before it is told
/// by tag bits. So `type` and `inner_type` are kept until all items are known.

namespace chime::net {

namespace {

using fields = prm::fte_match_set_lyr_2_4;
using misc_fields = prm::fte_match_set_misc;
using caps = prm::flow_table_fields_supported;

constexpr std::uint16_t tpid_c = 0x8100, tpid_s = 0x88a8;

AskedType& asked_by_vlan(PatternState& state) noexcept {
  return state.vlan[state.layer == Layer::second_vlan ? 1 : 0];
}

FlowResult<> keep_type(AskedType& asked, const FieldValue& field) noexcept {
  asked.value = static_cast<std::uint16_t>(field.spec_number());
  asked.mask = static_cast<std::uint16_t>(field.mask_number());
  return {};
}

/// A flag in the first bit of the item's bit fields; the rest is reserved.
FlowResult<> keep_flag(AskedType& asked, const PatternState& state, const FieldValue& field) noexcept {
  ItemFlags mask, spec;
  std::memcpy(&mask, field.mask.data(), sizeof mask);
  std::memcpy(&spec, field.spec.data(), sizeof spec);
  if (mask.others != 0)
    return flow_fail(RTE_FLOW_ERROR_TYPE_ITEM_MASK, field.item.mask, EINVAL,
                     "item %zu (%s): the mask has reserved bits beside %s", state.index, field.type.name,
                     field.name);
  asked.more_vlans = spec.first != 0;
  return {};
}

FlowResult<> take_ethernet_type(PatternState& state, const FieldValue& field) noexcept {
  return keep_type(state.ethernet, field);
}
FlowResult<> take_has_vlan(PatternState& state, const FieldValue& field) noexcept {
  return keep_flag(state.ethernet, state, field);
}
FlowResult<> take_inner_type(PatternState& state, const FieldValue& field) noexcept {
  return keep_type(asked_by_vlan(state), field);
}
FlowResult<> take_has_more_vlan(PatternState& state, const FieldValue& field) noexcept {
  return keep_flag(asked_by_vlan(state), state, field);
}

FlowResult<> take_tci(PatternState& state, const FieldValue& field) noexcept {
  const bool second = state.layer == Layer::second_vlan;
  const std::uint32_t spec = field.spec_number(), mask = field.mask_number();
  struct Part {
    const char* name;
    unsigned at[2];
    Capability can[2];
    unsigned shift, width;
  };
  static constexpr Part parts[] = {
      {"the VLAN's priority",
       {outer(fields::first_prio), misc(misc_fields::outer_second_prio)},
       {can(caps::outer_first_prio), can(caps::outer_second_prio)},
       13,
       3},
      {"the VLAN's DEI bit",
       {outer(fields::first_cfi), misc(misc_fields::outer_second_cfi)},
       {can(caps::outer_first_cfi), can(caps::outer_second_cfi)},
       12,
       1},
      {"the VLAN's ID",
       {outer(fields::first_vid), misc(misc_fields::outer_second_vid)},
       {can(caps::outer_first_vid), can(caps::outer_second_vid)},
       0,
       12},
  };
  for (const Part& part : parts) {
    const std::uint32_t ones = (1u << part.width) - 1;
    FlowResult<> done = state.add(field.item, part.name, part.at[second], part.width, part.can[second],
                                  spec >> part.shift & ones, mask >> part.shift & ones);
    if (!done) return done;
  }
  return {};
}

constexpr std::uint8_t mac_size = RTE_ETHER_ADDR_LEN;
constexpr ItemField eth_fields[] = {
    {.name = "dst",
     .offset = offsetof(rte_flow_item_eth, hdr.dst_addr),
     .size = mac_size,
     .at = outer(fields::dmac_47_16),
     .capability = can(caps::outer_dmac)},
    {.name = "src",
     .offset = offsetof(rte_flow_item_eth, hdr.src_addr),
     .size = mac_size,
     .at = outer(fields::smac_47_16),
     .capability = can(caps::outer_smac)},
    {.name = "type",
     .offset = offsetof(rte_flow_item_eth, hdr.ether_type),
     .size = 2,
     .take = take_ethernet_type},
    {.name = "has_vlan", .offset = sizeof(rte_ether_hdr), .size = 4, .take = take_has_vlan},
};

constexpr ItemField vlan_fields[] = {
    {.name = "tci", .offset = offsetof(rte_flow_item_vlan, hdr.vlan_tci), .size = 2, .take = take_tci},
    {.name = "inner_type",
     .offset = offsetof(rte_flow_item_vlan, hdr.eth_proto),
     .size = 2,
     .take = take_inner_type},
    {.name = "has_more_vlan", .offset = sizeof(rte_vlan_hdr), .size = 4, .take = take_has_more_vlan},
};

constexpr std::uint8_t eth_mask[sizeof(rte_flow_item_eth)] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                                              0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
constexpr std::uint8_t vlan_mask[sizeof(rte_flow_item_vlan)] = {0x0f, 0xff};

/// An EtherType that is not a TPID, or nothing.
struct EtherType {
  std::uint16_t value = 0, mask = 0;
};

/// What one place of the frame, where a TPID or the EtherType stands, is asked to be.
/// @param tag_follows the pattern has a vlan item for it
FlowResult<> settle(const rte_flow_item* pattern, const char* place, const AskedType& asked, bool tag_follows,
                    std::uint8_t& tags, EtherType& type) noexcept {
  if (tag_follows) tags = any_tag;
  if (asked.more_vlans) tags &= *asked.more_vlans ? any_tag : no_tag;
  const auto takes = [&](std::uint16_t tpid) { return (tpid & asked.mask) == asked.value; };
  if (asked.mask == 0xffff && takes(tpid_c)) {
    tags &= c_tag;
  } else if (asked.mask == 0xffff && takes(tpid_s)) {
    tags &= s_tag;
  } else if (asked.mask != 0) {
    if (takes(tpid_c) || takes(tpid_s))
      return flow_fail(
          RTE_FLOW_ERROR_TYPE_ITEM_MASK, pattern, ENOTSUP,
          "%s 0x%04x mask 0x%04x takes in a VLAN tag and other EtherTypes, which one rule can't; "
          "mask 0xffff can be matched",
          place, unsigned{asked.value}, unsigned{asked.mask});
    if (tag_follows)
      return flow_fail(RTE_FLOW_ERROR_TYPE_ITEM, pattern, EINVAL,
                       "%s 0x%04x before a vlan item: the tags that the card knows are 0x8100 and 0x88a8",
                       place, unsigned{asked.value});
    tags &= no_tag;
    type = {asked.value, asked.mask};
  }
  if (tags == 0)
    return flow_fail(RTE_FLOW_ERROR_TYPE_ITEM, pattern, EINVAL,
                     "%s: a VLAN tag is asked for and ruled out at once, no packet matches", place);
  return {};
}

}  // namespace

FlowResult<> finish_l2(PatternState& state, const rte_flow_item* pattern) noexcept {
  EtherType type;
  FlowResult<> done = settle(pattern, "eth type", state.ethernet, state.vlans >= 1, state.outer_tags, type);
  if (done && state.vlans >= 1)
    done = settle(pattern, "inner_type", state.vlan[0], state.vlans == 2, state.second_tags, type);
  if (done && state.vlans == 2) {
    if (state.vlan[1].more_vlans)
      return flow_fail(RTE_FLOW_ERROR_TYPE_ITEM, pattern, ENOTSUP,
                       "has_more_vlan of the second vlan item: the card looks at two tags, not at a third");
    std::uint8_t third = no_tag;
    done = settle(pattern, "inner_type of the second vlan item", state.vlan[1], false, third, type);
  }
  if (!done) return done;

  if (state.l3_type != 0) {
    if ((state.l3_type & type.mask) != type.value)
      return flow_fail(RTE_FLOW_ERROR_TYPE_ITEM, pattern, EINVAL,
                       "EtherType 0x%04x mask 0x%04x before an %s item: no packet matches",
                       unsigned{type.value}, unsigned{type.mask},
                       state.l3_type == RTE_ETHER_TYPE_IPV4 ? "ipv4" : "ipv6");
    type = {state.l3_type, 0xffff};
  }
  return state.add(*pattern, "the EtherType", outer(fields::ethertype), 16, can(caps::outer_ether_type),
                   type.value, type.mask);
}

constinit const ItemType eth_item{.type = RTE_FLOW_ITEM_TYPE_ETH,
                                  .name = "eth",
                                  .size = sizeof(rte_flow_item_eth),
                                  .default_mask = eth_mask,
                                  .fields = eth_fields,
                                  .layer = Layer::ethernet};
constinit const ItemType vlan_item{.type = RTE_FLOW_ITEM_TYPE_VLAN,
                                   .name = "vlan",
                                   .size = sizeof(rte_flow_item_vlan),
                                   .default_mask = vlan_mask,
                                   .fields = vlan_fields,
                                   .layer = Layer::vlan};

}  // namespace chime::net

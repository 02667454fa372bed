// SPDX-License-Identifier: BSD-3-Clause
#include <rte_ether.h>
#include <rte_ip.h>

#include <cstring>

#include "flow/item.h"

/// @file
/// Items ipv4 and ipv6.

namespace chime::net {

namespace {

using fields = prm::fte_match_set_lyr_2_4;
using caps = prm::flow_table_fields_supported;

/// A masked version number must be the item's own.
FlowResult<> check_version(const PatternState& state, const FieldValue& field, std::uint32_t spec,
                           std::uint32_t mask, std::uint32_t version) noexcept {
  if (spec == (version & mask)) return {};
  return flow_fail(RTE_FLOW_ERROR_TYPE_ITEM_SPEC, field.item.spec, EINVAL,
                   "item %zu (%s): version %u, no packet matches", state.index, field.type.name, spec);
}

/// No capability tells whether a device could match it.
FlowResult<> refuse_part(const PatternState& state, const FieldValue& field, const char* part) noexcept {
  return flow_fail(RTE_FLOW_ERROR_TYPE_ITEM_MASK, field.item.mask, ENOTSUP,
                   "item %zu (%s): %s can't be matched", state.index, field.type.name, part);
}

FlowResult<> take_version_ihl(PatternState& state, const FieldValue& field) noexcept {
  const std::uint32_t spec = field.spec_number(), mask = field.mask_number();
  if ((mask & 0xf) != 0) return refuse_part(state, field, "the header length");
  return check_version(state, field, spec >> 4, mask >> 4, 4);
}

FlowResult<> match_fragment(PatternState& state, const FieldValue& field, bool fragment) noexcept {
  return state.add(field.item, "fragments", outer(fields::frag), 1, can(caps::outer_frag), fragment, 1);
}

FlowResult<> take_fragment_offset(PatternState& state, const FieldValue& field) noexcept {
  constexpr std::uint32_t whole = 0x3fff;  // MF and offset
  const bool exact = field.mask_number() == whole && !field.range();
  if (exact && field.spec_number() == 0) return match_fragment(state, field, false);
  if (field.mask_number() == whole && field.spec_number() == 1 && field.last_number() == whole)
    return match_fragment(state, field, true);
  return flow_fail(RTE_FLOW_ERROR_TYPE_ITEM_SPEC, field.item.spec, ENOTSUP,
                   "item %zu (ipv4): the card tells fragments from others, not one from another: "
                   "fragment_offset mask 0x3fff spec 0 are whole packets, spec 1 last 0x3fff are fragments",
                   state.index);
}

FlowResult<> take_vtc_flow(PatternState& state, const FieldValue& field) noexcept {
  const std::uint32_t spec = field.spec_number(), mask = field.mask_number();
  if ((mask & 0xfffff) != 0) return refuse_part(state, field, "the flow label");
  FlowResult<> done = check_version(state, field, spec >> 28, mask >> 28, 6);
  if (done)
    done = state.add(field.item, "DSCP", outer(fields::ip_dscp), 6, can(caps::outer_ip_dscp),
                     spec >> 22 & 0x3f, mask >> 22 & 0x3f);
  if (done)
    done = state.add(field.item, "ECN", outer(fields::ip_ecn), 2, can(caps::outer_ip_ecn), spec >> 20 & 3,
                     mask >> 20 & 3);
  return done;
}

FlowResult<> take_tos(PatternState& state, const FieldValue& field) noexcept {
  const std::uint32_t spec = field.spec_number(), mask = field.mask_number();
  FlowResult<> done = state.add(field.item, "DSCP", outer(fields::ip_dscp), 6, can(caps::outer_ip_dscp),
                                spec >> 2, mask >> 2);
  if (done)
    done =
        state.add(field.item, "ECN", outer(fields::ip_ecn), 2, can(caps::outer_ip_ecn), spec & 3, mask & 3);
  return done;
}

FlowResult<> take_extensions(PatternState& state, const FieldValue& field) noexcept {
  struct Flags {
    std::uint32_t hop : 1, route : 1, fragment : 1, others : 29;
  } mask, spec;
  std::memcpy(&mask, field.mask.data(), sizeof mask);
  std::memcpy(&spec, field.spec.data(), sizeof spec);
  if (mask.hop || mask.route || mask.others)
    return flow_fail(RTE_FLOW_ERROR_TYPE_ITEM_MASK, field.item.mask, ENOTSUP,
                     "item %zu (ipv6): of the extension headers has_frag_ext alone can be matched",
                     state.index);
  return match_fragment(state, field, spec.fragment);
}

constexpr unsigned ipv4_source = outer(fields::src_ipv4_src_ipv6) + bit_of(prm::ipv4_layout::ipv4);
constexpr unsigned ipv4_destination = outer(fields::dst_ipv4_dst_ipv6) + bit_of(prm::ipv4_layout::ipv4);

constexpr ItemField ipv4_fields[] = {
    {.name = "version_ihl",
     .offset = offsetof(rte_ipv4_hdr, version_ihl),
     .size = 1,
     .take = take_version_ihl},
    {.name = "tos", .offset = offsetof(rte_ipv4_hdr, type_of_service), .size = 1, .take = take_tos},
    {.name = "length",
     .offset = offsetof(rte_ipv4_hdr, total_length),
     .size = 2,
     .refusal = "the card can't match lengths"},
    {.name = "packet_id",
     .offset = offsetof(rte_ipv4_hdr, packet_id),
     .size = 2,
     .refusal = "the card can't match it"},
    {.name = "fragment_offset",
     .offset = offsetof(rte_ipv4_hdr, fragment_offset),
     .size = 2,
     .take = take_fragment_offset,
     .takes_range = true},
    {.name = "ttl",
     .offset = offsetof(rte_ipv4_hdr, time_to_live),
     .size = 1,
     .at = outer(fields::ttl_hoplimit),
     .capability = can(caps::outer_ipv4_ttl)},
    {.name = "proto",
     .offset = offsetof(rte_ipv4_hdr, next_proto_id),
     .size = 1,
     .at = outer(fields::ip_protocol),
     .capability = can(caps::outer_ip_protocol)},
    {.name = "checksum",
     .offset = offsetof(rte_ipv4_hdr, hdr_checksum),
     .size = 2,
     .refusal = "the card can't match checksums"},
    {.name = "src",
     .offset = offsetof(rte_ipv4_hdr, src_addr),
     .size = 4,
     .at = ipv4_source,
     .capability = can(caps::outer_sip)},
    {.name = "dst",
     .offset = offsetof(rte_ipv4_hdr, dst_addr),
     .size = 4,
     .at = ipv4_destination,
     .capability = can(caps::outer_dip)},
};

constexpr ItemField ipv6_fields[] = {
    {.name = "vtc_flow", .offset = offsetof(rte_ipv6_hdr, vtc_flow), .size = 4, .take = take_vtc_flow},
    {.name = "payload_len",
     .offset = offsetof(rte_ipv6_hdr, payload_len),
     .size = 2,
     .refusal = "the card can't match lengths"},
    {.name = "proto",
     .offset = offsetof(rte_ipv6_hdr, proto),
     .size = 1,
     .at = outer(fields::ip_protocol),
     .capability = can(caps::outer_ip_protocol)},
    {.name = "hop",
     .offset = offsetof(rte_ipv6_hdr, hop_limits),
     .size = 1,
     .at = outer(fields::ttl_hoplimit),
     .capability = can(caps::outer_ipv4_ttl)},
    {.name = "src",
     .offset = offsetof(rte_ipv6_hdr, src_addr),
     .size = 16,
     .at = outer(fields::src_ipv4_src_ipv6),
     .capability = can(caps::outer_sip)},
    {.name = "dst",
     .offset = offsetof(rte_ipv6_hdr, dst_addr),
     .size = 16,
     .at = outer(fields::dst_ipv4_dst_ipv6),
     .capability = can(caps::outer_dip)},
    {.name = "extension headers", .offset = sizeof(rte_ipv6_hdr), .size = 4, .take = take_extensions},
};

/// Ones over a range of an item's bytes.
template <std::size_t Size>
struct ItemMask {
  std::uint8_t bytes[Size] = {};
  constexpr ItemMask(std::size_t first, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) bytes[first + i] = 0xff;
  }
};
constexpr ItemMask<sizeof(rte_flow_item_ipv4)> ipv4_mask(offsetof(rte_ipv4_hdr, src_addr), 8);
constexpr ItemMask<sizeof(rte_flow_item_ipv6)> ipv6_mask(offsetof(rte_ipv6_hdr, src_addr), 32);

}  // namespace

constinit const ItemType ipv4_item{.type = RTE_FLOW_ITEM_TYPE_IPV4,
                                   .name = "ipv4",
                                   .size = sizeof(rte_flow_item_ipv4),
                                   .default_mask = ipv4_mask.bytes,
                                   .fields = ipv4_fields,
                                   .layer = Layer::l3,
                                   .l3_type = RTE_ETHER_TYPE_IPV4};
constinit const ItemType ipv6_item{.type = RTE_FLOW_ITEM_TYPE_IPV6,
                                   .name = "ipv6",
                                   .size = sizeof(rte_flow_item_ipv6),
                                   .default_mask = ipv6_mask.bytes,
                                   .fields = ipv6_fields,
                                   .layer = Layer::l3,
                                   .l3_type = RTE_ETHER_TYPE_IPV6};

}  // namespace chime::net

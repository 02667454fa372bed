// SPDX-License-Identifier: BSD-3-Clause
#include "flow/pattern.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "items.h"

/// @file
/// Patterns against the bytes that the manual's fte_match_param has for them, written out by hand.

namespace chime::test {
namespace {

using net::Pattern;
using net::TableLimits;

/// A device that can match everything.
TableLimits all_fields() {
  TableLimits limits{};
  limits.fields.fill(std::byte{0xff});
  limits.masked_fields.fill(std::byte{0xff});
  return limits;
}

/// Bytes of a buffer that are not 0, by offset.
using Bytes = std::map<unsigned, unsigned>;

Bytes bytes_of(std::span<const std::byte> buffer) {
  Bytes bytes;
  for (unsigned i = 0; i < buffer.size(); ++i)
    if (buffer[i] != std::byte{}) bytes[i] = std::to_integer<unsigned>(buffer[i]);
  return bytes;
}

/// Bytes that follow each other.
Bytes at(unsigned offset, std::initializer_list<unsigned> values) {
  Bytes bytes;
  for (unsigned value : values) {
    if (value != 0) bytes[offset] = value;
    ++offset;
  }
  return bytes;
}
Bytes operator+(Bytes a, const Bytes& b) {
  for (auto [offset, value] : b) a[offset] |= value;
  return a;
}

// Where fte_match_param has them (bytes).
constexpr unsigned smac = 0x00, ethertype = 0x06, dmac = 0x08, first_tci = 0x0e, protocol = 0x10, tos = 0x11,
                   flags = 0x12, tcp_ports = 0x14, ttl = 0x1b, udp_ports = 0x1c, source = 0x20,
                   destination = 0x30, second_tci = 0x48, second_kind = 0x4c;
constexpr unsigned cvlan = 0x80, svlan = 0x40, fragment = 0x20;  // of byte `flags`
constexpr unsigned second_cvlan = 0x80, second_svlan = 0x20;     // of byte `second_kind`
constexpr unsigned outer = 1, misc = 2;                          // criteria
const Bytes no_tag_mask = at(flags, {cvlan | svlan});
const Bytes no_second_tag_mask = at(second_kind, {second_cvlan | second_svlan});
const Bytes ipv4_type = at(ethertype, {0x08, 0x00}), ipv6_type = at(ethertype, {0x86, 0xdd}),
            type_mask = at(ethertype, {0xff, 0xff});

void expect(std::initializer_list<rte_flow_item> items, unsigned criteria, const Bytes& mask,
            const std::vector<Bytes>& values) {
  Pattern parsed;
  const auto list = pattern(items);
  const auto done = Pattern::parse(list.data(), all_fields(), parsed);
  ASSERT_TRUE(done) << done.error().error.text;
  EXPECT_EQ(parsed.match().criteria, criteria);
  EXPECT_EQ(bytes_of(parsed.match().mask.bytes()), mask);
  ASSERT_EQ(parsed.entries(), values.size());
  for (unsigned i = 0; i < values.size(); ++i) {
    parsed.select(i);
    EXPECT_EQ(bytes_of(parsed.match().value.bytes()), values[i]) << "entry " << i;
  }
}

struct Refusal {
  rte_flow_error_type type;
  int errnum;
  std::string text;
};

Refusal refusal(std::vector<rte_flow_item> items, const TableLimits& limits = all_fields()) {
  Pattern parsed;
  const auto done = Pattern::parse(items.data(), limits, parsed);
  if (done) return {RTE_FLOW_ERROR_TYPE_NONE, 0, "was accepted"};
  return {done.error().type, done.error().error.errnum, done.error().error.text};
}

#define EXPECT_REFUSED(items, of_type, number, words)               \
  do {                                                              \
    const Refusal got = refusal(items);                             \
    EXPECT_EQ(got.type, of_type) << got.text;                       \
    EXPECT_EQ(got.errnum, number) << got.text;                      \
    EXPECT_NE(got.text.find(words), std::string::npos) << got.text; \
  } while (false)

constexpr auto eth = RTE_FLOW_ITEM_TYPE_ETH, vlan = RTE_FLOW_ITEM_TYPE_VLAN, ipv4 = RTE_FLOW_ITEM_TYPE_IPV4,
               ipv6 = RTE_FLOW_ITEM_TYPE_IPV6, tcp = RTE_FLOW_ITEM_TYPE_TCP, udp = RTE_FLOW_ITEM_TYPE_UDP;

TEST(Pattern, NothingMatchesEverything) {
  expect({}, 0, {}, {{}});
  expect({item(eth)}, 0, {}, {{}});
  expect({item(RTE_FLOW_ITEM_TYPE_VOID), item(eth), item(RTE_FLOW_ITEM_TYPE_VOID)}, 0, {}, {{}});
}

TEST(Pattern, EthernetAddresses) {
  rte_flow_item_eth spec{}, mask{};
  spec.hdr.dst_addr = mac({0x02, 0x11, 0x22, 0x33, 0x44, 0x55});
  spec.hdr.src_addr = mac({0x06, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5});
  spec.hdr.ether_type = be16(0x1234);  // not under the default mask
  expect({item(eth, &spec)}, outer,
         at(smac, {255, 255, 255, 255, 255, 255}) + at(dmac, {255, 255, 255, 255, 255, 255}),
         {at(smac, {0x06, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5}) + at(dmac, {0x02, 0x11, 0x22, 0x33, 0x44, 0x55})});
  mask.hdr.dst_addr = mac({0x01, 0, 0, 0, 0, 0});
  spec.hdr.dst_addr = mac({0x03, 0, 0, 0, 0, 9});
  expect({item(eth, &spec, &mask)}, outer, at(dmac, {1}), {at(dmac, {1})});
}

TEST(Pattern, EtherTypeIsThatOfUntaggedPackets) {
  rte_flow_item_eth spec{}, mask{};
  spec.hdr.ether_type = be16(0x0806);
  mask.hdr.ether_type = be16(0xffff);
  expect({item(eth, &spec, &mask)}, outer, type_mask + no_tag_mask, {at(ethertype, {0x08, 0x06})});
  mask.hdr.ether_type = be16(0xfff0);
  expect({item(eth, &spec, &mask)}, outer, at(ethertype, {0xff, 0xf0}) + no_tag_mask, {at(ethertype, {8})});
}

TEST(Pattern, TpidIsATag) {
  rte_flow_item_eth spec{}, mask{};
  mask.hdr.ether_type = be16(0xffff);
  spec.hdr.ether_type = be16(0x8100);
  expect({item(eth, &spec, &mask)}, outer, no_tag_mask, {at(flags, {cvlan})});
  spec.hdr.ether_type = be16(0x88a8);
  expect({item(eth, &spec, &mask)}, outer, no_tag_mask, {at(flags, {svlan})});
  expect({item(eth, &spec, &mask), item(vlan)}, outer, no_tag_mask, {at(flags, {svlan})});
}

TEST(Pattern, HasVlanIsEitherTagOrNone) {
  rte_flow_item_eth spec{}, mask{};
  mask.has_vlan = 1;
  expect({item(eth, &spec, &mask)}, outer, no_tag_mask, {{}});
  spec.has_vlan = 1;
  expect({item(eth, &spec, &mask)}, outer, no_tag_mask, {at(flags, {cvlan}), at(flags, {svlan})});
}

TEST(Pattern, VlanMatchesIdByDefault) {
  rte_flow_item_vlan spec{}, mask{};
  spec.hdr.vlan_tci = be16(0xb123);
  expect(
      {item(eth), item(vlan, &spec)}, outer, at(first_tci, {0x0f, 0xff}) + no_tag_mask,
      {at(first_tci, {0x01, 0x23}) + at(flags, {cvlan}), at(first_tci, {0x01, 0x23}) + at(flags, {svlan})});
  mask.hdr.vlan_tci = be16(0xf000);
  expect({item(vlan, &spec, &mask)}, outer, at(first_tci, {0xf0}) + no_tag_mask,
         {at(first_tci, {0xb0}) + at(flags, {cvlan}), at(first_tci, {0xb0}) + at(flags, {svlan})});
}

TEST(Pattern, InnerTypeOfASingleTag) {
  rte_flow_item_eth eth_spec{}, eth_mask{};
  eth_spec.hdr.ether_type = be16(0x8100);
  eth_mask.hdr.ether_type = be16(0xffff);
  rte_flow_item_vlan spec{}, mask{};
  spec.hdr.eth_proto = be16(0x0806);
  mask.hdr.eth_proto = be16(0xffff);
  expect({item(eth, &eth_spec, &eth_mask), item(vlan, &spec, &mask)}, outer | misc,
         type_mask + no_tag_mask + no_second_tag_mask, {at(ethertype, {0x08, 0x06}) + at(flags, {cvlan})});
}

TEST(Pattern, TwoTags) {
  rte_flow_item_eth eth_spec{}, eth_mask{};
  eth_spec.hdr.ether_type = be16(0x88a8);
  eth_mask.hdr.ether_type = be16(0xffff);
  rte_flow_item_vlan first{}, first_mask{}, second{}, second_mask{};
  first.hdr.vlan_tci = be16(5);
  first.hdr.eth_proto = be16(0x8100);
  first_mask.hdr.vlan_tci = be16(0x0fff);
  first_mask.hdr.eth_proto = be16(0xffff);
  second.hdr.vlan_tci = be16(0x6007);
  second_mask.hdr.vlan_tci = be16(0xffff);
  expect({item(eth, &eth_spec, &eth_mask), item(vlan, &first, &first_mask), item(vlan, &second, &second_mask),
          item(ipv4)},
         outer | misc,
         type_mask + at(first_tci, {0x0f, 0xff}) + no_tag_mask + at(second_tci, {0xff, 0xff}) +
             no_second_tag_mask,
         {ipv4_type + at(first_tci, {0, 5}) + at(flags, {svlan}) + at(second_tci, {0x60, 7}) +
          at(second_kind, {second_cvlan})});
  // No TPID: each of the four combinations.
  expect({item(vlan), item(vlan)}, outer | misc, no_tag_mask + no_second_tag_mask,
         {at(flags, {cvlan}) + at(second_kind, {second_cvlan}),
          at(flags, {svlan}) + at(second_kind, {second_cvlan}),
          at(flags, {cvlan}) + at(second_kind, {second_svlan}),
          at(flags, {svlan}) + at(second_kind, {second_svlan})});
}

TEST(Pattern, HasMoreVlan) {
  rte_flow_item_vlan spec{}, mask{};
  mask.has_more_vlan = 1;
  expect({item(vlan, &spec, &mask)}, outer | misc, no_tag_mask + no_second_tag_mask,
         {at(flags, {cvlan}), at(flags, {svlan})});
}

TEST(Pattern, Ipv4) {
  rte_flow_item_ipv4 spec{}, mask{};
  spec.hdr.src_addr = be32(0x0a000001);
  spec.hdr.dst_addr = be32(0xc0a80102);
  expect({item(eth), item(ipv4, &spec)}, outer,
         type_mask + at(source + 12, {255, 255, 255, 255}) + at(destination + 12, {255, 255, 255, 255}),
         {ipv4_type + at(source + 12, {10, 0, 0, 1}) + at(destination + 12, {192, 168, 1, 2})});
  mask.hdr.src_addr = be32(0xffffff00);
  mask.hdr.time_to_live = 0xff;
  mask.hdr.next_proto_id = 0xff;
  mask.hdr.type_of_service = 0xff;
  mask.hdr.version_ihl = 0xf0;
  spec.hdr.time_to_live = 64;
  spec.hdr.next_proto_id = 132;
  spec.hdr.type_of_service = 0xb9;
  spec.hdr.version_ihl = 0x45;
  expect({item(ipv4, &spec, &mask)}, outer,
         type_mask + at(source + 12, {255, 255, 255}) + at(ttl, {255}) + at(protocol, {255}) + at(tos, {255}),
         {ipv4_type + at(source + 12, {10, 0, 0}) + at(ttl, {64}) + at(protocol, {132}) + at(tos, {0xb9})});
  mask = {};
  mask.hdr.type_of_service = 0xfc;
  expect({item(ipv4, &spec, &mask)}, outer, type_mask + at(tos, {0xfc}), {ipv4_type + at(tos, {0xb8})});
}

TEST(Pattern, Fragments) {
  rte_flow_item_ipv4 spec{}, mask{}, last{};
  mask.hdr.fragment_offset = be16(0x3fff);
  expect({item(ipv4, &spec, &mask)}, outer, type_mask + at(flags, {fragment}), {ipv4_type});
  spec.hdr.fragment_offset = be16(1);
  last.hdr.fragment_offset = be16(0x3fff);
  expect({item(ipv4, &spec, &mask, &last)}, outer, type_mask + at(flags, {fragment}),
         {ipv4_type + at(flags, {fragment})});
  rte_flow_item_ipv6 spec6{}, mask6{};
  spec6.has_frag_ext = mask6.has_frag_ext = 1;
  expect({item(ipv6, &spec6, &mask6)}, outer, type_mask + at(flags, {fragment}),
         {ipv6_type + at(flags, {fragment})});
}

TEST(Pattern, Ipv6) {
  rte_flow_item_ipv6 spec{}, mask{};
  for (unsigned i = 0; i < 16; ++i) {
    spec.hdr.src_addr[i] = static_cast<std::uint8_t>(0x20 + i);
    spec.hdr.dst_addr[i] = static_cast<std::uint8_t>(0x40 + i);
  }
  Bytes ones, addresses;
  for (unsigned i = 0; i < 16; ++i) {
    ones[source + i] = ones[destination + i] = 0xff;
    addresses[source + i] = 0x20 + i;
    addresses[destination + i] = 0x40 + i;
  }
  expect({item(eth), item(ipv6, &spec)}, outer, type_mask + ones, {ipv6_type + addresses});
  mask.hdr.vtc_flow = be32(0xfff00000);
  spec.hdr.vtc_flow = be32(0x6b912345);
  mask.hdr.hop_limits = 0xff;
  spec.hdr.hop_limits = 1;
  mask.hdr.proto = 0xff;
  spec.hdr.proto = 58;
  expect({item(ipv6, &spec, &mask)}, outer,
         type_mask + at(tos, {0xff}) + at(ttl, {255}) + at(protocol, {255}),
         {ipv6_type + at(tos, {0xb9}) + at(ttl, {1}) + at(protocol, {58})});
}

TEST(Pattern, Ports) {
  rte_flow_item_udp udp_spec{}, udp_mask{};
  udp_spec.hdr.src_port = be16(0x1234);
  udp_spec.hdr.dst_port = be16(53);
  expect({item(ipv4), item(udp, &udp_spec)}, outer,
         type_mask + at(protocol, {255}) + at(udp_ports, {255, 255, 255, 255}),
         {ipv4_type + at(protocol, {17}) + at(udp_ports, {0x12, 0x34, 0, 53})});
  udp_mask.hdr.dst_port = be16(0xff00);
  expect({item(udp, &udp_spec, &udp_mask)}, outer, at(protocol, {255}) + at(udp_ports + 2, {255}),
         {at(protocol, {17})});

  rte_flow_item_tcp tcp_spec{}, tcp_mask{};
  tcp_spec.hdr.src_port = be16(80);
  tcp_spec.hdr.dst_port = be16(0xabcd);
  expect({item(ipv6), item(tcp, &tcp_spec)}, outer,
         type_mask + at(protocol, {255}) + at(tcp_ports, {255, 255, 255, 255}),
         {ipv6_type + at(protocol, {6}) + at(tcp_ports, {0, 80, 0xab, 0xcd})});
  tcp_spec.hdr.tcp_flags = 0x12;
  tcp_mask.hdr.tcp_flags = 0x16;
  expect({item(tcp, &tcp_spec, &tcp_mask)}, outer, at(protocol, {255}) + at(flags + 1, {0x16}),
         {at(protocol, {6}) + at(flags + 1, {0x12})});
}

TEST(Pattern, LastThatIsNoRangeIsFine) {
  rte_flow_item_udp spec{}, mask{}, last{};
  spec.hdr.dst_port = be16(53);
  mask.hdr.dst_port = be16(0xffff);
  expect({item(udp, &spec, &mask, &last)}, outer, at(protocol, {255}) + at(udp_ports + 2, {255, 255}),
         {at(protocol, {17}) + at(udp_ports + 2, {0, 53})});
  last = spec;
  last.hdr.src_port = be16(99);  // not under the mask
  expect({item(udp, &spec, &mask, &last)}, outer, at(protocol, {255}) + at(udp_ports + 2, {255, 255}),
         {at(protocol, {17}) + at(udp_ports + 2, {0, 53})});
}

TEST(PatternRefused, Ranges) {
  rte_flow_item_udp spec{}, mask{}, last{};
  spec.hdr.dst_port = be16(53);
  last.hdr.dst_port = be16(60);
  mask.hdr.dst_port = be16(0xffff);
  EXPECT_REFUSED(pattern({item(ipv4), item(udp, &spec, &mask, &last)}), RTE_FLOW_ERROR_TYPE_ITEM_LAST,
                 ENOTSUP, "item 1 (udp): a range of dst");
}

TEST(PatternRefused, MaskWithoutSpec) {
  rte_flow_item_ipv4 mask{};
  EXPECT_REFUSED(pattern({item<rte_flow_item_ipv4>(ipv4, nullptr, &mask)}), RTE_FLOW_ERROR_TYPE_ITEM, EINVAL,
                 "has a mask and no spec");
  EXPECT_REFUSED(pattern({item<rte_flow_item_ipv4>(ipv4, nullptr, nullptr, &mask)}), RTE_FLOW_ERROR_TYPE_ITEM,
                 EINVAL, "has a last and no spec");
}

TEST(PatternRefused, UnknownItems) {
  EXPECT_REFUSED(pattern({item(eth), item(RTE_FLOW_ITEM_TYPE_VXLAN)}), RTE_FLOW_ERROR_TYPE_ITEM, ENOTSUP,
                 "item 1 (VXLAN) can't be matched; what can: eth");
  EXPECT_REFUSED(pattern({item(RTE_FLOW_ITEM_TYPE_METER_COLOR)}), RTE_FLOW_ERROR_TYPE_ITEM, ENOTSUP,
                 "item 0 (METER_COLOR)");
}

TEST(PatternRefused, Order) {
  EXPECT_REFUSED(pattern({item(ipv4), item(eth)}), RTE_FLOW_ERROR_TYPE_ITEM, ENOTSUP,
                 "item 1 (eth) comes after");
  EXPECT_REFUSED(pattern({item(ipv4), item(ipv6)}), RTE_FLOW_ERROR_TYPE_ITEM, ENOTSUP, "item 1 (ipv6)");
  EXPECT_REFUSED(pattern({item(udp), item(tcp)}), RTE_FLOW_ERROR_TYPE_ITEM, ENOTSUP, "item 1 (tcp)");
  EXPECT_REFUSED(pattern({item(vlan), item(vlan), item(vlan)}), RTE_FLOW_ERROR_TYPE_ITEM, ENOTSUP,
                 "a third tag");
}

TEST(PatternRefused, FieldsThatTheCardDoesNotHave) {
  rte_flow_item_ipv4 spec{}, mask{};
  mask.hdr.total_length = 1;
  EXPECT_REFUSED(pattern({item(ipv4, &spec, &mask)}), RTE_FLOW_ERROR_TYPE_ITEM_MASK, ENOTSUP,
                 "(ipv4): length");
  mask = {};
  mask.hdr.packet_id = 1;
  EXPECT_REFUSED(pattern({item(ipv4, &spec, &mask)}), RTE_FLOW_ERROR_TYPE_ITEM_MASK, ENOTSUP, "packet_id");
  mask = {};
  mask.hdr.hdr_checksum = 1;
  EXPECT_REFUSED(pattern({item(ipv4, &spec, &mask)}), RTE_FLOW_ERROR_TYPE_ITEM_MASK, ENOTSUP, "checksum");
  mask = {};
  mask.hdr.version_ihl = 0x0f;
  EXPECT_REFUSED(pattern({item(ipv4, &spec, &mask)}), RTE_FLOW_ERROR_TYPE_ITEM_MASK, ENOTSUP,
                 "header length");
  rte_flow_item_ipv6 spec6{}, mask6{};
  mask6.hdr.payload_len = 1;
  EXPECT_REFUSED(pattern({item(ipv6, &spec6, &mask6)}), RTE_FLOW_ERROR_TYPE_ITEM_MASK, ENOTSUP,
                 "payload_len");
  mask6 = {};
  mask6.hdr.vtc_flow = be32(0xfffff);
  EXPECT_REFUSED(pattern({item(ipv6, &spec6, &mask6)}), RTE_FLOW_ERROR_TYPE_ITEM_MASK, ENOTSUP, "flow label");
  mask6 = {};
  mask6.has_hop_ext = 1;
  EXPECT_REFUSED(pattern({item(ipv6, &spec6, &mask6)}), RTE_FLOW_ERROR_TYPE_ITEM_MASK, ENOTSUP,
                 "has_frag_ext");
  rte_flow_item_tcp tcp_spec{}, tcp_mask{};
  tcp_mask.hdr.sent_seq = 1;
  EXPECT_REFUSED(pattern({item(tcp, &tcp_spec, &tcp_mask)}), RTE_FLOW_ERROR_TYPE_ITEM_MASK, ENOTSUP,
                 "sequence");
  rte_flow_item_udp udp_spec{}, udp_mask{};
  udp_mask.hdr.dgram_cksum = 1;
  EXPECT_REFUSED(pattern({item(udp, &udp_spec, &udp_mask)}), RTE_FLOW_ERROR_TYPE_ITEM_MASK, ENOTSUP,
                 "checksum");
  rte_flow_item_eth eth_spec{}, eth_mask{};
  eth_mask.reserved = 1;
  EXPECT_REFUSED(pattern({item(eth, &eth_spec, &eth_mask)}), RTE_FLOW_ERROR_TYPE_ITEM_MASK, EINVAL,
                 "reserved");
}

TEST(PatternRefused, FragmentOffsetsThatNoRuleCanTell) {
  rte_flow_item_ipv4 spec{}, mask{};
  mask.hdr.fragment_offset = be16(0x3fff);
  spec.hdr.fragment_offset = be16(8);
  EXPECT_REFUSED(pattern({item(ipv4, &spec, &mask)}), RTE_FLOW_ERROR_TYPE_ITEM_SPEC, ENOTSUP,
                 "tells fragments");
  mask.hdr.fragment_offset = be16(0x4000);
  EXPECT_REFUSED(pattern({item(ipv4, &spec, &mask)}), RTE_FLOW_ERROR_TYPE_ITEM_SPEC, ENOTSUP,
                 "tells fragments");
}

TEST(PatternRefused, WhatNoPacketMatches) {
  rte_flow_item_eth eth_spec{}, eth_mask{};
  eth_mask.hdr.ether_type = be16(0xffff);
  eth_spec.hdr.ether_type = be16(0x0800);
  EXPECT_REFUSED(pattern({item(eth, &eth_spec, &eth_mask), item(vlan)}), RTE_FLOW_ERROR_TYPE_ITEM, EINVAL,
                 "eth type 0x0800 before a vlan item");
  EXPECT_REFUSED(pattern({item(eth, &eth_spec, &eth_mask), item(ipv6)}), RTE_FLOW_ERROR_TYPE_ITEM, EINVAL,
                 "before an ipv6 item");
  eth_mask = {};
  eth_mask.has_vlan = 1;
  EXPECT_REFUSED(pattern({item(eth, &eth_spec, &eth_mask), item(vlan)}), RTE_FLOW_ERROR_TYPE_ITEM, EINVAL,
                 "asked for and ruled out");
  rte_flow_item_ipv4 spec{}, mask{};
  mask.hdr.version_ihl = 0xf0;
  spec.hdr.version_ihl = 0x60;
  EXPECT_REFUSED(pattern({item(ipv4, &spec, &mask)}), RTE_FLOW_ERROR_TYPE_ITEM_SPEC, EINVAL, "version 6");
}

TEST(PatternRefused, TypeMaskThatTakesInTags) {
  rte_flow_item_eth spec{}, mask{};
  mask.hdr.ether_type = be16(0xf000);
  spec.hdr.ether_type = be16(0x8000);
  EXPECT_REFUSED(pattern({item(eth, &spec, &mask)}), RTE_FLOW_ERROR_TYPE_ITEM_MASK, ENOTSUP,
                 "takes in a VLAN tag");
}

TEST(PatternRefused, WhatTheDeviceCannotMatch) {
  TableLimits limits = all_fields();
  rte_flow_item_ipv4 spec{}, mask{};
  mask.hdr.time_to_live = 0xff;
  // outer_ipv4_ttl is bit 24 of the first word: the lowest of its first byte.
  limits.fields[0] = std::byte{0xfe};
  Refusal got = refusal(pattern({item(ipv4, &spec, &mask)}), limits);
  EXPECT_EQ(got.errnum, ENOTSUP);
  EXPECT_NE(got.text.find("this device can't match ttl"), std::string::npos) << got.text;
  limits = all_fields();
  limits.masked_fields[0] = std::byte{0xfe};
  EXPECT_EQ(refusal(pattern({item(ipv4, &spec, &mask)}), limits).errnum, 0);
  mask.hdr.time_to_live = 0xf0;
  got = refusal(pattern({item(ipv4, &spec, &mask)}), limits);
  EXPECT_EQ(got.type, RTE_FLOW_ERROR_TYPE_ITEM_MASK);
  EXPECT_NE(got.text.find("all bits of ttl or none"), std::string::npos) << got.text;
}

}  // namespace
}  // namespace chime::test

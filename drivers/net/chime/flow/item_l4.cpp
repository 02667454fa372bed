// SPDX-License-Identifier: BSD-3-Clause
#include <netinet/in.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "flow/item.h"

/// @file
/// Items tcp and udp.

namespace chime::net {

namespace {

using fields = prm::fte_match_set_lyr_2_4;
using caps = prm::flow_table_fields_supported;

FlowResult<> take_tcp_flags(PatternState& state, const FieldValue& field) noexcept {
  // The card has NS as a ninth flag above these.
  return state.add(field.item, "TCP flags", outer(fields::tcp_flags) + 1, 8, can(caps::outer_tcp_flags),
                   field.spec_number(), field.mask_number());
}

constexpr ItemField tcp_fields[] = {
    {.name = "src",
     .offset = offsetof(rte_tcp_hdr, src_port),
     .size = 2,
     .at = outer(fields::tcp_sport),
     .capability = can(caps::outer_tcp_sport)},
    {.name = "dst",
     .offset = offsetof(rte_tcp_hdr, dst_port),
     .size = 2,
     .at = outer(fields::tcp_dport),
     .capability = can(caps::outer_tcp_dport)},
    {.name = "sequence and acknowledgement numbers",
     .offset = offsetof(rte_tcp_hdr, sent_seq),
     .size = 8,
     .refusal = "ports and flags can be matched"},
    {.name = "data offset",
     .offset = offsetof(rte_tcp_hdr, data_off),
     .size = 1,
     .refusal = "ports and flags can be matched"},
    {.name = "flags", .offset = offsetof(rte_tcp_hdr, tcp_flags), .size = 1, .take = take_tcp_flags},
    {.name = "window, checksum and urgent pointer",
     .offset = offsetof(rte_tcp_hdr, rx_win),
     .size = 6,
     .refusal = "ports and flags can be matched"},
};

constexpr ItemField udp_fields[] = {
    {.name = "src",
     .offset = offsetof(rte_udp_hdr, src_port),
     .size = 2,
     .at = outer(fields::udp_sport),
     .capability = can(caps::outer_udp_sport)},
    {.name = "dst",
     .offset = offsetof(rte_udp_hdr, dst_port),
     .size = 2,
     .at = outer(fields::udp_dport),
     .capability = can(caps::outer_udp_dport)},
    {.name = "length and checksum",
     .offset = offsetof(rte_udp_hdr, dgram_len),
     .size = 4,
     .refusal = "ports can be matched"},
};

constexpr std::uint8_t ports_mask[sizeof(rte_flow_item_tcp)] = {0xff, 0xff, 0xff, 0xff};

}  // namespace

constinit const ItemType tcp_item{.type = RTE_FLOW_ITEM_TYPE_TCP,
                                  .name = "tcp",
                                  .size = sizeof(rte_flow_item_tcp),
                                  .default_mask = ports_mask,
                                  .fields = tcp_fields,
                                  .layer = Layer::l4,
                                  .protocol = IPPROTO_TCP};
constinit const ItemType udp_item{.type = RTE_FLOW_ITEM_TYPE_UDP,
                                  .name = "udp",
                                  .size = sizeof(rte_flow_item_udp),
                                  .default_mask = ports_mask,
                                  .fields = udp_fields,
                                  .layer = Layer::l4,
                                  .protocol = IPPROTO_UDP};

}  // namespace chime::net

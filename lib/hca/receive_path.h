// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/array.h"
#include "base/error.h"
#include "hca/command.h"
#include "hca/device.h"

/// @file
/// What stands between the port and the receive queues: protection and transport domains, RSS, flow tables,
/// counters. RAII objects over typed commands. Control path.

namespace chime::hca {

Result<Object> alloc_pd(Device& device) noexcept;
Result<Object> alloc_transport_domain(Device& device) noexcept;
Result<Object> create_tis(Device& device, std::uint32_t transport_domain) noexcept;
Result<Object> alloc_q_counter(Device& device) noexcept;
/// Packets that found no receive WQE, over all queues of the counter set.
Result<std::uint32_t> query_out_of_buffer(const Object& q_counter) noexcept;

/// RQT: a power of two of receive queue numbers.
Result<Object> create_rqt(Device& device, std::span<const std::uint32_t> rqns) noexcept;
Result<> modify_rqt(Object& rqt, std::span<const std::uint32_t> rqns) noexcept;

/// TIR that leads straight to one queue.
Result<Object> create_direct_tir(Device& device, std::uint32_t transport_domain, std::uint32_t rqn) noexcept;

/// TIR that spreads over an RQT.
struct RssConfig {
  std::uint32_t rqt;
  std::array<std::uint8_t, 40> key;  ///< Toeplitz key
  bool symmetric;
  bool ipv6;  ///< L3 type; IPv4 otherwise
  enum class L4 : std::uint8_t { none, tcp, udp } l4;
  std::uint32_t selected_fields;  ///< rx_hash_field_select: src ip 1, dst ip 2, l4 sport 4, l4 dport 8
};
Result<Object> create_rss_tir(Device& device, std::uint32_t transport_domain,
                              const RssConfig& config) noexcept;

/// NIC receive flow table. A miss goes to `miss_table` when given, and else is dropped.
struct TableConfig {
  std::uint8_t level;     ///< 64 or more for tables of one's own; a table may only lead to a higher level
  std::uint8_t log_size;  ///< entries; storage is sparse
  std::optional<std::uint32_t> miss_table;
};
Result<Object> create_flow_table(Device& device, const TableConfig& config) noexcept;

/// @param criteria_enable match_criteria_enable; @param mask fte_match_param (may be empty)
Result<Object> create_flow_group(Device& device, std::uint32_t table, std::uint32_t first, std::uint32_t last,
                                 std::uint8_t criteria_enable, std::span<const std::byte> mask) noexcept;

struct EntryDestination {
  enum class Kind : std::uint8_t { tir, table, counter } kind;
  std::uint32_t number;
};
struct EntryConfig {
  std::uint32_t table, group, index;
  std::span<const std::byte> value;  ///< fte_match_param (may be empty)
  enum class Action : std::uint8_t { drop, forward } action;
  std::span<const EntryDestination> destinations;
  std::span<const std::uint32_t> counters;
  std::uint32_t flow_tag;  ///< 24 bits; in the CQE
};
Result<Object> create_flow_entry(Device& device, const EntryConfig& config) noexcept;

Result<Object> alloc_flow_counter(Device& device) noexcept;
struct FlowStatistics {
  std::uint64_t packets, bytes;
};
Result<FlowStatistics> query_flow_counter(const Object& counter, bool clear) noexcept;

}  // namespace chime::hca

// SPDX-License-Identifier: BSD-3-Clause
#include "hca/receive_path.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace chime::hca {
namespace {

/// A command whose length is known at run time only.
template <class S>
struct LongInput {
  Array<std::byte> bytes;

  static Result<LongInput> make(std::size_t tail) noexcept {
    auto bytes = Array<std::byte>::make(S::size + tail, "a command");
    if (!bytes) return fail(bytes.error());
    LongInput input{std::move(*bytes)};
    input.view().set(S::opcode, S::opcode_value);
    return input;
  }
  prm::View<S> view() noexcept { return prm::View<S>(bytes.span()); }
};

template <class C>
Result<Object> create(Device& device) noexcept {
  return Command<C>().create(device);
}

Result<> check_rqns(std::span<const std::uint32_t> rqns) noexcept {
  if (!rqns.empty() && std::has_single_bit(rqns.size())) return {};
  return fail(EINVAL, "%zu entries in a receive queue table; a power of two is needed", rqns.size());
}

void set_rqns(prm::View<prm::rqtc> context, std::span<const std::uint32_t> rqns) noexcept {
  context.set(prm::rqtc::rqt_actual_size, static_cast<std::uint32_t>(rqns.size()));
  for (std::size_t i = 0; i < rqns.size(); ++i) {
    context.at(prm::rqtc::rq_num, i).set(prm::rq_num::rq_num_, rqns[i]);
  }
}

/// Match parameters are as long as software knows them; the rest matches everything.
Result<> set_match(prm::View<prm::fte_match_param> to, std::span<const std::byte> from) noexcept {
  if (from.size() > to.bytes().size()) {
    return fail(EINVAL, "match parameters of %zu bytes; the card has %zu", from.size(), to.bytes().size());
  }
  std::copy(from.begin(), from.end(), to.bytes().begin());
  return {};
}

prm::flow_destination_type destination_type(EntryDestination::Kind kind) noexcept {
  return kind == EntryDestination::Kind::tir ? prm::flow_destination_type::tir
                                             : prm::flow_destination_type::flow_table;
}

}  // namespace

Result<Object> alloc_pd(Device& device) noexcept {
  return create<prm::alloc_pd>(device);
}

Result<Object> alloc_transport_domain(Device& device) noexcept {
  return create<prm::alloc_transport_domain>(device);
}

Result<Object> alloc_q_counter(Device& device) noexcept {
  return create<prm::alloc_q_counter>(device);
}

Result<Object> alloc_flow_counter(Device& device) noexcept {
  return create<prm::alloc_flow_counter>(device);
}

Result<Object> create_tis(Device& device, std::uint32_t transport_domain) noexcept {
  Command<prm::create_tis> command;
  command.in.at(prm::create_tis_in::ctx).set(prm::tisc::transport_domain, transport_domain);
  return command.create(device);
}

Result<std::uint32_t> query_out_of_buffer(const Object& q_counter) noexcept {
  Command<prm::query_q_counter> query;
  query.in.set(prm::query_q_counter_in::counter_set_id, q_counter.number());
  if (auto done = query.query(q_counter); !done) return fail(done.error());
  return query.out.get(prm::query_q_counter_out::out_of_buffer);
}

Result<Object> create_rqt(Device& device, std::span<const std::uint32_t> rqns) noexcept {
  if (auto checked = check_rqns(rqns); !checked) return fail(checked.error());
  auto in = LongInput<prm::create_rqt_in>::make(rqns.size() * prm::rq_num::size);
  if (!in) return fail(in.error());
  auto context = in->view().at(prm::create_rqt_in::rqt_context);
  context.set(prm::rqtc::rqt_max_size, static_cast<std::uint32_t>(rqns.size()));
  set_rqns(context, rqns);
  prm::Box<prm::create_rqt_out> out;
  return device.create(in->bytes.span(), out.bytes());
}

Result<> modify_rqt(Object& rqt, std::span<const std::uint32_t> rqns) noexcept {
  if (auto checked = check_rqns(rqns); !checked) return checked;
  auto in = LongInput<prm::modify_rqt_in>::make(rqns.size() * prm::rq_num::size);
  if (!in) return fail(in.error());
  in->view().set(prm::modify_rqt_in::rqtn, rqt.number());
  in->view().at(prm::modify_rqt_in::bitmask).set(prm::rqt_bitmask::rqn_list, 1);
  set_rqns(in->view().at(prm::modify_rqt_in::ctx), rqns);
  prm::Box<prm::modify_rqt_out> out;
  return rqt.modify(in->bytes.span(), out.bytes());
}

Result<Object> create_direct_tir(Device& device, std::uint32_t transport_domain, std::uint32_t rqn) noexcept {
  Command<prm::create_tir> command;
  command.in.at(prm::create_tir_in::ctx)
      .set(prm::tirc::disp_type, prm::tirc_disp_type::direct)
      .set(prm::tirc::inline_rqn, rqn)
      .set(prm::tirc::transport_domain, transport_domain);
  return command.create(device);
}

Result<Object> create_rss_tir(Device& device, std::uint32_t transport_domain,
                              const RssConfig& config) noexcept {
  Command<prm::create_tir> command;
  auto context = command.in.at(prm::create_tir_in::ctx);
  context.set(prm::tirc::disp_type, prm::tirc_disp_type::indirect)
      .set(prm::tirc::indirect_table, config.rqt)
      .set(prm::tirc::transport_domain, transport_domain)
      .set(prm::tirc::rx_hash_fn, prm::rx_hash_fn::toeplitz)
      .set(prm::tirc::rx_hash_symmetric, config.symmetric);
  for (std::size_t word = 0; word < config.key.size() / 4; ++word) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = value << 8 | config.key[word * 4 + i];
    context.set(prm::tirc::rx_hash_toeplitz_key, word, value);
  }
  const bool udp = config.l4 == RssConfig::L4::udp;
  std::uint32_t fields = config.selected_fields;
  if (config.l4 == RssConfig::L4::none) {
    fields &= ~(prm::rx_hash_fields::l4_sport | prm::rx_hash_fields::l4_dport);
  }
  context.at(prm::tirc::rx_hash_field_selector_outer)
      .set(prm::rx_hash_field_select::l3_prot_type,
           config.ipv6 ? prm::rx_hash_l3_type::ipv6 : prm::rx_hash_l3_type::ipv4)
      .set(prm::rx_hash_field_select::l4_prot_type,
           udp ? prm::rx_hash_l4_type::udp : prm::rx_hash_l4_type::tcp)
      .set(prm::rx_hash_field_select::selected_fields, fields);
  return command.create(device);
}

Result<Object> create_flow_table(Device& device, const TableConfig& config) noexcept {
  Command<prm::create_flow_table> command;
  command.in.set(prm::create_flow_table_in::table_type, prm::flow_table_type::nic_rx);
  auto context = command.in.at(prm::create_flow_table_in::flow_table_context);
  context.set(prm::flow_table_context::level, config.level)
      .set(prm::flow_table_context::log_size, config.log_size);
  if (config.miss_table) {
    context.set(prm::flow_table_context::table_miss_action, prm::flow_table_miss_action::fwd)
        .set(prm::flow_table_context::table_miss_id, *config.miss_table);
  }
  return command.create(device);
}

Result<Object> create_flow_group(Device& device, std::uint32_t table, std::uint32_t first, std::uint32_t last,
                                 std::uint8_t criteria_enable, std::span<const std::byte> mask) noexcept {
  Command<prm::create_flow_group> command;
  command.in.set(prm::create_flow_group_in::table_type, prm::flow_table_type::nic_rx)
      .set(prm::create_flow_group_in::table_id, table)
      .set(prm::create_flow_group_in::start_flow_index, first)
      .set(prm::create_flow_group_in::end_flow_index, last)
      .set(prm::create_flow_group_in::match_criteria_enable, criteria_enable);
  if (auto set = set_match(command.in.at(prm::create_flow_group_in::match_criteria), mask); !set) {
    return fail(set.error());
  }
  return command.create(device);
}

Result<Object> create_flow_entry(Device& device, const EntryConfig& config) noexcept {
  using Context = prm::flow_context;
  const std::size_t lists = config.destinations.size() + config.counters.size();
  auto in = LongInput<prm::set_fte_in>::make(lists * prm::dest_format_struct::size);
  if (!in) return fail(in.error());
  in->view()
      .set(prm::set_fte_in::table_type, prm::flow_table_type::nic_rx)
      .set(prm::set_fte_in::table_id, config.table)
      .set(prm::set_fte_in::flow_index, config.index);
  auto context = in->view().at(prm::set_fte_in::flow_context);
  if (auto set = set_match(context.at(Context::match_value), config.value); !set) return fail(set.error());

  // Counters follow the destinations, whichever of the two lists names them.
  std::size_t destinations = 0;
  for (const EntryDestination& destination : config.destinations) {
    if (destination.kind == EntryDestination::Kind::counter) continue;
    context.at(Context::destination, destinations++)
        .set(prm::dest_format_struct::destination_type, destination_type(destination.kind))
        .set(prm::dest_format_struct::destination_id, destination.number);
  }
  std::size_t end = destinations;
  for (const EntryDestination& destination : config.destinations) {
    if (destination.kind != EntryDestination::Kind::counter) continue;
    context.at(Context::flow_counter, end++).set(prm::flow_counter_list::flow_counter_id, destination.number);
  }
  for (const std::uint32_t counter : config.counters) {
    context.at(Context::flow_counter, end++).set(prm::flow_counter_list::flow_counter_id, counter);
  }
  const auto counters = static_cast<std::uint32_t>(end - destinations);

  std::uint32_t action = prm::flow_action::drop;
  if (config.action == EntryConfig::Action::forward) {
    if (destinations == 0) return fail(EINVAL, "a flow entry that forwards has no destination");
    action = prm::flow_action::fwd_dest;
  } else if (destinations != 0) {
    return fail(EINVAL, "a flow entry that drops has %zu destinations", destinations);
  }
  if (counters != 0) action |= prm::flow_action::count;
  context.set(Context::group_id, config.group)
      .set(Context::flow_tag, config.flow_tag)
      .set(Context::action, action)
      .set(Context::destination_list_size, static_cast<std::uint32_t>(destinations))
      .set(Context::flow_counter_list_size, counters);
  prm::Box<prm::set_fte_out> out;
  return device.create(in->bytes.span(), out.bytes());
}

Result<FlowStatistics> query_flow_counter(const Object& counter, bool clear) noexcept {
  prm::Box<prm::query_flow_counter_in> in;
  prm::Box<prm::query_flow_counter_out, prm::traffic_counter::size> out;
  in.set(prm::query_flow_counter_in::flow_counter_id, counter.number())
      .set(prm::query_flow_counter_in::clear, clear)
      .set(prm::query_flow_counter_in::num_of_counters, 0);
  if (auto done = counter.query(in.bytes(), out.bytes()); !done) return fail(done.error());
  const auto statistics = out.at(prm::query_flow_counter_out::flow_statistics, 0);
  return FlowStatistics{statistics.get(prm::traffic_counter::packets),
                        statistics.get(prm::traffic_counter::octets)};
}

}  // namespace chime::hca

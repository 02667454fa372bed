// SPDX-License-Identifier: BSD-3-Clause
#include "hca/model/vport.h"

#include "base/array.h"
#include "hca/port_counters.h"
#include "prm/layouts.h"
#include "prm/view.h"

namespace chime::hca::embedded {
namespace {

using Modify = prm::modify_nic_vport_context_in;
using Context = prm::nic_vport_context;
using Select = prm::modify_nic_vport_field_select;

/// The vport context stands at the end of the command, and its address list at the end of that.
constexpr std::size_t address_size = 8;

std::uint64_t to_number(const MacAddress& mac) noexcept {
  std::uint64_t number = 0;
  for (const std::uint8_t byte : mac) number = number << 8 | byte;
  return number;
}

MacAddress to_address(std::uint64_t number) noexcept {
  MacAddress mac;
  for (std::size_t i = mac.size(); i-- > 0; number >>= 8) mac[i] = static_cast<std::uint8_t>(number);
  return mac;
}

/// QUERY_HCA_CAP, the general page as it is in force.
Result<> query_general(Kernel& kernel, prm::Box<prm::query_hca_cap_out>& out) noexcept {
  prm::Box<prm::query_hca_cap_in> in;
  in.set(prm::query_hca_cap_in::op_mod, static_cast<std::uint32_t>(prm::hca_cap_mode::cur));
  return kernel.execute(in, out);
}

Result<> write_list(Kernel& kernel, prm::vport_list_type type, const MacAddress* own,
                    std::span<const MacAddress> list) noexcept {
  const bool unicast = type == prm::vport_list_type::uc;
  const std::size_t count = list.size() + (own ? 1 : 0);
  prm::Box<prm::query_hca_cap_out> caps;
  if (auto done = query_general(kernel, caps); !done) return done;
  const prm::ConstView<prm::cmd_hca_cap> card(caps.bytes().subspan(0x10));
  const std::uint32_t log_most = unicast ? card.get(prm::cmd_hca_cap::log_max_current_uc_list)
                                         : card.get(prm::cmd_hca_cap::log_max_current_mc_list);
  if (count > std::size_t{1} << log_most) {
    return fail(ENOSPC, "%zu %s addresses; the card takes %u%s", count, unicast ? "unicast" : "multicast",
                1u << log_most, unicast ? " with the port's own" : "");
  }
  auto bytes = Array<std::byte>::make(Modify::size + count * address_size, "a list of addresses");
  if (!bytes) return fail(bytes.error());
  const prm::View<Modify> in(bytes->span());
  in.set(Modify::opcode, Modify::opcode_value).at(Modify::field_select).set(Select::addresses_list, 1);
  const auto context = in.at(Modify::nic_vport_context);
  context.set(Context::allowed_list_type, type)
      .set(Context::allowed_list_size, static_cast<std::uint32_t>(count));
  std::size_t i = 0;
  if (own) context.set(Context::current_uc_mac_address, i++, to_number(*own));
  for (const MacAddress& mac : list) context.set(Context::current_uc_mac_address, i++, to_number(mac));
  prm::Box<prm::modify_nic_vport_context_out> out;
  return kernel.execute(bytes->span(), out.bytes());
}

}  // namespace

Result<MacAddress> read_address(Kernel& kernel) noexcept {
  using Out = prm::query_nic_vport_context_out;
  prm::Box<prm::query_nic_vport_context_in> in;
  prm::Box<Out> out;
  if (auto done = kernel.execute(in, out); !done) return fail(done.error());
  const auto address = out.at(Out::nic_vport_context).at(Context::permanent_address);
  return to_address(std::uint64_t{address.get(prm::mac_address_layout::mac_addr_47_32)} << 32 |
                    address.get(prm::mac_address_layout::mac_addr_31_0));
}

Result<> write_address(Kernel& kernel, const MacAddress& mac) noexcept {
  prm::Box<Modify> in;
  prm::Box<prm::modify_nic_vport_context_out> out;
  in.at(Modify::field_select).set(Select::permanent_address, 1);
  const std::uint64_t number = to_number(mac);
  in.at(Modify::nic_vport_context)
      .at(Context::permanent_address)
      .set(prm::mac_address_layout::mac_addr_47_32, static_cast<std::uint32_t>(number >> 32))
      .set(prm::mac_address_layout::mac_addr_31_0, static_cast<std::uint32_t>(number));
  return kernel.execute(in, out);
}

Result<> disable_local_loopback(Kernel& kernel) noexcept {
  prm::Box<prm::query_hca_cap_out> caps;
  if (auto done = query_general(kernel, caps); !done) return done;
  const prm::ConstView<prm::cmd_hca_cap> card(caps.bytes().subspan(0x10));
  const bool unicast = card.get(prm::cmd_hca_cap::disable_local_lb_uc);
  const bool multicast = card.get(prm::cmd_hca_cap::disable_local_lb_mc);
  if (!unicast && !multicast) return {};
  prm::Box<Modify> in;
  prm::Box<prm::modify_nic_vport_context_out> out;
  in.at(Modify::field_select)
      .set(Select::disable_uc_local_lb, unicast)
      .set(Select::disable_mc_local_lb, multicast);
  in.at(Modify::nic_vport_context)
      .set(Context::disable_uc_local_lb, unicast)
      .set(Context::disable_mc_local_lb, multicast);
  return kernel.execute(in, out);
}

Result<> write_vport_mtu(Kernel& kernel, std::uint32_t mtu) noexcept {
  prm::Box<Modify> in;
  prm::Box<prm::modify_nic_vport_context_out> out;
  in.at(Modify::field_select).set(Select::mtu, 1);
  in.at(Modify::nic_vport_context).set(Context::mtu, mtu);
  return kernel.execute(in, out);
}

Result<> write_unicast(Kernel& kernel, const MacAddress& own, std::span<const MacAddress> list) noexcept {
  return write_list(kernel, prm::vport_list_type::uc, &own, list);
}

Result<> write_multicast(Kernel& kernel, std::span<const MacAddress> list) noexcept {
  return write_list(kernel, prm::vport_list_type::mc, nullptr, list);
}

Result<> write_promiscuity(Kernel& kernel, bool promiscuous, bool all_multicast) noexcept {
  prm::Box<Modify> in;
  prm::Box<prm::modify_nic_vport_context_out> out;
  in.at(Modify::field_select).set(Select::promisc, 1);
  in.at(Modify::nic_vport_context)
      .set(Context::promisc_all, promiscuous)
      .set(Context::promisc_mc, all_multicast);
  return kernel.execute(in, out);
}

Result<> read_vport_counters(Kernel& kernel, PortCounters& counters) noexcept {
  prm::Box<prm::query_vport_counter_in> in;
  prm::Box<prm::query_vport_counter_out> out;
  if (auto done = kernel.execute(in, out); !done) return done;
  take_vport_counters(out, counters);
  return {};
}

Result<> read_steer_missed(Kernel& kernel, PortCounters& counters) noexcept {
  prm::Box<prm::query_vnic_env_in> in;
  prm::Box<prm::query_vnic_env_out> out;
  if (auto done = kernel.execute(in, out); !done) return done;
  take_steer_missed(out, counters);
  return {};
}

}  // namespace chime::hca::embedded

// SPDX-License-Identifier: BSD-3-Clause
#include "device_limits.h"

#include <algorithm>

#include "hca/command.h"
#include "tx_offload.h"

namespace chime::net {

namespace {

/// Value of wqe_inline_mode: where the mode to use is found.
enum class InlineModeSource : std::uint32_t { l2 = 0, vport_context = 1, not_required = 2 };

Result<> query(hca::Device& device, prm::hca_cap_type type,
               hca::Command<prm::query_hca_cap>& command) noexcept {
  command.in.set(prm::query_hca_cap_in::op_mod,
                 static_cast<std::uint32_t>(type) << 1 | static_cast<std::uint32_t>(prm::hca_cap_mode::cur));
  return command.execute(device);
}

std::uint32_t power(std::uint32_t logarithm) noexcept {
  return logarithm < 31 ? 1u << logarithm : 1u << 31;
}

Result<std::uint8_t> query_min_inline_mode(hca::Device& device) noexcept {
  hca::Command<prm::query_nic_vport_context> command;
  if (Result<> done = command.execute(device); !done) return fail(done.error());
  return static_cast<std::uint8_t>(command.out.at(prm::query_nic_vport_context_out::nic_vport_context)
                                       .get(prm::nic_vport_context::min_wqe_inline_mode));
}

}  // namespace

Result<Limits> Limits::query(hca::Device& device) noexcept {
  Limits limits{};
  hca::Command<prm::query_hca_cap> command;
  if (Result<> done = net::query(device, prm::hca_cap_type::general, command); !done)
    return fail(done.error());
  using general = prm::cmd_hca_cap;
  const auto caps = command.out.at(prm::query_hca_cap_out::capability).at(prm::hca_cap_union::cmd_hca_cap);
  if (!caps.get(general::eth_net_offloads) || !caps.get(general::nic_flow_table))
    return fail(ENOTSUP, "%s lacks Ethernet offloads or receive flow tables (QUERY_HCA_CAP)", device.name());
  limits.max_receive_queues = power(caps.get(general::log_max_rq));
  limits.max_send_queues = power(caps.get(general::log_max_sq));
  limits.log_max_work_queue = static_cast<std::uint8_t>(caps.get(general::log_max_wq_sz));
  limits.log_max_completion_queue = static_cast<std::uint8_t>(caps.get(general::log_max_cq_sz));
  limits.log_max_rqt = static_cast<std::uint8_t>(caps.get(general::log_max_rqt_size));
  limits.max_unicast_addresses = power(caps.get(general::log_max_current_uc_list));
  limits.max_multicast_addresses = power(caps.get(general::log_max_current_mc_list));
  limits.max_send_ds = caps.get(general::max_wqe_sz_sq) / 16;

  if (Result<> done = net::query(device, prm::hca_cap_type::ethernet_offloads, command); !done)
    return fail(done.error());
  using ethernet = prm::per_protocol_networking_offload_caps;
  const auto offloads = command.out.at(prm::query_hca_cap_out::capability)
                            .at(prm::hca_cap_union::per_protocol_networking_offload_caps);
  limits.checksum = offloads.get(ethernet::csum_cap);
  // Without the L3 and L4 checksums of its frames segmentation would be of no use.
  if (const std::uint32_t log = offloads.get(ethernet::max_lso_cap); log != 0 && limits.checksum)
    limits.max_large_send = power(log);
  const auto looks_into = [&](std::uint64_t tunnel, bool yes) {
    if (yes && limits.checksum) limits.tunnels |= tx_tunnel_bit(tunnel);
  };
  looks_into(RTE_MBUF_F_TX_TUNNEL_VXLAN, offloads.get(ethernet::tunnel_stateless_vxlan));
  looks_into(RTE_MBUF_F_TX_TUNNEL_GRE, offloads.get(ethernet::tunnel_stateless_gre));
  looks_into(RTE_MBUF_F_TX_TUNNEL_IPIP, offloads.get(ethernet::tunnel_stateless_ip_over_ip) ||
                                            offloads.get(ethernet::tunnel_stateless_ip_over_ip_tx));
  limits.vlan_strip = offloads.get(ethernet::vlan_cap);
  limits.vlan_insert = offloads.get(ethernet::wqe_vlan_insert);
  limits.scatter_fcs = offloads.get(ethernet::scatter_fcs);
  switch (static_cast<InlineModeSource>(offloads.get(ethernet::wqe_inline_mode))) {
    case InlineModeSource::not_required:
      limits.min_inline_mode = 0;
      break;
    case InlineModeSource::vport_context: {
      Result<std::uint8_t> mode = query_min_inline_mode(device);
      if (!mode) return fail(mode.error());
      limits.min_inline_mode = *mode;
      break;
    }
    case InlineModeSource::l2:
    default:
      limits.min_inline_mode = 1;
  }
  return limits;
}

}  // namespace chime::net

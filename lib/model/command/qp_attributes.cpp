// SPDX-License-Identifier: BSD-3-Clause
#include "model/command/qp_attributes.h"

#include <algorithm>

#include "model/command/gid.h"

namespace chime::model {
namespace {

using Q = prm::qpc;
using A = prm::ads;
using Caps = prm::cmd_hca_cap;
using Roce = prm::roce_cap;
using Atomic = prm::atomic_caps;
using Optional = prm::qp_opt_param;

constexpr std::uint8_t min_log_mtu = 8;
constexpr std::uint8_t max_log_mtu = 12;
constexpr std::uint8_t mtu_code_bias = 7;  // code 1 is 256 bytes

prm::ConstView<Roce> roce_of(const Hca::Card& card) noexcept {
  return card.capabilities.view<Roce>(static_cast<unsigned>(prm::hca_cap_type::roce));
}

}  // namespace

std::uint8_t log_port_mtu(const PhysicalPort& port) noexcept {
  // As Linux counts (iboe_get_mtu): IPv6, UDP, BTH, the longest extension and the ICRC are taken off.
  constexpr unsigned ethernet = 14 + 4;
  constexpr unsigned headers = 40 + 8 + 12 + 4 + 28 + 4;
  std::uint8_t log = max_log_mtu;
  while (log > min_log_mtu && (1u << log) + headers + ethernet > port.admin_mtu) --log;
  return log;
}

bool QpAttributeReader::port() noexcept {
  const std::uint32_t port = context_.at(Q::primary_address_path).get(A::vhca_port_num);
  if (port != 1) {
    c_.refuse(Rule::qp_port, qp_.number, "vhca_port_num %u; the card's port is 1", port);
    return false;
  }
  next_.path.port = 1;
  return true;
}

bool QpAttributeReader::pkey() noexcept {
  const std::uint32_t index = context_.at(Q::primary_address_path).get(A::pkey_index);
  if (index != 0) {
    c_.refuse(Rule::qp_pkey, qp_.number, "pkey_index %u; there is 0", index);
    return false;
  }
  next_.path.pkey_index = 0;
  return true;
}

/// "rae" and atomic_mode. Modes from 3 on are log2 of the largest operand.
bool QpAttributeReader::atomic() noexcept {
  const auto mode = context_.get(Q::atomic_mode);
  const auto number = static_cast<unsigned>(mode);
  const bool offered = c_.card.capabilities.general().get(Caps::atomic);
  const auto caps = c_.card.capabilities.view<Atomic>(static_cast<unsigned>(prm::hca_cap_type::atomic));
  const std::uint32_t sizes = caps.get(Atomic::atomic_size_qp);
  constexpr unsigned eight = 3;
  const unsigned log_largest = number < eight ? eight : number;
  const bool known = number <= static_cast<unsigned>(prm::atomic_mode::up_to_256b);
  if (mode != prm::atomic_mode::none && (!offered || !known || !(sizes >> log_largest))) {
    c_.refuse(Rule::qp_atomic_mode, qp_.number, "atomic_mode %u; this card has %s, atomic_size_qp %#x",
              number, offered ? "atomics" : "no atomics", offered ? sizes : 0);
    return false;
  }
  next_.remote_atomic = context_.get(Q::rae);
  next_.atomic_mode = mode;
  return true;
}

bool QpAttributeReader::mtu() noexcept {
  const auto code = static_cast<unsigned>(context_.get(Q::mtu));
  const unsigned log = code + mtu_code_bias;
  const unsigned most = log_port_mtu(c_.card.port);
  if (log < min_log_mtu || log > max_log_mtu) {
    c_.refuse(Rule::qp_mtu, qp_.number, "mtu %u; there are 1 (256 bytes) to 5 (4096)", code);
    return false;
  }
  if (log > most) {
    c_.refuse(Rule::qp_mtu, qp_.number,
              "a path MTU of %u bytes; the port carries frames of %u, which is room for %u", 1u << log,
              c_.card.port.admin_mtu, 1u << most);
    return false;
  }
  next_.log_mtu = static_cast<std::uint8_t>(log);
  return true;
}

bool QpAttributeReader::message() noexcept {
  const std::uint32_t log = context_.get(Q::log_msg_max);
  const std::uint32_t most = c_.card.capabilities.general().get(Caps::log_max_msg);
  if (log > most) {
    c_.refuse(Rule::qp_message, qp_.number, "log_msg_max %u; the card has %u", log, most);
    return false;
  }
  next_.log_max_message = static_cast<std::uint8_t>(log);
  return true;
}

bool QpAttributeReader::depth(std::uint32_t log, std::uint32_t most, const char* field,
                              const char* capability) noexcept {
  if (log <= most) return true;
  c_.refuse(Rule::qp_depth, qp_.number, "%s %u, 2^%u at once; the card has 2^%u (%s)", field, log, log, most,
            capability);
  return false;
}

bool QpAttributeReader::own_address() noexcept {
  const unsigned index = next_.path.gid_index;
  const auto& table = c_.card.roce_addresses;
  if (index >= table.size()) {
    c_.refuse(Rule::qp_gid, qp_.number, "src_addr_index %u; the GID table has %zu places", index,
              table.size());
    return false;
  }
  if (table[index].empty()) {
    c_.refuse(Rule::qp_gid, qp_.number, "src_addr_index %u is an empty place of the GID table", index);
    return false;
  }
  if (next_.path.remote_gid == GidBytes{}) {
    c_.refuse(Rule::qp_remote_gid, qp_.number, "rgid_rip is all zero");
    return false;
  }
  const bool ipv4 = is_ipv4_mapped(next_.path.remote_gid);
  if ((table[index].l3 == RoceAddress::L3::ipv4) != ipv4) {
    c_.refuse(Rule::qp_remote_gid, qp_.number,
              "the other end has an IPv%c address, place %u of the GID table none", ipv4 ? '4' : '6', index);
    return false;
  }
  return true;
}

bool QpAttributeReader::path() noexcept {
  const auto ads = context_.at(Q::primary_address_path);
  if (!c_.absent(ads.get(A::fl), Rule::qp_feature, "fl (force loopback)") ||
      !c_.absent(ads.get(A::free_ar), Rule::qp_feature, "free_ar") ||
      !c_.absent(ads.get(A::stat_rate), Rule::qp_feature, "stat_rate")) {
    return false;
  }
  QpPath& path = next_.path;
  path.remote_gid = read_gid(ads, A::rgid_rip);
  const std::uint64_t mac = std::uint64_t{ads.get(A::rmac_47_32)} << 32 | ads.get(A::rmac_31_0);
  for (std::size_t i = 0; i < path.remote_mac.size(); ++i) {
    path.remote_mac[i] = static_cast<std::uint8_t>(mac >> (40 - 8 * i));
  }
  path.gid_index = static_cast<std::uint8_t>(ads.get(A::src_addr_index));
  path.hop_limit = static_cast<std::uint8_t>(ads.get(A::hop_limit));
  path.traffic_class = static_cast<std::uint8_t>(ads.get(A::tclass));
  path.flow_label = ads.get(A::flow_label);
  path.dscp = static_cast<std::uint8_t>(ads.get(A::dscp));
  path.ecn = static_cast<std::uint8_t>(ads.get(A::ecn));
  path.priority = static_cast<std::uint8_t>(ads.get(A::eth_prio));
  path.dei = ads.get(A::dei_cfi);
  path.service_level = static_cast<std::uint8_t>(ads.get(A::sl));
  path.ack_timeout = static_cast<std::uint8_t>(ads.get(A::ack_timeout));

  // 0 leaves the choice to the card.
  const auto roce = roce_of(c_.card);
  const std::uint32_t lowest = roce.get(Roce::r_roce_min_src_udp_port);
  const std::uint32_t highest = roce.get(Roce::r_roce_max_src_udp_port);
  const std::uint32_t port = ads.get(A::udp_sport);
  if (port != 0 && (port < lowest || port > highest)) {
    c_.refuse(Rule::qp_udp_port, qp_.number, "udp_sport %u; the card has %u to %u", port, lowest, highest);
    return false;
  }
  path.udp_source_port = static_cast<std::uint16_t>(port ? port : lowest);
  return own_address();
}

bool QpAttributeReader::to_init() noexcept {
  if (!port() || !pkey()) return false;
  if (qp_.service == QpService::umr) return true;
  if (is_datagram(qp_.service)) {
    next_.qkey = context_.get(Q::q_key);
    return true;
  }
  next_.remote_read = context_.get(Q::rre);
  next_.remote_write = context_.get(Q::rwe);
  next_.atomic_like_write = qp_.atomic_like_write || context_.get(Q::atomic_like_write_en);
  return atomic();
}

bool QpAttributeReader::to_rtr() noexcept {
  if (qp_.service == QpService::umr) return true;
  if (!c_.card.vport.roce_enabled) {
    c_.refuse(Rule::roce_disabled, qp_.number,
              "QP %#x is to receive, and the virtual port has no RoCE (roce_en)", qp_.number);
    return false;
  }
  if (is_datagram(qp_.service)) {
    next_.log_mtu = log_port_mtu(c_.card.port);
    next_.log_max_message = next_.log_mtu;
    return true;
  }
  next_.remote_qpn = context_.get(Q::remote_qpn);
  next_.next_receive_psn = context_.get(Q::next_rcv_psn);
  if (!mtu() || !message() || !path()) return false;
  if (qp_.service == QpService::uc) return true;
  const std::uint32_t log_rra = context_.get(Q::log_rra_max);
  const auto caps = c_.card.capabilities.general();
  if (!depth(log_rra, caps.get(Caps::log_max_ra_res_qp), "log_rra_max", "log_max_ra_res_qp")) return false;
  next_.log_rra_max = static_cast<std::uint8_t>(log_rra);
  next_.min_rnr_nak = static_cast<std::uint8_t>(context_.get(Q::min_rnr_nak));
  return true;
}

bool QpAttributeReader::to_rts() noexcept {
  next_.next_send_psn = context_.get(Q::next_send_psn);
  if (!is_reliable(qp_.service)) return true;
  const std::uint32_t log_sra = context_.get(Q::log_sra_max);
  const auto caps = c_.card.capabilities.general();
  if (!depth(log_sra, caps.get(Caps::log_max_ra_req_qp), "log_sra_max", "log_max_ra_req_qp")) return false;
  next_.log_sra_max = static_cast<std::uint8_t>(log_sra);
  next_.log_ack_req_freq = static_cast<std::uint8_t>(context_.get(Q::log_ack_req_freq));
  next_.retry_count = static_cast<std::uint8_t>(context_.get(Q::retry_count));
  next_.rnr_retry = static_cast<std::uint8_t>(context_.get(Q::rnr_retry));
  next_.path.ack_timeout =
      static_cast<std::uint8_t>(context_.at(Q::primary_address_path).get(A::ack_timeout));
  return true;
}

bool QpAttributeReader::optional(std::uint32_t mask) noexcept {
  if (mask & Optional::rre) next_.remote_read = context_.get(Q::rre);
  if (mask & Optional::rwe) next_.remote_write = context_.get(Q::rwe);
  if (mask & Optional::rnr_timeout)
    next_.min_rnr_nak = static_cast<std::uint8_t>(context_.get(Q::min_rnr_nak));
  if (mask & Optional::q_key) next_.qkey = context_.get(Q::q_key);
  if ((mask & Optional::rae) && !atomic()) return false;
  if ((mask & Optional::pkey_index) && !pkey()) return false;
  return !(mask & Optional::pri_port) || port();
}

}  // namespace chime::model

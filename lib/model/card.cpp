// SPDX-License-Identifier: BSD-3-Clause
#include "model/card.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace chime::model {
namespace {

using G = prm::cmd_hca_cap;

// Each kind begins at another number, so that a number of the wrong kind is seldom one of the right. UARs and
// EQs begin where recorded cards begin.
constexpr std::uint32_t first_uar = 0x10;
constexpr std::uint32_t first_eq = 0x10;
constexpr std::uint32_t first_cq = 0x400;
constexpr std::uint32_t first_sq = 0x1000;
constexpr std::uint32_t first_rq = 0x2000;
// A doorbell names SQs and QPs alike: their numbers are of one space, QPs in its upper half.
constexpr unsigned sq_number_bits = 23;
constexpr std::uint32_t first_qp = 1u << sq_number_bits | 0x100;
constexpr std::uint32_t multicast_qp = 0xffffff;
constexpr std::uint32_t first_srq = 0x300;
constexpr std::uint32_t first_tis = 0x20;
constexpr std::uint32_t first_tir = 0x40;
constexpr std::uint32_t first_rqt = 0x80;
constexpr std::uint32_t first_mkey = 0x100;

/// One past the last number, for 2^log objects whose numbers have `bits` bits.
std::uint32_t limit(std::uint32_t first, std::uint32_t log, unsigned bits = 24) noexcept {
  const std::uint64_t end = first + (std::uint64_t{1} << std::min(log, 24u));
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(end, std::uint64_t{1} << bits));
}

prm::ConstView<G> most(const Profile& profile) noexcept {
  static constexpr Capabilities::Structure none{};
  const auto bytes = profile.capabilities.maximum(static_cast<unsigned>(prm::hca_cap_type::general));
  return prm::ConstView<G>(bytes.empty() ? std::span<const std::byte>(none) : bytes);
}

std::uint32_t log_flow_tables(const Profile& profile) noexcept {
  using N = prm::flow_table_nic_cap;
  const auto nic = profile.capabilities.view<N>(static_cast<unsigned>(prm::hca_cap_type::flow_table));
  const std::uint32_t log =
      nic.at(N::flow_table_properties_nic_receive).get(prm::flow_table_prop_layout::log_max_ft_num);
  return log ? log : 10;
}

std::uint32_t vectors_of(const Profile& profile) noexcept {
  const std::uint32_t eqs = most(profile).get(G::max_num_eqs);
  return eqs ? eqs : 1u << most(profile).get(G::log_max_eq);
}

Mac mac_of(std::uint64_t number) noexcept {
  auto byte = [&](unsigned shift) { return static_cast<std::uint8_t>(number >> shift); };
  return {byte(40), byte(32), byte(24), byte(16), byte(8), byte(0)};
}

}  // namespace

Hca::Card::Card(const Profile& profile, Capabilities own, const Surroundings& surroundings) noexcept
    : around(surroundings),
      host(surroundings.memory),
      capabilities(std::move(own)),
      identity(profile.identity),
      limits(profile.port),
      behaviour(profile.behaviour),
      vectors(vectors_of(profile)),
      user_contexts(Kind::user_context, 1, limit(1, most(profile).get(G::log_max_uctx), 16)),
      uars(Kind::uar, first_uar, limit(first_uar, 20)),
      umems(Kind::umem, 1, limit(1, most(profile).get(G::log_max_umem))),
      pds(Kind::pd, 1, limit(1, most(profile).get(G::log_max_pd))),
      transport_domains(Kind::transport_domain, 1, limit(1, most(profile).get(G::log_max_transport_domain))),
      q_counters(Kind::q_counter, 1, limit(1, 8, 8)),
      flow_counters(Kind::flow_counter, 1,
                    std::max(most(profile).get(G::max_flow_counter_31_16) << 16 |
                                 most(profile).get(G::max_flow_counter_15_0),
                             1u)),
      mkeys(Kind::mkey, first_mkey, limit(first_mkey, most(profile).get(G::log_max_mkey))),
      eqs(Kind::eq, first_eq, limit(first_eq, most(profile).get(G::log_max_eq), 8)),
      cqs(Kind::cq, first_cq, limit(first_cq, most(profile).get(G::log_max_cq))),
      xrcds(Kind::xrcd, 1, limit(1, most(profile).get(G::log_max_xrcd))),
      srqs(Kind::srq, first_srq, limit(first_srq, most(profile).get(G::log_max_srq))),
      tises(Kind::tis, first_tis, limit(first_tis, most(profile).get(G::log_max_tis))),
      sqs(Kind::sq, first_sq, limit(first_sq, most(profile).get(G::log_max_sq), sq_number_bits)),
      rqs(Kind::rq, first_rq, limit(first_rq, most(profile).get(G::log_max_rq))),
      qps(Kind::qp, first_qp, std::min(limit(first_qp, most(profile).get(G::log_max_qp)), multicast_qp)),
      rqts(Kind::rqt, first_rqt, limit(first_rqt, most(profile).get(G::log_max_rqt))),
      tirs(Kind::tir, first_tir, limit(first_tir, most(profile).get(G::log_max_tir))),
      flow_tables(Kind::flow_table, 1, limit(1, log_flow_tables(profile))),
      flow_groups(Kind::flow_group, 1, limit(1, 24)) {
  vport.permanent_address = mac_of(profile.identity.base_mac);
  // The usual way from an EUI-48 to an EUI-64.
  const std::uint64_t mac = profile.identity.base_mac;
  vport.node_guid = (mac >> 24) << 40 | std::uint64_t{0x0300} << 24 | (mac & 0xffffff);
  vport.port_guid = vport.node_guid;
  vport.system_image_guid = vport.node_guid;
  vport.mtu = static_cast<std::uint16_t>(port.admin_mtu + PhysicalPort::fcs);
}

Result<Owned<Hca::Card>> Hca::Card::create(const Profile& profile,
                                           const Surroundings& surroundings) noexcept {
  auto capabilities = profile.capabilities.clone();
  if (!capabilities) return fail(capabilities.error().within("the software HCA"));
  auto card = make_owned<Card>("the software HCA", profile, std::move(*capabilities), surroundings);
  if (!card) return card;
  using R = prm::roce_cap;
  const auto roce = (*card)->capabilities.view<R>(static_cast<unsigned>(prm::hca_cap_type::roce));
  auto addresses = RoceAddressTable::make(roce.get(R::roce_address_table_size), "RoCE addresses");
  if (!addresses) return fail(addresses.error().within("the software HCA"));
  (*card)->roce_addresses = std::move(*addresses);
  auto engine = Engine::create(**card);
  if (!engine) return fail(engine.error().within("the software HCA"));
  (*card)->engine = std::move(*engine);
  return card;
}

Hca::Card::~Card() {
  if (engine) destroy_objects(0, true);
}

void Hca::Card::find(const char* rule, Severity severity, std::uint32_t object, const char* format,
                     ...) noexcept {
  char text[256];
  std::va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  around.diagnostics.report({rule, severity, object, text});
}

}  // namespace chime::model

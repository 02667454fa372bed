// SPDX-License-Identifier: BSD-3-Clause
#include "model/command/domain.h"
#include "model/command/handlers.h"

namespace chime::model {
namespace {

using T = prm::tisc;

}  // namespace

void create_tis(Command& c, In<prm::create_tis> in, Out<prm::create_tis> out) noexcept {
  const auto tisc = in.at(prm::create_tis_in::ctx);
  if (!c.absent(tisc.get(T::tls_en), Rule::tis_feature, "tls_en") ||
      !c.absent(tisc.get(T::lag_tx_port_affinity), Rule::tis_feature, "lag_tx_port_affinity") ||
      !c.absent(tisc.get(T::underlay_qpn), Rule::tis_feature, "underlay_qpn")) {
    return;
  }
  auto tis = c.make<Tis>();
  if (!tis || !read_transport_domain(c, tisc.get(T::transport_domain), tis->transport_domain)) return;
  tis->priority = static_cast<std::uint8_t>(tisc.get(T::prio));
  if (auto* made = c.publish(c.card.tises, std::move(tis))) out.set(prm::create_tis_out::tisn, made->number);
}

void modify_tis(Command& c, In<prm::modify_tis> in, Out<prm::modify_tis>) noexcept {
  using Mask = prm::modify_tis_bitmask;
  Tis* tis = c.find(c.card.tises, in.get(prm::modify_tis_in::tisn));
  if (!tis) return;
  const auto mask = in.at(prm::modify_tis_in::bitmask);
  const auto tisc = in.at(prm::modify_tis_in::ctx);
  if (!c.absent(mask.get(Mask::lag_tx_port_affinity), Rule::tis_feature,
                "a change of lag_tx_port_affinity")) {
    return;
  }
  if (mask.get(Mask::prio)) tis->priority = static_cast<std::uint8_t>(tisc.get(T::prio));
}

void query_tis(Command& c, In<prm::query_tis> in, Out<prm::query_tis> out) noexcept {
  const Tis* tis = c.find(c.card.tises, in.get(prm::query_tis_in::tisn));
  if (!tis) return;
  out.at(prm::query_tis_out::tis_context)
      .set(T::prio, tis->priority)
      .set(T::transport_domain, number_of(tis->transport_domain));
}

void destroy_tis(Command& c, In<prm::destroy_tis> in, Out<prm::destroy_tis>) noexcept {
  if (auto* tis = c.find(c.card.tises, in.get(prm::destroy_tis_in::tisn))) c.retire(c.card.tises, *tis);
}

}  // namespace chime::model

// SPDX-License-Identifier: BSD-3-Clause
#include "model/command/domain.h"

#include "model/command/handlers.h"

/// @file
/// Objects that only group or admit others: UAR pages, protection, transport and XRC domains.

namespace chime::model {

bool read_transport_domain(Command& c, std::uint32_t number, Ref<TransportDomain>& domain) noexcept {
  if (number == 0) return true;
  auto* found = c.find(c.card.transport_domains, number);
  if (found) domain = Ref<TransportDomain>(found);
  return found != nullptr;
}

std::uint32_t number_of(const Ref<TransportDomain>& domain) noexcept {
  return domain ? domain->number : 0;
}

void alloc_uar(Command& c, In<prm::alloc_uar>, Out<prm::alloc_uar> out) noexcept {
  auto uar = c.make<Uar>();
  if (!uar) return;
  if (auto* made = c.publish(c.card.uars, std::move(uar))) out.set(prm::alloc_uar_out::uar, made->number);
}

void dealloc_uar(Command& c, In<prm::dealloc_uar> in, Out<prm::dealloc_uar>) noexcept {
  if (auto* uar = c.find(c.card.uars, in.get(prm::dealloc_uar_in::uar))) c.retire(c.card.uars, *uar);
}

void alloc_pd(Command& c, In<prm::alloc_pd>, Out<prm::alloc_pd> out) noexcept {
  auto pd = c.make<Pd>();
  if (!pd) return;
  if (auto* made = c.publish(c.card.pds, std::move(pd))) out.set(prm::alloc_pd_out::pd, made->number);
}

void dealloc_pd(Command& c, In<prm::dealloc_pd> in, Out<prm::dealloc_pd>) noexcept {
  if (auto* pd = c.find(c.card.pds, in.get(prm::dealloc_pd_in::pd))) c.retire(c.card.pds, *pd);
}

void alloc_transport_domain(Command& c, In<prm::alloc_transport_domain>,
                            Out<prm::alloc_transport_domain> out) noexcept {
  auto domain = c.make<TransportDomain>();
  if (!domain) return;
  if (auto* made = c.publish(c.card.transport_domains, std::move(domain))) {
    out.set(prm::alloc_transport_domain_out::transport_domain, made->number);
  }
}

void dealloc_transport_domain(Command& c, In<prm::dealloc_transport_domain> in,
                              Out<prm::dealloc_transport_domain>) noexcept {
  const std::uint32_t number = in.get(prm::dealloc_transport_domain_in::transport_domain);
  if (auto* domain = c.find(c.card.transport_domains, number)) c.retire(c.card.transport_domains, *domain);
}

void alloc_xrcd(Command& c, In<prm::alloc_xrcd>, Out<prm::alloc_xrcd> out) noexcept {
  if (!c.card.capabilities.general().get(prm::cmd_hca_cap::xrc)) {
    return c.refuse(Rule::qp_service, 0, "this card has no XRC");
  }
  auto domain = c.make<Xrcd>();
  if (!domain) return;
  if (auto* made = c.publish(c.card.xrcds, std::move(domain)))
    out.set(prm::alloc_xrcd_out::xrcd, made->number);
}

void dealloc_xrcd(Command& c, In<prm::dealloc_xrcd> in, Out<prm::dealloc_xrcd>) noexcept {
  if (auto* domain = c.find(c.card.xrcds, in.get(prm::dealloc_xrcd_in::xrcd)))
    c.retire(c.card.xrcds, *domain);
}

}  // namespace chime::model

// SPDX-License-Identifier: BSD-3-Clause
#include "model/command/handlers.h"
#include "model/command/pages.h"

/// @file
/// User contexts and their memory.

namespace chime::model {

void create_uctx(Command& c, In<prm::create_uctx> in, Out<prm::create_uctx> out) noexcept {
  const auto caps = c.card.capabilities.general();
  if (caps.get(prm::cmd_hca_cap::log_max_uctx) == 0) {
    return c.refuse(Rule::not_modelled, 0, "this card has no user contexts (log_max_uctx is 0)");
  }
  const std::uint32_t wanted = in.at(prm::create_uctx_in::uctx).get(prm::uctx::cap);
  const std::uint32_t offered = caps.get(prm::cmd_hca_cap::uctx_cap);
  if (wanted & ~offered) {
    return c.refuse(Rule::context_capabilities, 0, "capabilities %#x asked for; the card has %#x (uctx_cap)",
                    wanted, offered);
  }
  auto context = c.make<UserContext>();
  if (!context) return;
  context->capabilities = wanted;
  if (auto* made = c.publish(c.card.user_contexts, std::move(context))) {
    out.set(prm::create_uctx_out::uid, made->number);
  }
}

void destroy_uctx(Command& c, In<prm::destroy_uctx> in, Out<prm::destroy_uctx>) noexcept {
  auto* context = c.find(c.card.user_contexts, in.get(prm::destroy_uctx_in::uid));
  if (!context) return;
  if (context->objects && c.card.behaviour.context_with_objects_goes) {
    c.card.destroy_objects(static_cast<std::uint16_t>(context->number), false);
  }
  if (context->objects) {
    return c.refuse(Rule::context_has_objects, context->number,
                    "user context %u still has %u objects; destroy those first", context->number,
                    context->objects);
  }
  c.retire(c.card.user_contexts, *context);
}

void create_umem(Command& c, In<prm::create_umem> in, Out<prm::create_umem> out) noexcept {
  using U = prm::umem;
  const auto u = in.at(prm::create_umem_in::umem);
  if (!c.absent(u.get(U::ats), Rule::address_translation, "ats")) return;

  auto umem = c.make<Umem>();
  if (!umem) return;
  const PageListIn list{.bytes = u.bytes().subspan(U::size),
                        .count = u.get(U::num_of_mtt),
                        .log_page_size = u.get(U::log_page_size) + 12,
                        .page_offset = u.get(U::page_offset)};
  if (!read_pages(c, list, umem->pages)) return;
  if (const std::size_t absent = umem->pages.resolve(c.card.host)) {
    c.card.find("memory.not-host-memory", Severity::note, 0,
                "CREATE_UMEM: %zu of %llu pages are not host memory now; access to them will fail", absent,
                static_cast<unsigned long long>(list.count));
  }
  if (auto* made = c.publish(c.card.umems, std::move(umem))) {
    out.set(prm::create_umem_out::umem_id, made->number);
  }
}

void destroy_umem(Command& c, In<prm::destroy_umem> in, Out<prm::destroy_umem>) noexcept {
  if (auto* umem = c.find(c.card.umems, in.get(prm::destroy_umem_in::umem_id))) {
    c.retire(c.card.umems, *umem);
  }
}

}  // namespace chime::model

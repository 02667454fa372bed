// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "model/card.h"

/// @file
/// The end of a user context, or of everything: objects go in the order in which they use each other.

namespace chime::model {
namespace {

/// Whose objects go.
struct Owner {
  std::uint16_t uid;
  bool all;
  bool owns(const Object& object) const noexcept { return all || object.uid == uid; }
};

/// Some that go, none of them in use, in the order of their numbers. A table may not change while it is
/// visited, and nothing may be allocated: so they are taken a few at a time.
template <class T>
unsigned pick(const ObjectTable<T>& table, Owner owner, std::span<T*> picked) noexcept {
  unsigned count = 0;
  table.for_each([&](T& object) {
    if (count < picked.size() && object.uses == 0 && owner.owns(object)) picked[count++] = &object;
  });
  return count;
}

template <class T, class F>
void destroy(Hca::Card& card, ObjectTable<T>& table, Owner owner, F&& before) noexcept {
  T* picked[256];
  while (const unsigned count = pick(table, owner, std::span<T*>(picked))) {
    for (unsigned i = 0; i < count; ++i) {
      T& object = *picked[i];
      before(object);
      if (UserContext* context = object.uid ? card.user_contexts.find(object.uid) : nullptr)
        --context->objects;
      table.erase(object);
    }
  }
}

template <class T>
void destroy(Hca::Card& card, ObjectTable<T>& table, Owner owner) noexcept {
  destroy(card, table, owner, [](T&) {});
}

void clear_entries(Hca::Card& card, FlowTable& table) noexcept {
  card.flow_entries -= table.entries.count();
  table.entries.for_each([](FlowEntry& entry) {
    entry.group->remove(entry);
    Owned<FlowEntry>(&entry).reset();
  });
  table.entries.clear();
}

void destroy_steering(Hca::Card& card, Owner owner) noexcept {
  for (auto& root : card.root) {
    if (root && owner.owns(*root)) root.reset();
  }
  card.flow_tables.for_each([&](FlowTable& table) {
    if (!owner.owns(table)) return;
    clear_entries(card, table);
    table.miss.reset();
  });
  destroy(card, card.flow_groups, owner, [](FlowGroup& group) { group.table->unlink(group); });
  destroy(card, card.flow_tables, owner, [&](FlowTable& table) { card.engine->forget(table); });
}

template <class... T>
std::uint32_t count_owned(Owner owner, const ObjectTable<T>&... tables) noexcept {
  std::uint32_t count = 0;
  (tables.for_each([&](const T& object) { count += owner.owns(object); }), ...);
  return count;
}

}  // namespace

std::uint32_t Hca::Card::destroy_objects(std::uint16_t uid, bool all) noexcept {
  const Owner owner{uid, all};
  auto forget = [&](auto& object) { engine->forget(object); };
  destroy_steering(*this, owner);
  destroy(*this, tirs, owner);
  destroy(*this, rqts, owner);
  multicast.detach_if([&](const Qp& qp) { return owner.owns(qp); });
  destroy(*this, qps, owner, [&](Qp& qp) {
    engine->forget(qp);
    if (gsi == &qp) gsi = nullptr;
  });
  destroy(*this, rqs, owner, forget);
  destroy(*this, sqs, owner, forget);
  destroy(*this, tises, owner);
  destroy(*this, srqs, owner);
  destroy(*this, xrcds, owner);
  destroy(*this, cqs, owner, forget);
  destroy(*this, eqs, owner, forget);
  destroy(*this, mkeys, owner);
  destroy(*this, flow_counters, owner);
  destroy(*this, q_counters, owner);
  destroy(*this, transport_domains, owner);
  destroy(*this, pds, owner);
  destroy(*this, umems, owner);
  destroy(*this, uars, owner);
  if (all) {
    destroy(*this, user_contexts, owner);
    l2_table.clear();
    std::ranges::fill(roce_addresses.span(), RoceAddress{});
  }
  return count_owned(owner, flow_tables, flow_groups, tirs, rqts, qps, rqs, sqs, tises, srqs, xrcds, cqs, eqs,
                     mkeys, flow_counters, q_counters, transport_domains, pds, umems, uars);
}

}  // namespace chime::model

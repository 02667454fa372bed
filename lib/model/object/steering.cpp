// SPDX-License-Identifier: BSD-3-Clause
#include "model/object/steering.h"

namespace chime::model {
namespace {

class Hash {
 public:
  void add(std::uint32_t word) noexcept { state_ = (state_ ^ word) * 0x9e3779b97f4a7c15u; }
  std::uint32_t value() const noexcept { return static_cast<std::uint32_t>(state_ >> 32); }

 private:
  std::uint64_t state_ = 0x243f6a8885a308d3u;
};

}  // namespace

FlowEntry* FlowGroup::match(const MatchParam& packet) const noexcept {
  if (entries_ == 0) return nullptr;
  Hash hash;
  for (const MatchWord& m : mask) hash.add(packet[m.word] & m.mask);
  FlowEntry* found = nullptr;
  for (FlowEntry* e = buckets_[hash.value() & (buckets_.size() - 1)]; e; e = e->next) {
    if (e->hash != hash.value() || (found && found->index < e->index)) continue;
    bool equal = true;
    for (std::size_t i = 0; i < mask.size(); ++i) {
      equal &= (packet[mask[i].word] & mask[i].mask) == e->value[i];
    }
    if (equal) found = e;
  }
  return found;
}

Result<> FlowGroup::add(FlowEntry& entry) noexcept {
  if (entries_ >= buckets_.size()) {
    if (auto grown = grow(); !grown) return grown;
  }
  Hash hash;
  for (std::uint32_t word : entry.value) hash.add(word);
  entry.hash = hash.value();
  FlowEntry*& head = buckets_[entry.hash & (buckets_.size() - 1)];
  entry.next = head;
  head = &entry;
  ++entries_;
  return {};
}

void FlowGroup::remove(FlowEntry& entry) noexcept {
  FlowEntry** link = &buckets_[entry.hash & (buckets_.size() - 1)];
  while (*link && *link != &entry) link = &(*link)->next;
  if (!*link) return;
  *link = entry.next;
  entry.next = nullptr;
  --entries_;
}

Result<> FlowGroup::grow() noexcept {
  auto grown = Array<FlowEntry*>::make(buckets_.empty() ? 8 : buckets_.size() * 2, "a flow group's index");
  if (!grown) return fail(grown.error());
  for (FlowEntry* e : buckets_) {
    while (e) {
      FlowEntry* next = e->next;
      FlowEntry*& head = (*grown)[e->hash & (grown->size() - 1)];
      e->next = head;
      head = e;
      e = next;
    }
  }
  buckets_ = std::move(*grown);
  return {};
}

FlowTable::~FlowTable() {
  entries.for_each([](FlowEntry& entry) { Owned<FlowEntry>(&entry).reset(); });
}

void FlowTable::link(FlowGroup& group) noexcept {
  FlowGroup** at = &groups;
  while (*at && (*at)->first < group.first) at = &(*at)->next;
  group.next = *at;
  *at = &group;
}

void FlowTable::unlink(FlowGroup& group) noexcept {
  FlowGroup** at = &groups;
  while (*at && *at != &group) at = &(*at)->next;
  if (*at) *at = group.next;
  group.next = nullptr;
}

}  // namespace chime::model

// SPDX-License-Identifier: BSD-3-Clause
#include "flow/rule_table.h"

#include <algorithm>
#include <cstring>

#include "keep.h"

namespace chime::net {

namespace {

constexpr std::uint32_t gate_entries = 2;
constexpr std::uint32_t first_chunk = 4096, chunk_growth = 16, smallest_chunk = 16;

/// Sizes to ask for, largest first: devices have room for few large tables.
constexpr std::uint8_t log_sizes[] = {24, 22, 20, 16, 12};

/// The parts of fte_match_param that rules match on: outer headers and misc parameters.
constexpr std::size_t compared_bytes = 0x80;

std::uint64_t hash_of(std::uint32_t priority, const Match& match) noexcept {
  std::uint64_t hash = priority * 0x100ull + match.criteria + 1;
  for (std::size_t i = 0; i < compared_bytes; i += 8) {
    std::uint64_t word;
    std::memcpy(&word, match.mask.bytes().data() + i, sizeof word);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace

/// Flow group of one mask.
struct RuleTable::Chunk {
  Family* family = nullptr;
  std::uint32_t first = 0;  ///< index in the table
  IndexPool indices;
  hca::Object group;
  Owned<Chunk> next;               ///< of the family
  Chunk* next_by_index = nullptr;  ///< of the priority
};

/// All rules of one priority and mask.
struct RuleTable::Family {
  std::uint64_t hash = 0;
  std::uint32_t priority = 0;
  std::uint8_t criteria = 0;
  std::array<std::byte, compared_bytes> mask{};
  Owned<Chunk> chunks;  ///< those with room first
  Owned<Family> next;

  bool is(std::uint64_t of_hash, std::uint32_t of_priority, const Match& match) const noexcept {
    return hash == of_hash && priority == of_priority && criteria == match.criteria &&
           std::ranges::equal(mask, match.mask.bytes().first(compared_bytes));
  }
};

RuleTable::RuleTable(Token, RxSteering& steering) noexcept : steering_(steering) {}

RuleTable::~RuleTable() {
  if (gate_) steering_.remove(*gate_);
}

Result<Owned<RuleTable>> RuleTable::create(RxSteering& steering, std::uint32_t group) noexcept {
  Result<Owned<RuleTable>> made = make_owned<RuleTable>("a table of rules", Token{}, steering);
  if (!made) return made;
  Result<> done = (*made)->make_table(group);
  if (done) done = (*made)->make_gate();
  if (!done) return fail(done.error());
  return made;
}

Result<> RuleTable::make_table(std::uint32_t group) noexcept {
  const auto level = static_cast<std::uint8_t>(first_own_level + group);
  Result<> done =
      fail(ENOTSUP, "%s has flow tables of 2^%u entries; rules need 2^%u", steering_.device().name(),
           unsigned{steering_.limits().log_max_table}, unsigned{log_sizes[std::size(log_sizes) - 1]});
  for (std::uint8_t log_size : log_sizes) {
    if (log_size > steering_.limits().log_max_table) continue;
    done = keep(table_, hca::create_flow_table(steering_.device(),
                                               {.level = level, .log_size = log_size, .miss_table = {}}));
    if (!done) {
      // Only the card's refusal may be one of the size.
      if (done.error().status == 0) return done;
      continue;
    }
    log_size_ = log_size;
    range_ = ((1u << log_size) - gate_entries) / rule_priorities;
    return {};
  }
  return done;
}

Result<> RuleTable::make_gate() noexcept {
  Result<Gate> gate = Gate::in_table(steering_.device(), number(), (1u << log_size_) - gate_entries);
  if (!gate) return fail(gate.error());
  gate_.emplace(std::move(*gate));
  Result<> done = steering_.add(*gate_);
  if (!done) gate_.reset();
  return done;
}

Result<RuleTable::Family*> RuleTable::family_of(std::uint32_t priority, const Match& match) noexcept {
  const std::uint64_t hash = hash_of(priority, match);
  for (Owned<Family>* at = &families_; *at; at = &(*at)->next) {
    if (!(*at)->is(hash, priority, match)) continue;
    if (at != &families_) {
      Owned<Family> found = std::move(*at);
      *at = std::move(found->next);
      found->next = std::move(families_);
      families_ = std::move(found);
    }
    return families_.get();
  }
  Result<Owned<Family>> made = make_owned<Family>("rules of one mask");
  if (!made) return fail(made.error());
  (*made)->hash = hash;
  (*made)->priority = priority;
  (*made)->criteria = match.criteria;
  std::ranges::copy(match.mask.bytes().first(compared_bytes), (*made)->mask.begin());
  (*made)->next = std::move(families_);
  families_ = std::move(*made);
  return families_.get();
}

/// @param size indices that are wanted; made smaller where there is not so much room
/// @return the first index
Result<std::uint32_t> RuleTable::find_room(std::uint32_t priority, std::uint32_t& size) noexcept {
  std::uint32_t best = 0, best_size = 0;
  std::uint32_t free_from = first_of(priority);
  const auto consider = [&](std::uint32_t end) {
    if (end - free_from > best_size) {
      best = free_from;
      best_size = end - free_from;
    }
  };
  for (const Chunk* chunk = by_index_[priority]; chunk; chunk = chunk->next_by_index) {
    consider(chunk->first);
    free_from = chunk->first + chunk->indices.size();
  }
  consider(first_of(priority + 1));
  if (best_size == 0)
    return fail(ENOSPC,
                "the card's table has no room left for rules of priority %u: %u indices are given out",
                priority, range_);
  // Other masks will want some as well.
  size = std::min({size, std::max(best_size / 4, smallest_chunk), best_size});
  return best;
}

Result<RuleTable::Chunk*> RuleTable::grow(Family& family, const Match& match) noexcept {
  std::uint32_t size = first_chunk;
  for (const Chunk* chunk = family.chunks.get(); chunk; chunk = chunk->next.get())
    size = std::max(size, std::min(chunk->indices.size(), range_) * chunk_growth);
  Result<std::uint32_t> first = find_room(family.priority, size);
  if (!first) return fail(first.error());

  Result<Owned<Chunk>> made = make_owned<Chunk>("rules of one mask");
  if (!made) return fail(made.error());
  Chunk& chunk = **made;
  chunk.family = &family;
  chunk.first = *first;
  Result<> done = keep(chunk.indices, IndexPool::make(size, "indices of rules"));
  if (!done) return fail(done.error());
  const std::span<const std::byte> everything;
  done = keep(chunk.group,
              hca::create_flow_group(steering_.device(), number(), *first, *first + size - 1, match.criteria,
                                     match.criteria != 0 ? match.mask.bytes() : everything));
  if (!done) return fail(done.error());

  Chunk** at = &by_index_[family.priority];
  while (*at && (*at)->first < chunk.first) at = &(*at)->next_by_index;
  chunk.next_by_index = *at;
  *at = &chunk;
  chunk.next = std::move(family.chunks);
  family.chunks = std::move(*made);
  ++flow_groups_;
  return &chunk;
}

Result<RuleTable::Placement> RuleTable::insert(std::uint32_t priority, const Match& match,
                                               const Verdict& verdict) noexcept {
  Result<Family*> family = family_of(priority, match);
  if (!family) return fail(family.error());
  Chunk* chunk = (*family)->chunks.get();
  while (chunk && chunk->indices.full()) chunk = chunk->next.get();
  if (!chunk) {
    Result<Chunk*> grown = grow(**family, match);
    if (!grown) {
      drop_if_empty(**family);
      return fail(grown.error());
    }
    chunk = *grown;
  }

  Placement placement;
  placement.table_ = this;
  placement.chunk_ = chunk;
  placement.index_ = chunk->indices.take();
  ++entries_;
  const std::span<const std::byte> everything;
  const Destination to = verdict.to.value_or(Destination{});
  Result<> done =
      keep(placement.entry_,
           hca::create_flow_entry(
               steering_.device(),
               {.table = number(),
                .group = chunk->group.number(),
                .index = chunk->first + placement.index_,
                .value = match.criteria != 0 ? match.value.bytes() : everything,
                .action = verdict.to ? hca::EntryConfig::Action::forward : hca::EntryConfig::Action::drop,
                .destinations = {&to, verdict.to ? std::size_t{1} : std::size_t{0}},
                .counters = verdict.counters,
                .flow_tag = verdict.flow_tag}));
  if (!done) return fail(done.error());
  return placement;
}

RuleTable::Placement::~Placement() {
  if (!table_) return;
  entry_ = {};
  table_->remove(*chunk_, index_);
}

void RuleTable::remove(Chunk& chunk, std::uint32_t index) noexcept {
  chunk.indices.give_back(index);
  --entries_;
  if (chunk.indices.taken() != 0) return;

  Family& family = *chunk.family;
  Chunk** by_index = &by_index_[family.priority];
  while (*by_index != &chunk) by_index = &(*by_index)->next_by_index;
  *by_index = chunk.next_by_index;
  Owned<Chunk>* at = &family.chunks;
  while (at->get() != &chunk) at = &(*at)->next;
  Owned<Chunk> gone = std::move(*at);
  *at = std::move(gone->next);
  --flow_groups_;
  drop_if_empty(family);
}

void RuleTable::drop_if_empty(Family& family) noexcept {
  if (family.chunks) return;
  Owned<Family>* at = &families_;
  while (at->get() != &family) at = &(*at)->next;
  Owned<Family> gone = std::move(*at);
  *at = std::move(gone->next);
}

}  // namespace chime::net

// SPDX-License-Identifier: BSD-3-Clause
#include "model/hca.h"

#include "model/card.h"
#include "model/command/dispatch.h"
#include "prm/doorbell.h"

namespace chime::model {

Result<Owned<Hca>> Hca::create(const Profile& profile, const Surroundings& surroundings) noexcept {
  auto card = Card::create(profile, surroundings);
  if (!card) return fail(card.error());
  Owned<Hca> hca(new (std::nothrow) Hca(std::move(*card)));
  if (!hca) return fail(ENOMEM, "no memory for the software HCA");
  surroundings.wire.plug(hca->card_->engine.get());
  return hca;
}

Hca::Hca(Owned<Card> card) noexcept : card_(std::move(card)) {}

Hca::~Hca() {
  card_->around.wire.plug(nullptr);
}

void Hca::command(std::span<const std::byte> in, std::span<std::byte> out) noexcept {
  card_->host.refresh();
  execute(*card_, in, out);
}

void Hca::doorbell(std::uint32_t uar, std::uint32_t offset, std::uint64_t value) noexcept {
  Card& card = *card_;
  Uar* page = card.uars.find(uar);
  if (!page) {
    return card.find("doorbell.unknown-uar", Severity::error, uar,
                     "a doorbell at UAR %#x, which does not exist", uar);
  }
  card.host.refresh();
  // An EQ doorbell has 4 bytes; they lie first in the 8.
  auto first_word = [&] { return prm::Be32::from_raw(static_cast<std::uint32_t>(value)); };
  constexpr std::uint32_t end = prm::uar_blueflame + prm::uar_blueflames * prm::uar_blueflame_size;
  if (offset == prm::uar_cq_doorbell) {
    card.engine->ring_cq(*page, value);
  } else if (offset == prm::uar_eq_arm || offset == prm::uar_eq_update) {
    card.engine->ring_eq(*page, first_word(), offset == prm::uar_eq_arm);
  } else if (offset >= prm::uar_blueflame && offset < end) {
    // Of a BlueFlame copy of several words the first rings; the others are the WQE, which lies in memory too.
    if ((offset - prm::uar_blueflame) % prm::uar_blueflame_half == 0) card.engine->ring_send(*page, value);
  } else {
    card.find("doorbell.offset", Severity::error, uar,
              "a doorbell at offset %#x of UAR %#x: nothing is there", offset, uar);
  }
}

void Hca::replay_records(std::uint32_t uar) noexcept {
  card_->host.refresh();
  if (Uar* page = card_->uars.find(uar)) card_->engine->replay_records(*page);
}

unsigned Hca::step() noexcept {
  return card_->engine->run();
}

std::size_t Hca::count_objects(std::span<ObjectCount> counts) const noexcept {
  const Card& c = *card_;
  std::size_t n = 0;
  auto put = [&](Kind kind, std::uint32_t live) {
    if (n < counts.size()) counts[n++] = {name(kind), live};
  };
  auto put_table = [&](const auto& table) { put(table.kind(), table.live()); };
  put_table(c.user_contexts);
  put_table(c.uars);
  put_table(c.umems);
  put_table(c.pds);
  put_table(c.transport_domains);
  put_table(c.q_counters);
  put_table(c.flow_counters);
  put_table(c.mkeys);
  put_table(c.eqs);
  put_table(c.cqs);
  put_table(c.xrcds);
  put_table(c.srqs);
  put_table(c.tises);
  put_table(c.sqs);
  put_table(c.rqs);
  put_table(c.qps);
  put_table(c.rqts);
  put_table(c.tirs);
  put_table(c.flow_tables);
  put_table(c.flow_groups);
  put(Kind::flow_entry, c.flow_entries);
  return n;
}

}  // namespace chime::model

// SPDX-License-Identifier: BSD-3-Clause
#include "model/datapath/umr.h"

#include <algorithm>
#include <cstring>

#include "prm/wqe.h"

namespace chime::model {
namespace {

using M = prm::mkc;

constexpr std::uint32_t octword = 16;
constexpr std::uint32_t pages_in_octword = 2;
/// Software fills translations up to a cache line.
constexpr std::uint32_t octword_alignment = 4;
constexpr std::uint32_t head = sizeof(prm::WqeCtrl) + sizeof(prm::WqeUmr) + M::size;
constexpr unsigned min_log_page_size = 12;
constexpr std::uint64_t shape = prm::umr_mask_start_addr | prm::umr_mask_page_size;

/// What the request makes of the key's context.
struct Change {
  std::uint64_t start;
  std::uint64_t length;
  bool whole_space;
  std::uint8_t log_page_size;
  Pd* pd;
};

/// Where the translations come from, and go to.
struct Translations {
  const std::byte* in_line = nullptr;
  std::uint32_t lkey = 0;
  std::uint64_t address = 0;
  std::uint32_t bytes = 0;
  std::uint64_t first = 0;  ///< octwords
};

UmrOutcome read_change(const Hca::Card& card, const UmrQueue& queue, const Mkey& mkey, std::uint64_t mask,
                       prm::ConstView<M> context, Change& change) noexcept {
  change = {mkey.start, mkey.length, mkey.whole_space, mkey.log_page_size, mkey.pd.get()};
  if (mask & prm::umr_mask_start_addr) change.start = context.get(M::start_addr);
  if (mask & prm::umr_mask_len) {
    change.length = context.get(M::len);
    change.whole_space = context.get(M::length64);
  }
  if (mask & prm::umr_mask_page_size)
    change.log_page_size = static_cast<std::uint8_t>(context.get(M::log_page_size));
  if (mask & prm::umr_mask_pd) {
    change.pd = card.pds.find(context.get(M::pd));
    if (!change.pd || (!queue.every_domain && change.pd != queue.pd))
      return {Fault::umr_key, context.get(M::pd)};
  }
  const bool sized = mkey.mode == Mkey::Mode::translations || mkey.mode == Mkey::Mode::equal_pieces;
  if (sized && change.log_page_size < min_log_page_size && (mask & prm::umr_mask_page_size)) {
    return {Fault::umr_feature, change.log_page_size};
  }
  if ((mask & prm::umr_mask_bsf_en) && context.get(M::bsf_en)) return {Fault::umr_feature, 0};
  return {};
}

UmrOutcome read_translations(const Mkey& mkey, const prm::WqeUmr& umr, const std::byte* rest,
                             std::uint32_t room, Translations& translations) noexcept {
  const std::uint32_t octwords = umr.octwords;
  translations.bytes = octwords * octword;
  if (octwords == 0) return {};
  if (umr.flags & prm::umr_offset) {
    translations.first = std::uint64_t{umr.octword_offset_47_16} << 16 | umr.octword_offset;
  }
  const std::uint64_t most = (mkey.octwords + octword_alignment - 1) / octword_alignment * octword_alignment;
  if (translations.first > most || octwords > most - translations.first) return {Fault::umr_room, octwords};
  if (umr.flags & prm::umr_inline) {
    if (translations.bytes > room) return {Fault::umr_room, octwords};
    translations.in_line = rest;
    return {};
  }
  if (room < sizeof(prm::WqeData)) return {Fault::wqe_size, room};
  const auto& data = *reinterpret_cast<const prm::WqeData*>(rest);
  if (data.byte_count < translations.bytes) translations.bytes = data.byte_count / octword * octword;
  translations.lkey = data.lkey;
  translations.address = data.address;
  return {};
}

/// Room for what is to be written. Keys are made long before they are used, and most for more than they ever
/// hold.
bool make_room(Mkey& mkey, std::size_t octwords) noexcept {
  if (!mkey.indirect()) return mkey.own.grow(octwords * pages_in_octword).has_value();
  if (octwords <= mkey.table.size()) return true;
  auto more = Array<KeyPiece>::make(octwords, "pieces of a memory key");
  if (!more) return false;
  std::copy(mkey.table.begin(), mkey.table.end(), more->begin());
  mkey.table = std::move(*more);
  return true;
}

void write_octword(Hca::Card& card, Mkey& mkey, std::size_t at, const std::byte* from) noexcept {
  if (mkey.indirect()) {
    prm::KeyEntry entry;
    std::memcpy(&entry, from, sizeof entry);
    mkey.table[at] = {entry.address, entry.key, entry.byte_count};
    return;
  }
  constexpr std::uint64_t address = ~std::uint64_t{0xfff};
  for (std::uint32_t i = 0; i < pages_in_octword; ++i) {
    mkey.own.replace(card.host, at * pages_in_octword + i, prm::get_bits(from, i * 64, 64) & address);
  }
}

UmrOutcome write(Hca::Card& card, Keys& keys, const UmrQueue& queue, Mkey& mkey,
                 const Translations& translations) noexcept {
  std::size_t at = static_cast<std::size_t>(translations.first);
  if (translations.in_line) {
    for (std::uint32_t i = 0; i < translations.bytes; i += octword) {
      write_octword(card, mkey, at++, translations.in_line + i);
    }
    return {};
  }
  const Mkey* const source = card.mkeys.find(translations.lkey >> 8);
  const Pd* const pd = queue.every_domain && source ? source->pd.get() : queue.pd;
  std::uint64_t address = translations.address;
  alignas(8) std::byte whole[octword];
  std::uint32_t held = 0;
  for (std::uint32_t left = translations.bytes; left != 0;) {
    Fault fault = Fault::none;
    const Chunk chunk = keys.reach(translations.lkey, pd, Mkey::any_qpn, queue.reserved_lkey, address, left,
                                   local_read, fault);
    if (!chunk.data) return {fault, translations.lkey};
    for (std::size_t i = 0; i < chunk.length;) {
      const std::size_t part = std::min<std::size_t>(octword - held, chunk.length - i);
      std::memcpy(whole + held, chunk.data + i, part);
      held += static_cast<std::uint32_t>(part);
      i += part;
      if (held != octword) continue;
      write_octword(card, mkey, at++, whole);
      held = 0;
    }
    address += chunk.length;
    left -= static_cast<std::uint32_t>(chunk.length);
  }
  return {};
}

void take_rights(Mkey& mkey, std::uint64_t mask, prm::ConstView<M> context) noexcept {
  const auto take = [&](std::uint64_t bit, auto field, Rights right) {
    if (!(mask & bit)) return;
    const unsigned others = mkey.rights & ~static_cast<unsigned>(right);
    mkey.rights =
        static_cast<std::uint8_t>(others | (context.get(field) ? static_cast<unsigned>(right) : 0u));
  };
  take(prm::umr_mask_lr, M::lr, local_read);
  take(prm::umr_mask_lw, M::lw, local_write);
  take(prm::umr_mask_rr, M::rr, remote_read);
  take(prm::umr_mask_rw, M::rw, remote_write);
  take(prm::umr_mask_a, M::a, remote_atomic);
}

void take(Mkey& mkey, std::uint64_t mask, prm::ConstView<M> context, const Change& change) noexcept {
  take_rights(mkey, mask, context);
  mkey.start = change.start;
  mkey.length = change.length;
  mkey.whole_space = change.whole_space;
  mkey.log_page_size = change.log_page_size;
  if (change.pd != mkey.pd.get()) mkey.pd = Ref<Pd>(change.pd);
  if (mask & prm::umr_mask_key) mkey.key_byte = static_cast<std::uint8_t>(context.get(M::mkey_7_0));
  if (mask & prm::umr_mask_qpn) mkey.qpn = context.get(M::qpn);
  if (mask & prm::umr_mask_en_rinval) mkey.remote_invalidate = context.get(M::en_rinval);
  if (mask & prm::umr_mask_free) mkey.is_free = context.get(M::free);
  if (mkey.mode != Mkey::Mode::translations) return;
  const std::uint64_t offset = mkey.start & ((std::uint64_t{1} << mkey.log_page_size) - 1);
  // Another shape looks all pages up anew: once, when the key is used.
  if (mask & shape || mkey.own.log_page_size() != mkey.log_page_size) {
    mkey.own.reshape(mkey.log_page_size, offset);
  }
}

}  // namespace

UmrOutcome execute_umr(Hca::Card& card, Keys& keys, const UmrQueue& queue, const std::byte* wqe,
                       std::uint32_t ds) noexcept {
  if (ds * prm::wqe_unit < head) return {Fault::wqe_size, ds};
  const auto& ctrl = *reinterpret_cast<const prm::WqeCtrl*>(wqe);
  const auto& umr = *reinterpret_cast<const prm::WqeUmr*>(wqe + sizeof(prm::WqeCtrl));
  const prm::ConstView<M> context({wqe + sizeof(prm::WqeCtrl) + sizeof(prm::WqeUmr), M::size});
  const std::uint64_t mask = umr.mkey_mask;
  const std::uint32_t key = ctrl.imm;
  Mkey* const mkey = card.mkeys.find(key >> 8);
  if (!mkey || (!queue.every_domain && mkey->pd.get() != queue.pd)) return {Fault::umr_key, key};
  if (!mkey->umr_enabled) return {Fault::umr_disabled, key};
  if (((umr.flags & prm::umr_check_free) && mkey->is_free) ||
      ((umr.flags & prm::umr_check_not_free) && !mkey->is_free)) {
    return {Fault::umr_state, key};
  }
  Change change;
  if (const UmrOutcome outcome = read_change(card, queue, *mkey, mask, context, change);
      outcome.fault != Fault::none) {
    return outcome;
  }
  Translations translations;
  const auto room = static_cast<std::uint32_t>(ds * prm::wqe_unit) - head;
  if (const UmrOutcome outcome = read_translations(*mkey, umr, wqe + head, room, translations);
      outcome.fault != Fault::none) {
    return outcome;
  }
  if (translations.bytes != 0) {
    const std::size_t end = static_cast<std::size_t>(translations.first) + translations.bytes / octword;
    if (!make_room(*mkey, end)) return {Fault::umr_memory, key};
  }
  take(*mkey, mask, context, change);
  const UmrOutcome outcome = write(card, keys, queue, *mkey, translations);
  keys.forget();
  return outcome;
}

}  // namespace chime::model

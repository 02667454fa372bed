// SPDX-License-Identifier: BSD-3-Clause
#include <cstring>

#include "model/command/handlers.h"
#include "model/command/pages.h"
#include "prm/wqe.h"

namespace chime::model {
namespace {

using M = prm::mkc;

std::uint8_t rights_of(prm::ConstView<M> mkc) noexcept {
  unsigned rights = 0;
  if (mkc.get(M::lr)) rights |= local_read;
  if (mkc.get(M::lw)) rights |= local_write;
  if (mkc.get(M::rr)) rights |= remote_read;
  if (mkc.get(M::rw)) rights |= remote_write;
  if (mkc.get(M::a)) rights |= remote_atomic;
  return static_cast<std::uint8_t>(rights);
}

/// The memory of a key that a umem's pages translate.
bool take_umem(Command& c, In<prm::create_mkey> in, Mkey& mkey) noexcept {
  Umem* umem = c.find(c.card.umems, in.get(prm::create_mkey_in::mkey_umem_id));
  if (!umem) return false;
  // The key's first byte lies at the offset; umem pages need no octwords of the command.
  const std::uint64_t offset = in.get(prm::create_mkey_in::mkey_umem_offset);
  const std::uint64_t end = umem->pages.length();
  if (offset > end || mkey.length > end - offset) {
    c.refuse(Rule::outside_umem, umem->number,
             "the key covers %#llx bytes from offset %#llx of umem %#x, which has %#llx",
             static_cast<unsigned long long>(mkey.length), static_cast<unsigned long long>(offset),
             umem->number, static_cast<unsigned long long>(end));
    return false;
  }
  mkey.mode = Mkey::Mode::umem;
  mkey.page_start = offset;
  mkey.umem = Ref<Umem>(umem);
  return true;
}

/// The memory of a key that a list of pages in the command translates.
bool take_list(Command& c, In<prm::create_mkey> in, prm::ConstView<M> mkc, Mkey& mkey) noexcept {
  if (c.uid != 0) {
    c.refuse(Rule::mkey_physical, 0, "user context %u gives page addresses; its keys need a umem", c.uid);
    return false;
  }
  PageListIn list{.bytes = in.bytes().subspan(prm::create_mkey_in::size),
                  .count = 0,
                  .log_page_size = mkc.get(M::log_page_size),
                  .page_offset = 0};
  if (list.log_page_size >= 12 && list.log_page_size < 64) {
    const std::uint64_t page = std::uint64_t{1} << list.log_page_size;
    list.page_offset = mkey.start & (page - 1);
    // Translations come in octwords of two pages.
    list.count = std::uint64_t{in.get(prm::create_mkey_in::translations_octword_actual_size)} * 2;
    const std::uint64_t needed = (list.page_offset + mkey.length + page - 1) / page;
    if (list.count < needed) {
      c.refuse(Rule::mkey_length, 0, "the key covers %llu pages, the command translates %llu",
               static_cast<unsigned long long>(needed), static_cast<unsigned long long>(list.count));
      return false;
    }
    list.count = needed;
  }
  if (!read_pages(c, list, mkey.own)) return false;
  mkey.own.resolve(c.card.host);
  mkey.mode = Mkey::Mode::translations;
  return true;
}

/// Pieces of other keys, from the list in the command: keys of whoever asks, which is checked when they are
/// used.
bool take_pieces(Command& c, In<prm::create_mkey> in, Mkey& mkey) noexcept {
  const std::uint64_t count = in.get(prm::create_mkey_in::translations_octword_actual_size);
  const auto list = in.bytes().subspan(prm::create_mkey_in::size);
  if (count > mkey.octwords) {
    c.refuse(Rule::mkey_length, 0, "%llu pieces follow, the key has room for %u (translations_octword_size)",
             static_cast<unsigned long long>(count), mkey.octwords);
    return false;
  }
  if (list.size() / sizeof(prm::KeyEntry) < count) {
    c.refuse(Rule::page_list_length, 0, "%llu pieces are announced, the list has %zu",
             static_cast<unsigned long long>(count), list.size() / sizeof(prm::KeyEntry));
    return false;
  }
  if (count != 0 && !c.make_array(mkey.table, static_cast<std::size_t>(count), "pieces of a memory key")) {
    return false;
  }
  for (std::size_t i = 0; i < mkey.table.size(); ++i) {
    prm::KeyEntry entry;
    std::memcpy(&entry, list.data() + i * sizeof entry, sizeof entry);
    mkey.table[i] = {entry.address, entry.key, entry.byte_count};
  }
  return true;
}

bool take_memory(Command& c, In<prm::create_mkey> in, prm::ConstView<M> mkc, Mkey& mkey) noexcept {
  const std::uint32_t mode =
      mkc.get(M::access_mode_4_2) << 2 | static_cast<std::uint32_t>(mkc.get(M::access_mode_1_0));
  const bool klm = mode == static_cast<std::uint32_t>(prm::mkc_access_mode::klm);
  if (klm || mode == static_cast<std::uint32_t>(prm::mkc_access_mode::ksm)) {
    mkey.mode = klm ? Mkey::Mode::pieces : Mkey::Mode::equal_pieces;
    return take_pieces(c, in, mkey);
  }
  const bool later = mkey.umr_enabled && in.get(prm::create_mkey_in::translations_octword_actual_size) == 0;
  if (in.get(prm::create_mkey_in::mkey_umem_valid)) {
    if (mode == static_cast<std::uint32_t>(prm::mkc_access_mode::mtt)) return take_umem(c, in, mkey);
  } else if (mode == static_cast<std::uint32_t>(prm::mkc_access_mode::pa)) {
    if (c.uid == 0) return true;
    c.refuse(Rule::mkey_physical, 0, "user context %u asks for a key of physical addresses", c.uid);
    return false;
  } else if (mode == static_cast<std::uint32_t>(prm::mkc_access_mode::mtt)) {
    if (!later) return take_list(c, in, mkc, mkey);
    mkey.mode = Mkey::Mode::translations;
    return true;
  }
  c.refuse(Rule::mkey_mode, 0, "access mode %u; this card has 0 (physical), 1 (pages), 2 (KLM) and 3 (KSM)",
           mode);
  return false;
}

prm::mkc_access_mode mode_of(const Mkey& mkey) noexcept {
  switch (mkey.mode) {
    case Mkey::Mode::physical:
      return prm::mkc_access_mode::pa;
    case Mkey::Mode::pieces:
      return prm::mkc_access_mode::klm;
    case Mkey::Mode::equal_pieces:
      return prm::mkc_access_mode::ksm;
    case Mkey::Mode::umem:
    case Mkey::Mode::translations:
      break;
  }
  return prm::mkc_access_mode::mtt;
}

}  // namespace

void create_mkey(Command& c, In<prm::create_mkey> in, Out<prm::create_mkey> out) noexcept {
  const auto mkc = in.at(prm::create_mkey_in::memory_key_mkey_entry);
  if (!c.absent(mkc.get(M::bsf_en), Rule::mkey_feature, "bsf_en")) return;
  if (mkc.get(M::free) && !mkc.get(M::umr_en)) {
    return c.refuse(Rule::mkey_feature, 0, "free without umr_en: nothing could make use of the key");
  }
  Pd* pd = c.find(c.card.pds, mkc.get(M::pd));
  if (!pd) return;
  auto mkey = c.make<Mkey>();
  if (!mkey) return;

  mkey->pd = Ref<Pd>(pd);
  mkey->start = mkc.get(M::start_addr);
  mkey->length = mkc.get(M::len);
  mkey->whole_space = mkc.get(M::length64);
  mkey->rights = rights_of(mkc);
  mkey->key_byte = static_cast<std::uint8_t>(mkc.get(M::mkey_7_0));
  mkey->qpn = mkc.get(M::qpn);
  mkey->is_free = mkc.get(M::free);
  mkey->umr_enabled = mkc.get(M::umr_en);
  mkey->remote_invalidate = mkc.get(M::en_rinval);
  mkey->log_page_size = static_cast<std::uint8_t>(mkc.get(M::log_page_size));
  mkey->octwords = mkc.get(M::translations_octword_size);
  if ((mkey->rights & remote_atomic) && !c.card.capabilities.general().get(prm::cmd_hca_cap::atomic)) {
    return c.refuse(Rule::mkey_rights, 0, "remote atomic access; this card has no atomics");
  }
  if (!take_memory(c, in, mkc, *mkey)) return;
  const bool physical = mkey->mode == Mkey::Mode::physical;
  if (mkey->whole_space && !physical && !mkey->indirect()) {
    return c.refuse(Rule::mkey_length, 0, "length64 is for physical addresses only");
  }
  const bool later = mkey->umr_enabled && mkey->length == 0;
  if (!mkey->whole_space && !later && (mkey->length == 0 || mkey->start + mkey->length - 1 < mkey->start)) {
    return c.refuse(Rule::mkey_length, 0, "the range of %#llx bytes at %#llx is empty or wraps round",
                    static_cast<unsigned long long>(mkey->length),
                    static_cast<unsigned long long>(mkey->start));
  }
  if (auto* made = c.publish(c.card.mkeys, std::move(mkey))) {
    out.set(prm::create_mkey_out::mkey_index, made->number);
  }
}

void query_mkey(Command& c, In<prm::query_mkey> in, Out<prm::query_mkey> out) noexcept {
  const Mkey* mkey = c.find(c.card.mkeys, in.get(prm::query_mkey_in::mkey_index));
  if (!mkey) return;
  out.at(prm::query_mkey_out::memory_key_mkey_entry)
      .set(M::access_mode_1_0, mode_of(*mkey))
      .set(M::free, mkey->is_free)
      .set(M::umr_en, mkey->umr_enabled)
      .set(M::en_rinval, mkey->remote_invalidate)
      .set(M::log_page_size, mkey->log_page_size)
      .set(M::translations_octword_size, mkey->octwords)
      .set(M::lr, (mkey->rights & local_read) != 0)
      .set(M::lw, (mkey->rights & local_write) != 0)
      .set(M::rr, (mkey->rights & remote_read) != 0)
      .set(M::rw, (mkey->rights & remote_write) != 0)
      .set(M::a, (mkey->rights & remote_atomic) != 0)
      .set(M::qpn, mkey->qpn)
      .set(M::mkey_7_0, mkey->key_byte)
      .set(M::length64, mkey->whole_space)
      .set(M::pd, mkey->pd->number)
      .set(M::start_addr, mkey->start)
      .set(M::len, mkey->length);
}

void destroy_mkey(Command& c, In<prm::destroy_mkey> in, Out<prm::destroy_mkey>) noexcept {
  if (auto* mkey = c.find(c.card.mkeys, in.get(prm::destroy_mkey_in::mkey_index))) {
    c.retire(c.card.mkeys, *mkey);
  }
}

}  // namespace chime::model

// SPDX-License-Identifier: BSD-3-Clause
#include "model/command/domain.h"
#include "model/command/handlers.h"

namespace chime::model {
namespace {

using T = prm::tirc;
using Select = prm::rx_hash_field_select;
using Ethernet = prm::per_protocol_networking_offload_caps;

/// All that a TIR's context says of hashing, read before anything is changed.
struct HashIn {
  Tir::HashFunction function = Tir::HashFunction::none;
  bool symmetric = false;
  std::array<std::uint8_t, 40> key{};
  HashFields outer;
  HashFields inner;
};

HashFields read_fields(prm::ConstView<Select> select) noexcept {
  return {.ipv6 = select.get(Select::l3_prot_type) == prm::rx_hash_l3_type::ipv6,
          .udp = select.get(Select::l4_prot_type) == prm::rx_hash_l4_type::udp,
          .selected = static_cast<std::uint8_t>(select.get(Select::selected_fields) & 0xff)};
}

bool fields_known(Command& c, prm::ConstView<Select> select) noexcept {
  constexpr std::uint32_t known = HashFields::source_ip | HashFields::destination_ip | HashFields::ipsec_spi |
                                  HashFields::l4_source_port | HashFields::l4_destination_port;
  const std::uint32_t selected = select.get(Select::selected_fields);
  if (!(selected & ~known)) return true;
  c.refuse(Rule::tir_hash, 0, "selected_fields %#x; this card hashes %#x", selected, known);
  return false;
}

bool read_hash(Command& c, prm::ConstView<T> tirc, HashIn& hash) noexcept {
  const auto function = tirc.get(T::rx_hash_fn);
  switch (function) {
    case prm::rx_hash_fn::none:
      hash.function = Tir::HashFunction::none;
      break;
    case prm::rx_hash_fn::inverted_xor8:
      hash.function = Tir::HashFunction::inverted_xor8;
      break;
    case prm::rx_hash_fn::toeplitz:
      hash.function = Tir::HashFunction::toeplitz;
      break;
    default:
      c.refuse(Rule::tir_hash, 0, "rx_hash_fn %u; there are 0 none, 1 inverted XOR8, 2 Toeplitz",
               static_cast<unsigned>(function));
      return false;
  }
  const auto outer = tirc.at(T::rx_hash_field_selector_outer);
  const auto inner = tirc.at(T::rx_hash_field_selector_inner);
  if (!fields_known(c, outer) || !fields_known(c, inner)) return false;
  hash.symmetric = tirc.get(T::rx_hash_symmetric);
  for (std::size_t i = 0; i < 10; ++i) {
    const std::uint32_t word = tirc.get(T::rx_hash_toeplitz_key, i);
    for (std::size_t b = 0; b < 4; ++b) hash.key[i * 4 + b] = static_cast<std::uint8_t>(word >> (24 - b * 8));
  }
  hash.outer = read_fields(outer);
  hash.inner = read_fields(inner);
  return true;
}

void put_hash(const HashIn& hash, Tir& tir) noexcept {
  tir.hash = hash.function;
  tir.symmetric = hash.symmetric;
  tir.toeplitz_key = hash.key;
  tir.outer = hash.outer;
  tir.inner = hash.inner;
}

HashIn hash_of(const Tir& tir) noexcept {
  return {tir.hash, tir.symmetric, tir.toeplitz_key, tir.outer, tir.inner};
}

bool loopback_block_allowed(Command& c, std::uint32_t block) noexcept {
  const auto caps = c.card.capabilities.general();
  const auto ethernet =
      c.card.capabilities.view<Ethernet>(static_cast<unsigned>(prm::hca_cap_type::ethernet_offloads));
  const bool unicast = ethernet.get(Ethernet::self_lb_uc) || caps.get(prm::cmd_hca_cap::disable_local_lb_uc);
  const bool multicast = ethernet.get(Ethernet::self_lb_mc) ||
                         caps.get(prm::cmd_hca_cap::disable_local_lb_mc) ||
                         caps.get(prm::cmd_hca_cap::block_lb_mc);
  if ((block & Tir::self_unicast && !unicast) || (block & Tir::self_multicast && !multicast)) {
    c.refuse(Rule::loopback_block, 0, "self_lb_block %#x; this card has a choice for %s", block,
             multicast ? "multicast (2)" : "nothing");
    return false;
  }
  return true;
}

}  // namespace

void create_tir(Command& c, In<prm::create_tir> in, Out<prm::create_tir> out) noexcept {
  const auto tirc = in.at(prm::create_tir_in::ctx);
  if (!c.absent(tirc.get(T::tls_en), Rule::tir_feature, "tls_en") ||
      !c.absent(tirc.get(T::packet_merge_mask), Rule::tir_feature, "packet_merge_mask") ||
      !loopback_block_allowed(c, tirc.get(T::self_lb_block))) {
    return;
  }
  auto tir = c.make<Tir>();
  HashIn hash;
  if (!tir || !read_hash(c, tirc, hash)) return;
  if (!read_transport_domain(c, tirc.get(T::transport_domain), tir->transport_domain)) return;

  switch (tirc.get(T::disp_type)) {
    case prm::tirc_disp_type::direct: {
      Rq* rq = c.find(c.card.rqs, tirc.get(T::inline_rqn));
      if (!rq) return;
      tir->rq = Ref<Rq>(rq);
      break;
    }
    case prm::tirc_disp_type::indirect: {
      Rqt* rqt = c.find(c.card.rqts, tirc.get(T::indirect_table));
      if (!rqt) return;
      tir->rqt = Ref<Rqt>(rqt);
      break;
    }
    default:
      return c.refuse(Rule::tir_dispatch, 0, "disp_type %u; there are 0 direct, 1 indirect",
                      static_cast<unsigned>(tirc.get(T::disp_type)));
  }
  tir->tunneled_offload = tirc.get(T::tunneled_offload_en);
  tir->self_loopback = static_cast<std::uint8_t>(tirc.get(T::self_lb_block));
  put_hash(hash, *tir);
  if (!c.good(Engine::prepare(*tir), "the hash")) return;
  if (auto* made = c.publish(c.card.tirs, std::move(tir))) out.set(prm::create_tir_out::tirn, made->number);
}

void modify_tir(Command& c, In<prm::modify_tir> in, Out<prm::modify_tir>) noexcept {
  using Mask = prm::modify_tir_bitmask;
  Tir* tir = c.find(c.card.tirs, in.get(prm::modify_tir_in::tirn));
  if (!tir) return;
  const auto tirc = in.at(prm::modify_tir_in::ctx);
  const auto mask = in.at(prm::modify_tir_in::bitmask);
  if (!c.absent(mask.get(Mask::packet_merge) ? tirc.get(T::packet_merge_mask) : 0, Rule::tir_feature,
                "packet_merge_mask")) {
    return;
  }
  if (mask.get(Mask::self_lb_en)) {
    const auto ethernet =
        c.card.capabilities.view<Ethernet>(static_cast<unsigned>(prm::hca_cap_type::ethernet_offloads));
    if (!ethernet.get(Ethernet::self_lb_en_modifiable)) {
      return c.refuse(Rule::tir_modify, tir->number,
                      "self_lb_block can't be changed (self_lb_en_modifiable)");
    }
    if (!loopback_block_allowed(c, tirc.get(T::self_lb_block))) return;
  }
  if (mask.get(Mask::hash)) {
    HashIn hash;
    if (!read_hash(c, tirc, hash)) return;
    const HashIn before = hash_of(*tir);
    put_hash(hash, *tir);
    if (!c.good(Engine::prepare(*tir), "the hash")) return put_hash(before, *tir);
  }
  if (mask.get(Mask::self_lb_en)) {
    tir->self_loopback = static_cast<std::uint8_t>(tirc.get(T::self_lb_block));
  }
}

void query_tir(Command& c, In<prm::query_tir> in, Out<prm::query_tir> out) noexcept {
  const Tir* tir = c.find(c.card.tirs, in.get(prm::query_tir_in::tirn));
  if (!tir) return;
  const auto tirc = out.at(prm::query_tir_out::tir_context);
  tirc.set(T::disp_type, tir->rqt ? prm::tirc_disp_type::indirect : prm::tirc_disp_type::direct)
      .set(T::inline_rqn, tir->rq ? tir->rq->number : 0)
      .set(T::indirect_table, tir->rqt ? tir->rqt->number : 0)
      .set(T::rx_hash_symmetric, tir->symmetric)
      .set(T::tunneled_offload_en, tir->tunneled_offload)
      .set(T::rx_hash_fn, static_cast<prm::rx_hash_fn>(tir->hash))
      .set(T::self_lb_block, tir->self_loopback)
      .set(T::transport_domain, number_of(tir->transport_domain));
  for (std::size_t i = 0; i < 10; ++i) {
    std::uint32_t word = 0;
    for (std::size_t b = 0; b < 4; ++b) word = word << 8 | tir->toeplitz_key[i * 4 + b];
    tirc.set(T::rx_hash_toeplitz_key, i, word);
  }
  auto put = [](prm::View<Select> select, const HashFields& fields) {
    select.set(Select::l3_prot_type, fields.ipv6 ? prm::rx_hash_l3_type::ipv6 : prm::rx_hash_l3_type::ipv4)
        .set(Select::l4_prot_type, fields.udp ? prm::rx_hash_l4_type::udp : prm::rx_hash_l4_type::tcp)
        .set(Select::selected_fields, fields.selected);
  };
  put(tirc.at(T::rx_hash_field_selector_outer), tir->outer);
  put(tirc.at(T::rx_hash_field_selector_inner), tir->inner);
}

void destroy_tir(Command& c, In<prm::destroy_tir> in, Out<prm::destroy_tir>) noexcept {
  if (auto* tir = c.find(c.card.tirs, in.get(prm::destroy_tir_in::tirn))) c.retire(c.card.tirs, *tir);
}

}  // namespace chime::model

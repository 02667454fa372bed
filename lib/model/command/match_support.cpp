// SPDX-License-Identifier: BSD-3-Clause
#include <cstring>

#include "model/command/steering.h"

/// @file
/// What a flow group may match on: the fields that ft_field_support names, as far as the model parses them,
/// as a mask over the parameters.

namespace chime::model {
namespace {

using L = prm::fte_match_set_lyr_2_4;
using M = prm::fte_match_set_misc;
using S = prm::flow_table_fields_supported;
using P = prm::fte_match_param;

constexpr std::size_t words_of_part = 16;

/// Bytes of the parameters, all ones where the card matches.
using Allowed = prm::Box<P>;

template <class Part>
class Marker {
 public:
  Marker(prm::ConstView<S> support, prm::View<Part> part) noexcept : support_(support), part_(part) {}

  template <class SupportField, class... Fields>
  const Marker& operator()(SupportField supported, Fields... fields) const noexcept {
    if (support_.get(supported)) (part_.set(fields, ~std::uint32_t{0}), ...);
    return *this;
  }

 private:
  prm::ConstView<S> support_;
  prm::View<Part> part_;
};

void mark_addresses(bool source, bool destination, prm::View<L> part) noexcept {
  const auto bytes = part.bytes();
  if (source) std::memset(bytes.data() + 0x20, 0xff, 16);
  if (destination) std::memset(bytes.data() + 0x30, 0xff, 16);
}

void mark_outer(prm::ConstView<S> s, Allowed& allowed) noexcept {
  Marker<L>(s, allowed.at(P::outer_headers))(S::outer_dmac, L::dmac_47_16, L::dmac_15_0)(
      S::outer_smac, L::smac_47_16, L::smac_15_0)(S::outer_ether_type, L::ethertype)(
      S::outer_ip_version, L::ip_version)(S::outer_first_prio, L::first_prio)(
      S::outer_first_cfi, L::first_cfi)(S::outer_first_vid, L::first_vid, L::cvlan_tag, L::svlan_tag)(
      S::outer_ipv4_ttl, L::ttl_hoplimit)(S::outer_frag, L::frag)(S::outer_ip_protocol, L::ip_protocol)(
      S::outer_ip_ecn, L::ip_ecn)(S::outer_ip_dscp, L::ip_dscp)(S::outer_udp_sport, L::udp_sport)(
      S::outer_udp_dport, L::udp_dport)(S::outer_tcp_sport, L::tcp_sport)(S::outer_tcp_dport, L::tcp_dport)(
      S::outer_tcp_flags, L::tcp_flags);
  mark_addresses(s.get(S::outer_sip), s.get(S::outer_dip), allowed.at(P::outer_headers));
}

void mark_misc(prm::ConstView<S> s, Allowed& allowed) noexcept {
  Marker<M>(s, allowed.at(P::misc_parameters))(S::outer_second_prio, M::outer_second_prio)(
      S::outer_second_cfi, M::outer_second_cfi)(S::outer_second_vid, M::outer_second_vid,
                                                M::outer_second_cvlan_tag, M::outer_second_svlan_tag)(
      S::outer_esp_spi, M::outer_esp_spi);
}

}  // namespace

bool read_mask(Command& c, std::uint32_t criteria_enable, std::span<const std::byte> param,
               Array<MatchWord>& mask) noexcept {
  Allowed allowed;
  const auto support = table_properties(c.card).at(prm::flow_table_prop_layout::ft_field_support);
  mark_outer(support, allowed);
  mark_misc(support, allowed);

  auto word_at = [](std::span<const std::byte> bytes, std::size_t i) {
    std::uint32_t word;
    std::memcpy(&word, bytes.data() + i * 4, 4);
    return word;
  };
  std::size_t count = 0;
  for (std::size_t i = 0; i < match_words; ++i) {
    const std::uint32_t word = word_at(param, i);
    if (!word || !(criteria_enable >> (i / words_of_part) & 1)) continue;
    const std::uint32_t beyond = word & ~word_at(allowed.bytes(), i);
    if (beyond) {
      c.refuse(Rule::group_criteria, 0,
               "bits %#x of the word at %#zx of match_criteria: this card does not match on that "
               "(ft_field_support)",
               prm::host_to_be(beyond), i * 4);
      return false;
    }
    ++count;
  }
  if (!c.make_array(mask, count, "a flow group's mask")) return false;
  std::size_t at = 0;
  for (std::size_t i = 0; at < count; ++i) {
    const std::uint32_t word = word_at(param, i);
    if (word && criteria_enable >> (i / words_of_part) & 1)
      mask[at++] = {static_cast<std::uint16_t>(i), word};
  }
  return true;
}

}  // namespace chime::model

// SPDX-License-Identifier: BSD-3-Clause
#include "flow/item.h"

#include <algorithm>

namespace chime::net {

namespace {

bool has(const std::array<std::byte, prm::flow_table_fields_supported::size>& fields,
         Capability capability) noexcept {
  return prm::get_bits(fields.data(), capability, 1) != 0;
}

/// @param whole the mask has all bits of the field
FlowResult<> check_capability(const PatternState& state, const rte_flow_item& item, const char* field,
                              Capability capability, bool whole) noexcept {
  if (capability == no_capability) return {};
  if (!has(state.limits.fields, capability))
    return flow_fail(RTE_FLOW_ERROR_TYPE_ITEM, &item, ENOTSUP, "item %zu: this device can't match %s",
                     state.index, field);
  if (!whole && !has(state.limits.masked_fields, capability))
    return flow_fail(RTE_FLOW_ERROR_TYPE_ITEM_MASK, item.mask, ENOTSUP,
                     "item %zu: this device matches all bits of %s or none, not under a mask of some",
                     state.index, field);
  return {};
}

void enable(Match& match, unsigned bit) noexcept {
  match.criteria |= bit < misc(prm::fte_match_set_misc::gre_c_present) ? match_outer : match_misc;
}

}  // namespace

FlowResult<> PatternState::add_bytes(const rte_flow_item& item, const char* field, Bit at,
                                     Capability capability, std::span<const std::uint8_t> spec,
                                     std::span<const std::uint8_t> mask) noexcept {
  const bool whole = std::ranges::all_of(mask, [](std::uint8_t byte) { return byte == 0xff; });
  if (FlowResult<> done = check_capability(*this, item, field, capability, whole); !done) return done;
  std::byte* masks = match.mask.bytes().data() + at / 8;
  std::byte* values = match.value.bytes().data() + at / 8;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    masks[i] |= static_cast<std::byte>(mask[i]);
    values[i] |= static_cast<std::byte>(spec[i] & mask[i]);
  }
  enable(match, at);
  return {};
}

FlowResult<> PatternState::add(const rte_flow_item& item, const char* field, Bit at, unsigned width,
                               Capability capability, std::uint32_t spec, std::uint32_t mask) noexcept {
  if (mask == 0) return {};
  const bool whole = mask == (width < 32 ? (1u << width) - 1 : 0xffffffffu);
  if (FlowResult<> done = check_capability(*this, item, field, capability, whole); !done) return done;
  prm::set_bits(match.mask.bytes().data(), at, width, mask);
  prm::set_bits(match.value.bytes().data(), at, width, spec & mask);
  enable(match, at);
  return {};
}

bool FieldValue::range() const noexcept {
  return !std::ranges::equal(last, spec) &&
         !std::ranges::all_of(last, [](std::uint8_t byte) { return byte == 0; });
}

std::uint32_t FieldValue::number(std::span<const std::uint8_t> bytes) noexcept {
  std::uint32_t value = 0;
  for (std::uint8_t byte : bytes) value = value << 8 | byte;
  return value;
}

}  // namespace chime::net

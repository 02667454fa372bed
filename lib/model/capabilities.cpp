// SPDX-License-Identifier: BSD-3-Clause
#include "model/capabilities.h"

namespace chime::model {

Result<> Capabilities::add(unsigned type) noexcept {
  if (type >= max_types) return fail(EINVAL, "capability type %#x; types are below %#x", type, max_types);
  if (pairs_[type]) return {};
  auto pair = make_owned<Pair>("capabilities");
  if (!pair) return fail(pair.error());
  pairs_[type] = std::move(*pair);
  return {};
}

std::span<std::byte> Capabilities::maximum(unsigned type) noexcept {
  if (!has(type)) return {};
  return pairs_[type]->maximum;
}

std::span<std::byte> Capabilities::current(unsigned type) noexcept {
  if (!has(type)) return {};
  return pairs_[type]->current;
}

std::span<const std::byte> Capabilities::maximum(unsigned type) const noexcept {
  if (!has(type)) return {};
  return pairs_[type]->maximum;
}

std::span<const std::byte> Capabilities::current(unsigned type) const noexcept {
  if (!has(type)) return {};
  return pairs_[type]->current;
}

Result<Capabilities> Capabilities::clone() const noexcept {
  Capabilities copy;
  for (unsigned type = 0; type < max_types; ++type) {
    if (!pairs_[type]) continue;
    if (auto added = copy.add(type); !added) return fail(added.error());
    *copy.pairs_[type] = *pairs_[type];
  }
  return copy;
}

}  // namespace chime::model

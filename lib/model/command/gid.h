// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "model/object/gid.h"

namespace chime::model {

/// @param field of 16 bytes, each a field of its own
template <class View, class Field>
GidBytes read_gid(const View& view, Field field) noexcept {
  GidBytes gid{};
  for (std::size_t i = 0; i < gid.size(); ++i) gid[i] = static_cast<std::uint8_t>(view.get(field, i));
  return gid;
}

template <class View, class Field>
void write_gid(const GidBytes& gid, const View& view, Field field) noexcept {
  for (std::size_t i = 0; i < gid.size(); ++i) view.set(field, i, std::uint32_t{gid[i]});
}

}  // namespace chime::model

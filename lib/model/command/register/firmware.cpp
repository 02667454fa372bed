// SPDX-License-Identifier: BSD-3-Clause
#include "model/command/register/register.h"

/// @file
/// The firmware's components. The model has one, that boots it, and no update of it.

namespace chime::model {
namespace {

bool only_component(Command& c, std::uint32_t index) noexcept {
  if (index == 0) return true;
  c.refuse(Rule::register_value, index, "component_index %u; there is component 0", index);
  return false;
}

}  // namespace

void mcqs(const RegisterAccess<prm::mcqs_reg>& a) noexcept {
  using R = prm::mcqs_reg;
  if (!only_component(a.c, a.in.get(R::component_index))) return;
  a.out.set(R::last_index_flag, 1).set(R::identifier, prm::mcqs_identifier::boot_img);
}

void mcqi(const RegisterAccess<prm::mcqi_reg>& a) noexcept {
  using R = prm::mcqi_reg;
  using V = prm::mcqi_version;
  if (!only_component(a.c, a.in.get(R::component_index))) return;
  const auto type = a.in.get(R::info_type);
  if (type != prm::mcqi_info_type::version) {
    return a.c.refuse(Rule::register_value, static_cast<std::uint32_t>(type),
                      "info_type %u; the model tells 1, the version", static_cast<unsigned>(type));
  }
  const auto data = a.out.bytes().subspan(R::size);
  if (a.in.get(R::offset) != 0 || a.in.get(R::data_size) < V::size || data.size() < V::size) {
    return a.c.refuse(Rule::register_value, a.in.get(R::data_size),
                      "offset %u, data_size %u, room for %zu; the version has %zu bytes and is read whole",
                      a.in.get(R::offset), a.in.get(R::data_size), data.size(), V::size);
  }
  const Identity& id = a.c.card.identity;
  a.out.set(R::info_size, V::size);
  prm::View<V>(data).set(V::version, (id.firmware_major & 0xffu) << 24 | (id.firmware_minor & 0xffu) << 16 |
                                         (id.firmware_subminor & 0xffffu));
}

}  // namespace chime::model

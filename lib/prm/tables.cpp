// SPDX-License-Identifier: BSD-3-Clause
#include "prm/tables.h"

#include <algorithm>

namespace chime::prm {

namespace {

template <class Info>
const Info* by_name(std::span<const Info> sorted, std::string_view name) noexcept {
  const auto at =
      std::lower_bound(sorted.begin(), sorted.end(), name,
                       [](const Info& info, std::string_view wanted) { return info.name < wanted; });
  return at != sorted.end() && at->name == name ? &*at : nullptr;
}

template <class Info>
const Info* any_by_name(std::span<const Info> infos, std::string_view name) noexcept {
  const auto at =
      std::find_if(infos.begin(), infos.end(), [&](const Info& info) { return info.name == name; });
  return at != infos.end() ? &*at : nullptr;
}

}  // namespace

const EnumInfo* find_enum(std::string_view name) noexcept {
  return by_name(enums(), name);
}

const StructInfo* find_struct(std::string_view name) noexcept {
  return by_name(structs(), name);
}

const CommandInfo* find_command(std::uint32_t opcode) noexcept {
  const auto all = commands();
  const auto at =
      std::lower_bound(all.begin(), all.end(), opcode,
                       [](const CommandInfo& c, std::uint32_t wanted) { return c.opcode < wanted; });
  return at != all.end() && at->opcode == opcode ? &*at : nullptr;
}

const CommandInfo* find_command(std::string_view name) noexcept {
  return any_by_name(commands(), name);
}

const RegisterInfo* find_register(std::uint32_t id) noexcept {
  const auto all = registers();
  const auto at = std::find_if(all.begin(), all.end(), [&](const RegisterInfo& r) { return r.id == id; });
  return at != all.end() ? &*at : nullptr;
}

const RegisterInfo* find_register(std::string_view name) noexcept {
  return any_by_name(registers(), name);
}

const FieldInfo* find_field(const StructInfo& layout, std::string_view name) noexcept {
  return any_by_name(layout.fields, name);
}

const EnumeratorInfo* find_enumerator(const EnumInfo& enumeration, std::uint64_t value) noexcept {
  const auto at = std::find_if(enumeration.values.begin(), enumeration.values.end(),
                               [&](const EnumeratorInfo& e) { return e.value == value; });
  return at != enumeration.values.end() ? &*at : nullptr;
}

const FieldInfo* find_member(const StructInfo& layout, std::uint64_t value) noexcept {
  for (const CaseInfo& c : layout.cases) {
    if (c.value == value) return &layout.fields[c.member];
  }
  return layout.other != StructInfo::no_member ? &layout.fields[layout.other] : nullptr;
}

}  // namespace chime::prm

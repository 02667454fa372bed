// SPDX-License-Identifier: BSD-3-Clause
#include "model/profile_setting.h"

#include <algorithm>
#include <limits>

#include "prm/tables.h"

namespace chime::model {
namespace {

/// For "%.*s".
int length(std::string_view s) noexcept {
  return static_cast<int>(std::min<std::size_t>(s.size(), 80));
}

Result<> take_number(const TextValue& value, std::string_view key, std::uint64_t most, auto& to) noexcept {
  if (value.type != TextValue::Type::integer)
    return fail(EINVAL, "%.*s is an integer", length(key), key.data());
  if (value.number > most) {
    return fail(EINVAL, "%.*s is %llu; it can be %llu at most", length(key), key.data(),
                static_cast<unsigned long long>(value.number), static_cast<unsigned long long>(most));
  }
  to = static_cast<std::remove_reference_t<decltype(to)>>(value.number);
  return {};
}

template <class T>
Result<> take(const TextValue& value, std::string_view key, T& to) noexcept {
  return take_number(value, key, std::numeric_limits<T>::max(), to);
}

Result<> take(const TextValue& value, std::string_view key, bool& to) noexcept {
  if (value.type == TextValue::Type::string || value.number > 1) {
    return fail(EINVAL, "%.*s is true or false", length(key), key.data());
  }
  to = value.number != 0;
  return {};
}

Result<> take(const TextValue& value, std::string_view key, char (&to)[17]) noexcept {
  if (value.type != TextValue::Type::string || value.text.size() >= sizeof to) {
    return fail(EINVAL, "%.*s is a string of 16 characters at most", length(key), key.data());
  }
  std::fill(std::begin(to), std::end(to), '\0');
  std::copy(value.text.begin(), value.text.end(), to);
  return {};
}

Result<> take(const TextValue& value, std::string_view key, AtomicOrder& to) noexcept {
  if (value.type == TextValue::Type::string) {
    for (const AtomicOrder order : {AtomicOrder::host, AtomicOrder::big, AtomicOrder::words}) {
      if (value.text != name(order)) continue;
      to = order;
      return {};
    }
  }
  return fail(EINVAL, "%.*s is \"host\", \"big\" or \"words\"", length(key), key.data());
}

Result<> unknown_key(std::string_view section, std::string_view key, const char* known) noexcept {
  return fail(EINVAL, "[%.*s] has no %.*s; there are %s", length(section), section.data(), length(key),
              key.data(), known);
}

Result<> set_identity(Identity& id, std::string_view key, const TextValue& value) noexcept {
  constexpr std::uint64_t largest_mac = 0xffff'ffff'ffff;
  if (key == "device_id") return take(value, key, id.device_id);
  if (key == "vendor_id") return take(value, key, id.vendor_id);
  if (key == "firmware_major") return take(value, key, id.firmware_major);
  if (key == "firmware_minor") return take(value, key, id.firmware_minor);
  if (key == "firmware_subminor") return take(value, key, id.firmware_subminor);
  if (key == "psid") return take(value, key, id.psid);
  if (key == "base_mac") return take_number(value, key, largest_mac, id.base_mac);
  return unknown_key(
      "identity", key,
      "device_id, vendor_id, firmware_major, firmware_minor, firmware_subminor, psid, base_mac");
}

Result<> set_port(PortLimits& port, std::string_view key, const TextValue& value) noexcept {
  constexpr std::uint64_t most_lanes = 4;
  if (key == "max_mtu") return take(value, key, port.max_mtu);
  if (key == "ethernet_speeds") return take(value, key, port.ethernet_speeds);
  if (key == "ext_ethernet_speeds") return take(value, key, port.ext_ethernet_speeds);
  if (key == "lanes") return take_number(value, key, most_lanes, port.lanes);
  return unknown_key("port", key, "max_mtu, ethernet_speeds, ext_ethernet_speeds, lanes");
}

Result<> set_behaviour(Behaviour& b, std::string_view key, const TextValue& value) noexcept {
  if (key == "context_with_objects_goes") return take(value, key, b.context_with_objects_goes);
  if (key == "foreign_object_is_bad_param") return take(value, key, b.foreign_object_is_bad_param);
  if (key == "boot_pages") return take(value, key, b.boot_pages);
  if (key == "init_pages") return take(value, key, b.init_pages);
  if (key == "atomic_memory_4") return take(value, key, b.atomic_memory_4);
  if (key == "atomic_memory_8_mode_0") return take(value, key, b.atomic_memory_8_mode_0);
  if (key == "atomic_memory_8_mode_1") return take(value, key, b.atomic_memory_8_mode_1);
  if (key == "atomic_memory_wide") return take(value, key, b.atomic_memory_wide);
  return unknown_key("behaviour", key,
                     "context_with_objects_goes, foreign_object_is_bad_param, boot_pages, init_pages, "
                     "atomic_memory_4, atomic_memory_8_mode_0, atomic_memory_8_mode_1, atomic_memory_wide");
}

/// The capability type that a section is named after: its value and its structure.
struct Section {
  unsigned type = 0;
  bool current_only = false;
  const prm::StructInfo* layout = nullptr;
};

bool find_section(std::string_view name, Section& section) noexcept {
  constexpr std::string_view suffix = ".current";
  section.current_only = name.ends_with(suffix);
  if (section.current_only) name.remove_suffix(suffix.size());
  const prm::EnumInfo* types = prm::find_enum("hca_cap_type");
  const prm::StructInfo* pages = prm::find_struct("hca_cap_union");
  if (!types || !pages) return false;
  for (const prm::EnumeratorInfo& t : types->values) {
    if (name != t.name) continue;
    const prm::FieldInfo* member = prm::find_member(*pages, t.value);
    section.type = static_cast<unsigned>(t.value);
    section.layout = member ? member->type : nullptr;
    return section.layout != nullptr && t.value < Capabilities::max_types;
  }
  return false;
}

std::string_view take_word(std::string_view& path) noexcept {
  const std::size_t dot = path.find('.');
  const std::string_view word = path.substr(0, dot);
  path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
  return word;
}

bool small_number(std::string_view word, std::uint64_t base, std::uint32_t& number) noexcept {
  if (word.empty() || word.size() > 4) return false;
  number = 0;
  for (char c : word) {
    std::uint32_t d = 16;
    if (c >= '0' && c <= '9') d = static_cast<std::uint32_t>(c - '0');
    if (c >= 'a' && c <= 'f') d = static_cast<std::uint32_t>(c - 'a' + 10);
    if (d >= base) return false;
    number = number * static_cast<std::uint32_t>(base) + d;
  }
  return true;
}

/// Where the bits of a field lie in the whole structure.
struct Place {
  std::uint32_t bit = 0;
  std::uint8_t width = 0;
  bool unnamed = false;  ///< a word, of which only the bits in the value are meant
};

/// A path of fields, of array elements by number: "ft_properties.max_ft_level", "events.0". Or
/// "reserved_0x044": the 32-bit word at that offset, for bits that have no name.
bool find_field(const prm::StructInfo& top, std::string_view path, Place& place) noexcept {
  constexpr std::string_view unnamed = "reserved_0x";
  if (path.starts_with(unnamed)) {
    std::uint32_t offset = 0;
    if (!small_number(path.substr(unnamed.size()), 16, offset) || offset % 4 ||
        offset + 4 > Capabilities::size) {
      return false;
    }
    place = {offset * 8, 32, true};
    return true;
  }
  const prm::StructInfo* layout = &top;
  std::uint32_t base = 0;
  while (layout && !path.empty()) {
    const prm::FieldInfo* field = prm::find_field(*layout, take_word(path));
    if (!field) return false;
    base += field->bit;
    if (field->array) {
      std::uint32_t element = 0;
      if (!small_number(take_word(path), 10, element) || element >= field->count) return false;
      base += element * (field->type ? field->type->size * 8 : field->stride);
    }
    layout = field->type;
    place = {base, field->width, false};
  }
  return !layout && path.empty() && place.width != 0 && place.bit + place.width <= Capabilities::size * 8;
}

Result<> set_capability_by_name(Profile& profile, const Section& section, std::string_view key,
                                const TextValue& value) noexcept {
  Place place;
  if (!find_field(*section.layout, key, place)) {
    return fail(EINVAL, "%s has no field %.*s", section.layout->name, length(key), key.data());
  }
  if (value.type == TextValue::Type::string) {
    return fail(EINVAL, "%.*s is an integer", length(key), key.data());
  }
  const std::uint64_t most = place.width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << place.width) - 1;
  if (value.number > most) {
    return fail(EINVAL, "%.*s is %llu; its %u bits hold %llu at most", length(key), key.data(),
                static_cast<unsigned long long>(value.number), place.width,
                static_cast<unsigned long long>(most));
  }
  if (auto added = profile.capabilities.add(section.type); !added) return added;
  auto put = [&](unsigned bit, unsigned width, std::uint64_t number) {
    set_capability(profile.capabilities, section.type, section.current_only, bit, width, number);
  };
  if (!place.unnamed) {
    put(place.bit, place.width, value.number);
  } else {
    for (unsigned i = 0; i < place.width; ++i) {
      if (value.number >> (place.width - 1 - i) & 1) put(place.bit + i, 1, 1);
    }
  }
  return {};
}

}  // namespace

Result<> set(Profile& profile, std::string_view section, std::string_view key,
             const TextValue& value) noexcept {
  if (section == "identity") return set_identity(profile.identity, key, value);
  if (section == "port") return set_port(profile.port, key, value);
  if (section == "behaviour") return set_behaviour(profile.behaviour, key, value);
  Section found;
  if (find_section(section, found)) return set_capability_by_name(profile, found, key, value);
  return fail(EINVAL,
              "there is no section [%.*s]; there are identity, port, behaviour, and capabilities: general, "
              "ethernet_offloads, flow_table, ... (QUERY_HCA_CAP's types), with .current for what is lowered",
              length(section), section.data());
}

void set_capability(Capabilities& capabilities, unsigned type, bool current_only, unsigned bit,
                    unsigned width, std::uint64_t value) noexcept {
  if (!current_only) prm::set_bits(capabilities.maximum(type).data(), bit, width, value);
  prm::set_bits(capabilities.current(type).data(), bit, width, value);
}

}  // namespace chime::model

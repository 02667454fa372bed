// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>

/// @file
/// Compiled-in profiles, as devtools/generate-profiles writes them.

namespace chime::model {

/// Bits of a capability structure; names were resolved when the profile was compiled in.
struct CapabilityValue {
  std::uint8_t type;
  bool current_only;  ///< what the card does at first is less than the most
  std::uint8_t width;
  std::uint16_t bit;
  std::uint64_t value;
};

/// Anything else: `text` where the setting is a string, `number` otherwise.
struct SettingValue {
  const char* section;
  const char* key;
  std::uint64_t number;
  const char* text;
};

struct ProfileData {
  const char* name;
  std::span<const CapabilityValue> capabilities;
  std::span<const SettingValue> settings;
};

/// The first is the default.
std::span<const ProfileData> built_in_profiles() noexcept;
std::span<const char* const> built_in_names() noexcept;

}  // namespace chime::model

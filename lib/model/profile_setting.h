// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

#include "model/profile.h"
#include "model/profile_text.h"

/// @file
/// One `key = value` of a profile, put where it belongs.

namespace chime::model {

/// EINVAL says what is wrong: no such section or key, a value of another type or out of range.
Result<> set(Profile& profile, std::string_view section, std::string_view key,
             const TextValue& value) noexcept;

/// Sets bits of a capability structure; of its maximum too unless `current_only`. The type must be there.
void set_capability(Capabilities& capabilities, unsigned type, bool current_only, unsigned bit,
                    unsigned width, std::uint64_t value) noexcept;

}  // namespace chime::model

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

/// @file
/// Why the card refused or dropped something, in words. A real card keeps this to itself.

namespace chime::model {

enum class Severity : std::uint8_t { note, refusal, error };

/// One finding. `rule` is a stable identifier in lower case with dots ("doorbell.behind-record"), listed with
/// its meaning in doc/diagnostics; `text` one sentence naming the objects ("SQ 0x12: doorbell counter 9
/// behind record 7").
struct Finding {
  const char* rule;
  Severity severity;
  std::uint32_t object;  ///< number of the object concerned, 0 when there is none
  const char* text;
};

/// Called by the thread that steps the Hca. A finding's strings are valid during the call.
class Diagnostics {
 public:
  virtual ~Diagnostics() = default;
  virtual void report(const Finding& finding) noexcept = 0;
};

}  // namespace chime::model

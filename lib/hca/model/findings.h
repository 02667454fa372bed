// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>

#include "base/error.h"
#include "model/clock.h"
#include "model/diagnostics.h"

namespace chime::hca::embedded {

/// What the software HCA says of what it refuses: to rte_log (type pmd.net.chime.model), each rule a few
/// times a second at most, and as the words of an Error. Used by the thread that steps the HCA.
class Findings final : public model::Diagnostics {
 public:
  /// @param name  whose: the port's
  /// @param clock for the limit of lines a second
  Findings(const char* name, model::Clock& clock) noexcept;

  void report(const model::Finding& finding) noexcept override;

  /// Findings until end_command() are the words of one command's refusal.
  void begin_command() noexcept;
  /// @return the first refusal of the command, or "" ; valid until the next begin_command()
  const char* end_command() noexcept;

  const char* name() const noexcept { return name_; }
  int log_type() const noexcept { return log_type_; }

 private:
  /// How often a rule has spoken in the current second.
  struct Rule {
    const char* name = nullptr;
    std::uint64_t since = 0;
    std::uint32_t lines = 0;
    std::uint32_t suppressed = 0;
  };

  Rule& rule(const char* name) noexcept;
  void log(const model::Finding& finding) noexcept;

  const char* name_;
  model::Clock& clock_;
  int log_type_;
  bool in_command_ = false;
  std::array<char, sizeof(Error::text)> words_{};
  std::array<Rule, 64> rules_{};
};

}  // namespace chime::hca::embedded

// SPDX-License-Identifier: BSD-3-Clause
#include "hca/model/findings.h"

#include <rte_log.h>

#include <cstdio>
#include <cstring>

namespace chime::hca::embedded {
namespace {

constexpr std::uint64_t second = 1'000'000'000;
constexpr std::uint32_t lines_a_second = 5;

std::uint32_t level(model::Severity severity, bool in_command) noexcept {
  switch (severity) {
    case model::Severity::error:
      return RTE_LOG_ERR;
    case model::Severity::refusal:
      // A refused command answers its caller, who knows whether it matters.
      return in_command ? RTE_LOG_INFO : RTE_LOG_WARNING;
    case model::Severity::note:
      break;
  }
  return RTE_LOG_DEBUG;
}

}  // namespace

Findings::Findings(const char* name, model::Clock& clock) noexcept
    : name_(name),
      clock_(clock),
      log_type_(rte_log_register_type_and_pick_level("pmd.net.chime.model", RTE_LOG_NOTICE)) {}

void Findings::report(const model::Finding& finding) noexcept {
  if (in_command_ && finding.severity != model::Severity::note && words_[0] == 0) {
    std::snprintf(words_.data(), words_.size(), "%s", finding.text);
  }
  log(finding);
}

void Findings::begin_command() noexcept {
  in_command_ = true;
  words_[0] = 0;
}

const char* Findings::end_command() noexcept {
  in_command_ = false;
  return words_.data();
}

/// Rules share a slot when there are more than slots; each then speaks as if it were new.
Findings::Rule& Findings::rule(const char* name) noexcept {
  std::uint32_t hash = 2166136261u;
  for (const char* c = name; *c; ++c) hash = (hash ^ static_cast<unsigned char>(*c)) * 16777619u;
  Rule& slot = rules_[hash % rules_.size()];
  if (!slot.name || std::strcmp(slot.name, name) != 0) slot = {.name = name};
  return slot;
}

void Findings::log(const model::Finding& finding) noexcept {
  const std::uint32_t at = level(finding.severity, in_command_);
  if (log_type_ < 0 || !rte_log_can_log(static_cast<std::uint32_t>(log_type_), at)) return;
  Rule& spoken = rule(finding.rule);
  const std::uint64_t now = clock_.nanoseconds();
  if (spoken.lines != 0 && now - spoken.since >= second) {
    if (spoken.suppressed != 0) {
      rte_log(at, static_cast<std::uint32_t>(log_type_), "%s: [%s] %u more like it were not shown\n", name_,
              finding.rule, spoken.suppressed);
    }
    spoken.lines = spoken.suppressed = 0;
  }
  if (spoken.lines == lines_a_second) {
    ++spoken.suppressed;
    return;
  }
  if (spoken.lines++ == 0) spoken.since = now;
  rte_log(at, static_cast<std::uint32_t>(log_type_), "%s: [%s] %s\n", name_, finding.rule, finding.text);
}

}  // namespace chime::hca::embedded

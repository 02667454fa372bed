// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/core.h>
#include <rte_pmd_chime.h>

#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "subcommands.h"

/// @file
/// `chime explain`: what the syndrome of a completion means, and the five classic traps.

namespace chime::app {
namespace {

struct Options {
  std::string what;
  bool json = false;
};

std::vector<rte_pmd_chime_explanation> all() {
  std::vector<rte_pmd_chime_explanation> list;
  rte_pmd_chime_explanation one;
  while (rte_pmd_chime_explanation_get(static_cast<std::uint32_t>(list.size()), &one) == 0)
    list.push_back(one);
  return list;
}

/// "0x13", "13" (as the manual prints it, hexadecimal).
std::optional<unsigned> number(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// "remote-access-error" and "Remote access error" are one.
std::string plain(std::string_view name) {
  std::string plain;
  for (char c : name) plain += c == ' ' || c == '_' ? '-' : static_cast<char>(std::tolower(c));
  return plain;
}

bool is(const rte_pmd_chime_explanation& explanation, const std::string& what) {
  if (plain(explanation.name) == plain(what)) return true;
  return explanation.syndrome != 0 && number(what) == explanation.syndrome;
}

void print(const rte_pmd_chime_explanation& e) {
  if (e.syndrome != 0)
    fmt::print("{:#04x} {}\n", e.syndrome, e.name);
  else
    fmt::print("trap: {}\n", e.name);
  if (*e.symptom != '\0') fmt::print("  symptom: {}\n", e.symptom);
  fmt::print("  likely:  {}\n  remedy:  {}\n", e.causes, e.remedy);
}

nlohmann::json as_json(const rte_pmd_chime_explanation& e) {
  nlohmann::json json{{"name", e.name}, {"causes", e.causes}, {"remedy", e.remedy}};
  if (e.syndrome != 0) json["syndrome"] = e.syndrome;
  if (*e.symptom != '\0') json["symptom"] = e.symptom;
  return json;
}

int explain(const Options& options) {
  const std::vector<rte_pmd_chime_explanation> list = all();
  std::vector<rte_pmd_chime_explanation> found;
  for (const auto& explanation : list)
    if (options.what.empty() || is(explanation, options.what)) found.push_back(explanation);
  if (found.empty()) {
    fmt::print(stderr, "chime explain: '{}' is no syndrome and no trap; there are:\n", options.what);
    for (const auto& e : list) fmt::print(stderr, "  {:#04x}  {}\n", e.syndrome, plain(e.name));
    return 1;
  }
  if (options.json) {
    nlohmann::json json = nlohmann::json::array();
    for (const auto& explanation : found) json.push_back(as_json(explanation));
    fmt::print("{}\n", (options.what.empty() ? json : json[0]).dump(2));
    return 0;
  }
  for (const auto& explanation : found) print(explanation);
  return 0;
}

}  // namespace

void add_explain(CLI::App& app, int& status) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("explain", "What a completion's syndrome means, and what to do; without one: all.");
  command->add_option("syndrome", options->what,
                      "as the manual has it (0x13 or 13), its name, or the name of a trap (byte-order)");
  command->add_flag("--json", options->json, "as JSON");
  command->callback([options, &status] { status = explain(*options); });
}

}  // namespace chime::app

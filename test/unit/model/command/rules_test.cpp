// SPDX-License-Identifier: BSD-3-Clause
#include "model/command/rules.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace chime::model {
namespace {

TEST(Rules, EachHasANameAndWordsOfItsOwn) {
  std::set<std::string> names, meanings;
  std::set<std::uint32_t> syndromes;
  for (const RuleInfo& rule : rules()) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    EXPECT_TRUE(meanings.insert(rule.meaning).second) << rule.name;
    EXPECT_TRUE(syndromes.insert(syndrome(rule.rule)).second) << rule.name;
    EXPECT_NE(rule.status, prm::cmd_status::ok) << rule.name;
    EXPECT_EQ(&info(rule.rule), &rule) << rule.name;
    EXPECT_EQ(std::string(rule.name).find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-"),
              std::string::npos)
        << rule.name;
  }
}

TEST(Rules, AreDocumented) {
  std::ifstream file(CHIME_DOC "/diagnostics/commands.rst");
  std::stringstream page;
  page << file.rdbuf();
  ASSERT_FALSE(page.str().empty());
  for (const RuleInfo& rule : rules()) {
    char number[16];
    std::snprintf(number, sizeof number, "0x%08x", syndrome(rule.rule));
    const std::string row = "   * - " + std::string(rule.name) + "\n     - " + number + "\n";
    const std::size_t at = page.str().find(row);
    EXPECT_NE(at, std::string::npos) << rule.name;
    EXPECT_NE(page.str().find(std::string("     - ") + rule.meaning + "\n", at), std::string::npos)
        << rule.name;
  }
}

}  // namespace
}  // namespace chime::model

// SPDX-License-Identifier: BSD-3-Clause
#include "model/datapath/faults.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace chime::model {
namespace {

TEST(Faults, EachHasANameAndWordsOfItsOwn) {
  std::set<std::string> names, meanings;
  std::set<Fault> values;
  for (const FaultInfo& fault : faults()) {
    EXPECT_TRUE(names.insert(fault.rule).second) << fault.rule;
    EXPECT_TRUE(meanings.insert(fault.meaning).second) << fault.rule;
    EXPECT_TRUE(values.insert(fault.fault).second) << fault.rule;
    EXPECT_EQ(&info(fault.fault), &fault) << fault.rule;
    EXPECT_EQ(std::string(fault.rule).find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-"),
              std::string::npos)
        << fault.rule;
  }
}

const char* severity(Severity severity) {
  return severity == Severity::error ? "error" : severity == Severity::note ? "note" : "refusal";
}

TEST(Faults, AreDocumented) {
  std::ifstream file(CHIME_DOC "/diagnostics/datapath.rst");
  std::stringstream page;
  page << file.rdbuf();
  const std::string text = page.str();
  ASSERT_FALSE(text.empty());
  std::size_t rows = 0;
  for (std::size_t at = text.find("   * - "); at != std::string::npos; at = text.find("   * - ", at + 1))
    ++rows;
  for (std::size_t at = text.find("   * - rule\n"); at != std::string::npos;
       at = text.find("   * - rule\n", at + 1))
    --rows;
  EXPECT_EQ(rows, faults().size()) << "a row for each, and none besides";
  for (const FaultInfo& fault : faults()) {
    std::string row = "   * - " + std::string(fault.rule) + "\n     - " + severity(fault.severity) + "\n";
    if (fault.syndrome != prm::cqe_syndrome{}) {
      char numbers[32];
      std::snprintf(numbers, sizeof numbers, "     - 0x%02x, 0x%02x\n", static_cast<unsigned>(fault.syndrome),
                    static_cast<unsigned>(fault.fault));
      row += numbers;
    }
    const std::size_t at = text.find(row);
    EXPECT_NE(at, std::string::npos) << "doc/diagnostics/datapath.rst lacks:\n" << row;
    if (at == std::string::npos) continue;
    const std::size_t next = std::min(text.find("   * - ", at + row.size()), text.size());
    EXPECT_NE(text.substr(at, next - at).find(std::string("     - ") + fault.meaning + "\n"),
              std::string::npos)
        << fault.rule << " means: " << fault.meaning;
  }
}

}  // namespace
}  // namespace chime::model

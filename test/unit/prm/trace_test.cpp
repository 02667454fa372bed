// SPDX-License-Identifier: BSD-3-Clause
// Every command that Linux and a card exchanged is decoded to text and encoded again: a real ConnectX-4 Lx in
// the recorded trace, the virtual card in a guest test.
#include "../../trace/trace.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "prm/text.h"

namespace chime::prm {
namespace {

struct Counts {
  unsigned fields = 0;
  unsigned unnamed = 0;  // bits that the layouts do not name but the trace has
};

void round_trip(const trace::Message& message, const std::string& text, const char* what, Counts& counts) {
  SCOPED_TRACE(what);
  std::vector<std::byte> again(message.bytes.size(), std::byte{0xee});
  const ParseResult result = parse(text, again);
  ASSERT_TRUE(result) << "line " << result.line << " " << result.mistake << "\n" << text.substr(0, 4000);
  ASSERT_NE(result.layout, nullptr) << "decoded by no layout\n" << text.substr(0, 4000);
  EXPECT_EQ(again, message.bytes) << text.substr(0, 4000);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find('=') == std::string::npos) continue;
    const bool unnamed =
        line.find("reserved[") != std::string::npos || line.find("bytes[") != std::string::npos;
    ++(unnamed ? counts.unnamed : counts.fields);
    if (unnamed) std::printf("%s: %s\n", result.layout->name, line.c_str());
  }
}

TEST(Trace, EveryCommandIsDecodedAndEncodedAgain) {
  const auto commands = trace::load();
  if (commands.empty()) GTEST_SKIP() << "no trace: run by test/trace/with-trace";
  Counts counts;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const trace::Command& command = commands[i];
    SCOPED_TRACE("command " + std::to_string(i) + " " + command_name(command.opcode));
    std::string text;
    const auto sink = [&](std::string_view part) { text += part; };
    print_input(command.input.bytes, sink);
    round_trip(command.input, text, "input", counts);
    text.clear();
    print_output(command.input.bytes, command.output.bytes, sink);
    round_trip(command.output, text, "output", counts);
  }
  std::printf("%zu commands: %u lines of fields, %u lines that no layout names\n", commands.size(),
              counts.fields, counts.unnamed);
  const char* const recorded = std::getenv("CHIME_TRACE_COMMANDS");
  if (recorded) {
    EXPECT_EQ(commands.size(), std::stoul(recorded));
  }
}

}  // namespace
}  // namespace chime::prm

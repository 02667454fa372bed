// SPDX-License-Identifier: BSD-3-Clause
// The software HCA, with the profile of that card, answers what a real ConnectX-4 Lx answered.
#include "../../../trace/trace.h"

#include "../support/host.h"
#include "prm/text.h"

namespace chime::test {
namespace {

TEST(Trace, TheModelAnswersAsTheCardDid) {
  const auto commands = trace::load();
  if (commands.empty()) GTEST_SKIP() << "no trace: run by test/trace/with-trace";
  Host host("connectx4lx-14.12", false);
  unsigned identical = 0;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const trace::Command& command = commands[i];
    SCOPED_TRACE("command " + std::to_string(i) + " " + prm::command_name(command.opcode));
    std::vector<std::byte> out(command.output.bytes.size());
    const Answer answer = host.execute(command.input.bytes, out);
    const prm::ConstView<prm::nop_out> recorded(command.output.bytes);
    EXPECT_EQ(answer.status, recorded.get(prm::nop_out::status)) << answer.words;
    EXPECT_EQ(answer.syndrome, recorded.get(prm::nop_out::syndrome));
    if (out == command.output.bytes) {
      ++identical;
      continue;
    }
    std::string model, card;
    prm::print_output(command.input.bytes, out, [&](std::string_view part) { model += part; });
    prm::print_output(command.input.bytes, command.output.bytes,
                      [&](std::string_view part) { card += part; });
    ADD_FAILURE() << "the model:\n" << model << "the card:\n" << card;
  }
  EXPECT_EQ(commands.size(), 42u);
  std::printf("%zu commands, %u answers identical to the last byte\n", commands.size(), identical);
}

}  // namespace
}  // namespace chime::test

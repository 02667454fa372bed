// SPDX-License-Identifier: BSD-3-Clause
#include "hca/model/findings.h"

#include <gtest/gtest.h>
#include <rte_log.h>

#include <cstdio>
#include <string>

namespace chime::test {
namespace {

class Time final : public model::Clock {
 public:
  std::uint64_t nanoseconds() noexcept override { return now; }
  std::uint64_t now = 1;
};

/// What DPDK logs while it lives.
class Log {
 public:
  Log() : stream_(open_memstream(&text_, &size_)) { rte_openlog_stream(stream_); }
  ~Log() {
    rte_openlog_stream(nullptr);
    std::fclose(stream_);
    std::free(text_);
  }
  std::size_t count(const std::string& part) {
    std::fflush(stream_);
    const std::string all(text_, size_);
    std::size_t found = 0;
    for (std::size_t at = all.find(part); at != std::string::npos; at = all.find(part, at + 1)) ++found;
    return found;
  }

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* stream_;
};

class Findings : public ::testing::Test {
 protected:
  Findings() : findings("test0", time) {
    rte_log_set_level(static_cast<std::uint32_t>(findings.log_type()), RTE_LOG_NOTICE);
  }
  Time time;
  hca::embedded::Findings findings;
};

TEST_F(Findings, ARuleSpeaksAFewTimesASecond) {
  Log log;
  const model::Finding often{"queue.behind", model::Severity::refusal, 1, "SQ 0x1 is behind"};
  const model::Finding other{"queue.else", model::Severity::error, 1, "SQ 0x1 fell over"};
  for (int i = 0; i < 100; ++i) findings.report(often);
  findings.report(other);
  EXPECT_EQ(log.count("[queue.behind] SQ 0x1 is behind"), 5u);
  EXPECT_EQ(log.count("[queue.else]"), 1u);
  time.now += 1'000'000'001;
  findings.report(often);
  EXPECT_EQ(log.count("95 more"), 1u);
  EXPECT_EQ(log.count("[queue.behind] SQ 0x1 is behind"), 6u);
}

TEST_F(Findings, ACommandsFirstRefusalIsItsWords) {
  Log log;
  findings.begin_command();
  findings.report({"command.note", model::Severity::note, 0, "by the way"});
  findings.report({"command.bad", model::Severity::refusal, 0, "the size is odd"});
  findings.report({"command.bad", model::Severity::refusal, 0, "and more"});
  EXPECT_STREQ(findings.end_command(), "the size is odd");
  EXPECT_EQ(log.count("the size is odd"), 0u) << "the caller is told; the log shows it at level info";
  findings.begin_command();
  EXPECT_STREQ(findings.end_command(), "");
}

}  // namespace
}  // namespace chime::test

// SPDX-License-Identifier: BSD-3-Clause
#include "hca/model/command_trace.h"

#include <gtest/gtest.h>
#include <rte_log.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "card.h"
#include "hca/receive_path.h"
#include "prm/layouts.h"
#include "prm/view.h"

namespace chime::test {
namespace {

/// What DPDK logs while `act` runs.
template <class F>
std::string logged(F&& act) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* stream = open_memstream(&text, &size);
  rte_openlog_stream(stream);
  act();
  rte_openlog_stream(nullptr);
  std::fclose(stream);
  std::string all(text, size);
  std::free(text);
  return all;
}

class CommandTrace : public CardTest {
 protected:
  void SetUp() override {
    CardTest::SetUp();
    rte_log_set_level(type(), RTE_LOG_DEBUG);
  }
  void TearDown() override {
    rte_log_set_level(type(), RTE_LOG_NOTICE);
    CardTest::TearDown();
  }
  std::uint32_t type() const { return static_cast<std::uint32_t>(trace.log_type()); }
  hca::embedded::CommandTrace trace{"other"};
};

TEST_F(CommandTrace, ShowsWhatWasAskedAndAnswered) {
  std::uint32_t number = 0;
  const std::string log = logged([&] {
    auto pd = hca::alloc_pd(*device);
    ASSERT_TRUE(pd) << why(pd);
    number = pd->number();
  });
  char pd[32];
  std::snprintf(pd, sizeof pd, "test0:     pd = %#x\n", number);
  for (const char* part : {"test0: alloc_pd: ok (status 0, syndrome 0)\n", "test0:   alloc_pd_in",
                           "test0:     opcode = 0x800 (alloc_pd)\n", "test0:   alloc_pd_out\n",
                           static_cast<const char*>(pd), "test0: dealloc_pd: ok"})
    EXPECT_NE(log.find(part), std::string::npos) << part << "is not in\n" << log;
}

TEST_F(CommandTrace, ShowsWhatWasRefused) {
  const std::string log = logged([&] { EXPECT_FALSE(hca::create_direct_tir(*device, 0xdead, 0xbeef)); });
  EXPECT_NE(log.find("test0: create_tir: bad_resource (status 0x5, syndrome 0xc4"), std::string::npos) << log;
}

TEST_F(CommandTrace, ShowsACommandThatWasMadeToFail) {
  hca::embedded::fail_command(*device, 1);
  const std::string log = logged([&] { EXPECT_FALSE(hca::alloc_pd(*device)); });
  EXPECT_NE(log.find("test0: alloc_pd: internal_err (status 0x1"), std::string::npos) << log;
}

TEST_F(CommandTrace, IsSilentUnlessAskedFor) {
  rte_log_set_level(type(), RTE_LOG_INFO);
  EXPECT_EQ(logged([&] { EXPECT_TRUE(hca::alloc_pd(*device)); }), "");
}

}  // namespace
}  // namespace chime::test

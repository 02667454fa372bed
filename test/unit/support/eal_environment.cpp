// SPDX-License-Identifier: BSD-3-Clause
// EAL for a test program whose wires are DPDK ports: linked in, it starts before the first test.
#include <gtest/gtest.h>
#include <rte_eal.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

namespace chime::test {
namespace {

class Eal final : public ::testing::Environment {
 public:
  void SetUp() override {
    const std::string name = program_invocation_short_name;
    std::vector<std::string> args = {name,
                                     "--no-huge",
                                     "--no-pci",
                                     "--no-shconf",
                                     "-m",
                                     "128",
                                     "-l",
                                     "0",
                                     "--file-prefix=" + name + std::to_string(getpid()),
                                     "--no-telemetry",
                                     "--log-level=lib.eal:error"};
    std::vector<char*> argv;
    for (std::string& arg : args) argv.push_back(arg.data());
    argv.push_back(nullptr);
    ASSERT_GE(rte_eal_init(static_cast<int>(args.size()), argv.data()), 0);
  }
  void TearDown() override { rte_eal_cleanup(); }
};

const auto* const eal = ::testing::AddGlobalTestEnvironment(new Eal);

}  // namespace
}  // namespace chime::test

// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <rte_eal.h>
#include <unistd.h>

#include <string>
#include <vector>

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const std::string prefix = "--file-prefix=rdma" + std::to_string(getpid());
  std::vector<std::string> words = {
      argv[0], "--no-huge", "--no-pci", "--no-shconf",    "-m",
      "128",   "-l",        "0",        "--no-telemetry", "--log-level=lib.eal:error",
      prefix};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  if (rte_eal_init(static_cast<int>(words.size()), arguments.data()) < 0) return 1;
  const int result = RUN_ALL_TESTS();
  rte_eal_cleanup();
  return result;
}

// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <rte_eal.h>

/// Queues in plain memory and a hand-held card: mbufs are all that these tests need of EAL.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  char arguments[][24] = {
      "test-datapath",        "--no-huge", "--no-pci", "-m", "64", "-l", "0", "--no-shconf", "--no-telemetry",
      "--log-level=lib.eal:4"};
  char* eal[std::size(arguments)];
  for (std::size_t i = 0; i < std::size(arguments); ++i) eal[i] = arguments[i];
  if (rte_eal_init(static_cast<int>(std::size(arguments)), eal) < 0) return 1;
  const int result = RUN_ALL_TESTS();
  rte_eal_cleanup();
  return result;
}

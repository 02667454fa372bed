// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace chime::app {

struct AtomicsOptions {
  std::uint64_t count = 1000;
  std::uint64_t items = 100'000;
  unsigned producers = 4;
  unsigned seconds = 30;
  unsigned ack_timeout = 15;  ///< 134 ms, a second in all: the other process may have to wait for its CPU
  bool tail_probe = false;
  bool json = false;
  std::string faults, serve, join;
  std::vector<std::string> devices, eal;
};

struct AtomicsResult {
  std::uint64_t additions = 0;
  std::uint64_t counter = 0;
  std::uint64_t items = 0;
  std::uint64_t retries = 0;
  double seconds = 0;
};

/// How many of all items producer `index` puts in.
inline std::uint64_t items_of(const AtomicsOptions& options, unsigned index) {
  return options.items / options.producers + (index < options.items % options.producers ? 1 : 0);
}

}  // namespace chime::app

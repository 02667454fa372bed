// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_eal.h>
#include <rte_errno.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace chime::bench {

/// @param arguments separated by blanks
inline void start_eal(const char* program, const std::string& arguments) {
  static std::vector<std::string> words{program};  // EAL keeps pointers
  for (std::size_t at = 0; at < arguments.size();) {
    const std::size_t end = std::min(arguments.find(' ', at), arguments.size());
    if (end != at) words.push_back(arguments.substr(at, end - at));
    at = end + 1;
  }
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  if (rte_eal_init(static_cast<int>(argv.size()), argv.data()) < 0)
    throw std::runtime_error(std::string("EAL does not start: ") + rte_strerror(rte_errno));
}

}  // namespace chime::bench

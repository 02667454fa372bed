// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdio>
#include <cstring>

/// @file
/// What memory this process holds. Linux counts hugepages apart from what is resident.

namespace chime::bench {

struct MemoryUse {
  long resident_kb = 0;  ///< VmRSS
  long huge_kb = 0;      ///< HugetlbPages
};

/// Zeros where there is no /proc.
inline MemoryUse memory_use() noexcept {
  MemoryUse use;
  std::FILE* file = std::fopen("/proc/self/status", "r");
  if (file == nullptr) return use;
  char line[256];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    std::sscanf(line, "VmRSS: %ld kB", &use.resident_kb);
    std::sscanf(line, "HugetlbPages: %ld kB", &use.huge_kb);
  }
  std::fclose(file);
  return use;
}

}  // namespace chime::bench

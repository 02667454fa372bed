// SPDX-License-Identifier: BSD-3-Clause
#include "hca/verbs/holder.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "hca/verbs/sysfs.h"

namespace chime::hca::verbs {
namespace {

using Path = std::array<char, 320>;

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};

/// PROC/PID/fd has a link to the file.
bool has_open(const char* proc, const char* pid, const char* uverbs) noexcept {
  Path path{};
  std::snprintf(path.data(), path.size(), "%.128s/%.20s/fd", proc, pid);
  const Folder folder(opendir(path.data()));
  if (!folder) return false;
  while (const dirent* entry = readdir(folder.get())) {
    std::array<char, 64> target{};
    const ssize_t length = readlinkat(dirfd(folder.get()), entry->d_name, target.data(), target.size() - 1);
    if (length <= 0) continue;
    const char* name = std::strrchr(target.data(), '/');
    if (name && std::strcmp(name + 1, uverbs) == 0 && std::strstr(target.data(), "/infiniband/")) return true;
  }
  return false;
}

/// A DPDK program: it has loaded one of the drivers.
bool has_driver(const char* proc, const char* pid) noexcept {
  Path path{};
  std::snprintf(path.data(), path.size(), "%.128s/%.20s/maps", proc, pid);
  const std::unique_ptr<std::FILE, CloseFile> maps(std::fopen(path.data(), "re"));
  std::array<char, 512> line;
  while (maps && std::fgets(line.data(), line.size(), maps.get())) {
    if (std::strstr(line.data(), "librte_net_mlx5") || std::strstr(line.data(), "librte_net_chime"))
      return true;
  }
  return false;
}

}  // namespace

Result<> check_unheld(const char* uverbs, const char* device, const char* pci_address,
                      const char* proc) noexcept {
  if (has_open(proc, "self", uverbs)) {
    return fail(
        EBUSY,
        "%s is held by this process already: by net_mlx5, which takes every card that it finds, or by "
        "another port; start with `--no-pci`, or `-b %s`",
        device, pci_address);
  }
  const Folder folder(opendir(proc));
  while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
    const char* pid = entry->d_name;
    if (std::strtol(pid, nullptr, 10) <= 0 || std::strtol(pid, nullptr, 10) == getpid()) continue;
    if (!has_open(proc, pid, uverbs) || !has_driver(proc, pid)) continue;
    Path path{};
    std::snprintf(path.data(), path.size(), "%.128s/%.20s/comm", proc, pid);
    return fail(EBUSY,
                "%s is held by process %s (%s), a DPDK program; end it (`kill %s`), or start it with another "
                "card (`-a`)",
                device, pid, first_line(path.data()).data(), pid);
  }
  return {};
}

}  // namespace chime::hca::verbs

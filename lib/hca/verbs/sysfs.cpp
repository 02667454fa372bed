// SPDX-License-Identifier: BSD-3-Clause
#include "hca/verbs/sysfs.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "base/file_descriptor.h"

namespace chime::hca::verbs {
namespace {

SysfsName name_of(const char* text) noexcept {
  SysfsName name{};
  std::copy_n(text, std::min(std::strlen(text), name.size() - 1), name.begin());
  return name;
}

}  // namespace

SysfsName link_target(const char* path) noexcept {
  std::array<char, PATH_MAX> target{};
  if (readlink(path, target.data(), target.size() - 1) <= 0) return {};
  const char* slash = std::strrchr(target.data(), '/');
  return name_of(slash ? slash + 1 : target.data());
}

SysfsName first_entry(const char* folder) noexcept {
  const Folder open(opendir(folder));
  if (!open) return {};
  while (const dirent* entry = readdir(open.get())) {
    if (entry->d_name[0] != '.') return name_of(entry->d_name);
  }
  return {};
}

bool exists(const char* path) noexcept {
  return access(path, F_OK) == 0;
}

SysfsName first_line(const char* path) noexcept {
  SysfsName line{};
  const FileDescriptor file(open(path, O_RDONLY | O_CLOEXEC));
  if (!file || read(file.get(), line.data(), line.size() - 1) <= 0) return {};
  line[std::strcspn(line.data(), "\n")] = '\0';
  return line;
}

}  // namespace chime::hca::verbs

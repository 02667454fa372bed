// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dirent.h>

#include <array>
#include <cstddef>
#include <memory>

/// @file
/// What sysfs tells of devices. Names are cut to what fits; empty: there is none.

namespace chime::hca::verbs {

struct CloseFolder {
  void operator()(DIR* folder) const noexcept { closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

using SysfsName = std::array<char, 64>;

/// The last part of what a link in sysfs leads to: of DEVICE/driver the driver's name.
SysfsName link_target(const char* path) noexcept;
/// The first entry of a folder: of DEVICE/net the netdev.
SysfsName first_entry(const char* folder) noexcept;
bool exists(const char* path) noexcept;
/// The first line of a file.
SysfsName first_line(const char* path) noexcept;

}  // namespace chime::hca::verbs

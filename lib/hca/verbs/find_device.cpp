// SPDX-License-Identifier: BSD-3-Clause
#include "hca/verbs/find_device.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "hca/verbs/absence.h"
#include "hca/verbs/failure.h"
#include "hca/verbs/sysfs.h"

namespace chime::hca::verbs {
namespace {

struct Names {
  SysfsName pci;
  SysfsName netdev;
};

/// What sysfs says of a device: where it is, and its netdev of this network namespace.
Names names_of(const ibv_device& device) noexcept {
  std::array<char, sizeof device.ibdev_path + 16> path;
  std::snprintf(path.data(), path.size(), "%s/device", device.ibdev_path);
  Names names{.pci = link_target(path.data()), .netdev = {}};
  std::snprintf(path.data(), path.size(), "%s/device/net", device.ibdev_path);
  names.netdev = first_entry(path.data());
  return names;
}

bool is(const ibv_device& device, const Names& names, const char* name) noexcept {
  const char* pci = names.pci.data();
  // "03:00.0" is in domain 0, which may be left out.
  const char* short_pci = std::strncmp(pci, "0000:", 5) == 0 ? pci + 5 : pci;
  return std::strcmp(device.name, name) == 0 || std::strcmp(pci, name) == 0 ||
         std::strcmp(short_pci, name) == 0 || std::strcmp(names.netdev.data(), name) == 0;
}

/// "mlx5_0 (0000:03:00.0, eth0), mlx5_1 (0000:03:00.1, no netdev)"
std::array<char, 160> all_names(ibv_device* const* list) noexcept {
  std::array<char, 160> text{};
  std::size_t used = 0;
  for (; *list && used < text.size(); ++list) {
    const Names names = names_of(**list);
    const int more =
        std::snprintf(text.data() + used, text.size() - used, "%s%s (%s, %s)", used ? ", " : "",
                      (*list)->name, names.pci.data(), names.netdev[0] ? names.netdev.data() : "no netdev");
    used += more > 0 ? static_cast<std::size_t>(more) : text.size();
  }
  return text;
}

}  // namespace

Result<FoundDevice> find_device(const char* name) noexcept {
  int count = 0;
  DeviceList list(ibv_get_device_list(&count));
  if (!list || count == 0) return fail(why_absent(name, list ? 0 : errno));
  for (int i = 0; i < count; ++i) {
    ibv_device* device = list[static_cast<std::size_t>(i)];
    const Names names = names_of(*device);
    if (!is(*device, names, name)) continue;
    if (!mlx5dv_is_supported(device)) {
      return fail(ENOTSUP, "ibdev=%s: %s is no ConnectX that mlx5 drives; there are %s", name, device->name,
                  all_names(list.get()).data());
    }
    const unsigned netdev = names.netdev[0] ? if_nametoindex(names.netdev.data()) : 0;
    if (netdev == 0) return fail(no_netdev(device->name, names.pci.data()));
    FoundDevice found{.list = nullptr, .device = device, .pci_address = {}, .netdev = netdev};
    std::snprintf(found.pci_address.data(), found.pci_address.size(), "%.31s", names.pci.data());
    found.list = std::move(list);
    return found;
  }
  Error error = why_absent(name, 0);
  if (error.errnum != ENODEV) return fail(error);
  return fail(ENODEV, "ibdev=%s: no such RDMA device, PCI address or netdev; there are %s", name,
              all_names(list.get()).data());
}

}  // namespace chime::hca::verbs

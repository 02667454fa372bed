// SPDX-License-Identifier: BSD-3-Clause
#include "hca/verbs/absence.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "hca/verbs/sysfs.h"

namespace chime::hca::verbs {
namespace {

using Path = std::array<char, 256>;

bool exists_in(const char* root, const char* place) noexcept {
  Path path{};
  std::snprintf(path.data(), path.size(), "%s%s", root, place);
  return exists(path.data());
}

/// /sys/bus/pci/devices/0000:03:00.0, where `name` is a PCI address; else empty.
Path pci_folder(const char* name, const char* root) noexcept {
  Path path{};
  for (const char* domain : {"", "0000:"}) {
    std::snprintf(path.data(), path.size(), "%s/sys/bus/pci/devices/%s%.32s", root, domain, name);
    if (std::strchr(name, ':') && exists(path.data())) return path;
  }
  return {};
}

/// The card is there: what stands between it and rdma-core.
Error why_not_bound(const char* name, const Path& folder) noexcept {
  const char* address = std::strrchr(folder.data(), '/') + 1;
  Path path{};
  std::snprintf(path.data(), path.size(), "%.240s/driver", folder.data());
  const SysfsName driver = link_target(path.data());
  if (driver[0] == '\0') {
    return Error::make(ENOTCONN, "ibdev=%s: no driver is bound to %s; `modprobe mlx5_core`", name, address);
  }
  if (std::strcmp(driver.data(), "mlx5_core") != 0) {
    return Error::make(EBUSY,
                       "ibdev=%s: %s is bound to %s, and Chime works beside mlx5_core; `dpdk-devbind.py -b "
                       "mlx5_core %s`",
                       name, address, driver.data(), address);
  }
  return Error::make(ENOTCONN,
                     "ibdev=%s: %s is bound to mlx5_core and has no RDMA device; `modprobe mlx5_ib`, and "
                     "`devlink dev param show pci/%s name enable_rdma` must not be false",
                     name, address, address);
}

}  // namespace

Error why_absent(const char* name, int errnum, const char* root) noexcept {
  if (const Path folder = pci_folder(name, root); folder[0] != '\0') return why_not_bound(name, folder);
  if (!exists_in(root, "/sys/class/infiniband_verbs")) {
    return Error::make(
        ENOTCONN, "ibdev=%s: the kernel module ib_uverbs is missing; `modprobe -a ib_uverbs mlx5_ib`", name);
  }
  if (exists_in(root, "/sys/class/infiniband_verbs/uverbs0") && !exists_in(root, "/dev/infiniband")) {
    return Error::make(
        ENOENT,
        "ibdev=%s: there is no /dev/infiniband; a container needs `--device=/dev/infiniband`, a "
        "host udev or devtmpfs (`mount -t devtmpfs none /dev`)",
        name);
  }
  if (errnum != 0) {
    return Error::make(errnum, "ibdev=%s: ibv_get_device_list: %s", name, std::strerror(errnum));
  }
  return Error::make(ENODEV,
                     "ibdev=%s: there is no RDMA device; `modprobe -a mlx5_core mlx5_ib`, and `lspci "
                     "-d 15b3:` lists the cards",
                     name);
}

Error no_netdev(const char* device, const char* pci_address) noexcept {
  return Error::make(ENODEV,
                     "%s (%s) has no netdev in this network namespace; run in that one (`ip netns exec NAME "
                     "...`), or bring the netdev here: `ip -n NAME link set NETDEV netns $$`",
                     device, pci_address);
}

}  // namespace chime::hca::verbs

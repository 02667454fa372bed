// SPDX-License-Identifier: BSD-3-Clause
#include "hca/verbs/open.h"

#include <cerrno>

#include "hca/verbs/device.h"
#include "hca/verbs/failure.h"
#include "hca/verbs/find_device.h"
#include "hca/verbs/holder.h"
#include "hca/verbs/objects.h"
#include "prm/layouts.h"
#include "prm/view.h"

namespace chime::hca::verbs {
namespace {

Result<Context> open_context(const FoundDevice& found) noexcept {
  mlx5dv_context_attr attributes{};
  attributes.flags = MLX5DV_CONTEXT_FLAGS_DEVX;
  Context context(mlx5dv_open_device(found.device, &attributes));
  if (context) return context;
  const int errnum = errno;
  if (errnum == EACCES || errnum == EPERM) {
    return fail(
        errnum,
        "%s: /dev/infiniband/%s may not be opened by this user; run as root, or give the user's group "
        "the device (`chgrp`, a udev rule)",
        found.device->name, found.device->dev_name);
  }
  return fail(call_failure("mlx5dv_open_device with DevX", errnum).within("%s", found.device->name));
}

/// libmlx5 opens without DevX where the kernel has none, and says nothing: the first command shows it.
Result<> check_devx(ibv_context& context, const FoundDevice& found) noexcept {
  prm::Box<prm::query_hca_cap_in> in;
  prm::Box<prm::query_hca_cap_out> out;
  in.set(prm::query_hca_cap_in::op_mod, static_cast<std::uint32_t>(prm::hca_cap_mode::cur));
  auto done = general_command(context, in.bytes(), out.bytes());
  if (done) return {};
  if (done.error().status != 0) return fail(done.error().within("%s", found.device->name));
  return fail(
      ENOTSUP,
      "%s: the kernel gives no DevX commands; the card's firmware must allow user contexts (`mlxconfig "
      "-d %s set UCTX_EN=1`, then a reset), and the kernel have CONFIG_INFINIBAND_USER_ACCESS",
      found.device->name, found.pci_address.data());
}

/// A port of InfiniBand has an IPoIB netdev at most, and no Ethernet frames.
Result<> check_ethernet(ibv_context& context, const FoundDevice& found) noexcept {
  ibv_port_attr port{};
  if (const int failed = ibv_query_port(&context, 1, &port); failed != 0) {
    return fail(call_failure("ibv_query_port", failed).within("%s", found.device->name));
  }
  if (port.link_layer == IBV_LINK_LAYER_ETHERNET) return {};
  return fail(
      ENOTSUP,
      "%s: the port is configured for InfiniBand; `mlxconfig -d %s set LINK_TYPE_P1=2` and a reset make it "
      "an Ethernet port",
      found.device->name, found.pci_address.data());
}

}  // namespace

Result<Owned<Device>> open(const char* ibdev) noexcept {
  auto found = find_device(ibdev);
  if (!found) return fail(found.error());
  if (auto unheld = check_unheld(found->device->dev_name, found->device->name, found->pci_address.data());
      !unheld) {
    return fail(unheld.error());
  }
  auto context = open_context(*found);
  if (!context) return fail(context.error());
  if (auto devx = check_devx(**context, *found); !devx) return fail(devx.error());
  if (auto ethernet = check_ethernet(**context, *found); !ethernet) return fail(ethernet.error());
  auto device = VerbsDevice::make(std::move(*context), found->netdev);
  if (!device) return fail(device.error());
  return Owned<Device>(std::move(*device));
}

}  // namespace chime::hca::verbs

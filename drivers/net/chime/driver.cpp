// SPDX-License-Identifier: BSD-3-Clause
#include "driver.h"

#include <bus_vdev_driver.h>
#include <ethdev_vdev.h>
#include <rte_eal.h>
#include <rte_string_fns.h>

#include <memory>
#include <new>

#include "compat/pmd_info.h"
#include "devargs.h"
#include "log.h"
#include "ops.h"
#include "queue_ops.h"
#include "rdma_port.h"
#include "secondary.h"

/// @file
/// The driver as the vdev bus knows it, and what all its ports in this process share.

namespace chime::net {

namespace {

int probe(rte_vdev_device* device) noexcept;
int remove(rte_vdev_device* device) noexcept;

/// One in a process. Nothing in it has a destructor: an application may exit with open ports and a running
/// model thread.
struct Driver {
  rte_vdev_driver registration{};
  std::mutex lock{};
  unsigned users = 0;               ///< ports that are open in this process
  hca::Runtime* runtime = nullptr;  ///< owned while there are users in a primary process
  PortControl* ports[RTE_MAX_ETHPORTS] = {};
};

constinit Driver driver{.registration = {.next = {},
                                         .driver = {},
                                         .probe = probe,
                                         .remove = remove,
                                         .dma_map = nullptr,
                                         .dma_unmap = nullptr,
                                         .drv_flags = 0}};

/// A port comes: the first one brings what all share.
Result<> enter() noexcept {
  const std::lock_guard lock(driver.lock);
  if (driver.users == 0) {
    if (rte_eal_process_type() == RTE_PROC_PRIMARY) {
      Result<Owned<hca::Runtime>> runtime = hca::Runtime::create();
      if (!runtime) return fail(runtime.error());
      if (Result<> done = open_channel(); !done) return done;
      driver.runtime = runtime->release();
    } else if (Result<> done = open_channel(); !done) {
      return done;
    }
  }
  ++driver.users;
  return {};
}

void leave() noexcept {
  const std::lock_guard lock(driver.lock);
  if (--driver.users != 0) return;
  close_channel();
  Owned<hca::Runtime>(driver.runtime).reset();
  driver.runtime = nullptr;
}

void publish(std::uint16_t port_id, PortControl* port) noexcept {
  const std::lock_guard lock(driver.lock);
  driver.ports[port_id] = port;
}

/// Everything of a new port but its place in ethdev's list.
Result<> open_port(rte_eth_dev& dev, const DevArgs& args) noexcept {
  rte_eth_dev_data& data = *dev.data;
  PortShared& shared = *new (data.dev_private) PortShared{};
  rte_strscpy(shared.name, data.name, sizeof shared.name);
  Result<Owned<PortControl>> made = make_owned<PortControl>("the port", dev, *driver.runtime, args);
  if (!made) return fail(made.error());
  if (Result<> done = open_hca(**made); !done) return done;
  data.mac_addrs = shared.mac;
  data.dev_flags |= RTE_ETH_DEV_INTR_LSC | RTE_ETH_DEV_AUTOFILL_QUEUE_XSTATS;
  dev.dev_ops = &primary_ops;
  install_bursts(dev);
  dev.process_private = made->release();
  publish(data.port_id, control_of(dev));
  return {};
}

void release(rte_eth_dev& dev) noexcept {
  dev.data->mac_addrs = nullptr;  // in dev_private
  rte_eth_dev_release_port(&dev);
}

int probe_primary(rte_vdev_device& device) noexcept {
  const char* name = rte_vdev_device_name(&device);
  Result<DevArgs> args = DevArgs::parse(rte_vdev_device_args(&device));
  if (!args) return report(name, args.error());
  if (device.device.numa_node == SOCKET_ID_ANY) device.device.numa_node = static_cast<int>(rte_socket_id());
  if (Result<> done = enter(); !done) return report(name, done.error());
  rte_eth_dev* dev = rte_eth_vdev_allocate(&device, sizeof(PortShared));
  if (dev == nullptr) {
    leave();
    return report(name, Error::make(ENOMEM, "no port free, or no EAL memory for it"));
  }
  if (Result<> done = open_port(*dev, *args); !done) {
    release(*dev);
    leave();
    return report(name, done.error());
  }
  rte_eth_dev_probing_finish(dev);
  return 0;
}

int probe_secondary(rte_vdev_device& device) noexcept {
  const char* name = rte_vdev_device_name(&device);
  if (Result<> done = enter(); !done) return report(name, done.error());
  rte_eth_dev* dev = rte_eth_dev_attach_secondary(name);
  if (dev == nullptr) {
    leave();
    return report(name, Error::make(ENODEV, "the primary process has no such port"));
  }
  if (shared_of(*dev).primary_only) {
    release(*dev);
    leave();
    return report(name, Error::make(ENOTSUP,
                                    "a port on a card belongs to its primary process; ports of the software "
                                    "HCA (without ibdev=) are shared"));
  }
  dev->device = &device.device;
  dev->dev_ops = &secondary_ops;
  install_bursts(*dev);
  rte_eth_dev_probing_finish(dev);
  return 0;
}

int probe(rte_vdev_device* device) noexcept {
  return rte_eal_process_type() == RTE_PROC_PRIMARY ? probe_primary(*device) : probe_secondary(*device);
}

int remove(rte_vdev_device* device) noexcept {
  rte_eth_dev* dev = rte_eth_dev_allocated(rte_vdev_device_name(device));
  if (dev == nullptr) return 0;  // closed already
  if (rte_eal_process_type() == RTE_PROC_PRIMARY && dev->data->dev_started)
    rte_eth_dev_stop(dev->data->port_id);
  return rte_eth_dev_close(dev->data->port_id);
}

}  // namespace

PortControl* find_port(std::uint16_t port_id, std::unique_lock<std::mutex>& staying) noexcept {
  staying = std::unique_lock(driver.lock);
  return port_id < RTE_MAX_ETHPORTS ? driver.ports[port_id] : nullptr;
}

int close_port(rte_eth_dev* dev) noexcept {
  if (PortControl* port = control_of(*dev); port != nullptr) {
    publish(dev->data->port_id, nullptr);
    end_rdma(*port);
    Owned<PortControl>(port).reset();
    dev->process_private = nullptr;
    dev->data->mac_addrs = nullptr;  // in dev_private
  }
  leave();
  return 0;
}

}  // namespace chime::net

RTE_PMD_REGISTER_VDEV(net_chime, chime::net::driver.registration);

CHIME_PMD_INFO(net_chime,
               "wire=loop|cable:<name>|tap:<interface>|<ethdev> profile=<name>|<file> ibdev=<RDMA "
               "device>|<PCI address>|<netdev> "
               "mac=<address> model_thread=shared|own|caller model_cpu=<n> loss=<rate> duplicate=<rate> "
               "reorder=<rate> corrupt=<rate> delay=<us> fault_seed=<n> link_speed=<Mbit/s> responder=0|1");

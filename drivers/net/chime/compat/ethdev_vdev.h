// SPDX-License-Identifier: BSD-3-Clause
/** @file Makes the ethdev port of a virtual device, for a DPDK installed without its driver SDK. */
#pragma once

#include <bus_vdev_driver.h>
#include <ethdev_driver.h>
#include <rte_malloc.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Allocates a port named like the device, with private_data_size zeroed bytes of EAL memory as dev_private on
 * the device's NUMA node (none if 0). Primary process only; undone by rte_eth_dev_release_port().
 *
 * @return the port, or NULL if the name is taken, no port is free or memory runs out.
 */
static inline struct rte_eth_dev* rte_eth_vdev_allocate(struct rte_vdev_device* dev,
                                                        size_t private_data_size) {
  const char* name = rte_vdev_device_name(dev);
  struct rte_eth_dev* port = rte_eth_dev_allocate(name);
  if (!port) return NULL;
  if (private_data_size > 0) {
    port->data->dev_private =
        rte_zmalloc_socket(name, private_data_size, RTE_CACHE_LINE_SIZE, dev->device.numa_node);
    if (!port->data->dev_private) {
      rte_eth_dev_release_port(port);
      return NULL;
    }
  }
  port->device = &dev->device;
  port->intr_handle = NULL;
  port->data->numa_node = dev->device.numa_node;
  return port;
}

#ifdef __cplusplus
}
#endif

// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The driver's side of the virtual device bus of DPDK 22.11, for a DPDK installed without its driver SDK.
 */
#pragma once

#include <dev_driver.h>
#include <rte_bus_vdev.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One `--vdev` (or hot-plugged device). */
struct rte_vdev_device {
  RTE_TAILQ_ENTRY(rte_vdev_device) next;
  struct rte_device device;
};

struct rte_vdev_driver;

/** Takes the device; 0, or a negative errno. Also runs in each secondary process. */
typedef int rte_vdev_probe_t(struct rte_vdev_device* dev);
/** Lets the device go; 0, or a negative errno. */
typedef int rte_vdev_remove_t(struct rte_vdev_device* dev);
typedef int rte_vdev_dma_map_t(struct rte_vdev_device* dev, void* addr, uint64_t iova, size_t len);
typedef int rte_vdev_dma_unmap_t(struct rte_vdev_device* dev, void* addr, uint64_t iova, size_t len);

struct rte_vdev_driver {
  RTE_TAILQ_ENTRY(rte_vdev_driver) next;
  struct rte_driver driver;
  rte_vdev_probe_t* probe;
  rte_vdev_remove_t* remove;
  rte_vdev_dma_map_t* dma_map;     /**< or NULL: the device does no DMA of its own */
  rte_vdev_dma_unmap_t* dma_unmap; /**< or NULL */
  uint32_t drv_flags;              /**< RTE_VDEV_DRV_* */
};

/** drv_flags: only probe where IOVAs are virtual addresses. It forces that mode on the whole process. */
#define RTE_VDEV_DRV_NEED_IOVA_AS_VA 0x0001

/** Puts the driver in the bus's list, which keeps the pointer. Names match by prefix, first come first. */
__rte_internal void rte_vdev_register(struct rte_vdev_driver* driver);
/** Takes the driver out of the bus's list again. */
__rte_internal void rte_vdev_unregister(struct rte_vdev_driver* driver);

/** The name that the user gave, or NULL without a device. */
static inline const char* rte_vdev_device_name(const struct rte_vdev_device* dev) {
  return dev ? dev->device.name : NULL;
}

/** The text after the first comma of `--vdev`; empty, never NULL, if there is none. */
static inline const char* rte_vdev_device_args(const struct rte_vdev_device* dev) {
  return dev && dev->device.devargs ? dev->device.devargs->args : "";
}

/* Not by container_of(), which needs the typeof of GNU C++ modes. */
#define RTE_DEV_TO_VDEV(ptr) \
  ((struct rte_vdev_device*)((char*)(ptr)-offsetof(struct rte_vdev_device, device)))
#define RTE_DEV_TO_VDEV_CONST(ptr) \
  ((const struct rte_vdev_device*)((const char*)(ptr)-offsetof(struct rte_vdev_device, device)))
#define RTE_ETH_DEV_TO_VDEV(eth_dev) RTE_DEV_TO_VDEV((eth_dev)->device)

/**
 * Registers the rte_vdev_driver object `vdrv` under the name `nm` when the plugin is loaded.
 *
 * That is before the dynamic initialisers of the same file run: in C++ define the object `constinit`, or its
 * initialiser wipes the registration and the EAL crashes on the broken list.
 */
#define RTE_PMD_REGISTER_VDEV(nm, vdrv) \
  RTE_INIT(vdev_register_##nm) {        \
    (vdrv).driver.name = RTE_STR(nm);   \
    rte_vdev_register(&(vdrv));         \
  }                                     \
  RTE_PMD_EXPORT_NAME(nm, __COUNTER__)

#ifdef __cplusplus
}
#endif

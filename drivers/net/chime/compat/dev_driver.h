// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * A device and a driver as the EAL of DPDK 22.11 lays them out, for a DPDK installed without its driver SDK.
 * Layouts are those of dpdk-22.11-abi.json in this folder; abi_check asserts each of them.
 */
#pragma once

#include <rte_common.h>
#include <rte_compat.h>
#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_os.h>
#include <sys/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What every bus's driver structure holds: the EAL and rte_driver_name() read it. */
struct rte_driver {
  RTE_TAILQ_ENTRY(rte_driver) next;
  const char* name;  /**< what device names are matched against; set by the registration macro */
  const char* alias; /**< a second name, or NULL */
};

/** What every bus's device structure holds. The bus owns it; a driver reads it from probe to remove. */
struct rte_device {
  RTE_TAILQ_ENTRY(rte_device) next;
  const char* name;
  const char* bus_info;            /**< bus-specific text, or NULL */
  const struct rte_driver* driver; /**< NULL until probed */
  const struct rte_bus* bus;       /**< opaque here: see rte_bus_name() */
  int numa_node;                   /**< or SOCKET_ID_ANY */
  struct rte_devargs* devargs;     /**< as the user gave them, or NULL */
};

#ifdef __cplusplus
}
#endif

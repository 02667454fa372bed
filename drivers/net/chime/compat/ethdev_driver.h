// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The driver's side of an ethdev port of DPDK 22.11, for a DPDK installed without its driver SDK: the two
 * port structures, and the functions by which a driver makes, publishes and drops a port. What the public
 * headers already declare is not repeated; what a virtual device does not need is left out.
 */
#pragma once

#include <dev_driver.h>
#include <ethdev_ops.h>
#include <pthread.h>
#include <rte_ethdev.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rte_eth_rxtx_callback; /* the application's burst callbacks: ethdev's own */

/**
 * A port as one process sees it: functions and process-local pointers. ethdev copies the burst functions to
 * where applications call them (rte_eth_fp_ops) at start, and in a secondary process at probing_finish.
 */
struct rte_eth_dev {
  eth_rx_burst_t rx_pkt_burst;
  eth_tx_burst_t tx_pkt_burst;
  eth_tx_prep_t tx_pkt_prepare;
  eth_rx_queue_count_t rx_queue_count;
  eth_rx_descriptor_status_t rx_descriptor_status;
  eth_tx_descriptor_status_t tx_descriptor_status;

  struct rte_eth_dev_data* data; /**< shared by all processes */
  void* process_private;         /**< the driver's, per process */
  const struct eth_dev_ops* dev_ops;
  struct rte_device* device;
  struct rte_intr_handle* intr_handle; /**< opaque: see rte_interrupts.h; NULL if the port has none */

  struct rte_eth_dev_cb_list link_intr_cbs;
  struct rte_eth_rxtx_callback* post_rx_burst_cbs[RTE_MAX_QUEUES_PER_PORT];
  struct rte_eth_rxtx_callback* pre_tx_burst_cbs[RTE_MAX_QUEUES_PER_PORT];

  enum rte_eth_dev_state state;
  void* security_ctx; /**< of rte_security, or NULL */
} __rte_cache_aligned;

/**
 * A port as all processes share it, in EAL memory. rte_eth_dev_release_port() frees rx_queues, tx_queues,
 * mac_addrs, hash_mac_addrs and dev_private: a driver clears those that it did not allocate on their own.
 */
struct rte_eth_dev_data {
  char name[RTE_ETH_NAME_MAX_LEN];

  void** rx_queues; /**< the driver's queue objects by index: the first argument of the burst functions */
  void** tx_queues;
  uint16_t nb_rx_queues;
  uint16_t nb_tx_queues;

  struct rte_eth_dev_sriov sriov;

  void* dev_private; /**< the driver's, shared by all processes */

  struct rte_eth_link dev_link; /**< only by rte_eth_linkstatus_get() and _set() */
  struct rte_eth_conf dev_conf;
  uint16_t mtu; /**< bytes of L3 */

  uint32_t min_rx_buf_size;      /**< the smallest of all Rx queues, bytes */
  uint64_t rx_mbuf_alloc_failed; /**< the driver counts, ethdev reports it as rx_nombuf */

  struct rte_ether_addr* mac_addrs; /**< max_mac_addrs of rte_eth_dev_info; [0] is the port's own */
  uint64_t mac_pool_sel[RTE_ETH_NUM_RECEIVE_MAC_ADDR];
  struct rte_ether_addr* hash_mac_addrs;

  uint16_t port_id;

  /* Kept by ethdev, but scattered_rx and lro, which are the driver's. */
  __extension__ uint8_t promiscuous : 1;
  __extension__ uint8_t scattered_rx : 1;
  __extension__ uint8_t all_multicast : 1;
  __extension__ uint8_t dev_started : 1;
  __extension__ uint8_t lro : 1;
  __extension__ uint8_t dev_configured : 1;
  __extension__ uint8_t flow_configured : 1;

  uint8_t rx_queue_state[RTE_MAX_QUEUES_PER_PORT]; /**< RTE_ETH_QUEUE_STATE_*, the driver's */
  uint8_t tx_queue_state[RTE_MAX_QUEUES_PER_PORT];

  uint32_t dev_flags; /**< RTE_ETH_DEV_* */
  int numa_node;      /**< or SOCKET_ID_ANY */

  struct rte_vlan_filter_conf vlan_filter_conf;

  struct rte_eth_dev_owner owner;
  uint16_t representor_id;
  uint16_t backer_port_id;

  pthread_mutex_t flow_ops_mutex; /**< held around rte_flow calls without RTE_ETH_DEV_FLOW_OPS_THREAD_SAFE */
} __rte_cache_aligned;

/** The ports of this process by number; unused slots included. */
extern struct rte_eth_dev rte_eth_devices[RTE_MAX_ETHPORTS];

/**
 * Takes a free port and names it (primary process).
 * @return the port, or NULL if the name is taken, too long or no port is free.
 */
__rte_internal struct rte_eth_dev* rte_eth_dev_allocate(const char* name);
/** Joins the primary's port of that name (secondary process); NULL if there is none. */
__rte_internal struct rte_eth_dev* rte_eth_dev_attach_secondary(const char* name);
/** This process's allocated port of that name, or NULL. */
__rte_internal struct rte_eth_dev* rte_eth_dev_allocated(const char* name);
/** The port of that name, whichever driver's it is, or NULL. */
__rte_internal struct rte_eth_dev* rte_eth_dev_get_by_name(const char* name);
/** Gives a port back, freeing what rte_eth_dev_data names; 0, or a negative errno. */
__rte_internal int rte_eth_dev_release_port(struct rte_eth_dev* port);

/** The last step of probe: publishes the port and raises RTE_ETH_EVENT_NEW. */
__rte_internal void rte_eth_dev_probing_finish(struct rte_eth_dev* port);
/** Calls the application's callbacks for an event. ret_param is what the event documents, or NULL. */
__rte_internal int rte_eth_dev_callback_process(struct rte_eth_dev* port, enum rte_eth_event_type event,
                                                void* ret_param);

typedef int (*ethdev_init_t)(struct rte_eth_dev* port, void* init_params);
typedef int (*ethdev_uninit_t)(struct rte_eth_dev* port);
typedef int (*ethdev_bus_specific_init)(struct rte_eth_dev* port, void* bus_device);

/** allocate or attach_secondary, private data, both initialisers and probing_finish in one; 0 or -errno. */
__rte_internal int rte_eth_dev_create(struct rte_device* device, const char* name, size_t priv_data_size,
                                      ethdev_bus_specific_init bus_specific_init, void* bus_init_params,
                                      ethdev_init_t init, void* init_params);
/** The uninitialiser, then release_port; 0 or -errno. */
__rte_internal int rte_eth_dev_destroy(struct rte_eth_dev* port, ethdev_uninit_t uninit);

/** Moves no packet: what both burst functions are while a port is stopped. */
__rte_internal uint16_t rte_eth_pkt_burst_dummy(void* queue, struct rte_mbuf** pkts, uint16_t nb_pkts);

/**
 * Publishes a link in one store, for readers in any thread and process.
 * @return 0 if it went up or down by this, -1 if it is as up or down as before.
 */
static inline int rte_eth_linkstatus_set(struct rte_eth_dev* port, const struct rte_eth_link* link) {
  struct rte_eth_link now = *link;
  struct rte_eth_link before;
  __atomic_exchange(&port->data->dev_link, &now, &before, __ATOMIC_SEQ_CST);
  return before.link_status == now.link_status ? -1 : 0;
}

/** Reads the link in one load. */
static inline void rte_eth_linkstatus_get(const struct rte_eth_dev* port, struct rte_eth_link* link) {
  __atomic_load(&port->data->dev_link, link, __ATOMIC_SEQ_CST);
}

#ifdef __cplusplus
}
#endif

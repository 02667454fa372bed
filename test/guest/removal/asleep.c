/* SPDX-License-Identifier: BSD-3-Clause */
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_epoll.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* An application that sleeps until a packet comes, and loses its card instead. DPDK's interface alone.
 *
 * usage: asleep EAL...
 * Says "asleep" when the card may go, and at the end in one line what it met. */

#define POOL 2047
#define BURST 32

static atomic_int told;

static int count_removal(uint16_t port, enum rte_eth_event_type event, void* argument, void* value) {
  (void)port;
  (void)argument;
  (void)value;
  told += event == RTE_ETH_EVENT_INTR_RMV;
  return 0;
}

static int start(struct rte_mempool* pool) {
  struct rte_eth_conf conf;
  struct rte_eth_dev_info info;
  memset(&conf, 0, sizeof conf);
  conf.intr_conf.rxq = 1;
  conf.intr_conf.rmv = 1;
  return rte_eth_dev_info_get(0, &info) != 0 || (*info.dev_flags & RTE_ETH_DEV_INTR_RMV) == 0 ||
         rte_eth_dev_callback_register(0, RTE_ETH_EVENT_INTR_RMV, count_removal, NULL) != 0 ||
         rte_eth_dev_configure(0, 1, 1, &conf) != 0 ||
         rte_eth_rx_queue_setup(0, 0, 128, SOCKET_ID_ANY, NULL, pool) != 0 ||
         rte_eth_tx_queue_setup(0, 0, 128, SOCKET_ID_ANY, NULL) != 0 || rte_eth_dev_start(0) != 0 ||
         rte_eth_dev_rx_intr_ctl_q(0, 0, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_ADD, NULL) != 0 ||
         rte_eth_dev_rx_intr_enable(0, 0) != 0;
}

/* More than the queue has room for. @return those that it took */
static unsigned send_many(struct rte_mempool* pool) {
  struct rte_mbuf* m;
  unsigned i, taken = 0;
  for (i = 0; i < 512 && (m = rte_pktmbuf_alloc(pool)) != NULL; ++i) {
    memset(rte_pktmbuf_append(m, 60), 2, 60);
    if (rte_eth_tx_burst(0, 0, &m, 1) == 1)
      ++taken;
    else
      rte_pktmbuf_free(m);
  }
  return taken;
}

int main(int argc, char** argv) {
  struct rte_epoll_event event;
  struct rte_mbuf* burst[BURST];
  struct rte_eth_link link;
  struct rte_mempool* pool;
  unsigned taken, received;
  int i, woken, disarmed, stopped, closed;

  if (rte_eal_init(argc, argv) < 0) return 2;
  pool = rte_pktmbuf_pool_create("packets", POOL, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
  if (pool == NULL || start(pool) != 0) return 3;
  printf("asleep\n");
  fflush(stdout);
  woken = rte_epoll_wait(RTE_EPOLL_PER_THREAD, &event, 1, 60000);
  for (i = 0; told == 0 && i < 6000; ++i) rte_delay_us_sleep(10000);
  disarmed = rte_eth_dev_rx_intr_disable(0, 0);
  rte_eth_link_get_nowait(0, &link);
  received = rte_eth_rx_burst(0, 0, burst, BURST);
  taken = send_many(pool);
  printf("woken %d, told %d, removed %d, disarmed %d, link %d, received %u, taken %s", woken, told,
         rte_eth_dev_is_removed(0), disarmed, link.link_status, received, taken <= 128 ? "some" : "too many");
  rte_eth_dev_rx_intr_ctl_q(0, 0, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_DEL, NULL);
  stopped = rte_eth_dev_stop(0);
  closed = rte_eth_dev_close(0);
  printf(", stopped %d, closed %d, mbufs %u\n", stopped, closed, POOL - rte_mempool_avail_count(pool));
  return rte_eal_cleanup() != 0;
}

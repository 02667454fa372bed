/* SPDX-License-Identifier: BSD-3-Clause */
#include <rte_eal.h>
#include <rte_epoll.h>
#include <rte_ethdev.h>
#include <rte_flow.h>
#include <rte_mbuf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Receive interrupts as an lcore that sleeps uses them; DPDK's interface alone, no word of the driver's.
 *
 *     queue 1 -> wire (looped) -> queue 0: IPv4 | queue 1: what is no IP
 *
 * usage: wakeups EAL... -- ROUNDS
 * Prints what it saw in one line, or what went wrong. */

#define QUEUES 2
#define WAIT_MS 30000

static struct rte_mempool* pool;

static int failed(const char* what, int answer) {
  printf("FAILED: %s (%d)\n", what, answer);
  return -1;
}

static int configure(int interrupts) {
  struct rte_eth_conf conf;
  uint16_t q;
  memset(&conf, 0, sizeof conf);
  conf.intr_conf.rxq = interrupts != 0;
  int answer = rte_eth_dev_configure(0, QUEUES, 1, &conf);
  for (q = 0; q < QUEUES && answer == 0; ++q)
    answer = rte_eth_rx_queue_setup(0, q, 128, SOCKET_ID_ANY, NULL, pool);
  if (answer == 0) answer = rte_eth_tx_queue_setup(0, 0, 128, SOCKET_ID_ANY, NULL);
  return answer;
}

/* Frames without IP are queue 1's. */
static int steer(void) {
  const struct rte_flow_attr attr = {.ingress = 1};
  const struct rte_flow_item_eth type = {.type = RTE_BE16(0x88b5)}, mask = {.type = RTE_BE16(0xffff)};
  const struct rte_flow_action_queue one = {.index = 1}, zero = {.index = 0};
  const struct rte_flow_item other[] = {{.type = RTE_FLOW_ITEM_TYPE_ETH, .spec = &type, .mask = &mask},
                                        {.type = RTE_FLOW_ITEM_TYPE_END}};
  const struct rte_flow_item ip[] = {
      {.type = RTE_FLOW_ITEM_TYPE_ETH}, {.type = RTE_FLOW_ITEM_TYPE_IPV4}, {.type = RTE_FLOW_ITEM_TYPE_END}};
  const struct rte_flow_action to_one[] = {{.type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &one},
                                           {.type = RTE_FLOW_ACTION_TYPE_END}};
  const struct rte_flow_action to_zero[] = {{.type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &zero},
                                            {.type = RTE_FLOW_ACTION_TYPE_END}};
  struct rte_flow_error error;
  return rte_flow_create(0, &attr, other, to_one, &error) == NULL ||
         rte_flow_create(0, &attr, ip, to_zero, &error) == NULL;
}

static int start(void) {
  struct rte_eth_link link;
  int tries, answer = rte_eth_dev_start(0);
  if (answer != 0) return failed("start", answer);
  if (rte_eth_promiscuous_enable(0) != 0 || steer() != 0) return failed("promiscuous mode and rules", -1);
  for (tries = 0; tries < 3000; ++tries) {
    rte_eth_link_get_nowait(0, &link);
    if (link.link_status == RTE_ETH_LINK_UP) return 0;
    rte_delay_us_sleep(10000);
  }
  return failed("the link does not come up", 0);
}

/* One frame, which comes back to the queue. */
static int send_to(uint16_t queue) {
  static const uint8_t ip[] = {0x08, 0x00, 0x45, 0,   0, 46, 0, 0,   0, 0, 64,
                               17,   0,    0,    192, 0, 2,  1, 192, 0, 2, 2};
  static const uint8_t other[] = {0x88, 0xb5};
  struct rte_mbuf* m = rte_pktmbuf_alloc(pool);
  char* frame = m != NULL ? rte_pktmbuf_append(m, 60) : NULL;
  if (frame == NULL) return failed("an mbuf", 0);
  memset(frame, 0, 60);
  memset(frame, 2, 12);
  if (queue == 0)
    memcpy(frame + 12, ip, sizeof ip);
  else
    memcpy(frame + 12, other, sizeof other);
  return rte_eth_tx_burst(0, 0, &m, 1) == 1 ? 0 : failed("the frame was not sent", 0);
}

static int receive_one(uint16_t queue) {
  struct rte_mbuf* burst[32];
  uint16_t i, n = rte_eth_rx_burst(0, queue, burst, 32);
  for (i = 0; i < n; ++i) rte_pktmbuf_free(burst[i]);
  return n == 1 ? 0 : failed("packets after a wake-up, of which there should be one", n);
}

static int nothing_tells(const char* when) {
  struct rte_epoll_event event;
  int n = rte_epoll_wait(RTE_EPOLL_PER_THREAD, &event, 1, 0);
  return n == 0 ? 0 : failed(when, n);
}

/* Sleeps until a queue tells of packets. */
static int woken_by(uint16_t queue) {
  struct rte_epoll_event event;
  int answer, n = rte_epoll_wait(RTE_EPOLL_PER_THREAD, &event, 1, WAIT_MS);
  if (n != 1) return failed("not woken", n);
  if ((uintptr_t)event.epdata.data != queue)
    return failed("woken by the wrong queue", (int)(uintptr_t)event.epdata.data);
  answer = rte_eth_dev_rx_intr_disable(0, queue);
  return answer == 0 ? 0 : failed("rte_eth_dev_rx_intr_disable", answer);
}

static int arm(uint16_t queue) {
  int answer = rte_eth_dev_rx_intr_enable(0, queue);
  return answer == 0 ? 0 : failed("rte_eth_dev_rx_intr_enable", answer);
}

static int listen_to_all(int op) {
  uint16_t q;
  for (q = 0; q < QUEUES; ++q) {
    int answer = rte_eth_dev_rx_intr_ctl_q(0, q, RTE_EPOLL_PER_THREAD, op, (void*)(uintptr_t)q);
    if (answer != 0) return failed("rte_eth_dev_rx_intr_ctl_q", answer);
  }
  return 0;
}

/* Both queues armed; one is told of, the other one stays armed and quiet. */
static int turn(uint16_t queue) {
  return send_to(queue) != 0 || woken_by(queue) != 0 || receive_one(queue) != 0 ||
         nothing_tells("an event without an arming") != 0 || arm(queue) != 0;
}

/* What came before the arming is told of at once: no packet waits for the next one. */
static int late(uint16_t queue) {
  int tries;
  /* Takes what the armed queue tells of, and leaves the packet. */
  if (send_to(queue) != 0 || woken_by(queue) != 0) return -1;
  for (tries = 0; rte_eth_rx_queue_count(0, queue) != 1; ++tries)
    if (tries == 3000) return failed("rte_eth_rx_queue_count", rte_eth_rx_queue_count(0, queue));
  return arm(queue) != 0 || woken_by(queue) != 0 || receive_one(queue) != 0 || arm(queue) != 0;
}

static int run(int rounds) {
  int life, i;
  uint16_t q;
  if (configure(0) != 0 || start() != 0) return failed("a port without interrupts", -1);
  if (rte_eth_dev_rx_intr_enable(0, 0) >= 0 || rte_eth_dev_rx_intr_disable(0, 0) >= 0 ||
      rte_eth_dev_rx_intr_ctl_q(0, 0, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_ADD, NULL) >= 0)
    return failed("interrupts that nobody configured", 0);
  rte_eth_dev_stop(0);
  if (configure(1) != 0) return failed("a port with interrupts", -1);
  for (life = 0; life < 2; ++life) {
    if (start() != 0 || listen_to_all(RTE_INTR_EVENT_ADD) != 0) return -1;
    for (q = 0; q < QUEUES; ++q)
      if (arm(q) != 0) return -1;
    if (nothing_tells("an event before the first packet") != 0) return -1;
    for (i = 0; i < rounds; ++i)
      if (turn((uint16_t)(i % QUEUES)) != 0) return failed("round", i);
    for (q = 0; q < QUEUES; ++q)
      if (late(q) != 0) return failed("a packet before the arming, queue", q);
    if (listen_to_all(RTE_INTR_EVENT_DEL) != 0) return -1;
    rte_eth_dev_stop(0);
  }
  printf("%d wake-ups of %d queues, each for its packet\n", 2 * (rounds + 2 * QUEUES), QUEUES);
  return 0;
}

int main(int argc, char** argv) {
  int status = 1, used = rte_eal_init(argc, argv);
  if (used < 0 || used + 1 >= argc) return 2;
  pool = rte_pktmbuf_pool_create("packets", 1023, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
  if (pool != NULL && rte_eth_dev_count_avail() == 1) status = run(atoi(argv[used + 1])) != 0;
  rte_eth_dev_close(0);
  return rte_eal_cleanup() != 0 ? 3 : status;
}

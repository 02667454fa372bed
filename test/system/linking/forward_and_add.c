/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_pmd_chime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One lcore forwards packets as fast as they come, and posts RDMA atomics from the same loop.
 *
 *     net_chime0 ----- cable ----- net_chime1
 *       ^   packets go round: sent on 0, received on 1, sent on 0 ...
 *       |   fetch-and-adds of a queue pair of 0 on a word of 1, OUTSTANDING at a time
 *     the lcore
 *
 * usage: forward_and_add EAL... -- PACKETS ADDITIONS
 * Ends when both came through; says so in one line, or which of them went wrong. */

#define BURST 32
#define PACKETS_UNDER_WAY 256
#define OUTSTANDING 16
#define LENGTH 64

static int failed(const char* tried) {
  fprintf(stderr, "%s: %s\n", tried, rte_pmd_chime_last_error());
  return 1;
}

static int start_port(uint16_t port, struct rte_mempool* pool) {
  struct rte_eth_conf conf;
  memset(&conf, 0, sizeof conf);
  return rte_eth_dev_configure(port, 1, 1, &conf) != 0 ||
         rte_eth_rx_queue_setup(port, 0, 512, SOCKET_ID_ANY, NULL, pool) != 0 ||
         rte_eth_tx_queue_setup(port, 0, 512, SOCKET_ID_ANY, NULL) != 0 || rte_eth_dev_start(port) != 0 ||
         rte_eth_promiscuous_enable(port) != 0;
}

/* Every packet carries its number, so that each is known when it comes back. */
static uint16_t first_packets(struct rte_mempool* pool, uint16_t port) {
  uint16_t sent = 0;
  while (sent < PACKETS_UNDER_WAY) {
    struct rte_mbuf* m = rte_pktmbuf_alloc(pool);
    char* frame = m != NULL ? rte_pktmbuf_append(m, LENGTH) : NULL;
    if (frame == NULL) break;
    memset(frame, 0, LENGTH);
    memset(frame, 2, 12);
    frame[12] = (char)0x88;
    frame[13] = (char)0xb5;
    memcpy(frame + 14, &sent, sizeof sent);
    if (rte_eth_tx_burst(port, 0, &m, 1) != 1) {
      rte_pktmbuf_free(m);
      break;
    }
    ++sent;
  }
  return sent;
}

struct adder {
  struct rte_pmd_chime_worker* worker;
  struct rte_pmd_chime_qp* qp;
  struct rte_pmd_chime_op op;
  uint64_t posted, done, wrong;
};

/* What the loop does for its atomics: no call of the system, no lock, no wait. */
static void add(struct adder* a, uint64_t wanted) {
  struct rte_pmd_chime_completion done[OUTSTANDING];
  struct rte_pmd_chime_op ops[OUTSTANDING];
  uint16_t i, n = rte_pmd_chime_poll(a->worker, done, OUTSTANDING);
  /* One queue pair: its originals come in order. */
  for (i = 0; i < n; ++i) a->wrong += done[i].status != 0 || done[i].original != a->done++;
  n = 0;
  while (a->posted + n < wanted && a->posted + n - a->done < OUTSTANDING) ops[n++] = a->op;
  if (n != 0) a->posted += rte_pmd_chime_post(a->qp, ops, n);
}

static int run(uint64_t packets, uint64_t additions) {
  struct rte_mempool* pool = rte_pktmbuf_pool_create("packets", 4095, 128, 0, 2048 + 128, SOCKET_ID_ANY);
  const struct rte_pmd_chime_qp_conf conf = {.rights = RTE_PMD_CHIME_REMOTE_ATOMIC, .socket = -1};
  struct rte_pmd_chime_worker *near, *far;
  struct rte_pmd_chime_qp* other;
  struct rte_pmd_chime_mem* memory;
  struct rte_pmd_chime_mem_desc target;
  struct rte_pmd_chime_endpoint ends[2];
  struct rte_mbuf* burst[BURST];
  struct adder a;
  volatile uint64_t* word = rte_zmalloc("target", 64, 64);
  uint64_t forwarded = 0, refused = 0, started, ended;
  uint16_t seeds;

  if (pool == NULL || word == NULL || start_port(0, pool) != 0 || start_port(1, pool) != 0) {
    fprintf(stderr, "the ports can't be started\n");
    return 1;
  }
  memset(&a, 0, sizeof a);
  a.worker = near = rte_pmd_chime_worker_create(0, NULL);
  far = rte_pmd_chime_worker_create(1, NULL);
  if (near == NULL || far == NULL) return failed("workers");
  a.qp = rte_pmd_chime_qp_create(near, &conf);
  other = rte_pmd_chime_qp_create(far, &conf);
  if (a.qp == NULL || other == NULL) return failed("queue pairs");
  memory = rte_pmd_chime_mem_register(1, (void*)(uintptr_t)word, 64,
                                      RTE_PMD_CHIME_LOCAL_WRITE | RTE_PMD_CHIME_REMOTE_ATOMIC);
  if (memory == NULL || rte_pmd_chime_mem_export(memory, 0, &target) != 0) return failed("memory");
  if (rte_pmd_chime_qp_local(a.qp, &ends[0]) != 0 || rte_pmd_chime_qp_local(other, &ends[1]) != 0 ||
      rte_pmd_chime_qp_connect(a.qp, &ends[1], NULL) != 0 ||
      rte_pmd_chime_qp_connect(other, &ends[0], NULL) != 0)
    return failed("connection");
  a.op = rte_pmd_chime_atomic(RTE_PMD_CHIME_FETCH_ADD, 8, target.address, target.rkey, 0);
  rte_pmd_chime_op_add(&a.op, 1);

  seeds = first_packets(pool, 0);
  started = rte_get_timer_cycles();
  ended = started + 120 * rte_get_timer_hz();
  while ((forwarded < packets || a.done < additions) && rte_get_timer_cycles() < ended) {
    const uint16_t got = rte_eth_rx_burst(1, 0, burst, BURST);
    const uint16_t sent = rte_eth_tx_burst(0, 0, burst, got);
    forwarded += sent;
    refused += (uint16_t)(got - sent);
    if (sent != got) rte_pktmbuf_free_bulk(burst + sent, got - sent);
    add(&a, additions);
  }
  ended = rte_get_timer_cycles() - started;

  /* Those that still go round come out now. */
  uint16_t back = 0;
  uint64_t patience = rte_get_timer_cycles() + 5 * rte_get_timer_hz();
  while (back + refused < seeds && rte_get_timer_cycles() < patience) {
    const uint16_t got = rte_eth_rx_burst(1, 0, burst, BURST);
    rte_pktmbuf_free_bulk(burst, got);
    back = (uint16_t)(back + got);
  }
  printf("%" PRIu64 " packets forwarded, %u of %u came back; %" PRIu64 " fetch-and-adds, %" PRIu64
         " wrong, the word is %" PRIu64 "; %.2f s\n",
         forwarded, back, seeds, a.done, a.wrong, *word, (double)ended / (double)rte_get_timer_hz());

  rte_pmd_chime_qp_destroy(a.qp);
  rte_pmd_chime_qp_destroy(other);
  rte_pmd_chime_worker_free(near);
  rte_pmd_chime_worker_free(far);
  rte_pmd_chime_mem_unregister(memory);
  rte_eth_dev_stop(0);
  rte_eth_dev_stop(1);
  return forwarded < packets || back != seeds || a.done != additions || a.wrong != 0 || *word != additions;
}

int main(int argc, char** argv) {
  const int used = rte_eal_init(argc, argv);
  int status;
  if (used < 0 || argc - used != 3) {
    fprintf(stderr, "usage: forward_and_add EAL... -- PACKETS ADDITIONS\n");
    return 2;
  }
  status = run(strtoull(argv[used + 1], NULL, 0), strtoull(argv[used + 2], NULL, 0));
  return rte_eal_cleanup() != 0 ? 1 : status;
}

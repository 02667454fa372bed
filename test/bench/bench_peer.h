/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A driver as a benchmark without hardware sees it: burst functions, and where the card's side of their
 * rings lies. Plain C, so that a driver in whatever language can be measured by the same program: build a
 * shared object that exports bench_peer_get(), and give it to the benchmark.
 *
 * Pointers are virtual addresses of the process; records and rings hold big-endian values as for the card.
 */
#ifndef CHIME_BENCH_PEER_H
#define CHIME_BENCH_PEER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The receive side. */
struct bench_rxq_view {
  void* cq; /* 64-byte CQEs */
  void* rq;
  volatile uint32_t* cq_dbrec; /* consumer index, 24 bits */
  volatile uint32_t* rq_dbrec; /* WQEs posted, low 16 bits */
  uint32_t log_cq;             /* CQEs */
  uint32_t log_rq;             /* WQEs */
  uint32_t rq_stride;    /* bytes of a WQE: 16 for one data segment; 32: next segment and data segment */
  uint32_t dseg_off;     /* of the first data segment in a WQE */
  uint32_t log_strd_num; /* multi-packet WQEs: strides of one, as a logarithm; 0: one packet a WQE */
  uint32_t log_strd_sz;  /* multi-packet WQEs: bytes of a stride, as a logarithm */
  uint32_t comp_session; /* mini-CQEs in a compressed session; 0: no compression */
};

/* The transmit side. */
struct bench_txq_view {
  void* cq;
  void* sq; /* 64-byte basic blocks */
  volatile uint32_t* cq_dbrec;
  volatile uint32_t* sq_dbrec; /* blocks posted, low 16 bits */
  volatile uint64_t* uar;      /* the doorbell, or NULL */
  uint32_t log_cq;
  uint32_t log_sq;
};

typedef uint16_t (*bench_burst_t)(void* queue, void** packets, uint16_t count);

/* One configuration of a driver. A side that it does not have is NULL. */
struct bench_peer {
  char name[48];
  bench_burst_t rx;
  void* rxq;
  struct bench_rxq_view rv;
  bench_burst_t tx;
  void* txq;
  struct bench_txq_view tv;
  uint64_t tx_ol_flags; /* of every packet to send */
  const char* descr;
};

/*
 * @param idx   configurations are numbered from 0 on
 * @param pool  struct rte_mempool * to receive into; its memory has the key BENCH_LKEY
 * @param ring  entries of each ring, a power of two
 * @return 0 and *out, or something else when there is no such configuration
 */
int bench_peer_get(unsigned idx, void* pool, unsigned ring, struct bench_peer* out);
typedef int (*bench_peer_get_t)(unsigned idx, void* pool, unsigned ring, struct bench_peer* out);

#define BENCH_LKEY 0x12345678

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_pmd_chime.h>
#include <stdio.h>
#include <string.h>

/* Every operation there is, once or in several lengths, from a queue pair of net_chime0 to one of net_chime1;
 * what their wires are the EAL arguments say. The ends have the addresses ADDRESS and ADDRESS + 1 (IPv4), or
 * the link-local ones.
 *
 * usage: every_operation EAL... -- [A.B.C.D] */

#define SIZE 16384

struct end {
  uint16_t port;
  struct rte_pmd_chime_worker* worker;
  struct rte_pmd_chime_qp* qp;
  uint8_t* bytes;
  struct rte_pmd_chime_mem* memory;
  struct rte_pmd_chime_mem_desc target;
  uint32_t lkey;
};

static int failed(const char* tried) {
  fprintf(stderr, "%s: %s\n", tried, rte_pmd_chime_last_error());
  return 1;
}

static int make(struct end* e, const char* name, const uint8_t* address) {
  const uint32_t remote =
      RTE_PMD_CHIME_REMOTE_READ | RTE_PMD_CHIME_REMOTE_WRITE | RTE_PMD_CHIME_REMOTE_ATOMIC;
  struct rte_pmd_chime_qp_conf conf = {
      .receive_depth = 16, .max_inline = 128, .flags = RTE_PMD_CHIME_QP_WIDE, .rights = remote, .socket = -1};
  if (rte_eth_dev_get_port_by_name(name, &e->port) != 0) {
    fprintf(stderr, "no port %s\n", name);
    return 1;
  }
  if (address != NULL) {
    const int place = rte_pmd_chime_gid_add(e->port, address, 4);
    if (place < 0) return failed("address");
    conf.gid_index = (uint16_t)place;
  }
  e->bytes = rte_zmalloc("bytes", SIZE, 4096);
  e->worker = rte_pmd_chime_worker_create(e->port, NULL);
  if (e->bytes == NULL || e->worker == NULL) return failed("worker");
  e->qp = rte_pmd_chime_qp_create(e->worker, &conf);
  if (e->qp == NULL) return failed("queue pair");
  e->memory = rte_pmd_chime_mem_register(e->port, e->bytes, SIZE, RTE_PMD_CHIME_LOCAL_WRITE | remote);
  if (e->memory == NULL || rte_pmd_chime_mem_export(e->memory, 0, &e->target) != 0 ||
      rte_pmd_chime_mem_lkey(e->memory, e->bytes, &e->lkey) != 0)
    return failed("memory");
  return 0;
}

static int wait(const struct end* e, const char* what, unsigned count) {
  const uint64_t end = rte_get_timer_cycles() + 20 * rte_get_timer_hz();
  struct rte_pmd_chime_completion done;
  while (count != 0 && rte_get_timer_cycles() < end) {
    if (rte_pmd_chime_poll(e->worker, &done, 1) == 0) continue;
    if (done.status != 0) {
      fprintf(stderr, "%s: %s\n", what, rte_pmd_chime_strerror(done.status, done.vendor_syndrome));
      return 1;
    }
    --count;
  }
  if (count != 0) fprintf(stderr, "%s: nothing completes\n", what);
  return count != 0;
}

static int move(const struct end* a, const struct end* b, uint8_t opcode, uint32_t length, uint8_t flags) {
  struct rte_pmd_chime_op op;
  memset(&op, 0, sizeof op);
  op.opcode = opcode;
  op.flags = RTE_PMD_CHIME_OP_SIGNALED | flags;
  op.length = length;
  op.local = (uintptr_t)a->bytes;
  op.lkey = a->lkey;
  op.rkey = b->target.rkey;
  op.remote = b->target.address + 8192;
  if (opcode == RTE_PMD_CHIME_WRITE_IMM || opcode == RTE_PMD_CHIME_SEND_IMM) op.imm = 0x01020304;
  if (rte_pmd_chime_post(a->qp, &op, 1) != 1) {
    fprintf(stderr, "operation %u of %u bytes: %s\n", opcode, length, rte_pmd_chime_post_error(a->qp));
    return 1;
  }
  return wait(a, "bytes", 1);
}

static int atomics(const struct end* a, const struct end* b) {
  static uint64_t words[4][32];
  struct rte_pmd_chime_rdma_capa capa;
  unsigned opcode, log, i;
  if (rte_pmd_chime_rdma_capa_get(a->port, &capa) != 0) return failed("capabilities");
  for (i = 0; i < 4 * 32; ++i) words[i / 32][i % 32] = 0x0101010101010101u * i;
  for (opcode = RTE_PMD_CHIME_FETCH_ADD; opcode < RTE_PMD_CHIME_OPCODES; ++opcode) {
    for (log = 2; log <= 8; ++log) {
      struct rte_pmd_chime_op op;
      if (!(capa.opcode_sizes[opcode] >> log & 1)) continue;
      op = rte_pmd_chime_atomic((uint8_t)opcode, 1u << log, b->target.address + 4096, b->target.rkey, 0);
      op.local = (uintptr_t)a->bytes;
      op.lkey = a->lkey;
      for (i = 0; i < 4; ++i) {
        if (log > 3)
          op.operand[i].words = words[i];
        else
          op.operand[i].value = words[i][1];
      }
      if (rte_pmd_chime_post(a->qp, &op, 1) != 1) {
        fprintf(stderr, "atomic %u of %u bytes: %s\n", opcode, 1u << log, rte_pmd_chime_post_error(a->qp));
        return 1;
      }
      if (wait(a, "atomic", 1) != 0) return 1;
    }
  }
  return 0;
}

static int run(const uint8_t* address) {
  static const uint32_t lengths[] = {0, 1, 63, 1024, 2500, 4096};
  struct rte_pmd_chime_endpoint ends[2];
  struct rte_pmd_chime_recv recv;
  struct end a, b;
  uint8_t next[4] = {0};
  unsigned i;
  memset(&a, 0, sizeof a);
  memset(&b, 0, sizeof b);
  if (address != NULL) {
    memcpy(next, address, 4);
    ++next[3];
  }
  if (make(&a, "net_chime0", address) != 0 || make(&b, "net_chime1", address != NULL ? next : NULL) != 0)
    return 1;
  for (i = 0; i < SIZE; ++i) a.bytes[i] = (uint8_t)(7 * i);
  memset(&recv, 0, sizeof recv);
  recv.local = (uintptr_t)b.bytes;
  recv.length = 4096;
  recv.lkey = b.lkey;
  if (rte_pmd_chime_qp_local(a.qp, &ends[0]) != 0 || rte_pmd_chime_qp_local(b.qp, &ends[1]) != 0 ||
      rte_pmd_chime_qp_connect(a.qp, &ends[1], NULL) != 0 ||
      rte_pmd_chime_qp_connect(b.qp, &ends[0], NULL) != 0)
    return failed("connection");
  for (i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
    const uint32_t length = lengths[i];
    const uint8_t in_line = length <= 128 ? RTE_PMD_CHIME_OP_INLINE : 0;
    unsigned n;
    for (n = 0; n < 3; ++n)
      if (rte_pmd_chime_post_recv(b.qp, &recv, 1) != 1) return failed("receive");
    if (move(&a, &b, RTE_PMD_CHIME_WRITE, length, in_line) != 0 ||
        move(&a, &b, RTE_PMD_CHIME_READ, length, RTE_PMD_CHIME_OP_FENCE) != 0 ||
        move(&a, &b, RTE_PMD_CHIME_WRITE_IMM, length, RTE_PMD_CHIME_OP_SOLICITED) != 0 ||
        move(&a, &b, RTE_PMD_CHIME_SEND, length, 0) != 0 ||
        move(&a, &b, RTE_PMD_CHIME_SEND_IMM, length, 0) != 0 || wait(&b, "receives", 3) != 0)
      return 1;
  }
  if (atomics(&a, &b) != 0) return 1;
  for (i = 0; i < 2; ++i) {
    struct end* e = i == 0 ? &a : &b;
    rte_pmd_chime_qp_destroy(e->qp);
    rte_pmd_chime_worker_free(e->worker);
    rte_pmd_chime_mem_unregister(e->memory);
    rte_free(e->bytes);
  }
  printf("every operation is done\n");
  return 0;
}

int main(int argc, char** argv) {
  const int used = rte_eal_init(argc, argv);
  unsigned octets[4];
  uint8_t address[4];
  int i, status, given;
  if (used < 0) return 2;
  given = argc - used == 2;
  if (given) {
    if (sscanf(argv[used + 1], "%u.%u.%u.%u", &octets[0], &octets[1], &octets[2], &octets[3]) != 4) return 2;
    for (i = 0; i < 4; ++i) address[i] = (uint8_t)octets[i];
  }
  status = run(given ? address : NULL);
  return rte_eal_cleanup() != 0 ? 1 : status;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/polling.h"
#include "rdma/post.h"
#include "rdma_api.h"

/// @file
/// The C API's structs are lib/rdma's, byte for byte: a burst goes through without a copy.

namespace {

using namespace chime;

#define CHIME_SAME(c, c_field, cpp, cpp_field)                      \
  static_assert(offsetof(c, c_field) == offsetof(cpp, cpp_field) && \
                sizeof(c::c_field) == sizeof(cpp::cpp_field))

static_assert(sizeof(rte_pmd_chime_op) == sizeof(rdma::Operation));
CHIME_SAME(rte_pmd_chime_op, cookie, rdma::Operation, cookie);
CHIME_SAME(rte_pmd_chime_op, opcode, rdma::Operation, opcode);
CHIME_SAME(rte_pmd_chime_op, flags, rdma::Operation, flags);
CHIME_SAME(rte_pmd_chime_op, length, rdma::Operation, length);
CHIME_SAME(rte_pmd_chime_op, local, rdma::Operation, local);
CHIME_SAME(rte_pmd_chime_op, lkey, rdma::Operation, lkey);
CHIME_SAME(rte_pmd_chime_op, rkey, rdma::Operation, rkey);
CHIME_SAME(rte_pmd_chime_op, remote, rdma::Operation, remote);
CHIME_SAME(rte_pmd_chime_op, imm, rdma::Operation, imm);
CHIME_SAME(rte_pmd_chime_op, operand, rdma::Operation, operand);
static_assert(sizeof(rte_pmd_chime_recv) == sizeof(rdma::Receive));
CHIME_SAME(rte_pmd_chime_recv, local, rdma::Receive, local);
CHIME_SAME(rte_pmd_chime_recv, length, rdma::Receive, length);
CHIME_SAME(rte_pmd_chime_recv, lkey, rdma::Receive, lkey);
static_assert(sizeof(rte_pmd_chime_completion) == sizeof(rdma::Completion));
CHIME_SAME(rte_pmd_chime_completion, original, rdma::Completion, original);
CHIME_SAME(rte_pmd_chime_completion, length, rdma::Completion, length);
CHIME_SAME(rte_pmd_chime_completion, imm, rdma::Completion, imm);
CHIME_SAME(rte_pmd_chime_completion, qpn, rdma::Completion, qpn);
CHIME_SAME(rte_pmd_chime_completion, kind, rdma::Completion, kind);
CHIME_SAME(rte_pmd_chime_completion, status, rdma::Completion, status);
CHIME_SAME(rte_pmd_chime_completion, vendor_syndrome, rdma::Completion, vendor_syndrome);

#undef CHIME_SAME

constexpr bool same(int c, rdma::Opcode cpp) noexcept {
  return c == static_cast<int>(cpp);
}
static_assert(RTE_PMD_CHIME_OPCODES == rdma::opcodes);
static_assert(same(RTE_PMD_CHIME_WRITE, rdma::Opcode::write) &&
              same(RTE_PMD_CHIME_WRITE_IMM, rdma::Opcode::write_imm) &&
              same(RTE_PMD_CHIME_SEND, rdma::Opcode::send) &&
              same(RTE_PMD_CHIME_SEND_IMM, rdma::Opcode::send_imm) &&
              same(RTE_PMD_CHIME_READ, rdma::Opcode::read) &&
              same(RTE_PMD_CHIME_FETCH_ADD, rdma::Opcode::fetch_add) &&
              same(RTE_PMD_CHIME_COMPARE_SWAP, rdma::Opcode::compare_swap) &&
              same(RTE_PMD_CHIME_MASKED_FETCH_ADD, rdma::Opcode::masked_fetch_add) &&
              same(RTE_PMD_CHIME_MASKED_COMPARE_SWAP, rdma::Opcode::masked_compare_swap) &&
              same(RTE_PMD_CHIME_FETCH_AND, rdma::Opcode::fetch_and) &&
              same(RTE_PMD_CHIME_FETCH_OR, rdma::Opcode::fetch_or) &&
              same(RTE_PMD_CHIME_FETCH_XOR, rdma::Opcode::fetch_xor) &&
              same(RTE_PMD_CHIME_SWAP, rdma::Opcode::swap));
static_assert(RTE_PMD_CHIME_RECV == rdma::receive_send && RTE_PMD_CHIME_RECV_IMM == rdma::receive_send_imm &&
              RTE_PMD_CHIME_RECV_WRITE_IMM == rdma::receive_write_imm);
static_assert(RTE_PMD_CHIME_OP_SIGNALED == rdma::signaled && RTE_PMD_CHIME_OP_FENCE == rdma::fenced &&
              RTE_PMD_CHIME_OP_SOLICITED == rdma::solicited && RTE_PMD_CHIME_OP_INLINE == rdma::in_line);

rdma::Qp& qp_of(rte_pmd_chime_qp* qp) noexcept {
  return *reinterpret_cast<rdma::Qp*>(qp);
}

}  // namespace

extern "C" {

uint16_t rte_pmd_chime_post(rte_pmd_chime_qp* qp, const rte_pmd_chime_op* ops, uint16_t count) {
  return rdma::post(qp_of(qp), reinterpret_cast<const rdma::Operation*>(ops), count);
}

const char* rte_pmd_chime_post_error(const rte_pmd_chime_qp* qp) {
  return rdma::text_of(reinterpret_cast<const rdma::Qp*>(qp)->refusal);
}

uint16_t rte_pmd_chime_post_recv(rte_pmd_chime_qp* qp, const rte_pmd_chime_recv* recvs, uint16_t count) {
  return rdma::post_receives(qp_of(qp), reinterpret_cast<const rdma::Receive*>(recvs), count);
}

uint16_t rte_pmd_chime_poll(rte_pmd_chime_worker* worker, rte_pmd_chime_completion* completions,
                            uint16_t count) {
  return rdma::poll(*reinterpret_cast<rdma::Worker*>(worker),
                    reinterpret_cast<rdma::Completion*>(completions), count);
}
}

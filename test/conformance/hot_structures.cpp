// SPDX-License-Identifier: BSD-3-Clause
// The structures of the datapath against those of rdma-core's infiniband/mlx5dv.h. What it lacks (event
// queue elements, the parts of completions that only Ethernet has) stands in the kernel's headers.
#include <infiniband/mlx5dv.h>

#include <cstddef>
#include <cstdio>

#include "prm/cqe.h"
#include "prm/doorbell.h"
#include "prm/wqe.h"

namespace chime::prm {
namespace {

int compared = 0;
int wrong = 0;

void same(const char* what, unsigned long long ours, unsigned long long theirs) {
  ++compared;
  if (ours == theirs) return;
  ++wrong;
  std::printf("wrong: %s is %#llx, mlx5dv.h has %#llx\n", what, ours, theirs);
}

#define SIZE(ours, theirs) same(#ours, sizeof(ours), sizeof(theirs))
#define FIELD(ours, our_field, theirs, their_field)                                      \
  same(#ours "::" #our_field, offsetof(ours, our_field), offsetof(theirs, their_field)); \
  same(#ours "::" #our_field " (size)", sizeof(ours::our_field), sizeof(theirs{}.their_field))
#define VALUE(ours, theirs) same(#ours, static_cast<unsigned>(ours), static_cast<unsigned>(theirs))

void requests() {
  SIZE(WqeCtrl, mlx5_wqe_ctrl_seg);
  FIELD(WqeCtrl, opmod_idx_opcode, mlx5_wqe_ctrl_seg, opmod_idx_opcode);
  FIELD(WqeCtrl, qpn_ds, mlx5_wqe_ctrl_seg, qpn_ds);
  FIELD(WqeCtrl, signature, mlx5_wqe_ctrl_seg, signature);
  FIELD(WqeCtrl, fm_ce_se, mlx5_wqe_ctrl_seg, fm_ce_se);
  FIELD(WqeCtrl, imm, mlx5_wqe_ctrl_seg, imm);
  // mlx5_wqe_eth_seg goes on with the inline header.
  same("WqeEth", sizeof(WqeEth), offsetof(mlx5_wqe_eth_seg, inline_hdr));
  FIELD(WqeEth, cs_flags, mlx5_wqe_eth_seg, cs_flags);
  FIELD(WqeEth, mss, mlx5_wqe_eth_seg, mss);
  FIELD(WqeEth, inline_hdr_sz, mlx5_wqe_eth_seg, inline_hdr_sz);
  FIELD(WqeEth, inline_start, mlx5_wqe_eth_seg, inline_hdr_start);
  SIZE(WqeData, mlx5_wqe_data_seg);
  FIELD(WqeData, byte_count, mlx5_wqe_data_seg, byte_count);
  FIELD(WqeData, lkey, mlx5_wqe_data_seg, lkey);
  FIELD(WqeData, address, mlx5_wqe_data_seg, addr);
  SIZE(WqeRaddr, mlx5_wqe_raddr_seg);
  FIELD(WqeRaddr, address, mlx5_wqe_raddr_seg, raddr);
  FIELD(WqeRaddr, rkey, mlx5_wqe_raddr_seg, rkey);
  VALUE(wqebb_size, MLX5_SEND_WQE_BB);
  VALUE(wqe_ce::always, MLX5_WQE_CTRL_CQ_UPDATE);
  VALUE(wqe_solicited, MLX5_WQE_CTRL_SOLICITED);
  VALUE(wqe_fm::small_and_fence, MLX5_WQE_CTRL_FENCE);
  VALUE(wqe_fm::small, MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE);
  VALUE(eth_l3_csum, MLX5_ETH_WQE_L3_CSUM);
  VALUE(eth_l4_csum, MLX5_ETH_WQE_L4_CSUM);
  VALUE(data_seg_inline, MLX5_INLINE_SEG);
  VALUE(invalid_lkey, MLX5_INVALID_LKEY);
  VALUE(wqe_opcode::nop, MLX5_OPCODE_NOP);
  VALUE(wqe_opcode::send_inval, MLX5_OPCODE_SEND_INVAL);
  VALUE(wqe_opcode::rdma_write, MLX5_OPCODE_RDMA_WRITE);
  VALUE(wqe_opcode::rdma_write_imm, MLX5_OPCODE_RDMA_WRITE_IMM);
  VALUE(wqe_opcode::send, MLX5_OPCODE_SEND);
  VALUE(wqe_opcode::send_imm, MLX5_OPCODE_SEND_IMM);
  VALUE(wqe_opcode::lso, MLX5_OPCODE_TSO);
  VALUE(wqe_opcode::rdma_read, MLX5_OPCODE_RDMA_READ);
  VALUE(wqe_opcode::atomic_cs, MLX5_OPCODE_ATOMIC_CS);
  VALUE(wqe_opcode::atomic_fa, MLX5_OPCODE_ATOMIC_FA);
  VALUE(wqe_opcode::atomic_masked_cs, MLX5_OPCODE_ATOMIC_MASKED_CS);
  VALUE(wqe_opcode::atomic_masked_fa, MLX5_OPCODE_ATOMIC_MASKED_FA);
  VALUE(wqe_opcode::umr, MLX5_OPCODE_UMR);
}

void completions() {
  SIZE(Cqe, mlx5_cqe64);
  FIELD(Cqe, wqe_id, mlx5_cqe64, wqe_id);
  FIELD(Cqe, ml_path, mlx5_cqe64, ml_path);
  FIELD(Cqe, slid, mlx5_cqe64, slid);
  FIELD(Cqe, flags_rqpn, mlx5_cqe64, flags_rqpn);
  FIELD(Cqe, hds_ip_ext, mlx5_cqe64, hds_ip_ext);
  FIELD(Cqe, l4_l3_hdr_type, mlx5_cqe64, l4_hdr_type_etc);
  FIELD(Cqe, vlan_info, mlx5_cqe64, vlan_info);
  FIELD(Cqe, srqn, mlx5_cqe64, srqn_uidx);
  FIELD(Cqe, imm_inval_pkey, mlx5_cqe64, imm_inval_pkey);
  FIELD(Cqe, byte_cnt, mlx5_cqe64, byte_cnt);
  FIELD(Cqe, timestamp, mlx5_cqe64, timestamp);
  FIELD(Cqe, sop_drop_qpn, mlx5_cqe64, sop_drop_qpn);
  FIELD(Cqe, wqe_counter, mlx5_cqe64, wqe_counter);
  FIELD(Cqe, signature, mlx5_cqe64, signature);
  FIELD(Cqe, op_own, mlx5_cqe64, op_own);
  SIZE(ErrorCqe, mlx5_err_cqe);
  FIELD(ErrorCqe, srqn, mlx5_err_cqe, srqn);
  FIELD(ErrorCqe, vendor_err_synd, mlx5_err_cqe, vendor_err_synd);
  FIELD(ErrorCqe, syndrome, mlx5_err_cqe, syndrome);
  FIELD(ErrorCqe, s_wqe_opcode_qpn, mlx5_err_cqe, s_wqe_opcode_qpn);
  FIELD(ErrorCqe, wqe_counter, mlx5_err_cqe, wqe_counter);
  FIELD(ErrorCqe, signature, mlx5_err_cqe, signature);
  FIELD(ErrorCqe, op_own, mlx5_err_cqe, op_own);
  VALUE(cqe_owner, MLX5_CQE_OWNER_MASK);
  VALUE(cqe_opcode::requester, MLX5_CQE_REQ);
  VALUE(cqe_opcode::responder_rdma_write_imm, MLX5_CQE_RESP_WR_IMM);
  VALUE(cqe_opcode::responder_send, MLX5_CQE_RESP_SEND);
  VALUE(cqe_opcode::responder_send_imm, MLX5_CQE_RESP_SEND_IMM);
  VALUE(cqe_opcode::responder_send_inval, MLX5_CQE_RESP_SEND_INV);
  VALUE(cqe_opcode::resize_cq, MLX5_CQE_RESIZE_CQ);
  VALUE(cqe_opcode::requester_error, MLX5_CQE_REQ_ERR);
  VALUE(cqe_opcode::responder_error, MLX5_CQE_RESP_ERR);
  VALUE(cqe_opcode::invalid, MLX5_CQE_INVALID);
  VALUE(cqe_l2_ok, MLX5_CQE_L2_OK);
  VALUE(cqe_l3_ok, MLX5_CQE_L3_OK);
  VALUE(cqe_l4_ok, MLX5_CQE_L4_OK);
  VALUE(cqe_l3::none, MLX5_CQE_L3_HDR_TYPE_NONE);
  VALUE(cqe_l3::ipv6, MLX5_CQE_L3_HDR_TYPE_IPV6);
  VALUE(cqe_l3::ipv4, MLX5_CQE_L3_HDR_TYPE_IPV4);
  VALUE(cqe_syndrome::local_length, MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR);
  VALUE(cqe_syndrome::local_qp_operation, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
  VALUE(cqe_syndrome::local_protection, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
  VALUE(cqe_syndrome::flushed, MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
  VALUE(cqe_syndrome::memory_window_bind, MLX5_CQE_SYNDROME_MW_BIND_ERR);
  VALUE(cqe_syndrome::bad_response, MLX5_CQE_SYNDROME_BAD_RESP_ERR);
  VALUE(cqe_syndrome::local_access, MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR);
  VALUE(cqe_syndrome::remote_invalid_request, MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR);
  VALUE(cqe_syndrome::remote_access, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR);
  VALUE(cqe_syndrome::remote_operation, MLX5_CQE_SYNDROME_REMOTE_OP_ERR);
  VALUE(cqe_syndrome::transport_retry_exceeded, MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR);
  VALUE(cqe_syndrome::rnr_retry_exceeded, MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR);
  VALUE(cqe_syndrome::remote_aborted, MLX5_CQE_SYNDROME_REMOTE_ABORTED_ERR);
}

void doorbells() {
  same("WqRecord::receive", offsetof(WqRecord, receive), MLX5_RCV_DBR * sizeof(__be32));
  same("WqRecord::send", offsetof(WqRecord, send), MLX5_SND_DBR * sizeof(__be32));
  VALUE(uar_cq_doorbell, MLX5_CQ_DOORBELL);
  VALUE(cq_arm::solicited, MLX5_CQ_DB_REQ_NOT_SOL);
  VALUE(cq_arm::any, MLX5_CQ_DB_REQ_NOT);
}

}  // namespace
}  // namespace chime::prm

int main() {
  chime::prm::requests();
  chime::prm::completions();
  chime::prm::doorbells();
  std::printf("compared %d sizes, offsets and values of the hot structures with mlx5dv.h: %d wrong\n",
              chime::prm::compared, chime::prm::wrong);
  return chime::prm::wrong != 0;
}

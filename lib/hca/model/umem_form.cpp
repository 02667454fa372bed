// SPDX-License-Identifier: BSD-3-Clause
#include "hca/model/umem_form.h"

#include "prm/layouts.h"
#include "prm/view.h"

namespace chime::hca::embedded {
namespace {

/// The command as layout `S`, when it is long enough; the card refuses one that is not.
template <class S, class F>
void with(std::span<std::byte> in, F&& set) noexcept {
  if (in.size() >= S::size) set(prm::View<S>(in));
}

void set_wq(prm::View<prm::wq> wq) noexcept {
  wq.set(prm::wq::dbr_umem_valid, 1).set(prm::wq::wq_umem_valid, 1);
}

bool over_other_keys(prm::View<prm::mkc> mkc) noexcept {
  const auto mode = mkc.get(prm::mkc::access_mode_1_0);
  return mode == prm::mkc_access_mode::klm || mode == prm::mkc_access_mode::ksm;
}

}  // namespace

void set_umem_form(prm::cmd_opcode opcode, std::span<std::byte> in) noexcept {
  switch (opcode) {
    case prm::cmd_opcode::create_mkey:
      with<prm::create_mkey_in>(in, [](prm::View<prm::create_mkey_in> c) {
        if (!over_other_keys(c.at(prm::create_mkey_in::memory_key_mkey_entry))) {
          c.set(prm::create_mkey_in::mkey_umem_valid, 1);
        }
      });
      break;
    case prm::cmd_opcode::create_cq:
      with<prm::create_cq_in>(in, [](prm::View<prm::create_cq_in> c) {
        c.set(prm::create_cq_in::cq_umem_valid, 1)
            .at(prm::create_cq_in::cq_context)
            .set(prm::cqc::dbr_umem_valid, 1);
      });
      break;
    case prm::cmd_opcode::modify_cq:
      with<prm::modify_cq_in>(
          in, [](prm::View<prm::modify_cq_in> c) { c.set(prm::modify_cq_in::cq_umem_valid, 1); });
      break;
    case prm::cmd_opcode::create_sq:
      with<prm::create_sq_in>(
          in, [](prm::View<prm::create_sq_in> c) { set_wq(c.at(prm::create_sq_in::ctx).at(prm::sqc::wq)); });
      break;
    case prm::cmd_opcode::create_rq:
      with<prm::create_rq_in>(
          in, [](prm::View<prm::create_rq_in> c) { set_wq(c.at(prm::create_rq_in::ctx).at(prm::rqc::wq)); });
      break;
    case prm::cmd_opcode::create_rmp:
      with<prm::create_rmp_in>(in, [](prm::View<prm::create_rmp_in> c) {
        set_wq(c.at(prm::create_rmp_in::ctx).at(prm::rmpc::wq));
      });
      break;
    case prm::cmd_opcode::create_qp:
      with<prm::create_qp_in>(in, [](prm::View<prm::create_qp_in> c) {
        c.set(prm::create_qp_in::wq_umem_valid, 1)
            .at(prm::create_qp_in::qpc)
            .set(prm::qpc::dbr_umem_valid, 1);
      });
      break;
    case prm::cmd_opcode::create_xrc_srq:
      with<prm::create_xrc_srq_in>(in, [](prm::View<prm::create_xrc_srq_in> c) {
        c.set(prm::create_xrc_srq_in::xrc_srq_umem_valid, 1)
            .at(prm::create_xrc_srq_in::xrc_srq_context_entry)
            .set(prm::xrc_srqc::dbr_umem_valid, 1);
      });
      break;
    default:
      break;
  }
}

}  // namespace chime::hca::embedded

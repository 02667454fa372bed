// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "model/command/command.h"
#include "prm/layouts.h"
#include "prm/view.h"

/// @file
/// The commands that the card executes. One function each, by family; `in` and `out` are at least as long as
/// their layouts, `out` is zero but for what the handler writes. Registered in dispatch.cpp.

namespace chime::model {

template <class C>
using In = prm::ConstView<typename C::in>;
template <class C>
using Out = prm::View<typename C::out>;

#define CHIME_COMMAND(name) void name(Command& c, In<prm::name> in, Out<prm::name> out) noexcept

// device.cpp
CHIME_COMMAND(enable_hca);
CHIME_COMMAND(disable_hca);
CHIME_COMMAND(init_hca);
CHIME_COMMAND(teardown_hca);
CHIME_COMMAND(query_issi);
CHIME_COMMAND(set_issi);
CHIME_COMMAND(query_pages);
CHIME_COMMAND(manage_pages);
CHIME_COMMAND(query_adapter);
CHIME_COMMAND(set_driver_version);
CHIME_COMMAND(query_special_contexts);
CHIME_COMMAND(nop);

// capability.cpp
CHIME_COMMAND(query_hca_cap);
CHIME_COMMAND(set_hca_cap);

// user.cpp
CHIME_COMMAND(create_uctx);
CHIME_COMMAND(destroy_uctx);
CHIME_COMMAND(create_umem);
CHIME_COMMAND(destroy_umem);

// domain.cpp
CHIME_COMMAND(alloc_uar);
CHIME_COMMAND(dealloc_uar);
CHIME_COMMAND(alloc_pd);
CHIME_COMMAND(dealloc_pd);
CHIME_COMMAND(alloc_xrcd);
CHIME_COMMAND(dealloc_xrcd);
CHIME_COMMAND(alloc_transport_domain);
CHIME_COMMAND(dealloc_transport_domain);

// mkey.cpp
CHIME_COMMAND(create_mkey);
CHIME_COMMAND(query_mkey);
CHIME_COMMAND(destroy_mkey);

// eq.cpp, cq.cpp
CHIME_COMMAND(create_eq);
CHIME_COMMAND(query_eq);
CHIME_COMMAND(destroy_eq);
CHIME_COMMAND(create_cq);
CHIME_COMMAND(modify_cq);
CHIME_COMMAND(query_cq);
CHIME_COMMAND(destroy_cq);

// sq.cpp, rq.cpp
CHIME_COMMAND(create_sq);
CHIME_COMMAND(modify_sq);
CHIME_COMMAND(query_sq);
CHIME_COMMAND(destroy_sq);
CHIME_COMMAND(create_rq);
CHIME_COMMAND(modify_rq);
CHIME_COMMAND(query_rq);
CHIME_COMMAND(destroy_rq);

// qp.cpp, qp_transition.cpp
CHIME_COMMAND(create_qp);
CHIME_COMMAND(query_qp);
CHIME_COMMAND(destroy_qp);
CHIME_COMMAND(rst2init_qp);
CHIME_COMMAND(init2init_qp);
CHIME_COMMAND(init2rtr_qp);
CHIME_COMMAND(rtr2rts_qp);
CHIME_COMMAND(rts2rts_qp);
CHIME_COMMAND(sqerr2rts_qp);
CHIME_COMMAND(sqd_rts_qp);
CHIME_COMMAND(qp_2err);
CHIME_COMMAND(qp_2rst);

// multicast.cpp
CHIME_COMMAND(attach_to_mcg);
CHIME_COMMAND(detach_from_mcg);

// roce_address.cpp
CHIME_COMMAND(query_roce_address);
CHIME_COMMAND(set_roce_address);

// srq.cpp
CHIME_COMMAND(create_xrc_srq);
CHIME_COMMAND(query_xrc_srq);
CHIME_COMMAND(arm_xrc_srq);
CHIME_COMMAND(destroy_xrc_srq);
CHIME_COMMAND(create_rmp);
CHIME_COMMAND(modify_rmp);
CHIME_COMMAND(query_rmp);
CHIME_COMMAND(destroy_rmp);

// rqt.cpp, tir.cpp, tis.cpp
CHIME_COMMAND(create_rqt);
CHIME_COMMAND(modify_rqt);
CHIME_COMMAND(query_rqt);
CHIME_COMMAND(destroy_rqt);
CHIME_COMMAND(create_tir);
CHIME_COMMAND(modify_tir);
CHIME_COMMAND(query_tir);
CHIME_COMMAND(destroy_tir);
CHIME_COMMAND(create_tis);
CHIME_COMMAND(modify_tis);
CHIME_COMMAND(query_tis);
CHIME_COMMAND(destroy_tis);

// flow_table.cpp, flow_group.cpp, flow_entry.cpp, flow_counter.cpp
CHIME_COMMAND(create_flow_table);
CHIME_COMMAND(modify_flow_table);
CHIME_COMMAND(query_flow_table);
CHIME_COMMAND(destroy_flow_table);
CHIME_COMMAND(set_flow_table_root);
CHIME_COMMAND(create_flow_group);
CHIME_COMMAND(query_flow_group);
CHIME_COMMAND(destroy_flow_group);
CHIME_COMMAND(set_flow_table_entry);
CHIME_COMMAND(query_flow_table_entry);
CHIME_COMMAND(delete_flow_table_entry);
CHIME_COMMAND(alloc_flow_counter);
CHIME_COMMAND(query_flow_counter);
CHIME_COMMAND(dealloc_flow_counter);

// q_counter.cpp
CHIME_COMMAND(alloc_q_counter);
CHIME_COMMAND(query_q_counter);
CHIME_COMMAND(dealloc_q_counter);

// vport.cpp, vport_counter.cpp, l2_table.cpp, vxlan_port.cpp
CHIME_COMMAND(query_nic_vport_context);
CHIME_COMMAND(modify_nic_vport_context);
CHIME_COMMAND(query_hca_vport_pkey);
CHIME_COMMAND(query_vport_state);
CHIME_COMMAND(modify_vport_state);
CHIME_COMMAND(query_vport_counter);
CHIME_COMMAND(query_vnic_env);
CHIME_COMMAND(set_l2_table_entry);
CHIME_COMMAND(query_l2_table_entry);
CHIME_COMMAND(delete_l2_table_entry);
CHIME_COMMAND(add_vxlan_udp_dport);
CHIME_COMMAND(delete_vxlan_udp_dport);

// register/access_reg.cpp
CHIME_COMMAND(access_reg);

#undef CHIME_COMMAND

}  // namespace chime::model

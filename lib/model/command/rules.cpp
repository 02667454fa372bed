// SPDX-License-Identifier: BSD-3-Clause
#include "model/command/rules.h"

namespace chime::model {
namespace {

using S = prm::cmd_status;

constexpr RuleInfo table[] = {
    {Rule::unknown_opcode, "command.unknown-opcode", S::bad_op, "The manual has no command of this opcode."},
    {Rule::not_modelled, "command.not-modelled", S::bad_op,
     "A command of the manual that this card does not execute."},
    {Rule::input_length, "command.input-length", S::bad_input_len,
     "The input is shorter than the command's layout, or than the list in it."},
    {Rule::output_length, "command.output-length", S::bad_output_len,
     "The output is shorter than the command's layout."},
    {Rule::op_mod, "command.op-mod", S::bad_param, "The command has no such op_mod."},
    {Rule::kernel_only, "command.kernel-only", S::bad_op,
     "A command that changes the device for everybody came from a user context."},
    {Rule::device_state, "command.device-state", S::bad_sys_state,
     "The device is not in the state for this command: ENABLE_HCA, then INIT_HCA come first."},
    {Rule::unknown_context, "command.unknown-context", S::bad_resource,
     "The uid of the command names no user context."},
    {Rule::no_memory, "command.no-memory", S::no_resources, "The card has no memory left for the object."},
    {Rule::other_function, "command.other-function", S::bad_param,
     "The command means another PCI function; this card has one."},

    {Rule::unknown_object, "object.unknown", S::bad_resource, "There is no object of this number."},
    {Rule::foreign_object, "object.foreign", S::bad_resource, "The object belongs to another user context."},
    {Rule::object_in_use, "object.in-use", S::resource_busy, "What other objects use can't be destroyed."},
    {Rule::none_left, "object.none-left", S::exceed_lim,
     "The card has no more objects of this kind (QUERY_HCA_CAP tells how many)."},

    {Rule::context_capabilities, "context.capabilities", S::bad_param,
     "The card does not have a capability that the user context asks for (uctx_cap)."},
    {Rule::context_has_objects, "context.has-objects", S::resource_busy,
     "A user context goes when its objects are gone."},
    {Rule::needs_raw_tx, "context.needs-raw-tx", S::bad_param,
     "A user context makes send queues only with the capability RAW_TX."},
    {Rule::page_size, "memory.page-size", S::bad_param, "The page size is not one that the card has."},
    {Rule::page_count, "memory.page-count", S::bad_param, "The number of pages is 0 or does not fit."},
    {Rule::page_offset, "memory.page-offset", S::bad_param, "The offset is not within the first page."},
    {Rule::page_list_length, "memory.page-list-length", S::bad_input_len,
     "The command ends before its list of pages does."},
    {Rule::outside_umem, "memory.outside-umem", S::bad_param, "The umem ends before what is to lie in it."},
    {Rule::record_alignment, "memory.record-alignment", S::bad_param,
     "A doorbell record is aligned to 8 bytes."},
    {Rule::queue_alignment, "memory.queue-alignment", S::bad_param,
     "A queue begins at a multiple of its element's size."},
    {Rule::address_translation, "memory.address-translation", S::bad_param,
     "Address translation services are not there."},

    {Rule::mkey_mode, "mkey.mode", S::bad_param, "The access mode of the key is not supported."},
    {Rule::mkey_length, "mkey.length", S::bad_param,
     "The range is empty, wraps round, or is longer than its translations."},
    {Rule::mkey_rights, "mkey.rights", S::bad_param, "These rights can't be given."},
    {Rule::mkey_physical, "mkey.physical", S::bad_param,
     "A user context gets no key for physical addresses."},
    {Rule::mkey_feature, "mkey.feature", S::bad_param, "A feature of the key is not supported."},

    {Rule::eq_size, "eq.size", S::bad_param, "The event queue is too large or has no entry."},
    {Rule::eq_vector, "eq.vector", S::bad_param, "There is no such interrupt vector."},
    {Rule::cq_size, "cq.size", S::bad_param, "The completion queue is too large."},
    {Rule::cq_feature, "cq.feature", S::bad_param, "A feature of the completion queue is not supported."},
    {Rule::cq_modify, "cq.modify", S::bad_param, "This of a completion queue can't be modified."},
    {Rule::cq_moderation, "cq.moderation", S::bad_param, "Moderation is not supported."},

    {Rule::wq_type, "wq.type", S::bad_param, "The type of the work queue is not supported here."},
    {Rule::wq_size, "wq.size", S::bad_param, "The work queue is larger than the card allows."},
    {Rule::wq_stride, "wq.stride", S::bad_param, "The stride of the work queue is not allowed."},
    {Rule::wq_feature, "wq.feature", S::bad_param, "A feature of the work queue is not supported."},
    {Rule::initial_state, "wq.initial-state", S::bad_param, "A queue is created in state RST."},
    {Rule::state_mismatch, "wq.state-mismatch", S::bad_res_state,
     "The state that software believes the queue to be in is not its state."},
    {Rule::state_transition, "wq.state-transition", S::bad_res_state, "There is no such change of state."},
    {Rule::sq_tis_list, "sq.tis-list", S::bad_param, "A send queue has one TIS, or none."},
    {Rule::sq_inline_mode, "sq.inline-mode", S::bad_param,
     "The port demands more inline headers than the queue is to send."},
    {Rule::rq_memory_type, "rq.memory-type", S::bad_param, "Receive memory pools are not supported."},
    {Rule::queue_modify, "wq.modify", S::bad_param, "This of a queue can't be modified."},
    {Rule::timestamp_format, "wq.timestamp-format", S::bad_param,
     "The card does not have this timestamp format."},

    {Rule::rqt_size, "rqt.size", S::bad_param,
     "A receive queue table has 1 to 2^log_max_rqt_size entries, no more than it was made for."},
    {Rule::rqt_type, "rqt.type", S::bad_param, "A receive queue table holds receive queues."},
    {Rule::tir_dispatch, "tir.dispatch", S::bad_param, "There is no such dispatch."},
    {Rule::tir_hash, "tir.hash", S::bad_param, "The hash function or its fields are not supported."},
    {Rule::tir_feature, "tir.feature", S::bad_param, "A feature of the TIR is not supported."},
    {Rule::tir_modify, "tir.modify", S::bad_param, "This of a TIR can't be modified."},
    {Rule::tis_feature, "tis.feature", S::bad_param, "A feature of the TIS is not supported."},
    {Rule::loopback_block, "tir.loopback-block", S::bad_param,
     "The card has no choice about its own packets."},

    {Rule::table_type, "flow-table.type", S::bad_param, "The card has no flow tables of this type."},
    {Rule::table_size, "flow-table.size", S::bad_param, "The table is larger than the card allows."},
    {Rule::table_level, "flow-table.level", S::bad_param, "The card has no such level."},
    {Rule::table_feature, "flow-table.feature", S::bad_param, "A feature of the table is not supported."},
    {Rule::table_miss, "flow-table.miss", S::bad_param,
     "A miss leads to a table of the same type and of a higher level."},
    {Rule::table_root, "flow-table.root", S::bad_param, "The root can't be set to this table."},
    {Rule::group_range, "flow-group.range", S::bad_index,
     "The group's indices are not within the table, or end before they begin."},
    {Rule::group_overlap, "flow-group.overlap", S::bad_param, "The group's indices belong to another group."},
    {Rule::group_criteria, "flow-group.criteria", S::bad_param,
     "The card can't match on what the group asks for."},
    {Rule::group_table, "flow-group.table", S::bad_param, "The group belongs to another table."},
    {Rule::entry_index, "flow-entry.index", S::bad_index, "The index is not within the group."},
    {Rule::entry_action, "flow-entry.action", S::bad_param,
     "The action is not supported, or makes no sense."},
    {Rule::entry_destination, "flow-entry.destination", S::bad_param,
     "The destination is of a kind that packets of this table can't go to."},
    {Rule::entry_level, "flow-entry.level", S::bad_param,
     "Packets go on in tables of a higher level only, unless ignore_flow_level is set and supported."},
    {Rule::entry_counter, "flow-entry.counter", S::bad_param, "The counters of the entry are not right."},
    {Rule::entry_modify, "flow-entry.modify", S::bad_param, "This of an entry can't be modified."},
    {Rule::counter_bulk, "flow-counter.bulk", S::bad_param,
     "Flow counters come one at a time, and are read as far as they exist."},

    {Rule::other_vport, "vport.other", S::bad_param, "The card has no other virtual port."},
    {Rule::vport_list, "vport.list", S::bad_param, "The address list is too long or incomplete."},
    {Rule::vport_value, "vport.value", S::bad_param, "A value of the virtual port is not allowed."},
    {Rule::l2_index, "l2-table.index", S::bad_index, "The L2 table has no such index."},
    {Rule::register_unknown, "register.unknown", S::bad_param, "The card has no such register."},
    {Rule::register_read_only, "register.read-only", S::bad_param, "The register can't be written."},
    {Rule::register_port, "register.port", S::bad_param, "The card has one port, number 1."},
    {Rule::register_value, "register.value", S::bad_param, "The register does not take this value."},
    {Rule::register_group, "register.group", S::bad_param, "The register has no such group."},
    {Rule::capability_type, "capability.type", S::bad_param, "The card has no capabilities of this type."},
    {Rule::capability_raise, "capability.raise", S::bad_param,
     "A capability can be set to at most what the card can do."},
    {Rule::issi, "issi.unknown", S::bad_param, "The card does not know this interface step."},
    {Rule::vxlan_port, "vxlan.port", S::bad_param, "The UDP port can't carry VXLAN, or does not."},
    {Rule::vxlan_ports, "vxlan.ports", S::exceed_lim, "As many UDP ports carry VXLAN as can."},

    {Rule::qp_service, "qp.service", S::bad_param, "The card has no queue pairs of this service."},
    {Rule::qp_size, "qp.size", S::bad_param, "A ring of the queue pair is larger than the card allows."},
    {Rule::qp_stride, "qp.stride", S::bad_param, "The stride of the receive ring is not allowed."},
    {Rule::qp_feature, "qp.feature", S::bad_param, "A feature of the queue pair is not supported."},
    {Rule::qp_state, "qp.state", S::bad_qp_state,
     "The queue pair is not in the state that the transition starts from."},
    {Rule::qp_optional, "qp.optional-parameter", S::bad_param,
     "The transition has no such optional parameter for this service (opt_param_mask)."},
    {Rule::qp_mtu, "qp.mtu", S::bad_param,
     "The path MTU is none that there is, or larger than the port carries."},
    {Rule::qp_message, "qp.message", S::bad_param,
     "Messages would be longer than the card allows (log_max_msg)."},
    {Rule::qp_depth, "qp.depth", S::bad_param,
     "More reads and atomics at once than the card has room for (log_max_ra_req_qp, log_max_ra_res_qp)."},
    {Rule::qp_atomic_mode, "qp.atomic-mode", S::bad_param,
     "The card does not answer atomics of these sizes."},
    {Rule::qp_port, "qp.port", S::bad_param, "The card has one port, number 1, on a queue pair's path."},
    {Rule::qp_pkey, "qp.pkey", S::bad_index, "The table of partition keys has one place, number 0."},
    {Rule::qp_gid, "qp.gid", S::bad_index,
     "The own address of a queue pair is a filled place of the GID table."},
    {Rule::qp_remote_gid, "qp.remote-gid", S::bad_param,
     "The other end's address is none, or of another network protocol than the own one."},
    {Rule::qp_udp_port, "qp.udp-port", S::bad_param, "The UDP source port is outside of the card's range."},
    {Rule::roce_disabled, "roce.disabled", S::bad_sys_state,
     "RoCE is off on the virtual port: MODIFY_NIC_VPORT_CONTEXT turns it on (roce_en)."},
    {Rule::roce_index, "roce.address-index", S::bad_index, "The GID table has no such place."},
    {Rule::roce_address, "roce.address", S::bad_param, "The address can't be one of this port's."},
    {Rule::multicast_service, "multicast.service", S::bad_param,
     "Only UD queue pairs are in multicast groups."},
    {Rule::multicast_gid, "multicast.gid", S::bad_param, "The GID is not that of a multicast group."},
    {Rule::multicast_member, "multicast.member", S::bad_res_state,
     "The queue pair is in the group already, or is to leave one that it is not in."},
    {Rule::multicast_full, "multicast.full", S::exceed_lim,
     "The card has no more groups, or the group no room for another member."},

    {Rule::srq_size, "srq.size", S::bad_param, "The shared receive queue is larger than the card allows."},
    {Rule::srq_stride, "srq.stride", S::bad_param,
     "A shared receive request has no room for its next segment and one data segment."},
    {Rule::srq_feature, "srq.feature", S::bad_param,
     "A feature of the shared receive queue is not supported."},
};

/// A slip here would make two refusals look alike.
constexpr bool sorted() {
  for (std::size_t i = 1; i < std::size(table); ++i) {
    if (table[i - 1].rule >= table[i].rule) return false;
  }
  return true;
}
static_assert(sorted());

}  // namespace

std::span<const RuleInfo> rules() noexcept {
  return table;
}

const RuleInfo& info(Rule rule) noexcept {
  for (const RuleInfo& entry : table) {
    if (entry.rule == rule) return entry;
  }
  return table[0];
}

}  // namespace chime::model

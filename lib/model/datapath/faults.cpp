// SPDX-License-Identifier: BSD-3-Clause
#include "model/datapath/faults.h"

namespace chime::model {
namespace {

constexpr auto operation = prm::cqe_syndrome::local_qp_operation;
constexpr auto length = prm::cqe_syndrome::local_length;
constexpr auto protection = prm::cqe_syndrome::local_protection;
constexpr auto invalid_request = prm::cqe_syndrome::remote_invalid_request;
constexpr auto remote_access = prm::cqe_syndrome::remote_access;
constexpr auto bind = prm::cqe_syndrome::memory_window_bind;
constexpr auto no_cqe = prm::cqe_syndrome{};
constexpr auto error = Severity::error;
constexpr auto note = Severity::note;

constexpr FaultInfo table[] = {
    {Fault::wqe_opcode, "wqe.opcode", error, operation, "A send queue for Ethernet has no such operation."},
    {Fault::wqe_multi_packet, "wqe.multi-packet", error, operation,
     "A multi-packet request, which this card does not have (enhanced_multi_pkt_send_wqe; of the first form "
     "multi_pkt_send_wqe)."},
    {Fault::wqe_unequal_packets, "wqe.unequal-packets", error, length,
     "The packets of a multi-packet request of the first form all have the length that its mss says."},
    {Fault::wqe_large_send, "wqe.large-send", error, operation,
     "The inline headers of a large send are not TCP or UDP over IP, up to their end; or it has no MSS or "
     "payload."},
    {Fault::wqe_no_tis, "wqe.no-tis", error, operation,
     "The queue was made without a TIS: it takes control operations, and sends nothing."},
    {Fault::wqe_index, "wqe.index", error, operation,
     "The control segment's wqe_index is not the request's place in the queue."},
    {Fault::wqe_queue_number, "wqe.queue-number", error, operation,
     "The control segment names another queue."},
    {Fault::wqe_size, "wqe.size", error, operation, "ds is too small for the operation's segments."},
    {Fault::wqe_beyond_posted, "wqe.beyond-posted", error, operation,
     "The request is longer than what the doorbell record says is posted."},
    {Fault::wqe_inline_header, "wqe.inline-header", error, length,
     "The inline header goes beyond the request's end (ds)."},
    {Fault::wqe_inline_data, "wqe.inline-data", error, length,
     "An inline data segment goes beyond the request's end (ds)."},
    {Fault::wqe_inline_mode, "wqe.inline-mode", error, operation,
     "Less of the headers is inline than the queue's min_wqe_inline_mode demands."},
    {Fault::wqe_empty_segment, "wqe.empty-segment", error, length,
     "A byte count of 0 means 2 GB; leave out the segment instead."},
    {Fault::wqe_too_short, "wqe.too-short", error, length, "A frame has at least an Ethernet header."},
    {Fault::wqe_too_long, "wqe.too-long", error, length, "No frame is as long as this."},
    {Fault::wqe_memory, "wqe.memory", error, operation, "The queue's memory is gone."},
    {Fault::wqe_vlan_insertion, "wqe.vlan-insertion", error, operation,
     "A tag is inserted into frames without inline header only, and its type is C-VLAN or S-VLAN."},
    {Fault::wqe_software_parser, "wqe.software-parser", error, operation,
     "Software parser offsets are not there: leave swp_flags 0."},
    {Fault::key_unknown, "key.unknown", error, protection, "There is no memory key of this number."},
    {Fault::key_pd, "key.pd", error, protection,
     "The memory key belongs to another protection domain than the queue."},
    {Fault::key_rights, "key.rights", error, protection, "The memory key does not give the right."},
    {Fault::key_bounds, "key.bounds", error, protection, "The address range is not within the memory key's."},
    {Fault::key_memory, "key.memory", error, protection, "The memory behind the key is gone."},
    {Fault::key_free, "key.free", error, protection, "The memory key is in the free state."},
    {Fault::key_levels, "key.levels", error, protection, "Keys point at keys too many times."},
    {Fault::umr_key, "umr.key", error, bind, "A UMR request names no memory key, or one of another PD."},
    {Fault::umr_disabled, "umr.disabled", error, bind, "The memory key was made without umr_en."},
    {Fault::umr_state, "umr.state", error, bind,
     "The memory key is not in the state, free or not, that the UMR request checks."},
    {Fault::umr_room, "umr.room", error, bind,
     "A UMR request writes more translations than the memory key was made for (translations_octword_size), "
     "or than "
     "it has itself."},
    {Fault::umr_feature, "umr.feature", error, bind,
     "A UMR request asks for signatures, or for a page size that the card does not have."},
    {Fault::umr_queue, "umr.queue", error, operation, "The queue takes no UMR requests (reg_umr)."},
    {Fault::umr_memory, "umr.memory", error, bind, "The card has no memory left for the translations."},
    {Fault::key_queue, "key.queue", error, protection, "The memory key is another queue pair's alone (qpn)."},
    {Fault::flushed, "wqe.flushed", note, prm::cqe_syndrome::flushed,
     "The queue is in error; the request was not executed."},

    {Fault::doorbell_unknown_queue, "doorbell.unknown-queue", error, no_cqe,
     "The doorbell names a queue that does not exist."},
    {Fault::doorbell_foreign_uar, "doorbell.foreign-uar", error, no_cqe,
     "A queue's doorbell counts on the UAR page that it was created with only."},
    {Fault::doorbell_queue_state, "doorbell.queue-state", error, no_cqe,
     "The queue is not in the ready state."},
    {Fault::doorbell_ahead_of_record, "doorbell.ahead-of-record", error, no_cqe,
     "The record must be written before the doorbell; what it does not say is not posted."},
    {Fault::doorbell_behind_record, "doorbell.behind-record", note, no_cqe,
     "The doorbell's request is not the last that the record says is posted."},
    {Fault::doorbell_overrun, "doorbell.overrun", error, no_cqe,
     "More is posted than the queue has room for."},
    {Fault::record_memory, "doorbell.record-memory", error, no_cqe, "The record's memory is gone."},
    {Fault::doorbell_offset, "doorbell.offset", error, no_cqe, "The UAR page has no register there."},

    {Fault::cq_overflow, "cq.overflow", error, no_cqe,
     "A completion found no room; the completion queue is in error from here on."},
    {Fault::cq_consumer, "cq.consumer", error, no_cqe,
     "The consumer index is ahead of what the card produced."},
    {Fault::cq_memory, "cq.memory", error, no_cqe, "The completion queue's memory is gone."},
    {Fault::cq_stale_arm, "cq.stale-arm", note, no_cqe,
     "The arm has the sequence number of one that has fired: count on with every event."},
    {Fault::cq_arm_record, "cq.arm-record", note, no_cqe,
     "The arm record must be written before the doorbell."},
    {Fault::eq_overflow, "eq.overflow", error, no_cqe, "An event found no room and is lost."},
    {Fault::eq_memory, "eq.memory", error, no_cqe, "The event queue's memory is gone."},

    {Fault::rq_record, "rq.record", error, no_cqe, "More is posted than the receive queue has room for."},
    {Fault::rq_too_long, "rq.too-long", note, no_cqe,
     "A packet is longer than the buffers of a receive request, and was dropped."},
    {Fault::steering_loop, "steering.loop", error, no_cqe, "A packet visited too many flow tables."},
    {Fault::steering_destinations, "steering.destinations", error, no_cqe,
     "A packet has more destinations than the card serves."},

    {Fault::frame_too_long, "port.frame-too-long", note, no_cqe,
     "A frame above the port's MTU (PMTU) was dropped."},
    {Fault::port_down, "port.down", note, no_cqe, "Frames were dropped because the link is down."},

    {Fault::qp_operation, "qp.operation", error, operation,
     "The queue pair's service has no such operation: reads and atomics are RC's, RDMA writes RC's and "
     "UC's."},
    {Fault::qp_message_length, "qp.message-length", error, length,
     "The message is longer than log_msg_max allows, or, on UD, than the path MTU."},
    {Fault::qp_address, "qp.address", error, operation,
     "The address path names a place of the RoCE address table that is empty, or not of RoCE v2."},
    {Fault::atomic_size, "atomic.size", error, operation,
     "The card does not offer the operation at this size (atomic_size_qp), or opmod does not encode one."},
    {Fault::atomic_operands, "atomic.operands", error, operation,
     "The operands do not end within the request (ds), or their segment is of no atomic's length."},
    {Fault::atomic_result_room, "atomic.result-room", error, length,
     "The data segments have no room for the original value that comes back."},
    {Fault::remote_invalid_request, "remote.invalid-request", error, invalid_request,
     "The other end refused the request as invalid: the operation, its size, or its length is not for it."},
    {Fault::remote_misaligned, "remote.misaligned", error, invalid_request,
     "The other end refused an atomic whose remote address is no multiple of its size."},
    {Fault::remote_access, "remote.access", error, remote_access,
     "The other end refused access: a key that is stale, of another domain or without the right, an address "
     "outside of it, or a queue pair without rre, rwe or rae."},
    {Fault::remote_operation, "remote.operation", error, prm::cqe_syndrome::remote_operation,
     "The other end could not complete the request: its own receive request was at fault."},
    {Fault::retries_exceeded, "remote.no-answer", error, prm::cqe_syndrome::transport_retry_exceeded,
     "The other end did not answer within ack_timeout and retry_count: no such queue pair, not in RTR, wrong "
     "addresses, or lost packets."},
    {Fault::rnr_retries_exceeded, "remote.not-ready", error, prm::cqe_syndrome::rnr_retry_exceeded,
     "The other end had no receive request posted for rnr_retry times."},
    {Fault::bad_response, "remote.bad-response", error, prm::cqe_syndrome::bad_response,
     "The other end's response is not the one that was asked for."},

    {Fault::receive_room, "receive.room", error, length,
     "A message is longer than the buffers of the receive request."},

    {Fault::target_misaligned, "target.misaligned", error, no_cqe,
     "An atomic's address is no multiple of its size."},
    {Fault::target_right, "target.right", error, no_cqe,
     "The queue pair does not allow it: rre for reads, rwe for writes, rae for atomics."},
    {Fault::target_key, "target.key", error, no_cqe, "The remote key gives no access there."},
    {Fault::target_atomic, "target.atomic", error, no_cqe,
     "The queue pair's atomic_mode does not include the operation or its size."},
    {Fault::target_sequence, "target.sequence", error, no_cqe,
     "A packet begins or goes on with a message where it must not."},
    {Fault::target_length, "target.length", error, no_cqe,
     "A packet's payload does not fit the path MTU, or the message's length."},
    {Fault::target_outstanding, "target.outstanding", error, no_cqe,
     "More reads and atomics are outstanding than log_rra_max says."},
    {Fault::receive_missing, "receive.missing", note, no_cqe,
     "A message found no receive request; over RC it is sent again (RNR NAK), else it is lost."},
    {Fault::target_srq, "target.srq", error, no_cqe,
     "A packet names a shared receive queue that does not exist, or is of another XRC domain."},

    {Fault::roce_malformed, "roce.malformed", note, no_cqe,
     "A packet to RoCE's port was dropped: it is cut, or its opcode or version is unknown."},
    {Fault::roce_icrc, "roce.icrc", note, no_cqe, "A RoCE packet was dropped: its ICRC is wrong."},
    {Fault::roce_unknown_qp, "roce.unknown-qp", note, no_cqe,
     "A RoCE packet was dropped: there is no queue pair of its number."},
    {Fault::roce_qp_state, "roce.qp-state", note, no_cqe,
     "A RoCE packet was dropped: its queue pair is not in a state to receive."},
    {Fault::roce_service, "roce.service", note, no_cqe,
     "A RoCE packet was dropped: its opcode is of another service than its queue pair."},
    {Fault::roce_address, "roce.address", note, no_cqe,
     "A RoCE packet was dropped or passed on: its addresses are not those of its queue pair's path."},
    {Fault::roce_qkey, "roce.qkey", note, no_cqe,
     "A datagram was dropped: its Q_Key is not the queue pair's."},
    {Fault::atomic_operand_order, "atomic.operand-order", note, no_cqe,
     "An operand looks like a small number in the wrong byte order: operands are big-endian."},
};

constexpr FaultInfo no_fault = {Fault::none, "none", note, no_cqe, ""};

}  // namespace

std::span<const FaultInfo> faults() noexcept {
  return table;
}

const FaultInfo& info(Fault fault) noexcept {
  for (const FaultInfo& f : table) {
    if (f.fault == fault) return f;
  }
  return no_fault;
}

}  // namespace chime::model

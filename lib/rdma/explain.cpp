// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/explain.h"

#include "prm/cqe.h"

namespace chime::rdma {
namespace {

// One literal for the parts and the sentence.
#define CHIME_EXPLAIN(syndrome, name, causes, remedy)                             \
  {                                                                               \
    static_cast<std::uint8_t>(prm::cqe_syndrome::syndrome), name, causes, remedy, \
        name ": likely " causes "; " remedy                                       \
  }

constexpr Explanation list[] = {
    CHIME_EXPLAIN(local_length, "local length error",
                  "a message longer than the receive buffer, or no room for the result of a read or atomic",
                  "give the receive, or `local`, as many bytes as come"),
    CHIME_EXPLAIN(
        local_qp_operation, "local QP operation error",
        "a malformed work request: wrong ds, opcode or opmod, or an atomic that the card lacks",
        "compare the request with the manual's layout, and the capabilities; operands begin at byte 32 "
        "and are big-endian"),
    CHIME_EXPLAIN(
        local_protection, "local protection error",
        "an lkey that is stale or of another protection domain, bytes outside its range, or no right "
        "to local write where the original value goes",
        "register the memory with RTE_PMD_CHIME_LOCAL_WRITE, use its lkey in host order, and keep the "
        "registration until the completion"),
    CHIME_EXPLAIN(
        flushed, "flushed",
        "an earlier request of this queue pair failed, or the queue pair was moved to error",
        "look at the first completion with another status; then reset the queue pair and connect it"),
    CHIME_EXPLAIN(memory_window_bind, "memory window bind error", "a bind request; this driver posts none",
                  "look for requests that something else posted"),
    CHIME_EXPLAIN(
        bad_response, "bad response",
        "an answer of another length or kind than asked for, or the other end's QP number or PSN is "
        "wrong",
        "connect both ends with the endpoints that they exchanged, and capture the wire"),
    CHIME_EXPLAIN(local_access, "local access error",
                  "the peer's request reached memory here that this queue pair may not use so",
                  "check rights and protection domain of the memory and the queue pair on this side"),
    CHIME_EXPLAIN(
        remote_invalid_request, "remote invalid request",
        "an atomic at an address that is no multiple of its size, an operation that the other queue "
        "pair does not answer, or a message longer than the receive there",
        "align the target; send no more than was posted to receive"),
    CHIME_EXPLAIN(
        remote_access, "remote access error",
        "a stale or byte-swapped rkey, an address outside its range, memory without the remote right, "
        "or a queue pair made without it",
        "take address and rkey from a fresh memory descriptor, register the target with the right "
        "(RTE_PMD_CHIME_REMOTE_ATOMIC), and allow it on the other queue pair"),
    CHIME_EXPLAIN(remote_operation, "remote operation error",
                  "the other end met an error of its own while it answered",
                  "look at the completions and the log of the other end"),
    CHIME_EXPLAIN(
        transport_retry_exceeded, "transport retries exceeded",
        "no answer: the peer is gone, not connected or in error, or GID, MAC, QP number, UDP port or "
        "MTU lead elsewhere, or a firewall drops UDP port 4791",
        "check that the peer lives and both ends are connected to each other; then reset and connect "
        "again"),
    CHIME_EXPLAIN(rnr_retry_exceeded, "receiver-not-ready retries exceeded",
                  "the peer posts no receives, or too few for the sends and writes with immediate data",
                  "post receives before the peer sends, or raise rnr_retry (7: for ever)"),
    CHIME_EXPLAIN(remote_aborted, "remote aborted", "the other end gave the operation up",
                  "look at the other end"),
};

#undef CHIME_EXPLAIN

constexpr Trap trap_list[] = {
    {"doorbell-before-record",
     "nothing completes, and no error comes; rte_pmd_chime_qp_query() shows blocks that the card does not "
     "know",
     "the doorbell was stored before the doorbell record, or instead of it: the card reads the record when "
     "the "
     "doorbell comes and finds nothing new",
     "write the request, then the 16-bit counter (big-endian) to the record, then a store barrier, then the "
     "first "
     "8 bytes of the control segment to the UAR; rte_pmd_chime_post() does it so"},
    {"misaligned-or-stale",
     "remote invalid request (0x12) for an address that is no multiple of the size; remote access (0x13) or "
     "local "
     "protection (0x04) for a key after its end",
     "the target is not naturally aligned; or the memory was unregistered, or registered anew with another "
     "key",
     "align the target to the atomic's size; send a fresh memory descriptor after every registration"},
    {"byte-order",
     "adding 1 changes the most significant byte (0x0100000000000000), a compare never matches, or remote "
     "access "
     "(0x13) for a key or address that looks reversed",
     "operands, rkey or address were written in the host's order: the card reads all of them big-endian; the "
     "original value comes in host order only for 8 bytes in endianness mode 1",
     "give rte_pmd_chime_op numbers in host order as they are and let the driver convert; never convert "
     "twice"},
    {"missing-rights", "remote access (0x13) at the first operation",
     "the target's memory lacks the right to remote atomics (or read, write), or the other queue pair was "
     "made "
     "without it (rae, rre, rwe are 0)",
     "register the target with RTE_PMD_CHIME_REMOTE_ATOMIC and LOCAL_WRITE, and set the right in the other "
     "queue "
     "pair's configuration"},
    {"no-room-for-the-result",
     "local protection (0x04) or local length (0x01) although the target changed: the atomic was executed",
     "the original value had nowhere to go: `local` is not registered for local write, or is shorter than "
     "the "
     "operand",
     "leave `local` 0 for up to 8 bytes (the queue pair has room of its own), or register as many bytes as "
     "the "
     "operand has with RTE_PMD_CHIME_LOCAL_WRITE"},
};

}  // namespace

std::span<const Explanation> explanations() noexcept {
  return list;
}

const Explanation* find_explanation(std::uint8_t syndrome) noexcept {
  for (const Explanation& e : list)
    if (e.syndrome == syndrome) return &e;
  return nullptr;
}

std::span<const Trap> traps() noexcept {
  return trap_list;
}

const Trap* find_trap(std::string_view name) noexcept {
  for (const Trap& trap : trap_list)
    if (name == trap.name) return &trap;
  return nullptr;
}

const char* sentence_of(std::uint8_t status) noexcept {
  if (status == 0) return "no error";
  const Explanation* e = find_explanation(status);
  return e != nullptr
             ? e->sentence
             : "a syndrome that the manual does not list; the vendor syndrome may tell the maker more";
}

}  // namespace chime::rdma

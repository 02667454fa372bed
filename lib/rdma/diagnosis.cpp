// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/diagnosis.h"

#include <cstdarg>
#include <cstdio>

#include "prm/be.h"
#include "prm/cqe.h"
#include "rdma/explain.h"

namespace chime::rdma {
namespace {

[[gnu::format(printf, 2, 3)]] Diagnosis say(Finding finding, const char* format, ...) noexcept {
  Diagnosis diagnosis{finding, {}};
  std::va_list args;
  va_start(args, format);
  std::vsnprintf(diagnosis.text, sizeof diagnosis.text, format, args);
  va_end(args);
  return diagnosis;
}

unsigned long long wide(std::uint64_t value) noexcept {
  return value;
}

/// User addresses have their upper 17 bits clear. Those of what is aligned to 64 KiB may do so reversed, too,
/// and can't be told.
bool looks_reversed(std::uint64_t address) noexcept {
  constexpr unsigned user_bits = 47;
  return address >> user_bits != 0 && prm::swap_bytes(address) >> user_bits == 0;
}

bool atomic(const Failure& failure) noexcept {
  return failure.kind < opcodes && is_atomic(static_cast<Opcode>(failure.kind));
}

/// Takes bytes back: the original value of an atomic, or what is read.
bool takes_result(const Failure& failure) noexcept {
  return atomic(failure) || failure.kind == static_cast<std::uint8_t>(Opcode::read);
}

std::uint32_t right_of(const Failure& failure) noexcept {
  if (atomic(failure)) return remote_atomic;
  return failure.kind == static_cast<std::uint8_t>(Opcode::read) ? remote_read : remote_write;
}

Diagnosis general(const Failure& failure) noexcept {
  return say(Finding::other, "%s", sentence_of(failure.status));
}

Diagnosis diagnose_local(const Failure& failure, const KeyBook& keys) noexcept {
  KeyRecord record;
  const bool known = keys.find(failure.lkey, record);
  if (!known) {
    if (keys.find(prm::swap_bytes(failure.lkey), record))
      return say(
          Finding::byte_order,
          "lkey %#x is lkey %#x with its bytes reversed: give it in host order, as registering returned it",
          failure.lkey, record.key);
    return general(failure);
  }
  if (!record.live)
    return say(Finding::stale_key,
               "lkey %#x is stale: its memory at %#llx was unregistered; keep registrations until the last "
               "completion",
               failure.lkey, wide(record.address));
  if (takes_result(failure) && !(record.rights & local_write))
    return say(Finding::no_room_for_result,
               "no room for the result: the memory of lkey %#x was registered without "
               "RTE_PMD_CHIME_LOCAL_WRITE, and the original value at %#llx could not be written (the target "
               "may have changed)",
               failure.lkey, wide(failure.local));
  if (failure.local - record.address > record.length ||
      failure.length > record.length - (failure.local - record.address))
    return say(takes_result(failure) ? Finding::no_room_for_result : Finding::other,
               "%u bytes at %#llx do not lie within the %llu bytes at %#llx of lkey %#x%s", failure.length,
               wide(failure.local), wide(record.length), wide(record.address), failure.lkey,
               takes_result(failure) ? ": no room for the result" : "");
  return general(failure);
}

/// The keys of the other end are known only when it is this port; the book is a help, not a proof.
Diagnosis diagnose_remote_access(const Failure& failure, const KeyBook& keys) noexcept {
  if (looks_reversed(failure.remote))
    return say(Finding::byte_order,
               "remote address %#llx has its bytes reversed (%#llx would be one): give it in host order",
               wide(failure.remote), wide(prm::swap_bytes(failure.remote)));
  KeyRecord record;
  if (!keys.find(failure.rkey, record)) {
    if (keys.find(prm::swap_bytes(failure.rkey), record))
      return say(Finding::byte_order, "rkey %#x is rkey %#x with its bytes reversed: give it in host order",
                 failure.rkey, record.key);
    return general(failure);
  }
  if (failure.remote - record.address >= record.length) return general(failure);
  if (!record.live)
    return say(
        Finding::stale_key,
        "rkey %#x is stale: this port's memory at %#llx that had it was unregistered; take a fresh memory "
        "descriptor",
        failure.rkey, wide(record.address));
  const std::uint32_t right = right_of(failure);
  if (!(record.rights & right))
    return say(Finding::missing_rights, "missing rights at the target: rkey %#x was registered without %s",
               failure.rkey,
               right == remote_atomic ? "RTE_PMD_CHIME_REMOTE_ATOMIC"
               : right == remote_read ? "RTE_PMD_CHIME_REMOTE_READ"
                                      : "RTE_PMD_CHIME_REMOTE_WRITE");
  return say(Finding::missing_rights,
             "missing rights at the target: rkey %#x allows it, so the other queue pair does not (its "
             "configuration's rights)",
             failure.rkey);
}

}  // namespace

Diagnosis diagnose(const Failure& failure, const KeyBook& keys) noexcept {
  using enum prm::cqe_syndrome;
  switch (static_cast<prm::cqe_syndrome>(failure.status)) {
    case local_protection:
      return diagnose_local(failure, keys);
    case local_length:
      if (takes_result(failure))
        return say(Finding::no_room_for_result,
                   "no room for the result: %u bytes at %#llx are fewer than came back", failure.length,
                   wide(failure.local));
      return general(failure);
    case remote_invalid_request:
      if (atomic(failure) && failure.length != 0 && failure.remote % failure.length != 0)
        return say(Finding::misaligned,
                   "remote address %#llx is no multiple of the atomic's %u bytes: align the target",
                   wide(failure.remote), failure.length);
      if (atomic(failure) && looks_reversed(failure.remote)) return diagnose_remote_access(failure, keys);
      return general(failure);
    case remote_access:
      return diagnose_remote_access(failure, keys);
    default:
      return general(failure);
  }
}

Diagnosis diagnose(const QpControl::Status& status, const KeyBook& keys) noexcept {
  if (status.failure.status != 0) return diagnose(status.failure, keys);
  if (status.card.state != hca::QueuePair::State::rts)
    return say(Finding::nothing, "no request failed; the queue pair is in state %u (3 is ready to send)",
               static_cast<unsigned>(status.card.state));
  if (status.recorded != status.posted)
    return say(Finding::doorbell_before_record,
               "%u basic blocks are posted and the doorbell record says %u: something other than "
               "rte_pmd_chime_post() writes the ring or the record; the record comes before the doorbell",
               status.posted, status.recorded);
  if (status.card.known_blocks != status.recorded)
    return say(
        Finding::doorbell_before_record,
        "the doorbell record says %u, and the card knows of %u: a doorbell was rung before its record was "
        "written, or not at all, or on another UAR",
        status.recorded, status.card.known_blocks);
  if (status.outstanding != 0)
    return say(Finding::nothing, "no request failed; %u basic blocks wait for an answer or for a poll",
               status.outstanding);
  return say(Finding::nothing, "no request failed, and nothing is outstanding");
}

}  // namespace chime::rdma

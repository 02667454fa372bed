// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/request.h"

#include <bit>

#include "prm/wqe_atomic.h"
#include "rdma/keys.h"
#include "rdma/wqe_writer.h"

namespace chime::rdma {
namespace {

constexpr std::uint32_t longest_message = 1u << 30;

/// What a masked operation has in place of an operand.
enum class Source : std::uint8_t { first, second, third, fourth, inverted, zeros, ones };

/// How an atomic is made of masked compare-and-swap or masked fetch-and-add.
struct Form {
  prm::wqe_opcode opcode;
  std::uint8_t operands;
  std::uint8_t given;  ///< operands that the application gives
  Source source[4];
};

constexpr Form form_of(Opcode opcode) noexcept {
  using enum Source;
  using enum prm::wqe_opcode;
  switch (opcode) {
    case Opcode::fetch_add:
      return {atomic_masked_fa, 2, 1, {first, zeros}};
    case Opcode::masked_fetch_add:
      return {atomic_masked_fa, 2, 2, {first, second}};
    case Opcode::fetch_xor:
      return {atomic_masked_fa, 2, 1, {first, ones}};
    case Opcode::compare_swap:
      return {atomic_masked_cs, 4, 2, {first, second, ones, ones}};
    case Opcode::masked_compare_swap:
      return {atomic_masked_cs, 4, 4, {first, second, third, fourth}};
    case Opcode::fetch_and:
      return {atomic_masked_cs, 4, 1, {first, zeros, inverted, zeros}};
    case Opcode::fetch_or:
      return {atomic_masked_cs, 4, 1, {first, zeros, first, zeros}};
    case Opcode::swap:
      return {atomic_masked_cs, 4, 1, {first, zeros, ones, zeros}};
    default:
      return {nop, 0, 0, {}};
  }
}

/// Word `i` of an operand, host order.
std::uint64_t word(const Operation& operation, Source source, std::size_t i, bool many) noexcept {
  const auto given = [&](unsigned which) {
    return many ? operation.operand[which].words[i] : operation.operand[which].value;
  };
  switch (source) {
    case Source::zeros:
      return 0;
    case Source::ones:
      return ~std::uint64_t{0};
    case Source::inverted:
      return ~given(0);
    default:
      return given(static_cast<unsigned>(source));
  }
}

void write_control(WqeWriter& writer, const Qp& qp, std::uint32_t block, std::uint8_t opmod,
                   prm::wqe_opcode opcode, std::uint32_t ds, std::uint8_t flags, std::uint32_t imm) noexcept {
  auto& control = writer.next<prm::WqeCtrl>();
  control.opmod_idx_opcode = prm::wqe_opmod_idx_opcode(opmod, static_cast<std::uint16_t>(block), opcode);
  control.qpn_ds = qp.qpn_shifted | ds;
  control.signature = 0;
  control.reserved[0] = control.reserved[1] = 0;
  control.fm_ce_se = completion_mode(flags);
  control.imm = imm;
}

void write_remote(WqeWriter& writer, const Operation& operation) noexcept {
  auto& remote = writer.next<prm::WqeRaddr>();
  remote.address = operation.remote;
  remote.rkey = operation.rkey;
  remote.reserved = 0;
}

void write_data(WqeWriter& writer, std::uint32_t length, prm::Be32 lkey, std::uintptr_t address) noexcept {
  auto& data = writer.next<prm::WqeData>();
  data.byte_count = length;
  data.lkey = lkey;
  data.address = address;
}

void write_operands(WqeWriter& writer, const Operation& operation, const Form& form,
                    unsigned log_bytes) noexcept {
  if (log_bytes == 2) {
    struct Words {
      prm::Be32 word[4];
    };
    auto& words = writer.next<Words>();
    for (unsigned i = 0; i < 4; ++i)
      words.word[i] =
          i < form.operands ? static_cast<std::uint32_t>(word(operation, form.source[i], 0, false)) : 0u;
    return;
  }
  struct Pair {
    prm::Be64 word[2];
  };
  if (log_bytes == 3) {
    for (unsigned i = 0; i < form.operands; i += 2) {
      auto& pair = writer.next<Pair>();
      pair.word[0] = word(operation, form.source[i], 0, false);
      pair.word[1] = word(operation, form.source[i + 1], 0, false);
    }
    return;
  }
  for (unsigned i = 0; i < form.operands; ++i) {
    for (std::size_t at = 0; at < std::size_t{1} << (log_bytes - 3); at += 2) {
      auto& pair = writer.next<Pair>();
      pair.word[0] = word(operation, form.source[i], at, true);
      pair.word[1] = word(operation, form.source[i], at + 1, true);
    }
  }
}

/// The same, most significant word first, for the longest ones.
void write_operands(std::byte* at, const Operation& operation, const Form& form,
                    std::uint32_t bytes) noexcept {
  for (unsigned i = 0; i < form.operands; ++i) {
    for (std::size_t w = 0; w < bytes / 8; ++w, at += 8) {
      const prm::Be64 big = word(operation, form.source[i], w, true);
      std::memcpy(at, &big, sizeof big);
    }
  }
}

void remember(Qp& qp, const Operation& operation, std::uint8_t flags, std::uint32_t block,
              std::uint32_t blocks, std::uintptr_t local, Telling telling) noexcept {
  qp.slots[block & qp.mask] = {.cookie = operation.cookie,
                               .local = local,
                               .length = operation.length,
                               .limit = block + blocks + qp.mask + 1,
                               .qpn = qp.qpn(),
                               .kind = operation.opcode,
                               .telling = flags & make_room ? Telling::not_told : telling,
                               .reserved = 0};
}

constexpr std::uint32_t blocks_of(std::uint32_t ds) noexcept {
  return (ds + 3) / 4;
}

Telling telling_of(const Qp& qp, unsigned log_bytes) noexcept {
  if (log_bytes == 2) return Telling::big4;
  if (log_bytes > 3) return Telling::big_words;
  return qp.flags & qp_host_replies ? Telling::host8 : Telling::big8;
}

Refusal check_operands(const Operation& operation, const Form& form) noexcept {
  for (unsigned i = 0; i < form.given; ++i)
    if (operation.operand[i].words == nullptr) return Refusal::no_operand;
  return Refusal::none;
}

Built build_atomic(Qp& qp, const Operation& operation, std::uint8_t flags, std::uint32_t block,
                   std::uint32_t free) noexcept {
  const std::uint32_t bytes = operation.length;
  if (!std::has_single_bit(bytes) || bytes < 4 || bytes > 256) return {0, Refusal::size};
  const auto log_bytes = static_cast<unsigned>(std::countr_zero(bytes));
  if (!(qp.worker->atomics.sizes[static_cast<std::uint8_t>(operation.opcode)] >> log_bytes & 1))
    return {0, Refusal::not_offered};
  if (operation.remote % bytes != 0) return {0, Refusal::misaligned};

  const Form form = form_of(operation.opcode);
  std::uintptr_t local = operation.local;
  prm::Be32 lkey = operation.lkey;
  if (log_bytes > 3) {
    if (local == 0) return {0, Refusal::no_result};
    if (Refusal wrong = check_operands(operation, form); wrong != Refusal::none) return {0, wrong};
  }
  if (local == 0) {
    local = reinterpret_cast<std::uintptr_t>(qp.results + (block & qp.mask));
    lkey = prm::Be32::from_raw(static_cast<std::uint32_t>(qp.result_key >> 32));
  } else if (qp.flags & qp_checked && !holds_for_card(*qp.worker->keys, operation.lkey, local, bytes, true)) {
    return {0, Refusal::stale_key};
  }
  const bool plain = log_bytes == 3 && qp.flags & qp_plain_atomics &&
                     (operation.opcode == Opcode::fetch_add || operation.opcode == Opcode::compare_swap);
  std::uint32_t ds = plain ? 4 : prm::wqe_atomic_ds(form.operands, log_bytes);
  const bool wide = ds > qp.max_ds;
  if (wide) {
    if (qp.operands == nullptr) return {0, Refusal::not_wide};
    ds = 4;  // a data segment in place of the operands
  }
  const std::uint32_t blocks = blocks_of(ds);
  if (blocks > free) return {0, Refusal::full};

  WqeWriter writer(qp, block);
  if (plain) {
    const bool add = operation.opcode == Opcode::fetch_add;
    write_control(writer, qp, block, 0, add ? prm::wqe_opcode::atomic_fa : prm::wqe_opcode::atomic_cs, ds,
                  flags, 0);
    write_remote(writer, operation);
    auto& atomic = writer.next<prm::WqeAtomic>();
    atomic.swap_or_add = operation.operand[0].value;
    atomic.compare = add ? 0 : operation.operand[1].value;
  } else if (wide) {
    write_control(writer, qp, block, prm::wqe_opmod_atomic_pointer, form.opcode, ds, flags, 0);
    write_remote(writer, operation);
    std::byte* beside = qp.operands + std::size_t{block & qp.mask} * wide_operands;
    write_operands(beside, operation, form, bytes);
    write_data(writer, form.operands * bytes, prm::Be32::from_raw(qp.operands_lkey),
               reinterpret_cast<std::uintptr_t>(beside));
  } else {
    write_control(writer, qp, block, prm::wqe_opmod_extended_atomic(log_bytes), form.opcode, ds, flags, 0);
    write_remote(writer, operation);
    write_operands(writer, operation, form, log_bytes);
  }
  write_data(writer, bytes, lkey, local);
  remember(qp, operation, flags, block, blocks, local, telling_of(qp, log_bytes));
  return {blocks, Refusal::none};
}

constexpr prm::wqe_opcode wqe_opcode_of(Opcode opcode) noexcept {
  switch (opcode) {
    case Opcode::write:
      return prm::wqe_opcode::rdma_write;
    case Opcode::write_imm:
      return prm::wqe_opcode::rdma_write_imm;
    case Opcode::send:
      return prm::wqe_opcode::send;
    case Opcode::send_imm:
      return prm::wqe_opcode::send_imm;
    default:
      return prm::wqe_opcode::rdma_read;
  }
}

/// Moving bytes: control, remote address (not for sends), one data segment or the bytes themselves.
Built build_transfer(Qp& qp, const Operation& operation, std::uint8_t flags, std::uint32_t block,
                     std::uint32_t free) noexcept {
  const bool remote = operation.opcode != Opcode::send && operation.opcode != Opcode::send_imm;
  const bool with_imm = operation.opcode == Opcode::write_imm || operation.opcode == Opcode::send_imm;
  const bool copied = flags & in_line && operation.opcode != Opcode::read;
  const std::uint32_t length = operation.length;
  if (length > (copied ? qp.most_inline : longest_message)) return {0, Refusal::too_long};
  if (qp.flags & qp_checked && !copied && length != 0 &&
      !holds_for_card(*qp.worker->keys, operation.lkey, operation.local, length,
                      operation.opcode == Opcode::read)) {
    return {0, Refusal::stale_key};
  }
  std::uint32_t ds = remote ? 2 : 1;
  // To the card a data segment of 0 bytes would be one of 2^31: there is none then.
  if (length != 0) ds += copied ? (length + 4 + 15) / 16 : 1;  // a count of 4 bytes before them
  const std::uint32_t blocks = blocks_of(ds);
  if (blocks > free) return {0, Refusal::full};

  WqeWriter writer(qp, block);
  write_control(writer, qp, block, 0, wqe_opcode_of(operation.opcode), ds, flags,
                with_imm ? operation.imm : 0);
  if (remote) write_remote(writer, operation);
  if (length != 0 && copied) {
    // The count, and the first 12 bytes behind it.
    struct First {
      prm::Be32 count;
      std::byte bytes[12];
    };
    const auto* from = reinterpret_cast<const std::byte*>(operation.local);
    auto& first = writer.next<First>();
    first.count = prm::data_seg_inline | length;
    const std::size_t beside = std::min<std::size_t>(length, sizeof first.bytes);
    std::memcpy(first.bytes, from, beside);
    writer.bytes(from + beside, length - beside);
  } else if (length != 0) {
    write_data(writer, length, operation.lkey, operation.local);
  }
  remember(qp, operation, flags, block, blocks, operation.local, Telling::none);
  return {blocks, Refusal::none};
}

}  // namespace

Built build(Qp& qp, const Operation& operation, std::uint8_t flags, std::uint32_t block,
            std::uint32_t free) noexcept {
  if (free == 0) return {0, Refusal::full};
  if (static_cast<std::uint8_t>(operation.opcode) >= opcodes) return {0, Refusal::opcode};
  return is_atomic(operation.opcode) ? build_atomic(qp, operation, flags, block, free)
                                     : build_transfer(qp, operation, flags, block, free);
}

}  // namespace chime::rdma

// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/capabilities.h"

#include <algorithm>
#include <bit>

#include "hca/command.h"
#include "prm/wqe.h"

namespace chime::rdma {
namespace {

constexpr std::uint16_t masked_compare_swap_bit = 4;
constexpr std::uint16_t masked_fetch_add_bit = 8;
constexpr std::uint16_t eight_bytes = 1u << 3;
constexpr std::uint16_t all_sizes = 0x1fc;  // 4 to 256 bytes

Result<> query_page(hca::Device& device, prm::hca_cap_type type,
                    hca::Command<prm::query_hca_cap>& command) noexcept {
  command.in.set(prm::query_hca_cap_in::op_mod,
                 static_cast<std::uint32_t>(type) << 1 | static_cast<std::uint32_t>(prm::hca_cap_mode::cur));
  return command.execute(device);
}

}  // namespace

Result<Capabilities> Capabilities::query(hca::Device& device) noexcept {
  hca::Command<prm::query_hca_cap> command;
  if (Result<> done = query_page(device, prm::hca_cap_type::general, command); !done)
    return fail(done.error());
  using general = prm::cmd_hca_cap;
  const auto card = command.out.at(prm::query_hca_cap_out::capability).at(prm::hca_cap_union::cmd_hca_cap);
  Capabilities c;
  c.log_max_depth = static_cast<std::uint8_t>(std::min<std::uint32_t>(card.get(general::log_max_qp_sz), 15));
  c.log_max_queue_pairs = static_cast<std::uint8_t>(card.get(general::log_max_qp));
  c.log_max_completions = static_cast<std::uint8_t>(card.get(general::log_max_cq_sz));
  c.log_max_initiator_depth = static_cast<std::uint8_t>(card.get(general::log_max_ra_req_qp));
  c.log_max_responder_depth = static_cast<std::uint8_t>(card.get(general::log_max_ra_res_qp));
  const std::uint32_t ds = card.get(general::max_wqe_sz_sq) / prm::wqe_unit;
  c.max_ds = static_cast<std::uint8_t>(std::min<std::uint32_t>(ds, prm::max_ds));
  const bool roce = card.get(general::roce);
  const bool atomics = card.get(general::atomic);
  if (roce) {
    if (Result<> done = query_page(device, prm::hca_cap_type::roce, command); !done)
      return fail(done.error());
    c.gids = static_cast<std::uint16_t>(command.out.at(prm::query_hca_cap_out::capability)
                                            .at(prm::hca_cap_union::roce_cap)
                                            .get(prm::roce_cap::roce_address_table_size));
  }
  if (!atomics) return c;

  if (Result<> done = query_page(device, prm::hca_cap_type::atomic, command); !done)
    return fail(done.error());
  using atomic = prm::atomic_caps;
  const auto page = command.out.at(prm::query_hca_cap_out::capability).at(prm::hca_cap_union::atomic_caps);
  c.operations = static_cast<std::uint16_t>(page.get(atomic::atomic_operations));
  c.sizes = static_cast<std::uint16_t>(page.get(atomic::atomic_size_qp));
  c.host_replies = page.get(atomic::atomic_req_8B_endianness_mode) == 1;
  c.can_host_replies = page.get(atomic::supported_atomic_req_8B_endianness_mode_1);
  c.pci_fetch_add = static_cast<std::uint16_t>(page.get(atomic::fetch_add_pci_atomic));
  c.pci_swap = static_cast<std::uint16_t>(page.get(atomic::swap_pci_atomic));
  c.pci_compare_swap = static_cast<std::uint16_t>(page.get(atomic::compare_swap_pci_atomic));
  return c;
}

AtomicSizes Capabilities::atomics() const noexcept {
  const std::uint16_t plain_size = sizes & eight_bytes;
  const unsigned masked = sizes & all_sizes;
  const unsigned masked_add = operations & masked_fetch_add_bit ? masked : 0;
  const unsigned masked_swap = operations & masked_compare_swap_bit ? masked : 0;
  AtomicSizes offered{};
  const auto set = [&](Opcode opcode, unsigned bits) {
    offered.sizes[static_cast<std::uint8_t>(opcode)] = static_cast<std::uint16_t>(bits);
  };
  set(Opcode::fetch_add, masked_add | (plain() ? plain_size : 0u));
  set(Opcode::compare_swap, masked_swap | (plain() ? plain_size : 0u));
  set(Opcode::masked_fetch_add, masked_add);
  set(Opcode::fetch_xor, masked_add);
  for (Opcode opcode : {Opcode::masked_compare_swap, Opcode::fetch_and, Opcode::fetch_or, Opcode::swap})
    set(opcode, masked_swap);
  return offered;
}

std::uint32_t Capabilities::largest() const noexcept {
  const unsigned offered = operations != 0 ? sizes & all_sizes : 0u;
  return offered == 0 ? 0 : std::bit_floor(offered);
}

std::uint8_t Capabilities::atomic_mode() const noexcept {
  if (operations == 0) return static_cast<std::uint8_t>(prm::atomic_mode::none);
  // The rule of the Linux driver.
  if (!(operations & (masked_compare_swap_bit | masked_fetch_add_bit)))
    return static_cast<std::uint8_t>(prm::atomic_mode::ib_spec);
  const auto largest_log = static_cast<std::uint8_t>(std::bit_width(sizes & 0x1ffu) - 1);
  return std::max<std::uint8_t>(static_cast<std::uint8_t>(prm::atomic_mode::up_to_8b), largest_log);
}

WriteAtomicity write_atomicity(const Capabilities& receiver, bool enabled, std::uint64_t address,
                               std::uint64_t length) noexcept {
  const std::uint32_t largest = receiver.largest();
  if (length == 0) return WriteAtomicity::empty;
  if (largest == 0) return WriteAtomicity::no_atomics;
  if (!enabled) return WriteAtomicity::not_enabled;
  if (length > largest) return WriteAtomicity::too_long;
  // The smallest naturally aligned unit that can hold so many bytes, and larger ones: it is enough to look at
  // the largest, as a smaller one that has it all lies within.
  const std::uint64_t unit = std::bit_ceil(length);
  if (address / unit != (address + length - 1) / unit) return WriteAtomicity::crosses_a_unit;
  return WriteAtomicity::atomic;
}

const char* text_of(WriteAtomicity atomicity) noexcept {
  switch (atomicity) {
    case WriteAtomicity::atomic:
      return "the write is atomic against atomics through the same card";
    case WriteAtomicity::no_atomics:
      return "the receiving card has no atomics";
    case WriteAtomicity::not_enabled:
      return "the receiving queue pair does not take writes as atomic: make it with "
             "RTE_PMD_CHIME_QP_ATOMIC_WRITES";
    case WriteAtomicity::too_long:
      return "the write is longer than the receiving card's largest atomic";
    case WriteAtomicity::crosses_a_unit:
      return "the write does not lie within one naturally aligned unit: align it to its length, rounded up "
             "to "
             "a power of two";
    case WriteAtomicity::empty:
      return "a write of no bytes";
  }
  return "?";
}

}  // namespace chime::rdma

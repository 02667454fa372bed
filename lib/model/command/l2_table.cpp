// SPDX-License-Identifier: BSD-3-Clause
#include "model/command/handlers.h"
#include "model/command/mac.h"

namespace chime::model {
namespace {

bool index_known(Command& c, std::uint32_t index) noexcept {
  const std::uint32_t size = 1u << c.card.capabilities.general().get(prm::cmd_hca_cap::log_max_l2_table);
  if (index < size) return true;
  c.refuse(Rule::l2_index, index, "index %u; the table has %u (log_max_l2_table)", index, size);
  return false;
}

L2Entry* find_entry(Command& c, std::uint32_t index) noexcept {
  if (!index_known(c, index)) return nullptr;
  L2Entry* entry = c.card.l2_table.entries.find(index);
  if (!entry) c.refuse(Rule::l2_index, index, "index %u is empty", index);
  return entry;
}

}  // namespace

void set_l2_table_entry(Command& c, In<prm::set_l2_table_entry> in, Out<prm::set_l2_table_entry>) noexcept {
  using I = prm::set_l2_table_entry_in;
  const std::uint32_t index = in.get(I::table_index);
  if (!index_known(c, index)) return;
  L2Entry* entry = c.card.l2_table.entries.find(index);
  if (!entry) {
    auto made = c.make<L2Entry>();
    if (!made || !c.good(c.card.l2_table.entries.insert(index, made.get()), "the L2 table")) return;
    entry = made.release();
  }
  entry->address = read_mac(in.at(I::mac_address));
  entry->vlan_valid = in.get(I::vlan_valid);
  entry->vlan = static_cast<std::uint16_t>(in.get(I::vlan));
}

void query_l2_table_entry(Command& c, In<prm::query_l2_table_entry> in,
                          Out<prm::query_l2_table_entry> out) noexcept {
  using O = prm::query_l2_table_entry_out;
  const L2Entry* entry = find_entry(c, in.get(prm::query_l2_table_entry_in::table_index));
  if (!entry) return;
  out.set(O::vlan_valid, entry->vlan_valid).set(O::vlan, entry->vlan);
  write_mac(entry->address, out.at(O::mac_address));
}

void delete_l2_table_entry(Command& c, In<prm::delete_l2_table_entry> in,
                           Out<prm::delete_l2_table_entry>) noexcept {
  const std::uint32_t index = in.get(prm::delete_l2_table_entry_in::table_index);
  if (find_entry(c, index)) Owned<L2Entry>(c.card.l2_table.entries.take(index)).reset();
}

}  // namespace chime::model

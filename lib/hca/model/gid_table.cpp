// SPDX-License-Identifier: BSD-3-Clause
#include "hca/model/gid_table.h"

#include <algorithm>
#include <optional>

#include "prm/layouts.h"
#include "prm/view.h"

namespace chime::hca::embedded {
namespace {

using Layout = prm::roce_addr_layout;

Result<> query_capability(Kernel& kernel, prm::hca_cap_type type,
                          prm::Box<prm::query_hca_cap_out>& out) noexcept {
  prm::Box<prm::query_hca_cap_in> in;
  in.set(prm::query_hca_cap_in::op_mod,
         static_cast<std::uint32_t>(type) << 1 | static_cast<std::uint32_t>(prm::hca_cap_mode::cur));
  return kernel.execute(in, out);
}

/// The entry, or nothing where the place is empty. `index` is within the table.
Result<std::optional<GidEntry>> query(Kernel& kernel, unsigned index) noexcept {
  prm::Box<prm::query_roce_address_in> in;
  prm::Box<prm::query_roce_address_out> out;
  in.set(prm::query_roce_address_in::roce_address_index, index);
  if (auto done = kernel.execute(in, out); !done) return fail(done.error());
  const auto address = out.at(prm::query_roce_address_out::roce_address);
  GidEntry entry{};
  for (std::size_t i = 0; i < entry.raw.size(); ++i) {
    entry.raw[i] = static_cast<std::uint8_t>(address.get(Layout::source_l3_address, i));
  }
  if (entry.raw == GidBytes{}) return std::optional<GidEntry>{};
  const std::uint64_t mac =
      std::uint64_t{address.get(Layout::source_mac_47_32)} << 32 | address.get(Layout::source_mac_31_0);
  for (std::size_t i = 0; i < entry.mac.size(); ++i) {
    entry.mac[i] = static_cast<std::uint8_t>(mac >> (40 - 8 * i));
  }
  entry.type =
      address.get(Layout::roce_version) == prm::roce_version::v1 ? GidType::roce_v1 : GidType::roce_v2;
  return std::optional<GidEntry>{entry};
}

Result<> write(Kernel& kernel, unsigned index, const GidEntry& entry) noexcept {
  prm::Box<prm::set_roce_address_in> in;
  prm::Box<prm::set_roce_address_out> out;
  in.set(prm::set_roce_address_in::roce_address_index, index);
  const auto address = in.at(prm::set_roce_address_in::roce_address);
  for (std::size_t i = 0; i < entry.raw.size(); ++i) {
    address.set(Layout::source_l3_address, i, std::uint32_t{entry.raw[i]});
  }
  const MacAddress& m = entry.mac;
  address.set(Layout::source_mac_47_32, std::uint32_t{m[0]} << 8 | m[1])
      .set(Layout::source_mac_31_0,
           std::uint32_t{m[2]} << 24 | std::uint32_t{m[3]} << 16 | std::uint32_t{m[4]} << 8 | m[5])
      .set(Layout::roce_l3_type,
           is_ipv4_mapped(entry.raw) ? prm::roce_l3_type::ipv4 : prm::roce_l3_type::ipv6)
      .set(Layout::roce_version,
           entry.type == GidType::roce_v1 ? prm::roce_version::v1 : prm::roce_version::v2);
  return kernel.execute(in, out);
}

}  // namespace

GidBytes link_local_gid(const MacAddress& mac) noexcept {
  return {0xfe,   0x80,   0,    0,    0,      0,      0,     0, static_cast<std::uint8_t>(mac[0] ^ 2),
          mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]};
}

Result<unsigned> count_gids(Kernel& kernel) noexcept {
  prm::Box<prm::query_hca_cap_out> general, roce;
  if (auto done = query_capability(kernel, prm::hca_cap_type::general, general); !done) {
    return fail(done.error());
  }
  const prm::ConstView<prm::cmd_hca_cap> card(general.bytes().subspan(0x10));
  if (!card.get(prm::cmd_hca_cap::roce)) return 0u;
  if (auto done = query_capability(kernel, prm::hca_cap_type::roce, roce); !done) return fail(done.error());
  return prm::ConstView<prm::roce_cap>(roce.bytes().subspan(0x10))
      .get(prm::roce_cap::roce_address_table_size);
}

Result<> enable_roce(Kernel& kernel, const MacAddress& mac) noexcept {
  const auto count = count_gids(kernel);
  if (!count) return fail(count.error());
  if (*count == 0) return {};
  using Modify = prm::modify_nic_vport_context_in;
  prm::Box<Modify> in;
  prm::Box<prm::modify_nic_vport_context_out> out;
  in.at(Modify::field_select).set(prm::modify_nic_vport_field_select::roce_en, 1);
  in.at(Modify::nic_vport_context).set(prm::nic_vport_context::roce_en, 1);
  if (auto done = kernel.execute(in, out); !done) return done;
  return write(kernel, 0, {link_local_gid(mac), mac, GidType::roce_v2});
}

Result<GidEntry> read_gid(Kernel& kernel, unsigned index) noexcept {
  const auto count = count_gids(kernel);
  if (!count) return fail(count.error());
  if (*count == 0) return fail(ENOTSUP, "GID %u: the card has no RoCE, and no table of GIDs", index);
  if (index >= *count) return fail(EINVAL, "GID %u: the port's table has places 0 to %u", index, *count - 1);
  const auto entry = query(kernel, index);
  if (!entry) return fail(entry.error());
  if (!*entry) {
    return fail(ENODATA, "GID %u: the place is empty; 0 is the link-local address of the port's MAC", index);
  }
  return **entry;
}

Result<unsigned> add_gid(Kernel& kernel, const GidEntry& entry) noexcept {
  const auto count = count_gids(kernel);
  if (!count) return fail(count.error());
  if (*count == 0) return fail(ENOTSUP, "the card has no RoCE, and takes no addresses");
  unsigned empty = *count;
  for (unsigned index = 0; index < *count; ++index) {
    const auto there = query(kernel, index);
    if (!there) return fail(there.error());
    if (!*there) {
      empty = std::min(empty, index);
    } else if ((*there)->raw == entry.raw && (*there)->type == entry.type) {
      return index;
    }
  }
  if (empty == *count) return fail(ENOSPC, "all %u places of the port's GID table are taken", *count);
  if (auto done = write(kernel, empty, entry); !done) return fail(done.error());
  return empty;
}

Result<> move_gids(Kernel& kernel, const MacAddress& from, const MacAddress& to) noexcept {
  const auto count = count_gids(kernel);
  if (!count) return fail(count.error());
  for (unsigned index = 0; index < *count; ++index) {
    auto there = query(kernel, index);
    if (!there) return fail(there.error());
    if (!*there || (*there)->mac != from) continue;
    GidEntry entry = **there;
    entry.mac = to;
    if (entry.raw == link_local_gid(from)) entry.raw = link_local_gid(to);
    if (auto done = write(kernel, index, entry); !done) return done;
  }
  return {};
}

}  // namespace chime::hca::embedded

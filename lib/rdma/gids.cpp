// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/gids.h"

#include "hca/command.h"

namespace chime::rdma {

Result<OwnGid> read_gid(hca::Device& device, std::uint32_t index) noexcept {
  hca::Command<prm::query_roce_address> query;
  query.in.set(prm::query_roce_address_in::roce_address_index, index);
  if (auto done = query.execute(device); !done) return fail(done.error().within("GID %u", index));
  const auto address = query.out.at(prm::query_roce_address_out::roce_address);
  OwnGid own{};
  for (std::size_t i = 0; i < own.gid.size(); ++i)
    own.gid[i] = static_cast<std::uint8_t>(address.get(prm::roce_addr_layout::source_l3_address, i));
  const std::uint64_t mac = std::uint64_t{address.get(prm::roce_addr_layout::source_mac_47_32)} << 32 |
                            address.get(prm::roce_addr_layout::source_mac_31_0);
  for (std::size_t i = 0; i < own.mac.size(); ++i)
    own.mac[i] = static_cast<std::uint8_t>(mac >> 8 * (own.mac.size() - 1 - i));
  if (own.gid == std::array<std::uint8_t, 16>{})
    return fail(ENOENT, "GID %u of %s is empty; index 0 is the port's own", index, device.name());
  return own;
}

}  // namespace chime::rdma

// SPDX-License-Identifier: BSD-3-Clause
#include "hca/verbs/gids.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "hca/gid_address.h"
#include "hca/verbs/failure.h"
#include "hca/verbs/netdev.h"

namespace chime::hca::verbs {
namespace {

constexpr std::uint8_t only_port = 1;

}  // namespace

unsigned count_gids(ibv_context& context) noexcept {
  ibv_port_attr attributes{};
  if (ibv_query_port(&context, only_port, &attributes) != 0 || attributes.gid_tbl_len < 0) return 0;
  return static_cast<unsigned>(attributes.gid_tbl_len);
}

Result<GidEntry> read_gid(ibv_context& context, unsigned index) noexcept {
  const unsigned count = count_gids(context);
  if (count == 0) return fail(ENOTSUP, "GID %u: the card has no RoCE, and no table of GIDs", index);
  if (index >= count) return fail(EINVAL, "GID %u: the port's table has places 0 to %u", index, count - 1);
  ibv_gid_entry found{};
  if (const int failed = ibv_query_gid_ex(&context, only_port, index, &found, 0); failed != 0) {
    if (failed == ENODATA || failed == -ENODATA) {
      return fail(ENODATA, "GID %u: the place is empty; `rdma link`, `ip address` show what the port has",
                  index);
    }
    return fail(call_failure("ibv_query_gid_ex", failed).within("GID %u", index));
  }
  auto netdev = Netdev(found.ndev_ifindex).state();
  if (!netdev) return fail(netdev.error());
  GidEntry entry{.raw = {},
                 .mac = netdev->mac,
                 .type = found.gid_type == IBV_GID_TYPE_ROCE_V2 ? GidType::roce_v2 : GidType::roce_v1};
  std::copy(std::begin(found.gid.raw), std::end(found.gid.raw), entry.raw.begin());
  return entry;
}

Result<unsigned> find_gid(ibv_context& context, std::span<const std::uint8_t> address,
                          const char* netdev) noexcept {
  GidBytes raw{};
  if (auto made = gid_of_address(address, raw); !made) return fail(made.error());
  const unsigned count = count_gids(context);
  for (unsigned index = 0; index < count; ++index) {
    ibv_gid_entry found{};
    if (ibv_query_gid_ex(&context, only_port, index, &found, 0) != 0) continue;
    if (found.gid_type == IBV_GID_TYPE_ROCE_V2 && std::ranges::equal(found.gid.raw, raw)) return index;
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(address.size() == 4 ? AF_INET : AF_INET6, address.data(), text.data(), text.size());
  return fail(ENOTSUP,
              "the kernel keeps the card's RDMA addresses, and %s is none; `ip address add %s/%u dev "
              "%s` makes it one",
              text.data(), text.data(), address.size() == 4 ? 24u : 64u, netdev);
}

}  // namespace chime::hca::verbs

// SPDX-License-Identifier: BSD-3-Clause
#include "hca/gid_address.h"

#include <algorithm>
#include <cerrno>

namespace chime::hca {
namespace {

constexpr std::array<std::uint8_t, 12> ipv4_mapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

}  // namespace

bool is_ipv4_mapped(const GidBytes& gid) noexcept {
  return std::equal(ipv4_mapped.begin(), ipv4_mapped.end(), gid.begin());
}

Result<> gid_of_address(std::span<const std::uint8_t> address, GidBytes& gid) noexcept {
  if (address.size() != 4 && address.size() != gid.size()) {
    return fail(EINVAL, "an address of %zu bytes; IPv4 has 4, IPv6 16", address.size());
  }
  const std::uint8_t first = address[0];
  const bool multicast = address.size() == 4 ? first >= 224 : first == 0xff;
  if (multicast || std::ranges::all_of(address, [](std::uint8_t byte) { return byte == 0; })) {
    return fail(EINVAL, "a port's own address is a unicast address, neither multicast nor all zero");
  }
  std::ranges::copy(ipv4_mapped, gid.begin());
  std::ranges::copy(address, gid.end() - static_cast<std::ptrdiff_t>(address.size()));
  return {};
}

}  // namespace chime::hca

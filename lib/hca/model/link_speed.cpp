// SPDX-License-Identifier: BSD-3-Clause
#include "hca/model/link_speed.h"

#include <span>

namespace chime::hca::embedded {
namespace {

/// Bits of eth_proto_oper and ext_eth_proto_oper, by their speed.
struct Speed {
  std::uint32_t bits;
  std::uint32_t mbps;
};

constexpr std::uint32_t bit(unsigned n) noexcept {
  return 1u << n;
}

constexpr Speed speeds[] = {
    {bit(24), 100},
    {bit(0) | bit(1) | bit(25), 1000},
    {bit(2) | bit(3) | bit(4) | bit(12) | bit(13) | bit(14) | bit(26), 10000},
    {bit(5), 20000},
    {bit(27) | bit(28) | bit(29), 25000},
    {bit(6) | bit(7) | bit(15) | bit(16), 40000},
    {bit(18) | bit(30) | bit(31), 50000},
    {bit(8), 56000},
    {bit(20) | bit(21) | bit(22) | bit(23), 100000},
};
constexpr Speed extended_speeds[] = {
    {bit(0), 100},
    {bit(1), 1000},
    {bit(3), 5000},
    {bit(4), 10000},
    {bit(6), 25000},
    {bit(5), 40000},
    {bit(7) | bit(8), 50000},
    {bit(9) | bit(10) | bit(11), 100000},
    {bit(12) | bit(13), 200000},
    {bit(15) | bit(16), 400000},
};

std::uint32_t find(std::span<const Speed> table, std::uint32_t bits) noexcept {
  for (const Speed& speed : table) {
    if (speed.bits & bits) return speed.mbps;
  }
  return 0;
}

}  // namespace

std::uint32_t link_speed(prm::ConstView<prm::ptys_reg> ptys) noexcept {
  if (const auto mbps = find(extended_speeds, ptys.get(prm::ptys_reg::ext_eth_proto_oper))) return mbps;
  if (const auto mbps = find(speeds, ptys.get(prm::ptys_reg::eth_proto_oper))) return mbps;
  // A speed that has no bit: the field counts 100 Mbit/s.
  return ptys.get(prm::ptys_reg::data_rate_oper) * 100;
}

}  // namespace chime::hca::embedded

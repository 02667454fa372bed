// SPDX-License-Identifier: BSD-3-Clause
#include "model/command/register/register.h"

/// @file
/// PPLM. A wire of the model makes no bit errors: the modes are kept and shown as a card of these speeds
/// would.

namespace chime::model {
namespace {

// fec_mode: bits of PPLM as in Linux 6.1 mlx5/core/en/port.h.
constexpr std::uint32_t none = 1 << 0;
constexpr std::uint32_t firecode = 1 << 1;
constexpr std::uint32_t reed_solomon = 1 << 2;

/// What a speed allows, where PPLM has its field in the words of capabilities and choices, and what the port
/// takes when nobody chose.
struct Modes {
  std::uint32_t mbps;
  unsigned shift;
  std::uint32_t allowed;
  std::uint32_t automatic;
};

constexpr Modes modes[] = {
    {10'000, 0, none | firecode, none},
    {40'000, 0, none | firecode, none},
    {25'000, 4, none | firecode | reed_solomon, reed_solomon},
    {50'000, 8, none | firecode | reed_solomon, reed_solomon},
    {100'000, 12, none | reed_solomon, reed_solomon},
};

/// The words of PPLM with fec_override_cap_* and fec_override_admin_*: the same fields at the same bits.
constexpr std::size_t capabilities = 0x10, choices = 0x14;

}  // namespace

void pplm(const RegisterAccess<prm::pplm_reg>& a) noexcept {
  using R = prm::pplm_reg;
  if (!a.own_port(R::local_port)) return;
  PhysicalPort& port = a.c.card.port;
  std::uint32_t allowed = 0;
  for (const Modes& m : modes) allowed |= m.allowed << m.shift;
  if (a.write) {
    const auto wanted = static_cast<std::uint32_t>(prm::get_bits(a.in.bytes().data(), choices * 8, 32));
    if (wanted & ~allowed) {
      return a.c.refuse(Rule::register_value, wanted, "fec_override_admin %#x; the port has %#x", wanted,
                        allowed);
    }
    port.fec_admin = wanted;
  }
  prm::set_bits(a.out.bytes().data(), capabilities * 8, 32, allowed);
  prm::set_bits(a.out.bytes().data(), choices * 8, 32, port.fec_admin);
  std::uint32_t active = 0;
  for (const Modes& m : modes) {
    if (!port.up() || m.mbps != port.speed_mbps) continue;
    const std::uint32_t chosen = port.fec_admin >> m.shift & m.allowed;
    active = chosen ? chosen & (0 - chosen) : m.automatic;
  }
  a.out.set(R::fec_mode_active, active);
}

}  // namespace chime::model

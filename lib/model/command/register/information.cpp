// SPDX-License-Identifier: BSD-3-Clause
#include "model/command/register/register.h"

/// @file
/// What the device is, and which registers it has.

namespace chime::model {

void pcam(const RegisterAccess<prm::pcam_reg>& a) noexcept {
  using R = prm::pcam_reg;
  if (a.in.get(R::feature_group) != 0 || a.in.get(R::access_reg_group) != 0) {
    return a.c.refuse(Rule::register_group, 0, "PCAM has feature_group 0 and access_reg_group 0");
  }
  // Bit n of the 128: register 0x5000 + n.
  const auto mask = a.out.at(R::port_access_reg_cap_mask).bytes();
  for (prm::register_id id : {prm::register_id::pmlp, prm::register_id::pmtu, prm::register_id::ptys,
                              prm::register_id::paos, prm::register_id::pfcc, prm::register_id::ppcnt,
                              prm::register_id::pddr, prm::register_id::pplm, prm::register_id::pcam}) {
    prm::set_bits(mask.data(), 127 - (static_cast<std::size_t>(id) - 0x5000), 1, 1);
  }
  const bool extended = a.c.card.limits.ext_ethernet_speeds != 0;
  prm::View<prm::pcam_enhanced_features>(a.out.at(R::feature_cap_mask).bytes())
      .set(prm::pcam_enhanced_features::ptys_connector_type, 1)
      .set(prm::pcam_enhanced_features::ptys_extended_ethernet, extended);
}

void mcam(const RegisterAccess<prm::mcam_reg>& a) noexcept {
  using R = prm::mcam_reg;
  const std::uint32_t group = a.in.get(R::access_reg_group);
  if (a.in.get(R::feature_group) != 0 || group > 2) {
    return a.c.refuse(Rule::register_group, 0, "MCAM has feature_group 0 and access_reg_group 0 to 2");
  }
  // Bit n of the 128: register 0x9000 + 0x80 * group + n.
  prm::View<prm::mcam_enhanced_features>(a.out.at(R::mng_feature_cap_mask).bytes())
      .set(prm::mcam_enhanced_features::mcia_32dwords, 1)
      .set(prm::mcam_enhanced_features::pcie_performance_group, 1)
      .set(prm::mcam_enhanced_features::pcie_outbound_stalled, 1)
      .set(prm::mcam_enhanced_features::tx_overflow_buffer_pkt, 1);
  if (group != 0) return;
  const auto mask = a.out.at(R::mng_access_reg_cap_mask).bytes();
  for (prm::register_id id :
       {prm::register_id::mtcap, prm::register_id::mtmp, prm::register_id::mcia, prm::register_id::mgir,
        prm::register_id::mpcnt, prm::register_id::mcqs, prm::register_id::mcqi}) {
    prm::set_bits(mask.data(), 127 - (static_cast<std::size_t>(id) - 0x9000), 1, 1);
  }
}

void mgir(const RegisterAccess<prm::mgir_reg>& a) noexcept {
  using R = prm::mgir_reg;
  const Identity& id = a.c.card.identity;
  a.out.at(R::hw_info)
      .set(prm::mgir_hardware_info::device_id, id.device_id)
      .set(prm::mgir_hardware_info::hw_dev_id, id.device_id)
      .set(prm::mgir_hardware_info::num_ports, 1)
      .set(prm::mgir_hardware_info::uptime,
           static_cast<std::uint32_t>(a.c.card.around.clock.nanoseconds() / 1'000'000'000));
  using F = prm::mgir_fw_info;
  const auto firmware = a.out.at(R::fw_info);
  firmware.set(F::major, id.firmware_major & 0xffu)
      .set(F::minor, id.firmware_minor & 0xffu)
      .set(F::sub_minor, id.firmware_subminor & 0xffu)
      .set(F::extended_major, id.firmware_major)
      .set(F::extended_minor, id.firmware_minor)
      .set(F::extended_sub_minor, id.firmware_subminor);
  for (std::size_t i = 0; i < 16; ++i) firmware.set(F::psid, i, static_cast<std::uint8_t>(id.psid[i]));
}

/// Kept for the record: the model's structures are the host's to read in either order.
void host_endianness(const RegisterAccess<prm::register_host_endianness>& a) noexcept {
  if (a.write) a.c.card.host_big_endian = a.in.get(prm::register_host_endianness::he);
  a.out.set(prm::register_host_endianness::he, a.c.card.host_big_endian);
}

void node_description(const RegisterAccess<prm::set_node_in>& a) noexcept {
  using R = prm::set_node_in;
  auto& text = a.c.card.node_description;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (a.write) text[i] = static_cast<std::uint8_t>(a.in.get(R::node_description, i));
    a.out.set(R::node_description, i, text[i]);
  }
}

}  // namespace chime::model

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>

#include "model/command/command.h"

/// @file
/// The registers behind ACCESS_REG: one function each, that reads, or writes and then reads. Registered in
/// access_reg.cpp.

namespace chime::model {

/// One access. A function gets `out` filled with what software sent (its selectors), and writes what the
/// register says.
template <class R>
struct RegisterAccess {
  Command& c;
  bool write;
  prm::ConstView<R> in;
  prm::View<R> out;

  /// Refuses a port other than the card's own.
  template <class Field>
  bool own_port(Field local_port) const noexcept {
    const std::uint32_t port = in.get(local_port);
    if (port == 1) return true;
    c.refuse(Rule::register_port, port, "local_port %u; the card's port is 1", port);
    return false;
  }
};

// port.cpp
void ptys(const RegisterAccess<prm::ptys_reg>& a) noexcept;
void paos(const RegisterAccess<prm::paos_reg>& a) noexcept;
void pmtu(const RegisterAccess<prm::pmtu_reg>& a) noexcept;
void pmlp(const RegisterAccess<prm::pmlp_reg>& a) noexcept;
void pfcc(const RegisterAccess<prm::pfcc_reg>& a) noexcept;

// forward_error_correction.cpp
void pplm(const RegisterAccess<prm::pplm_reg>& a) noexcept;

// module.cpp
void mcia(const RegisterAccess<prm::mcia_reg>& a) noexcept;
void mtcap(const RegisterAccess<prm::mtcap_reg>& a) noexcept;
void mtmp(const RegisterAccess<prm::mtmp_reg>& a) noexcept;

// firmware.cpp
void mcqs(const RegisterAccess<prm::mcqs_reg>& a) noexcept;
void mcqi(const RegisterAccess<prm::mcqi_reg>& a) noexcept;

// port_counters.cpp
void ppcnt(const RegisterAccess<prm::ppcnt_reg>& a) noexcept;

// link_diagnosis.cpp
void pddr(const RegisterAccess<prm::pddr_reg>& a) noexcept;

// pci_counters.cpp
void mpcnt(const RegisterAccess<prm::mpcnt_reg>& a) noexcept;

// information.cpp
void pcam(const RegisterAccess<prm::pcam_reg>& a) noexcept;
void mcam(const RegisterAccess<prm::mcam_reg>& a) noexcept;
void mgir(const RegisterAccess<prm::mgir_reg>& a) noexcept;
void host_endianness(const RegisterAccess<prm::register_host_endianness>& a) noexcept;
void node_description(const RegisterAccess<prm::set_node_in>& a) noexcept;

}  // namespace chime::model

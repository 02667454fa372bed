// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <string_view>

#include "model/command/register/register.h"

/// @file
/// PDDR: why the link is down.

namespace chime::model {
namespace {

using Status = prm::pddr_monitor_status;

/// The model's module always has a cable in it (MCIA): what may be missing is somebody at its other end.
Status status_of(const PhysicalPort& port) noexcept {
  if (!port.admin_up) return Status::closed_by_command;
  if (port.wire_up) return Status::no_issue;
  return port.autonegotiation_off ? Status::no_partner_force_mode : Status::an_no_partner;
}

std::string_view words(Status status) noexcept {
  switch (status) {
    case Status::no_issue:
      return "No issue was observed";
    case Status::closed_by_command:
      return "Port is closed by command";
    case Status::an_no_partner:
      return "Auto-negotiation: no partner detected";
    case Status::no_partner_force_mode:
      return "No partner detected in force mode";
    case Status::no_cable:
      return "Cable is unplugged";
  }
  return {};
}

}  // namespace

void pddr(const RegisterAccess<prm::pddr_reg>& a) noexcept {
  using R = prm::pddr_reg;
  using Page = prm::pddr_troubleshooting_page;
  if (!a.own_port(R::local_port)) return;
  if (a.in.get(R::page_select) != prm::pddr_page::troubleshooting) {
    return a.c.refuse(Rule::register_group, 0, "PDDR page %u; there is 1, troubleshooting",
                      static_cast<unsigned>(a.in.get(R::page_select)));
  }
  const auto page = a.out.at(R::page_data).at(prm::pddr_reg_page_data_auto::pddr_troubleshooting_page);
  if (page.get(Page::group_opcode) != prm::pddr_group_opcode::monitor) {
    return a.c.refuse(Rule::register_group, 0, "PDDR group_opcode %u; there is 0, the monitor's",
                      static_cast<unsigned>(page.get(Page::group_opcode)));
  }
  const Status status = status_of(a.c.card.port);
  page.at(Page::status_opcode).set(prm::pddr_monitor_opcode::monitor_opcode, status);
  constexpr std::size_t message_at = 0x0c, message_size = 59 * 4;
  const auto message = page.bytes().subspan(message_at, message_size);
  const std::string_view text = words(status);
  std::fill(message.begin(), message.end(), std::byte{0});
  std::transform(text.begin(), text.end(), message.begin(), [](char c) { return static_cast<std::byte>(c); });
}

}  // namespace chime::model

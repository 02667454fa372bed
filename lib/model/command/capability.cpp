// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "model/command/handlers.h"

namespace chime::model {
namespace {

using Caps = prm::cmd_hca_cap;

/// Whether the device would be asked for more objects, or larger ones, than it has.
bool within_maximum(Command& c, prm::ConstView<Caps> wanted, prm::ConstView<Caps> maximum) noexcept {
  auto check = [&](auto field, const char* name) {
    if (wanted.get(field) <= maximum.get(field)) return true;
    c.refuse(Rule::capability_raise, 0, "%s %u is more than the card's %u", name, wanted.get(field),
             maximum.get(field));
    return false;
  };
  return check(Caps::log_max_qp, "log_max_qp") && check(Caps::log_max_qp_sz, "log_max_qp_sz") &&
         check(Caps::log_max_ra_req_qp, "log_max_ra_req_qp") &&
         check(Caps::log_max_ra_res_qp, "log_max_ra_res_qp") && check(Caps::log_max_srq, "log_max_srq") &&
         check(Caps::log_max_cq, "log_max_cq") && check(Caps::log_max_cq_sz, "log_max_cq_sz") &&
         check(Caps::log_max_eq, "log_max_eq") && check(Caps::log_max_eq_sz, "log_max_eq_sz") &&
         check(Caps::log_max_mkey, "log_max_mkey") && check(Caps::log_max_sq, "log_max_sq") &&
         check(Caps::log_max_rq, "log_max_rq") && check(Caps::log_max_tir, "log_max_tir") &&
         check(Caps::log_max_tis, "log_max_tis") && check(Caps::log_max_rqt, "log_max_rqt") &&
         check(Caps::log_max_rqt_size, "log_max_rqt_size") && check(Caps::log_max_wq_sz, "log_max_wq_sz") &&
         check(Caps::log_max_uctx, "log_max_uctx") && check(Caps::log_max_umem, "log_max_umem") &&
         check(Caps::uctx_cap, "uctx_cap");
}

/// Software sets the byte order of replies, and leaves all else 0.
void set_atomic(Command& c, std::span<const std::byte> wanted) noexcept {
  using Atomic = prm::atomic_caps;
  constexpr auto type = static_cast<unsigned>(prm::hca_cap_type::atomic);
  const prm::ConstView<Atomic> most(c.card.capabilities.maximum(type));
  const std::uint32_t mode = prm::ConstView<Atomic>(wanted).get(Atomic::atomic_req_8B_endianness_mode);
  const std::uint32_t highest = most.get(Atomic::supported_atomic_req_8B_endianness_mode_1) ? 1 : 0;
  if (mode > highest) {
    return c.refuse(Rule::capability_raise, type, "atomic_req_8B_endianness_mode %u; the card has 0%s", mode,
                    highest ? " and 1" : "");
  }
  prm::View<Atomic>(c.card.capabilities.current(type)).set(Atomic::atomic_req_8B_endianness_mode, mode);
}

/// Software sets who chooses UDP source ports.
void set_roce(Command& c, std::span<const std::byte> wanted) noexcept {
  using Roce = prm::roce_cap;
  constexpr auto type = static_cast<unsigned>(prm::hca_cap_type::roce);
  const prm::ConstView<Roce> most(c.card.capabilities.maximum(type));
  const std::uint32_t software = prm::ConstView<Roce>(wanted).get(Roce::sw_r_roce_src_udp_port);
  if (software > most.get(Roce::sw_r_roce_src_udp_port)) {
    return c.refuse(Rule::capability_raise, type,
                    "sw_r_roce_src_udp_port; on this card software does not choose UDP source ports");
  }
  prm::View<Roce>(c.card.capabilities.current(type)).set(Roce::sw_r_roce_src_udp_port, software);
}

}  // namespace

void query_hca_cap(Command& c, In<prm::query_hca_cap> in, Out<prm::query_hca_cap> out) noexcept {
  if (in.get(prm::query_hca_cap_in::other_function)) {
    return c.refuse(Rule::other_function, 0, "this card has no other function");
  }
  const unsigned type = c.op_mod >> 1;
  if (!c.card.capabilities.has(type)) {
    return c.refuse(Rule::capability_type, type, "this card has no capabilities of type %#x", type);
  }
  const bool current = (c.op_mod & 1) == static_cast<unsigned>(prm::hca_cap_mode::cur);
  const auto from = current ? c.card.capabilities.current(type) : c.card.capabilities.maximum(type);
  std::copy(from.begin(), from.end(), out.at(prm::query_hca_cap_out::capability).bytes().begin());
}

void set_hca_cap(Command& c, In<prm::set_hca_cap> in, Out<prm::set_hca_cap>) noexcept {
  const unsigned type = c.op_mod >> 1;
  if (c.card.state == DeviceState::initialized) {
    return c.refuse(Rule::device_state, 0, "capabilities are set before INIT_HCA");
  }
  if (!c.card.capabilities.has(type)) {
    return c.refuse(Rule::capability_type, type, "this card has no capabilities of type %#x", type);
  }
  const auto wanted = in.at(prm::set_hca_cap_in::capability).bytes().first(Capabilities::size);
  if (type == static_cast<unsigned>(prm::hca_cap_type::general) &&
      !within_maximum(c, prm::ConstView<Caps>(wanted),
                      prm::ConstView<Caps>(c.card.capabilities.maximum(type)))) {
    return;
  }
  if (type == static_cast<unsigned>(prm::hca_cap_type::atomic)) return set_atomic(c, wanted);
  if (type == static_cast<unsigned>(prm::hca_cap_type::roce)) return set_roce(c, wanted);
  std::copy(wanted.begin(), wanted.end(), c.card.capabilities.current(type).begin());
}

}  // namespace chime::model

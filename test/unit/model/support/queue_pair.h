// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>

#include "host.h"

/// @file
/// Queue pairs of one user context, over commands, on a card whose kernel turned RoCE on.

namespace chime::test {

using Gid = std::array<std::uint8_t, 16>;

inline constexpr Gid own_ipv6 = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfe, 0, 0, 1};
inline constexpr Gid own_ipv4 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1};
inline constexpr Gid peer_ipv6 = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfe, 0, 0, 2};
inline constexpr Gid peer_ipv4 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 2};
inline constexpr std::uint64_t own_mac = 0x0200'0000'0001;
inline constexpr std::uint64_t peer_mac = 0x0200'0000'0002;

Call<prm::set_roce_address> address_call(std::uint32_t index, const Gid& gid, std::uint64_t mac);

class QpBench {
 public:
  /// Place 0 of the GID table is `own_ipv6`, 1 is `own_ipv4`.
  explicit QpBench(Host& host);

  Call<prm::create_qp> create_call(prm::qpc_st service = prm::qpc_st::rc);
  std::uint32_t make(prm::qpc_st service = prm::qpc_st::rc);

  /// All that any transition of this service reads, and that is good.
  static void fill(prm::View<prm::qpc> context, const Gid& peer = peer_ipv6, std::uint32_t own = 0);
  template <class C>
  static Call<C> transition(std::uint32_t qpn) {
    Call<C> call;
    call.in.set(C::in::qpn, qpn);
    fill(call.in.at(C::in::qpc));
    return call;
  }
  template <class C>
  Answer go(std::uint32_t qpn) {
    auto call = transition<C>(qpn);
    return user.run(call);
  }
  /// From RST to RTS.
  void connect(std::uint32_t qpn);
  Answer destroy(std::uint32_t qpn);

  Call<prm::query_qp> query(std::uint32_t qpn);
  prm::qpc_state state(std::uint32_t qpn);

  Host& host;
  Bench user;
};

}  // namespace chime::test

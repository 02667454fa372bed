// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>

#include "base/array.h"
#include "model/object/access.h"
#include "model/object/object.h"
#include "model/object/queue.h"
#include "model/packet/toeplitz.h"

/// @file
/// What lies between queues and the port: transport interface send and receive, receive queue tables.

namespace chime::model {

struct Tis final : Object {
  Tis() noexcept : Object(Kind::tis) {}

  Ref<TransportDomain> transport_domain;
  std::uint8_t priority = 0;
};

struct Rqt final : Object {
  Rqt() noexcept : Object(Kind::rqt) {}

  std::uint32_t max_size = 0;  ///< entries that MODIFY_RQT may ask for
  Array<Ref<Rq>> queues;       ///< rqt_actual_size of them, a power of two
};

/// Which fields go into the hash, as rx_hash_field_select has them.
struct HashFields {
  enum Selected : std::uint8_t {
    source_ip = 1,
    destination_ip = 2,
    l4_source_port = 4,
    l4_destination_port = 8,
    ipsec_spi = 16,
  };
  bool ipv6 = false;  ///< l3_prot_type: packets of the other kind are not hashed
  bool udp = false;   ///< l4_prot_type
  std::uint8_t selected = 0;

  bool operator==(const HashFields&) const noexcept = default;
};

struct Tir final : Object {
  Tir() noexcept : Object(Kind::tir) {}

  enum class HashFunction : std::uint8_t { none = 0, inverted_xor8 = 1, toeplitz = 2 };
  /// Which of the packets that came from this transport domain's own SQs it takes. The field is called
  /// "self_lb_block", but a bit that is set lets them in: mlx5_ib sets it for "allow self loopback",
  /// mlx5_core for the time of its loopback test, net_mlx5 when loopback is asked for.
  enum SelfLoopback : std::uint8_t { self_unicast = 1, self_multicast = 2 };

  Ref<TransportDomain> transport_domain;
  Ref<Rq> rq;    ///< direct
  Ref<Rqt> rqt;  ///< indirect
  HashFunction hash = HashFunction::none;
  bool symmetric = false;
  bool tunneled_offload = false;
  std::uint8_t self_loopback = 0;
  std::array<std::uint8_t, 40> toeplitz_key{};
  HashFields outer;
  HashFields inner;

  // of the datapath
  Owned<net::Toeplitz> toeplitz;  ///< `toeplitz_key` unrolled, see Engine::prepare
};

}  // namespace chime::model

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "model/command/command.h"
#include "model/object/qp.h"

/// @file
/// What the transitions of a queue pair read from the context: attributes that the transition demands, and
/// optional ones that opt_param_mask names. By InfiniBand's table of modifications, as far as Linux follows
/// it.

namespace chime::model {

/// Optional parameters that this card can change at all.
inline constexpr std::uint32_t known_optional =
    prm::qp_opt_param::rre | prm::qp_opt_param::rae | prm::qp_opt_param::rwe | prm::qp_opt_param::pkey_index |
    prm::qp_opt_param::q_key | prm::qp_opt_param::rnr_timeout | prm::qp_opt_param::pri_port |
    prm::qp_opt_param::counter_set_id;

/// Reads into a copy of the queue pair's attributes. Each function returns false when it refused.
class QpAttributeReader {
 public:
  QpAttributeReader(Command& c, const Qp& qp, prm::ConstView<prm::qpc> context) noexcept
      : c_(c), qp_(qp), context_(context), next_(qp.attributes) {}

  /// What a queue pair that goes to INIT, RTR or RTS must be told.
  bool to_init() noexcept;
  bool to_rtr() noexcept;
  bool to_rts() noexcept;
  /// What `mask` names; only bits of `known_optional`, the counter excepted.
  bool optional(std::uint32_t mask) noexcept;

  const QpAttributes& next() const noexcept { return next_; }

 private:
  bool port() noexcept;
  bool pkey() noexcept;
  bool atomic() noexcept;
  bool mtu() noexcept;
  bool message() noexcept;
  bool path() noexcept;
  bool own_address() noexcept;
  bool depth(std::uint32_t log, std::uint32_t most, const char* field, const char* capability) noexcept;

  Command& c_;
  const Qp& qp_;
  const prm::ConstView<prm::qpc> context_;
  QpAttributes next_;
};

/// log2 of the largest path MTU that the port carries with RoCE's headers around it.
std::uint8_t log_port_mtu(const PhysicalPort& port) noexcept;

}  // namespace chime::model

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/error.h"
#include "hca/port.h"
#include "hca/verbs/ethtool.h"
#include "hca/verbs/rdma_core.h"

namespace chime::hca::verbs {

/// A port's counts: those of the vport from the card, those of the wire from the netdev's statistics. The
/// kernel's traffic counts too. Used under the port's lock.
class Counters {
 public:
  explicit Counters(ibv_context& context) noexcept : context_(context) {}

  /// What is counted by now is not counted any more.
  Result<> begin(const char* netdev) noexcept;
  Result<PortCounters> read(const char* netdev) noexcept;

 private:
  Result<PortCounters> read_all(const char* netdev) noexcept;

  ibv_context& context_;
  EthtoolCounts wire_;
  PortCounters base_{};
};

}  // namespace chime::hca::verbs

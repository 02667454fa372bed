// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_eal.h>

#include <cstdint>
#include <mutex>

#include "base/error.h"
#include "driver.h"
#include "port.h"
#include "rdma/session.h"

/// @file
/// From a port's number, or a handle, to the port's session.

namespace chime::net {

/// EBUSY while there are handles of the private API: a reset would take the card from under them.
Result<> check_no_handles(PortControl& port) noexcept;
/// The port closes: handles are detached.
void end_rdma(PortControl& port) noexcept;

Error in_secondary() noexcept;
/// With the port's lock held. Made at the first use.
Result<rdma::Session*> session_of(PortControl& port) noexcept;

/// Calls `f(Session&)` with everything locked. `f` returns a Result.
template <class F>
auto with_session(std::uint16_t port_id, F f) noexcept -> decltype(f(std::declval<rdma::Session&>())) {
  if (rte_eal_process_type() != RTE_PROC_PRIMARY) return fail(in_secondary());
  std::unique_lock<std::mutex> staying;
  PortControl* port = find_port(port_id, staying);
  if (port == nullptr) return fail(ENODEV, "port %u is no open port of net_chime in this process", port_id);
  const std::lock_guard lock(port->mutex);
  Result<rdma::Session*> session = session_of(*port);
  if (!session) return fail(session.error());
  return f(**session);
}

/// For handles, which may outlive their port: keeps every port where it is.
class PortsStay {
 public:
  PortsStay() noexcept { find_port(RTE_MAX_ETHPORTS, lock_); }

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace chime::net

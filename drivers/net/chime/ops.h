// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ethdev_driver.h>

#include <mutex>

#include "base/error.h"
#include "log.h"
#include "port.h"

namespace chime::net {

extern const eth_dev_ops primary_ops;
/// What a secondary process can do: bursts, statistics, information, and small commands that the primary
/// carries out for it.
extern const eth_dev_ops secondary_ops;

/// A function of lib's style as ethdev calls it: with the port's lock, the HCA there, and an error logged
/// once.
///
///     ops.mtu_set = Op<set_mtu>::call;
template <auto function>
struct Op;

template <class... Args, Result<> (*function)(PortControl&, Args...) noexcept>
struct Op<function> {
  static int call(rte_eth_dev* dev, Args... args) noexcept {
    PortControl& port = *control_of(*dev);
    const std::lock_guard lock(port.mutex);
    Result<> done = check_hca(port);
    if (done) done = function(port, args...);
    return done ? 0 : report(port.name(), done.error());
  }
  /// Where ethdev wants no answer.
  static void call_void(rte_eth_dev* dev, Args... args) noexcept { call(dev, args...); }
};

}  // namespace chime::net

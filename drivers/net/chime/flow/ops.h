// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ethdev_driver.h>
#include <rte_flow.h>

namespace chime::net {

/// eth_dev_ops::flow_ops_get, in whatever process.
int get_flow_ops(rte_eth_dev* dev, const rte_flow_ops** ops) noexcept;

}  // namespace chime::net

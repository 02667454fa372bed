// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/error.h"
#include "port.h"

namespace chime::net {

/// ethdev's mtu_set; also while traffic flows. @param mtu bytes of L3
Result<> set_mtu(PortControl& port, std::uint16_t mtu) noexcept;

}  // namespace chime::net

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "model/command/command.h"
#include "model/object/access.h"

namespace chime::model {

/// The transport domain of a TIS or TIR. Number 0 is none, and allowed: drivers of a card without domains
/// (Linux, log_max_transport_domain 0) write it, and net_mlx5 makes its first TIR so. @return false when it
/// refused
bool read_transport_domain(Command& c, std::uint32_t number, Ref<TransportDomain>& domain) noexcept;
std::uint32_t number_of(const Ref<TransportDomain>& domain) noexcept;

}  // namespace chime::model

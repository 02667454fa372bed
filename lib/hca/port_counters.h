// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "hca/port.h"
#include "prm/layouts.h"
#include "prm/view.h"

/// @file
/// Counters of a port out of the answers that have them, whoever asked.

namespace chime::hca {

/// What went through the virtual port, and its errors.
void take_vport_counters(prm::ConstView<prm::query_vport_counter_out> answer,
                         PortCounters& counters) noexcept;
/// PortCounters::rx_steer_missed.
void take_steer_missed(prm::ConstView<prm::query_vnic_env_out> answer, PortCounters& counters) noexcept;

}  // namespace chime::hca

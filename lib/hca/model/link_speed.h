// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "prm/layouts.h"
#include "prm/view.h"

namespace chime::hca::embedded {

/// Speed in Mbit/s that PTYS says the port runs at; 0 when it is unknown or the link is down.
std::uint32_t link_speed(prm::ConstView<prm::ptys_reg> ptys) noexcept;

}  // namespace chime::hca::embedded

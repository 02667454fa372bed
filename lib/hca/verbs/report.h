// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/error.h"

namespace chime::hca::verbs {

/// Logs what nobody can be told: the end of an object or a port. Log type pmd.net.chime.card.
void report(const Error& error) noexcept;

}  // namespace chime::hca::verbs

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "atomics_side.h"

namespace chime::app {

/// Adds 1 `count` times to the word at `target`, one after the other; every answer must be one more than the
/// one before. Reads the word back by RDMA READ, and compares.
/// @return the word's value at the end
std::uint64_t add_and_read_back(const Side& side, const rte_pmd_chime_mem_desc& target, const Shared& scratch,
                                std::uint64_t count);

}  // namespace chime::app

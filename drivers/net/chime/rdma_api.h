// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The private API with its functions visible outside of the plugin.

#pragma GCC visibility push(default)
#include "include/rte_pmd_chime.h"
#pragma GCC visibility pop

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "atomics_options.h"

/// @file
/// The queue between two processes. They agree over a TCP connection:
///
///     --join                          --serve
///     "queue 4 1000000"       ->                         producers, items
///                             <-      "next 0 0 0 0"     where each producer goes on
///     endpoint, 4 times      <->      endpoint
///     memory descriptor      <->      memory descriptor  the queue's
///     (RDMA)
///     "done"                  ->
///                             <-      "verified 1000000"
///
/// A producer process that dies takes nothing with it: what it had published is taken out, its places are
/// freed, and the next one is told where to go on.

namespace chime::app {

AtomicsResult serve_queue(const AtomicsOptions& options);
AtomicsResult join_queue(const AtomicsOptions& options);

}  // namespace chime::app

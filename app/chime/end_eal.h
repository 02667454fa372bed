// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace chime::app {

/// Ends the EAL and all its ports, Chime's first; to be called at the process's end. rte_eal_cleanup() by
/// itself unmaps memory that the EAL's interrupt thread looks into when something comes that no port's end
/// takes away: net_memif keeps the handle of a peer that has connected and not told its name.
void end_eal() noexcept;

}  // namespace chime::app

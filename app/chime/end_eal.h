// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace chime::app {

/// Ends the EAL and all its ports, Chime's first; to be called at the process's end. rte_eal_cleanup() by
/// itself unmaps memory that the EAL's interrupt thread may still look into: net_memif leaves a handle
/// registered now and then, when its peer ends at the same time.
void end_eal() noexcept;

}  // namespace chime::app

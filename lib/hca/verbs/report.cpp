// SPDX-License-Identifier: BSD-3-Clause
#include "hca/verbs/report.h"

#include <rte_log.h>

#include <cerrno>
#include <cstdint>

#include "hca/verbs/failure.h"
#include "hca/verbs/rdma_core.h"

namespace chime::hca::verbs {

void report(const Error& error) noexcept {
  // The same number at every call.
  const int type = rte_log_register_type_and_pick_level("pmd.net.chime.card", RTE_LOG_NOTICE);
  rte_log(RTE_LOG_ERR, type < 0 ? RTE_LOGTYPE_PMD : static_cast<std::uint32_t>(type), "%s\n", error.text);
}

void report_unended(int errnum) noexcept {
  if (errnum == EIO || errnum == -EIO) return;
  report(call_failure("an object's end, which comes with the card's close now", errnum));
}

}  // namespace chime::hca::verbs

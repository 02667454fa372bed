// SPDX-License-Identifier: BSD-3-Clause
#include "rdma_error.h"

#include <rte_errno.h>

#include <cstdio>

#include "rdma/explain.h"
#include "rdma_api.h"

namespace chime::net {

namespace {

// As rte_errno: of a thread.
thread_local char last_error[sizeof Error::text];

}  // namespace

int refused(const Error& error) noexcept {
  std::snprintf(last_error, sizeof last_error, "%s", error.text);
  rte_errno = error.errnum;
  return -error.errnum;
}

}  // namespace chime::net

extern "C" {

const char* rte_pmd_chime_last_error(void) {
  return chime::net::last_error;
}

const char* rte_pmd_chime_strerror(uint8_t status, uint8_t /*vendor_syndrome*/) {
  return chime::rdma::sentence_of(status);
}

int rte_pmd_chime_explanation_get(uint32_t index, rte_pmd_chime_explanation* explanation) {
  const auto explanations = chime::rdma::explanations();
  const auto traps = chime::rdma::traps();
  if (index < explanations.size()) {
    const chime::rdma::Explanation& e = explanations[index];
    *explanation = {e.name, "", e.causes, e.remedy, e.syndrome};
    return 0;
  }
  index -= static_cast<uint32_t>(explanations.size());
  if (index >= traps.size()) return -ENOENT;
  const chime::rdma::Trap& trap = traps[index];
  *explanation = {trap.name, trap.symptom, trap.cause, trap.remedy, 0};
  return 0;
}
}

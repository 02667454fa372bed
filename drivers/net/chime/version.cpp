// SPDX-License-Identifier: BSD-3-Clause
#include "rdma_api.h"

extern "C" const char* rte_pmd_chime_version(void) {
  return CHIME_VERSION;
}

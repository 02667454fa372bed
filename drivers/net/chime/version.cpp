// SPDX-License-Identifier: BSD-3-Clause
#include "include/rte_pmd_chime.h"

extern "C" __attribute__((visibility("default"))) const char* rte_pmd_chime_version(void) {
  return CHIME_VERSION;
}

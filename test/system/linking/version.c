/* SPDX-License-Identifier: BSD-3-Clause */
#include <rte_pmd_chime.h>
#include <stdio.h>

/* The smallest application that is linked with the driver: no EAL, no device. */
int main(void) {
  printf("%s\n", rte_pmd_chime_version());
  return 0;
}

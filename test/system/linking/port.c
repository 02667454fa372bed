/* SPDX-License-Identifier: BSD-3-Clause */
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_pmd_chime.h>
#include <stdio.h>

/* An application that is linked with the driver needs no -d: the port of --vdev net_chime0 is there. */
int main(int argc, char** argv) {
  struct rte_eth_dev_info info;
  int end = rte_eal_init(argc, argv);
  if (end < 0) return 1;
  if (rte_eth_dev_count_avail() != 1 || rte_eth_dev_info_get(0, &info) != 0) return 2;
  printf("%s %s\n", info.driver_name, rte_pmd_chime_version());
  return rte_eal_cleanup() != 0;
}

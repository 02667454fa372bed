/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RTE_PMD_CHIME_H
#define RTE_PMD_CHIME_H

/**
 * @file
 * What librte_net_chime.so offers beside ethdev. Link with `pkg-config --libs chime`, or look the functions
 * up with dlsym() in an application that loads the driver with `-d`.
 */

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The version of the driver in this process, which may be newer than the one compiled against.
 *
 * @return "major.minor.patch", valid as long as the driver is loaded. Never fails; callable from any thread,
 *   also before rte_eal_init().
 */
const char* rte_pmd_chime_version(void);

#ifdef __cplusplus
}
#endif

#endif

# SPDX-License-Identifier: BSD-3-Clause
"""Prints the folder, relative to DPDK's library folder, from which its EAL loads drivers: dpdk/pmds-<ABI>."""
import glob
import os
import sys

libdir = sys.argv[1]
folders = sorted(glob.glob(os.path.join(libdir, "dpdk", "pmds-*")))
if len(folders) != 1:
    sys.exit(f"driver_dir: {len(folders)} folders {libdir}/dpdk/pmds-*; one is needed to know where drivers go")
print(os.path.relpath(folders[0], libdir))

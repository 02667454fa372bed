# SPDX-License-Identifier: BSD-3-Clause
"""Where the figures were taken, and how programs start there."""
import os
import platform
import re

# Of 2 MiB: what the largest measurement wants, 64 queues with mempools, and some more.
HUGE_PAGES_WANTED = 120


def free_huge_pages() -> int:
    try:
        with open("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", encoding="ascii") as file:
            return int(file.read())
    except OSError:
        return 0


def has_huge_pages() -> bool:
    return free_huge_pages() >= HUGE_PAGES_WANTED


def eal_memory() -> list[str]:
    """EAL arguments: hugepages of the process's own where there are enough, otherwise ordinary memory."""
    return ["--in-memory"] if has_huge_pages() else ["--no-huge", "--no-shconf", "-m", "256"]


def cpus() -> list[int]:
    return sorted(os.sched_getaffinity(0))


def _cpu_name() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        found = re.search(r"^model name\s*: (.*)$", file.read(), re.MULTILINE)
    return found[1] if found else platform.machine()


def describe() -> dict[str, str]:
    """For the head of the table."""
    return {
        "processor": f"{_cpu_name()}, {len(cpus())} CPUs",
        "kernel": f"{platform.system()} {platform.release()}",
        "memory": "hugepages of 2 MiB" if has_huge_pages() else "no hugepages: cycles are higher than they need be",
        "load": f"{os.getloadavg()[0]:.1f} in the last minute",
    }

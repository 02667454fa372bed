# SPDX-License-Identifier: BSD-3-Clause
"""A user context beside the stock driver, over rdma-core's DevX calls (devx/*_test.cpp), on a looped card."""
import re

import pytest


@pytest.fixture(scope="module")
def guest(boot, build):
    if not (build / "test" / "guest" / "test-devx").exists():
        pytest.skip("built without rdma-core's headers: apt-get install libibverbs-dev")
    made = boot([("net0", {"wire": "loop"})])
    made.mark()
    # Without IPv6 the netdev is silent, and what comes back is the test's own.
    made.run("""
        set -e
        modprobe mlx5_core prof_sel=1; modprobe mlx5_ib; modprobe ib_uverbs
        sysctl -qw net.ipv6.conf.all.disable_ipv6=1
        ip link set eth0 up
        for i in $(seq 100); do grep -q 1 /sys/class/net/eth0/carrier && exit 0; sleep 0.1; done; exit 1""")
    return made


def devx(guest, build, options: str = "") -> str:
    text, status = guest.status(f"{build}/test/guest/test-devx {options} mlx5_0 2>&1", timeout=60)
    assert status == 0, text
    return text


def test_user_context(guest, build):
    text = devx(guest, build, "--gtest_filter=User.*")
    assert int(re.search(r"\[  PASSED  \] (\d+) tests", text).group(1)) >= 8, text
    assert guest.faults() == []
    assert guest.control("counters net0")["errors"] == 0


def test_permitted_commands(guest, build):
    """The kernel permits what the backend over the software HCA does: every opcode, tried."""
    text = devx(guest, build, "--gtest_filter=Commands.*")
    assert re.search(r"\[  PASSED  \] 4 tests", text), text
    assert guest.faults() == []


def test_nothing_is_left(guest, build):
    """The end of the process ended the context, with what it had not destroyed."""
    before = guest.objects("net0")
    devx(guest, build, "--gtest_filter=User.LeavesNothing:User.OwnTable")
    assert guest.objects("net0") == before

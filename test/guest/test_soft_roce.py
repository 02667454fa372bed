# SPDX-License-Identifier: BSD-3-Clause
"""Chime's private RDMA API on the embedded HCA against the kernel's soft RoCE, a tap between them (soft/soft_test.cpp).
The guest is there for its kernel; no card is in it."""
import re

import pytest


@pytest.fixture(scope="module")
def guest(boot, build):
    if not (build / "test" / "guest" / "test-soft-roce").exists():
        pytest.skip("built without rdma-core's headers: apt-get install libibverbs-dev")
    made = boot([])
    made.run("modprobe tun; modprobe rdma_rxe; modprobe ib_uverbs")
    return made


def test_soft_roce(guest, build):
    text, status = guest.status(f"""cd {build}; test/guest/test-soft-roce --no-huge --no-shconf -m 256 --no-pci -l 0 \
        --no-telemetry --vdev net_tap0,iface=soft0 --vdev net_chime0,wire=net_tap0,responder=1 -- 2>&1""",
                                timeout=240)
    assert status == 0, text
    assert int(re.search(r"\[  PASSED  \] (\d+) tests", text).group(1)) == 12, text

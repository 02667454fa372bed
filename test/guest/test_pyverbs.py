# SPDX-License-Identifier: BSD-3-Clause
"""rdma-core's own tests (pyverbs) on a card whose wire is a loop: those for what the card has. Left out: multicast groups,
datagrams of the connection manager, a flow of TCP, and test_mlx5_devx, which asks for on-demand paging."""
import re

import pytest

MODULES = {  # how many of a module's tests run at least; the others it skips by capability
    "test_pd": 4, "test_addr": 3, "test_device": 13, "test_cq": 4, "test_qp": 26, "test_mr": 12, "test_cq_events": 2,
    "test_atomic": 9, "test_qpex": 19, "test_cqex": 5, "test_parent_domain": 5, "test_mlx5_mkey": 6,
    "test_mlx5_raw_wqe": 1, "test_mlx5_cq": 5, "test_shared_pd": 1, "test_relaxed_ordering": 3,
    "test_flow.FlowTest.test_eth_spec_flow_traffic": 1, "test_flow.FlowTest.test_ipv4_spec_flow_traffic": 1,
    "test_rdmacm.CMTestCase.test_rdmacm_sync_traffic": 1, "test_rdmacm.CMTestCase.test_rdmacm_async_read": 1,
}


def start(boot, **options):
    made = boot([("net0", {"wire": "loop", **options})])
    made.run("""
        set -e
        modprobe mlx5_core prof_sel=1; modprobe mlx5_ib; modprobe ib_uverbs; modprobe rdma_ucm
        ip addr add 10.2.0.1/24 dev eth0; ip link set eth0 up
        mkdir /tmp/verbs; cp -r /usr/share/doc/rdma-core/tests /tmp/verbs; gunzip /tmp/verbs/tests/*.gz
        for i in $(seq 100); do grep -q ffff: /sys/class/infiniband/mlx5_0/ports/1/gids/1 && exit 0; sleep 0.1; done
        exit 1""")
    return made


@pytest.fixture(scope="module")
def guest(boot):
    return start(boot)


@pytest.mark.parametrize("module", MODULES)
def test_pyverbs(guest, module):
    passes(guest, module)


def passes(guest, module: str) -> None:
    text, status = guest.status(f"cd /tmp/verbs; timeout 100 /usr/bin/python3 -B tests/run_tests.py --dev mlx5_0 "
                                f"tests.{module} 2>&1", timeout=150)
    ran = re.search(r"^Ran (\d+) tests?", text, re.MULTILINE)
    assert status == 0 and ran, text
    skipped = re.search(r"^OK \(skipped=(\d+)\)", text, re.MULTILINE)
    assert int(ran.group(1)) - (int(skipped.group(1)) if skipped else 0) >= MODULES[module], text


@pytest.fixture(scope="module")
def without_umr(boot, tmp_path_factory):
    """A card on which mlx5_ib gives translations with CREATE_MKEY, not by a UMR work request."""
    profile = tmp_path_factory.mktemp("profile") / "without-umr.toml"
    profile.write_text('base = "connectx6dx"\n[general]\numr_modify_entity_size_disabled = 1\n')
    return start(boot, profile=str(profile))


@pytest.mark.parametrize("module", ["test_mr", "test_atomic"])
def test_registration_without_umr(without_umr, module):
    passes(without_umr, module)

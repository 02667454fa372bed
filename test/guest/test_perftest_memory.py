# SPDX-License-Identifier: BSD-3-Clause
"""Chime's private RDMA API on a card beside its kernel driver, and the memory of stock perftest servers on another one, a
cable between them (perftest/memory_test.cpp)."""
import re

import pytest

FIRST_PORT = 18515
SERVERS = {"atomic": "ib_atomic_bw -A FETCH_AND_ADD", "write": "ib_write_bw -s 65536", "read": "ib_read_bw -s 65536"}


@pytest.fixture(scope="module")
def guest(boot, build):
    if not (build / "test" / "guest" / "test-perftest-memory").exists():
        pytest.skip("built without rdma-core's headers: apt-get install libibverbs-dev")
    made = boot([("net0", {"wire": "cable:a", "mac": "02:00:00:00:00:01"}),
                 ("net1", {"wire": "cable:a", "mac": "02:00:00:00:00:02"})])
    made.mark()
    made.run("""
        modprobe mlx5_core prof_sel=1; modprobe -a mlx5_ib ib_uverbs
        ip link set eth0 up; ip link set eth1 up
        for device in mlx5_0 mlx5_1; do
          cd /sys/class/infiniband/$device/ports/1 || exit
          for i in $(seq 100); do grep -q fe80: gids/0 && grep -q ACTIVE state && continue 2; sleep 0.1; done
          exit 1
        done
        # A tentative address has a GID, and no route yet.
        for i in $(seq 100); do ip -6 addr show tentative | grep -q inet6 || exit 0; sleep 0.1; done
        exit 1""")
    return made


def live(guest) -> list[list[tuple[str, int]]]:
    """Objects of both cards by kind, without rules: the netdevs make theirs whenever their links have come."""
    return [sorted(item for item in guest.objects(nic).items() if not item[0].startswith("flow")) for nic in ("net0", "net1")]


@pytest.fixture(scope="module")
def told(guest, build) -> dict[str, str]:
    """What Chime said, and every server. One process for all of them: it is its start that takes long."""
    before = live(guest)
    starts = "".join(f"{command} -d mlx5_1 -x 0 -F -p {FIRST_PORT + i} > /run/{kind} 2>&1 & {kind}=$!\n"
                     for i, (kind, command) in enumerate(SERVERS.items()))
    tasks = " ".join(f"{kind} {FIRST_PORT + i} ${kind}" for i, kind in enumerate(SERVERS))
    pids = " ".join(f"${kind}" for kind in SERVERS)
    # A server whose client left early reads the end of its socket; one without a client is ended.
    guest.run(f"""
        {starts}
        timeout 100 nice -n 19 {build}/test/guest/test-perftest-memory --no-huge --no-shconf -m 128 --no-pci -l 0 \\
          --no-telemetry --vdev net_chime0,ibdev=mlx5_0 -- {tasks} > /run/chime 2>&1
        echo status $? >> /run/chime
        for i in {pids}; do timeout 10 tail -f --pid=$i /dev/null || kill $i; done
        {"; ".join(f"wait ${kind}; echo status $? >> /run/{kind}" for kind in SERVERS)}""", timeout=180)
    said = {name: guest.run(f"cat /run/{name}") for name in ("chime", *SERVERS)}
    said["objects"], said["objects before"] = str(live(guest)), str(before)
    return said


@pytest.mark.parametrize("kind,words,row", [
    ("atomic", "1024 fetch-and-adds, every answer and the server's memory right", r"8\s+1024"),
    ("write", "65536 bytes written, the server's memory right", r"65536\s+1"),
    ("read", "65536 bytes read, as the server has them", r"65536\s+1")])
def test_memory(told, kind, words, row):
    assert words in told["chime"], told["chime"]
    assert re.search(rf"^\s*{row}\s", told[kind], re.MULTILINE), f"what it was told of the work: {told[kind]}"
    assert told[kind].endswith("status 0"), told[kind]


def test_ended_well(guest, told):
    assert told["chime"].endswith("status 0"), told["chime"]
    assert told["objects"] == told["objects before"], "something is left on the cards"
    assert guest.faults() == []

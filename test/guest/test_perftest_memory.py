# SPDX-License-Identifier: BSD-3-Clause
"""Chime's private RDMA API on a card beside its kernel driver, and the memory of stock perftest servers on another one, a
cable between them (perftest/memory_test.cpp)."""
import re

import pytest


@pytest.fixture(scope="module")
def guest(boot, build):
    if not (build / "test" / "guest" / "test-perftest-memory").exists():
        pytest.skip("built without rdma-core's headers: apt-get install libibverbs-dev")
    made = boot([("net0", {"wire": "cable:a", "mac": "02:00:00:00:00:01"}),
                 ("net1", {"wire": "cable:a", "mac": "02:00:00:00:00:02"})])
    made.mark()
    made.run("""
        set -e
        modprobe mlx5_core prof_sel=1; modprobe -a mlx5_ib ib_uverbs
        ip link set eth0 up; ip link set eth1 up
        for i in $(seq 100); do
          for device in mlx5_0 mlx5_1; do
            cd /sys/class/infiniband/$device/ports/1
            grep -q fe80: gids/0 && grep -q ACTIVE state || { sleep 0.1; continue 2; }
          done
          exit 0
        done
        exit 1""")
    return made


@pytest.mark.parametrize("kind,server,row,words", [
    ("atomic", "ib_atomic_bw -A FETCH_AND_ADD", r"8\s+1024", "1024 fetch-and-adds, every answer and the server's memory right"),
    ("write", "ib_write_bw -s 65536", r"65536\s+1", "65536 bytes written, the server's memory right"),
    ("read", "ib_read_bw -s 65536", r"65536\s+1", "65536 bytes read, as the server has them")])
def test_memory(guest, build, kind, server, row, words):
    """Both ends succeed: the server hears of it over TCP, and prints what it was told."""
    before = guest.objects("net0"), guest.objects("net1")
    text, status = guest.status(f"""
        {server} -d mlx5_1 -x 0 -F > /tmp/server 2>&1 & server=$!
        timeout 60 nice -n 19 {build}/test/guest/test-perftest-memory --no-huge --no-shconf -m 128 --no-pci -l 0 \
          --no-telemetry --vdev net_chime0,ibdev=mlx5_0 -- {kind} 127.0.0.1:18515 $server 2>&1; client=$?
        [ $client = 0 ] || kill $server
        timeout 20 tail -f --pid=$server /dev/null || kill $server
        wait $server; server=$?
        cat /tmp/server; exit $((client + server))""", timeout=120)
    assert status == 0, text
    assert words in text, text
    assert re.search(rf"^\s*{row}\s", text, re.MULTILINE), text
    assert (guest.objects("net0"), guest.objects("net1")) == before
    assert guest.faults() == []

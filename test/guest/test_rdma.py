# SPDX-License-Identifier: BSD-3-Clause
"""The stock mlx5_ib, rdma-core and perftest on two cards with a cable between them: mlx5_0 here, mlx5_1 with its
netdev in a namespace. Then the kernel's soft RoCE in place of the second card's."""
import re

import pytest

from programs import pair

HERE, THERE = "10.1.0.1", "10.1.0.2"


@pytest.fixture(scope="module")
def guest(boot):
    made = boot([("net0", {"wire": "cable:a", "mac": "02:00:00:00:00:01"}),
                 ("net1", {"wire": "cable:a", "mac": "02:00:00:00:00:02"})])
    made.mark()
    # prof_sel=1: without the cache of thousands of memory keys.
    made.run("set -e; modprobe mlx5_core prof_sel=1; modprobe mlx5_ib; modprobe ib_uverbs; ip netns add other")
    addresses(made, "eth1")
    return made


def addresses(guest, away: str) -> None:
    """The netdev `away` is in the namespace, and both have their addresses, which become GIDs."""
    names = {"eth0": ("mlx5_0", HERE), "eth1": ("mlx5_1", THERE)}
    for netdev, (_, address) in names.items():
        at = "-n other" if netdev == away else ""
        if at:
            guest.run(f"ip link set {netdev} netns other")
        guest.run(f"ip {at} addr add {address}/24 dev {netdev}; ip {at} link set {netdev} up")
    for device, address in names.values():
        wanted = "ffff:" + "".join(f"{int(part):02x}" + (":" if i == 1 else "")
                                   for i, part in enumerate(address.split(".")))
        guest.run(f"for i in $(seq 100); do grep -q {wanted} /sys/class/infiniband/{device}/ports/1/gids/1 && "
                  f"grep -q ACTIVE /sys/class/infiniband/{device}/ports/1/state && exit 0; sleep 0.1; done; exit 1")


def test_device(guest):
    assert re.search(r"mlx5_0\s+020000030000000[01]", guest.run("ibv_devices"))
    assert "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eth0" in guest.run("rdma link")
    text = guest.run("ibv_devinfo -v -d mlx5_0")
    for line in (r"fw_ver:\s+22\.35\.1012", r"state:\s+PORT_ACTIVE", r"link_layer:\s+Ethernet", r"max_mtu:\s+4096",
                 r"atomic_cap:\s+ATOMIC_HCA", r"max_srq:\s+[1-9]", r"GID\[  0\]:\s+fe80::ff:fe00:1, RoCE v2",
                 rf"GID\[  1\]:\s+::ffff:{HERE}, RoCE v2"):
        assert re.search(line, text), line
    assert guest.faults() == []


@pytest.mark.parametrize("service", ["rc", "uc", "ud", "srq"])
def test_pingpong(guest, service):
    guest.mark()
    text = pair(guest, f"ibv_{service}_pingpong", "-g 1 -n 50 -e")
    assert "iters in" in text
    assert guest.faults() == []


def test_xrc_pingpong(guest):
    """Its shared receive queue has one request: each must be given back before the next message finds one."""
    guest.mark()
    pair(guest, "ibv_xsrq_pingpong", "-g 1 -n 50 -e")
    assert guest.faults() == []


def test_xrc_pingpong_with_several_clients(guest):
    """The server sends to the shared receive queue of one client over the queue pairs of the others as well."""
    guest.mark()
    text, status = guest.status("""
        timeout 60 ibv_xsrq_pingpong -d mlx5_1 -g 1 -n 20 -e -c 3 > /tmp/server 2>&1 & server=$!
        for i in $(seq 200); do ss -Hltn | grep -q ':18515 ' && break; sleep 0.05; done
        for i in 1 2 3; do timeout 60 ibv_xsrq_pingpong -d mlx5_0 -g 1 -n 20 -e 127.0.0.1 > /tmp/client$i 2>&1 & done
        wait $server; server=$?; wait
        cat /tmp/server /tmp/client*; exit $server""", timeout=120)
    assert status == 0 and text.count("success") == 4, text
    assert guest.faults() == []


BANDWIDTH = ["ib_send_bw -s 8192 -e", "ib_send_bw -s 1024 -e -c UD", "ib_send_bw -s 8192 -e -c UC",
             "ib_send_bw -s 8192 -e --use-srq", "ib_send_bw -s 8192 -e -c XRC --use-srq", "ib_write_bw -s 65536",
             "ib_write_bw -s 1000 -q 4", "ib_read_bw -s 65536", "ib_atomic_bw -A FETCH_AND_ADD",
             "ib_atomic_bw -A CMP_AND_SWAP"]
LATENCY = ["ib_send_lat", "ib_write_lat", "ib_read_lat", "ib_atomic_lat -A FETCH_AND_ADD",
           "ib_atomic_lat -A CMP_AND_SWAP"]


@pytest.mark.parametrize("command", BANDWIDTH + LATENCY)
def test_perftest(guest, command):
    guest.mark()
    program, _, options = command.partition(" ")
    text = pair(guest, program, f"-x 1 -F -n 20 {options}")
    assert re.search(r"^\s*\d+\s+(20|80)\s+\d", text, re.MULTILINE), text
    assert guest.faults() == []


def test_multicast(guest, build):
    """UD queue pairs in groups of IPv6 and IPv4 addresses."""
    guest.run(f"set -e; {build}/test/guest/test-multicast mlx5_0 mlx5_1; {build}/test/guest/test-multicast mlx5_1 mlx5_0")


def test_nothing_is_left(guest):
    """Destroyed objects are gone: what one more run makes, it takes away."""
    before = guest.objects("net0")
    pair(guest, "ib_send_bw", "-x 1 -F -n 5 -s 4096 -e --use-srq")
    assert guest.objects("net0") == before


def test_counters(guest):
    text = guest.run("rdma statistic show link mlx5_0/1")
    assert int(re.search(r"rx_read_requests (\d+)", text).group(1)) == 0, "it asked, the other card answered"
    text = guest.run("rdma statistic show link mlx5_1/1")
    assert int(re.search(r"rx_read_requests (\d+)", text).group(1)) >= 20


SOFT = ["ib_send_bw -s 1024 -e", "ib_send_bw -s 1024 -c UD", "ib_write_bw -s 4096", "ib_read_bw -s 4096 -o 16",
        "ib_atomic_bw -A FETCH_AND_ADD -o 16", "ib_atomic_bw -A CMP_AND_SWAP -o 16"]


@pytest.fixture(scope="module")
def soft(guest):
    """rxe0 on the second card's netdev; kernel 6.1's knows the first namespace only, so the card's goes away."""
    guest.run("""
        set -e
        ip -n other link set eth1 netns 1
        echo mlx5_core.rdma.1 > /sys/bus/auxiliary/drivers/mlx5_ib.rdma/unbind
        ip addr flush dev eth0; ip link set eth0 netns other
        ip -n other addr add """ + HERE + """/24 dev eth0; ip -n other link set eth0 up
        ip addr add """ + THERE + """/24 dev eth1; ip link set eth1 up
        modprobe rdma_rxe; rdma link add rxe0 type rxe netdev eth1
        for i in $(seq 100); do ping -c 1 -W 1 """ + HERE + """ > /dev/null && break; sleep 0.1; done""")
    guest.run("for i in $(seq 100); do grep -q ffff: /sys/class/infiniband/mlx5_0/ports/1/gids/1 && "
              "grep -q ffff: /sys/class/infiniband/rxe0/ports/1/gids/1 && exit 0; sleep 0.1; done; exit 1")
    return guest


@pytest.mark.parametrize("command", SOFT)
@pytest.mark.parametrize("server,client", [("rxe0", "mlx5_0"), ("mlx5_0", "rxe0")])
def test_soft_roce(soft, command, server, client):
    program, _, options = command.partition(" ")
    text = pair(soft, program, f"-x 1 -F -n 20 {options}", server, client)
    assert re.search(r"^\s*\d+\s+20\s+\d", text, re.MULTILINE), text


def test_soft_roce_multicast(soft, build):
    """The kernel's IP stack, which rxe is on, joins the groups and has a way to them."""
    soft.run(f"""
        set -e
        ip route add 239.0.0.0/8 dev eth1
        ip addr add 239.1.2.3/32 dev eth1 autojoin; ip addr add ff0e::1234/128 dev eth1 autojoin
        {build}/test/guest/test-multicast mlx5_0 rxe0
        ip addr del 239.1.2.3/32 dev eth1; ip addr del ff0e::1234/128 dev eth1
        {build}/test/guest/test-multicast rxe0 mlx5_0""")


def test_remove(guest, soft):
    soft.mark()
    soft.run("rdma link delete rxe0; ip -n other link set eth0 netns 1; modprobe -r mlx5_ib; modprobe -r mlx5_core")
    assert soft.objects("net0") == {} and soft.objects("net1") == {}
    for nic in ("net0", "net1"):
        assert soft.control(f"counters {nic}")["errors"] == 0
    assert soft.faults() == []

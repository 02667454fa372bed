# SPDX-License-Identifier: BSD-3-Clause
"""A card that is lost while testpmd forwards on it: firmware that fails, and a driver that is unbound. What comes back is a
new RDMA device, with which the port is attached or reset."""
import re

import pytest
from channel import read_until
from conftest import guest_testpmd
from guest_channel import GuestChannel
from testpmd import eal_arguments, environment

DEVICE = "net_chime0,ibdev=mlx5_0"
ADDRESS = "0000:00:03.0"
LOST = "mlx5_0 is lost (IBV_EVENT_DEVICE_FATAL)"
POOL = 4096


@pytest.fixture(scope="module")
def guest(boot):
    made = boot([("net0", {"wire": "loop"})])
    made.run("""
        set -e
        modprobe mlx5_core prof_sel=1; modprobe -a mlx5_ib ib_uverbs
        sysctl -qw net.ipv6.conf.all.disable_ipv6=1
        ip link set eth0 up""")
    return made


@pytest.fixture(autouse=True)
def kernel_is_well(guest):
    """It tells of the card's failures, but has none of its own."""
    guest.mark()
    yield
    log = guest.run("dmesg").rpartition("chime-mark")[2]
    assert not re.search(r"WARNING:|BUG:|Call Trace|blocked for more|lockup", log), log


@pytest.fixture
def testpmd(guest, build):
    """Starts testpmd in the guest."""
    started = []

    def start(*options: str):
        program = guest_testpmd(guest, build, [DEVICE], [f"--total-num-mbufs={POOL}", *options])
        started.append(program)
        return program

    yield start
    for program in started:
        program.channel.close()


def fail(guest) -> None:
    """The firmware dies; the kernel finds that, and resets the card."""
    assert guest.control("health net0 1 fatal")["ok"]


def unbind(guest) -> None:
    guest.run(f"echo {ADDRESS} > /sys/bus/pci/drivers/mlx5_core/unbind")


def back(guest) -> None:
    """Waits for the RDMA device and the netdev."""
    guest.run(f"""
        for i in $(seq 600); do
          [ -e /sys/class/infiniband/mlx5_0/device/net/eth0 ] && devlink health show pci/{ADDRESS} reporter fw_fatal |
            grep -q 'state healthy' && ip link set eth0 up && exit 0
          sleep 0.1
        done; exit 1""")


def bind(guest) -> None:
    guest.run(f"echo {ADDRESS} > /sys/bus/pci/drivers/mlx5_core/bind")


def forwards(pmd, count: int = 1000) -> None:
    pmd.wait_for(lambda: "Link status: up" in pmd.command("show port info 0"), "link up")
    before = pmd.stats()["RX-packets"]
    pmd.command("start tx_first")
    pmd.wait_for(lambda: pmd.stats()["RX-packets"] - before > count, "looped packets")


def mtu_of(guest) -> int:
    return int(guest.run("cat /sys/class/net/eth0/mtu"))


def open_files(guest, pmd) -> list[str]:
    return guest.run(f"for i in /proc/{pmd.channel.pid}/fd/*; do readlink $i; done").splitlines()


def mbufs_free(pmd) -> int:
    text = pmd.command("dump_mempool mb_pool_0")
    return sum(int(count) for count in re.findall(r"(?:total_cache_count|common_pool_count)=(\d+)", text))


def lost(pmd, last: str) -> str:
    """Reads what testpmd says of it, up to the last line."""
    said = ""
    while last not in said:
        part = pmd.channel.read(60)
        assert part, f"nothing more comes; so far:\n{said}"
        said += part
    assert LOST in said, said
    # What fails afterwards is the same news.
    assert all(LOST in line for line in said.splitlines() if line.startswith("net_chime0:")), said
    return said


WAYS = pytest.mark.parametrize("lose,mend", [(fail, None), (unbind, bind)], ids=["firmware", "unbind"])


@WAYS
def test_testpmd_closes_the_port(guest, testpmd, lose, mend):
    """Nothing of it is left, and the card can be had again."""
    before = guest.objects("net0")
    with testpmd("--mbuf-size=10000") as pmd:
        pmd.command("port config mtu 0 9000")
        pmd.command("flow create 0 ingress pattern eth / ipv4 / udp / end actions queue index 0 / count / end")
        forwards(pmd)
        lose(guest)
        assert "Port 0: device removal event" in lost(pmd, "Now total ports is 0")
        assert mbufs_free(pmd) == POOL
        files = open_files(guest, pmd)
        assert "infiniband" not in "".join(files), files
        if mend:
            mend(guest)
        back(guest)
        assert mtu_of(guest) == 1500
        assert "Port 0 is attached" in pmd.command(f"port attach {DEVICE}")
        pmd.command("port start 0")
        pmd.command("stop")  # testpmd started again, with no port
        forwards(pmd)
        pmd.command("stop")
        pmd.command("port stop 0")
        assert "detached" in pmd.command("port detach 0")
        assert len(open_files(guest, pmd)) == len(files), (open_files(guest, pmd), files)
    assert guest.objects("net0") == before
    if mend:
        assert guest.faults() == []


@WAYS
def test_a_port_that_stays(guest, testpmd, lose, mend):
    """Queues are polled on; what the port is asked for it refuses, in words; a reset brings it back."""
    before = guest.objects("net0")
    with testpmd("--no-rmv-interrupt", "--mbuf-size=10000") as pmd:
        pmd.command("port config mtu 0 9000")
        forwards(pmd)
        lose(guest)
        lost(pmd, "is back")
        assert "Link status: down" in pmd.command("show port info 0")
        text = pmd.command("set promisc 0 off")
        assert LOST in text, text
        pmd.command("stop")
        pmd.command("start tx_first 64")
        pmd.command("stop")
        text = pmd.command("port stop 0")
        assert "net_chime0:" not in text, text
        text = pmd.command("port start 0")
        assert LOST in text, text
        if mend:
            text = pmd.command("port reset 0")
            assert "there is no RDMA device" in text, text
            mend(guest)
        back(guest)
        text = pmd.command("port reset 0")
        assert "net_chime0:" not in text, text
        assert "Fail" not in pmd.command("port start 0")
        forwards(pmd)
        pmd.command("stop")
    assert mtu_of(guest) == 1500
    assert guest.objects("net0") == before


@WAYS
def test_an_lcore_that_sleeps(guest, build, lose, mend):
    """It is woken and told; queues, stop and close do no harm."""
    before = guest.objects("net0")
    command = [f"{build}/test/guest/asleep", *eal_arguments([DEVICE], 128, "(0-1)@0")]
    program = GuestChannel(guest.session, command, environment(str(build)))
    read_until(program, "asleep", 60)
    lose(guest)
    said = read_until(program, "mbufs 0", 120)
    assert program.wait(60) == 0
    assert "woken 1, told 1, removed 1, disarmed 0, link 0, received 0, taken some, stopped 0, closed 0, mbufs 0" in said, said
    if mend:
        mend(guest)
    back(guest)
    assert guest.objects("net0") == before

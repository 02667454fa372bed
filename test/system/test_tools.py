# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's other programs with the plugin."""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile

from channel import ProcessChannel, read_until
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.utils import rdpcap
from testpmd import eal_arguments, environment


def run(build, command, seconds=120, **more_environment):
    return subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False, stdin=subprocess.DEVNULL,
                          env={**os.environ, **environment(build), **more_environment})


def test_pmdinfo_shows_the_driver(build):
    plugin = os.path.join(build, "drivers", "net", "chime", "librte_net_chime.so")
    done = run(build, ["/usr/bin/python3", "/usr/bin/dpdk-pmdinfo.py", plugin])
    assert done.returncode == 0, done.stderr
    described = json.loads(done.stdout)
    assert described[0]["name"] == "net_chime" and "wire" in described[0]["params"]


def test_flow_perf_with_100000_rules(build):
    done = run(build, ["dpdk-test-flow-perf", *eal_arguments(["net_chime0"], memory=1024), "--", "--ingress", "--ether",
                       "--ipv4", "--queue", "--rules-count=100000", "--rules-batch=100000", "--deletion-rate"], 200)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"Total flow insertion rate", done.stdout) or "insertion" in done.stdout.lower(), done.stdout


def test_pmd_perf_autotest(build):
    """It receives what two seconds of line rate are: link_speed makes that a bounded number of packets."""
    done = run(build, ["dpdk-test", *eal_arguments(["net_chime0,link_speed=1000"])], 200, DPDK_TEST="pmd_perf_autotest")
    assert "Test OK" in done.stdout, done.stdout + done.stderr
    assert "Port 0 Link up at 1 Gbps" in done.stdout, done.stdout
    count, dropped = map(int, re.search(r"(\d+) packet, (\d+) drop, \d+ idle", done.stdout).groups())
    # It fills the send queue to the last place, and drops what finds none: fewer than are under way.
    assert count >= 2 * 1_488_095 and dropped < 1024, done.stdout
    assert re.search(r"Result: \d+ cycles per packet", done.stdout), done.stdout


def alike_mempools() -> dict[str, str]:
    """Environment of a secondary process of testpmd that makes a mempool.

    Processes share mempools with the number of their driver, which follows the order in which a program's libraries come.
    Debian's testpmd is linked with some of them; others are to load these first, too, or testpmd takes a mempool of
    dpdk-pdump for that of another driver, and ends."""
    linked = subprocess.run(["ldd", shutil.which("dpdk-testpmd")], capture_output=True, text=True, check=True).stdout
    return {"LD_PRELOAD": ":".join(re.findall(r"=> (\S*/librte_mempool_\S+)", linked))}


def test_pdump_writes_what_passes(build, testpmd, huge):
    """A secondary process captures both ways of a port while packets circle on its loop."""
    # dpdk-pdump cuts longer paths.
    folder = tempfile.TemporaryDirectory(prefix="chime-")  # pylint: disable=consider-using-with
    captures = {way: os.path.join(folder.name, f"{way}.pcap") for way in ("rx", "tx")}
    with folder, testpmd(["net_chime0"], huge=huge, memory=256) as pmd:
        pmd.command("start tx_first")
        pdump = ProcessChannel(
            ["dpdk-pdump", "--no-pci", "--huge-dir", huge[0], "--file-prefix", huge[1], "-d", "librte_net_chime.so", "--",
             "--pdump", f"port=0,queue=*,rx-dev={captures['rx']},tx-dev={captures['tx']}"], {**environment(build), **alike_mempools()})
        try:
            read_until(pdump, "capture for (1) tuples", 60)
            # testpmd goes on, whatever is attached to it.
            received = pmd.stats()["RX-packets"]
            pmd.wait_for(lambda: pmd.stats()["RX-packets"] > received + 5000, "packets under the capture")
            pmd.wait_for(lambda: all(os.path.exists(name) and os.path.getsize(name) > 20_000 for name in captures.values()),
                         "captured packets")
        finally:
            os.kill(pdump.pid, signal.SIGINT)
            pdump.wait(30)
            pdump.close()
        received = pmd.stats()["RX-packets"]
        pmd.wait_for(lambda: pmd.stats()["RX-packets"] > received, "packets after it")
        pmd.command("stop")
        for way, name in captures.items():
            frames = [bytes(frame) for frame in rdpcap(name, count=1000)]
            assert len(frames) > 200, way
            # What testpmd makes for tx_first: 64 bytes of UDP.
            packet = Ether(frames[0])
            assert len(frames[0]) == 64 and UDP in packet and packet[IP].dst == "198.18.0.2", packet.show(dump=True)
            for layer in (IP, UDP):
                right = Ether(frames[0])
                del right[layer].chksum
                assert Ether(bytes(right))[layer].chksum == packet[layer].chksum or packet[layer].chksum == 0
            assert set(frames) == {frames[0]}, way


def test_proc_info_reads_the_statistics(build, testpmd, huge):
    def proc_info(what: str) -> str:
        done = run(build, ["dpdk-proc-info", "--no-pci", "--huge-dir", huge[0], "--file-prefix", huge[1], "-d",
                           "librte_net_chime.so", "--", "-p", "0x1", what])
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    with testpmd(["net_chime0"], huge=huge, memory=256) as pmd:
        pmd.command("start tx_first")
        pmd.wait_for(lambda: pmd.stats()["RX-packets"] > 1000, "looped packets")
        pmd.command("stop")
        received = pmd.stats()["RX-packets"]
        assert int(re.search(r"RX-packets:\s*(\d+)", proc_info("--stats"))[1]) == received
        assert f"rx_good_packets: {received}" in proc_info("--xstats")


def test_telemetry_lists_the_statistics(build, testpmd, huge):
    with testpmd(["net_chime0"], huge=huge, memory=256) as pmd:
        pmd.command("start tx_first")
        pmd.wait_for(lambda: pmd.stats()["RX-packets"] > 1000, "looped packets")
        pmd.command("stop")
        done = subprocess.run(["/usr/bin/python3", "/usr/bin/dpdk-telemetry.py", "-f", huge[1]], input="/ethdev/xstats,0\nquit\n",
                              capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert f'"rx_good_packets": {pmd.stats()["RX-packets"]}' in done.stdout, done.stdout

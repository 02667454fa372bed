# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's other programs with the plugin."""
import json
import os
import re
import subprocess

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

# SPDX-License-Identifier: BSD-3-Clause
"""Every command that the stock drivers send, as the kernel's own log has it, is known to lib/prm to the last bit."""
import base64
import re
import subprocess

import pytest

from conftest import SOURCE


@pytest.fixture(scope="module")
def log(boot, tmp_path_factory):
    """The kernel's log of a start, use and removal of the driver, with every command as a hex dump."""
    guest = boot([("net0", {"wire": "loop"})], append="log_buf_len=64M")
    guest.run("""
        modprobe mlx5_core debug_mask=1 dyndbg="file cmd.c +p"
        ip link set eth0 up; sleep 0.5
        ethtool -S eth0; ethtool -m eth0; ethtool eth0; ethtool --show-fec eth0; ethtool -G eth0 rx 512
        ethtool -N eth0 flow-type udp4 dst-port 7 action 0; ip link set eth0 promisc on; ip link set eth0 mtu 4000
        devlink dev info; devlink health show""", timeout=400)
    guest.control("link net0 down")
    guest.run("""
        for i in $(seq 100); do grep -q 0 /sys/class/net/eth0/carrier && break; sleep 0.1; done
        ethtool eth0
        ip link set eth0 down; modprobe -r mlx5_core""", timeout=400)
    text = guest.run("dmesg | gzip -9 | base64 -w 0", timeout=400)
    path = tmp_path_factory.mktemp("log") / "dmesg.gz"
    path.write_bytes(base64.b64decode(text))
    return path


def test_every_command_is_decoded(build, log):
    run = subprocess.run([SOURCE / "test" / "trace" / "with-trace", "--log", log, build / "test/unit/prm/test-prm-trace"],
                         capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr
    found = re.search(r"(\d+) commands: (\d+) lines of fields, (\d+) lines that no layout names", run.stdout)
    assert int(found.group(1)) > 400
    assert int(found.group(3)) == 0, [line for line in run.stdout.splitlines() if re.search(r"(reserved|bytes)\[", line)]

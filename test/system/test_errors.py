# SPDX-License-Identifier: BSD-3-Clause
"""Wrong input gets an error that names what was wrong and what would work, also when it is the embedded HCA's alone."""
import os
import re
import subprocess

import pytest
from errors import *  # noqa: F401,F403
from testpmd import eal_arguments, environment


def refused(build, device: str, *more: str) -> str:
    """Output of a testpmd that must be left without the port."""
    command = ["dpdk-testpmd", *eal_arguments([device, *more]), "--", "--total-num-mbufs=2048"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL,
                          env={**os.environ, **environment(build)})
    output = done.stdout + done.stderr
    assert done.returncode != 0 or "No probed ethernet devices" in output or "Fail to start port 0" in output, output
    return output


@pytest.mark.parametrize("argument, words", [
    ("loss=2x", r"loss=2x: neither parts of a million .* nor percent"),
    ("wire=", r"wire has no value"),
    ("delay=99999999999", r"delay=99999999999: not a whole number from 0 to"),
    ("profile=connectx99", r"connectx99.*connectx6dx"),
    ("model_thread=many", r"neither shared, own nor caller"),
    ("wire=net_chime0", r"net_chime0"),
    ("ibdev=mlx5_0", r"ibdev"),
])
def test_wrong_device_argument(build, argument, words):
    output = refused(build, f"net_chime0,{argument}")
    assert re.search(words, output), output


def test_wire_that_does_not_exist(build):
    output = refused(build, "net_chime0,wire=net_nowhere0")
    assert re.search(r"no port net_nowhere0 to be its wire; ports there are: none", output), output

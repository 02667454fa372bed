# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures of the system tests. Run: /usr/bin/python3 -m pytest test/system --build BUILDDIR"""
import os
import shutil
import subprocess
import sys
import uuid

import pytest
from testpmd import Testpmd

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(SOURCE, "test", "driver"))  # tests of the driver over any backend
pytest.register_assert_rewrite("frames", "port", "rss", "loop", "errors", "atomics", "interrupts", "capture")

from embedded import EmbeddedHca  # noqa: E402


def pytest_addoption(parser):
    parser.addoption("--build", default=os.path.join(SOURCE, "build"), help="the Meson build folder")


@pytest.fixture(scope="session")
def build(request) -> str:
    folder = os.path.abspath(request.config.getoption("--build"))
    plugin = os.path.join(folder, "drivers", "net", "chime", "librte_net_chime.so")
    if not os.path.exists(plugin):
        pytest.exit(f"no {plugin}; build it: ninja -C {folder}", returncode=2)
    if not shutil.which("dpdk-testpmd"):
        pytest.exit("no dpdk-testpmd; install it: devtools/install-packages test", returncode=2)
    return folder


@pytest.fixture
def testpmd(build):
    """Starts testpmd: testpmd(["net_chime0"], ["--rxq=4"])."""
    started = []

    def start(devices=("net_chime0",), options=(), **keywords) -> Testpmd:
        program = Testpmd(build, list(devices), list(options), **keywords)
        started.append(program)
        return program

    yield start
    for program in started:
        program.channel.close()


@pytest.fixture
def backend(testpmd, build, tmp_path):
    made = EmbeddedHca(testpmd, build, tmp_path)
    yield made
    made.close()


@pytest.fixture
def namespace():
    """A network namespace of this test's own; run commands in it with namespace("ip", "link")."""
    name = f"chime-{uuid.uuid4().hex[:8]}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        pytest.skip(f"no network namespaces here: {made.stderr.strip()}")

    def run(*command: str, check: bool = True) -> str:
        done = subprocess.run(["ip", "netns", "exec", name, *command], capture_output=True, text=True, check=False)
        assert not check or done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    run.name = name
    yield run
    subprocess.run(["ip", "netns", "del", name], check=False)


@pytest.fixture
def huge(tmp_path):
    """A hugetlbfs folder of this test's own and a file prefix, with at least 512 MiB behind it."""
    count, needed = "/proc/sys/vm/nr_hugepages", 256
    try:
        with open(count, encoding="ascii") as file:
            had = int(file.read())
        if had < needed:
            with open(count, "w", encoding="ascii") as file:
                file.write(str(needed))
        with open(count, encoding="ascii") as file:
            got = int(file.read())
    except OSError as error:
        pytest.skip(f"hugepages can't be reserved: {error}")
    folder = tmp_path / "huge"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "hugetlbfs", "none", str(folder)], capture_output=True, text=True, check=False)
    try:
        if got < needed:
            pytest.skip(f"only {got} of {needed} hugepages could be reserved")
        if mounted.returncode != 0:
            pytest.skip(f"hugetlbfs can't be mounted: {mounted.stderr.strip()}")
        yield str(folder), f"chime{os.getpid()}"
    finally:
        subprocess.run(["umount", str(folder)], check=False, capture_output=True)
        with open(count, "w", encoding="ascii") as file:
            file.write(str(had))

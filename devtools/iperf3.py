# SPDX-License-Identifier: BSD-3-Clause
"""iperf3 with its server in a network namespace of this machine."""
import contextlib
import json
import subprocess


@contextlib.contextmanager
def server(namespace: str):
    """Serves one client, which is run inside the `with`."""
    process = subprocess.Popen(["ip", "netns", "exec", namespace, "iperf3", "-s", "-1", "--forceflush"], text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        while "listening" not in (line := process.stdout.readline()):
            if not line:
                raise RuntimeError(f"iperf3 -s in {namespace} ended with status {process.wait()}")
        yield
        process.communicate(timeout=30)  # it goes when the client has gone
    finally:
        process.kill()
        process.communicate()


def received(report: str) -> float:
    """bit/s that came, from what a client with -J prints."""
    return json.loads(report)["end"]["sum_received"]["bits_per_second"]

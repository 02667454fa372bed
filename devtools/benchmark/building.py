# SPDX-License-Identifier: BSD-3-Clause
"""The build folder of the benchmark."""
import os
import subprocess

from progress import say


def _logged(command: list[str], log: str, **environment: str) -> None:
    with open(log, "w", encoding="utf-8") as file:
        done = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, env={**os.environ, **environment}, check=False)
    if done.returncode != 0:
        with open(log, encoding="utf-8") as file:
            raise SystemExit("".join(file.readlines()[-40:]) + f"{command[0]} failed; all of it is in {os.path.relpath(log)}")


def build(source: str, folder: str, logs: str) -> None:
    """Configures `folder` if it is none yet, and builds what is measured. Exits with the log's end when that fails."""
    if not os.path.exists(os.path.join(folder, "build.ninja")):
        say(f"configuring {os.path.relpath(folder)}")
        _logged(["meson", "setup", folder, source, "--prefix=/usr"], os.path.join(logs, "setup.log"), CC="ccache gcc", CXX="ccache g++")
    say(f"building in {os.path.relpath(folder)}")
    _logged(["ninja", "-C", folder, "benchmarks"], os.path.join(logs, "build.log"))

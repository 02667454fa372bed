# SPDX-License-Identifier: BSD-3-Clause
"""The benchmark behind devtools/bench."""
import argparse
import json
import os
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(SOURCE, "build-bench")
sys.path.insert(0, os.path.join(SOURCE, "test", "system"))

import building  # noqa: E402
import forwarding  # noqa: E402
import guests  # noqa: E402
import machine  # noqa: E402
import plots  # noqa: E402
import ports  # noqa: E402
import programs  # noqa: E402
import table  # noqa: E402
import virtual_cards  # noqa: E402
from progress import say  # noqa: E402
from samples import Figure  # noqa: E402

PARTS = {
    "driver": ("the driver alone", lambda a: programs.driver(a.build, a.results, a.rounds)),
    "model": ("the software HCA alone", lambda a: programs.model(a.build, a.results, a.rounds)),
    "atomics": ("RDMA atomics", lambda a: programs.atomics(a.build, a.results, a.rounds)),
    "loop": ("testpmd", lambda a: forwarding.loop(a.build, a.results, a.rounds, a.seconds)),
    "port": ("queues, flow rules and packet sizes", lambda a: ports.port(a.build, a.results, a.rounds, a.seconds)),
    "start": ("start-up and memory", lambda a: ports.start(a.build, a.results, a.rounds, a.seconds)),
    "guest": ("guests on the virtual card and on QEMU's own", lambda a: guests.guest(a.build, a.results, a.rounds, a.seconds)),
    "cards": ("DPDK drivers on virtual cards",
              lambda a: virtual_cards.virtual_cards(a.build, a.results, a.rounds, a.seconds)),
}
ON_REQUEST = {"guest", "cards"}


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="devtools/bench")
    parser.add_argument("--build", default=FOLDER)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default=",".join(part for part in PARTS if part not in ON_REQUEST))
    parser.add_argument("--guest", action="store_true")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--doc", action="store_true")
    arguments = parser.parse_args()
    arguments.only = arguments.only.split(",") + (sorted(ON_REQUEST) if arguments.guest else [])
    unknown = [part for part in arguments.only if part not in PARTS]
    if unknown:
        parser.error(f"--only: unknown '{unknown[0]}'; known: {', '.join(PARTS)}")
    arguments.rounds = arguments.rounds or (3 if arguments.quick else 11)
    if arguments.rounds < 1:
        parser.error("--rounds: at least 1")
    arguments.seconds = 0.2 if arguments.quick else 0.5
    arguments.build = os.path.abspath(arguments.build)
    arguments.results = os.path.join(FOLDER, "results")
    return arguments


def write(folder: str, where: dict[str, str], figures: list[Figure], lines: list[str]) -> list[str]:
    """@return the files"""
    data = os.path.join(folder, "results.json")
    with open(data, "w", encoding="utf-8") as file:
        json.dump({"machine": where, "figures": [figure.as_data() for figure in figures]}, file, indent=1)
    text = os.path.join(folder, "table.txt")
    with open(text, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    return [data, text, *plots.draw(figures, folder)]


def write_chapter(figures: list[Figure], lines: list[str]) -> list[str]:
    """What doc/performance.rst includes. @return the files"""
    folder = os.path.join(SOURCE, "doc", "performance")
    written = plots.draw(figures, folder)
    with open(os.path.join(folder, "table.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    return [*written, file.name]


def main() -> int:
    arguments = parse()
    os.makedirs(arguments.results, exist_ok=True)
    building.build(SOURCE, arguments.build, FOLDER)
    where = machine.describe()
    figures = []
    for part in arguments.only:
        what, measure = PARTS[part]
        say(f"measuring {what}")
        figures += measure(arguments)
    lines = table.lines(where, figures)
    print("\n".join(lines))
    written = write(arguments.results, where, figures, lines)
    if arguments.doc:
        written += write_chapter(figures, lines)
    print("\nwrote " + ", ".join(os.path.relpath(path) for path in written))
    return 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: BSD-3-Clause
"""Programs of test/bench that measure by themselves, and leave JSON."""
import json
import os
import subprocess

from samples import Figure, Samples

# What net_mlx5's scalar functions need for the same, by single steps (doc/performance.rst says how).
INSTRUCTION_GOALS = {
    "chime plain, fast free rx": 215,
    "chime plain, fast free tx": 76,
    "chime plain tx": 101,
}


def run(build: str, results: str, program: str, *arguments: str) -> dict:
    output = os.path.join(results, f"{program}.json")
    done = subprocess.run([os.path.join(build, "test", "bench", program), "--json", output, *arguments],
                          stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{program} ended with status {done.returncode}:\n{done.stdout}")
    with open(output, encoding="utf-8") as file:
        return json.load(file)


def driver(build: str, results: str, rounds: int) -> list[Figure]:
    """Each lane's instructions, and cycles beside net_null's."""
    data = run(build, results, "driver_alone", "--repeats", str(2 * rounds - 1))
    null = {lane["direction"]: Samples.of(lane["cycles"]) for lane in data["lanes"] if lane["name"].startswith("net_null")}
    figures = []
    for lane in data["lanes"]:
        name = lane["name"]
        if lane["instructions"] is not None:
            goal = INSTRUCTION_GOALS.get(name)
            figures.append(Figure("driver", name, "instructions", Samples.of([lane["instructions"]]),
                                  goal=f"at most {goal}" if goal else ""))
        peer = "" if name.startswith("net_null") else f"net_null {lane['direction']}"
        figures.append(Figure("driver", name, "cycles", Samples.of(lane["cycles"]), peer,
                              null[lane["direction"]] if peer else None))
        if name.startswith("chime"):
            figures.append(Figure("driver", f"{name}, CQE cold", "cycles", Samples.of(lane["cycles_flushed"])))
    return figures


def atomics(build: str, results: str, rounds: int) -> list[Figure]:
    """Posting and polling a fetch-and-add, in instructions; and how many go over a cable between two software HCAs."""
    goals = {1: "at most 120", 32: "at most 70"}
    figures = []
    for case in run(build, results, "posting_cost")["cases"]:
        where = "into memory" if case["local"] else "into the queue pair's room"
        figures.append(Figure("atomics", f"post and poll, {case['burst']} a burst, {where}", "instructions",
                              Samples.of([case["post"] + case["poll"]]), goal=goals.get(case["burst"], "")))
    data = run(build, results, "atomic_speed", "--rounds", str(rounds))
    rates = {case["name"]: Samples.of(case["rates"]).scaled(1e-6) for case in data["cases"]}
    one, few, many = "fetch-and-add, 1 QP", "fetch-and-add, 16 QPs", "fetch-and-add, 16 of 1000 QPs"
    for name, samples in rates.items():
        if name == many:
            # Time an operation, beside that with 16 queue pairs.
            figures.append(Figure("atomics", name, "us", Samples.of(1 / rate for rate in samples.values), few,
                                  Samples.of(1 / rate for rate in rates[few].values), "at most 1.3 times"))
        else:
            figures.append(Figure("atomics", name, "M/s", samples, goal="at least 1" if name == one else ""))
    return figures


def model(build: str, results: str, rounds: int) -> list[Figure]:
    """What the model's thread could do alone; each case beside the plain one of 64 bytes."""
    data = run(build, results, "model_speed", "--rounds", str(rounds))
    cases = {case["name"]: Samples.of(case["cycles"]) for case in data["cases"]}
    peers = {name: "64 B" for name in cases if name not in ("64 B", "1500 B")}
    peers |= {"64 B, 10000 rules": "64 B, 10 rules", "1500 B, checksums": "1500 B"}
    goals = {"64 B, 64 queues": "at most 1.2 times", "64 B, 10000 rules": "at most 1.2 times"}
    figures = []
    for case in data["cases"]:
        name = case["name"]
        peer = peers.get(name, "")
        figures.append(Figure("model", name, "cycles", cases[name], peer, cases.get(peer), goals.get(name, "")))
        if name in ("64 B", "1500 B"):
            packets = Samples.of(data["tsc_hz"] / cycles / 1e6 for cycles in case["cycles"])
            figures.append(Figure("model", name, "Mpps", packets))
            figures.append(Figure("model", name, "Gbit/s", packets.scaled(case["length"] * 8e-3)))
    return figures

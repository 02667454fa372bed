# SPDX-License-Identifier: BSD-3-Clause
"""The plots: SVG with text as text, the same bytes for the same figures."""
import os

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402
import matplotlib.ticker  # noqa: E402

from samples import Figure  # noqa: E402

matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "chime", "font.size": 9, "axes.spines.top": False,
                            "axes.spines.right": False})
BESIDE = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}  # so that no line goes through a number
OURS, PEER, GOAL = "#2a6f97", "#a9b4c2", "#c1121f"


def _save(plot, folder: str, name: str) -> str:
    path = os.path.join(folder, f"{name}.svg")
    plot.tight_layout()
    plot.savefig(path, metadata={"Date": None})
    plt.close(plot)
    return path


def _bars(axes, names: list[str], values: list[float], colours: list[str], label: str, digits: str = ".0f") -> None:
    places = range(len(names))
    axes.barh(places, values, color=colours, height=0.7)
    axes.set_yticks(places, names)
    axes.invert_yaxis()
    axes.set_xlabel(label)
    for place, value in zip(places, values):
        axes.text(value, place, f" {value:{digits}}", va="center", bbox=BESIDE)


def _driver(figures: list[Figure], folder: str) -> list[str]:
    """Instructions with goals, cycles beside net_null."""
    counted = [f for f in figures if f.part == "driver" and f.unit == "instructions"]
    cycles = [f for f in figures if f.part == "driver" and f.unit == "cycles" and "cold" not in f.name]
    if not cycles:
        return []
    plot, (left, right) = plt.subplots(1, 2, figsize=(10, 0.3 * len(cycles) + 1.2), sharey=bool(counted))
    if counted:
        _bars(left, [f.name for f in counted], [f.samples.median for f in counted],
              [OURS if f.name.startswith("chime") else PEER for f in counted], "instructions a packet")
        for place, figure in enumerate(counted):
            if figure.goal:
                left.plot([float(figure.goal.split()[-1])] * 2, [place - 0.4, place + 0.4], color=GOAL, linewidth=2)
    places = range(len(cycles))
    middles = [f.ratio.median if f.ratio else 1 for f in cycles]
    right.barh(places, middles, color=[OURS if f.name.startswith("chime") else PEER for f in cycles], height=0.7)
    right.set_yticks(places, [f.name for f in cycles])
    if not counted:
        right.invert_yaxis()
    right.set_xlabel("TSC cycles a packet, net_null in the same direction = 1")
    for place, value in zip(places, middles):
        right.text(value, place, f" {value:.2f}", va="center", bbox=BESIDE)
    return [_save(plot, folder, "driver")]


def _model(figures: list[Figure], folder: str) -> list[str]:
    cases = [f for f in figures if f.part == "model" and f.unit == "cycles"]
    if not cases:
        return []
    plot, axes = plt.subplots(figsize=(7, 0.3 * len(cases) + 1))
    _bars(axes, [f.name for f in cases], [f.samples.median for f in cases], [OURS] * len(cases),
          "TSC cycles of the model's thread a packet")
    return [_save(plot, folder, "model")]


def _loop(figures: list[Figure], folder: str) -> list[str]:
    """Each round's rate of both: how noisy it was shows."""
    found = [f for f in figures if f.part == "loop"]
    if not found:
        return []
    figure = found[0]
    plot, axes = plt.subplots(figsize=(7, 3))
    rounds = range(1, len(figure.samples.values) + 1)
    axes.plot(rounds, figure.samples.values, "o-", color=OURS, label="net_chime, looped")
    axes.plot(rounds, figure.peer_samples.values, "o-", color=PEER, label=figure.peer)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("round")
    axes.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(integer=True))
    axes.set_ylabel(f"{figure.name}: {figure.unit}")
    axes.legend(frameon=False)
    return [_save(plot, folder, "loop")]


def _scaling(figures: list[Figure], folder: str) -> list[str]:
    """Ratios that are to stay near 1."""
    found = [f for f in figures if f.part in ("port", "model", "atomics") and f.goal and f.ratio]
    if not found:
        return []
    plot, axes = plt.subplots(figsize=(7, 0.35 * len(found) + 1))
    _bars(axes, [f"{f.part}: {f.name} / {f.peer}" for f in found], [f.ratio.median for f in found], [OURS] * len(found),
          "time a packet, as a ratio", ".2f")
    axes.axvline(1.2, color=GOAL, linewidth=1.5, zorder=0)
    return [_save(plot, folder, "scaling")]


def draw(figures: list[Figure], folder: str) -> list[str]:
    """@return the files"""
    os.makedirs(folder, exist_ok=True)
    return [path for one in (_driver, _model, _loop, _scaling) for path in one(figures, folder)]

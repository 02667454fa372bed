# SPDX-License-Identifier: BSD-3-Clause
"""The table that the benchmark prints."""
from samples import Figure, Samples


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 1000 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _spread(samples: Samples | None) -> str:
    if not samples or len(samples.values) < 2:
        return ""
    return f"{_number(samples.low)}..{_number(samples.high)}"


def lines(machine: dict[str, str], figures: list[Figure]) -> list[str]:
    text = [f"{name}: {value}" for name, value in machine.items()]
    text += ["", "Medians of rounds, and in what range they were. Ratios are medians of rounds, too.", ""]
    heads = ("", "unit", "median", "range", "peer", "median", "ratio", "range", "goal")
    rows = []
    for figure in figures:
        ratio = figure.ratio
        rows.append((f"{figure.part}: {figure.name}", figure.unit, _number(figure.samples.median), _spread(figure.samples),
                     figure.peer, _number(figure.peer_samples.median) if figure.peer_samples else "",
                     f"{ratio.median:.2f}" if ratio else "", _spread(ratio), figure.goal))
    widths = [max(len(row[column]) for row in [heads, *rows]) for column in range(len(heads))]
    left = {0, 1, 4, 8}
    for row in [heads, *rows]:
        text.append("  ".join(cell.ljust(width) if column in left else cell.rjust(width)
                              for column, (cell, width) in enumerate(zip(row, widths))).rstrip())
    return text

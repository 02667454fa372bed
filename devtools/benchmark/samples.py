# SPDX-License-Identifier: BSD-3-Clause
"""Figures that were taken more than once."""
import dataclasses
import statistics


@dataclasses.dataclass(frozen=True)
class Samples:
    """One value for each round. Rounds of a subject and its peer lie side by side in time."""

    values: tuple[float, ...]

    @classmethod
    def of(cls, values) -> "Samples":
        return cls(tuple(float(value) for value in values))

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def low(self) -> float:
        return min(self.values)

    @property
    def high(self) -> float:
        return max(self.values)

    def scaled(self, factor: float) -> "Samples":
        return Samples.of(value * factor for value in self.values)

    def per(self, peer: "Samples") -> "Samples":
        """The ratio of each round."""
        return Samples.of(mine / other for mine, other in zip(self.values, peer.values) if other > 0)


@dataclasses.dataclass(frozen=True)
class Figure:
    """A line of the table: what was measured, and what stands beside it."""

    part: str  # of the benchmark, as in --only
    name: str
    unit: str
    samples: Samples
    peer: str = ""
    peer_samples: Samples | None = None
    goal: str = ""  # words, for the reader

    @property
    def ratio(self) -> Samples | None:
        """Subject by peer, round by round."""
        return self.samples.per(self.peer_samples) if self.peer_samples else None

    def as_data(self) -> dict:
        data = {"part": self.part, "name": self.name, "unit": self.unit, "values": self.samples.values, "goal": self.goal}
        if self.peer_samples:
            data |= {"peer": self.peer, "peer_values": self.peer_samples.values, "ratios": self.ratio.values}
        return data

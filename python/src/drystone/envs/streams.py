"""`Streams`: random numbers of many worlds at once, each world with a stream of its own."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.floating[Any]]"

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Returns the finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    values = (values ^ (values >> np.uint64(30))) * _FIRST
    values = (values ^ (values >> np.uint64(27))) * _SECOND
    mixed: NDArray[np.uint64] = values ^ (values >> np.uint64(31))
    return mixed


class Streams:
    """Streams of random numbers, one for each world: SplitMix64, all worlds in one call.

    A world draws the same numbers for any number of worlds and any draws of the others.
    """

    def __init__(self, count: int) -> None:
        self.states = np.zeros(count, dtype=np.uint64)
        """States of the streams, uint64 (worlds,)."""

    def seed(self, rows: NDArray[np.intp], seeds: NDArray[np.uint64]) -> None:
        """Restarts the streams of some worlds. `rows`: their indices, (n,); `seeds`: (n,)."""
        with np.errstate(over="ignore"):
            self.states[rows] = _mixed(seeds + _GOLDEN)

    def uniform(self, rows: NDArray[np.intp] | slice, low: Any, high: Any, width: int) -> NDArray[np.float64]:
        """Returns uniform numbers from `low` to `high` for some worlds: float64 (n, width)."""
        with np.errstate(over="ignore"):
            states = self.states[rows]
            steps = np.arange(1, width + 1, dtype=np.uint64) * _GOLDEN
            bits = _mixed(states[:, None] + steps)
            self.states[rows] = states + np.uint64(width) * _GOLDEN
        numbers: NDArray[np.float64] = low + (high - low) * ((bits >> np.uint64(11)).astype(np.float64) * 2.0**-53)
        return numbers

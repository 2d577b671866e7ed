"""`CarCamera`: pictures of many cars at once, as small as CarRacing's observations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

SIDE = 96
"""Width and height of a picture, px."""
BAR = 12
"""Rows of the indicators below, px."""
ZOOM = 2.7 * 6.0
"""Pixels a metre in the original's window of 1000 × 800, which it scales to 96 × 96."""
ACROSS, UP = 1000 / ZOOM / SIDE, 800 / ZOOM / SIDE
"""Size of a pixel, m."""
CAR_ROW = SIDE * 3 // 4
"""Row of the car's origin."""
CELL, HALF = 0.5, 352
"""Size of a cell of the map, m, and number of cells from its middle to its edge."""
GRASS_SQUARE = 2000 / 6 / 20
KERB = 8 / 6
"""Width of the kerbs in turns, m."""
KERB_BEND = 0.31 * 0.2 / 3.5
"""Bend of the road from which on it has kerbs, rad/m."""
FIRST_SHADE, WHITE, RED = 2, 5, 6
PALETTE = np.array(
    [(102, 204, 102), (102, 230, 102), (102, 102, 102), (104, 104, 104), (107, 107, 107), (255, 255, 255), (255, 0, 0)],
    dtype=np.uint8,
)
"""Colors of the map: grass, lighter grass, three shades of the road, kerbs."""
HULL_COLOR = (204, 0, 0)
BLOCK = 16
"""Number of worlds that are drawn at once, so that they stay in the cache."""


class CarCamera:
    """Draws cars from above, with the heading of each car up, from maps of their tracks."""

    def __init__(
        self,
        count: int,
        hull: Sequence[Sequence[tuple[float, float]]],
        wheels: NDArray[np.float64],
        wheel_size: tuple[float, float],
        road: float,
    ) -> None:
        """
        - `count`: number of worlds; each has a map of 0.5 MB.
        - `hull`: convex polygons of the hull, m.
        - `wheels`: places of the wheels, m: float64 (4, 2); `wheel_size`: half width and half length, m.
        - `road`: half width of the road, m.
        """
        place = (np.arange(2 * HALF) + 0.5 - HALF) * CELL
        is_even = np.floor(place / GRASS_SQUARE).astype(np.int64) % 2 == 0
        self._grass = (is_even[:, None] & is_even).astype(np.uint8)
        # Cars beyond the map see its edge.
        self._grass[[0, -1]] = self._grass[:, [0, -1]] = 0
        self._maps = np.broadcast_to(self._grass, (count, *self._grass.shape)).copy()
        self._road, self._wheels, self._wheel_size = road, wheels, wheel_size
        self._x = (np.arange(SIDE) + 0.5 - SIDE / 2) * ACROSS
        self._y = (CAR_ROW - 0.5 - np.arange(SIDE)) * UP
        x, y = np.meshgrid(self._x, self._y)
        self._hull = np.zeros((SIDE, SIDE), dtype=np.bool_)
        for corners in hull:
            self._hull |= _inside(np.array(corners), x, y)
        reach = 1.5 * math.hypot(*wheel_size) + np.abs(wheels).max(axis=0)
        rows, columns = np.flatnonzero(np.abs(self._y) < reach[1]), np.flatnonzero(np.abs(self._x) < reach[0])
        self._near = (slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1))
        """Part of the picture that may show the car."""

    def lay(self, rows: NDArray[np.intp], tiles: NDArray[np.floating[Any]], along: NDArray[np.floating[Any]]) -> None:
        """Draws the maps of some worlds.

        - `tiles`, `along`: middles of the tiles, m, and directions of the road there: (n, tiles, 2).
        """
        reach = math.ceil((self._road + KERB + 4.0) / CELL)
        offset = np.arange(-reach, reach + 1, dtype=np.int64)
        step = offset.astype(np.float32) * np.float32(CELL)
        for row, points, ways in zip(rows, tiles.astype(np.float32), along.astype(np.float32), strict=True):
            following = np.roll(points, -1, axis=0)
            pace = float(np.hypot(*(following - points).T).mean())
            turn = np.arctan2(_cross(ways, np.roll(ways, -1, axis=0)), (ways * np.roll(ways, -1, axis=0)).sum(axis=-1))
            sharp = np.abs(turn) > KERB_BEND * pace
            same = np.stack([np.roll(sharp * np.sign(turn), shift) for shift in range(4)]).sum(axis=0)
            ends = np.abs(same) == 4
            kerb = np.sign(turn) * np.any([np.roll(ends, -shift) for shift in range(4)], axis=0)
            cell = np.floor(points / CELL).astype(np.int64)
            x = (cell[:, 0] + 0.5) * CELL - points[:, 0]
            y = (cell[:, 1] + 0.5) * CELL - points[:, 1]
            east, north = x[:, None, None] + step, y[:, None, None] + step[:, None]
            wx, wy = ways[:, 0, None, None], ways[:, 1, None, None]
            forward = east * wx + north * wy
            left = north * wx - east * wy
            # Rectangles that overlap by a metre, so that there are no gaps in turns.
            on_tile = np.abs(forward) <= pace / 2 + 1.0
            level = self._maps[row]
            level[:] = self._grass
            flat = level.reshape(-1)
            index = (cell[:, 1, None, None] + HALF + offset[:, None]) * (2 * HALF) + cell[:, 0, None, None] + HALF + offset
            number = np.broadcast_to(np.arange(len(points))[:, None, None], index.shape)
            is_kerb = on_tile & (left * kerb[:, None, None] > self._road - 0.25) & (left * kerb[:, None, None] < self._road + KERB)
            flat[index[is_kerb]] = np.where(number[is_kerb] % 2 == 0, WHITE, RED)
            is_road = on_tile & (np.abs(left) <= self._road)
            flat[index[is_road]] = FIRST_SHADE + number[is_road] % 3

    def draw(
        self,
        rows: NDArray[np.intp],
        positions: NDArray[np.float32],
        angles: NDArray[np.float32],
        steering: NDArray[np.float64],
        speeds: NDArray[np.floating[Any]],
        turns: NDArray[np.floating[Any]],
        spins: NDArray[np.float64],
    ) -> NDArray[np.uint8]:
        """Returns pictures of some worlds: uint8 (n, 96, 96, 3).

        - `positions`, `angles`: of the hulls, m and rad: (n, 2), (n,).
        - `steering`: angles of the wheels against the hull, rad: (n, 4).
        - `speeds`, `turns`, `spins`: speed of the hull, m/s, (n,), its angular velocity, rad/s, (n,), and those of the
          wheels, (n, 4), for the indicators.
        """
        frames = np.empty((len(rows), SIDE, SIDE, 3), dtype=np.uint8)
        shown = SIDE - BAR
        for begin in range(0, len(rows), BLOCK):
            part = slice(begin, begin + BLOCK)
            cosine = np.cos(angles[part]).astype(np.float32)[:, None] / np.float32(CELL)
            sine = np.sin(angles[part]).astype(np.float32)[:, None] / np.float32(CELL)
            x, y = self._x.astype(np.float32), self._y[:shown].astype(np.float32)
            middle = positions[part] / np.float32(CELL) + np.float32(HALF)
            east = (middle[:, :1] + x * cosine)[:, None] - (y * sine)[:, :, None]
            north = (middle[:, 1:] + x * sine)[:, None] + (y * cosine)[:, :, None]
            limit = np.float32(2 * HALF - 1)
            column = np.clip(east, 0, limit, out=east).astype(np.int32)
            row = np.clip(north, 0, limit, out=north).astype(np.int32)
            row *= 2 * HALF
            row += column
            for frame, world, index in zip(frames[part], rows[part], row, strict=True):
                frame[:shown] = PALETTE[self._maps[world].reshape(-1)[index]]
        self._draw_cars(frames, steering)
        frames[:, shown:] = _indicators(speeds, turns, steering[:, 0], spins)
        return frames

    def _draw_cars(self, frames: NDArray[np.uint8], steering: NDArray[np.float64]) -> None:
        near = frames[:, self._near[0], self._near[1]]
        x, y = np.meshgrid(self._x[self._near[1]], self._y[self._near[0]])
        for wheel, (at_x, at_y) in enumerate(self._wheels):
            cosine, sine = np.cos(steering[:, wheel])[:, None, None], np.sin(steering[:, wheel])[:, None, None]
            sideways = (x - at_x) * cosine + (y - at_y) * sine
            forward = (y - at_y) * cosine - (x - at_x) * sine
            near[(np.abs(sideways) <= self._wheel_size[0]) & (np.abs(forward) <= self._wheel_size[1])] = 0
        near[:, self._hull[self._near]] = HULL_COLOR


def _indicators(
    speeds: NDArray[np.floating[Any]], turns: NDArray[np.floating[Any]], steering: NDArray[Any], spins: NDArray[Any]
) -> NDArray[np.uint8]:
    """Returns the bars of speed, spins of the wheels, steering and turn, with smooth ends: uint8 (n, 12, 96, 3)."""
    unit = SIDE / 40
    bar = np.zeros((len(speeds), BAR, SIDE, 3))
    bottom = BAR - 1.0 - np.arange(BAR)
    values = [0.02 * speeds, *(0.01 * spins.T)]
    colors = [(255, 255, 255), (0, 0, 255), (0, 0, 255), (51, 0, 255), (51, 0, 255)]
    for place, value, color in zip((5, 7, 8, 9, 10), values, colors, strict=True):
        first, last = int(place * unit), math.ceil((place + 1) * unit)
        columns = _cover(np.arange(first, last), np.array([place * unit]), np.array([(place + 1) * unit]))
        rows = _cover(bottom, np.full(len(speeds), unit), unit + unit * value)
        bar[:, :, first:last] += rows[:, :, None, None] * columns[:, None, :, None] * np.array(color)
    rows = _cover(bottom, np.array([2 * unit]), np.array([4 * unit]))
    for place, value, color in ((20, -10.0 * steering, (0, 255, 0)), (30, -0.8 * turns, (255, 0, 0))):
        columns = _cover(np.arange(SIDE), np.full(len(speeds), place * unit), (place + value) * unit)
        bar += rows[:, :, None, None] * columns[:, None, :, None] * np.array(color)
    return np.minimum(bar, 255).astype(np.uint8)


def _cover(pixels: NDArray[Any], begins: NDArray[Any], ends: NDArray[Any]) -> NDArray[np.float64]:
    """Returns the share of each pixel, from its number to the next, that lies between two places: (n, pixels)."""
    low, high = np.minimum(begins, ends)[:, None], np.maximum(begins, ends)[:, None]
    share: NDArray[np.float64] = np.clip(np.minimum(high, pixels + 1.0) - np.maximum(low, pixels), 0.0, 1.0)
    return share


def _cross(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0])


def _inside(corners: NDArray[np.float64], x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Returns true for points in a convex polygon, of either sense."""
    following = np.roll(corners, -1, axis=0)
    sides = [(bx - ax) * (y - ay) - (by - ay) * (x - ax) for (ax, ay), (bx, by) in zip(corners, following, strict=True)]
    found: NDArray[np.bool_] = np.all([side >= 0 for side in sides], axis=0) | np.all([side <= 0 for side in sides], axis=0)
    return found

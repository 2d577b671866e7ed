"""Stacking: place boxes as high as they stand."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from .._arguments import whole
from ..scene import Body, Scene
from .single import WorldEnv
from .vector import Observations, Rows, Unpack, View, WorldOptions, WorldVectorEnv

REACH = 1.5
"""Largest distance of a placed box from the middle, m."""
TABLE = 1.5
"""Half width of the table, m."""
GAP = 0.02
"""Height from which a box falls, m."""
PARKED = -100.0
"""Height at which boxes wait, m."""
SIZES = np.array([(0.5, 0.15), (0.2, 0.3), (0.35, 0.2), (0.25, 0.25), (0.6, 0.12), (0.18, 0.4)])
"""Half widths and half heights of the boxes, m, in turns."""


def stacking_scene(boxes: int) -> Scene:
    """Returns a table and boxes that wait far below, held by a force."""
    scene = Scene("stacking", gravity=(0, -10), settings={"dt": 1 / 60, "length_unit": 1, "initial_loads": False})
    scene.add(Body.fixed(0, -0.5).half_box(TABLE, 0.5, friction=0.6))
    for box in range(boxes):
        width, height = SIZES[box % len(SIZES)]
        body = Body.dynamic(4.0 * box, PARKED).half_box(width, height, friction=0.6)
        scene.add(body.set(force=(0, 10 * 4 * width * height)))
    return scene


class StackingVector(WorldVectorEnv):
    """Many tables on which boxes are placed one by one, as high as they stand.

    - Action, float32 (worlds, 2): where the next box goes, −1 to 1: across, of 1.5 m, and its angle, of π/2. It falls
      from 2 cm above the highest point below it, and all move for 1.5 s.
    - Observation, float32 (worlds, 5 · boxes + 3): for each box x, y, cosine and sine of its angle, m, and 1 once it is
      placed (0 throughout for boxes that wait); half width and half height of the next box, m; height of the stack, m.
    - Reward: growth of the stack's height, m. A box that falls from the table ends the episode with −1; the last box
      ends it too. The sum is so the height of the stack.
    """

    metadata: dict[str, Any] = {**WorldVectorEnv.metadata, "render_fps": 1}
    steps_per_action: ClassVar[int] = 90
    picture_size: ClassVar[tuple[int, int]] = (400, 400)
    _kept = ("_order", "_placed", "_is_placed", "_height")

    def __init__(
        self,
        num_envs: int = 1,
        *,
        boxes: int = 8,
        **options: Unpack[WorldOptions],
    ) -> None:
        """
        - `boxes`: number of boxes, 1 to 64.
        - `options`: those of `WorldOptions`.
        """
        self.boxes = whole("boxes", boxes, 1, 64)
        options.setdefault("max_episode_steps", self.episode_steps)
        super().__init__(
            num_envs,
            stacking_scene(self.boxes),
            spaces.Box(-np.inf, np.inf, (5 * self.boxes + 3,), dtype=np.float32),
            spaces.Box(-1, 1, (2,), dtype=np.float32),
            **options,
        )
        count = self.num_envs
        self._sizes = SIZES[np.arange(self.boxes) % len(SIZES)]
        self._order = np.tile(np.arange(self.boxes), (count, 1))
        """Box that comes at each turn."""
        self._placed = np.zeros(count, dtype=np.int64)
        self._is_placed = np.zeros((count, self.boxes), dtype=np.bool_)
        self._height = np.zeros(count)

    def _spawn(self, rows: Rows) -> None:
        self.batch.reset(self._mask(rows))
        self._order[rows] = np.argsort(self._streams.uniform(rows, 0.0, 1.0, self.boxes), axis=1)
        self._placed[rows] = 0
        self._is_placed[rows] = False

    def _next(self, rows: Rows) -> NDArray[np.intp]:
        """Returns the box that is placed next in worlds."""
        turn = np.minimum(self._placed[rows], self.boxes - 1)
        return self._order[rows, turn]

    def _act(self, actions: NDArray[Any], active: NDArray[np.bool_]) -> None:
        count = self.num_envs
        box = self._next(self._everyone)
        x, angle = REACH * actions[:, 0], math.pi / 2 * actions[:, 1]
        half_width, half_height = _extent(self._sizes[box], angle)
        other_width, other_height = self._extents(self._everyone)
        centers = self.batch.positions[:, 1:]
        below = self._is_placed & (np.abs(centers[:, :, 0] - x[:, None]) < other_width + half_width[:, None])
        tops = np.where(below, centers[:, :, 1] + other_height, 0.0).max(axis=1, initial=0.0)
        positions = np.full((count, self.boxes + 1, 2), np.nan, dtype=np.float32)
        angles = np.full((count, self.boxes + 1), np.nan, dtype=np.float32)
        rows = np.flatnonzero(active)
        slots = box[rows] + 1
        positions[rows, slots] = np.stack([x, tops + half_height + GAP], axis=-1)[rows]
        angles[rows, slots] = angle[rows]
        self.batch.place(positions=positions, angles=angles)
        self.batch.forces[rows, slots] = 0.0
        self._is_placed[rows, box[rows]] = True
        self._placed[rows] += 1

    def _extents(self, rows: Rows) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return _extent(self._sizes, self.batch.angles[rows, 1:].astype(np.float64))

    def _observe(self, rows: Rows) -> Observations:
        angles = self.batch.angles[rows, 1:]
        placed = self._is_placed[rows]
        boxes = np.concatenate(
            [self.batch.positions[rows, 1:], np.stack([np.cos(angles), np.sin(angles)], -1), placed[:, :, None]], axis=2
        )
        boxes = np.where(placed[:, :, None], boxes, 0.0).reshape(len(rows), -1)
        size = self._sizes[self._next(rows)]
        return np.concatenate([boxes, size, self._height[rows, None]], axis=1).astype(np.float32)

    def _judge(self, rows: Rows, actions: NDArray[Any] | None) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        centers, placed = self.batch.positions[rows, 1:], self._is_placed[rows]
        _, half_heights = self._extents(rows)
        height = np.where(placed, centers[:, :, 1] + half_heights, 0.0).max(axis=1, initial=0.0)
        fell = (placed & (centers[:, :, 1] < 0.0)).any(axis=1)
        rewards = np.where(fell, -1.0, height - self._height[rows])
        self._height[rows] = height
        return rewards, fell | (self._placed[rows] >= self.boxes)

    def _view(self, world: int) -> View:
        return -2.0, -0.5, 2.0, 3.5


def _extent(
    sizes: NDArray[np.float64], angles: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns half width and half height of the bounding boxes of turned boxes, m."""
    cosine, sine = np.abs(np.cos(angles)), np.abs(np.sin(angles))
    width, height = sizes[..., 0], sizes[..., 1]
    return width * cosine + height * sine, width * sine + height * cosine


class Stacking(WorldEnv):
    """One table with boxes; see `StackingVector`."""

    metadata: dict[str, Any] = {**WorldEnv.metadata, "render_fps": 1}
    vector = StackingVector

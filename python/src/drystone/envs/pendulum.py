"""Pendulum, after `Pendulum-v1` of Gymnasium, of a body and a joint."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from .._arguments import number
from ..errors import ArgumentError
from ..scene import Body, Scene
from .cart_pole import HIDDEN
from .single import WorldEnv
from .vector import Observations, Rows, Unpack, View, WorldOptions, WorldVectorEnv

MAX_SPEED, MAX_TORQUE, LENGTH, MASS = 8.0, 2.0, 1.0, 1.0


def pendulum_scene(gravity: float) -> Scene:
    """Returns a rod on a hinge."""
    settings = {"dt": 0.05, "substeps": 8, "length_unit": 1, "max_spin": MAX_SPEED, "initial_loads": False}
    scene = Scene("pendulum", gravity=(0, -gravity), settings=settings)
    rod = Body.dynamic(0, LENGTH / 2).half_box(0.1, LENGTH / 2, filter=HIDDEN)
    body = scene.add(rod.set(mass=MASS, inertia=MASS * LENGTH**2 / 12))
    anchors: dict[str, Any] = {"anchor_a": (0, 0), "anchor_b": (0, -LENGTH / 2)}
    scene.join("revolute", body, reference_angle=0, hertz=40, damping_ratio=5, **anchors)
    return scene


class PendulumVector(WorldVectorEnv):
    """Many pendulums: observation, action and reward as Gymnasium's `Pendulum-v1`.

    - Observation, float32 (worlds, 3): cosine and sine of the angle from upright, angular velocity, rad/s.
    - Action, float32 (worlds, 1): torque, −2 to 2 N·m.
    - Reward: −(angle² + 0.1 speed² + 0.001 torque²) of the state in which the action is taken.
    - Options of `reset`: `x_init` and `y_init`, largest angle, rad, and angular velocity, rad/s, with which an episode
      begins, to either side, by default π and 1.
    """

    metadata: dict[str, Any] = {**WorldVectorEnv.metadata, "render_fps": 20}
    picture_size: ClassVar[tuple[int, int]] = (500, 500)
    episode_steps = 200
    start_options: ClassVar[Mapping[str, float]] = {"x_init": math.pi, "y_init": 1.0}
    _kept = ("_cost",)

    def __init__(
        self,
        num_envs: int = 1,
        *,
        g: float = 10.0,
        **options: Unpack[WorldOptions],
    ) -> None:
        """
        - `g`: gravity, m/s².
        - `options`: those of `WorldOptions`.
        """
        high = np.array([1.0, 1.0, MAX_SPEED], dtype=np.float32)
        options.setdefault("max_episode_steps", self.episode_steps)
        super().__init__(
            num_envs,
            pendulum_scene(number("g", g)),
            spaces.Box(-high, high, dtype=np.float32),
            spaces.Box(-MAX_TORQUE, MAX_TORQUE, (1,), dtype=np.float32),
            **options,
        )
        self._cost = np.zeros(self.num_envs)

    @classmethod
    def _checked_starts(cls, options: Mapping[str, Any]) -> dict[str, float]:
        starts = super()._checked_starts(options)
        for name, value in starts.items():
            if value < 0.0:
                raise ArgumentError(f"options['{name}']", f"is {value}", "a number of at least 0")
        return starts

    def _spawn(self, rows: Rows) -> None:
        self._start(rows, self._streams.uniform(rows, -1.0, 1.0, 2) * self._starts[rows])

    def _start(self, rows: Rows, states: NDArray[np.float64]) -> None:
        """Puts worlds to states: angle, angular velocity, (n, 2)."""
        angle, spin = states.T
        arm = LENGTH / 2 * np.stack([-np.sin(angle), np.cos(angle)], axis=-1)
        turned = np.stack([-arm[:, 1], arm[:, 0]], axis=-1)
        self._vary(
            rows,
            positions=arm[:, None],
            angles=angle[:, None],
            velocities=(spin[:, None] * turned)[:, None],
            angular_velocities=spin[:, None],
        )

    def _act(self, actions: NDArray[Any], active: NDArray[np.bool_]) -> None:
        torque = actions[:, 0] * active
        angle, spin = self.batch.angles[:, 0].astype(np.float64), self.batch.angular_velocities[:, 0]
        self._cost = np.square(angle) + 0.1 * np.square(spin, dtype=np.float64) + 0.001 * np.square(torque)
        self.batch.torques[:, 0] = torque

    def _observe(self, rows: Rows) -> Observations:
        angle, spin = self.batch.angles[rows, 0], self.batch.angular_velocities[rows, 0]
        limited = np.clip(spin, -MAX_SPEED, MAX_SPEED)
        return np.stack([np.cos(angle), np.sin(angle), limited], axis=-1).astype(np.float32)

    def _judge(self, rows: Rows, actions: NDArray[Any] | None) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        return -self._cost[rows], np.zeros(len(rows), dtype=np.bool_)

    def _view(self, world: int) -> View:
        return -1.4, -1.4, 1.4, 1.4


class Pendulum(WorldEnv):
    """One pendulum; see `PendulumVector`."""

    metadata: dict[str, Any] = {**WorldEnv.metadata, "render_fps": 20}
    vector = PendulumVector

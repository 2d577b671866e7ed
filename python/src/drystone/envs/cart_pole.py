"""Cart and pole, after `CartPole-v1` of Gymnasium (Barto, Sutton and Anderson 1983), of bodies and joints."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ..errors import ArgumentError
from ..scene import Body, Scene
from .single import WorldEnv
from .vector import Observations, Rows, Unpack, View, WorldOptions, WorldVectorEnv

FORCE, HALF_LENGTH, CART_MASS, POLE_MASS = 10.0, 0.5, 1.0, 0.1
MAX_X, MAX_ANGLE = 2.4, math.radians(12)
HIDDEN = {"category": 0x8000, "mask": 0}
"""Filter of shapes that touch nothing."""


def cart_pole_scene() -> Scene:
    """Returns a cart on a rail and a pole on a hinge."""
    settings = {"dt": 0.02, "substeps": 4, "length_unit": 1, "initial_loads": False}
    scene = Scene("cart_pole", gravity=(0, -9.8), settings=settings)
    rail = scene.add(Body.fixed().segment((-MAX_X, -0.125), (MAX_X, -0.125), filter=HIDDEN))
    cart = scene.add(Body.dynamic().half_box(0.2, 0.12, filter=HIDDEN).mass(CART_MASS))
    inertia = POLE_MASS * (2 * HALF_LENGTH) ** 2 / 12
    pole = Body.dynamic(0, HALF_LENGTH).half_box(0.04, HALF_LENGTH, filter=HIDDEN).set(mass=POLE_MASS, inertia=inertia)
    top = scene.add(pole)
    stiff = {"hertz": 50, "damping_ratio": 5}
    scene.join("prismatic", cart, rail, axis=(1, 0), reference_angle=0, **stiff)
    scene.join("revolute", top, cart, anchor_a=(0, 0), anchor_b=(0, -HALF_LENGTH), reference_angle=0, **stiff)
    return scene


class CartPoleVector(WorldVectorEnv):
    """Many carts with a pole: observation, action, reward and end of an episode as Gymnasium's `CartPole-v1`.

    - Observation, float32 (worlds, 4): position of the cart, m, velocity, m/s, angle of the pole from upright,
      clockwise, rad, angular velocity, rad/s.
    - Action: 0 pushes the cart to the left, 1 to the right, with 10 N.
    - Reward: 1 for each step. The episode ends with the cart beyond 2.4 m or the pole beyond 12°.
    - Options of `reset`: `low` and `high`, bounds of the four numbers with which an episode begins, by default −0.05 and
      0.05.
    """

    episode_steps = 500
    start_options: ClassVar[Mapping[str, float]] = {"low": -0.05, "high": 0.05}

    def __init__(
        self,
        num_envs: int = 1,
        *,
        sutton_barto_reward: bool = False,
        **options: Unpack[WorldOptions],
    ) -> None:
        """
        - `sutton_barto_reward`: reward 0 for each step and −1 for the last one.
        - `options`: those of `WorldOptions`.
        """
        self._sutton_barto_reward = bool(sutton_barto_reward)
        high = np.array([MAX_X * 2, np.inf, MAX_ANGLE * 2, np.inf], dtype=np.float32)
        options.setdefault("max_episode_steps", self.episode_steps)
        super().__init__(
            num_envs,
            cart_pole_scene(),
            spaces.Box(-high, high, dtype=np.float32),
            spaces.Discrete(2),
            **options,
        )

    @classmethod
    def _checked_starts(cls, options: Mapping[str, Any]) -> dict[str, float]:
        starts = super()._checked_starts(options)
        low, high = starts["low"], starts["high"]
        if low > high:
            raise ArgumentError("options['low']", f"is {low}", f"a number of at most {high}, which is options['high']")
        return starts

    def _spawn(self, rows: Rows) -> None:
        low, high = self._starts[rows].T[:, :, None]
        self._start(rows, self._streams.uniform(rows, low, high, 4))

    def _start(self, rows: Rows, states: NDArray[np.float64]) -> None:
        """Puts worlds to states: position, velocity, angle, angular velocity, (n, 4)."""
        x, speed, angle, spin = states.T
        bodies = np.full((len(rows), 3, 6), np.nan)
        zero = np.zeros_like(x)
        bodies[:, 1] = np.stack([x, zero, zero, speed, zero, zero], axis=-1)
        lean, rise = HALF_LENGTH * np.sin(angle), HALF_LENGTH * np.cos(angle)
        bodies[:, 2] = np.stack([x + lean, rise, -angle, speed + spin * rise, -spin * lean, -spin], axis=-1)
        self._vary(
            rows,
            positions=bodies[:, :, :2],
            angles=bodies[:, :, 2],
            velocities=bodies[:, :, 3:5],
            angular_velocities=bodies[:, :, 5],
        )

    def _act(self, actions: NDArray[Any], active: NDArray[np.bool_]) -> None:
        self.batch.forces[:, 1, 0] = np.where(actions == 1, FORCE, -FORCE) * active

    def _observe(self, rows: Rows) -> Observations:
        return np.stack(
            [
                self.batch.positions[rows, 1, 0],
                self.batch.velocities[rows, 1, 0],
                -self.batch.angles[rows, 2],
                -self.batch.angular_velocities[rows, 2],
            ],
            axis=-1,
        ).astype(np.float32)

    def _judge(self, rows: Rows, actions: NDArray[Any] | None) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        ended = np.abs(self.batch.positions[rows, 1, 0]) > MAX_X
        ended = ended | (np.abs(self.batch.angles[rows, 2]) > MAX_ANGLE)
        rewards = np.where(ended, -1.0, 0.0) if self._sutton_barto_reward else np.ones(len(rows))
        return rewards, ended

    def _view(self, world: int) -> View:
        return -MAX_X, -0.8, MAX_X, 2.4


class CartPole(WorldEnv):
    """One cart with a pole; see `CartPoleVector`."""

    vector = CartPoleVector

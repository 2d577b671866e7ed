"""Lunar lander, after `LunarLander-v3` of Gymnasium by Oleg Klimov."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from .._arguments import number
from ..errors import ArgumentError
from ..scene import Body, Scene
from .single import WorldEnv
from .vector import Observations, Rows, Unpack, View, WorldOptions, WorldVectorEnv

FPS = 50
SCALE = 30.0
"""Pixels a metre in the original, which gives its lengths in pixels."""
WIDTH, HEIGHT = 600 / SCALE, 400 / SCALE
PAD_HEIGHT = HEIGHT / 4
CHUNKS = 11
LEG_DOWN = 18 / SCALE
MAIN_POWER, SIDE_POWER = 13.0, 0.6
MAIN_AWAY, SIDE_AWAY, SIDE_UP, SIDE_UP_X = 4 / SCALE, 12 / SCALE, 14 / SCALE, 17 / SCALE
LANDER = np.array([(-14, 17), (-17, 0), (-17, -10), (17, -10), (17, 0), (14, 17)]) / SCALE
LEG_INERTIA, LANDER_INERTIA = 0.06, 0.8333 - 2 * (0.06 - 0.00179)
"""Inertias, kg·m². The original's legs have 0.00179, far from their hinges: so light that few sweeps cannot hold
them. What the legs have more, the lander has less, so that the craft turns as the original's."""
LEG_SPRING = {"hertz": 6, "damping_ratio": 1}
"""Springs of the legs, in place of the original's motors of 40 N·m, which hold a leg at its limit until more presses on
it: at the limit they press with 33 N·m, so that the craft is as easily wrecked. Without engines and upright it is from
1.4 m/s on, the original from 1.2 m/s on."""
LANDER_CENTER = 0.101307
"""Height of the lander's centre of mass above its origin, m."""

# The original makes the legs 0.6 m above their hinges and lets one step of Box2D pull them together. Here worlds begin
# as Box2D leaves them: constants and shares of the lander's velocity, fitted to 400 resets (residual 2e-5 and less).
# Rows: x, y, angle, velocity x, velocity y, angular velocity; columns: constant, times velocity x, times velocity y.
LANDER_START = np.array(
    [
        [WIDTH / 2, 0.01975, 0.0],
        [13.33947, 0.0, 0.02],
        [0.00001, -0.00229, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, 0.0, 1.0],
        [0.0, -0.11326, 0.0],
    ]
)
LEG_STARTS = np.array(
    [
        [
            [0.87098, -0.00064, 0.0],
            [-0.21400, -0.00258, 0.0],
            [0.49188, -0.00068, 0.0],
            [0.0, -0.08312, 0.0],
            [0.0, -0.07201, 0.0],
            [0.0, 0.0, 0.0],
        ],
        [
            [-0.87104, -0.00063, 0.0],
            [-0.21377, 0.00259, 0.0],
            [-0.49215, -0.00068, 0.0],
            [0.0, -0.08312, 0.0],
            [0.0, 0.07201, 0.0],
            [0.0, 0.0, 0.0],
        ],
    ]
)
"""Starts of the legs relative to that of the lander."""
PUSH = np.array([4.0427988, 4.0331613])
"""Largest velocity that the random force of the first step gives, m/s."""
REST_SPEED, REST_SPIN, REST_TIME = 0.01, math.radians(2), 0.5
"""Box2D's tolerances of sleep, m/s and rad/s, and the time below them, s."""


def lander_scene(gravity: float) -> Scene:
    """Returns moon, lander and legs."""
    settings = {"dt": 1 / FPS, "substeps": 4, "length_unit": 1, "initial_loads": False, "events": True}
    scene = Scene("lunar_lander", gravity=(0, gravity), settings=settings)
    ground = Body.fixed().segment((0, 0), (WIDTH, 0), friction=0.2)
    for chunk in range(CHUNKS - 1):
        ends = [(WIDTH * place / (CHUNKS - 1), PAD_HEIGHT) for place in (chunk, chunk + 1)]
        ground = ground.segment(*ends, friction=0.1)
    scene.add(ground.set(color_index=7))
    craft = {"category": 0x10, "mask": 0x1}
    body = Body.dynamic(WIDTH / 2, HEIGHT).polygon([tuple(point) for point in LANDER], density=5, friction=0.1, filter=craft)
    lander = scene.add(body.set(inertia=LANDER_INERTIA))
    for side in (-1, 1):
        leg = Body.dynamic(WIDTH / 2, HEIGHT).half_box(
            2 / SCALE, 8 / SCALE, density=1, friction=0.2, filter={"category": 0x20, "mask": 0x1}
        )
        limits = (0.4, 0.9) if side < 0 else (-0.9, -0.4)
        scene.join(
            "revolute",
            scene.add(leg.set(inertia=LEG_INERTIA)),
            lander,
            anchor_a=(0, 0),
            anchor_b=(side * 20 / SCALE, LEG_DOWN),
            reference_angle=0.05 * side,
            limits=limits,
            spring=LEG_SPRING | {"target": -0.2 * side},
        )
    return scene


class LunarLanderVector(WorldVectorEnv):
    """Many lunar landers: observation, action, reward and end of an episode as Gymnasium's `LunarLander-v3`.

    - Observation, float32 (worlds, 8): x and y from the pad, in half widths and half heights of the picture;
      velocities; angle, rad; 0.4 × angular velocity; 1 for each leg that touches.
    - Action: 0 nothing, 1 left, 2 main, 3 right engine. If `continuous`, float32 (worlds, 2): main engine, 0 to 1 for
      50 to 100 %; side engines, from ±0.5 to ±1 for 50 to 100 %.
    - Reward: change of the shaping (distance, speed, tilt, 10 for each leg), −0.3 and −0.03 for the engines; −100 for a
      crash or for leaving the picture, +100 for rest.
    """

    episode_steps = 1000
    _kept = ("_shaping", "_angle", "_touching", "_rest", "_fuel", "_wind")

    def __init__(
        self,
        num_envs: int = 1,
        *,
        continuous: bool = False,
        gravity: float = -10.0,
        enable_wind: bool = False,
        wind_power: float = 15.0,
        turbulence_power: float = 1.5,
        **options: Unpack[WorldOptions],
    ) -> None:
        """
        - `continuous`, `gravity` (−12 to 0, m/s²), `enable_wind`, `wind_power` (N), `turbulence_power` (N·m): as the
          original's.
        - `options`: those of `WorldOptions`.
        """
        if not -12.0 < number("gravity", gravity) < 0.0:
            raise ArgumentError("gravity", f"is {gravity}", "a number between -12 and 0")
        self.continuous = bool(continuous)
        self.enable_wind = bool(enable_wind)
        self.wind_power = number("wind_power", wind_power)
        self.turbulence_power = number("turbulence_power", turbulence_power)
        high = np.array([2.5, 2.5, 10.0, 10.0, 2 * math.pi, 10.0, 1.0, 1.0], dtype=np.float32)
        low = -high
        low[6:] = -0.0
        options.setdefault("max_episode_steps", self.episode_steps)
        super().__init__(
            num_envs,
            lander_scene(gravity),
            spaces.Box(low, high),
            spaces.Box(-1, 1, (2,), dtype=np.float32) if self.continuous else spaces.Discrete(4),
            **options,
        )
        count = self.num_envs
        self._shaping = np.zeros(count)
        self._angle = np.zeros(count)
        """Angle of the lander with full turns, rad."""
        self._touching = np.zeros((count, 4), dtype=np.bool_)
        self._rest = np.zeros(count)
        """Time for which the craft has been at rest, s."""
        self._fuel = np.zeros(count)
        self._wind = np.zeros((count, 2))
        self._impulses = np.zeros((count, 4, 2), dtype=np.float32)
        self._twists = np.zeros((count, 4), dtype=np.float32)

    def _spawn(self, rows: Rows) -> None:
        count = len(rows)
        drawn = self._streams.uniform(rows, 0.0, 1.0, CHUNKS + 5)
        heights = drawn[:, : CHUNKS + 1] * (HEIGHT / 2)
        middle = CHUNKS // 2
        heights[:, middle - 2 : middle + 3] = PAD_HEIGHT
        # The original's first height has the last one for a neighbour.
        smooth = 0.33 * (np.roll(heights, 1, axis=1) + heights + np.roll(heights, -1, axis=1))[:, :CHUNKS]
        across = np.broadcast_to(np.linspace(0, WIDTH, CHUNKS), (count, CHUNKS))
        segments = np.full((count, CHUNKS, 4), np.nan)
        segments[:, 1:] = np.stack([across[:, :-1], smooth[:, :-1], across[:, 1:], smooth[:, 1:]], axis=-1)
        velocity = (2 * drawn[:, CHUNKS + 1 : CHUNKS + 3] - 1) * PUSH + (0.0, -0.2)
        start = np.column_stack([np.ones(count), velocity])
        lander = start @ LANDER_START.T
        bodies = np.full((count, 4, 6), np.nan)
        bodies[:, 1] = lander
        bodies[:, 2:] = lander[:, None] + np.einsum("nk,lvk->nlv", start, LEG_STARTS)
        self._vary(
            rows,
            positions=bodies[:, :, :2],
            angles=bodies[:, :, 2],
            velocities=bodies[:, :, 3:5],
            angular_velocities=bodies[:, :, 5],
            segments=segments,
        )
        self._angle[rows] = lander[:, 2]
        self._touching[rows] = False
        self._rest[rows] = 0.0
        self._wind[rows] = np.floor(drawn[:, CHUNKS + 3 :] * 2 * 9999) - 9999

    def _act(self, actions: NDArray[Any], active: NDArray[np.bool_]) -> None:
        tip = np.stack([np.sin(self._angle), np.cos(self._angle)], axis=-1)
        side = np.stack([-tip[:, 1], tip[:, 0]], axis=-1)
        noise = self._streams.uniform(slice(None), -1.0 / SCALE, 1.0 / SCALE, 2)
        if self.continuous:
            main = np.where(actions[:, 0] > 0.0, (np.clip(actions[:, 0], 0.0, 1.0) + 1.0) * 0.5, 0.0)
            sideways = np.where(np.abs(actions[:, 1]) > 0.5, np.clip(np.abs(actions[:, 1]), 0.5, 1.0), 0.0)
            direction = np.sign(actions[:, 1])
        else:
            main = (actions == 2).astype(np.float64)
            sideways = ((actions == 1) | (actions == 3)).astype(np.float64)
            direction = actions - 2.0
        main, sideways = main * active, sideways * active
        flip = np.array([1.0, -1.0])
        along = (MAIN_AWAY + 2 * noise[:, :1]) * tip + noise[:, 1:] * side
        thrust = along * flip
        push = -thrust * (MAIN_POWER * main)[:, None]
        across = noise[:, :1] * tip + (3 * noise[:, 1:] + direction[:, None] * SIDE_AWAY) * side
        jet = across * flip
        # The original takes 17 for x and 14 for y, so that the lever depends on the angle.
        point = jet + np.stack([-tip[:, 0] * SIDE_UP_X, tip[:, 1] * SIDE_UP], axis=-1)
        shove = -jet * (SIDE_POWER * sideways)[:, None]
        center = LANDER_CENTER * tip * (-1.0, 1.0)
        self._impulses[:, 1] = push + shove
        self._twists[:, 1] = _cross(thrust - center, push) + _cross(point - center, shove)
        if self.enable_wind:
            flying = active & ~self._touching[:, 2:].any(axis=1)
            gust = np.tanh(np.sin(0.02 * self._wind) + np.sin(math.pi * 0.01 * self._wind))
            self._impulses[:, 1, 0] += gust[:, 0] * self.wind_power / FPS * flying
            self._twists[:, 1] += gust[:, 1] * self.turbulence_power / FPS * flying
            self._wind += flying[:, None]
        self.batch.push(self._impulses, self._twists)
        self._fuel = 0.3 * main + 0.03 * sideways

    def _observe(self, rows: Rows) -> Observations:
        position, velocity = self.batch.positions[rows, 1], self.batch.velocities[rows, 1]
        seen = np.empty((len(rows), 8), dtype=np.float32)
        seen[:, 0] = (position[:, 0] - WIDTH / 2) / (WIDTH / 2)
        seen[:, 1] = (position[:, 1] - (PAD_HEIGHT + LEG_DOWN)) / (HEIGHT / 2)
        seen[:, 2] = velocity[:, 0] * (WIDTH / 2 / FPS)
        seen[:, 3] = velocity[:, 1] * (HEIGHT / 2 / FPS)
        seen[:, 4] = self._angle[rows]
        seen[:, 5] = self.batch.angular_velocities[rows, 1] * (20.0 / FPS)
        seen[:, 6:] = self._touching[rows, 2:]
        return seen

    def _judge(self, rows: Rows, actions: NDArray[Any] | None) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        if actions is not None:
            self._follow()
        seen = self._observe(rows).astype(np.float64)
        shaping = lander_shaping(seen)
        rewards = shaping - self._shaping[rows] - self._fuel[rows]
        self._shaping[rows] = shaping
        lost = self._touching[rows, 1] | (np.abs(seen[:, 0]) >= 1.0)
        rests = self._rest[rows] >= REST_TIME - 1e-6
        rewards[lost] = -100.0
        rewards[rests] = 100.0
        return rewards, lost | rests

    def _follow(self) -> None:
        """Updates what is kept of the worlds after a step."""
        turned = self.batch.angles[:, 1] - self._angle
        self._angle += turned - 2 * math.pi * np.round(turned / (2 * math.pi))
        self._touching = self.batch.touching
        speeds = self.batch.velocities[:, 1:]
        moves = (np.square(speeds).sum(axis=2) > REST_SPEED**2).any(axis=1)
        moves |= (np.abs(self.batch.angular_velocities[:, 1:]) > REST_SPIN).any(axis=1)
        self._rest = np.where(moves, 0.0, self._rest + 1 / FPS)

    def _view(self, world: int) -> View:
        return 0.0, 0.0, WIDTH, HEIGHT


def lander_shaping(seen: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the potential whose changes are the reward: float64 (worlds,) from observations (worlds, 8)."""
    distance = np.hypot(seen[:, 0], seen[:, 1])
    speed = np.hypot(seen[:, 2], seen[:, 3])
    shaping: NDArray[np.float64] = -100 * (distance + speed + np.abs(seen[:, 4])) + 10 * (seen[:, 6] + seen[:, 7])
    return shaping


def _cross(lever: NDArray[Any], force: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(lever[:, 0] * force[:, 1] - lever[:, 1] * force[:, 0])


class LunarLander(WorldEnv):
    """One lunar lander; see `LunarLanderVector`."""

    vector = LunarLanderVector

    @property
    def continuous(self) -> bool:
        """True if the engines have throttles, as heuristics of Gymnasium ask."""
        return bool(self.worlds.continuous)  # type: ignore[attr-defined]

"""Bipedal walker, after `BipedalWalker-v3` of Gymnasium by Oleg Klimov."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ..scene import Body, Scene
from .hinges import driven_hinge
from .single import WorldEnv
from .vector import Observations, Rows, Unpack, View, WorldOptions, WorldVectorEnv

FPS = 50
SCALE = 30.0
"""Pixels a metre in the original, which gives its lengths in pixels."""
WIDTH, HEIGHT = 600 / SCALE, 400 / SCALE
MOTOR_TORQUE, HIP_SPEED, KNEE_SPEED = 80.0, 4.0, 6.0
LIDAR_RANGE, LIDAR_RAYS = 160 / SCALE, 10
LEG_DOWN, LEG_WIDTH, LEG_HEIGHT = -8 / SCALE, 8 / SCALE, 34 / SCALE
STRIDE, LENGTH, GRASS, START_PAD = 14 / SCALE, 200, 10, 20
GROUND = HEIGHT / 4
HULL = np.array([(-30, -8), (34, -8), (34, 1), (6, 9), (-30, 9)]) / SCALE
SKIN = 0.02
"""Distance at which Box2D keeps legs from the ground, m."""
SPLAY = 0.05
"""Angle of the hips, to each side, that counts as 0, rad."""

# The original makes the legs 0.53 m above their hips, with the feet in the ground, and lets Box2D pull all together,
# which folds the knees within two steps. Here worlds begin as Box2D leaves them after the reset and a step without
# action, fitted to 200 resets (residual 4 mm, 0.01 rad and less). A row for the hull, the first upper and lower leg,
# the second; columns: x, y, angle, velocity x, velocity y, angular velocity.
START = np.array(
    [
        [4.64806, 5.73251, -0.00523, -0.03029, -0.01633, 0.00008],
        [4.85623, 4.94014, 0.38027, 0.12548, -0.00845, 0.27523],
        [4.79293, 3.91773, -0.50394, 0.14285, 0.01283, -0.24469],
        [4.85846, 4.9402, 0.383, 0.13018, -0.00265, 0.28418],
        [4.79876, 3.91759, -0.49957, 0.14717, 0.01823, -0.25352],
    ]
)
START_BY_PUSH = np.array(
    [
        [0.04175, 0.01005, 0.00048, 1.00304, 0.07659, -0.02451],
        [0.02289, 0.00283, -0.03555, 0.35332, 0.03846, -1.13735],
        [-0.00091, -0.00186, -0.01026, -0.14768, -0.0135, 0.24879],
        [0.02478, 0.00313, -0.03256, 0.5345, 0.03336, -0.81901],
        [0.00133, -0.0002, -0.01275, 0.03623, 0.0035, -0.06425],
    ]
)
"""Changes of the start with the velocity of the hull, by m/s."""
PUSH = 0.01768
"""Largest velocity that the random force of the first step gives the hull, m/s."""
RAYS = np.stack([np.sin(1.5 * np.arange(10) / 10), -np.cos(1.5 * np.arange(10) / 10)], axis=-1) * LIDAR_RANGE


GRASS_STRETCH, STUMP, STAIRS, PIT = range(4)
"""Kinds of stretches of the ground."""
OBSTACLE_EDGES = 120
"""Room for edges of obstacles. Stairs have the most: 12 for each 21 steps of ground, so at most 115."""
PIT_DEPTH = 4 * STRIDE
PARKED = -50.0
"""Height of edges that a ground does not need, m."""


def walker_scene(hardcore: bool = False) -> Scene:
    """Returns the ground, the hull and two legs of two parts each. `hardcore`: with edges for obstacles."""
    settings = {"dt": 1 / FPS, "mode": "baumgarte", "iterations": 40, "events": True}
    scene = Scene("bipedal_walker", gravity=(0, -10), settings=settings)
    ground = Body.fixed().set(color_index=7)
    for step in range(LENGTH - 1):
        ground = ground.segment((step * STRIDE, GROUND), ((step + 1) * STRIDE, GROUND), friction=2.5)
    for edge in range(OBSTACLE_EDGES if hardcore else 0):
        ground = ground.segment((edge * STRIDE, PARKED), ((edge + 1) * STRIDE, PARKED), friction=2.5)
    scene.add(ground)
    part: dict[str, Any] = {"filter": {"category": 0x20, "mask": 0x1}}
    x, y = START[0, :2]
    hull = scene.add(Body.dynamic(x, y).polygon([tuple(point) for point in HULL], density=5, friction=0.1, **part))
    for side in (-1, 1):
        upper, lower = (
            scene.add(
                Body.dynamic(x, y)
                .half_box(width, LEG_HEIGHT / 2, radius=SKIN, friction=0.2, **part)
                .set(mass=mass, inertia=mass * (4 * width**2 + LEG_HEIGHT**2) / 12)
            )
            for width, mass in ((LEG_WIDTH / 2, LEG_WIDTH * LEG_HEIGHT), (0.4 * LEG_WIDTH, 0.8 * LEG_WIDTH * LEG_HEIGHT))
        )
        motor = {"speed": 0.0, "max": 0.0}
        top, foot = (0, LEG_HEIGHT / 2), (0, -LEG_HEIGHT / 2)
        hip = {"anchor_a": (0, LEG_DOWN), "anchor_b": top, "reference_angle": SPLAY * side}
        driven_hinge(scene, upper, hull, (-0.8, 1.1), motor, hip)
        knee = {"anchor_a": foot, "anchor_b": top, "reference_angle": 0}
        driven_hinge(scene, lower, upper, (-1.6, -0.1), motor, knee)
    return scene


class BipedalWalkerVector(WorldVectorEnv):
    """Many bipedal walkers: observation, action, reward and end of an episode as Gymnasium's `BipedalWalker-v3`.

    - Observation, float32 (worlds, 24): angle, angular velocity and velocities of the hull, scaled; for each leg angle
      and speed of hip and knee, and 1 if the foot touches; fractions of 10 rays to the ground.
    - Action, float32 (worlds, 4): torques of hip, knee, hip, knee as shares of 80 N·m, −1 to 1.
    - Reward: 4.33 a metre forward, less for a tilt of the hull and for torque; −100 for a fall.

    If `hardcore`, the ground has stumps, stairs and pits, as that of `BipedalWalkerHardcore-v3`; episodes have 2000 steps.
    """

    episode_steps = 1600
    _kept = ("_shaping", "_angle", "_heights", "_touching")

    def __init__(
        self,
        num_envs: int = 1,
        *,
        hardcore: bool = False,
        **options: Unpack[WorldOptions],
    ) -> None:
        """
        - `hardcore`: a ground with stumps, stairs and pits. `max_episode_steps` is then 2000 by default.
        - `options`: those of `WorldOptions`.
        """
        leg = [math.pi, 5.0, math.pi, 5.0, 5.0]
        high = np.array([math.pi, 5.0, 5.0, 5.0, *leg, *leg, *[1.0] * LIDAR_RAYS], dtype=np.float32)
        low = -high
        low[[8, 13]] = -0.0
        self.hardcore = bool(hardcore)
        options.setdefault("max_episode_steps", 2000 if self.hardcore else self.episode_steps)
        super().__init__(
            num_envs,
            walker_scene(self.hardcore),
            spaces.Box(low, high),
            spaces.Box(-1, 1, (4,), dtype=np.float32),
            **options,
        )
        self._shaping = np.zeros(self.num_envs)
        self._angle = np.zeros(self.num_envs)
        self._heights = np.zeros((self.num_envs, LENGTH), dtype=np.float32)
        self._touching = np.zeros((self.num_envs, 6), dtype=np.bool_)
        self._speeds = np.full((self.num_envs, 8), np.nan, dtype=np.float32)
        self._strengths = np.full((self.num_envs, 8), np.nan, dtype=np.float32)

    def _spawn(self, rows: Rows) -> None:
        count = len(rows)
        drawn = self._streams.uniform(rows, 0.0, 1.0, (5 if self.hardcore else 2) * LENGTH + 1)
        noise, stretches = 2 * drawn[:, :LENGTH] - 1, drawn[:, LENGTH : 2 * LENGTH]
        if self.hardcore:
            choices = drawn[:, 2 * LENGTH : -1].reshape(count, 3, LENGTH)
            heights, obstacles = hardcore_ground(noise, stretches, *np.moveaxis(choices, 1, 0))
        else:
            heights, obstacles = walker_ground(noise, stretches), np.empty((count, 0, 4))
        self._heights[rows] = heights
        across = np.broadcast_to(np.arange(LENGTH) * STRIDE, heights.shape)
        segments = np.stack([across[:, :-1], heights[:, :-1], across[:, 1:], heights[:, 1:]], axis=-1)
        segments = np.concatenate([segments, obstacles], axis=1)
        bodies = np.full((count, 6, 6), np.nan)
        bodies[:, 1:] = START + (PUSH * (2 * drawn[:, -1] - 1))[:, None, None] * START_BY_PUSH
        self._vary(
            rows,
            positions=bodies[:, :, :2],
            angles=bodies[:, :, 2],
            velocities=bodies[:, :, 3:5],
            angular_velocities=bodies[:, :, 5],
            segments=segments,
        )
        self._angle[rows] = bodies[:, 1, 2]
        self._touching[rows] = [False, False, False, True, False, True]

    def _act(self, actions: NDArray[Any], active: NDArray[np.bool_]) -> None:
        # Every second joint is one of limits.
        self._speeds[:, ::2] = np.sign(actions) * (HIP_SPEED, KNEE_SPEED, HIP_SPEED, KNEE_SPEED)
        self._strengths[:, ::2] = MOTOR_TORQUE * np.abs(actions) * active[:, None]
        self.batch.drive(self._speeds, self._strengths)

    def _observe(self, rows: Rows) -> Observations:
        hull, velocity = self.batch.positions[rows, 1], self.batch.velocities[rows, 1]
        angles, spins = self.batch.angles[rows, 1:], self.batch.angular_velocities[rows, 1:]
        seen = np.empty((len(rows), 24), dtype=np.float32)
        seen[:, 0] = self._angle[rows]
        seen[:, 1] = spins[:, 0] * (2.0 / FPS)
        seen[:, 2] = velocity[:, 0] * (0.3 * WIDTH / FPS)
        seen[:, 3] = velocity[:, 1] * (0.3 * HEIGHT / FPS)
        for leg, place, splay in ((1, 4, -SPLAY), (3, 9, SPLAY)):
            hip, knee = angles[:, leg] - angles[:, 0] - splay, angles[:, leg + 1] - angles[:, leg]
            seen[:, place] = _near(hip)
            seen[:, place + 1] = (spins[:, leg] - spins[:, 0]) / HIP_SPEED
            seen[:, place + 2] = _near(knee) + 1.0
            seen[:, place + 3] = (spins[:, leg + 1] - spins[:, leg]) / KNEE_SPEED
            seen[:, place + 4] = self._touching[rows, leg + 2]
        seen[:, 14:] = self._lidar(rows, hull)
        return seen

    def _lidar(self, rows: Rows, hull: NDArray[np.float32]) -> NDArray[np.float32]:
        """Returns the fractions of the rays at which they meet the ground; 1 where they do not: float32 (n, 10)."""
        if self.hardcore:
            everywhere = self.batch.positions[:, 1, None]
            rays = np.concatenate([np.broadcast_to(everywhere, (self.num_envs, LIDAR_RAYS, 2)), everywhere + RAYS], axis=2)
            return self.batch.query(rays, category=2, mask=1).fraction[rows]
        # The ground alone is a row of heights, so that no query is needed: each ray meets one of the next 13 segments.
        first = np.clip((hull[:, 0] / STRIDE).astype(np.int64), 0, LENGTH - 1)
        place = np.minimum(first[:, None] + np.arange(14), LENGTH - 1)
        x = (place * STRIDE).astype(np.float32) - hull[:, :1]
        y = self._heights[rows[:, None], place] - hull[:, 1:]
        across, up = RAYS.astype(np.float32).T[:, None, :, None]
        side = across * y[:, None] - up * x[:, None]
        step_x, step_y = np.diff(x), np.diff(y)
        reach = (x[:, :-1] * step_y - y[:, :-1] * step_x)[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            share = reach / (across * step_y[:, None] - up * step_x[:, None])
        meets = (side[..., :-1] * side[..., 1:] <= 0.0) & (share >= 0.0)
        found: NDArray[np.float32] = np.where(meets, share, 1.0).min(axis=2, initial=1.0).astype(np.float32)
        return found

    def _judge(self, rows: Rows, actions: NDArray[Any] | None) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        if actions is not None:
            turned = self.batch.angles[:, 1] - self._angle
            self._angle += _near(turned)
            self._touching = self.batch.touching
        x = self.batch.positions[rows, 1, 0].astype(np.float64)
        shaping = 130 * x / SCALE - 5.0 * np.abs(self._angle[rows])
        rewards = shaping - self._shaping[rows]
        self._shaping[rows] = shaping
        if actions is not None:
            rewards -= 0.00035 * MOTOR_TORQUE * np.abs(actions[rows]).sum(axis=1)
        lost = self._touching[rows, 1] | (x < 0)
        rewards[lost] = -100.0
        return rewards, lost | (x > (LENGTH - GRASS) * STRIDE)

    def _view(self, world: int) -> View:
        left = float(self.batch.positions[world, 1, 0]) - WIDTH / 5
        return left, 0.0, left + WIDTH, HEIGHT


def walker_ground(noise: NDArray[np.float64], stretches: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns heights of the ground, m: float64 (worlds, 200).

    - `noise`: for the slope of each step, −1 to 1: float64 (worlds, 200).
    - `stretches`: for the length of the stretch that begins at each step, 0 to 1: float64 (worlds, 200).
    """
    count = len(noise)
    heights = np.empty((count, LENGTH))
    slope, height = np.zeros(count), np.full(count, GROUND)
    left, is_new = np.full(count, START_PAD), np.zeros(count, dtype=np.bool_)
    for place in range(LENGTH):
        # The first step of a stretch is level, and draws nothing.
        next_slope = 0.8 * slope + 0.01 * np.sign(GROUND - height)
        if place > START_PAD:
            next_slope += noise[:, place] / SCALE
        slope = np.where(is_new, slope, next_slope)
        height = np.where(is_new, height, height + slope)
        heights[:, place] = height
        left -= 1
        is_new = left == 0
        left = np.where(is_new, GRASS // 2 + (stretches[:, place] * (GRASS - GRASS // 2)).astype(np.int64), left)
    return heights


def hardcore_ground(
    noise: NDArray[np.float64],
    stretches: NDArray[np.float64],
    kinds: NDArray[np.float64],
    sizes: NDArray[np.float64],
    signs: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns heights of a ground with obstacles, m, float64 (worlds, 200), and their edges, m, float64 (worlds, 120, 4).

    Each argument has a number for each step, float64 (worlds, 200): `noise` −1 to 1 for the slope, `stretches` 0 to 1 for
    the length of the grass that begins there, `kinds`, `sizes` and `signs` 0 to 1 for the obstacle that begins there.
    """
    count = len(noise)
    heights = np.empty((count, LENGTH))
    begins = np.zeros((count, LENGTH), dtype=np.int64)
    """Kind of the obstacle that begins at each step."""
    slope, height, first = np.zeros(count), np.full(count, GROUND), np.zeros(count)
    state, left, is_new = np.zeros(count, dtype=np.int64), np.full(count, START_PAD), np.zeros(count, dtype=np.bool_)
    large = sizes >= 0.5
    rise = np.where(signs > 0.5, 1, -1)
    total, turn = np.zeros(count, dtype=np.int64), np.ones(count, dtype=np.int64)
    for place in range(LENGTH):
        grows = (state == GRASS_STRETCH) & ~is_new
        next_slope = 0.8 * slope + 0.01 * np.sign(GROUND - height)
        if place > START_PAD:
            next_slope += noise[:, place] / SCALE
        slope = np.where(grows, next_slope, slope)
        in_pit, on_stairs = (state == PIT) & ~is_new, (state == STAIRS) & ~is_new
        on_way = first + (total - left - turn) / 4 * turn * STRIDE
        height = np.where(grows, height + slope, height)
        height = np.where(in_pit, first - PIT_DEPTH * (left > 1), np.where(on_stairs, on_way, height))
        starts = is_new & (state != GRASS_STRETCH)
        begins[starts, place] = state[starts]
        first = np.where(starts, height, first)
        turn = np.where(starts, rise[:, place], turn)
        length = np.select(
            [state == PIT, state == STUMP], [large[:, place] + 5, large[:, place] + 1], 4 * (large[:, place] + 3)
        )
        left = np.where(starts, length, left)
        total = np.where(starts, length, total)
        heights[:, place] = height
        left = left - 1
        is_new = left == 0
        grass = GRASS // 2 + (stretches[:, place] * (GRASS - GRASS // 2)).astype(np.int64)
        left = np.where(is_new, grass, left)
        kind = STUMP + (kinds[:, place] * 3).astype(np.int64)
        state = np.where(is_new, np.where(state == GRASS_STRETCH, kind, GRASS_STRETCH), state)
    return heights, _edges(heights, begins, large, rise)


def _edges(
    heights: NDArray[np.float64], begins: NDArray[np.int64], large: NDArray[np.bool_], rise: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Returns the edges of obstacles that can be touched, float64 (worlds, 120, 4): the sides and tops of boxes.

    - `begins`: kind of the obstacle that begins at each step; `large`: the larger of two sizes; `rise`: direction of
      stairs, all (worlds, 200).
    """
    found: list[tuple[NDArray[np.intp], NDArray[np.float64]]] = []

    def add(world: NDArray[np.intp], *ends: NDArray[np.floating[Any]]) -> None:
        found.append((world, np.stack(ends, axis=-1)))

    world, place = np.nonzero(begins == STUMP)
    x, y, side = place * STRIDE, heights[world, place], (large[world, place] + 1) * STRIDE
    add(world, x, y, x, y + side)
    add(world, x, y + side, x + side, y + side)
    add(world, x + side, y + side, x + side, y)
    world, place = np.nonzero(begins == PIT)
    x, y, width = place * STRIDE, heights[world, place], (large[world, place] + 3) * STRIDE
    add(world, x, y, x + STRIDE, y)
    add(world, x + STRIDE, y, x + STRIDE, y - PIT_DEPTH)
    add(world, x + width, y - PIT_DEPTH, x + width, y)
    add(world, x + width, y, x + width + STRIDE, y)
    for stair in range(4):
        world, place = np.nonzero((begins == STAIRS) & (large | (stair < 3)))
        x, y = (place + 4 * stair) * STRIDE, heights[world, place] + stair * rise[world, place] * STRIDE
        add(world, x, y - STRIDE, x, y)
        add(world, x, y, x + 4 * STRIDE, y)
        add(world, x + 4 * STRIDE, y, x + 4 * STRIDE, y - STRIDE)
    world = np.concatenate([one for one, _ in found])
    ends = np.concatenate([one for _, one in found])
    order = np.argsort(world, kind="stable")
    world, ends = world[order], ends[order]
    edges = np.empty((len(heights), OBSTACLE_EDGES, 4))
    x = np.arange(OBSTACLE_EDGES) * STRIDE
    edges[:] = np.stack([x, np.full_like(x, PARKED), x + STRIDE, np.full_like(x, PARKED)], axis=-1)
    edges[world, np.arange(len(world)) - np.searchsorted(world, world)] = ends
    return edges


def _near(angles: NDArray[Any]) -> NDArray[Any]:
    """Returns angles in (−π, π]."""
    return np.asarray(angles - 2 * math.pi * np.round(angles / (2 * math.pi)))


class BipedalWalker(WorldEnv):
    """One bipedal walker; see `BipedalWalkerVector`."""

    vector = BipedalWalkerVector

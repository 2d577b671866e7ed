"""Car on a track from above, after `CarRacing-v3` of Gymnasium by Oleg Klimov."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ..scene import Body, Scene
from .car_pixels import SIDE, CarCamera
from .cart_pole import HIDDEN
from .single import WorldEnv
from .state import VectorState
from .vector import Observations, Rows, Unpack, View, WorldOptions, WorldVectorEnv

FPS = 50
SIZE = 0.02
ENGINE_POWER, WHEEL_INERTIA, FRICTION_LIMIT = 1e8 * SIZE**2, 4000 * SIZE**2, 1e6 * SIZE**2
GRIP = 205000 * SIZE**2
"""Force for each m/s of slip, N·s/m."""
WHEEL_RADIUS, WHEEL_WIDTH = 27 * SIZE, 14 * SIZE
WHEELS = np.array([(-55, 80), (55, 80), (-55, -82), (55, -82)]) * SIZE
STEER_TORQUE, STEER_LIMIT = 180 * 900 * SIZE**2, 0.4
HULL = (
    [(-60, 110), (60, 110), (60, 130), (-60, 130)],
    [(-20, 20), (20, 20), (15, 120), (-15, 120)],
    [(25, 20), (-25, 20), (-50, -10), (-50, -40), (-20, -90), (20, -90), (50, -40), (50, -10)],
    [(-50, -120), (50, -120), (50, -90), (-50, -90)],
)
RADIUS = 150.0
"""Largest distance of the track from its middle, m."""
PLAYFIELD = 2000 / 6
ROAD = 40 / 6
"""Half width of the road, m."""
CHECKPOINTS, TILES, FINE = 12, 256, 2048
AHEAD = np.array([1, 2, 3, 5, 7, 10, 14, 20])
"""Tiles ahead that are seen."""
NEAR = np.arange(-4, 5)


def car_scene() -> Scene:
    """Returns a car: a hull and four wheels that turn against it."""
    settings = {"dt": 1 / FPS, "mode": "baumgarte", "iterations": 10, "length_unit": 1, "max_spin": 100}
    scene = Scene("top_down_car", gravity=(0, 0), settings=settings)
    body = Body.dynamic()
    for corners in HULL:
        body = body.polygon([(x * SIZE, y * SIZE) for x, y in corners], density=1, filter=HIDDEN)
    hull = scene.add(body)
    for x, y in WHEELS:
        wheel = scene.add(Body.dynamic(x, y).half_box(WHEEL_WIDTH, WHEEL_RADIUS, density=0.1, filter=HIDDEN))
        limits, motor = (-STEER_LIMIT, STEER_LIMIT), {"speed": 0, "max": STEER_TORQUE}
        scene.join("revolute", wheel, hull, anchor_a=(x, y), reference_angle=0, limits=limits, motor=motor)
    return scene


def tracks(radii: NDArray[np.float64], turns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns middles of the tiles of closed tracks: float64 (n, 256, 2), m, at equal distances.

    - `radii`: distance of each checkpoint from the middle, m: float64 (n, 12).
    - `turns`: angle of the whole track, rad: float64 (n,).
    """
    count = len(radii)
    place = np.arange(FINE + 1) * (CHECKPOINTS / FINE)
    knot, share = (place.astype(np.int64)) % CHECKPOINTS, place % 1.0
    before, start, end, after = (radii[:, (knot + shift) % CHECKPOINTS] for shift in (-1, 0, 1, 2))
    # The cubic of Catmull and Rom.
    slope, bend = end - before, 2 * before - 5 * start + 4 * end - after
    radius = 0.5 * (2 * start + share * (slope + share * (bend + share * (3 * start - before - 3 * end + after))))
    angle = turns[:, None] + place * (2 * math.pi / CHECKPOINTS)
    points = radius[..., None] * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    length = np.zeros((count, FINE + 1))
    length[:, 1:] = np.hypot(*np.moveaxis(np.diff(points, axis=1), -1, 0)).cumsum(axis=1)
    wanted = length[:, -1:] * (np.arange(TILES) / TILES)
    # One interpolation for all tracks: each lies behind the one before.
    shift = np.concatenate([[0.0], (length[:, -1] + 1.0).cumsum()[:-1]])[:, None]
    flat = [np.interp((wanted + shift).ravel(), (length + shift).ravel(), points[..., axis].ravel()) for axis in (0, 1)]
    return np.stack(flat, axis=-1).reshape(count, TILES, 2)


class TopDownCarVector(WorldVectorEnv):
    """Many cars, each on a track of its own: dynamics, action and reward as Gymnasium's `CarRacing-v3`.

    - Observation, float32 (worlds, 27): velocity sideways and forwards, m/s; angular velocity,
      rad/s; angle of the front wheels, rad; spins of the wheels, rad/s, (4); distance to the right of the middle of the
      road, m; sine and cosine of the heading against the road; middles of 8 tiles ahead, sideways and forwards, m,
      (16).
      With `pixels=True` pictures, uint8 (worlds, 96, 96, 3), as CarRacing's: the car from above, its heading up, and
      below it bars of the speed, the spins of the wheels, the steering and the turn.
    - Action, float32 (worlds, 3): steering −1 to 1, gas and brake 0 to 1.
    - Reward: 1000/256 for each of the 256 tiles of the track when a wheel first touches it, −0.1 a step; −100 for
      leaving the field. The episode ends there, with all tiles, or at the begin of the track with 95 % of them.
    """

    picture_size: ClassVar[tuple[int, int]] = (600, 400)
    episode_steps = 1000
    _kept = ("_tiles", "_along", "_pace", "_visited", "_nearest", "_on_road", "_spins", "_gas", "_gain", "_laps")

    def __init__(
        self,
        num_envs: int = 1,
        *,
        lap_complete_percent: float = 0.95,
        pixels: bool = False,
        **options: Unpack[WorldOptions],
    ) -> None:
        """
        - `lap_complete_percent`: share of tiles that make a lap, 0 to 1.
        - `pixels`: observe pictures, uint8 (worlds, 96, 96, 3), in place of vectors. Each world then has a map of 0.5 MB.
        - `options`: those of `WorldOptions`.
        """
        self._lap_share = float(lap_complete_percent)
        self.pixels = bool(pixels)
        seen = spaces.Box(0, 255, (SIDE, SIDE, 3), dtype=np.uint8) if self.pixels else spaces.Box(-np.inf, np.inf, (27,), np.float32)
        options.setdefault("max_episode_steps", self.episode_steps)
        super().__init__(
            num_envs,
            car_scene(),
            seen,
            spaces.Box(np.array([-1, 0, 0], dtype=np.float32), np.array([1, 1, 1], dtype=np.float32)),
            **options,
        )
        count = self.num_envs
        self._tiles = np.zeros((count, TILES, 2), dtype=np.float32)
        self._along = np.zeros((count, TILES, 2), dtype=np.float32)
        """Unit vectors along the track at each tile."""
        self._pace = np.zeros(count, dtype=np.float32)
        """Distance of the tiles, m."""
        self._visited = np.zeros((count, TILES), dtype=np.bool_)
        self._nearest = np.zeros(count, dtype=np.int64)
        self._on_road = np.ones((count, 4), dtype=np.bool_)
        self._spins = np.zeros((count, 4))
        self._gas = np.zeros(count)
        self._gain = np.zeros(count)
        self._laps = np.zeros(count, dtype=np.bool_)
        self._camera: CarCamera | None = None
        if self.pixels:
            hull = [[(x * SIZE, y * SIZE) for x, y in corners] for corners in HULL]
            self._camera = CarCamera(count, hull, WHEELS, (WHEEL_WIDTH, WHEEL_RADIUS), ROAD)

    def _spawn(self, rows: Rows) -> None:
        drawn = self._streams.uniform(rows, 0.0, 1.0, CHECKPOINTS + 1)
        points = tracks(RADIUS * (1 + 2 * drawn[:, :-1]) / 3, 2 * math.pi * drawn[:, -1])
        ahead = np.roll(points, -1, axis=1) - np.roll(points, 1, axis=1)
        ahead /= np.hypot(ahead[..., 0], ahead[..., 1])[..., None]
        self._tiles[rows], self._along[rows] = points, ahead
        if self._camera is not None:
            self._camera.lay(rows, points, ahead)
        self._pace[rows] = np.hypot(*(points[:, 1] - points[:, 0]).T)
        heading = np.arctan2(ahead[:, 0, 1], ahead[:, 0, 0]) - math.pi / 2
        turn = np.stack([np.cos(heading), np.sin(heading)], axis=-1)
        places = np.concatenate([np.zeros((1, 2)), WHEELS])
        positions = points[:, :1] + _turned(places[None], turn[:, None])
        angles = np.broadcast_to(heading[:, None], (len(rows), 5))
        self._vary(rows, positions=positions, angles=angles)
        self._spins[rows], self._gas[rows] = 0.0, 0.0
        self._locate(rows)
        # The tiles at the start count in the first step.
        self._visited[rows], self._laps[rows], self._gain[rows] = False, False, 0.0

    def _locate(self, rows: Rows) -> None:
        """Finds the tile of each car and the tiles under its wheels, and marks them."""
        positions = self.batch.positions[rows]
        tiles = self._tiles[rows]
        apart = tiles - positions[:, :1]
        nearest = np.argmin(np.square(apart).sum(axis=-1), axis=1)
        around = (nearest[:, None] + NEAR) % TILES
        place = np.arange(len(rows))[:, None]
        apart = positions[:, 1:, None] - tiles[place, around][:, None]
        closest = np.argmin(np.square(apart).sum(axis=-1), axis=2)
        tile = np.take_along_axis(around, closest, axis=1)
        offset = np.take_along_axis(apart, closest[:, :, None, None], axis=2)[:, :, 0]
        along = self._along[rows][place, tile]
        sideways = np.abs(offset[..., 0] * along[..., 1] - offset[..., 1] * along[..., 0])
        forwards = np.abs((offset * along).sum(axis=-1))
        on_road = (sideways <= ROAD) & (forwards <= 2 * self._pace[rows][:, None])
        self._nearest[rows], self._on_road[rows] = nearest, on_road
        world = np.broadcast_to(rows[:, None], tile.shape)[on_road]
        before = self._visited[rows].sum(axis=1)
        self._visited[world, tile[on_road]] = True
        found = self._visited[rows].sum(axis=1)
        self._gain[rows] = (found - before) * (1000 / TILES)
        begin = (on_road & (tile == 0)).any(axis=1)
        self._laps[rows] = (found == TILES) | (begin & (found > self._lap_share * TILES))

    def _act(self, actions: NDArray[Any], active: NDArray[np.bool_]) -> None:
        steer, gas, brake = (actions * active[:, None]).T
        self._gas += np.minimum(gas - self._gas, 0.1)
        angles, spins = self.batch.angles.astype(np.float64), self._spins
        joints = angles[:, 1:] - angles[:, :1]
        joints -= 2 * math.pi * np.round(joints / (2 * math.pi))
        wanted = np.zeros_like(joints)
        wanted[:, :2] = -steer[:, None]
        missing = wanted - joints
        speeds = np.sign(missing) * np.minimum(50.0 * np.abs(missing), 3.0)
        self.batch.drive(speeds, np.full_like(speeds, STEER_TORQUE))
        dt = 1 / FPS
        spins[:, 2:] += dt * ENGINE_POWER * self._gas[:, None] / WHEEL_INERTIA / (np.abs(spins[:, 2:]) + 5.0)
        slowed = spins - np.sign(spins) * np.minimum(15 * brake[:, None], np.abs(spins))
        spins = np.where(brake[:, None] >= 0.9, 0.0, slowed)
        limit = FRICTION_LIMIT * np.where(self._on_road, 1.0, 0.6)
        forward = np.stack([-np.sin(angles[:, 1:]), np.cos(angles[:, 1:])], axis=-1)
        side = np.stack([forward[..., 1], -forward[..., 0]], axis=-1)
        velocity = self.batch.velocities[:, 1:].astype(np.float64)
        push = (spins * WHEEL_RADIUS - (forward * velocity).sum(axis=-1)) * GRIP
        hold = -(side * velocity).sum(axis=-1) * GRIP
        force = np.hypot(push, hold)
        scale = np.minimum(1.0, limit / np.maximum(force, 1e-9))
        push, hold = push * scale, hold * scale
        self._spins = spins - dt * push * WHEEL_RADIUS / WHEEL_INERTIA
        self.batch.forces[:, 1:] = push[..., None] * forward + hold[..., None] * side

    def _continue(self, state: VectorState) -> None:
        super()._continue(state)
        if self._camera is not None:
            self._camera.lay(self._everyone, self._tiles, self._along)

    def _observe(self, rows: Rows) -> Observations:
        angle = self.batch.angles[rows].astype(np.float64)
        if self._camera is not None:
            steering = angle[:, 1:] - angle[:, :1]
            steering -= 2 * math.pi * np.round(steering / (2 * math.pi))
            speeds = np.hypot(*self.batch.velocities[rows, 0].T)
            turns, spins = self.batch.angular_velocities[rows, 0], self._spins[rows]
            place = self.batch.positions[rows, 0]
            return self._camera.draw(rows, place, self.batch.angles[rows, 0], steering, speeds, turns, spins)
        back = np.stack([np.cos(angle[:, 0]), -np.sin(angle[:, 0])], axis=-1)
        nearest = self._nearest[rows]
        place = np.arange(len(rows))[:, None]
        tiles, along = self._tiles[rows], self._along[rows]
        position = self.batch.positions[rows, 0]
        ahead = tiles[place, (nearest[:, None] + AHEAD) % TILES] - position[:, None]
        offset = position - tiles[place[:, 0], nearest]
        way = along[place[:, 0], nearest]
        heading = _turned(way, back)
        front = angle[:, 1:3].mean(axis=1) - angle[:, 0]
        seen = [
            _turned(self.batch.velocities[rows, 0], back),
            self.batch.angular_velocities[rows, :1],
            (front - 2 * math.pi * np.round(front / (2 * math.pi)))[:, None],
            self._spins[rows],
            (offset[:, 0] * way[:, 1] - offset[:, 1] * way[:, 0])[:, None],
            heading,
            _turned(ahead, back[:, None]).reshape(len(rows), -1),
        ]
        return np.concatenate(seen, axis=1).astype(np.float32)

    def _judge(self, rows: Rows, actions: NDArray[Any] | None) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        if actions is not None:
            self._locate(rows)
        lost = (np.abs(self.batch.positions[rows, 0]) > PLAYFIELD).any(axis=1)
        rewards = np.where(lost, -100.0, self._gain[rows] - 0.1)
        return rewards, lost | self._laps[rows]

    def render(self, worlds: Any = None) -> tuple[NDArray[np.uint8], ...] | None:
        """Returns frames of some worlds, or of all: uint8 (height, width, 3) each. None without a render mode."""
        if self.render_mode is None:
            return None
        chosen = range(self.num_envs) if worlds is None else worlds
        return tuple(self._painted(world) for world in chosen)

    def _painted(self, world: int) -> NDArray[np.uint8]:
        """Returns the picture of a car and the road around it."""
        left, bottom, right, top = self._view(world)
        width, height = self.picture_size
        across = left + (np.arange(width) + 0.5) * (right - left) / width
        up = top - (np.arange(height) + 0.5) * (top - bottom) / height
        x, y = np.meshgrid(across, up)
        frame = np.empty((height, width, 3), dtype=np.uint8)
        frame[:] = (102, 204, 102)
        near = (self._nearest[world] + np.arange(-20, 21)) % TILES
        for index, tile in zip(near, self._tiles[world, near], strict=True):
            shade = 102 + 3 * (index % 3)
            frame[np.hypot(x - tile[0], y - tile[1]) <= ROAD] = (shade, shade, shade)
        wheel = [(-WHEEL_WIDTH, -WHEEL_RADIUS), (WHEEL_WIDTH, -WHEEL_RADIUS)]
        wheel += [(WHEEL_WIDTH, WHEEL_RADIUS), (-WHEEL_WIDTH, WHEEL_RADIUS)]
        parts = [(body, wheel, (0, 0, 0)) for body in range(1, 5)]
        parts += [(0, [(a * SIZE, b * SIZE) for a, b in corners], (204, 0, 0)) for corners in HULL]
        for body, corners, color in parts:
            angle = float(self.batch.angles[world, body])
            turn = np.array([math.cos(angle), math.sin(angle)])
            points = self.batch.positions[world, body] + _turned(np.array(corners), turn)
            inside = np.ones(x.shape, dtype=np.bool_)
            for (x1, y1), (x2, y2) in zip(points, np.roll(points, -1, axis=0), strict=True):
                inside &= (x2 - x1) * (y - y1) >= (y2 - y1) * (x - x1)
            frame[inside] = color
        return frame

    def _view(self, world: int) -> View:
        x, y = (float(value) for value in self.batch.positions[world, 0])
        return x - 24, y - 16, x + 24, y + 16


def _turned(points: NDArray[Any], turn: NDArray[Any]) -> NDArray[Any]:
    """Returns points turned by angles, given by their cosine and sine."""
    x, y, cosine, sine = points[..., 0], points[..., 1], turn[..., 0], turn[..., 1]
    return np.stack([x * cosine - y * sine, x * sine + y * cosine], axis=-1)


class TopDownCar(WorldEnv):
    """One car on a track; see `TopDownCarVector`."""

    vector = TopDownCarVector

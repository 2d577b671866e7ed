"""Levels of Kinetix (Matthews et al. 2024) as scenes, and an environment over a mixture of them.

The level files are not part of this package: they are read from an installed `kinetix-env`, which is not imported, or
from a path.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ..batch import Batch
from ..errors import ArgumentError
from ..scene import Body, Scene
from .single import WorldEnv
from .vector import Observations, Rows, Unpack, View, WorldOptions, WorldVectorEnv

MOTOR_BINDINGS, THRUSTER_BINDINGS = 4, 2
ROLES = 4
LevelSource: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any]"
"""Origin of a level: a name such as "s/h0_weak_thrust", a file, or the object of a file."""


@dataclass(frozen=True)
class Motors:
    """Motors of a level, a row each."""

    bodies: NDArray[np.intp]
    """Bodies A and B, (motors, 2)."""
    reference: NDArray[np.float64]
    """Angle of B against A that counts as 0, rad, (motors,)."""
    limits: NDArray[np.float64]
    """Lower and upper limit, rad, (motors, 2); ±inf without."""
    speed: NDArray[np.float64]
    """Wanted speed at action 1, rad/s, (motors,)."""
    strength: NDArray[np.float64]
    """Largest torque, N·m, (motors,): 900 · power / (1/I_A + 1/I_B)."""
    binding: NDArray[np.intp]
    """Column of the action, (motors,)."""


@dataclass(frozen=True)
class Thrusters:
    """Thrusters of a level, a row each."""

    body: NDArray[np.intp]
    """Body, (thrusters,)."""
    place: NDArray[np.float64]
    """Point from the body's origin, in its frame, m, (thrusters, 2)."""
    angle: NDArray[np.float64]
    """Direction of the force in the body's frame, rad, (thrusters,)."""
    force: NDArray[np.float64]
    """Force at action 1, N, (thrusters,)."""
    binding: NDArray[np.intp]
    """Column of the action after those of motors, (thrusters,)."""


@dataclass(frozen=True)
class Level:
    """A level of Kinetix: its scene, and what a scene has no words for.

    Bodies are the active polygons, then the active circles. Positions are those of the level file; the origin of a body
    is its centre there.
    """

    name: str
    """Name of the level."""
    scene: Scene
    """Bodies and joints. Motors and thrusters act by forces."""
    motors: Motors
    """Motors of joints."""
    thrusters: Thrusters
    """Thrusters."""
    roles: NDArray[np.intp]
    """Role of each body, (bodies,): 0 none, 1 to bring to 2 and to keep from 3."""
    is_fixed: NDArray[np.bool_]
    """True for bodies that never move, (bodies,)."""
    radii: NDArray[np.float64]
    """Radius of circles, half the diagonal of the bounding box of polygons, m, (bodies,)."""
    is_circle: NDArray[np.bool_]
    """True for circles, (bodies,)."""
    frame_skip: int
    """Number of steps of an action."""
    max_steps: int
    """Number of actions of an episode."""
    clusters: NDArray[np.intp]
    """Cluster of joined bodies, (bodies,); bodies of one do not collide."""

    def loads(
        self, actions: NDArray[np.float64], angles: NDArray[np.float64], spins: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Returns forces, N, (worlds, bodies, 2), and torques, N·m, (worlds, bodies), of motors and thrusters.

        - `actions`: float64 (worlds, 6): motors −1 to 1, thrusters 0 to 1.
        - `angles`, `spins`: of the bodies, rad and rad/s: float64 (worlds, bodies).
        """
        worlds = len(actions)
        forces, torques = np.zeros((worlds, len(self.roles), 2)), np.zeros((worlds, len(self.roles)))
        every = np.arange(worlds)[:, None]
        thrusters, motors = self.thrusters, self.motors
        if len(thrusters.body):
            turn = angles[:, thrusters.body]
            size = thrusters.force * np.clip(actions[:, MOTOR_BINDINGS + thrusters.binding], 0.0, 1.0)
            force = size[..., None] * np.stack([np.cos(turn + thrusters.angle), np.sin(turn + thrusters.angle)], axis=-1)
            x, y = thrusters.place.T
            lever_x, lever_y = x * np.cos(turn) - y * np.sin(turn), x * np.sin(turn) + y * np.cos(turn)
            np.add.at(forces, (every, thrusters.body), force)
            np.add.at(torques, (every, thrusters.body), lever_x * force[..., 1] - lever_y * force[..., 0])
        if len(motors.binding):
            action = np.clip(actions[:, motors.binding], -1.0, 1.0)
            a, b = motors.bodies.T
            torque = motors.strength * np.tanh(0.1 * (motors.speed * action - (spins[:, b] - spins[:, a])))
            # A motor fades within 0.1 rad of a limit towards which it drives.
            turned = angles[:, b] - angles[:, a] - motors.reference
            turned -= 2 * math.pi * np.round(turned / (2 * math.pi))
            over = turned - np.clip(turned, motors.limits[:, 0] + 0.1, motors.limits[:, 1] - 0.1)
            fade = np.where(np.sign(over) == np.sign(action), np.maximum(0.0, 1.0 - np.abs(over) / 0.1), 1.0)
            torque *= np.where(action == 0.0, 0.0, fade)
            np.add.at(torques, (every, b), torque)
            np.add.at(torques, (every, a), -torque)
        forces[:, self.is_fixed] = 0.0
        torques[:, self.is_fixed] = 0.0
        return forces, torques


def level_folder() -> Path:
    """Returns the folder of the levels of the installed `kinetix-env`.

    Raises ArgumentError if it is not installed.
    """
    found = importlib.util.find_spec("kinetix")
    for place in (found.submodule_search_locations or []) if found is not None else []:
        if (Path(place) / "levels").is_dir():
            return Path(place) / "levels"
    raise ArgumentError("folder", "is missing", "pip install kinetix-env, or the folder of its levels")


def level_names(folder: str | os.PathLike[str] | None = None) -> list[str]:
    """Returns the names of all levels in a folder, default that of the installed `kinetix-env`: "s/h0_weak_thrust", …"""
    place = level_folder() if folder is None else Path(folder)
    return sorted(str(path.relative_to(place).with_suffix("")).replace(os.sep, "/") for path in place.rglob("*.json"))


def load_level(source: LevelSource, folder: str | os.PathLike[str] | None = None) -> Level:
    """Returns a level.

    - `source`: a name, a file that ends in .json, or the object of such a file.
    - `folder`: where names are looked up; default that of the installed `kinetix-env`.

    Raises ArgumentError for something that is no level; FileNotFoundError.
    """
    if isinstance(source, Mapping):
        return _level("level", source)
    text = os.fspath(source)
    path = Path(text) if text.endswith(".json") else (level_folder() if folder is None else Path(folder)) / f"{text}.json"
    with path.open(encoding="utf-8") as file:
        fields = json.load(file)
    return _level(path.stem, fields)


def _pair(value: Mapping[str, Any]) -> tuple[float, float]:
    return float(value["0"]), float(value["1"])


def _level(name: str, fields: Mapping[str, Any]) -> Level:
    try:
        return _built(name, fields["env_state"], fields["env_params"], fields["static_env_params"])
    except (KeyError, IndexError, TypeError) as error:
        raise ArgumentError("level", f"{name!r} lacks {error}", "a level file of Kinetix, JSON") from None


def _built(name: str, state: Mapping[str, Any], params: Mapping[str, Any], static: Mapping[str, Any]) -> Level:
    shapes = [*state["polygon"], *state["circle"]]
    polygons = len(state["polygon"])
    active = [slot for slot, shape in enumerate(shapes) if shape["active"]]
    row = {slot: index for index, slot in enumerate(active)}
    joints = [joint for joint in state["joint"] if joint["active"]]
    clusters = _clusters(active, [(joint["a_index"], joint["b_index"]) for joint in joints])
    settings = {"dt": params["dt"], "events": True, "initial_loads": False, "length_unit": 0.25}
    scene = Scene(name, gravity=_pair(state["gravity"]), settings=settings)
    side = max(static["screen_dim"].values()) / params["pixels_per_unit"]
    scene.more["view"] = {"min": [0, 0], "max": [side, side]}
    friction_scale = params["base_friction"] * math.sqrt(2)
    radii = []
    for slot in active:
        shape, is_circle = shapes[slot], slot >= polygons
        body, radius = _body(shape, is_circle, friction_scale, clusters[slot])
        scene.add(body)
        radii.append(radius)
    inertia = np.array([shapes[slot]["inverse_inertia"] for slot in active])
    motors = []
    for joint in joints:
        a, b = row[joint["a_index"]], row[joint["b_index"]]
        anchors = {"anchor_a": _pair(joint["a_relative_pos"]), "anchor_b": _pair(joint["b_relative_pos"])}
        reference = joint["rotation"]
        if joint["is_fixed_joint"]:
            scene.join("weld", b, a, reference_angle=reference, **anchors)
            continue
        limits = (joint["min_rotation"], joint["max_rotation"]) if joint["motor_has_joint_limits"] else None
        scene.join("revolute", b, a, reference_angle=reference, **anchors, **({"limits": limits} if limits else {}))
        if joint["motor_on"]:
            strength = params["base_motor_power"] * joint["motor_power"] / max(inertia[a] + inertia[b], 1e-9)
            speed = joint["motor_speed"] * params["base_motor_speed"]
            motors.append((a, b, reference, *(limits or (-math.inf, math.inf)), speed, strength, joint["motor_binding"]))
    thrusters = [
        (
            row[thruster["object_index"]],
            *_pair(thruster["relative_position"]),
            thruster["rotation"],
            thruster["power"] * params["base_thruster_power"],
            thruster["thruster_binding"],
        )
        for thruster in state["thruster"]
        if thruster["active"]
    ]
    motor, thruster = np.array(motors).reshape(-1, 8), np.array(thrusters).reshape(-1, 6)
    return Level(
        name=name,
        scene=scene,
        motors=Motors(
            motor[:, :2].astype(np.intp), motor[:, 2], motor[:, 3:5], motor[:, 5], motor[:, 6], motor[:, 7].astype(np.intp)
        ),
        thrusters=Thrusters(
            thruster[:, 0].astype(np.intp), thruster[:, 1:3], thruster[:, 3], thruster[:, 4], thruster[:, 5].astype(np.intp)
        ),
        roles=np.array([shapes[slot]["role"] for slot in active], dtype=np.intp),
        is_fixed=np.array([shapes[slot]["inverse_mass"] == 0 for slot in active]),
        radii=np.array(radii),
        is_circle=np.array([slot >= polygons for slot in active]),
        frame_skip=int(static["frame_skip"]),
        max_steps=int(params["max_timesteps"]),
        clusters=np.array([clusters[slot] for slot in active], dtype=np.intp),
    )


def _body(shape: Mapping[str, Any], is_circle: bool, friction_scale: float, cluster: int) -> tuple[Body, float]:
    """Returns a body of a level, and its radius."""
    x, y = _pair(shape["position"])
    is_fixed = shape["inverse_mass"] == 0
    body = (Body.fixed if is_fixed else Body.dynamic)(x, y).angle(shape["rotation"]).set(color_index=shape["role"])
    mode = shape["collision_mode"]
    surface: dict[str, Any] = {
        # Kinetix takes 0.4·√(a² + b²): for equal materials this, mixed by √(ab).
        "friction": friction_scale * shape["friction"],
        "restitution": shape["restitution"],
        # Bodies of mode 0 pass through those of mode 0 and 1; those of mode 2 touch all.
        "filter": {"category": 1 << mode, "mask": 4 if mode == 0 else 6 if mode == 1 else 7, "group": -cluster},
    }
    if is_circle:
        body = body.circle(shape["radius"], **surface)
        radius = float(shape["radius"])
    else:
        points = [_pair(shape["vertices"][str(corner)]) for corner in range(shape["n_vertices"])]
        area = sum(x1 * y2 - x2 * y1 for (x1, y1), (x2, y2) in zip(points, points[1:] + points[:1], strict=True))
        body = body.polygon(points if area > 0 else points[::-1], **surface)
        radius = max(math.hypot(*point) for point in points)
    if not is_fixed:
        body = body.velocity(*_pair(shape["velocity"])).angular_velocity(shape["angular_velocity"])
        body = body.set(mass=1 / shape["inverse_mass"])
        inverse = shape["inverse_inertia"]
        body = body.set(inertia=1 / inverse) if inverse > 0 else body.set(fixed_rotation=True)
    return body, radius


def _clusters(slots: Sequence[int], joints: Sequence[tuple[int, int]]) -> dict[int, int]:
    """Returns the number of the cluster of joined bodies of each slot, from 1; 0 for bodies without joints."""
    parent = {slot: slot for slot in slots}

    def root(slot: int) -> int:
        while parent[slot] != slot:
            slot = parent[slot]
        return slot

    for a, b in joints:
        parent[root(a)] = root(b)
    joined = {slot for joint in joints for slot in joint}
    numbers: dict[int, int] = {}
    return {slot: numbers.setdefault(root(slot), len(numbers) + 1) if slot in joined else 0 for slot in slots}


class KinetixVector(WorldVectorEnv):
    """A mixture of levels of Kinetix: world `i` plays level `i` modulo their number.

    - Action, float32 (worlds, 6): 4 motors, −1 to 1, and 2 thrusters, 0 to 1 (less counts as 0), by the bindings of the
      level.
    - Observation, float32 (worlds, bodies, 15), with rows of 0 beyond the bodies of a level: 1; x and y, m; cosine and
      sine of the angle; velocity, m/s; angular velocity, rad/s; 1 if fixed; 1 for circles; radius, m; 1 for the role,
      (4).
    - Reward: 1 if a body of role 1 touches one of role 2, −1 if it touches one of role 3; each ends the episode. And a
      tenth of the way by which the bodies of roles 1 and 2 have come nearer, m.
    """

    metadata: dict[str, Any] = {**WorldVectorEnv.metadata, "render_fps": 30}
    picture_size: ClassVar[tuple[int, int]] = (400, 400)
    episode_steps = 256
    _kept = ("_goal", "_distance")

    def __init__(
        self,
        num_envs: int = 1,
        *,
        levels: Sequence[LevelSource | Level] | None = None,
        folder: str | os.PathLike[str] | None = None,
        **options: Unpack[WorldOptions],
    ) -> None:
        """
        - `levels`: the levels; default all of the folder.
        - `folder`: where names are looked up; default that of the installed `kinetix-env`.
        - `options`: those of `WorldOptions`.
        """
        sources = level_names(folder) if levels is None else levels
        if isinstance(sources, (str, bytes, Mapping)) or not len(sources):
            raise ArgumentError("levels", f"is {sources!r}", "a list of levels")
        self.levels = [level if isinstance(level, Level) else load_level(level, folder) for level in sources]
        """The levels."""
        for index, level in enumerate(self.levels):
            if level.frame_skip != self.levels[0].frame_skip:
                expected = f"{self.levels[0].frame_skip}, that of the first one"
                raise ArgumentError(f"levels[{index}]", f"has frame_skip {level.frame_skip}", expected)
        self._bodies = max(len(level.roles) for level in self.levels)
        low = np.array([-1.0] * MOTOR_BINDINGS + [0.0] * THRUSTER_BINDINGS, dtype=np.float32)
        options.setdefault("max_episode_steps", self.episode_steps)
        super().__init__(
            num_envs,
            self.levels[0].scene,
            spaces.Box(-np.inf, np.inf, (self._bodies, 11 + ROLES), dtype=np.float32),
            spaces.Box(low, np.ones(MOTOR_BINDINGS + THRUSTER_BINDINGS, dtype=np.float32)),
            **options,
        )
        for level in self.levels[1:]:
            level.scene.settings.update(options.get("settings") or {})
        count, many = self.num_envs, len(self.levels)
        scenes = [self.levels[world % many].scene for world in range(count)]
        self.batch = Batch(scenes, backend=options.get("backend", "cpu"), threads=options.get("threads"))
        self._rows = [np.arange(first, count, many) for first in range(min(many, count))]
        """Worlds of each level."""
        self._stride = int(self.batch.body_counts.max())
        self._constants = np.zeros((count, self._stride, 11 + ROLES), dtype=np.float32)
        self._roles = np.zeros((count, self._stride), dtype=np.intp)
        for level, rows in zip(self.levels, self._rows, strict=False):
            place = np.s_[rows, : len(level.roles)]
            self._roles[place] = level.roles
            self._constants[place] = np.concatenate(
                [
                    np.ones((len(level.roles), 1)),
                    np.zeros((len(level.roles), 7)),
                    np.stack([level.is_fixed, level.is_circle, level.radii], axis=-1),
                    level.roles[:, None] == np.arange(ROLES),
                ],
                axis=1,
            )
        self._actions = np.zeros((count, MOTOR_BINDINGS + THRUSTER_BINDINGS))
        self._goal = np.zeros(count)
        self._distance = np.zeros(count)

    @classmethod
    def _part(cls, options: Mapping[str, Any], first: int) -> dict[str, Any]:
        # Levels are read here once, and not on other machines, which may not have them.
        levels, folder = options.get("levels"), options.get("folder")
        sources = level_names(folder) if levels is None else levels
        read = [level if isinstance(level, Level) else load_level(level, folder) for level in sources]
        shift = first % len(read)
        return {**options, "levels": read[shift:] + read[:shift]}

    def _spawn(self, rows: Rows) -> None:
        self.batch.reset(self._mask(rows))

    def _act(self, actions: NDArray[Any], active: NDArray[np.bool_]) -> None:
        self._actions = actions * active[:, None]

    def _advance(self) -> None:
        self._goal[:] = 0.0
        for _ in range(self.levels[0].frame_skip):
            angles = self.batch.angles.astype(np.float64)
            spins = self.batch.angular_velocities.astype(np.float64)
            for level, rows in zip(self.levels, self._rows, strict=False):
                place = np.s_[rows, : len(level.roles)]
                self.batch.forces[place], self.batch.torques[place] = level.loads(
                    self._actions[rows], angles[place], spins[place]
                )
            self.batch.step()
            # The first step that decides an episode counts.
            world, first, second = self.batch.touching_pairs.T
            product = self._roles[world, first] * self._roles[world, second]
            won, lost = np.zeros(self.num_envs, dtype=np.bool_), np.zeros(self.num_envs, dtype=np.bool_)
            won[world[product == 2]], lost[world[product == 3]] = True, True
            self._goal = np.where(self._goal != 0.0, self._goal, np.where(lost, -1.0, won * 1.0))

    def _judge(self, rows: Rows, actions: NDArray[Any] | None) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        distance = self._apart(rows)
        rewards = self._goal[rows] + 0.1 * (self._distance[rows] - distance)
        self._distance[rows] = distance
        return rewards, self._goal[rows] != 0.0

    def _apart(self, rows: Rows) -> NDArray[np.float64]:
        """Returns the sum of the distances of all bodies of role 1 from all of role 2, m."""
        positions, roles = np.nan_to_num(self.batch.positions[rows]), self._roles[rows]
        apart = np.hypot(*np.moveaxis(positions[:, :, None] - positions[:, None], -1, 0))
        both = (roles[:, :, None] == 1) & (roles[:, None] == 2)
        total: NDArray[np.float64] = np.where(both, apart, 0.0).sum(axis=(1, 2), dtype=np.float64)
        return total

    def _observe(self, rows: Rows) -> Observations:
        seen = np.zeros((len(rows), self._bodies, 11 + ROLES), dtype=np.float32)
        seen[:, : self._stride] = self._constants[rows]
        angles = self.batch.angles[rows]
        seen[:, : self._stride, 1:3] = self.batch.positions[rows]
        seen[:, : self._stride, 3], seen[:, : self._stride, 4] = np.cos(angles), np.sin(angles)
        seen[:, : self._stride, 5:7] = self.batch.velocities[rows]
        seen[:, : self._stride, 7] = self.batch.angular_velocities[rows]
        return np.nan_to_num(seen, copy=False)

    def _view(self, world: int) -> View:
        view = self.levels[world % len(self.levels)].scene.more["view"]
        return (*view["min"], *view["max"])


class Kinetix(WorldEnv):
    """One world of a level of Kinetix, the first of `levels`; see `KinetixVector`."""

    metadata: dict[str, Any] = {**WorldEnv.metadata, "render_fps": 30}
    vector = KinetixVector

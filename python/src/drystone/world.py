"""`World`: one world, on the CPU or a GPU."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _arguments as arguments
from . import _drystone
from ._drivers import keep_quiet
from ._drystone import Snapshot
from .errors import ArgumentError, MissingError, SceneError, StepError
from .grains import ForceChains, Outlines, force_chains, outlines, record, stresses, write_vtu
from .movie import Movie
from .results import AllHits, BodyId, Contacts, Event, Hits, JointId, Moved, contacts_of, hits_of
from .scene import Body, SceneSource, body_text, native_scene, part_text, scene_error, shapes_text

if TYPE_CHECKING:
    import xarray
    from typing_extensions import Self

    from ._arguments import Pair


class World:
    """World of rigid bodies.

    >>> world = World("large_pyramid:base=20", backend="cpu")
    >>> world.step(60)
    >>> world.positions.shape
    (211, 2)

    **Arrays.** `positions`, `angles`, `velocities`, `angular_velocities` and `awake` have a row for each body, those of
    the scene by their index there. Each is one array, read-only, whose content follows the world: a program that keeps it sees
    the new values when `step` or another call that changes the world returns. Take a copy of what must stay
    (`world.positions.copy()`). Only if the number of rows changes (bodies are added, or made by emitters) is there another
    array, and the old one keeps its values. Rows without a body are NaN.

    On a GPU each such call reads the state back once, if an array has been asked for at all; a world whose arrays were never
    asked for is stepped without waiting.

    **Copies.** `World.load(world.save())` is a copy. `copy` and `pickle` raise TypeError.

    **Units** are SI, y is up, angles are in radians, counter-clockwise.

    **Threads and Ctrl-C.** Other Python threads run while a world steps. Ctrl-C raises KeyboardInterrupt after the step
    under way, and `steps` says how many are done.
    """

    def __init__(self, scene: SceneSource, *, backend: str = "auto", threads: int | None = None) -> None:
        """
        - `scene`: a scene of the catalogue with parameters ("large_pyramid:base=20"), a scene file (.json, .ron; text with
          one of these endings or a path), the object of a scene file as a dict, or a `drystone.Scene`.
        - `backend`: "cpu"; "gpu", a GPU or a software adapter, which `device` then names as such; "auto": a hardware GPU if
          there is one and the world fits it, else the CPU.
        - `threads`: threads on the CPU, 1 to 256; default all cores. Their number does not change the result.

        Raises SceneError (a ValueError) for a scene that is not valid, FileNotFoundError, and DeviceError if there is no GPU.
        """
        count = None if threads is None else arguments.whole("threads", threads, 1, 256)
        self._native = _drystone.World(native_scene(scene), _backend(backend), count)
        self._pending = _PendingPoses(self._native)

    @classmethod
    def load(cls, data: bytes | str | os.PathLike[str], *, backend: str = "auto", threads: int | None = None) -> Self:
        """Makes a world from what `save` returned, or from a file with it, such as one of `drystone run --save`.

        Raises SnapshotError (a ValueError) for bytes that are no saved world or are damaged.
        """
        count = None if threads is None else arguments.whole("threads", threads, 1, 256)
        world = cls.__new__(cls)
        world._native = _drystone.World.resume(_bytes(data), _backend(backend), count)
        world._pending = _PendingPoses(world._native)
        return world

    def __reduce__(self) -> NoReturn:
        raise TypeError("a drystone.World cannot be copied or pickled; World.load(world.save()) makes a copy")

    # ── time

    def step(self, steps: int = 1) -> None:
        """Advances the world by a number of steps of `dt` seconds.

        Raises StepError if a step finds more contacts than are allowed; DeviceError; KeyboardInterrupt between two steps.
        """
        try:
            self._native.step(arguments.whole("steps", steps))
        except StepError:
            # The step has executed its commands, but does not count.
            self._pending.clear()
            raise

    @property
    def steps(self) -> int:
        """Number of steps done."""
        return self._native.steps

    @property
    def dt(self) -> float:
        """Length of a step, s."""
        return self._native.dt

    @property
    def time(self) -> float:
        """Time since the start, s."""
        return self.steps * self.dt

    def reset(self) -> None:
        """Puts the world back to its start, to the bits of a new one. Bodies and joints that were added are gone.

        Their ids may be given again, to bodies and joints that are added later: drop them. Ids of the scene's bodies and
        joints stay valid.
        """
        self._native.reset()
        self._pending.clear()

    # ── state

    @property
    def positions(self) -> NDArray[np.float32]:
        """Origins of the bodies' frames, m: float32 (bodies, 2), read-only, follows the world."""
        return self._native.column("positions")

    @property
    def angles(self) -> NDArray[np.float32]:
        """Angles, rad, in (−π, π]: float32 (bodies,), read-only, follows the world."""
        return self._native.column("angles")

    @property
    def velocities(self) -> NDArray[np.float32]:
        """Velocities of the centres of mass, m/s: float32 (bodies, 2), read-only, follows the world."""
        return self._native.column("velocities")

    @property
    def angular_velocities(self) -> NDArray[np.float32]:
        """Angular velocities, rad/s: float32 (bodies,), read-only, follows the world."""
        return self._native.column("angular_velocities")

    @property
    def awake(self) -> NDArray[np.bool_]:
        """False for dynamic bodies that sleep and for rows without a body: bool (bodies,), read-only, follows the world."""
        return self._native.column("awake")

    def hash(self) -> int:
        """Returns a hash of the state, 64 bits: runs with the same bits have the same hash.

        `f"{world.hash():016x}"` is what `drystone run --hash` prints.
        """
        return self._native.hash()

    def contacts(self) -> Contacts:
        """Returns all contact points as arrays. On a GPU this reads the state back."""
        return contacts_of(self._native.contacts())

    def outlines(self) -> Outlines:
        """Returns the outlines of all shapes but half planes in the world. On a GPU this reads the state back."""
        return outlines(self)

    def stress(self) -> NDArray[np.float64]:
        """Returns the mean stress in each body from its contacts: float64 (bodies, 2, 2), N/m.

        It is Σ r ⊗ f over the contact points of a body, with r from its centre of mass and f the force on it, divided by
        the area of its shapes. Pressure is negative; of a body at rest it is symmetric. NaN for bodies without an area.
        """
        return stresses(self.contacts(), outlines(self))

    def force_chains(self, least: float = 1.0) -> ForceChains:
        """Returns the pairs of bodies that press on each other with at least `least` times the mean force, as arrays."""
        shapes, contacts = outlines(self), self.contacts()
        heavy = np.zeros(len(shapes.centers), dtype=np.bool_)
        for row in np.unique(contacts.bodies).tolist():
            id = self._native.body_id(row)
            heavy[row] = id is not None and self._native.body(id)[8] > 0.0
        return force_chains(contacts, shapes, heavy, arguments.number("least", least))

    def to_vtk(self, path: str | os.PathLike[str]) -> None:
        """Writes the world as it is now into a VTU file, which ParaView and PyVista read.

        Each shape is a cell with its body, velocity, angular velocity, stress (9 numbers, N/m) and pressure (N/m).
        """
        if not os.fspath(path).endswith(".vtu"):
            raise ArgumentError("path", f"is {os.fspath(path)!r}", "a path that ends in .vtu")
        write_vtu(path, self)

    def record(self, steps: int, every: int = 1) -> xarray.Dataset:
        """Advances the world and returns its states as an XArray data set, which also writes HDF5.

        >>> run = World("bouncing_ball", backend="cpu").record(60, every=20)
        >>> dict(run.sizes)["time"]
        4

        The first state is the present one, then one after each `every` steps and the last. Variables `positions`,
        `velocities` (time, body, axis), `angles`, `angular_velocities`, `awake` (time, body) and the number of `contacts`
        (time), with units. `run.to_netcdf("run.h5", engine="h5netcdf")` writes HDF5. Needs `drystone[grains]`.
        """
        return record(self, arguments.whole("steps", steps), arguments.whole("every", every, 1))

    def query(
        self,
        rays: ArrayLike,
        *,
        category: int = 1,
        mask: int = 2**32 - 1,
        ignore: int | str | BodyId | None = None,
    ) -> Hits:
        """Casts rays: float32 (rays, 4), or any shape (…, 4), with start x, y and end x, y of each, m.

        Give all rays in one call: each call rebuilds the grid of the world. Filled shapes count, also sensors; a ray that
        starts in a shape hits it at fraction 0. Rays hit the shapes that a shape with this `category` and `mask` would
        collide with, but none of the body `ignore`.
        """
        asked = ray_array(rays)
        left_out = self._ignored(ignore)
        hits = self._native.query(asked.reshape(-1), *filter_bits(category, mask), left_out)
        return hits_of(hits, asked.shape[:-1])

    def query_all(
        self,
        rays: ArrayLike,
        *,
        category: int = 1,
        mask: int = 2**32 - 1,
        ignore: int | str | BodyId | None = None,
    ) -> AllHits:
        """Casts rays, (rays, 4), as `query`, and returns all shapes on the way of each, a row each."""
        asked = ray_array(rays)
        if asked.ndim != 2:
            raise ArgumentError("rays", f"has shape {asked.shape}", "shape (rays, 4): x, y of start and end")
        hits = self._native.query_all(asked.reshape(-1), *filter_bits(category, mask), self._ignored(ignore))
        hits.pop("depth")
        return AllHits(**hits)

    def cast(
        self,
        shape: Mapping[str, Any],
        positions: ArrayLike,
        motions: ArrayLike,
        *,
        angles: ArrayLike = 0.0,
        category: int = 1,
        mask: int = 2**32 - 1,
        ignore: int | str | BodyId | None = None,
    ) -> Hits:
        """Casts a shape, a dict as in a scene such as `{"circle": {"radius": 0.5}}`, from positions (casts, 2), m, by
        motions (casts, 2), m, at angles (casts,), rad, or one for all; it does not turn on its way.

        Returns what it meets first. Where it overlaps shapes at the start, the hit is the deepest overlap, with `depth` as
        the shortest way out along the normal. Give all casts in one call.
        """
        starts, ways = _points("positions", positions), _points("motions", motions)
        turns = arguments.floats("angles", angles, "(casts,)")
        try:
            starts, ways = np.broadcast_arrays(starts, ways)
            turns = np.broadcast_to(turns, starts.shape[:1])
        except ValueError:
            shapes = f"{starts.shape}, {ways.shape} and {turns.shape}"
            raise ArgumentError("positions", f"with motions and angles has shapes {shapes}", "one row per cast") from None
        rows = np.concatenate([starts, turns[:, None], ways], axis=1, dtype=np.float32).reshape(-1)
        text = part_text(shape, "shape")
        try:
            hits = self._native.cast(text, rows, *filter_bits(category, mask), self._ignored(ignore))
        except SceneError as error:
            raise scene_error(error, "shape") from None
        return hits_of(hits, starts.shape[:1])

    def move_characters(
        self,
        shape: Mapping[str, Any],
        positions: ArrayLike,
        motions: ArrayLike,
        *,
        up: Pair = (0.0, 1.0),
        max_slope: float = math.pi / 4,
        step_height: float = 0.25,
        snap: float = 0.25,
        skin: float = 0.01,
        category: int = 1,
        mask: int = 2**32 - 1,
    ) -> Moved:
        """Moves characters, which are shapes but no bodies, from positions (characters, 2), m, by motions (characters, 2),
        m. They slide along what is in their way, and climb slopes up to `max_slope`, rad, and steps up to `step_height`, m.

        They keep to the ground down to a distance of `snap`, m, unless their motion goes up, and `skin`, m, away from all
        surfaces. Capsules pass corners best. All are moved in a few batches of casts: give them in one call.
        """
        starts, ways = _points("positions", positions), _points("motions", motions)
        try:
            rows = np.concatenate(np.broadcast_arrays(starts, ways), axis=1, dtype=np.float32)
        except ValueError:
            raise ArgumentError("motions", f"has shape {ways.shape}", f"shape {starts.shape}, as positions") from None
        gait = (
            arguments.pair("up", up),
            arguments.number("max_slope", max_slope),
            arguments.number("step_height", step_height),
            arguments.number("snap", snap),
            arguments.number("skin", skin),
        )
        text = part_text(shape, "shape")
        try:
            moved = self._native.move_characters(text, rows.reshape(-1), gait, *filter_bits(category, mask))
        except SceneError as error:
            raise scene_error(error, "shape") from None
        return Moved(**moved)

    def events(self) -> list[Event]:
        """Returns the events since the last call, oldest first, if the scene's setting `events` is on.

        On a GPU: those that have arrived.
        """
        made = []
        for step, kind, bodies, joint, point, normal, speed in self._native.events():
            first, second = (None if body is None else BodyId(*body) for body in bodies)
            joint_id = None if joint is None else JointId(*joint)
            made.append(Event(step, kind, (first, second), joint_id, _two(point), _two(normal), speed))
        return made

    # ── bodies and joints

    def body(self, which: int | str | BodyId) -> BodyHandle:
        """Returns a body, by its index in the scene, its name, or its id.

        An index means the first body of a row, never a later one that got the row. For rows in hits and contacts, use
        `id_of`.

        Raises MissingError (a KeyError and an IndexError) if there is none or it was removed.
        """
        handle = BodyHandle(self._native, self._body_id(which), self._pending)
        handle._read()
        return handle

    def id_of(self, row: int) -> BodyId:
        """Returns the id of the body that has a row of the arrays now: `world.body(world.id_of(hits.body[0]))`.

        Raises MissingError (a KeyError and an IndexError) if the row has no body.
        """
        index = arguments.whole("row", row, -(2**31), 2**32 - 1)
        found = self._native.body_id(index) if index >= 0 else None
        if found is None:
            raise MissingError(f"there is no body in row {index}")
        return BodyId(*found)

    @property
    def ids(self) -> list[BodyId]:
        """Ids of all bodies, in the order of their rows. Rows without a body have none; `id_of` returns the id in a row."""
        return [BodyId(*id) for id in self._native.bodies()]

    def add_body(self, body: Body | Mapping[str, Any]) -> BodyId:
        """Adds a body, which takes part from the next step on, and returns its id.

        Raises SceneError (a ValueError) for a value that is out of range.
        """
        return self.add_bodies([body])[0]

    def add_bodies(self, bodies: Iterable[Body | Mapping[str, Any]]) -> list[BodyId]:
        """Adds bodies, all or none, and returns their ids."""
        texts = [body_text(body) for body in bodies]
        try:
            return [BodyId(*id) for id in self._native.add_bodies(texts)]
        except SceneError as error:
            raise scene_error(error, "body") from None

    def set(self, which: Iterable[int | str | BodyId], *, shape: int | None = None, **properties: Any) -> None:
        """Sets properties of bodies from the next step on, all or none, by their names in a scene: `type`, `mass`, `inertia`,
        `fixed_rotation`, `bullet`, `can_sleep`, `sleep_speed`, `gravity_scale`, `linear_damping`, `angular_damping`,
        `user_data`; and of all their shapes, or the one with the number `shape`, `friction`, `kinetic_friction`,
        `restitution`, `tangent_speed`, `rolling_resistance`, `filter`.

        The bodies keep their poses, contacts and joints. Raises SceneError (a ValueError) for a value out of range.
        """
        ids = [self._body_id(one) for one in which]
        _set(self._native, ids, shape, properties)

    def set_shapes(self, which: int | str | BodyId, shapes: Body | Sequence[Mapping[str, Any]]) -> None:
        """Replaces the shapes of a body from the next step on: adds some, removes some, or changes their outline, density or
        material. The body keeps its place, velocity and joints; mass, centre of mass and moment of inertia follow from
        the shapes, except those that were given for the body.

        - `shapes`: all shapes of the body from now on, as in a scene file; or a body that has them:
          `world.set_shapes(0, ds.Body.dynamic().circle(0.5).half_box(1, 0.1))`.

        Raises SceneError (a ValueError) for a value out of range.
        """
        id = self._body_id(which)
        try:
            self._native.set_shapes((id.index, id.generation), shapes_text(shapes))
        except SceneError as error:
            raise scene_error(error, "shapes") from None

    def remove_body(self, which: int | str | BodyId) -> None:
        """Removes a body and its joints. Its row may get another body, once a step has run without it."""
        self.remove_bodies([which])

    def remove_bodies(self, which: Iterable[int | str | BodyId]) -> None:
        """Removes bodies and their joints, all or none."""
        ids = [self._body_id(one) for one in which]
        self._native.remove_bodies([(id.index, id.generation) for id in ids])

    def joint(self, which: int | str | JointId) -> JointHandle:
        """Returns a joint, by its index in the scene, its name there, or its id."""
        return JointHandle(self._native, self._joint_id(which))

    def add_joint(
        self, type: str, b: int | str | BodyId, a: int | str | BodyId | None = None, **fields: Any
    ) -> JointId:
        """Adds a joint between two bodies, or between `b` and the world, as `Scene.join`, and returns its id."""
        first = None if a is None else self._body_id(a)
        second = self._body_id(b)
        # The extension replaces the bodies by the ids.
        joint = {"type": type, "b": 1, **({} if a is None else {"a": 0}), **fields}
        ends = None if first is None else (first.index, first.generation)
        try:
            text = body_text(joint)
            return JointId(*self._native.add_joint(text, ends, (second.index, second.generation)))
        except SceneError as error:
            raise scene_error(error, "joint") from None

    def remove_joint(self, which: int | str | JointId) -> None:
        """Removes a joint. Its bodies touch again."""
        id = self._joint_id(which)
        self._native.remove_joints([(id.index, id.generation)])

    @property
    def gravity(self) -> tuple[float, float]:
        """Gravity, m/s². Can be set, which wakes all bodies; reading returns the new value at once."""
        return _two(self._native.gravity)

    @gravity.setter
    def gravity(self, value: Pair) -> None:
        self._native.set_gravity(arguments.pair("gravity", value))

    def explode(
        self,
        position: Pair,
        *,
        impulse_per_length: float = 10.0,
        radius: float = 5.0,
        falloff: float = 5.0,
        mask: int = 2**32 - 1,
    ) -> int:
        """Pushes dynamic bodies away from a point in the next step, and returns the number of impulses. It wakes them.

        - `position`: centre, m.
        - `impulse_per_length`: impulse for a metre of width that a shape turns towards the centre, N·s/m; negative ones pull.
        - `radius`: distance up to which shapes get all of it, m.
        - `falloff`: distance beyond the radius over which it falls to zero, m.
        - `mask`: categories of shapes that are pushed, as bits.

        On a GPU this waits for the device.
        """
        return self._native.explode(
            arguments.pair("position", position), blast(impulse_per_length, radius, falloff, mask)
        )

    def apply_wind(
        self,
        velocity: Pair,
        *,
        density: float = 1.225,
        drag: float = 1.0,
        lift: float = 1.0,
        mask: int = 2**32 - 1,
        wake: bool = False,
    ) -> int:
        """Lets a wind press on the shapes of dynamic bodies in the next step, and returns the number of impulses.

        Drag and lift act on the width that each edge turns towards the wind. Call it before each step in which it blows.

        - `velocity`: velocity of the air, m/s.
        - `density`: density of the air times the depth of the bodies, kg/m² of the plane.
        - `drag`, `lift`: coefficients; a drag of 1 stops the air in front of a shape.
        - `mask`: categories of shapes that feel it, as bits.
        - `wake`: true if it wakes bodies that sleep; otherwise they feel none.

        On a GPU this waits for the device.
        """
        return self._native.apply_wind(arguments.pair("velocity", velocity), air(density, drag, lift, mask, wake))

    # ── saving

    def save(self, path: str | os.PathLike[str] | None = None) -> bytes:
        """Returns the world as bytes, with its scene and all changes, and writes them to a file if there is a path.

        `World.load` continues from them to the same bits, and so do `drystone run --resume` and `drystone view`.
        """
        data = self._native.save()
        if path is not None:
            Path(path).write_bytes(data)
        return data

    def snapshot(self) -> Snapshot:
        """Returns the present state, in memory, for `restore`. It is faster than `save`, which also has the scene."""
        return self._native.snapshot()

    def restore(self, state: Snapshot | bytes) -> None:
        """Goes back to what `snapshot` or `save` returned for a world of the same scene, to the same bits.

        Ids are those of that state. Ids of bodies and joints that were added later may be given again, to others: drop
        them.

        Raises SnapshotError (a ValueError) for a state of another world; then nothing has changed.
        """
        if isinstance(state, Snapshot):
            self._native.restore(state)
        else:
            self._native.load(_bytes(state))
        self._pending.clear()

    def to_scene(self) -> dict[str, Any]:
        """Returns a scene that begins in the present state, as the object of a scene file."""
        import json

        scene: dict[str, Any] = json.loads(self._native.scene())
        return scene

    # ── where it runs

    @property
    def name(self) -> str:
        """Name of the scene."""
        return self._native.name

    @property
    def backend(self) -> str:
        """Backend: "cpu" or "gpu"."""
        return self._native.backend

    @property
    def device(self) -> str:
        """Name of the GPU, "software adapter …, not a GPU", or the number of threads of the CPU."""
        return self._native.device

    @property
    def threads(self) -> int | None:
        """Number of threads on the CPU; None on a GPU."""
        return self._native.threads

    # ── pictures

    def picture(self, size: tuple[int, int] = (960, 540), *, dark: bool = False) -> bytes:
        """Draws the world and returns a PNG file. Needs no GPU. `size`: width and height, 16 to 4096 pixels."""
        width, height = arguments.size("size", size)
        return self._native.picture(width, height, bool(dark))

    def movie(self, seconds: float = 5.0, *, size: tuple[int, int] = (640, 360), dark: bool = False) -> Movie:
        """Advances the world by some seconds and returns a movie of them, an animated GIF, which notebooks show.

        The world runs twice, to find a frame that shows all that happens; it ends as after one run.
        """
        width, height = arguments.size("size", size)
        steps = round(arguments.number("seconds", seconds) / self.dt)
        if steps < 1:
            raise ArgumentError("seconds", f"is {seconds}", f"at least one step, {self.dt:.6g} s")
        return Movie(self._native.movie(steps, width, height, bool(dark)))

    def _repr_png_(self) -> bytes:
        return self.picture((640, 360))

    def __repr__(self) -> str:
        return f"<drystone.World {self.name!r}: {len(self._native.bodies())} bodies, step {self.steps}, {self.device}>"

    def _ignored(self, which: int | str | BodyId | None) -> tuple[int, int] | None:
        if which is None:
            return None
        id = self._body_id(which)
        return id.index, id.generation

    def _body_id(self, which: int | str | BodyId) -> BodyId:
        if isinstance(which, BodyId):
            arguments.id_pair("body", which)
            return which
        if isinstance(which, str):
            found = self._native.find(which)
            if found is None:
                raise MissingError(f"there is no body {which!r}")
            return BodyId(*found)
        index = arguments.whole("body", which, -(2**31), 2**32 - 1)
        if index < 0:
            raise MissingError(f"there is no body {index}")
        # The first body in the row, never a later one: its id is that of the scene.
        holder = self._native.body_id(index)
        if holder is not None and holder[1] > 0:
            raise MissingError(
                f"there is no body {index}: it was removed, and its row holds the body {BodyId(*holder)} now; "
                f"world.id_of({index}) returns the id of that one"
            )
        return BodyId(index)

    def _joint_id(self, which: int | str | JointId) -> JointId:
        if isinstance(which, JointId):
            arguments.id_pair("joint", which)
            return which
        if isinstance(which, str):
            found = self._native.joint_id(0, which)
        else:
            index = arguments.whole("joint", which, -(2**31), 2**32 - 1)
            found = self._native.joint_id(index, None) if index >= 0 else None
        if found is None:
            raise MissingError(f"there is no joint {which!r}")
        return JointId(*found)


class _PendingPoses:
    """Poses that bodies were given since the last step. Reading shows them after the next one."""

    __slots__ = ("_native", "_poses", "_steps")

    def __init__(self, native: _drystone.World) -> None:
        self._native = native
        self._steps = 0
        """Number of steps done when the poses were given."""
        self._poses: dict[BodyId, tuple[tuple[float, float], float]] = {}

    def get(self, id: BodyId) -> tuple[tuple[float, float], float] | None:
        """Returns position, m, and angle, rad, that the body gets at the start of the next step."""
        return self._poses.get(id) if self._poses and self._native.steps == self._steps else None

    def put(self, id: BodyId, position: tuple[float, float], angle: float) -> None:
        """Notes a pose that was given."""
        steps = self._native.steps
        if steps != self._steps:
            self._poses, self._steps = {}, steps
        self._poses[id] = (position, angle)

    def clear(self) -> None:
        """Forgets all poses, as their commands were dropped or executed."""
        self._poses.clear()


class BodyHandle:
    """Body of a running world, read and commanded through its properties.

    Reading returns the present state, that after the last step. Position, angle, velocities, forces and impulses that are
    set act at the start of the next step, in the order in which they were set, and reading shows them after that step.
    Position and angle can be set one after the other: both hold. Points are in the body's frame, forces and impulses in
    world axes.
    """

    __slots__ = ("_native", "_pending", "id")

    def __init__(self, native: _drystone.World, id: BodyId, pending: _PendingPoses) -> None:
        self._native = native
        self._pending = pending
        self.id = id
        """Id of the body."""

    def _read(self) -> _drystone._BodyTuple:
        return self._native.body((self.id.index, self.id.generation))

    def _command(self, name: str, values: list[float], point: Pair | None = None) -> None:
        at = None if point is None else arguments.pair("point", point)
        self._native.command((self.id.index, self.id.generation), name, values, at)

    def _teleport(self, position: tuple[float, float] | None, angle: float | None) -> None:
        """Puts the body elsewhere. None keeps the part that it has, or was given since the last step."""
        if position is None or angle is None:
            known = self._pending.get(self.id)
            if known is None:
                body = self._read()
                known = _two(body[3]), body[4]
            position = known[0] if position is None else position
            angle = known[1] if angle is None else angle
        self._command("teleport", [*position, angle])
        self._pending.put(self.id, position, angle)

    @property
    def kind(self) -> str:
        """Type: "static", "kinematic" or "dynamic"."""
        return self._read()[1]

    @property
    def name(self) -> str | None:
        """Name in the scene."""
        return self._read()[2]

    @property
    def position(self) -> tuple[float, float]:
        """Origin of the body's frame, m, as doubles.

        Setting it puts the body there at the start of the next step; it keeps its velocities, and its angle or the one
        that was set. Reading returns the old position until that step.
        """
        return _two(self._read()[3])

    @position.setter
    def position(self, value: Pair) -> None:
        self._teleport(arguments.point("position", value), None)

    @property
    def angle(self) -> float:
        """Angle, rad, in (−π, π], rounded to float32.

        Setting it turns the body about its origin at the start of the next step; it keeps its velocities, and its position
        or the one that was set. Reading returns the old angle until that step.
        """
        return self._read()[4]

    @angle.setter
    def angle(self, value: float) -> None:
        self._teleport(None, arguments.number("angle", value))

    @property
    def velocity(self) -> tuple[float, float]:
        """Velocity of the centre of mass, m/s. Can be set, not of static bodies; reading returns the new value after the next
        step."""
        return _two(self._read()[5])

    @velocity.setter
    def velocity(self, value: Pair) -> None:
        self._command("velocity", list(arguments.pair("velocity", value)))

    @property
    def angular_velocity(self) -> float:
        """Angular velocity, rad/s. Can be set, not of static bodies; reading returns the new value after the next step."""
        return self._read()[6]

    @angular_velocity.setter
    def angular_velocity(self, value: float) -> None:
        self._command("angular_velocity", [arguments.number("angular_velocity", value)])

    @property
    def center(self) -> tuple[float, float]:
        """Centre of mass in the world, m."""
        return _two(self._read()[7])

    @property
    def mass(self) -> float:
        """Mass, kg; 0 for static and kinematic bodies."""
        return self._read()[8]

    @property
    def inertia(self) -> float:
        """Moment of inertia about the centre of mass, kg·m²; 0 for bodies that no torque turns."""
        return self._read()[9]

    @property
    def awake(self) -> bool:
        """False while a dynamic body sleeps."""
        return self._read()[10]

    @property
    def user_data(self) -> int:
        """Number of the user's, from 0 to 2⁶⁴ − 1, such as the key of a dict beside the world; 0 by default. Can be
        set; reading returns the new value at once.

        It has no effect on the simulation, and is saved with the world.
        """
        return self._read()[11]

    @user_data.setter
    def user_data(self, value: int) -> None:
        self.set(user_data=arguments.whole("user_data", value, 0, 2**64 - 1))

    @property
    def impulse(self) -> NoReturn:
        """Impulse at the centre of mass, N·s. Can only be set: it acts once. Dynamic bodies."""
        raise AttributeError("impulse: can only be set, as it acts once")

    @impulse.setter
    def impulse(self, value: Pair) -> None:
        self._command("impulse", list(arguments.pair("impulse", value)))

    @property
    def angular_impulse(self) -> NoReturn:
        """Angular impulse, N·m·s. Can only be set: it acts once. Dynamic bodies."""
        raise AttributeError("angular_impulse: can only be set, as it acts once")

    @angular_impulse.setter
    def angular_impulse(self, value: float) -> None:
        self._command("angular_impulse", [arguments.number("angular_impulse", value)])

    @property
    def force(self) -> NoReturn:
        """Constant force at the centre of mass, N, until it is changed. Can only be set. Dynamic bodies."""
        raise AttributeError("force: can only be set")

    @force.setter
    def force(self, value: Pair) -> None:
        self._command("force", list(arguments.pair("force", value)))

    @property
    def torque(self) -> NoReturn:
        """Constant torque, N·m, until it is changed. Can only be set. Dynamic bodies."""
        raise AttributeError("torque: can only be set")

    @torque.setter
    def torque(self, value: float) -> None:
        self._command("torque", [arguments.number("torque", value)])

    def apply_impulse(self, impulse: Pair, point: Pair | None = None) -> None:
        """Gives an impulse, N·s, at a point of the body's frame, m; without it at the centre of mass. Dynamic bodies."""
        self._command("impulse", list(arguments.pair("impulse", impulse)), point)

    def apply_force(self, force: Pair, point: Pair | None = None) -> None:
        """Sets the constant force, N, at a point of the body's frame, m, that moves along. Dynamic bodies."""
        self._command("force", list(arguments.pair("force", force)), point)

    def teleport(self, position: Pair, angle: float) -> None:
        """Puts the body at a position, m, as doubles, and an angle, rad, at the start of the next step; it keeps its
        velocities. Reading returns the old pose until that step."""
        self._teleport(arguments.point("position", position), arguments.number("angle", angle))

    def target(self, position: Pair, angle: float) -> None:
        """Sets the velocities that bring the body to a position, m, as doubles, and an angle, rad, in the next step.
        Kinematic bodies."""
        self._command("target", [*arguments.point("position", position), arguments.number("angle", angle)])

    def wake(self) -> None:
        """Wakes the body, and with it its island; what touches it, if the body is static or kinematic."""
        self._command("wake", [])

    def set(self, *, shape: int | None = None, **properties: Any) -> None:
        """Sets properties of the body, as `World.set`: `world.body(0).set(type="kinematic", friction=0.2)`.

        They act from the next step on. Reading `kind`, `mass`, `inertia` and `user_data` returns the new values at once.
        """
        _set(self._native, [self.id], shape, properties)

    def __repr__(self) -> str:
        return f"<drystone.BodyHandle {self.id}>"


class JointHandle:
    """Joint of a running world, commanded through its methods. Commands act at the start of the next step and last."""

    __slots__ = ("_native", "id")

    def __init__(self, native: _drystone.World, id: JointId) -> None:
        self._native = native
        self.id = id
        """Id of the joint."""

    def _command(self, name: str, values: list[float]) -> None:
        self._native.command_joint((self.id.index, self.id.generation), name, values)

    def set_motor(self, speed: float, max: float) -> None:
        """Sets speed, m/s or rad/s, and largest force, N, or torque, N·m, of the joint's motor."""
        self._command("motor", [arguments.number("speed", speed), arguments.number("max", max)])

    def set_limits(self, lower: float, upper: float) -> None:
        """Sets the limits of the joint, m or rad."""
        self._command("limits", [arguments.number("lower", lower), arguments.number("upper", upper)])

    def set_target(self, target: Pair) -> None:
        """Sets the point of the world to which a mouse joint pulls, m."""
        self._command("target", list(arguments.pair("target", target)))

    def set_offset(self, linear: Pair, angular: float) -> None:
        """Sets position, m, and angle, rad, of B relative to A that a motor joint drives to."""
        self._command("offset", [*arguments.pair("linear", linear), arguments.number("angular", angular)])

    def set_velocity(self, linear: Pair, angular: float = 0.0) -> None:
        """Sets the velocity, m/s in A's frame, and the angular velocity, rad/s, of B relative to A that a velocity joint
        drives to. With an axis, the part of `linear` along it counts."""
        self._command("velocity", [*arguments.pair("linear", linear), arguments.number("angular", angular)])

    def set_length(self, length: float) -> None:
        """Sets the length of a rod, or the rest length of a spring, m."""
        self._command("length", [arguments.number("length", length)])

    def set_spring_target(self, target: float) -> None:
        """Sets the rest position of the spring of a hinge, slider or wheel, rad or m."""
        self._command("spring_target", [arguments.number("target", target)])

    def set_enabled(self, enabled: bool) -> None:
        """Switches the joint on or off."""
        self._command("enabled", [float(bool(enabled))])

    def replace(self, type: str, **fields: Any) -> None:
        """Replaces the joint from the next step on: with a motor, limits, a spring, or another type, described as in
        `World.add_joint`. It keeps its id and its bodies, and begins unbroken and without impulses."""
        text = body_text({"type": type, **fields})
        try:
            self._native.replace_joint((self.id.index, self.id.generation), text)
        except SceneError as error:
            raise scene_error(error, "joint") from None

    def __repr__(self) -> str:
        return f"<drystone.JointHandle {self.id}>"


def _set(native: _drystone.World, ids: list[BodyId], shape: int | None, properties: dict[str, Any]) -> None:
    text = properties_text(shape, properties)
    try:
        native.set([(id.index, id.generation) for id in ids], text)
    except SceneError as error:
        raise scene_error(error, "properties") from None


def properties_text(shape: int | None, properties: Mapping[str, Any]) -> str:
    """Returns properties of a body as JSON."""
    if shape is None:
        return part_text(properties, "properties")
    return part_text({"shape": arguments.whole("shape", shape, 0), **properties}, "properties")


def _points(name: str, points: ArrayLike) -> NDArray[np.float32]:
    array = arguments.floats(name, points, "(rows, 2)")
    if array.ndim != 2 or array.shape[1] != 2:
        raise ArgumentError(name, f"has shape {array.shape}", "shape (rows, 2)")
    return array


def ray_array(rays: ArrayLike) -> NDArray[np.float32]:
    """Returns rays as an array of float32 (…, 4)."""
    array = arguments.floats("rays", rays, "(rays, 4)")
    if array.ndim < 1 or array.shape[-1] != 4:
        raise ArgumentError("rays", f"has shape {array.shape}", "shape (rays, 4): x, y of start and end")
    return array


def filter_bits(category: object, mask: object) -> tuple[int, int]:
    """Returns the categories of a filter, and those with which it collides."""
    most = 2**32 - 1
    return arguments.whole("category", category, 0, most), arguments.whole("mask", mask, 0, most)


def blast(impulse_per_length: object, radius: object, falloff: object, mask: object) -> tuple[float, float, float, int]:
    """Returns the strength and reach of an explosion."""
    return (
        arguments.number("impulse_per_length", impulse_per_length),
        arguments.number("radius", radius),
        arguments.number("falloff", falloff),
        arguments.whole("mask", mask, 0, 2**32 - 1),
    )


def air(
    density: object, drag: object, lift: object, mask: object, wake: object
) -> tuple[float, float, float, int, bool]:
    """Returns how a wind presses on shapes."""
    return (
        arguments.number("density", density),
        arguments.number("drag", drag),
        arguments.number("lift", lift),
        arguments.whole("mask", mask, 0, 2**32 - 1),
        bool(wake),
    )


def _backend(name: object) -> str:
    if name not in ("auto", "cpu", "gpu"):
        raise ArgumentError("backend", f"is {name!r}", '"auto", "cpu" or "gpu"')
    if name != "cpu":
        keep_quiet()
    return str(name)


def _bytes(data: bytes | str | os.PathLike[str]) -> bytes:
    if isinstance(data, (bytes, bytearray, memoryview)):
        return bytes(data)
    if isinstance(data, (str, os.PathLike)):
        return Path(data).read_bytes()
    raise ArgumentError("data", f"is {type(data).__name__}", "bytes that `save` returned, or the path of a file with them")


def _two(values: list[float]) -> tuple[float, float]:
    return values[0], values[1]

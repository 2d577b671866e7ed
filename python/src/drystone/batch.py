"""`Batch`: many worlds that step together, for learning and for sweeps of parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _arguments as arguments
from . import _drystone
from .errors import ArgumentError, SceneError
from .results import BodyId, Contacts, Hits, contacts_of, hits_of
from .scene import Body, Scene, SceneSource, body_text, native_scene, scene_error, shapes_text
from .world import _backend, _bytes, air, blast, filter_bits, properties_text, ray_array

if TYPE_CHECKING:
    from ._arguments import Pair


class Batch:
    """Many independent worlds that step together, on the CPU or in the same dispatches of a GPU.

    >>> batch = Batch(["bouncing_ball"] * 8, backend="cpu", threads=1)
    >>> batch.step(10)
    >>> batch.positions.shape[0]
    8

    Each world has the same bits as alone on the same backend. The scenes may differ, also in their sizes; on a GPU all
    worlds run the same stages, so settings such as the number of substeps must be equal.

    **Arrays.** `positions`, `angles`, `velocities`, `angular_velocities` and `awake` are one array each, read-only, with
    an axis of worlds and an axis of bodies, and their content follows the worlds as that of `drystone.World` does. Rows
    beyond the bodies of a world (`body_counts`) are NaN, and not awake. `forces` and `torques` are arrays to write to. If
    the number of rows grows (bodies are added, or made by emitters; a larger scene), there are other arrays: the old ones
    no longer follow the worlds, and those of `forces` and `torques` become read-only, so that a write to them raises.

    **Copies.** `save` and `load` move the state of worlds to a batch of the same scenes. `copy` and `pickle` raise
    TypeError.

    On a GPU `step` reads the state back once, if an array has been asked for at all. `step_async` does not wait.
    """

    def __init__(self, scenes: Iterable[SceneSource], *, backend: str = "auto", threads: int | None = None) -> None:
        """
        - `scenes`: a scene for each world, as for `drystone.World`: `[scene] * 4096`, or different ones.
        - `backend`: "cpu"; "gpu"; "auto": a hardware GPU if there is one and the worlds fit it, else the CPU.
        - `threads`: threads on the CPU, 1 to 256; default all cores.
        """
        if isinstance(scenes, (str, bytes, Mapping, Scene)) or not isinstance(scenes, Iterable):
            raise ArgumentError("scenes", f"is {type(scenes).__name__}", "a list with a scene for each world")
        count = None if threads is None else arguments.whole("threads", threads, 1, 256)
        # A scene that is given many times is read once.
        known: dict[int, tuple[SceneSource, _drystone.Scene]] = {}
        natives = []
        for index, scene in enumerate(scenes):
            found = known.get(id(scene))
            if found is None:
                try:
                    found = known[id(scene)] = (scene, native_scene(scene))
                except SceneError as error:
                    raise scene_error(error, f"scenes[{index}]") from None
                except ArgumentError as error:
                    raise ArgumentError(f"scenes[{index}]", error.problem, error.expected) from None
            natives.append(found[1])
        if not natives:
            raise ArgumentError("scenes", "has length 0", "a scene for each world")
        self._native = _drystone.Batch(natives, _backend(backend), count)
        self._handed: dict[str, NDArray[np.float32]] = {}
        """Arrays of forces and torques that the caller may have."""

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a drystone.Batch cannot be copied or pickled; save(world) returns the state of a world, for load(world, data) "
            "of a batch of the same scenes"
        )

    def __len__(self) -> int:
        """Returns the number of worlds."""
        return self._native.count

    # ── time

    def step(self, steps: int = 1) -> None:
        """Advances all worlds by a number of steps, and refreshes the arrays.

        Raises ArgumentError for a force or a torque that is not finite or that a body does not take; StepError;
        DeviceError; KeyboardInterrupt between two steps.
        """
        try:
            self._native.step(arguments.whole("steps", steps))
        finally:
            self._retire_arrays()

    def step_some(self, mask: ArrayLike) -> None:
        """Advances the worlds whose flag is true by one step: bool (worlds,)."""
        try:
            self._native.step_some(self._which(mask))
        finally:
            self._retire_arrays()

    def step_async(self, steps: int = 1) -> None:
        """Begins to advance all worlds and returns at once. The arrays keep their values until `wait`.

        Until then every other call raises PendingError; the arrays can be read.
        """
        self._native.step_async(arguments.whole("steps", steps))

    def wait(self) -> None:
        """Waits for the end of `step_async`, and refreshes the arrays. Ctrl-C ends it after the step under way."""
        try:
            self._native.wait()
        finally:
            self._retire_arrays()

    @property
    def pending(self) -> bool:
        """True between `step_async` and `wait`."""
        return self._native.pending

    @property
    def steps(self) -> NDArray[np.uint64]:
        """Number of steps that each world has done: uint64 (worlds,), a copy."""
        return self._native.steps()

    def reset(self, mask: ArrayLike | None = None) -> None:
        """Puts the worlds whose flag is true, or all, back to their start, to the bits of new ones: bool (worlds,).

        Their forces and torques are those of their scenes again. Bodies that were added are gone, and their ids may be
        given again: drop them.
        """
        self._native.reset(self._which(np.ones(len(self), dtype=np.bool_) if mask is None else mask))
        self._retire_arrays()

    # ── state

    @property
    def positions(self) -> NDArray[np.float32]:
        """Origins of the bodies' frames, m: float32 (worlds, bodies, 2), read-only, follows the worlds."""
        return self._native.column("positions")

    @property
    def angles(self) -> NDArray[np.float32]:
        """Angles, rad, in (−π, π]: float32 (worlds, bodies), read-only, follows the worlds."""
        return self._native.column("angles")

    @property
    def velocities(self) -> NDArray[np.float32]:
        """Velocities of the centres of mass, m/s: float32 (worlds, bodies, 2), read-only, follows the worlds."""
        return self._native.column("velocities")

    @property
    def angular_velocities(self) -> NDArray[np.float32]:
        """Angular velocities, rad/s: float32 (worlds, bodies), read-only, follows the worlds."""
        return self._native.column("angular_velocities")

    @property
    def awake(self) -> NDArray[np.bool_]:
        """False for bodies that sleep and rows without a body: bool (worlds, bodies), read-only, follows the worlds."""
        return self._native.column("awake")

    @property
    def body_counts(self) -> NDArray[np.int64]:
        """Number of rows of each world that may have a body: int64 (worlds,), a copy. Rows beyond are NaN."""
        return self._native.body_counts()

    @property
    def forces(self) -> NDArray[np.float32]:
        """Constant forces at the centres of mass, N: float32 (worlds, bodies, 2), to write to.

        What is written acts from the next step on, in every step, until it is changed. The values at first are those of
        the scenes. Only dynamic bodies take forces.

        If the number of rows grows, by `add_body` or otherwise, there is another array with the same values, and the old one
        becomes read-only. Views of the old one, and tensors that share its memory, can still be written to, without
        effect: take `batch.forces` again after `add_body`, `replace` and `vary`.
        """
        return self._loads("forces")

    @forces.setter
    def forces(self, value: ArrayLike) -> None:
        self._assign("forces", value)

    @property
    def torques(self) -> NDArray[np.float32]:
        """Constant torques, N·m: float32 (worlds, bodies), to write to, as `forces`."""
        return self._loads("torques")

    @torques.setter
    def torques(self, value: ArrayLike) -> None:
        self._assign("torques", value)

    def hashes(self) -> NDArray[np.uint64]:
        """Returns a hash of each world's state: uint64 (worlds,). Equal to `World.hash` of the same world alone."""
        return self._native.hashes()

    def contacts(self) -> Contacts:
        """Returns the contact points of all worlds as arrays; `world` says whose. On a GPU: a readback for each world."""
        return contacts_of(self._native.contacts())

    def query(self, rays: ArrayLike, *, category: int = 1, mask: int = 2**32 - 1) -> Hits:
        """Casts rays: float32 (worlds, rays, 4), or (rays, 4) for the same rays in each world; x, y of start and end, m.

        Returns arrays (worlds, rays). All rays share the same dispatches of a GPU. Rays hit the shapes that a shape with
        this `category` and `mask` would collide with.
        """
        asked = ray_array(rays)
        if asked.ndim == 2:
            asked = np.ascontiguousarray(np.broadcast_to(asked, (len(self), *asked.shape)))
        if asked.ndim != 3 or asked.shape[0] != len(self):
            expected = f"shape (rays, 4) or ({len(self)}, rays, 4): x, y of start and end"
            raise ArgumentError("rays", f"has shape {asked.shape}", expected)
        return hits_of(self._native.query(asked.reshape(-1), *filter_bits(category, mask)), asked.shape[:-1])

    # ── many worlds in one call

    @property
    def touching(self) -> NDArray[np.bool_]:
        """True for bodies that touch another one, or are closer than 2 cm to it: bool (worlds, bodies), a copy.

        The scenes need `settings={"events": True}`. Read it now and then: until then the worlds keep their events.
        """
        return self._native.touching()

    @property
    def touching_pairs(self) -> NDArray[np.int32]:
        """World and two bodies of each pair that touches, as `touching`: int32 (pairs, 3), a copy.

        Worlds are in order, pairs of a world in any.
        """
        return self._native.touching_pairs()

    def vary(
        self,
        mask: ArrayLike,
        scene: SceneSource,
        *,
        positions: ArrayLike | None = None,
        angles: ArrayLike | None = None,
        velocities: ArrayLike | None = None,
        angular_velocities: ArrayLike | None = None,
        segments: ArrayLike | None = None,
    ) -> None:
        """Replaces the worlds whose flag is true by variants of a scene, at their start: bool (worlds,).

        Each array has a row for each flag that is true, in order; NaN and arrays left out leave what the scene has. Both
        numbers of a pair are NaN, or none: half a pair raises ArgumentError.

        - `positions`, `velocities`: float32 (flagged, bodies, 2), m and m/s; `angles`, `angular_velocities`: float32
          (flagged, bodies), rad and rad/s.
        - `segments`: ends of all segments, in the order of bodies and shapes: float32 (flagged, segments, 4), m.

        Raises SceneError for the first variant that is not valid; the worlds before it are replaced.
        """
        which, native = self._which(mask), native_scene(scene)
        count, bodies = len(which), native.body_count
        given = None if segments is None else arguments.array_of("segments", segments, "(flagged, segments, 4)")
        shape = (count, given.shape[1] if given is not None and given.ndim == 3 else 0, 4)
        self._native.vary(
            which,
            native,
            arguments.partial_pairs("positions", positions, (count, bodies, 2)),
            arguments.partial("angles", angles, (count, bodies)),
            arguments.partial_pairs("velocities", velocities, (count, bodies, 2)),
            arguments.partial("angular_velocities", angular_velocities, (count, bodies)),
            arguments.partial_pairs("segments", given, shape),
        )
        self._retire_arrays()

    def push(self, impulses: ArrayLike | None = None, angular_impulses: ArrayLike | None = None) -> None:
        """Gives bodies impulses at the start of the next step.

        - `impulses`: at the centres of mass, N·s: float32 (worlds, bodies, 2).
        - `angular_impulses`: N·m·s: float32 (worlds, bodies).

        Zero gives nothing. Bodies that are not dynamic take none.
        """
        bodies = int(self.body_counts.max())
        linear = None if impulses is None else arguments.floats("impulses", impulses, "(worlds, bodies, 2)")
        angular = None
        if angular_impulses is not None:
            angular = arguments.floats("angular_impulses", angular_impulses, "(worlds, bodies)")
        self._native.push(
            arguments.partial("impulses", linear, (len(self), bodies, 2)),
            arguments.partial("angular_impulses", angular, (len(self), bodies)),
        )

    def drive(self, speeds: ArrayLike, strengths: ArrayLike) -> None:
        """Sets the motors of joints from the next step on. The joints have motors in their scenes.

        - `speeds`: rad/s, or m/s: float32 (worlds, joints), with joints by their index in the scene.
        - `strengths`: largest torques, N·m, or forces, N: float32 (worlds, joints).

        NaN in either array leaves a motor as it is.
        """
        given = arguments.array_of("speeds", speeds, f"({len(self)}, joints)")
        if given.ndim != 2 or given.shape[0] != len(self):
            raise ArgumentError("speeds", f"has shape {given.shape}", f"shape ({len(self)}, joints)")
        speed = arguments.partial("speeds", given, given.shape)
        strength = arguments.partial("strengths", strengths, given.shape)
        if speed is not None and strength is not None:
            self._native.drive(speed, strength, given.shape[1])

    def place(
        self,
        *,
        positions: ArrayLike | None = None,
        angles: ArrayLike | None = None,
        velocities: ArrayLike | None = None,
        angular_velocities: ArrayLike | None = None,
    ) -> None:
        """Gives bodies other poses and velocities at the start of the next step. NaN leaves those of a body as they are.

        - `positions` of origins, m, and `angles`, rad, together: float32 (worlds, bodies, 2) and (worlds, bodies). Both
          numbers of a position and the angle of the body are NaN, or none.
        - `velocities` of centres of mass, m/s: float32 (worlds, bodies, 2). Both numbers are NaN, or none.
        - `angular_velocities`, rad/s: float32 (worlds, bodies).

        Raises ArgumentError for a pose or a velocity of which a part is missing; then nothing is changed. Positions are
        rounded to float32, unlike those of `BodyHandle.position`.
        """
        if (positions is None) != (angles is None):
            missing = "positions" if positions is None else "angles"
            raise ArgumentError(missing, "is missing", "positions and angles together")
        bodies = int(self.body_counts.max())
        pairs, singles = (len(self), bodies, 2), (len(self), bodies)
        places = arguments.partial_pairs("positions", positions, pairs)
        turns = arguments.partial("angles", angles, singles)
        if places is not None and turns is not None:
            unturned = np.isnan(turns)
            half = unturned != np.isnan(places[::2])
            if half.any():
                first = int(np.argmax(half))
                name = "angles" if unturned[first] else "positions"
                where = f"{name}[{first // bodies}, {first % bodies}]"
                raise ArgumentError(where, "is missing (nan)", "position and angle of a body together, or NaN for both")
        self._native.place(
            places,
            turns,
            arguments.partial_pairs("velocities", velocities, pairs),
            arguments.partial("angular_velocities", angular_velocities, singles),
        )

    def picture(
        self,
        world: int,
        size: tuple[int, int] = (600, 400),
        *,
        view: tuple[float, float, float, float] | None = None,
        dark: bool = False,
    ) -> NDArray[np.uint8]:
        """Draws a world: uint8 (height, width, 3), rows from the top. Needs no GPU.

        - `size`: width and height, 16 to 4096 pixels.
        - `view`: left, bottom, right and top of what is shown, m; default all bodies.
        """
        width, height = arguments.size("size", size)
        if view is not None:
            if not isinstance(view, (Sequence, np.ndarray)) or len(view) != 4:
                raise ArgumentError("view", f"is {view!r}", "left, bottom, right and top, m")
            left, bottom, right, top = (arguments.number(f"view[{place}]", side) for place, side in enumerate(view))
            view = (left, bottom, right, top)
        return self._native.picture(self._index(world), width, height, view, bool(dark))

    # ── one world

    def save(self, world: int) -> bytes:
        """Returns the state of a world as bytes, for `load` of a world of the same scene."""
        return self._native.save(self._index(world))

    def load(self, world: int | Sequence[int], data: bytes | Sequence[bytes]) -> None:
        """Continues worlds from what `save` returned, to the same bits.

        - `world`: index of a world, or of several at once, with the bytes of each in `data`.

        Ids are those of that state. Ids of bodies that emitters made later are given again: drop them.

        Raises SnapshotError (a ValueError) for bytes of another world, also for those from before bodies were added or
        removed, unless the world was reset since; then nothing has changed.
        """
        worlds: Iterable[int] = [world] if isinstance(world, (int, np.integer)) else world
        given: Iterable[Any] = [data] if isinstance(world, (int, np.integer)) else data
        if not isinstance(worlds, Iterable):
            raise ArgumentError("world", f"is {world!r}", "an index, or several")
        if not isinstance(given, Iterable):
            raise ArgumentError("data", f"is {type(data).__name__}", "the bytes of each world")
        which, states = [self._index(index) for index in worlds], [_bytes(state) for state in given]
        if len(which) != len(states):
            raise ArgumentError("data", f"has {len(states)} states", f"{len(which)}, one for each world")
        if len(set(which)) != len(which):
            raise ArgumentError("world", "names a world twice", "different worlds")
        self._native.load(which, states)
        self._retire_arrays()

    def replace(self, world: int, scene: SceneSource) -> None:
        """Replaces a world by one of another scene, at its start. Ids of its bodies are those of that scene."""
        self._native.replace(self._index(world), native_scene(scene))
        self._retire_arrays()

    def set_gravity(self, world: int, gravity: Pair) -> None:
        """Sets gravity of a world, m/s²."""
        self._native.set_gravity(self._index(world), arguments.pair("gravity", gravity))

    def explode(
        self,
        world: int,
        position: Pair,
        *,
        impulse_per_length: float = 10.0,
        radius: float = 5.0,
        falloff: float = 5.0,
        mask: int = 2**32 - 1,
    ) -> int:
        """Pushes dynamic bodies of a world away from a point in its next step, as `World.explode`."""
        strength = blast(impulse_per_length, radius, falloff, mask)
        return self._native.explode(self._index(world), arguments.pair("position", position), strength)

    def apply_wind(
        self,
        velocity: ArrayLike,
        worlds: ArrayLike | None = None,
        *,
        density: float = 1.225,
        drag: float = 1.0,
        lift: float = 1.0,
        mask: int = 2**32 - 1,
        wake: bool = False,
    ) -> int:
        """Lets a wind press on the bodies of worlds in their next step, as `World.apply_wind`.

        - `velocity`: velocity of the air, m/s: (2,) for all worlds, or (worlds, 2), one for each world of the batch.
        - `worlds`: one bool for each world, true where it blows; without it, everywhere.

        Returns the number of impulses. On a GPU this waits for the device, once for all worlds.
        """
        given = arguments.floats("velocity", velocity, f"(2,) or ({len(self)}, 2)")
        if given.shape not in ((2,), (len(self), 2)):
            raise ArgumentError("velocity", f"has shape {given.shape}", f"shape (2,) or ({len(self)}, 2)")
        which = range(len(self)) if worlds is None else np.flatnonzero(arguments.flags("worlds", worlds, len(self)))
        each = np.broadcast_to(given, (len(self), 2))[which].tolist()
        return self._native.apply_wind([int(index) for index in which], each, air(density, drag, lift, mask, wake))

    def add_body(self, world: int, body: Body | Mapping[str, Any]) -> BodyId:
        """Adds a body to a world, which takes part from the next step on, and returns its id.

        If no row is free, all arrays get one more: take `forces` and `torques` again, as the old arrays become read-only.
        """
        index, text = self._index(world), body_text(body)
        try:
            added = self._native.add_bodies(index, [text])
        except SceneError as error:
            raise scene_error(error, "body") from None
        self._retire_arrays()
        return BodyId(*added[0])

    def set(self, world: int, body: int | BodyId, *, shape: int | None = None, **properties: Any) -> None:
        """Sets properties of a body of a world, as `World.set`."""
        id = _body_pair(body)
        text = properties_text(shape, properties)
        try:
            self._native.set(self._index(world), [id], text)
        except SceneError as error:
            raise scene_error(error, "properties") from None

    def set_shapes(self, world: int, body: int | BodyId, shapes: Body | Sequence[Mapping[str, Any]]) -> None:
        """Replaces the shapes of a body of a world, as `World.set_shapes`."""
        id = _body_pair(body)
        text = shapes_text(shapes)
        try:
            self._native.set_shapes(self._index(world), id, text)
        except SceneError as error:
            raise scene_error(error, "shapes") from None

    def remove_body(self, world: int, body: int | BodyId) -> None:
        """Removes a body of a world and its joints, by its index in the scene or its id."""
        self._native.remove_bodies(self._index(world), [_body_pair(body)])

    # ── where it runs

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

    def __repr__(self) -> str:
        return f"<drystone.Batch: {len(self)} worlds, {self.device}>"

    def _index(self, world: int) -> int:
        return arguments.whole("world", world, -len(self), len(self) - 1) % len(self)

    def _which(self, mask: ArrayLike) -> Sequence[int]:
        which: list[int] = np.flatnonzero(arguments.flags("mask", mask, len(self))).tolist()
        return which

    def _loads(self, name: str) -> NDArray[np.float32]:
        array = self._handed[name] = self._native.loads(name)
        return array

    def _retire_arrays(self) -> None:
        """Makes arrays of forces and torques read-only if others have taken their place, as writes to them are lost."""
        for name, old in self._handed.items():
            if self._native.loads(name) is not old:
                old.flags.writeable = False
                self._loads(name)

    def _assign(self, name: str, value: ArrayLike) -> None:
        array = self._loads(name)
        # `batch.forces[:, 3] += 1` is a change in place, and no assignment of another array.
        if value is array:
            return
        given = arguments.floats(name, value, str(array.shape))
        try:
            array[...] = given
        except ValueError:
            raise ArgumentError(name, f"has shape {given.shape}", f"shape {array.shape}") from None


def _body_pair(body: int | BodyId) -> tuple[int, int]:
    """Returns index and generation of a body, which is given by its index in the scene or its id."""
    return arguments.id_pair("body", body) if isinstance(body, BodyId) else (arguments.whole("body", body, 0, 2**32 - 1), 0)

"""`WorldVectorEnv`: base of the environments, all worlds in one batch and one call."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeAlias, TypedDict

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from .._arguments import number, whole
from ..batch import Batch
from ..errors import ArgumentError, SnapshotError
from ..scene import Scene, native_scene
from .state import VectorState
from .streams import Streams

Rows: TypeAlias = "NDArray[np.intp]"
Observations: TypeAlias = "NDArray[Any]"
"""Observations: float32, or uint8 for pictures, (worlds, …)."""
Step: TypeAlias = "tuple[Observations, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]"
View: TypeAlias = "tuple[float, float, float, float]"

if sys.version_info >= (3, 11):
    from typing import Unpack
else:
    from typing_extensions import Unpack

__all__ = ["Unpack", "WorldOptions", "WorldVectorEnv"]

_COUNTERS = ("_elapsed", "_ended", "_starts")
"""Arrays that each environment keeps."""
MAX_SEED = 2**64 - 1


class WorldOptions(TypedDict, total=False):
    """Options that all environments take."""

    max_episode_steps: int | None
    """Number of steps after which an episode is truncated; None: never."""
    autoreset_mode: AutoresetMode | str
    """Treatment of worlds whose episode has ended; default "NextStep"."""
    render_mode: str | None
    """None or "rgb_array"."""
    backend: str
    """Backend of the batch; default "cpu"."""
    threads: int | None
    """Threads on the CPU; default all cores."""
    settings: Mapping[str, Any] | None
    """Settings of the solver in place of those of the environment."""


class WorldVectorEnv(VectorEnv[Any, Any, Any]):
    """Many copies of an environment, a world of one batch each.

    Nothing in a step loops over worlds in Python. World `i` of an environment that was reset with a seed `s` does what
    the environment of one world does with the seed `s + i`, to the same bits.

    An environment says where its worlds begin (`_spawn`), what actions do (`_act`), what is seen (`_observe`), what it is
    worth (`_judge`), and which arrays it keeps from step to step (`_kept`).
    """

    metadata: dict[str, Any] = {
        "render_modes": ["rgb_array"],
        "render_fps": 50,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }
    steps_per_action: ClassVar[int] = 1
    """Number of steps of the worlds in a step of the environment."""
    picture_size: ClassVar[tuple[int, int]] = (600, 400)
    """Width and height of a frame, px."""
    start_options: ClassVar[Mapping[str, float]] = {}
    """Options of `reset` that bound where episodes begin, and their defaults."""
    episode_steps: ClassVar[int | None] = None
    """Default of `max_episode_steps`."""
    _kept: ClassVar[tuple[str, ...]] = ()
    """Names of the attributes that belong to the state of the worlds: arrays (worlds, …)."""

    def __init__(
        self,
        num_envs: int,
        scene: Scene,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
        *,
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        backend: str = "cpu",
        threads: int | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """
        - `num_envs`: number of worlds.
        - `max_episode_steps`: number of steps after which an episode is truncated; None: never.
        - `autoreset_mode`: what happens to a world whose episode has ended. `NEXT_STEP`: the next step begins a new
          one, with reward 0, and its action is ignored. `SAME_STEP`: the observation is that of the new episode, and
          `infos["final_obs"]` has the last one. `DISABLED`: it has to be reset by
          `reset(options={"reset_mask": mask})`.
        - `render_mode`: None or "rgb_array".
        - `backend`, `threads`: those of `drystone.Batch`.
        - `settings`: settings of the solver in place of those of the environment.
        """
        self.num_envs = whole("num_envs", num_envs, 1)
        if render_mode not in (None, "rgb_array"):
            raise ArgumentError("render_mode", f"is {render_mode!r}", 'None or "rgb_array"')
        self.render_mode = render_mode
        try:
            self.autoreset_mode = AutoresetMode(autoreset_mode)
        except ValueError:
            expected = " or ".join(f'"{mode.value}"' for mode in AutoresetMode)
            raise ArgumentError("autoreset_mode", f"is {autoreset_mode!r}", expected) from None
        self.metadata = {**type(self).metadata, "autoreset_mode": self.autoreset_mode}
        if max_episode_steps is not None:
            whole("max_episode_steps", max_episode_steps, 1)
        self.max_episode_steps = max_episode_steps
        self.single_observation_space = observation_space
        self.single_action_space = action_space
        self.observation_space = batch_space(observation_space, self.num_envs)
        self.action_space = batch_space(action_space, self.num_envs)
        scene.settings.update(settings or {})
        # Checked once. Batches take it as any other source of a scene.
        self._scene: Any = native_scene(scene)
        self._streams = Streams(self.num_envs)
        self._is_seeded = False
        self._elapsed = np.zeros(self.num_envs, dtype=np.int64)
        self._ended = np.zeros(self.num_envs, dtype=np.bool_)
        self._starts = np.tile(np.array([*self.start_options.values()], dtype=np.float64), (self.num_envs, 1))
        """Values of the start options: float64 (worlds, options)."""
        self._variants: dict[str, NDArray[np.float32]] = {}
        """Arrays with which `_vary` has made the worlds: float32 (worlds, …)."""
        self._everyone: Rows = np.arange(self.num_envs, dtype=np.intp)
        self.batch = Batch([scene] * self.num_envs, backend=backend, threads=threads)
        """The worlds."""

    def __init_subclass__(cls, **others: Any) -> None:
        super().__init_subclass__(**others)
        _spell_out(cls)

    # ── what an environment defines

    def _spawn(self, rows: Rows) -> None:
        """Puts worlds to the begin of an episode."""
        raise NotImplementedError

    def _act(self, actions: NDArray[Any], active: NDArray[np.bool_]) -> None:
        """Gives the worlds their actions; those that are not `active` get none."""
        raise NotImplementedError

    def _advance(self) -> None:
        """Lets time pass."""
        self.batch.step(self.steps_per_action)

    def _observe(self, rows: Rows) -> Observations:
        """Returns what is seen in worlds: float32 (n, …)."""
        raise NotImplementedError

    def _judge(self, rows: Rows, actions: NDArray[Any] | None) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Returns rewards and terminations of worlds, (n,). Without actions the episodes begin: rewards count from here."""
        raise NotImplementedError

    def _view(self, world: int) -> View:
        """Returns left, bottom, right and top of a frame, m."""
        raise NotImplementedError

    @classmethod
    def _part(cls, options: Mapping[str, Any], first: int) -> dict[str, Any]:
        """Returns the options of an environment whose worlds are those from `first` on of one with these options."""
        return dict(options)

    @classmethod
    def _checked_starts(cls, options: Mapping[str, Any]) -> dict[str, float]:
        """Returns all start options, those left out by their defaults. Raises ArgumentError for a wrong value."""
        return {
            name: number(f"options['{name}']", options[name]) if name in options else default
            for name, default in cls.start_options.items()
        }

    # ── what Gymnasium calls

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Begins new episodes.

        - `seed`: world `i` gets the seed `seed + i`; or a seed for each world. Without one its stream goes on. Seeds are
          whole numbers from 0 to 2⁶⁴ − 1.
        - `options`: `{"reset_mask": mask}` resets the worlds whose flag is true alone: bool (worlds,). The docstring of an
          environment names its other options. They hold for the worlds that are reset, until their next reset.

        Returns the observations of all worlds, and no infos. Raises ArgumentError (a ValueError) for other options and
        seeds; then nothing has changed.
        """
        seeds = checked_seeds(seed, self.num_envs)
        given = checked_options(options, type(self))
        mask, starts = reset_mask(given, self.num_envs), self._checked_starts(given)
        rows = self._everyone if mask is None else np.flatnonzero(mask)
        self._seed(seeds)
        self._starts[rows] = [*starts.values()]
        self._begin(rows)
        return self._observe(self._everyone), {}

    def step(self, actions: Any) -> Step:
        """Takes an action in each world.

        Returns observations, rewards (float64), terminations and truncations (bool), infos.
        """
        ended = self._ended
        check_going(self._is_seeded, ended, self.autoreset_mode)
        given = checked_actions(actions, self.single_action_space, self.num_envs)
        begins = np.flatnonzero(ended)
        self._act(given, ~ended)
        self._advance()
        self._elapsed += 1
        rewards, terminated = self._judge(self._everyone, given)
        truncated = np.zeros(self.num_envs, dtype=np.bool_)
        if self.max_episode_steps is not None:
            truncated |= self._elapsed >= self.max_episode_steps
        if len(begins):
            rewards[begins], terminated[begins], truncated[begins] = 0.0, False, False
            self._begin(begins)
        observations = self._observe(self._everyone)
        infos: dict[str, Any] = {}
        self._ended = terminated | truncated
        if self.autoreset_mode is AutoresetMode.SAME_STEP and self._ended.any():
            infos = {"final_obs": observations.copy(), "_final_obs": self._ended.copy(), "final_info": {}}
            rows = np.flatnonzero(self._ended)
            self._begin(rows)
            observations[rows] = self._observe(rows)
        return observations, rewards, terminated, truncated, infos

    def render(self, worlds: Sequence[int] | None = None) -> tuple[NDArray[np.uint8], ...] | None:
        """Returns frames of some worlds, or of all: uint8 (height, width, 3) each. None without a render mode."""
        if self.render_mode is None:
            return None
        chosen = range(self.num_envs) if worlds is None else worlds
        return tuple(self.batch.picture(world, self.picture_size, view=self._view(world)) for world in chosen)

    # ── state

    def state(self) -> VectorState:
        """Returns the state of all worlds, from which `set_state` continues to the same bits.

        It takes some 20 to 60 µs and 1 to 6 kB a world.
        """
        if not self._is_seeded:
            raise gymnasium.error.ResetNeeded("call reset() before state()")
        arrays = {name: np.array(getattr(self, name)) for name in (*_COUNTERS, *self._kept)}
        arrays["_streams"] = self._streams.states.copy()
        arrays.update({f"variant.{name}": array.copy() for name, array in self._variants.items()})
        snapshots = tuple(self.batch.save(world) for world in range(self.num_envs))
        return VectorState(type(self).__qualname__, snapshots, arrays)

    def set_state(self, state: VectorState) -> Observations:
        """Continues from a state of an environment of the same class, options and number of worlds.

        Returns the observations of all worlds. Raises SnapshotError (a ValueError) for another state; then nothing has
        changed. It takes 0.04 to 0.2 ms a world.
        """
        expected = f"a state of {self.num_envs} worlds of {type(self).__qualname__} with the same options"
        if not isinstance(state, VectorState):
            raise SnapshotError(f"is {type(state).__name__}", "state", expected)
        if (state.environment, len(state)) != (type(self).__qualname__, self.num_envs):
            raise SnapshotError(f"is of {len(state)} worlds of {state.environment}", "state", expected)
        names = {*_COUNTERS, *self._kept, "_streams"}
        if names != {name for name in state.arrays if not name.startswith("variant.")}:
            raise SnapshotError(f"has the arrays {sorted(state.arrays)}", "state", expected)
        for name, array in state.arrays.items():
            own = self._streams.states if name == "_streams" else getattr(self, name, array)
            if array.shape != own.shape or array.dtype != own.dtype or len(array) != self.num_envs:
                raise SnapshotError(f"has {name} as {array.dtype} {array.shape}", "state", expected)
        before = self.state() if self._is_seeded else None
        try:
            self._continue(state)
        except ArgumentError as error:
            if before is not None:
                self._continue(before)
            raise SnapshotError(f"does not fit: {error}", "state", expected) from None
        return self._observe(self._everyone)

    def _continue(self, state: VectorState) -> None:
        variants = {name[8:]: array.copy() for name, array in state.arrays.items() if name.startswith("variant.")}
        if variants:
            # Bytes of a world are those of one scene, so that the worlds are made again first.
            self._vary(self._everyone, **variants)
        self.batch.load(range(len(state.snapshots)), state.snapshots)
        for name in (*_COUNTERS, *self._kept):
            setattr(self, name, state.arrays[name].copy())
        self._streams.states[:] = state.arrays["_streams"]
        self._is_seeded = True

    # ── parts

    def _seed(self, seed: int | Sequence[int | None] | None) -> None:
        """Seeds the streams. The seeds are those of `checked_seeds`."""
        if seed is None and self._is_seeded:
            return
        if seed is None or isinstance(seed, int):
            super().reset(seed=seed)
            first = int(self.np_random.integers(2**62)) if seed is None else seed
            self._streams.seed(self._everyone, seeds_from(first, self.num_envs))
        else:
            if not self._is_seeded:
                self._seed(None)
            rows = np.flatnonzero([one is not None for one in seed])
            self._streams.seed(rows, np.array([one for one in seed if one is not None], dtype=np.uint64))
        self._is_seeded = True

    def _begin(self, rows: Rows) -> None:
        self._spawn(rows)
        self._elapsed[rows] = 0
        self._ended[rows] = False
        self._judge(rows, None)

    def _vary(self, rows: Rows, **arrays: NDArray[Any]) -> None:
        """Replaces worlds by variants of the scene, as `Batch.vary`, and keeps the arrays for `state`."""
        for name, given in arrays.items():
            if name not in self._variants:
                self._variants[name] = np.full((self.num_envs, *given.shape[1:]), np.nan, dtype=np.float32)
            self._variants[name][rows] = given
        self.batch.vary(self._mask(rows), self._scene, **arrays)

    def _mask(self, rows: Rows) -> NDArray[np.bool_]:
        mask = np.zeros(self.num_envs, dtype=np.bool_)
        mask[rows] = True
        return mask


def _spell_out(cls: type[WorldVectorEnv]) -> None:
    """Gives a constructor that takes `**options: Unpack[WorldOptions]` a signature with their names, for `help`."""
    init = vars(cls).get("__init__")
    if init is None:
        return
    own = inspect.signature(init)
    found = [one for one in own.parameters.values() if one.kind is inspect.Parameter.VAR_KEYWORD]
    if not found or found[0].annotation != "Unpack[WorldOptions]":
        return
    common = inspect.signature(WorldVectorEnv.__init__).parameters
    options = [common[name] for name in WorldOptions.__annotations__]
    options[0] = options[0].replace(default=cls.episode_steps)
    parameters = [one for one in own.parameters.values() if one is not found[0]]
    init.__signature__ = own.replace(parameters=[*parameters, *options])


def checked_options(options: object, kind: type[WorldVectorEnv]) -> Mapping[str, Any]:
    """Returns the options of `reset`. Raises ArgumentError for one that environments of the class do not know."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise ArgumentError("options", f"is {type(options).__name__}", "a dict")
    known = ("reset_mask", *kind.start_options)
    for name in options:
        if name not in known:
            raise ArgumentError(f"options[{name!r}]", "is no option of reset", " or ".join(f'"{one}"' for one in known))
    return options


def reset_mask(options: Mapping[str, Any], count: int) -> NDArray[np.bool_] | None:
    """Returns the checked mask of `reset`, bool (count,); None without one."""
    if "reset_mask" not in options:
        return None
    mask = options["reset_mask"]
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (count,):
        shown = f"{mask.dtype} {mask.shape}" if isinstance(mask, np.ndarray) else type(mask).__name__
        raise ArgumentError("options['reset_mask']", f"is {shown}", f"an array of bool ({count},)")
    if not mask.any():
        raise ArgumentError("options['reset_mask']", "has no flag that is true", "at least one")
    return mask


def seeds_from(first: int, count: int) -> NDArray[np.uint64]:
    """Returns the seeds of worlds whose environment has a seed: uint64 (count,)."""
    seeds: NDArray[np.uint64] = np.uint64(first) + np.arange(count, dtype=np.uint64)
    return seeds


def checked_seeds(seed: object, count: int) -> int | list[int | None] | None:
    """Returns the seed of all worlds, or one for each, as plain numbers.

    Raises ArgumentError for anything but whole numbers from 0 to 2⁶⁴ − 1, or a number of seeds other than that of worlds.
    """
    if seed is None:
        return None
    if isinstance(seed, np.ndarray) and seed.ndim > 0:
        seed = list(seed)
    if isinstance(seed, Sequence) and not isinstance(seed, (str, bytes)):
        if len(seed) != count:
            raise ArgumentError("seed", f"has length {len(seed)}", f"a seed, or one for each of {count} worlds")
        return [None if one is None else whole(f"seed[{place}]", one, 0, MAX_SEED) for place, one in enumerate(seed)]
    # The last world has the seed `seed + count - 1`.
    return whole("seed", seed, 0, MAX_SEED - (count - 1))


def check_going(is_seeded: bool, ended: NDArray[np.bool_], mode: AutoresetMode) -> None:
    """Raises ResetNeeded if worlds cannot take a step: before the first reset, or without autoreset after their end."""
    if not is_seeded:
        raise gymnasium.error.ResetNeeded("call reset() before step()")
    if mode is AutoresetMode.DISABLED and ended.any():
        which = np.flatnonzero(ended)[:8].tolist()
        raise gymnasium.error.ResetNeeded(
            f"the episodes of worlds {which} have ended; call reset(options={{'reset_mask': mask}})"
        )


def checked_actions(actions: Any, space: gymnasium.Space[Any], count: int) -> NDArray[Any]:
    """Returns the actions of some worlds as an array, checked against the space of one."""
    given = np.asarray(actions)
    shape = (count, *(space.shape or ()))
    if given.shape != shape:
        raise ArgumentError("actions", f"has shape {given.shape}", f"shape {shape}")
    if isinstance(space, gymnasium.spaces.Discrete):
        if given.dtype.kind not in "iu":
            raise ArgumentError("actions", f"has dtype {given.dtype}", "whole numbers")
        wrong = (given < 0) | (given >= space.n)
        if wrong.any():
            first = int(np.flatnonzero(wrong)[0])
            raise ArgumentError(f"actions[{first}]", f"is {given[first]}", f"a whole number from 0 to {space.n - 1}")
        return given
    if given.dtype.kind not in "fiu":
        raise ArgumentError("actions", f"has dtype {given.dtype}", "numbers")
    if not np.isfinite(given).all():
        place = ", ".join(str(int(index)) for index in np.argwhere(~np.isfinite(given))[0])
        raise ArgumentError(f"actions[{place}]", "is not finite", "a finite number")
    return np.clip(given.astype(np.float64), space.low, space.high) if isinstance(space, gymnasium.spaces.Box) else given

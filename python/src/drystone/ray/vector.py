"""`RayVectorEnv`: an environment whose worlds are on many machines."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

try:
    import gymnasium
except ImportError as error:
    raise ImportError('drystone.ray needs Gymnasium: pip install "drystone[ray]"') from error
import numpy as np
import ray
from gymnasium.envs.registration import load_env_creator
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from .. import envs as _registered  # noqa: F401
from .._arguments import whole
from ..envs.state import VectorState
from ..envs.vector import (
    Observations,
    Step,
    WorldVectorEnv,
    check_going,
    checked_actions,
    checked_options,
    checked_seeds,
    reset_mask,
    seeds_from,
)
from ..errors import ArgumentError, ClusterError, SnapshotError
from .actors import LOST, Actors, Needs, check_version, checked_actors, connect, share, threads_of

Command: TypeAlias = "tuple[str, Any]"
"""A method of `_Worlds` and its argument."""


class _Worlds:
    """Actor with some of the worlds."""

    def __init__(self, version: str, kind: type[WorldVectorEnv], count: int, options: Mapping[str, Any]) -> None:
        self._version, self._kind, self._count, self._options = version, kind, count, options
        self._envs: WorldVectorEnv | None = None

    @property
    def envs(self) -> WorldVectorEnv:
        """Environment of the actor's worlds. It is made in a call, as an error in a constructor is a death for Ray."""
        if self._envs is None:
            check_version(self._version)
            self._envs = self._kind(self._count, **self._options)
        return self._envs

    def run(self, command: Command, wants_state: bool) -> tuple[Any, VectorState | None]:
        """Executes a command. Returns its answer and, if wanted, the state after it."""
        name, argument = command
        answer = getattr(self, f"_{name}")(argument)
        return answer, self.envs.state() if wants_state else None

    def recover(
        self, checkpoint: VectorState | None, log: Sequence[Command], command: Command | None, wants_state: bool
    ) -> tuple[Any, VectorState | None]:
        """Continues from a checkpoint, or the beginning, repeats commands and executes one more."""
        self._envs = None
        if checkpoint is not None:
            self.envs.set_state(checkpoint)
        for done in log:
            self.run(done, False)
        return self.run(command, wants_state) if command is not None else (None, None)

    def _reset(
        self, argument: tuple[list[int | None] | None, NDArray[np.bool_] | None, dict[str, float]]
    ) -> Observations:
        seeds, mask, starts = argument
        if mask is None or mask.any():
            masked = {} if mask is None else {"reset_mask": mask}
            return self.envs.reset(seed=seeds, options={**masked, **starts})[0]
        self.envs._seed(seeds)
        return self.envs._observe(self.envs._everyone)

    def _step(self, actions: NDArray[Any]) -> Step:
        return self.envs.step(actions)

    def _render(self, worlds: Sequence[int]) -> Any:
        return self.envs.render(worlds)

    def _state(self, _: None) -> VectorState:
        return self.envs.state()

    def _set_state(self, state: VectorState) -> Observations:
        return self.envs.set_state(state)

    def _place(self, _: None) -> tuple[int, str]:
        """Returns process and node of the actor, with its environment made."""
        assert self.envs
        return os.getpid(), ray.get_runtime_context().get_node_id()


class RayVectorEnv(VectorEnv[Any, Any, Any]):
    """An environment of many worlds on a Ray cluster: some actors with a part of the worlds each.

    Observations, rewards, ends and infos are those of one local environment of all worlds with the same seed, to the same
    bits, for any number of actors. World `i` does what the environment of one world does with the seed `seed + i`.

    An actor that dies is replaced. The new one continues from the last checkpoint, which the driver holds, and repeats
    the actions since then, so that nothing changes but the time. All calls of Gymnasium are those of `WorldVectorEnv`.
    """

    def __init__(
        self,
        environment: str | type[WorldVectorEnv],
        num_envs: int,
        *,
        actors: int | None = None,
        checkpoint_every: int = 200,
        num_cpus: float = 1.0,
        num_gpus: float = 0.0,
        resources: Mapping[str, float] | None = None,
        timeout: float = 300.0,
        threads: int | None = None,
        **options: Any,
    ) -> None:
        """
        - `environment`: a registered name such as "drystone/LunarLander-v3", or a class derived from `WorldVectorEnv`.
        - `num_envs`: number of worlds of all actors together.
        - `actors`: number of actors; default as many as the cluster has room for.
        - `checkpoint_every`: number of steps after which the states of all worlds are fetched, 1 to 6 kB a world. At
          most this number of steps is repeated.
        - `num_cpus`, `num_gpus`, `resources`: what each actor reserves with Ray. It can be on any node that has it.
        - `timeout`: time an actor may take to start and to answer, s.
        - `threads`: threads of each actor; default `num_cpus`, at least 1.
        - `options`: those of the environment: `autoreset_mode`, `max_episode_steps`, `backend`, …

        Connects to the Ray cluster, or starts Ray on this machine. Raises ArgumentError (a ValueError) for options that
        the environment does not take, ClusterError for actors that do not start.
        """
        kind, defaults = _environment(environment)
        self._kind = kind
        self.num_envs = whole("num_envs", num_envs, 1)
        self._checkpoint_every = whole("checkpoint_every", checkpoint_every, 1)
        needs = Needs.checked(num_cpus, num_gpus, resources, timeout)
        options = {**defaults, **options, "threads": threads_of(threads, needs)}
        # One world here has the spaces, and finds wrong options before an actor starts.
        sample = kind(1, **{**options, "backend": "cpu", "threads": 1})
        self.render_mode = sample.render_mode
        self.autoreset_mode = sample.autoreset_mode
        self.metadata = sample.metadata
        self.max_episode_steps = sample.max_episode_steps
        self.single_observation_space = sample.single_observation_space
        self.single_action_space = sample.single_action_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        connect()
        self._parts = share(self.num_envs, checked_actors(actors, needs, self.num_envs))
        arguments = [(kind, part.stop - part.start, kind._part(options, part.start)) for part in self._parts]
        self._ended = np.zeros(self.num_envs, dtype=np.bool_)
        self._is_seeded = False
        self._checkpoints: list[VectorState | None] = [None] * len(self._parts)
        self._logs: list[list[Command]] = [[] for _ in self._parts]
        """Commands of each actor since its checkpoint."""
        self._is_in_doubt = False
        """True after an error, when some actors may have executed a command and others not."""
        self._actors = Actors(_Worlds, arguments, needs)
        try:
            self._ask([("place", None)] * len(self._parts))
        except BaseException:
            self._actors.close()
            raise

    @property
    def actors(self) -> list[Any]:
        """Ray's handles of the actors, in the order of their worlds."""
        return list(self._actors.handles)

    @property
    def restarts(self) -> int:
        """Number of actors that died and were replaced."""
        return self._actors.restarts

    # ── what Gymnasium calls

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Begins new episodes, as `WorldVectorEnv.reset`. Returns the observations of all worlds, and no infos."""
        checked = checked_seeds(seed, self.num_envs)
        given = checked_options(options, self._kind)
        mask, starts = reset_mask(given, self.num_envs), self._kind._checked_starts(given)
        seeds = self._seeds(checked)
        commands: list[Command] = [
            ("reset", (None if seeds is None else seeds[part], None if mask is None else mask[part].copy(), starts))
            for part in self._parts
        ]
        found = self._do(commands, is_fresh=mask is None and seeds is not None and None not in seeds)
        self._is_seeded = True
        self._ended[slice(None) if mask is None else mask] = False
        return np.concatenate(found), {}

    def step(self, actions: Any) -> Step:
        """Takes an action in each world, as `WorldVectorEnv.step`.

        Returns observations, rewards (float64), terminations and truncations (bool), infos.
        """
        check_going(self._is_seeded, self._ended, self.autoreset_mode)
        given = checked_actions(actions, self.single_action_space, self.num_envs)
        found: list[Step] = self._do([("step", given[part].copy()) for part in self._parts])
        seen, rewards, terminated, truncated = (
            np.concatenate([answer[place] for answer in found])
            for place in range(4)
        )
        infos: dict[str, Any] = {}
        if any(answer[4] for answer in found):
            # An actor in which nothing has ended says nothing.
            infos = {
                "final_obs": np.concatenate([answer[4].get("final_obs", answer[0]) for answer in found]),
                "_final_obs": terminated | truncated,
                "final_info": {},
            }
        self._ended = terminated | truncated
        return seen, rewards, terminated, truncated, infos

    def render(self, worlds: Sequence[int] | None = None) -> tuple[NDArray[np.uint8], ...] | None:
        """Returns frames of some worlds, or of all: uint8 (height, width, 3) each. None without a render mode."""
        if self.render_mode is None:
            return None
        chosen = list(range(self.num_envs) if worlds is None else worlds)
        for place, world in enumerate(chosen):
            whole(f"worlds[{place}]", world, 0, self.num_envs - 1)
        found = self._ask(
            [("render", [world - part.start for world in chosen if part.start <= world < part.stop]) for part in self._parts]
        )
        frames = [iter(part) for part in found]
        starts = [part.start for part in self._parts]
        return tuple(next(frames[int(np.searchsorted(starts, world, "right")) - 1]) for world in chosen)

    def close_extras(self, **kwargs: Any) -> None:
        """Ends the actors."""
        if hasattr(self, "_actors"):
            self._actors.close()

    # ── state

    def state(self) -> VectorState:
        """Returns the state of all worlds: that of a local environment of all worlds, to the same bits."""
        if not self._is_seeded:
            raise gymnasium.error.ResetNeeded("call reset() before state()")
        return VectorState.join(self._ask([("state", None)] * len(self._parts)))

    def set_state(self, state: VectorState) -> Observations:
        """Continues from a state of `state`, with any number of actors, or of a local environment.

        Returns the observations of all worlds. Raises SnapshotError for another state; then nothing has changed.
        """
        if not isinstance(state, VectorState) or len(state) != self.num_envs:
            shown = f"is of {len(state)} worlds" if isinstance(state, VectorState) else f"is {type(state).__name__}"
            raise SnapshotError(shown, "state", f"a state of {self.num_envs} worlds")
        # Into new environments, which take a state faster than those whose arrays follow.
        self._is_in_doubt = True
        found = self._do([("set_state", state[part]) for part in self._parts], is_fresh=True)
        self._is_seeded = True
        self._ended = state.arrays["_ended"].copy()
        return np.concatenate(found)

    # ── parts

    def _seeds(self, seed: int | list[int | None] | None) -> list[int | None] | None:
        """Returns a seed for each world, as a local environment would give it; None: its stream goes on."""
        if seed is None and self._is_seeded:
            return None
        if seed is None or isinstance(seed, int):
            super().reset(seed=seed)
            first = int(self.np_random.integers(2**62)) if seed is None else seed
            return [int(one) for one in seeds_from(first, self.num_envs)]
        if self._is_seeded:
            return seed
        others = seeds_from(int(self.np_random.integers(2**62)), self.num_envs)
        return [int(other) if one is None else one for one, other in zip(seed, others, strict=True)]

    def _do(self, commands: Sequence[Command], is_fresh: bool = False) -> list[Any]:
        """Executes a command in each actor, which changes the worlds, and returns the answers.

        - `is_fresh`: nothing before matters to what comes after it.
        """
        if is_fresh:
            saved = (self._checkpoints, self._logs)
            self._checkpoints, self._logs = [None] * len(commands), [[] for _ in commands]
            try:
                found, _ = self._run(commands, False)
            except BaseException:
                self._checkpoints, self._logs = saved
                raise
            for log, command in zip(self._logs, commands, strict=True):
                log.append(command)
            return found
        wants_state = len(self._logs[0]) + 1 >= self._checkpoint_every
        found, states = self._run(commands, wants_state)
        if wants_state:
            self._checkpoints, self._logs = list(states), [[] for _ in commands]
        else:
            for log, command in zip(self._logs, commands, strict=True):
                log.append(command)
        return found

    def _ask(self, commands: Sequence[Command]) -> list[Any]:
        """Executes a command in each actor, which changes nothing, and returns the answers."""
        return self._run(commands, False)[0]

    def _run(self, commands: Sequence[Command], wants_state: bool) -> tuple[list[Any], list[VectorState | None]]:
        if self.closed:
            raise ClusterError("the environment is closed")

        def recover(index: int) -> Any:
            checkpoint, log = self._checkpoints[index], self._logs[index]
            return self._actors.call(index, "recover", checkpoint, log, commands[index], wants_state)

        was_in_doubt, self._is_in_doubt = self._is_in_doubt, True
        references = [
            recover(index) if was_in_doubt else self._actors.call(index, "run", command, wants_state)
            for index, command in enumerate(commands)
        ]
        answers: list[Any] = []
        states: list[VectorState | None] = []
        for index, reference in enumerate(references):
            while True:
                try:
                    answer, state = self._actors.answer(index, reference)
                    break
                except LOST as error:
                    self._actors.replace(index, error)
                    reference = recover(index)
            answers.append(answer)
            states.append(state)
        self._is_in_doubt = False
        return answers, states


def _environment(environment: str | type[WorldVectorEnv]) -> tuple[type[WorldVectorEnv], dict[str, Any]]:
    """Returns the class of an environment, and the options with which it is registered."""
    kind: Any = environment
    defaults: dict[str, Any] = {}
    if isinstance(environment, str):
        spec = gymnasium.spec(environment)
        entry: str | Callable[..., Any] | None = spec.vector_entry_point
        kind = load_env_creator(entry) if isinstance(entry, str) else entry
        defaults = {**spec.kwargs, "max_episode_steps": spec.max_episode_steps}
    if not (isinstance(kind, type) and issubclass(kind, WorldVectorEnv)):
        raise ArgumentError(
            "environment", f"is {environment!r}", 'a class derived from WorldVectorEnv, or its name, "drystone/…"'
        )
    return kind, defaults


__all__ = ["RayVectorEnv"]

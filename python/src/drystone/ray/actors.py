"""`Actors`: a row of Ray actors that are replaced when they die."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ray
from ray.exceptions import (
    GetTimeoutError,
    NodeDiedError,
    ObjectLostError,
    OutOfMemoryError,
    RayActorError,
    RayTaskError,
    WorkerCrashedError,
)

from .._arguments import number, whole
from .._drystone import FINGERPRINT, VERSION
from ..errors import ArgumentError, ClusterError

LOST = (RayActorError, ObjectLostError, NodeDiedError, WorkerCrashedError, OutOfMemoryError)
"""Errors after which the state of an actor, or its answer, is gone."""
MAX_DEATHS = 4
"""Number of deaths of an actor in a row, without an answer between them, that is an error."""

_untyped: Any = ray
"""Ray module, for functions without types."""


@dataclass(frozen=True)
class Needs:
    """Resources of each actor, and how long it may take to start and to answer."""

    num_cpus: float = 1.0
    num_gpus: float = 0.0
    resources: Mapping[str, float] = field(default_factory=dict)
    timeout: float = 300.0

    @classmethod
    def checked(
        cls, num_cpus: float, num_gpus: float, resources: Mapping[str, float] | None, timeout: float
    ) -> Needs:
        """Returns checked needs."""
        for name, value in (("num_cpus", num_cpus), ("num_gpus", num_gpus), ("timeout", timeout)):
            if number(name, value) < 0:
                raise ArgumentError(name, f"is {value}", "0 or more")
        return cls(float(num_cpus), float(num_gpus), dict(resources or {}), float(timeout))

    @property
    def all(self) -> dict[str, float]:
        """Resources by their names in Ray."""
        named = {"CPU": self.num_cpus, "GPU": self.num_gpus, **self.resources}
        return {name: amount for name, amount in named.items() if amount > 0}

    def count(self, most: int) -> int:
        """Returns the number of such actors for which the nodes have room, 1 to `most`."""
        nodes = [node["Resources"] for node in _untyped.nodes() if node["Alive"]]
        room = [min((node.get(name, 0.0) / amount for name, amount in self.all.items()), default=1.0) for node in nodes]
        return min(most, max(1, sum(int(one + 1e-9) for one in room)))


def connect() -> None:
    """Connects to Ray, or starts it on this machine."""
    if not ray.is_initialized():
        ray.init()


def check_version(expected: str) -> None:
    """Raises ClusterError on a node that has another version, whose bits may be others."""
    if f"{VERSION} {FINGERPRINT}" != expected:
        raise ClusterError(f"a node has drystone {VERSION} {FINGERPRINT}; expected {expected}, as on the driver's")


class Actors:
    """Actors of one class. Each is replaced when it dies; the caller brings the new one to where it was."""

    def __init__(self, kind: type, arguments: Sequence[tuple[Any, ...]], needs: Needs) -> None:
        """
        - `kind`: class of the actors, whose first argument is the version of Drystone.
        - `arguments`: the other arguments of each actor.
        """
        self._kind: Any = ray.remote(kind)
        self._arguments = list(arguments)
        self._needs = needs
        self._deaths = [0] * len(self._arguments)
        self.restarts = 0
        """Number of actors that were replaced."""
        self.handles = [self._start(index) for index in range(len(self._arguments))]

    def __len__(self) -> int:
        """Returns the number of actors."""
        return len(self.handles)

    def _start(self, index: int) -> Any:
        needs = self._needs
        return self._kind.options(
            num_cpus=needs.num_cpus,
            num_gpus=needs.num_gpus,
            resources=dict(needs.resources),
            # A restart by Ray would begin without a state.
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy="SPREAD",
        ).remote(f"{VERSION} {FINGERPRINT}", *self._arguments[index])

    def call(self, index: int, method: str, *arguments: Any) -> Any:
        """Begins a call and returns its reference."""
        return getattr(self.handles[index], method).remote(*arguments)

    def answer(self, index: int, reference: Any) -> Any:
        """Waits for the answer of an actor.

        Raises one of `LOST`, the error of the call itself, or ClusterError after the timeout.
        """
        try:
            found = ray.get(reference, timeout=self._needs.timeout)
        except GetTimeoutError:
            raise self.silent(index) from None
        except RayTaskError as error:
            cause = getattr(error, "cause", None)
            raise cause if isinstance(cause, Exception) else error from None
        self._deaths[index] = 0
        return found

    def silent(self, index: int) -> ClusterError:
        """Returns the error about an actor that does not answer."""
        room = {name: amount for name, amount in _untyped.available_resources().items() if name in self._needs.all}
        return ClusterError(
            f"actor {index} of {len(self)} has not answered for {self._needs.timeout:g} s; each needs {self._needs.all}, "
            f"free on the cluster: {room}"
        )

    def replace(self, index: int, error: Exception) -> None:
        """Starts an actor in place of one that was lost. Raises ClusterError if that happens again and again."""
        self._deaths[index] += 1
        self._end(index)
        if self._deaths[index] >= MAX_DEATHS:
            raise ClusterError(
                f"actor {index} of {len(self)} was lost {self._deaths[index]} times without an answer; the last time: {error}"
            ) from error
        self.restarts += 1
        self.handles[index] = self._start(index)

    def _end(self, index: int) -> None:
        # A lost connection leaves a process behind.
        with contextlib.suppress(Exception):
            ray.kill(self.handles[index], no_restart=True)

    def close(self) -> None:
        """Ends all actors."""
        if ray.is_initialized():
            for index in range(len(self)):
                self._end(index)


def share(count: int, parts: int) -> list[slice]:
    """Returns ranges that divide `count` things among parts as evenly as can be."""
    ends = [count * (part + 1) // parts for part in range(parts)]
    return [slice(begin, end) for begin, end in zip([0, *ends], ends, strict=False)]


def checked_actors(actors: int | None, needs: Needs, most: int) -> int:
    """Returns the number of actors: the one given, or as many as the cluster has room for, at most `most`."""
    return needs.count(most) if actors is None else min(most, whole("actors", actors, 1))


def threads_of(threads: int | None, needs: Needs) -> int:
    """Returns the number of threads of an actor's batch: the one given, or one for each CPU of the actor."""
    return max(1, int(needs.num_cpus)) if threads is None else whole("threads", threads, 1, 256)

"""`ray_sweep`: many worlds on many machines, measured into one array."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import ray
from numpy.typing import ArrayLike, NDArray

from .._arguments import whole
from ..batch import Batch
from ..errors import ArgumentError, SceneError
from ..scene import Scene, SceneSource, native_scene, scene_error
from .actors import LOST, Actors, Needs, check_version, checked_actors, connect, share, threads_of

Measure: TypeAlias = "str | Callable[[Batch], ArrayLike]"
COLUMNS = ("positions", "angles", "velocities", "angular_velocities", "awake", "steps")
"""Attributes of a batch that a sweep may measure by their names."""
_untyped: Any = ray


@dataclass
class _Job:
    """Part of a sweep, and its progress."""

    worlds: slice
    scenes: list[str]
    """Scenes as JSON, each once."""
    order: list[int]
    """Scene of each world."""
    done: int = 0
    """Number of steps that are in the checkpoint."""
    checkpoint: list[bytes] | None = None
    samples: list[NDArray[Any]] = field(default_factory=list)


class _Runner:
    """Actor that runs one job after the other."""

    def __init__(self, version: str, measure: Measure, backend: str, threads: int) -> None:
        self._version, self._measure, self._backend, self._threads = version, measure, backend, threads
        self._batch: Batch | None = None

    def begin(
        self,
        scenes: Sequence[str],
        order: Sequence[int],
        checkpoint: Sequence[bytes] | None,
        count: int,
        every: int,
        is_last: bool,
    ) -> tuple[list[NDArray[Any]], list[bytes]]:
        """Begins a job at its checkpoint, and goes on with it."""
        check_version(self._version)
        texts: list[SceneSource] = [json.loads(text) for text in scenes]
        self._batch = Batch([texts[place] for place in order], backend=self._backend, threads=self._threads)
        if checkpoint:
            self._batch.load(range(len(checkpoint)), checkpoint)
        return self.go_on(count, every, is_last)

    def go_on(self, count: int, every: int, is_last: bool) -> tuple[list[NDArray[Any]], list[bytes]]:
        """Advances the job. Returns what was measured after each `every` steps, and the next checkpoint."""
        batch = self._batch
        assert batch is not None
        samples = []
        for _ in range(count // every):
            batch.step(every)
            samples.append(self._sample(batch))
        return samples, [] if is_last else [batch.save(world) for world in range(len(batch))]

    def _sample(self, batch: Batch) -> NDArray[Any]:
        found = getattr(batch, self._measure) if isinstance(self._measure, str) else self._measure(batch)
        sample = np.array(found)
        if sample.shape[:1] != (len(batch),) or sample.dtype == object:
            raise ArgumentError("measure", f"returned {sample.dtype} {sample.shape}", f"an array ({len(batch)}, …)")
        return sample


def ray_sweep(
    scenes: Iterable[SceneSource],
    steps: int,
    measure: Measure = "positions",
    *,
    every: int | None = None,
    batch_size: int = 64,
    actors: int | None = None,
    checkpoint_every: int = 600,
    num_cpus: float = 1.0,
    num_gpus: float = 0.0,
    resources: Mapping[str, float] | None = None,
    timeout: float = 300.0,
    backend: str = "cpu",
    threads: int | None = None,
) -> NDArray[Any]:
    """Runs many worlds on a Ray cluster and returns what was measured as one array.

    >>> rows = ray_sweep([scene(friction) for friction in frictions], 600)      # doctest: +SKIP

    - `scenes`: a scene for each world, as for `Batch`. Files are read here and not on the nodes.
    - `steps`: number of steps of each world.
    - `measure`: a function of a `Batch` that returns an array (worlds, …), or one of "positions", "angles",
      "velocities", "angular_velocities", "awake" and "steps". It runs in the actors and must not change the worlds.
    - `every`: number of steps between measures, a divisor of `steps`; default after the last one alone.
    - `batch_size`: number of worlds in a batch. Actors take one batch after the other.
    - `actors`: number of actors; default as many as the cluster has room for.
    - `checkpoint_every`: number of steps after which the states of a batch are fetched. If an actor dies, another one
      repeats at most this number, or `every` if that is more.
    - `num_cpus`, `num_gpus`, `resources`: what each actor reserves with Ray. It can be on any node that has it.
    - `timeout`: time an actor may take to start, and for `checkpoint_every` steps of a batch, s.
    - `backend`, `threads`: those of `Batch`; by default `num_cpus` threads, at least 1.

    Returns (worlds, …), or (worlds, samples, …) with `every`, in the order of the scenes: the same bits as a batch of all
    worlds would give. Where numbers of bodies differ, rows beyond those of a world are NaN (false for flags).

    Raises SceneError, ArgumentError (a ValueError), StepError, ClusterError, and what `measure` raises.
    """
    count = whole("steps", steps, 1)
    interval = count if every is None else whole("every", every, 1)
    if count % interval:
        raise ArgumentError("every", f"is {interval}", f"a divisor of {count} steps")
    if isinstance(measure, str) and measure not in COLUMNS:
        raise ArgumentError("measure", f"is {measure!r}", f"a function or one of {', '.join(COLUMNS)}")
    size = whole("batch_size", batch_size, 1)
    # Checkpoints are where something is measured.
    stretch = interval * max(1, whole("checkpoint_every", checkpoint_every, 1) // interval)
    needs = Needs.checked(num_cpus, num_gpus, resources, timeout)
    jobs = _jobs(scenes, size)
    own_threads = threads_of(threads, needs)
    connect()
    runners = Actors(_Runner, [(measure, backend, own_threads)] * checked_actors(actors, needs, len(jobs)), needs)
    try:
        _work(jobs, runners, count, interval, stretch, needs.timeout)
    finally:
        runners.close()
    samples = [_joined([job.samples[place] for job in jobs]) for place in range(count // interval)]
    return samples[0] if every is None else np.stack(samples, axis=1)


def _jobs(scenes: Iterable[SceneSource], size: int) -> list[_Job]:
    """Returns jobs of at most `size` worlds."""
    if isinstance(scenes, (str, bytes, Mapping, Scene)) or not isinstance(scenes, Iterable):
        raise ArgumentError("scenes", f"is {type(scenes).__name__}", "a list with a scene for each world")
    known: dict[int, tuple[SceneSource, str]] = {}
    texts = []
    for index, scene in enumerate(scenes):
        if id(scene) not in known:
            try:
                # The scene is kept, so that no other has its address.
                known[id(scene)] = (scene, native_scene(scene).json())
            except SceneError as error:
                raise scene_error(error, f"scenes[{index}]") from None
            except ArgumentError as error:
                raise ArgumentError(f"scenes[{index}]", error.problem, error.expected) from None
        texts.append(known[id(scene)][1])
    if not texts:
        raise ArgumentError("scenes", "has length 0", "a scene for each world")
    jobs = []
    for worlds in share(len(texts), -(-len(texts) // size)):
        unique = list(dict.fromkeys(texts[worlds]))
        places = {text: place for place, text in enumerate(unique)}
        jobs.append(_Job(worlds, unique, [places[text] for text in texts[worlds]]))
    return jobs


def _work(jobs: Sequence[_Job], runners: Actors, steps: int, every: int, stretch: int, timeout: float) -> None:
    """Runs all jobs to their end."""
    waiting = deque(jobs)
    running: dict[Any, tuple[int, _Job]] = {}

    def send(runner: int, job: _Job, begins: bool) -> None:
        ahead = min(stretch, steps - job.done)
        how = (ahead, every, job.done + ahead == steps)
        if begins:
            reference = runners.call(runner, "begin", job.scenes, job.order, job.checkpoint, *how)
        else:
            reference = runners.call(runner, "go_on", *how)
        running[reference] = (runner, job)

    for runner in range(len(runners)):
        if waiting:
            send(runner, waiting.popleft(), True)
    while running:
        ready, _ = _untyped.wait(list(running), num_returns=1, timeout=timeout)
        if not ready:
            raise runners.silent(next(iter(running.values()))[0])
        runner, job = running.pop(ready[0])
        try:
            samples, checkpoint = runners.answer(runner, ready[0])
        except LOST as error:
            runners.replace(runner, error)
            send(runner, job, True)
            continue
        # Copies, so that no object of Ray is held until the end.
        job.samples += [np.array(sample) for sample in samples]
        job.done += min(stretch, steps - job.done)
        job.checkpoint = checkpoint
        if job.done < steps:
            send(runner, job, False)
        elif waiting:
            send(runner, waiting.popleft(), True)


def _joined(samples: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Returns the samples of all jobs as one array; rows that one of them lacks are NaN, or false."""
    shapes = {sample.shape[1:] for sample in samples}
    if len(shapes) == 1:
        return np.concatenate(samples)
    kinds = {sample.dtype.kind for sample in samples}
    if len({len(shape) for shape in shapes}) > 1 or not kinds <= {"f", "b"} or len(kinds) > 1:
        raise ArgumentError("measure", f"returned arrays of the shapes {sorted(shapes)}", "one shape for all batches")
    largest = tuple(int(most) for most in np.max(list(shapes), axis=0))
    dtype = np.result_type(*samples)
    joined = np.full((sum(map(len, samples)), *largest), np.nan if kinds == {"f"} else False, dtype=dtype)
    begin = 0
    for sample in samples:
        place = (slice(begin, begin + len(sample)), *(slice(size) for size in sample.shape[1:]))
        joined[place] = sample
        begin += len(sample)
    return joined

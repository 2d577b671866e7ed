"""Measures steps per second of the environments, Python included, beside those of Gymnasium and EnvPool.

    python measure_environments.py --json ../benches/results/MACHINE/environments.json

All take turns in one run; figures are medians of the repeats. Peers that are not installed are left out. Actions are random,
so episodes are short and there are many resets.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import drystone
import drystone.envs

PIXELS = "TopDownCar-v0, pixels"
NAMES = (
    "CartPole-v1",
    "Pendulum-v1",
    "LunarLander-v3",
    "BipedalWalker-v3",
    "BipedalWalkerHardcore-v3",
    PIXELS,
    "TopDownCar-v0",
    "Stacking-v0",
)
ORIGINALS = {name: name for name in NAMES[:5]} | {PIXELS: "CarRacing-v3"}
"""Names of the originals."""
MAX_PICTURES = 1024
"""Largest number of worlds that are seen as pictures, as each has a map of 0.5 MB."""
BLOCK = 32
"""Number of different actions, which are taken in turns."""
Stepper = Callable[[int], None]


def stepper(envs: Any, count: int) -> Stepper:
    """Returns a function that steps environments of Gymnasium's interface with random actions."""
    envs.reset(seed=1)
    envs.action_space.seed(1)
    actions = [envs.action_space.sample() for _ in range(BLOCK)]
    if count == 0:

        def alone(steps: int) -> None:
            for step in range(steps):
                _, _, terminated, truncated, _ = envs.step(actions[step % BLOCK])
                if terminated or truncated:
                    envs.reset()

        return alone

    def together(steps: int) -> None:
        for step in range(steps):
            envs.step(actions[step % BLOCK])

    return together


def contestants(name: str, counts: list[int]) -> dict[str, tuple[int, int, Stepper]]:
    """Returns the environments of a name: worlds, threads and a function that steps."""
    found: dict[str, tuple[int, int, Stepper]] = {}
    options: dict[str, Any] = {"pixels": True} if name == PIXELS else {}
    if name == PIXELS:
        counts = [count for count in counts if count <= MAX_PICTURES]
    for threads in (1, 2):
        for count in counts:
            envs = gymnasium.make_vec(f"drystone/{name.split(',')[0]}", num_envs=count, threads=threads, **options)
            found[f"drystone, {count} worlds, {threads} threads"] = (count, threads, stepper(envs, count))
    if name not in ORIGINALS:
        return found
    original = ORIGINALS[name]
    found["gymnasium, 1 environment"] = (1, 1, stepper(gymnasium.make(original, disable_env_checker=True), 0))
    envs = gymnasium.make_vec(original, num_envs=16, vectorization_mode="sync")
    found["gymnasium, SyncVectorEnv of 16"] = (16, 1, stepper(envs, 16))
    try:
        envpool = importlib.import_module("envpool")
    except ImportError:
        return found
    for threads in (1, 2):
        for count in counts:
            pool = envpool.make(original, env_type="gymnasium", num_envs=count, num_threads=threads)
            pool.reset()
            space, generator = pool.action_space, np.random.default_rng(1)
            if isinstance(space, gymnasium.spaces.Discrete):
                actions: list[Any] = [generator.integers(0, space.n, count) for _ in range(BLOCK)]
            else:
                shape = (count, *space.shape)
                actions = [generator.uniform(space.low, space.high, shape).astype(np.float32) for _ in range(BLOCK)]

            def together(steps: int, pool: Any = pool, actions: list[Any] = actions) -> None:
                for step in range(steps):
                    pool.step(actions[step % BLOCK])

            found[f"envpool, {count} environments, {threads} threads"] = (count, threads, together)
    return found


def version(package: str) -> str | None:
    """Returns the version of an installed package."""
    try:
        return str(importlib.import_module(package).__version__)
    except ImportError:
        return None


def processor() -> str:
    """Returns the name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.processor())


def measured(name: str, counts: list[int], repeats: int, seconds: float) -> list[dict[str, Any]]:
    """Returns a row for each contestant: its steps per second, median and samples."""
    found = contestants(name, counts)
    steps = {}
    for label, (count, _, step) in found.items():
        step(4)
        begin = time.perf_counter()
        step(4)
        took = (time.perf_counter() - begin) / 4
        steps[label] = max(4, round(seconds / max(took, 1e-9)))
        print(f"{name}: {label}: {count / took:,.0f}/s at first", flush=True)
    samples: dict[str, list[float]] = {label: [] for label in found}
    for _ in range(repeats):
        for label, (count, _, step) in found.items():
            begin = time.perf_counter()
            step(steps[label])
            samples[label].append(count * steps[label] / (time.perf_counter() - begin))
    return [
        {
            "environment": name,
            "contestant": label,
            "worlds": count,
            "threads": threads,
            "steps_per_second": {"median": statistics.median(samples[label]), "samples": samples[label]},
        }
        for label, (count, threads, _) in found.items()
    ]


def ratios(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Returns the best median of Drystone over the best of each peer, by environment, at equal numbers of threads."""
    result: dict[str, dict[str, float]] = {}
    for name in {row["environment"] for row in rows}:
        for threads in (1, 2):
            best: dict[str, float] = {}
            for row in rows:
                if row["environment"] == name and (row["threads"] == threads or row["contestant"].startswith("gym")):
                    who = row["contestant"].split(",")[0]
                    best[who] = max(best.get(who, 0.0), row["steps_per_second"]["median"])
            for who in sorted(set(best) - {"drystone"}):
                result.setdefault(name, {})[f"{threads} threads / {who}"] = best["drystone"] / best[who]
    return result


def main() -> None:
    """Runs the measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="file for the result")
    parser.add_argument("--environments", nargs="*", default=NAMES, help=f"names without drystone/, or {PIXELS!r}")
    parser.add_argument("--worlds", nargs="*", type=int, default=[64, 1024, 4096])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="length of a sample")
    given = parser.parse_args()
    load = os.getloadavg()[0]
    rows = []
    for name in given.environments:
        rows += measured(name, given.worlds, given.repeats, given.seconds)
    for row in rows:
        print(f"{row['environment']:24} {row['contestant']:40} {row['steps_per_second']['median']:12,.0f} steps/s")
    machine = {"cpu": processor(), "cores": os.cpu_count(), "python": platform.python_version(), "load": load}
    versions = {package: version(package) for package in ("gymnasium", "envpool", "numpy")}
    found = {
        "machine": {**machine, "drystone": f"{drystone.__version__} {drystone.FINGERPRINT}", **versions},
        "ratios": ratios(rows),
        "rows": rows,
    }
    print(json.dumps(found["ratios"], indent=1))
    if given.json is not None:
        given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

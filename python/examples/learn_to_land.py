"""Learns to land, in our lander or Gymnasium's, and tries the pilot in both.

    pip install "drystone[envs]" "gymnasium[box2d]"
    python learn_to_land.py                    # learns in drystone/LunarLander-v3
    python learn_to_land.py LunarLander-v3     # learns in Gymnasium's, one process

The pilot is a controller with eight gains, all unknown at first. Each generation tries a sample of pilots, each in some
episodes at once, and keeps the mean and the spread of the best (cross-entropy method).
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

import drystone.envs  # noqa: F401

GAINS = 8
Floats = NDArray[np.float64]


def make(name: str, count: int, steps: int) -> Any:
    """Returns `count` landers with episodes of at most some steps."""
    mode = None if name.startswith("drystone/") else "sync"
    return gymnasium.make_vec(name, num_envs=count, vectorization_mode=mode, max_episode_steps=steps)


def act(pilots: Floats, seen: Floats) -> NDArray[np.int64]:
    """Returns the action of each pilot, (worlds,), for what it sees, (worlds, 8)."""
    x, y, speed, climb, angle, spin = seen[:, :6].T
    stands = seen[:, 6:].any(axis=1)
    aim = np.clip(pilots[:, 0] * x + pilots[:, 1] * speed, -0.4, 0.4)
    turn = np.where(stands, 0.0, pilots[:, 2] * (aim - angle) - pilots[:, 3] * spin)
    far = np.where(stands, 0.0, pilots[:, 4] * np.abs(x) - pilots[:, 5] * y)
    rise = far - pilots[:, 6] * climb - pilots[:, 7]
    main = (rise > np.abs(turn)) & (rise > 0.05)
    return np.where(main, 2, np.where(turn < -0.05, 3, np.where(turn > 0.05, 1, 0)))


def scores(envs: Any, pilots: Floats, seed: int) -> Floats:
    """Returns the sum of rewards of the first episode of each pilot in its world."""
    seen = envs.reset(seed=seed)[0]
    total, flies = np.zeros(len(pilots)), np.ones(len(pilots), dtype=bool)
    while flies.any():
        seen, rewards, terminated, truncated, _ = envs.step(act(pilots, seen))
        total += rewards * flies
        flies &= ~(terminated | truncated)
    return total


def main() -> None:
    """Learns and compares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", default="drystone/LunarLander-v3")
    parser.add_argument("--generations", type=int, default=16)
    parser.add_argument("--pilots", type=int, default=60)
    parser.add_argument("--episodes", type=int, default=4)
    parser.add_argument("--trials", type=int, default=100, help="episodes in which the last pilot is tried")
    parser.add_argument("--no-original", action="store_true", help="do not try it in Gymnasium's, which needs Box2D")
    given = parser.parse_args()
    generator = np.random.default_rng(1)
    mean, spread = np.zeros(GAINS), np.ones(GAINS)
    envs = make(given.name, given.pilots * given.episodes, 600)
    begin = time.perf_counter()
    for generation in range(given.generations):
        sample = mean + spread * generator.standard_normal((given.pilots, GAINS))
        found = scores(envs, np.repeat(sample, given.episodes, axis=0), 1000 * generation)
        found = found.reshape(given.pilots, given.episodes).mean(axis=1)
        best = sample[np.argsort(found)[-given.pilots // 5 :]]
        mean, spread = best.mean(axis=0), best.std(axis=0) + max(0.0, 0.1 - generation / 100)
        print(f"generation {generation + 1}: best {found.max():.0f}, mean {found.mean():.0f}", flush=True)
    print(f"{time.perf_counter() - begin:.0f} s")
    for name in ("drystone/LunarLander-v3", "LunarLander-v3")[: 1 if given.no_original else 2]:
        tried = scores(make(name, given.trials, 1000), np.repeat(mean[None], given.trials, axis=0), 10**6)
        print(f"learned in {given.name}, flies {name}: mean {tried.mean():.0f}, median {np.median(tried):.0f}")


if __name__ == "__main__":
    main()

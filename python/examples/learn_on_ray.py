"""Learns by PPO of RLlib, in worlds that are on all nodes of a Ray cluster.

    pip install "drystone[ray]" "ray[rllib]" torch
    python learn_on_ray.py                                        # keeps a pole upright, within minutes on two cores
    python learn_on_ray.py drystone/LunarLander-v3 --worlds 256 --actors 8 --iterations 200

RLlib sees one environment of many worlds, computes the actions of all worlds in one call, and learns in this process. Ray runs
on this machine, or on the cluster named by RAY_ADDRESS.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Mapping
from typing import Any

import gymnasium
import ray
from ray.rllib.algorithms.ppo import PPOConfig
from ray.tune.registry import register_env

from drystone.ray import RayVectorEnv


def environment(config: Mapping[str, Any]) -> Any:
    """Returns the environment: one world, from which RLlib takes the spaces, or all of them."""
    if "num_envs" not in config:
        return gymnasium.make(config["name"])
    return RayVectorEnv(config["name"], config["num_envs"], actors=config["actors"], num_cpus=0.5)


def main() -> None:
    """Learns, and prints the mean return of the episodes that ended in each iteration."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", default="drystone/CartPole-v1")
    parser.add_argument("--worlds", type=int, default=64)
    parser.add_argument("--actors", type=int, default=2)
    parser.add_argument("--iterations", type=int, default=12)
    given = parser.parse_args()
    ray.init(logging_level=logging.ERROR)
    register_env("worlds", environment)
    begin: Any = PPOConfig
    config = (
        begin()
        .environment("worlds", env_config={"name": given.name, "actors": given.actors})
        # The worlds have actors of their own. An episode that has not ended is continued in the next iteration.
        .env_runners(
            num_env_runners=0,
            num_envs_per_env_runner=given.worlds,
            gym_env_vectorize_mode=gymnasium.VectorizeMode.VECTOR_ENTRY_POINT,
        )
        .learners(num_learners=0)
        .training(train_batch_size_per_learner=64 * given.worlds, minibatch_size=512, num_epochs=6, lr=1e-3, gamma=0.99)
        .debugging(seed=1)
    )
    algorithm = config.build_algo()
    for iteration in range(given.iterations):
        found = algorithm.train()["env_runners"]
        print(f"iteration {iteration + 1}: mean return {found['episode_return_mean']:.0f}", flush=True)
    algorithm.stop()


if __name__ == "__main__":
    main()

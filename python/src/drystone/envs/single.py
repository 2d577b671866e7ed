"""`WorldEnv`: an environment of one world."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np
from numpy.typing import NDArray

from .._arguments import whole
from .vector import MAX_SEED, Observations, WorldVectorEnv


class WorldEnv(gymnasium.Env[Any, Any]):
    """One copy of an environment: a batch of one world.

    A step costs some 50 µs of Python for any world; `gymnasium.make_vec` shares them among all worlds.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 50}
    vector: ClassVar[type[WorldVectorEnv]]
    """Class of the environment of many worlds."""

    def __init__(self, render_mode: str | None = None, **options: Any) -> None:
        """
        - `render_mode`: None or "rgb_array".
        - `options`: those of the environment of many worlds.
        """
        # The time limit is a wrapper of gymnasium.make, as for its own environments.
        options = {"threads": 1, "max_episode_steps": None, **options}
        self.worlds = self.vector(1, autoreset_mode="Disabled", render_mode=render_mode, **options)
        self.render_mode = render_mode
        self.observation_space = self.worlds.single_observation_space
        self.action_space = self.worlds.single_action_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Begins an episode. Returns the observation and no infos.

        - `seed`: a whole number from 0 to 2⁶⁴ − 1. Without one the stream of random numbers goes on.
        - `options`: those that the docstring of the environment of many worlds names; they hold for this episode.

        Raises ArgumentError (a ValueError) for other options and seeds.
        """
        seed = None if seed is None else whole("seed", seed, 0, MAX_SEED)
        super().reset(seed=seed)
        if seed is None and not self.worlds._is_seeded:
            seed = int(self.np_random.integers(2**62))
        observations, infos = self.worlds.reset(seed=seed, options=options)
        return observations[0], infos

    def step(self, action: Any) -> tuple[Observations, float, bool, bool, dict[str, Any]]:
        """Takes an action. Returns observation, reward, terminated, truncated, infos.

        An episode that has ended goes on, as in Gymnasium's own environments; reset it.
        """
        self.worlds._ended[:] = False
        found, rewards, terminated, truncated, infos = self.worlds.step(np.asarray(action)[None])
        return found[0], float(rewards[0]), bool(terminated[0]), bool(truncated[0]), infos

    def render(self) -> NDArray[np.uint8] | None:
        """Returns a frame: uint8 (height, width, 3); None without a render mode."""
        frames = self.worlds.render()
        return None if frames is None else frames[0]

"""Environments for Gymnasium, each with thousands of worlds in one batch (`pip install "drystone[envs]"`).

>>> import gymnasium, drystone.envs
>>> envs = gymnasium.make_vec("drystone/LunarLander-v3", num_envs=4)
>>> observations, infos = envs.reset(seed=1)
>>> observations.shape
(4, 8)

The import registers them; `gymnasium.make` makes one world, `gymnasium.make_vec` many.
"""

try:
    import gymnasium
except ImportError as error:
    raise ImportError('drystone.envs needs Gymnasium: pip install "drystone[envs]"') from error

from .bipedal_walker import BipedalWalker, BipedalWalkerVector
from .cart_pole import CartPole, CartPoleVector
from .kinetix import Kinetix, KinetixVector, Level, level_names, load_level
from .lunar_lander import LunarLander, LunarLanderVector
from .pendulum import Pendulum, PendulumVector
from .single import WorldEnv
from .stacking import Stacking, StackingVector
from .state import VectorState
from .top_down_car import TopDownCar, TopDownCarVector
from .vector import WorldOptions, WorldVectorEnv

__all__ = [
    "BipedalWalker",
    "BipedalWalkerVector",
    "CartPole",
    "CartPoleVector",
    "Kinetix",
    "KinetixVector",
    "Level",
    "LunarLander",
    "LunarLanderVector",
    "Pendulum",
    "PendulumVector",
    "Stacking",
    "StackingVector",
    "TopDownCar",
    "TopDownCarVector",
    "VectorState",
    "WorldEnv",
    "WorldOptions",
    "WorldVectorEnv",
    "level_names",
    "load_level",
]


def _register(
    name: str, single: type[WorldEnv], steps: int | None, threshold: float | None = None, **options: object
) -> None:
    gymnasium.register(
        f"drystone/{name}",
        entry_point=f"{single.__module__}:{single.__name__}",
        vector_entry_point=f"{single.__module__}:{single.vector.__name__}",
        max_episode_steps=steps,
        reward_threshold=threshold,
        kwargs=options,
    )


_register("BipedalWalker-v3", BipedalWalker, 1600, 300)
_register("BipedalWalkerHardcore-v3", BipedalWalker, 2000, 300, hardcore=True)
_register("CartPole-v1", CartPole, 500, 475)
_register("Kinetix-v0", Kinetix, 256)
_register("LunarLander-v3", LunarLander, 1000, 200)
_register("Pendulum-v1", Pendulum, 200)
_register("Stacking-v0", Stacking, None)
_register("TopDownCar-v0", TopDownCar, 1000, 900)

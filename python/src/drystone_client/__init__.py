"""Client of the Drystone service: worlds of rigid bodies in 2D.

>>> from drystone_client import Service                              # doctest: +SKIP
>>> world = Service().create("large_pyramid:base=20")                # doctest: +SKIP
>>> world.step(100)                                                  # doctest: +SKIP
>>> world.state().position                                           # doctest: +SKIP
"""

from . import models
from .client import Problem, Service, World
from .frames import Bodies, State, decode

__all__ = ["Bodies", "Problem", "Service", "State", "World", "decode", "models"]

"""Client of the Drystone service: worlds of rigid bodies in 2D.

>>> from drystone.client import Service                              # doctest: +SKIP
>>> world = Service().create("large_pyramid:base=20")                # doctest: +SKIP
>>> world.step(100)                                                  # doctest: +SKIP
>>> world.state().position                                           # doctest: +SKIP
"""

from . import models
from .client import AsyncService, AsyncWorld, Service, World
from .errors import BadAnswer, DrystoneError, Problem, StreamEnded, TimedOut, Unreachable
from .frames import Bodies, Gap, State, decode

__all__ = [
    "AsyncService",
    "AsyncWorld",
    "BadAnswer",
    "Bodies",
    "DrystoneError",
    "Gap",
    "Problem",
    "Service",
    "State",
    "StreamEnded",
    "TimedOut",
    "Unreachable",
    "World",
    "decode",
    "models",
]

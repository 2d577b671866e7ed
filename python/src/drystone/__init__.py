"""Rigid bodies in 2D, on the CPU or a GPU.

>>> import drystone as ds
>>> world = ds.World("large_pyramid:base=20")
>>> ball = world.add_body(ds.Body.dynamic(0, 30).circle(0.5))
>>> world.body(ball).impulse = (5, 0)
>>> world.step(60)
>>> world.positions.shape
(212, 2)

`World` is one world, `Batch` many that step together, `Scene` and `Body` build scenes. `drystone.client` is the client of
the service (`pip install "drystone[client]"`).
"""

from ._drystone import FINGERPRINT, Snapshot
from ._drystone import VERSION as __version__
from .batch import Batch
from .catalogue import scenes, schema
from .errors import (
    ArgumentError,
    ClusterError,
    DeviceError,
    Error,
    InternalError,
    MissingError,
    PendingError,
    SceneError,
    SnapshotError,
    StepError,
)
from .grains import ForceChains, Outlines
from .movie import Movie
from .results import AllHits, BodyId, Contacts, Event, Hits, JointId, Moved
from .scene import Body, Scene, SceneSource
from .window import view
from .world import BodyHandle, JointHandle, World

__all__ = [
    "FINGERPRINT",
    "AllHits",
    "ArgumentError",
    "Batch",
    "Body",
    "BodyHandle",
    "BodyId",
    "ClusterError",
    "Contacts",
    "DeviceError",
    "Error",
    "Event",
    "ForceChains",
    "Hits",
    "InternalError",
    "JointHandle",
    "JointId",
    "MissingError",
    "Moved",
    "Movie",
    "Outlines",
    "PendingError",
    "Scene",
    "SceneError",
    "SceneSource",
    "Snapshot",
    "SnapshotError",
    "StepError",
    "World",
    "__version__",
    "scenes",
    "schema",
    "view",
]

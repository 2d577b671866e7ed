"""Worlds on many machines: batches as actors on a Ray cluster (`pip install "drystone[ray]"`).

>>> from drystone.ray import RayVectorEnv, ray_sweep                             # doctest: +SKIP
>>> envs = RayVectorEnv("drystone/LunarLander-v3", 4096, actors=16)              # doctest: +SKIP
>>> heights = ray_sweep(scenes, 600, lambda batch: batch.positions[:, 1:, 1])    # doctest: +SKIP

The worlds run in the processes of the actors, on the CPU or a GPU of their nodes; Drystone has to be installed on each
node, in the same version. An actor that dies, or whose node is lost, is replaced, continues from its last checkpoint and
repeats what came after it. The results are those of an undisturbed run on one machine, to the same bits. For worlds that
outlive the program there is `drystone.client.ray`.
"""

try:
    import ray as _ray  # noqa: F401
except ImportError as error:
    raise ImportError('drystone.ray needs Ray: pip install "drystone[ray]"') from error

from ..errors import ClusterError
from .sweep import ray_sweep
from .vector import RayVectorEnv

__all__ = ["ClusterError", "RayVectorEnv", "ray_sweep"]

"""Sliding distance of a box for several frictions, one world per value, on services run by Ray: `python examples/sweep.py STORE`.

STORE is `s3://BUCKET/PREFIX`, or an absolute path: each node of the Ray cluster runs a service that stores its worlds
there. Ray runs on this machine, or on the cluster named by RAY_ADDRESS; `drystone` must be in the PATH of its nodes.
"""

import logging
import math
import sys

import numpy as np
import ray

from drystone.client import models
from drystone.client.ray import Cluster

SLOPE = 0.5


@ray.remote(num_cpus=0.25)
def slide(cluster: Cluster, friction: float) -> tuple[float, float]:
    """Metres down a slope of tan 0.5 in two seconds."""
    angle = math.atan(SLOPE)
    normal = [-math.sin(angle), math.cos(angle)]
    box: models.SceneBody = {
        "position": [0.5 * normal[0], 0.5 * normal[1]],
        "angle": angle,
        "shapes": [{"box": {"half": [0.5, 0.5]}, "friction": friction, "kinetic_friction": friction}],
    }
    ground: models.SceneShape = {"half_plane": {"normal": normal, "offset": 0}, "friction": friction, "kinetic_friction": friction}
    scene: models.Scene = {
        "version": 1,
        "gravity": [0, -10],
        "bodies": [{"type": "static", "shapes": [ground]}, box],
    }
    # The same keys when Ray repeats the task: it gets the existing world and the finished steps.
    name = f"friction {friction:.2f}"
    world = cluster.create(scene, name, key=name)
    try:
        world.step(120, key=f"{name}, all steps")
        first, last = np.array(box["position"]), world.state().position[1]
    finally:
        world.delete()
    return friction, float(np.linalg.norm(last - first))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    ray.init(logging_level=logging.ERROR)
    frictions = [0.0, 0.1, 0.2, 0.3, 0.4, 0.48, 0.52]
    with Cluster(sys.argv[1], name="sweep", num_cpus=0.5) as cluster:
        for friction, distance in ray.get([slide.remote(cluster, friction) for friction in frictions]):
            ideal = max(0.0, 0.5 * 10 * 4 * (math.sin(math.atan(SLOPE)) - friction * math.cos(math.atan(SLOPE))))
            print(f"friction {friction:.2f}: {distance:.3f} m, ideal {ideal:.3f} m")

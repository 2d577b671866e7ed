"""How far a box slides for each friction, one world a value, on Ray: `python examples/sweep.py [URL…]`.

Several services share the work. Ray runs on this machine, or on the cluster that RAY_ADDRESS names.
"""

import logging
import math
import sys

import numpy as np
import ray

from drystone_client import Service, models

SLOPE = 0.5


@ray.remote(num_cpus=0.25)
def slide(url: str, friction: float) -> tuple[float, float]:
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
    with Service(url) as service:
        world = service.create(scene, name=f"friction {friction:.2f}")
        world.step(120)
        first, last = np.array(box["position"]), world.state().position[1]
        world.delete()
    return friction, float(np.linalg.norm(last - first))


if __name__ == "__main__":
    urls = sys.argv[1:] or ["http://127.0.0.1:7878"]
    ray.init(logging_level=logging.ERROR)
    frictions = [0.0, 0.1, 0.2, 0.3, 0.4, 0.48, 0.52]
    jobs = [slide.remote(urls[i % len(urls)], friction) for i, friction in enumerate(frictions)]
    for friction, distance in ray.get(jobs):
        ideal = max(0.0, 0.5 * 10 * 4 * (math.sin(math.atan(SLOPE)) - friction * math.cos(math.atan(SLOPE))))
        print(f"friction {friction:.2f}: {distance:.3f} m, ideal {ideal:.3f} m")

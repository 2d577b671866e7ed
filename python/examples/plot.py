"""Plots a bouncing ball from a stream: `python examples/plot.py [URL] [FILE.png]`."""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from drystone.client import Service, models

url = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:7878"
path = sys.argv[2] if len(sys.argv) > 2 else "bounce.png"
scene: models.Scene = {
    "version": 1,
    "name": "bounce",
    "bodies": [
        {"type": "static", "shapes": [{"half_plane": {"normal": [0, 1], "offset": 0}}]},
        {"position": [0, 5], "shapes": [{"circle": {"radius": 0.5}, "restitution": 0.8}]},
    ],
    "settings": {"restitution_mix": "max"},
}
with Service(url) as service:
    world = service.create(scene)
    times, heights = [], []
    world.play(4)
    for bodies in world.stream(rate=120):
        times.append(bodies.time)
        heights.append(bodies.position[1, 1])
        if bodies.time > 6:
            break
    world.delete()
plt.plot(times, heights)
plt.xlabel("time, s")
plt.ylabel("height of the centre, m")
plt.savefig(path, dpi=120)
print(f"{len(times)} frames, highest after 1 s: {max(h for t, h in zip(times, heights) if t > 1):.3f} m; wrote {path}")

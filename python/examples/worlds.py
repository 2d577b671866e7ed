"""Finds the push that tips a tower, in a batch of worlds: `python examples/worlds.py`."""

import numpy as np
from numpy.typing import NDArray

import drystone as ds

WORLDS = 32
BRICKS = 10

scene = ds.Scene("tower")
scene.add(ds.Body.fixed(0, -1).half_box(50, 1))
brick = ds.Body.dynamic().half_box(0.4, 0.25)
for row in range(BRICKS):
    scene.add(brick.at(0, 0.25 + 0.5 * row))

batch = ds.Batch([scene] * WORLDS, backend="cpu", threads=2)
pushes: NDArray[np.float32] = np.linspace(0, 12, WORLDS, dtype=np.float32)
batch.step(30)
batch.forces[:, BRICKS, 0] = pushes
batch.step(15)
batch.forces = 0
batch.step(120)
heights = batch.positions[:, BRICKS, 1]
stands = heights > 0.5 * (BRICKS - 1)
assert stands[0] and not stands[-1], heights
print(f"the tower stands up to a push of {pushes[stands].max():.2f} N")

"""Tests of worlds on a GPU, or on the software adapter that `.ci/setup tests` installs."""

from __future__ import annotations

import numpy as np
import pytest

import drystone as ds
from test_world import falling


def test_a_world() -> None:
    made = ds.World(falling(), backend="gpu")
    assert made.backend == "gpu" and made.threads is None
    assert "llvmpipe" not in made.device or made.device.endswith("not a GPU")
    positions = made.positions
    made.step(30)
    on_cpu = ds.World(falling(), backend="cpu")
    on_cpu.step(30)
    assert positions == pytest.approx(on_cpu.positions, abs=1e-3) and made.positions is positions
    made.body("ball").velocity = (0, 0)
    made.step(2)
    assert abs(made.velocities[1, 1]) < 1
    resumed = ds.World.load(made.save(), backend="cpu")
    assert resumed.steps == 32 and np.array_equal(resumed.positions, positions)
    assert made.query([[0, 30, 0, -30]]).body.tolist() == [1]


def test_a_batch() -> None:
    scene = "large_pyramid:base=4"
    worlds, alone = ds.Batch([scene] * 3, backend="gpu"), ds.World(scene, backend="gpu")
    worlds.forces[1, 5] = (2, 0)
    positions = worlds.positions
    worlds.step(20)
    alone.step(20)
    same = [number == alone.hash() for number in worlds.hashes()]
    assert same == [True, False, True], "that which is pushed differs"
    assert np.array_equal(positions[0], alone.positions) and not np.array_equal(positions[1], alone.positions)
    worlds.step_async(5)
    worlds.wait()
    alone.step(5)
    assert np.array_equal(positions[2], alone.positions)
    worlds.reset([False, True, False])
    assert worlds.steps.tolist() == [25, 0, 25] and len(worlds.contacts()) > 0
    with pytest.raises(ds.ArgumentError, match="scenes: .*substeps|scenes: .*stages"):
        other = ds.Scene.load(scene)
        other.settings["substeps"] = 2
        ds.Batch([scene, other], backend="gpu")

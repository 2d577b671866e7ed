"""Tests of `drystone.Batch` on the CPU."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import pytest

import drystone as ds
from test_world import falling

BASE = "large_pyramid:base=4"


def batch(count: int = 6, scene: ds.SceneSource = BASE) -> ds.Batch:
    return ds.Batch([scene] * count, backend="cpu", threads=2)


def free() -> ds.Scene:
    scene = ds.Scene("free", gravity=(0, 0))
    for x in range(4):
        scene.add(ds.Body.dynamic(5 * x, 0).circle(0.5).mass(2))
    scene.add(ds.Body.fixed(0, -50).half_box(5, 1))
    return scene


def test_each_world_is_as_alone() -> None:
    worlds = batch()
    worlds.step(20)
    alone = ds.World(BASE, backend="cpu", threads=1)
    alone.step(20)
    assert worlds.hashes().tolist() == [alone.hash()] * 6 and worlds.hashes().dtype == np.uint64
    assert np.array_equal(worlds.positions[3], alone.positions) and np.array_equal(worlds.angles[3], alone.angles)
    assert np.array_equal(worlds.velocities[3], alone.velocities)
    # Control: one that is a step behind is not the same.
    worlds.reset([False, True, False, False, False, False])
    assert [number == alone.hash() for number in worlds.hashes()] == [True, False, True, True, True, True]
    assert len(worlds) == 6 and worlds.steps.tolist() == [20, 0, 20, 20, 20, 20]
    worlds.step_some(worlds.steps == 0)
    assert worlds.steps.tolist() == [20, 1, 20, 20, 20, 20]


def test_arrays_follow_the_worlds() -> None:
    worlds = batch()
    positions, awake = worlds.positions, worlds.awake
    assert positions.shape == (6, 11, 2) and positions.dtype == np.float32 and awake.shape == (6, 11) and awake.all()
    assert not positions.flags.writeable and positions.flags.c_contiguous
    start = positions.copy()
    worlds.step(30)
    assert worlds.positions is positions and not np.array_equal(positions, start)
    mask = np.zeros(6, dtype=bool)
    mask[2:4] = True
    worlds.reset(mask)
    assert np.array_equal(positions[2:4], start[2:4]) and not np.array_equal(positions[1], start[1])
    worlds.reset()
    assert np.array_equal(positions, start)


def test_scenes_of_different_sizes_are_padded() -> None:
    worlds = ds.Batch([BASE, falling(), BASE], backend="cpu", threads=1)
    assert worlds.body_counts.tolist() == [11, 2, 11] and worlds.positions.shape == (3, 11, 2)
    assert np.isnan(worlds.positions[1, 2:]).all() and not worlds.awake[1, 2:].any()
    assert not np.isnan(worlds.positions[1, :2]).any() and not np.isnan(worlds.positions[[0, 2]]).any()
    positions = worlds.positions
    ball = worlds.add_body(1, ds.Body.dynamic(7, 7).circle(0.5))
    assert positions is worlds.positions and positions[1, ball].tolist() == [7, 7]
    worlds.step()
    worlds.remove_body(1, ball)
    worlds.step()
    assert np.isnan(positions[1, 2]).all()
    worlds.replace(0, falling())
    assert worlds.body_counts.tolist() == [2, 3, 11] and positions[0, 1].tolist() == [0, 20]


def test_a_body_of_one_world_gets_other_shapes() -> None:
    worlds = batch(3, falling())
    before = worlds.hashes().tolist()
    worlds.set_shapes(1, 1, [{"circle": {"radius": 0.5}}, {"circle": {"radius": 0.5}, "offset": [1, 0]}])
    assert worlds.positions[1, 1] == pytest.approx([0, 20], abs=1e-6)
    worlds.step(100)
    after = worlds.hashes().tolist()
    assert before[0] == before[1] and after[0] == after[2] != after[1]
    with pytest.raises(ValueError, match="shapes.*at least one shape"):
        worlds.set_shapes(1, 1, [])
    with pytest.raises(KeyError):
        worlds.set_shapes(1, 9, [{"circle": {"radius": 0.5}}])


def test_each_world_has_its_own_wind() -> None:
    scene = ds.Scene("space", gravity=(0, 0))
    scene.add(ds.Body.dynamic(2, 0).circle(0.5))
    worlds = ds.Batch([scene] * 3, backend="cpu")
    assert worlds.apply_wind([(10, 0), (0, 10), (0, -10)], [True, True, False]) == 2
    assert worlds.explode(2, (0, 0), impulse_per_length=1) == 1
    worlds.step()
    velocities = worlds.velocities[:, 0]
    assert velocities[0, 0] > 0 and velocities[1, 1] == velocities[0, 0] and velocities[2, 0] > 0
    assert velocities[0, 1] == velocities[1, 0] == velocities[2, 1] == 0
    alone = ds.World(scene, backend="cpu")
    alone.apply_wind((10, 0))
    alone.step(1)
    assert alone.hash() == worlds.hashes()[0]
    # One for all.
    assert worlds.apply_wind((1, 0)) == 3
    with pytest.raises(ValueError, match=r"velocity: has shape \(2, 2\)"):
        worlds.apply_wind([(1, 0), (0, 1)])
    with pytest.raises(ValueError, match="worlds: has dtype"):
        worlds.apply_wind((1, 0), [0, 1, 2])


def test_forces_act_until_they_are_changed() -> None:
    worlds = batch(4, free())
    thrust = np.array([[1, 0], [2, 0], [3, 0], [0, 4]], dtype=np.float32)
    worlds.forces[:, 3] = thrust
    worlds.torques[2, 0] = 0.5
    worlds.step(60)
    # One second at F/m.
    assert worlds.velocities[:, 3] == pytest.approx(thrust / 2, rel=1e-3)
    assert np.count_nonzero(worlds.velocities[:, :3]) == 0
    assert worlds.angular_velocities[2, 0] > 0 and np.count_nonzero(worlds.angular_velocities) == 1
    worlds.forces[1:] = 0
    worlds.step(60)
    assert worlds.velocities[:, 3] == pytest.approx(thrust * [[1], [0.5], [0.5], [0.5]], rel=1e-3)
    worlds.forces += np.float32(0)
    worlds.reset([True, False, False, False])
    assert not worlds.forces.any(), "those of the scene again"
    worlds.step(10)
    assert not worlds.velocities[0].any() and worlds.velocities[1, 3] == pytest.approx(thrust[1] / 2, rel=1e-3)
    worlds.forces = np.zeros((4, 5, 2))
    worlds.add_body(0, ds.Body.dynamic(0, 9).circle(0.5))
    assert worlds.forces.shape == (4, 6, 2)
    worlds.forces[0, 5] = (0, 3)
    worlds.step()
    assert worlds.velocities[0, 5, 1] > 0
    # A body that gets the row of another has its own force.
    worlds.remove_body(0, ds.BodyId(5))
    assert not worlds.forces[0, 5].any()
    worlds.step()
    assert worlds.add_body(0, ds.Body.dynamic(0, 9).circle(0.5).set(force=(7, 0))) == ds.BodyId(5, 1)
    assert worlds.forces[0, 5].tolist() == [7, 0]
    worlds.step()
    assert worlds.velocities[0, 5, 0] > 0 and worlds.velocities[0, 5, 1] == 0


def test_old_arrays_of_forces_are_read_only() -> None:
    """If rows are added there is another array, and a write to the old one would be lost."""

    def grow(worlds: ds.Batch, call: str) -> None:
        if call == "add_body":
            worlds.add_body(0, ds.Body.dynamic(0, 9).circle(0.5))
            return
        larger = free()
        larger.add(ds.Body.dynamic(0, 9).circle(0.5))
        if call == "replace":
            worlds.replace(0, larger)
        else:
            worlds.vary([True, False], larger)

    for call in ("add_body", "replace", "vary"):
        worlds = batch(2, free())
        forces, torques = worlds.forces, worlds.torques
        worlds.forces[1, 1] = (1, 0)
        worlds.step()
        assert worlds.forces is forces and forces.flags.writeable, "control: as long as the rows are the same"
        grow(worlds, call)
        assert worlds.forces is not forces and worlds.forces.shape == (2, 6, 2) and worlds.forces[1, 1].tolist() == [1, 0]
        for old in (forces, torques):
            with pytest.raises(ValueError, match="read-only"):
                old[0, 0] = 1
        worlds.forces[1, 2] = (0, 5)
        worlds.step()
        assert worlds.velocities[1, 2, 1] > 0
    # An emitter adds rows in a step.
    scene = free()
    drop = {"position": [30, 0], "shapes": [{"circle": {"radius": 0.1}}]}
    scene.more["emitters"] = [{"bodies": [drop], "every": 6, "count": 2}]
    emitting = ds.Batch([scene], backend="cpu", threads=1)
    forces = emitting.forces
    emitting.step(20)
    assert emitting.forces.shape[1] > forces.shape[1] and not forces.flags.writeable and emitting.forces.flags.writeable


def test_forces_of_scenes_are_there_at_first() -> None:
    scene = free()
    scene.bodies[1] = scene.bodies[1].set(force=(0, 6), torque=0.25)
    worlds = batch(2, scene)
    assert worlds.forces[:, 1].tolist() == [[0, 6], [0, 6]] and worlds.torques[:, 1].tolist() == [0.25, 0.25]
    worlds.forces[0, 1] = 0
    worlds.step(60)
    assert worlds.velocities[:, 1, 1] == pytest.approx([0, 3], abs=1e-3)


def test_wrong_forces_are_refused() -> None:
    worlds = ds.Batch([free(), falling()], backend="cpu", threads=1)
    for place, value, message in (
        ((0, 3, 1), np.nan, r"forces\[0, 3\]: is NaN; expected a finite number"),
        ((1, 1, 0), np.inf, r"forces\[1, 1\]: is inf"),
        ((0, 4, 0), 1.0, r"forces\[0, 4\]: body 4 is static; expected a body that is dynamic"),
        ((1, 3, 0), 1.0, r"forces\[1, 3\]: .*no body 3"),
    ):
        worlds.forces[place] = value
        with pytest.raises(ds.ArgumentError, match=message):
            worlds.step()
        worlds.forces[place] = 0
        assert worlds.steps.tolist() == [0, 0]
    worlds.step()
    with pytest.raises(ValueError, match=r"forces: has shape \(3,\); expected shape \(2, 5, 2\)"):
        worlds.forces = [1, 2, 3]
    with pytest.raises(ValueError, match="torques: has dtype"):
        worlds.torques = "much"


def test_queries_and_contacts() -> None:
    worlds = batch(3, falling())
    worlds.step(180)
    hits = worlds.query([[0, 10, 0, -10], [5, 10, 5, 5]])
    assert hits.body.tolist() == [[1, -1]] * 3 and hits.point.shape == (3, 2, 2)
    own = np.zeros((3, 1, 4), dtype=np.float32)
    own[:, 0] = [[0, 10, 0, -10], [5, 10, 5, 5], [5, 10, 5, -10]]
    assert worlds.query(own).body.tolist() == [[1], [-1], [0]]
    assert worlds.query(np.zeros((3, 0, 4))).body.shape == (3, 0)
    contacts = worlds.contacts()
    assert contacts.world.tolist() == [0, 1, 2] and contacts.force.shape == (3, 2)
    alone = ds.World(falling(), backend="cpu", threads=1)
    alone.step(180)
    assert np.array_equal(contacts.force[1], alone.contacts().force[0])


def test_async_steps() -> None:
    worlds, other = batch(), batch()
    positions = worlds.positions
    start = positions.copy()
    worlds.step_async(40)
    assert worlds.pending
    for call in (worlds.step, worlds.hashes, worlds.contacts, worlds.reset, worlds.step_async):
        with pytest.raises(ds.PendingError, match=r"call wait\(\) first"):
            call()
    assert np.array_equal(worlds.positions, start), "the arrays keep their values until then"
    worlds.wait()
    assert not worlds.pending
    other.step(40)
    assert np.array_equal(positions, other.positions) and worlds.hashes().tolist() == other.hashes().tolist()
    worlds.wait()
    worlds.step_async(1_000_000)
    del worlds


ENDLESS = """
import drystone as ds
worlds = ds.Batch(["large_pyramid:base=10"] * 8, backend="cpu", threads=2)
worlds.positions
for begin in (worlds.step, worlds.step_async):
    try:
        print("ready", flush=True)
        begin(10_000_000)
        worlds.wait()
    except KeyboardInterrupt:
        assert len(set(worlds.steps.tolist())) == 1 and worlds.steps[0] > 0 and not worlds.pending
        print("interrupted", flush=True)
worlds.step()
"""


def test_ctrl_c() -> None:
    child = subprocess.Popen([sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    for _ in range(2):
        assert child.stdout.readline() == "ready\n"
        time.sleep(2.0)
        assert child.poll() is None
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "interrupted\n"
    child.communicate(timeout=60)
    assert child.returncode == 0


def test_saved_states() -> None:
    worlds = batch(2)
    worlds.step(10)
    data = worlds.save(0)
    worlds.step(10)
    later = worlds.hashes()
    worlds.load(1, data)
    assert worlds.steps.tolist() == [20, 10]
    worlds.step(10)
    assert worlds.hashes()[1] == later[0] and worlds.hashes()[0] != later[0]
    # The arrays of loads are those of the state.
    free_worlds = batch(2, free())
    free_worlds.forces[0, 0] = (2, 0)
    free_worlds.step()
    pushed = free_worlds.save(0)
    free_worlds.forces = 0
    free_worlds.step()
    free_worlds.load(1, pushed)
    assert free_worlds.forces[:, 0].tolist() == [[0, 0], [2, 0]]
    before = free_worlds.velocities.copy()
    free_worlds.step()
    assert ((free_worlds.velocities - before)[:, 0, 0] > 0).tolist() == [False, True]
    with pytest.raises(ds.SnapshotError, match="data: .*another world"):
        batch(1, falling()).load(0, data)
    # Several at once, all or none.
    worlds.load([1, 0], [data, worlds.save(1)])
    assert worlds.steps.tolist() == [20, 10]
    with pytest.raises(ds.SnapshotError, match="data: .*another world"):
        worlds.load([0, 1], [data, batch(1, falling()).save(0)])
    assert worlds.steps.tolist() == [20, 10]
    for which, states, message in (([0, 1], [data], "data: has 1 states"), ([1, -1], [data, data], "world: names a")):
        with pytest.raises(ds.ArgumentError, match=message):
            worlds.load(which, states)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda b: ds.Batch([], backend="cpu"), "scenes: has length 0; expected a scene for each world"),
        (lambda b: ds.Batch(BASE, backend="cpu"), "scenes: is str; expected a list"),
        (lambda b: ds.Batch([BASE, "nothing"], backend="cpu"), r'scenes\[1\]: there is no scene "nothing"'),
        (lambda b: b.reset([1, 0, 1, 0, 1, 0]), "mask: has dtype int64; expected dtype bool"),
        (lambda b: b.reset(np.ones(3, dtype=bool)), r"mask: has shape \(3,\); expected shape \(6,\)"),
        (lambda b: b.query(np.zeros((5, 2, 4))), r"rays: has shape \(5, 2, 4\); expected shape \(rays, 4\) or \(6, rays, 4\)"),
        (lambda b: b.query(np.full((6, 2, 4), np.nan)), r"rays\[0, 0, 0\]: is nan"),
        (lambda b: b.set_gravity(0, [0, "down"]), "gravity: has dtype"),
    ],
)
def test_errors_name_the_argument(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(ValueError, match=message):
        call(batch())


def test_ids_of_later_bodies_come_again_after_a_reset() -> None:
    worlds = batch(2, falling())
    start = worlds.save(0)
    ball = worlds.add_body(0, ds.Body.dynamic(3, 5).circle(0.5))
    # A state from before it was added fits only after a reset.
    with pytest.raises(ds.SnapshotError, match="data: .*another world|does not belong"):
        worlds.load(0, start)
    calls: list[Callable[[], object]] = [worlds.reset, lambda: worlds.replace(0, falling())]
    for back in calls:
        back()
        assert worlds.add_body(0, ds.Body.dynamic(3, 5).circle(0.5)) == ball == ds.BodyId(2)
    worlds.reset()
    worlds.load(0, start)
    assert worlds.steps.tolist() == [0, 0]


def test_worlds_have_indices() -> None:
    worlds = batch()
    assert worlds.save(-1) == worlds.save(5)
    for index in (6, -7):
        with pytest.raises(ds.ArgumentError, match=f"world: is {index}; expected a whole number from -6 to 5"):
            worlds.save(index)


def test_tensors_share_memory() -> None:
    worlds = batch()
    positions = worlds.positions
    assert type(positions + 1) is np.ndarray and type(positions.max()) is np.float32
    shared = np.from_dlpack(positions[:, 3])
    assert np.shares_memory(shared, positions) and not shared.flags.writeable
    # As JAX asks, which knows no read-only memory.
    capsule = positions.__dlpack__()
    assert "dltensor" in repr(capsule)
    worlds.step(10)
    assert np.array_equal(shared, positions[:, 3])
    np.from_dlpack(worlds.forces)[:, 3] = 5
    assert (worlds.forces[:, 3] == 5).all()

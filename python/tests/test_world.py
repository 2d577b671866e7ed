"""Tests of `drystone.World` on the CPU."""

from __future__ import annotations

import copy
import inspect
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import drystone as ds
from drystone import BodyId
from service import BINARY

PYRAMID = "large_pyramid:base=10"


def world(scene: ds.SceneSource = PYRAMID, threads: int = 1) -> ds.World:
    return ds.World(scene, backend="cpu", threads=threads)


def falling() -> ds.Scene:
    scene = ds.Scene("falling", gravity=(0, -10))
    scene.add(ds.Body.fixed(0, -1).half_box(50, 1))
    scene.add(ds.Body.dynamic(0, 20).circle(0.5).id("ball"))
    return scene


def test_arrays_follow_the_world() -> None:
    made = world(falling())
    arrays = made.positions, made.angles, made.velocities, made.angular_velocities, made.awake
    assert [array.shape for array in arrays] == [(2, 2), (2,), (2, 2), (2,), (2,)]
    assert [str(array.dtype) for array in arrays] == ["float32"] * 4 + ["bool"]
    positions, _, velocities, _, _ = arrays
    before = positions.copy()
    made.step(30)
    assert made.positions is positions and not np.array_equal(positions, before)
    # Free fall: half a second, with the error of steps of 1/240 s.
    assert positions[1, 1] == pytest.approx(20 - 0.5 * 10 * 0.5**2, abs=0.02)
    assert velocities[1, 1] == pytest.approx(-5, abs=1e-4)
    # The arrays have it in 32 bits.
    place = made.body("ball").position
    assert place != tuple(positions[1].tolist()) and np.array_equal(np.array(place, np.float32), positions[1])
    # Only the world writes to them.
    for array in arrays:
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    # Control: without a step nothing changes.
    before = positions.copy()
    made.step(0)
    assert np.array_equal(positions, before)


def test_positions_are_those_of_origins() -> None:
    scene = ds.Scene(gravity=(0, 0))
    hammer = scene.add(ds.Body.dynamic(1, 4).half_box(0.2, 0.5, offset=(1, 0)).angular_velocity(2))
    made = world(scene)
    assert made.positions[hammer].tolist() == [1, 4]
    assert made.body(hammer).center == pytest.approx((2, 4))
    made.step(10)
    assert made.positions[hammer].tolist() != [1, 4], "the origin goes around the centre of mass"
    assert made.body(hammer).center == pytest.approx((2, 4), abs=1e-5)


def test_rows_come_and_go() -> None:
    made = world(falling())
    old = made.positions
    ball = made.add_body(ds.Body.dynamic(3, 5).circle(0.5))
    assert (ball.index, str(ball)) == (2, "2.0") and made.positions.shape == (3, 2) and old.shape == (2, 2)
    assert made.positions[ball].tolist() == [3, 5]
    made.step()
    made.remove_body(ball)
    made.step()
    assert np.isnan(made.positions[ball]).all() and not made.awake[ball]
    assert made.ids == [BodyId(0), BodyId(1)]
    for gone in (ball, 2, 77, -1, "no name"):
        with pytest.raises(ds.MissingError, match="there is no body"):
            made.body(gone)
    with pytest.raises(KeyError):
        made.body(ball)
    with pytest.raises(IndexError):
        made.body(77)
    again = made.add_body({"position": [0, 8], "shapes": [{"circle": {"radius": 0.5}}]})
    assert again == BodyId(2, 1) and made.body(again).position == (0, 8)


def test_commands_of_bodies() -> None:
    scene = ds.Scene(gravity=(0, 0))
    for x in range(8):
        scene.add(ds.Body.dynamic(10 * x, 0).circle(0.5).mass(2))
    scene.add(ds.Body.kinematic(0, 10).half_box(1, 1))
    made = world(scene)
    bodies = [made.body(index) for index in range(9)]
    bodies[0].impulse = (5, 0)
    bodies[1].velocity = (0, 3)
    bodies[2].force = (0, 12)
    bodies[3].angular_velocity = 2
    bodies[4].position = (40, 7)
    bodies[5].torque = 0.5
    bodies[6].apply_impulse((0, 1), point=(0.5, 0))
    bodies[7].angular_impulse = 0.25
    bodies[8].target((1, 10), 0.0)
    assert bodies[0].velocity == (0, 0), "commands act in the next step"
    made.step()
    dt = made.dt
    assert bodies[0].velocity == pytest.approx((2.5, 0)) and bodies[0].mass == 2 and bodies[0].kind == "dynamic"
    assert bodies[1].velocity == pytest.approx((0, 3))
    assert bodies[2].velocity == pytest.approx((0, 6 * dt), rel=1e-4)
    assert bodies[3].angular_velocity == pytest.approx(2)
    assert bodies[4].position == pytest.approx((40, 7))
    assert bodies[5].angular_velocity == pytest.approx(0.5 * dt / bodies[5].inertia, rel=1e-4)
    assert bodies[6].velocity == pytest.approx((0, 0.5)) and bodies[6].angular_velocity == pytest.approx(0.5 / bodies[6].inertia)
    assert bodies[7].angular_velocity == pytest.approx(0.25 / bodies[7].inertia)
    assert bodies[8].position == pytest.approx((1, 10), abs=1e-5)
    with pytest.raises(AttributeError, match="impulse: can only be set"):
        bodies[0].impulse


def test_parts_of_a_pose_can_be_set_one_by_one() -> None:
    position, angle = ("position", (5, 9)), ("angle", 0.7)
    ways: list[tuple[list[tuple[str, Any]], tuple[float, ...]]] = [
        ([position, angle], (5, 9, 0.7)),
        ([angle, position], (5, 9, 0.7)),
        ([("position", (1, 1)), angle, position], (5, 9, 0.7)),
        ([("teleport", ((5, 9), 0.1)), angle], (5, 9, 0.7)),
        ([("teleport", ((1, 1), 0.7)), position], (5, 9, 0.7)),
        # Control: one part alone leaves the other, and parts of earlier steps count no more.
        ([angle], (0, 20, 0.7)),
        ([position], (5, 9, 0.25)),
        ([("teleport", ((5, 9), 1.0)), ("step", 1), ("position", (0, 21)), ("step", 1), angle], (0, 21, 0.7)),
    ]
    for sets, expected in ways:
        scene = ds.Scene(gravity=(0, 0))
        scene.add(ds.Body.dynamic(0, 20).angle(0.25).half_box(0.5, 0.5))
        made = world(scene)
        for name, value in sets:
            body = made.body(0)
            before = (*body.position, body.angle)
            if name == "step":
                made.step()
            elif name == "teleport":
                body.teleport(*value)
            else:
                setattr(body, name, value)
            assert name == "step" or (*body.position, body.angle) == before, "it is read after the next step"
        made.step()
        body = made.body(0)
        assert (*body.position, body.angle) == pytest.approx(expected, abs=1e-6), sets
        assert body.velocity == (0, 0) and body.angular_velocity == 0
    # Velocities are apart, and so are bodies.
    scene = falling()
    scene.gravity = (0, 0)
    made = world(scene)
    other = made.add_body(ds.Body.dynamic(3, 5).circle(0.5))
    made.body(1).velocity = (5, 9)
    made.body(1).angular_velocity = 0.7
    made.body(other).angle = 0.5
    assert made.body(1).velocity == (0, 0)
    made.step()
    assert made.body(1).velocity == pytest.approx((5, 9)) and made.body(1).angular_velocity == pytest.approx(0.7)
    assert made.body(other).position == pytest.approx((3, 5)) and made.body(other).angle == pytest.approx(0.5)


def test_a_pose_that_was_dropped_counts_no_more() -> None:
    made = world(falling())
    body, start, data = made.body(1), made.snapshot(), made.save()
    for back in (made.reset, lambda: made.restore(start), lambda: made.restore(data)):
        body.position = (5, 9)
        back()
        body.angle = 0.7
        made.step()
        assert body.position == pytest.approx((0, 20), abs=0.01) and body.angle == pytest.approx(0.7)
        back()
    # So does one that was refused.
    with pytest.raises(ValueError, match="position: is 1000000000"):
        body.position = (1e9, 0)
    body.angle = 0.7
    made.step()
    assert body.position == pytest.approx((0, 20), abs=0.01)


def test_properties_say_when_they_are_seen() -> None:
    for name in ("position", "angle", "velocity", "angular_velocity", "teleport"):
        assert re.search(r"(until that|after the next)\s+step", inspect.getdoc(getattr(ds.BodyHandle, name)) or ""), name
    made = world(falling())
    made.body(1).user_data = 7
    made.gravity = (1, -9)
    made.body(1).set(mass=3)
    assert (made.body(1).user_data, made.gravity, made.body(1).mass) == (7, (1, -9), 3)


def test_positions_are_set_in_doubles() -> None:
    scene = ds.Scene(gravity=(0, 0))
    scene.add(ds.Body.dynamic().circle(0.5))
    scene.add(ds.Body.kinematic(1e6, 10).half_box(1, 1))
    made = world(scene)
    ball, lift = made.body(0), made.body(1)
    place = (1e7 + 0.25, 100.1)
    ball.position = place
    lift.target((1e6 + 0.01, 10), 0.0)
    made.step()
    # A micrometre, as for all positions; as float32 it is a metre there.
    assert ball.position == pytest.approx(place, rel=0, abs=1e-6) and float(np.float32(place[0])) != place[0]
    assert lift.position[0] - 1e6 == pytest.approx(0.01, abs=1e-4)
    ball.teleport((-1e7 + 0.25, 3), 0.5)
    made.step()
    assert ball.position == pytest.approx((-1e7 + 0.25, 3), rel=0, abs=1e-6)
    ball.position = ball.position
    before = ball.position
    made.step()
    assert ball.position == before, "its own position moves nothing"
    for value, message in (((0, np.nan), r"position\[1\]: is nan"), ((1, 2, 3), r"position: has shape \(3,\)"), ("ab", "position: has dtype")):
        with pytest.raises(ds.ArgumentError, match=message):
            ball.position = value  # type: ignore[assignment]


def test_ids_of_later_bodies_come_again_after_a_reset() -> None:
    made = world(falling())
    start, data = made.snapshot(), made.save()
    ball = made.add_body(ds.Body.dynamic(3, 5).circle(0.5))
    for back in (made.reset, lambda: made.restore(start), lambda: made.restore(data)):
        back()
        with pytest.raises(ds.MissingError):
            made.body(ball)
        assert made.add_body(ds.Body.dynamic(9, 9).circle(0.5)) == ball and made.body(ball).position == (9, 9)
    # Control: as the world runs on, another id is given.
    made.step()
    made.remove_body(ball)
    made.step()
    assert made.add_body(ds.Body.dynamic(9, 9).circle(0.5)) == BodyId(2, 1)
    for thing in (BodyId, ds.JointId, ds.World.reset, ds.World.restore, ds.Batch.reset, ds.Batch.load):
        assert "given" in (inspect.getdoc(thing) or ""), "the docs say so"


def test_a_row_leads_to_the_body_that_has_it_now() -> None:
    scene = falling()
    scene.add(ds.Body.dynamic(5, 0.5).circle(0.5))
    made = world(scene)
    made.remove_body("ball")
    made.step()
    with pytest.raises(ds.MissingError, match="there is no body in row 1"):
        made.id_of(1)
    ball = made.add_body(ds.Body.dynamic(0, 0.5).circle(0.5))
    made.step(60)
    assert ball == BodyId(1, 1) and [made.id_of(row) for row in range(3)] == made.ids
    hit = made.query([[0, 9, 0, -9]]).body[0]
    assert made.body(made.id_of(hit)).position == made.body(ball).position
    chains = made.force_chains(least=0.0)
    assert chains.bodies.tolist() == [[0, 1], [0, 2]]
    # The ends are centres of bodies with a mass, and points of contact of others.
    assert chains.ends[0, 1] == pytest.approx(made.body(ball).center, abs=1e-6) and chains.ends[0, 0, 1] == pytest.approx(0, abs=0.01)
    # An index means the body of the scene, and the message says which body has its row.
    calls: list[Callable[[], object]] = [lambda: made.body(1), lambda: made.set([1], friction=1.0), lambda: made.remove_body(hit)]
    for call in calls:
        with pytest.raises(ds.MissingError, match=r"there is no body 1: it was removed, and its row holds the body 1\.1 now; world\.id_of\(1\)"):
            call()
    for row in (-1, 3):
        with pytest.raises(ds.MissingError, match=f"there is no body in row {row}"):
            made.id_of(row)
    made.remove_body(ball)
    assert isinstance(made.force_chains(), ds.ForceChains)


def test_worlds_are_not_copied() -> None:
    for made, hint in ((world(falling()), r"World\.load\(world\.save\(\)\)"), (ds.Batch([falling()], backend="cpu"), r"save\(world\)")):
        calls: list[Callable[[Any], object]] = [copy.copy, copy.deepcopy, pickle.dumps]
        for call in calls:
            with pytest.raises(TypeError, match=f"cannot be copied or pickled; .*{hint}"):
                call(made)


def test_ids_out_of_range_are_refused() -> None:
    made, worlds = world(falling()), ds.Batch([falling()], backend="cpu")
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: made.body(BodyId(-1)), r"body\.index: is -1; expected a whole number from 0 to 4294967295"),
        (lambda: made.body(BodyId(2**32)), r"body\.index: is 4294967296"),
        (lambda: made.remove_bodies([BodyId(1, -1)]), r"body\.generation: is -1"),
        (lambda: made.joint(ds.JointId(-1)), r"joint\.index: is -1"),
        (lambda: worlds.set(0, BodyId(-1), friction=1.0), r"body\.index: is -1"),
        (lambda: worlds.remove_body(0, BodyId(-1)), r"body\.index: is -1"),
    ]
    for call, message in calls:
        with pytest.raises(ds.ArgumentError, match=message):
            call()


def test_joints() -> None:
    scene = falling()
    scene.add(ds.Body.dynamic(10, 4).circle(0.5))
    scene.join("revolute", 2, anchor_a=(10, 4), motor={"speed": 0.0, "max": 50.0}, id="hub")
    made = world(scene)
    made.joint("hub").set_motor(3.0, 50.0)
    made.step(60)
    assert made.body(2).angular_velocity == pytest.approx(3, rel=1e-3)
    rope = made.add_joint("distance", "ball", anchor_a=(0, 20), length=1.0)
    made.remove_joint(0)
    made.step(30)
    with pytest.raises(ds.MissingError, match="there is no joint"):
        made.joint("hub")
    made.remove_joint(rope)
    with pytest.raises(ValueError, match="joint: length: is -1"):
        made.add_joint("distance", "ball", length=-1.0)


def test_hashes_are_those_of_the_command() -> None:
    made = world()
    made.step(40)
    command = [BINARY, "run", PYRAMID, "--backend", "cpu", "--steps", "40", "--quiet", "--hash"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert f"{made.hash():016x}" in said
    # Neither threads nor the way of stepping change a bit; one step more does.
    other = world(threads=2)
    for _ in range(40):
        other.step()
    assert other.hash() == made.hash()
    other.step()
    assert other.hash() != made.hash()


def test_saved_worlds_continue_to_the_same_bits(tmp_path: Path) -> None:
    made = world()
    made.step(10)
    ball = made.add_body(ds.Body.dynamic(0, 15).circle(0.5))
    made.gravity = (1, -9)
    made.step(10)
    data = made.save(tmp_path / "world.snap")
    resumed = ds.World.load(tmp_path / "world.snap", backend="cpu")
    assert resumed.steps == 20 and resumed.hash() == made.hash() and resumed.gravity == (1, -9)
    positions = made.positions
    kept = positions.copy()
    made.step(15)
    resumed.step(15)
    assert resumed.hash() == made.hash() and resumed.body(ball).position == made.body(ball).position
    later = made.hash()
    made.restore(data)
    assert made.steps == 20 and np.array_equal(positions, kept), "the array follows"
    made.step(15)
    assert made.hash() == later
    # The command reads the same file.
    command = [BINARY, "run", "--resume", str(tmp_path / "world.snap"), "--steps", "15", "--quiet", "--hash", "--backend", "cpu"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert f"{later:016x}" in said
    with pytest.raises(ds.SnapshotError, match="data: .*DRYSAVE"):
        made.restore(b"no world")
    with pytest.raises(ds.SnapshotError, match="data: is damaged"):
        made.restore(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(ds.SnapshotError, match="data: is of another world: settings.restitution_mix"):
        world(falling()).restore(data)
    made.reset()
    fresh = world()
    assert made.steps == 0 and made.hash() == fresh.hash() and len(made.ids) == len(fresh.ids)
    scene = resumed.to_scene()
    assert len(scene["bodies"]) == 57 and world(scene).positions[56, 1] == pytest.approx(resumed.positions[56, 1])


def test_snapshots_go_back_to_the_same_bits() -> None:
    made = world()
    made.step(10)
    before = made.snapshot()
    hashes = []
    for _ in range(2):
        ball = made.add_body(ds.Body.dynamic(0, 15).circle(0.5))
        made.step(10)
        hashes.append((made.hash(), made.positions[ball].tolist(), ds.World.load(made.save(), backend="cpu").hash()))
        made.restore(before)
        assert made.steps == before.steps == 10 and len(made.positions) == 56
    assert hashes[0] == hashes[1] and hashes[0][0] == hashes[0][2] != made.hash()
    with pytest.raises(ds.SnapshotError):
        world(falling()).restore(before)


def test_contacts_rays_and_events() -> None:
    scene = falling()
    scene.settings["events"] = True
    made = world(scene)
    assert len(made.contacts()) == 0 and made.events() == []
    made.step(180)
    contacts = made.contacts()
    assert len(contacts) == 1 and sorted(contacts.bodies[0].tolist()) == [0, 1]
    # The ball lies still: the ground carries its weight.
    weight = made.body("ball").mass * 10
    assert abs(contacts.force[0, 1]) == pytest.approx(weight, rel=0.01) and contacts.position[0] == pytest.approx([0, 0], abs=0.01)
    (event,) = made.events()
    assert event.kind == "begin" and set(event.bodies) == {BodyId(0), BodyId(1)} and event.approach_speed > 15
    hits = made.query([[0, 10, 0, -10], [5, 10, 5, 5]])
    assert hits.body.tolist() == [1, -1] and hits.hit.tolist() == [True, False]
    assert hits.point == pytest.approx(np.array([[0, 1], [5, 5]]), abs=0.01)
    assert hits.normal == pytest.approx(np.array([[0, 1], [0, 0]])) and hits.fraction[1] == 1
    shaped = made.query(np.zeros((3, 5, 4)))
    assert shaped.body.shape == (3, 5) and shaped.point.shape == (3, 5, 2)
    assert made.query(np.zeros((0, 4))).body.shape == (0,)
    # All shapes on the way, and rays that leave out a body.
    through = made.query_all(np.array([[0, 10, 0, -0.5], [5, 10, 5, 5], [5, 10, 5, -1]]))
    assert through.ray.tolist() == [0, 0, 2] and through.body.tolist() == [1, 0, 0]
    assert through.point[:, 1] == pytest.approx([1, 0, 0], abs=0.01) and through.normal[0].tolist() == [0, 1]
    assert made.query([[0, 10, 0, -10]], ignore="ball").body.tolist() == [0]
    assert made.query_all([[0, 10, 0, -10]], ignore=1).body.tolist() == [0]
    # A ball of the same size stops where it touches the other one, which is a diameter above; or begins in it.
    ball = {"circle": {"radius": 0.5}}
    met = made.cast(ball, [[0, 4], [9, 4], [0, 1]], [[0, -8], [0, -3], [0, -8]])
    assert met.body.tolist() == [1, -1, 1] and met.fraction == pytest.approx([2.5 / 8, 1, 0], abs=2e-3)
    assert met.point[:2] == pytest.approx(np.array([[0, 1], [9, 1]]), abs=0.01) and met.depth == pytest.approx([0, 0, 0.5], abs=0.01)
    alone = made.cast(ball, [[0, 4]], [[0, -8]], angles=[0.3], ignore="ball")
    assert alone.body.tolist() == [0] and alone.fraction == pytest.approx([3.5 / 8], abs=1e-3)


def test_characters_climb_steps() -> None:
    scene = ds.Scene("stairs", gravity=(0, -10))
    scene.add(ds.Body.fixed(0, -1).half_box(50, 1))
    scene.add(ds.Body.fixed(3, 0.1).half_box(1, 0.1))
    made = world(scene)
    capsule = {"capsule": {"a": [0, 0.3], "b": [0, 1.2], "radius": 0.3}}
    moved = made.move_characters(capsule, np.array([[0, 0.01], [0, 0.01], [0, 5]]), [[3, 0], [-2, 0], [0, 1]])
    assert moved.positions == pytest.approx(np.array([[3, 0.21], [-2, 0.01], [0, 6]]), abs=0.02)
    assert moved.ground.tolist() == [1, 0, -1] and moved.ground_normals.tolist() == [[0, 1], [0, 1], [0, 0]]
    # Control: a step that is too high stops it, with its round end and its skin at the corner (2, 0.2).
    low = made.move_characters(capsule, [[0, 0.01]], [[3, 0]], step_height=0.1)
    expected = 2 - (0.31**2 - 0.11**2) ** 0.5
    assert low.positions[0] == pytest.approx([expected, 0.01], abs=2e-3) and low.hits[0] > 0


def test_properties_change_while_it_runs(tmp_path: Path) -> None:
    scene = falling()
    scene.add(ds.Body.dynamic(4, 20).half_box(0.5, 0.5).id("box"))
    made = world(scene)
    made.body("ball").set(gravity_scale=0)
    made.set([1, "box"], linear_damping=0.0, friction=0.1)
    made.step(30)
    assert made.body("ball").position == (0, 20) and made.body("box").position[1] < 19
    made.body("box").set(type="static")
    made.body("ball").set(shape=0, restitution=0.5)
    height = made.body("box").position
    made.step(30)
    assert made.body("box").kind == "static" and made.body("box").position == height
    # They are saved.
    resumed = ds.World.load(made.save(), backend="cpu")
    made.step(10)
    resumed.step(10)
    assert resumed.hash() == made.hash()
    calls: list[tuple[dict[str, Any], str]] = [
        ({"mass": -1}, "properties.*mass.*is -1"),
        ({"colour": 2}, "properties.*colour"),
        ({}, "properties.*has no property"),
        ({"friction": -1, "shape": 0}, "properties.*friction.*is -1"),
    ]
    for properties, message in calls:
        with pytest.raises(ValueError, match=message):
            made.set([1], **properties)
    with pytest.raises(ValueError, match="shape 3"):
        made.body("ball").set(shape=3, friction=1)
    with pytest.raises(KeyError):
        made.set([7], friction=1)


def test_user_data_has_64_bits_and_is_saved() -> None:
    scene = ds.Scene("keys", gravity=(0, 0))
    scene.add(ds.Body.dynamic(0, 0).circle(0.5).id("ball").set(user_data=2**64 - 1))
    scene.add(ds.Body.dynamic(2, 0).circle(0.5))
    made = world(scene)
    assert (made.body("ball").user_data, made.body(1).user_data) == (2**64 - 1, 0)
    before = made.snapshot()
    made.body(1).user_data = 7
    made.step(1)
    resumed = ds.World.load(made.save(), backend="cpu")
    assert (resumed.body("ball").user_data, resumed.body(1).user_data) == (2**64 - 1, 7)
    made.restore(before)
    assert made.body(1).user_data == 0
    for value in (-1, 2**64):
        with pytest.raises(ValueError, match="user_data"):
            made.body(1).user_data = value


def test_explosions_and_winds_push() -> None:
    scene = ds.Scene("space", gravity=(0, 0))
    scene.add(ds.Body.dynamic(2, 0).circle(0.5).id("ball"))
    made = world(scene)
    assert made.explode((0, 0), impulse_per_length=2, radius=1.25, falloff=1) == 1
    made.step(1)
    # The ball is 1.5 m away, by a quarter of the falloff: 1 m wide, it gets 0.75 · 2 N·s.
    mass = made.body("ball").mass
    assert made.body("ball").velocity == pytest.approx((1.5 / mass, 0), rel=1e-5)
    assert made.explode((0, 90)) == 0
    made.body("ball").velocity = (0, 0)
    made.step(1)
    made.apply_wind((10, 0), density=1.2, drag=0.8, lift=0)
    made.step(1)
    assert made.body("ball").velocity == pytest.approx((0.5 * 1.2 * 100 * 0.8 / 60 / mass, 0), rel=1e-5)
    assert made.apply_wind((10, 0), mask=2) == 0
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: made.explode((0, 0), radius=-1), "radius.*-1"),
        (lambda: made.explode((0, 0), mask=-1), "mask: is -1"),
        (lambda: made.apply_wind((0, 0), density=float("nan")), "density"),
        (lambda: made.apply_wind((0, 0), drag=-2), "drag.*-2"),
    ]
    for call, message in calls:
        with pytest.raises(ValueError, match=message):
            call()


def test_a_body_gets_other_shapes() -> None:
    scene = ds.Scene("space", gravity=(0, 0))
    scene.add(ds.Body.dynamic(1, 2).angular_velocity(1).half_box(0.5, 0.5).id("box"))
    made = world(scene)
    made.step(20)
    position = made.body("box").position
    made.set_shapes("box", ds.Body.dynamic().half_box(0.5, 0.5).circle(0.5, offset=(1, 0), density=2))
    grown = made.body("box")
    area = 1 + 2 * np.pi / 4
    assert grown.mass == pytest.approx(area) and grown.position == pytest.approx(position, abs=1e-5)
    resumed = ds.World.load(made.save(), backend="cpu")
    made.step(10)
    resumed.step(10)
    assert resumed.hash() == made.hash()
    made.set_shapes(0, [{"circle": {"radius": 0.25}}])
    assert made.body(0).mass == pytest.approx(np.pi / 16)
    calls: list[tuple[Any, str]] = [
        ([], "shapes.*at least one shape"),
        ([{"circle": {"radius": -1}}], r"shapes.*shapes\[0\].circle.radius.*is -1"),
        ({"circle": {"radius": 1}}, "shapes: is dict"),
        ([{"circle": {"radius": np.nan}}], "shapes.*radius.*is nan"),
    ]
    for shapes, message in calls:
        with pytest.raises(ValueError, match=message):
            made.set_shapes(0, shapes)
    with pytest.raises(KeyError):
        made.set_shapes(7, [{"circle": {"radius": 1}}])


def test_a_contact_rule_is_wgsl() -> None:
    scene = falling()
    scene.more["contact_rule"] = [
        "fn rule(contact: RuleContact) -> RuleContact {",
        "    var solved = contact;",
        "    solved.touches = 0u;",
        "    return solved;",
        "}",
    ]
    made, plain = world(scene), world(falling())
    for one in (made, plain):
        one.step(180)
    assert made.body("ball").position[1] < -5 < 0 < plain.body("ball").position[1]
    scene.more["contact_rule"][1] = "    loop {}"
    with pytest.raises(ValueError, match=r"contact_rule: line 2, column 5: `loop` is not allowed"):
        world(scene)


def test_a_joint_gets_a_motor() -> None:
    scene = ds.Scene("wheel", gravity=(0, 0))
    scene.add(ds.Body.dynamic(0, 0).circle(1).id("wheel"))
    scene.join("revolute", b=0)
    made = world(scene)
    made.step(10)
    assert made.body("wheel").angular_velocity == 0
    hinge = made.joint(0)
    hinge.replace("revolute", motor={"speed": 2, "max": 1e4})
    made.step(60)
    assert made.body("wheel").angular_velocity == pytest.approx(2, rel=1e-3)
    assert made.joint(0).id == hinge.id
    with pytest.raises(ValueError, match="joint.*motor"):
        hinge.replace("revolute", motor={"speed": 2})


def test_a_joint_drives_at_a_velocity() -> None:
    scene = ds.Scene("drive", gravity=(0, 0))
    scene.add(ds.Body.dynamic(0, 0).circle(1))
    scene.add(ds.Body.dynamic(5, 0).circle(1).velocity(0.1, 0).set(sleep_speed=0.2))
    scene.join("velocity", b=0, velocity=(1, 2), max_force=1e4)
    scene.join("spring", b=1, anchor_a=(5, 0), stiffness=100, rest_length=10, spring_range=(-1, 0))
    made = world(scene)
    made.step(30)
    assert made.body(0).velocity == pytest.approx((1, 2), rel=1e-3)
    made.joint(0).set_velocity((-1, 0.5), 3)
    made.step(30)
    assert made.body(0).velocity == pytest.approx((-1, 0.5), rel=1e-3)
    assert made.body(0).angular_velocity == pytest.approx(3, rel=1e-3)
    # The spring is shorter than at rest, and does not push.
    assert made.body(1).velocity == pytest.approx((0.1, 0), rel=1e-3)
    with pytest.raises(ValueError, match="velocity joint"):
        made.joint(1).set_velocity((1, 0))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda w: ds.World("large_pyramd"), 'scene: there is no scene "large_pyramd"; did you mean large_pyramid'),
        (lambda w: ds.World("large_pyramid:base=0"), "scene: base of scene large_pyramid is 0; expected 1 to"),
        (lambda w: ds.World({"bodies": [{"shapes": [{"circle": {"radius": -1}}]}]}), r"scene: bodies\[0\].shapes\[0\].circle.radius: is -1; expected a length"),
        (lambda w: ds.World({"bodies": [{"shapes": [{"circle": {"radius": float("nan")}}]}]}), r"scene: bodies\[0\].shapes\[0\].circle.radius: is nan"),
        (lambda w: ds.World({"bodys": []}), "scene: .*bodys"),
        (lambda w: ds.World(5),  # type: ignore[arg-type]
         "scene: is int; expected a name, a file, a dict or a drystone.Scene"),
        (lambda w: ds.World(PYRAMID, backend="cuda"), "backend: is 'cuda'; expected \"auto\", \"cpu\" or \"gpu\""),
        (lambda w: ds.World(PYRAMID, backend="cpu", threads=0), "threads: is 0; expected a whole number from 1 to 256"),
        (lambda w: w.step(-1), "steps: is -1; expected a whole number of at least 0"),
        (lambda w: w.step(1.5), "steps: is 1.5; expected a whole number"),
        (lambda w: w.query([[0, 0, 1]]), r"rays: has shape \(1, 3\); expected shape \(rays, 4\)"),
        (lambda w: w.query([["a", "b", "c", "d"]]), "rays: has dtype <U1; expected numbers"),
        (lambda w: w.query([[0, 0], [1]]), "rays: is no array"),
        (lambda w: w.query([[0, 0, np.nan, 1]]), r"rays\[0, 2\]: is nan; expected a finite number"),
        (lambda w: w.query([[0, 0, 1e8, 1]]), r"rays\[0\]: .*1e8"),
        (lambda w: setattr(w.body(1), "impulse", (1, np.inf)), r"impulse\[1\]: is inf; expected a finite number"),
        (lambda w: setattr(w.body(1), "impulse", (1, 2, 3)), r"impulse: has shape \(3,\); expected shape \(2,\)"),
        (lambda w: setattr(w.body(0), "impulse", (1, 2)), "body: 0 is static; expected a body that is dynamic"),
        (lambda w: setattr(w.body(1), "position", (1e9, 0)), "position: is 1000000000; expected a number within 10,000 km"),
        (lambda w: setattr(w.body(1), "angle", "up"), "angle: is 'up'; expected a number"),
        (lambda w: setattr(w, "gravity", (0, 1e30)), "gravity: .*expected"),
        (lambda w: w.add_body(ds.Body.dynamic().circle(-1)), r"body: shapes\[0\].circle.radius: is -1; expected a length"),
        (lambda w: w.add_body(7), "body: is int; expected a drystone.Body or a dict"),
        (lambda w: w.picture((0, 10)), r"size\[0\]: is 0; expected a whole number from 16 to 4096"),
        (lambda w: w.movie(0), "seconds: is 0; expected at least one step"),
    ],
)
def test_errors_name_the_argument(call: object, message: str) -> None:
    made = world()
    before = made.hash()
    assert callable(call)
    with pytest.raises(ValueError, match=message) as raised:
        call(made)
    assert isinstance(raised.value, ds.Error)
    assert made.hash() == before and made.steps == 0, "nothing has happened"


def test_scenes(tmp_path: Path) -> None:
    scene = falling()
    scene.save(tmp_path / "falling.json")
    hashes = set()
    for source in (scene, scene.to_dict(), tmp_path / "falling.json", str(tmp_path / "falling.json"), ds.Scene.load(scene)):
        made = world(source)
        made.step(20)
        hashes.add(made.hash())
    assert len(hashes) == 1
    changed = ds.Scene.load(scene)
    changed.bodies[1] = changed.bodies[1].at(0, 19)
    made = world(changed)
    made.step(20)
    assert made.hash() not in hashes
    assert scene.bodies[1].to_dict()["position"] == [0, 20], "bodies are values"
    with pytest.raises(FileNotFoundError, match="scene: .*missing.json is not there"):
        world(tmp_path / "missing.json")
    with pytest.raises(TypeError, match="unexpected keyword argument 'densty'"):
        ds.Body.dynamic().circle(1, densty=2)  # type: ignore[call-arg]
    assert "large_pyramid" in ds.scenes() and next(iter(ds.scenes("pyramid"))).endswith("pyramid")
    assert ds.schema()["title"].startswith("Drystone scene")


def test_other_threads_run_while_a_world_steps() -> None:
    made = world("large_pyramid:base=60")
    counted = 0
    ended = threading.Event()

    def count() -> None:
        nonlocal counted
        while not ended.is_set():
            counted += 1

    counter = threading.Thread(target=count)
    counter.start()
    start = counted
    made.step(300)
    during = counted - start
    ended.set()
    counter.join()
    # With the interpreter locked for the whole call, the thread would not have run at all.
    assert during > 1000


SLEEPER = """
import sys, drystone as ds
world = ds.World("large_pyramid:base=30", backend="cpu", threads=1)
positions = world.positions
try:
    print("ready", flush=True)
    world.step(10_000_000)
except KeyboardInterrupt:
    assert world.steps > 0
    fresh = ds.World("large_pyramid:base=30", backend="cpu", threads=1)
    fresh.step(world.steps)
    assert fresh.hash() == world.hash() and (fresh.positions == positions).all()
    print("interrupted", flush=True)
"""


def test_ctrl_c_interrupts_between_two_steps() -> None:
    child = subprocess.Popen([sys.executable, "-c", SLEEPER], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    time.sleep(2.0)
    assert child.poll() is None, "control: without the signal it goes on"
    child.send_signal(signal.SIGINT)
    said, _ = child.communicate(timeout=60)
    assert said == "interrupted\n" and child.returncode == 0


def test_pictures_and_movies() -> None:
    made = world()
    png = made.picture((320, 200))
    assert png.startswith(b"\x89PNG") and png[16:24] == (320).to_bytes(4, "big") + (200).to_bytes(4, "big")
    assert made.picture((320, 200), dark=True) != png and made._repr_png_().startswith(b"\x89PNG")
    made.step(5)
    other = world()
    other.step(5)
    positions = made.positions
    movie = made.movie(0.5, size=(160, 90))
    other.step(30)
    assert movie.data.startswith(b"GIF89a") and "data:image/gif;base64," in movie._repr_html_()
    # The world has run once, though the frame was found by another run.
    assert made.steps == 35 and made.hash() == other.hash() and np.array_equal(positions, other.positions)


def test_the_window_opens(tmp_path: Path) -> None:
    made = world(falling())
    made.step(3)
    with pytest.raises(ds.DeviceError, match="no window|display"):
        without = {name: os.environ.pop(name, None) for name in ("DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET")}
        try:
            ds.view(made)
        finally:
            os.environ.update({name: value for name, value in without.items() if value is not None})
    with pytest.raises(ds.ArgumentError, match="backend: is 'cuda'"):
        ds.view(made, backend="cuda")
    script = tmp_path / "script"
    script.write_text(f"frames 3\nshot {tmp_path / 'seen.png'}\n")
    read, write = os.pipe()
    display = ["Xvfb", "-displayfd", str(write), "-screen", "0", "800x600x24", "-nolisten", "tcp"]
    server = subprocess.Popen(display, pass_fds=[write], stderr=subprocess.DEVNULL)
    os.close(write)
    try:
        with os.fdopen(read) as number:
            os.environ["DISPLAY"] = f":{number.readline().strip()}"
        ds.view(made, backend="cpu", paused=True, script=script)
    finally:
        os.environ.pop("DISPLAY", None)
        server.terminate()
        server.wait()
    assert (tmp_path / "seen.png").read_bytes().startswith(b"\x89PNG") and made.steps == 3, "the window has a copy"


def test_the_catalogue_is_that_of_the_command() -> None:
    said = subprocess.run([BINARY, "scenes", "--json"], capture_output=True, text=True)
    if said.returncode == 0:
        listed = json.loads(said.stdout)
        names = [entry["name"] for entry in (listed["scenes"] if isinstance(listed, dict) else listed)]
        assert names == list(ds.scenes())

"""Tests of the calls of `drystone.Batch` that change many worlds at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import drystone as ds


def swing() -> ds.Scene:
    """Returns a floor of two segments, a box above it, and a wheel on a motor."""
    scene = ds.Scene("swing", gravity=(0, -10), settings={"events": True})
    scene.add(ds.Body.fixed().segment((-5, 0), (0, 0)).segment((0, 0), (5, 0)))
    scene.add(ds.Body.dynamic(-2, 0.6).half_box(0.5, 0.5))
    scene.add(ds.Body.dynamic(2, 3).circle(0.5))
    scene.join("revolute", 2, anchor_a=(2, 3), motor={"speed": 0, "max": 50})
    return scene


def batch(count: int = 4) -> ds.Batch:
    return ds.Batch([swing()] * count, backend="cpu", threads=2)


def some(count: int, bodies: int, width: int | None = None) -> np.ndarray:
    return np.full((count, bodies) if width is None else (count, bodies, width), np.nan, dtype=np.float32)


def test_variants_are_scenes_with_other_values() -> None:
    worlds = batch()
    worlds.step(5)
    before = worlds.hashes()
    positions, angles, velocities, spins = some(2, 3, 2), some(2, 3), some(2, 3, 2), some(2, 3)
    positions[:, 1] = [(-1, 2), (-2, 3)]
    angles[1, 1], velocities[0, 1], spins[0, 1] = 0.5, (1, 0), 2
    segments = some(2, 2, 4)
    segments[1, 1] = (0, 0, 5, 1)
    worlds.vary(
        [False, True, False, True],
        swing(),
        positions=positions,
        angles=angles,
        velocities=velocities,
        angular_velocities=spins,
        segments=segments,
    )
    assert worlds.steps.tolist() == [5, 0, 5, 0]
    first, second = swing(), swing()
    first.bodies[1] = first.bodies[1].at(-1, 2).velocity(1, 0).angular_velocity(2)
    second.bodies[1] = second.bodies[1].at(-2, 3).angle(0.5)
    second.bodies[0] = ds.Body.fixed().segment((-5, 0), (0, 0)).segment((0, 0), (5, 1))
    alone = ds.Batch([first, second], backend="cpu", threads=1)
    assert worlds.hashes()[[1, 3]].tolist() == alone.hashes().tolist()
    # Control: the others are as they were, and the variants differ.
    assert worlds.hashes()[[0, 2]].tolist() == before[[0, 2]].tolist() and len(set(worlds.hashes().tolist())) == 3
    worlds.step(60)
    alone.step(60)
    assert np.array_equal(worlds.positions[[1, 3]], alone.positions)
    # A reset goes to the start of the variant.
    worlds.reset()
    assert worlds.positions[1, 1].tolist() == [-1, 2] and worlds.positions[0, 1].tolist() == [-2, pytest.approx(0.6)]


def test_impulses_are_those_of_single_worlds() -> None:
    worlds, still = batch(), batch()
    impulses, twists = np.zeros((4, 3, 2)), np.zeros((4, 3))
    impulses[2, 1], twists[2, 1] = (3, 4), 0.5
    worlds.push(impulses, twists)
    worlds.step()
    still.step()
    alone = ds.World(swing(), backend="cpu", threads=1)
    alone.body(1).impulse = (3, 4)
    alone.body(1).angular_impulse = 0.5
    alone.step()
    assert worlds.hashes()[2] == alone.hash() and worlds.hashes()[0] == still.hashes()[0] != alone.hash()
    worlds.step()
    alone.step()
    assert worlds.hashes()[2] == alone.hash(), "an impulse acts once"


def test_motors_are_driven_by_world() -> None:
    worlds = batch()
    worlds.drive(np.array([[3], [np.nan], [-3], [3]]), np.array([[50], [50], [50], [0]]))
    worlds.step(10)
    assert worlds.angular_velocities[:, 2] == pytest.approx([3, 0, -3, 0], abs=1e-3)


def test_bodies_are_placed() -> None:
    worlds = batch()
    positions, angles, velocities = some(4, 3, 2), some(4, 3), some(4, 3, 2)
    positions[1, 1], angles[1, 1], velocities[3, 1] = (-3, 4), 1, (2, 0)
    worlds.place(positions=positions, angles=angles, velocities=velocities)
    worlds.step()
    assert worlds.positions[1, 1] == pytest.approx([-3, 4], abs=0.01) and worlds.angles[1, 1] == pytest.approx(1)
    assert worlds.positions[0, 1] == pytest.approx([-2, 0.6], abs=0.01), "a control: NaN leaves a body where it is"
    assert worlds.velocities[3, 1, 0] == pytest.approx(2) and worlds.velocities[1, 1, 0] == 0


def test_touching_follows_contacts() -> None:
    worlds = batch()
    assert not worlds.touching.any() and worlds.touching_pairs.shape == (0, 3)
    lifted, angles = some(4, 3, 2), some(4, 3)
    lifted[1, 1], angles[1, 1] = (-2, 40), 0
    worlds.place(positions=lifted, angles=angles)
    worlds.step(30)
    assert worlds.touching.tolist() == [[True, True, False], [False] * 3, *[[True, True, False]] * 2]
    assert worlds.touching_pairs.tolist() == [[0, 0, 1], [2, 0, 1], [3, 0, 1]]
    contacts = worlds.contacts()
    assert sorted(set(contacts.world.tolist())) == [0, 2, 3]
    saved = worlds.save(0)
    worlds.reset([True, False, False, False])
    assert worlds.touching[:, 1].tolist() == [False, False, True, True]
    worlds.load(0, saved)
    assert worlds.touching[:, 1].tolist() == [True, False, True, True]
    # Thrown up, it touches no more.
    impulses = np.zeros((4, 3, 2))
    impulses[2, 1] = (0, 20)
    worlds.push(impulses)
    worlds.step(10)
    assert worlds.touching[:, 1].tolist() == [True, False, False, True]


def test_rays_have_a_filter() -> None:
    scene = swing()
    scene.bodies[1] = ds.Body.dynamic(-2, 0.6).half_box(0.5, 0.5, filter={"category": 4, "mask": 1})
    worlds = ds.Batch([scene] * 2, backend="cpu")
    down = [[-2, 5, -2, -1]]
    assert worlds.query(down).body.tolist() == [[1], [1]], "a control: without a filter it hits the box"
    assert worlds.query(down, category=2, mask=1).body.tolist() == [[0], [0]]
    alone = ds.World(scene, backend="cpu")
    assert alone.query(down, category=2, mask=1).body.tolist() == [0] and alone.query(down).body.tolist() == [1]


def test_pictures_of_worlds() -> None:
    worlds = batch()
    frame = worlds.picture(1, (80, 60), view=(-4, -1, 4, 5))
    assert frame.shape == (60, 80, 3) and frame.dtype == np.uint8 and len(np.unique(frame.reshape(-1, 3), axis=0)) > 3
    assert np.array_equal(frame, worlds.picture(2, (80, 60), view=(-4, -1, 4, 5)))
    assert not np.array_equal(frame, worlds.picture(1, (80, 60), view=(-40, -10, 40, 50)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda worlds: worlds.push(np.zeros((4, 2, 2))), r"impulses: has shape \(4, 2, 2\); expected shape \(4, 3, 2\)"),
        (lambda worlds: worlds.push(np.full((4, 3, 2), np.nan)), r"impulses\[0, 0, 0\]: is nan"),
        (lambda worlds: worlds.push(np.ones((4, 3, 2))), r"impulses\[0, 0\]: .*static"),
        (lambda worlds: worlds.drive(np.zeros((4, 2)), np.zeros((4, 2))), r"speeds\[0, 1\]: .*no joint 1"),
        (lambda worlds: worlds.drive(np.zeros((3, 1)), np.zeros((3, 1))), r"speeds: has shape \(3, 1\)"),
        (lambda worlds: worlds.place(positions=np.zeros((4, 3, 2))), "angles: is missing"),
        (lambda worlds: worlds.place(velocities=np.full((4, 3, 2), np.inf)), r"velocities\[0, 0, 0\]: is inf"),
        (lambda worlds: worlds.vary([True] * 4, swing(), angles=np.zeros((3, 3))), r"angles: has shape \(3, 3\)"),
        (lambda worlds: worlds.vary([True] * 4, swing(), angles=["a"]), "angles: has dtype"),
        (lambda worlds: worlds.picture(0, view=(1, 0, 0, 1)), r"view: is \[1.0, 0.0, 0.0, 1.0\]"),
        (lambda worlds: worlds.picture(0, view=(0, 0, 1)), r"view: is \(0, 0, 1\); expected left, bottom, right and top"),
        (lambda worlds: worlds.picture(0, view=1), "view: is 1; expected left, bottom, right and top"),
        (lambda worlds: worlds.drive([[1], [1, 2], [1], [1]], np.zeros((4, 1))), "speeds: is no array"),
        (lambda worlds: worlds.load(1.5, b""), "world: is 1.5; expected an index"),
        (lambda worlds: worlds.query([[0, 0, 1, 1]], mask=-1), "mask: is -1"),
    ],
)
def test_errors_name_the_argument(call: Callable[[ds.Batch], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(batch())


def test_half_of_a_value_is_refused() -> None:
    """NaN leaves a pair as it is, and in `place` a position with its angle; a part alone would be lost without a word."""
    nan = np.nan
    rows: list[tuple[dict[str, list[Any]], str]] = [
        ({"velocities": [3, nan]}, r"velocities\[1, 2\]: has \(3, nan\); expected two numbers, or NaN for both"),
        ({"velocities": [nan, 3]}, r"velocities\[1, 2\]: has \(nan, 3\)"),
        ({"positions": [5, nan], "angles": [1]}, r"positions\[1, 2\]: has \(5, nan\)"),
        ({"positions": [5, 5], "angles": [nan]}, r"angles\[1, 2\]: is missing \(nan\); expected position and angle of a body together"),
        ({"positions": [nan, nan], "angles": [1]}, r"positions\[1, 2\]: is missing \(nan\)"),
    ]
    for given, message in rows:
        worlds = batch()
        before = worlds.hashes().tolist()
        arrays = {}
        for name, values in given.items():
            arrays[name] = some(4, 3, 2) if len(values) == 2 else some(4, 3)
            arrays[name][1, 2] = values if len(values) == 2 else values[0]
        # A body before it is whole, and yet nothing happens.
        if "positions" in arrays:
            arrays["positions"][0, 1], arrays["angles"][0, 1] = (7, 7), 0
        with pytest.raises(ds.ArgumentError, match=message):
            worlds.place(**arrays)
        still = batch()
        worlds.step()
        still.step()
        assert worlds.hashes().tolist() == still.hashes().tolist() != before
    for name, values, message in (
        ("positions", [5, nan], r"positions\[0, 2\]: has \(5, nan\)"),
        ("velocities", [nan, 5], r"velocities\[0, 2\]: has \(nan, 5\)"),
    ):
        array = some(1, 3, 2)
        array[0, 2] = values
        with pytest.raises(ds.ArgumentError, match=message):
            batch().vary([True, False, False, False], swing(), **{name: array})
    segments = some(1, 2, 4)
    segments[0, 1, :3] = (0, 0, 5)
    with pytest.raises(ds.ArgumentError, match=r"segments\[0, 1\]: has \(5, nan\)"):
        batch().vary([True, False, False, False], swing(), segments=segments)
    # Control: one end alone is a pair, and so is the angle of a variant.
    segments[0, 1] = (nan, nan, 5, 1)
    batch().vary([True, False, False, False], swing(), segments=segments, angles=np.full((1, 3), 0.1))


def test_touching_needs_events() -> None:
    with pytest.raises(ValueError, match="touching: .*setting `events` of world 0 is off"):
        ds.Batch(["bouncing_ball"], backend="cpu").touching  # noqa: B018

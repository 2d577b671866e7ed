"""Tests of the client with the real service: `DRYSTONE=path/to/drystone pytest`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from drystone.client import Problem, Service
from service import running


@pytest.fixture()
def service(tmp_path: Path) -> Iterator[Service]:
    with running(tmp_path) as url, Service(url) as made:
        yield made


def test_a_world_from_first_to_last(service: Service) -> None:
    world = service.create("large_pyramid:base=5", name="mine")
    before = world.state()
    assert before.position.shape == (16, 2) and world.status()["name"] == "mine"
    assert world.step(30)["steps"] == 30
    world.impulse("3.0", [0, 5])
    (ball,) = world.spawn([{"position": [0, 20], "shapes": [{"circle": {"radius": 0.5}}]}])
    world.step(10)
    after = world.state()
    assert (after.step, after.ids[-1]) == (40, ball)
    scene = world.scene()
    assert len(scene["bodies"]) == 17 and scene["bodies"][-1]["position"][1] == pytest.approx(after.position[-1, 1])
    assert world.web_page().startswith("<!doctype html>")
    # Free fall of 10 steps, from the body's row of the state.
    assert after.position[-1, 1] == pytest.approx(20 - 0.5 * 10 * (10 / 60) ** 2, abs=0.02)
    world.checkpoint("here")
    hash = world.metrics()["hash"]
    assert world.rewind(5) == 35 and world.metrics()["hash"] != hash
    world.step(5)
    assert world.metrics()["hash"] == hash
    down = world.status()["gravity"]
    world.gravity([2, 0])
    assert world.status()["gravity"] == [2, 0]
    world.gravity()
    assert world.status()["gravity"] == down
    world.remove(ball)
    world.step()
    assert world.metrics()["hash"] != hash
    world.restore("here")
    assert world.metrics()["hash"] == hash
    (found,) = world.query({"ray": {"from": [0, 40], "to": [0, 0]}})
    assert "hit" in found and found["hit"] is not None and found["hit"]["body"] == ball
    assert [w.id for w in service.worlds()] == [world.id]
    world.delete()
    assert list(service.worlds()) == []


def test_a_body_is_read_whole_and_step_by_step(service: Service) -> None:
    world = service.create("springs:count=1")
    assert len(world.series(body="0.0")["energies"]) == 1
    world.step(30)
    rows = world.series(10, body=0)
    assert [row["step"] for row in rows["energies"]] == list(range(10, 31))
    last = rows["body"]["rows"][-1]
    assert last["position"] == pytest.approx(list(world.state().position[0]), abs=1e-6)
    details = world.body("0.0")
    (spring,) = details["joints"]
    assert details["body"]["mass"] == 1 and spring["joint"]["stiffness"] == 10 and spring["b"] == "0.0"


def test_scenes_have_groups_sizes_and_pictures(service: Service) -> None:
    scenes = {scene["name"]: scene for scene in service.scenes()}
    assert scenes["arch"]["group"] == "Stacks" and len({scene["group"] for scene in scenes.values()}) == 5
    # The ground and 5 · 4 / 2 boxes; as many as the world then has.
    assert service.scene_size("large_pyramid:base=4") == 11
    assert service.create("large_pyramid:base=4").status()["bodies"] == 11
    light, dark = service.scene_picture("arch"), service.scene_picture("arch", dark=True)
    for picture in (light, dark):
        assert picture.startswith(b"\x89PNG") and picture[16:24] == bytes([0, 0, 0, 144, 0, 0, 0, 96])
    assert light != dark
    with pytest.raises(Problem) as caught:
        service.scene_picture("no/such scene")
    assert caught.value.status == 404


def test_problems_name_the_place(service: Service) -> None:
    with pytest.raises(Problem) as caught:
        service.create({"version": 1, "bodies": [{"shapes": [{"circle": {"radius": -1}}]}]})
    assert (caught.value.status, caught.value.path) == (422, "scene.bodies[0].shapes[0].circle.radius")


def test_a_stream_holds_what_the_state_says(service: Service) -> None:
    world = service.create("large_pyramid:base=8")
    world.step(1)
    world.play(4)
    seen = 0
    for bodies in world.stream(rate=100):
        seen += 1
        if bodies.step > 100:
            world.pause()
            break
    assert seen > 3
    for bodies in world.stream():
        state = world.state()
        assert bodies.step == state.step
        assert np.array_equal(bodies.generation[bodies.present], state.generation)
        assert np.abs(bodies.position[bodies.present] - state.position).max() < 1e-6
        break

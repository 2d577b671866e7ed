"""Tests of levels of Kinetix: one written here, and those of `kinetix-env`."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import drystone as ds
from drystone.envs import kinetix
from drystone.envs.kinetix import Level, level_folder, level_names, load_level


def pair(x: float, y: float) -> dict[str, float]:
    return {"0": x, "1": y}


def body(x: float, y: float, **fields: Any) -> dict[str, Any]:
    """Returns a shape of a level: a box of 0.4 m by 0.2 m, of 1 kg."""
    corners = [(-0.2, 0.1), (0.2, 0.1), (0.2, -0.1), (-0.2, -0.1)]
    plain = {
        "position": pair(x, y),
        "rotation": 0.0,
        "velocity": pair(0, 0),
        "angular_velocity": 0.0,
        "inverse_mass": 1.0,
        "inverse_inertia": 50.0,
        "friction": 1.0,
        "restitution": 0.0,
        "collision_mode": 1,
        "active": True,
        "n_vertices": 4,
        "vertices": {str(index): pair(*corner) for index, corner in enumerate(corners)},
        "radius": 0.2,
        "role": 0,
    }
    return {**plain, **fields}


def joint(a: int, b: int, **fields: Any) -> dict[str, Any]:
    plain = {
        "a_index": a,
        "b_index": b,
        "a_relative_pos": pair(0.2, 0),
        "b_relative_pos": pair(0, 0),
        "active": True,
        "motor_speed": 1.0,
        "motor_power": 0.01,
        "motor_on": True,
        "motor_has_joint_limits": False,
        "min_rotation": 0.0,
        "max_rotation": 0.0,
        "is_fixed_joint": False,
        "rotation": 0.0,
        "motor_binding": 2,
    }
    return {**plain, **fields}


def level(gravity: float = 0.0, **state: Any) -> dict[str, Any]:
    """Returns a level: a floor, a slot that is not in use, a box at 3 m, a circle that is joined to it."""
    floor = body(2.5, 0, inverse_mass=0.0, inverse_inertia=0.0, collision_mode=2)
    floor["vertices"] = {str(k): pair(*point) for k, point in enumerate([(-2.5, 0.1), (2.5, 0.1), (2.5, -0.1), (-2.5, -0.1)])}
    fields = {
        "polygon": [floor, body(9, 9, active=False), body(1, 3)],
        "circle": [body(1.2, 3, radius=0.1)],
        "joint": [joint(2, 3)],
        "thruster": [
            {
                "object_index": 2,
                "relative_position": pair(0.1, 0),
                "rotation": math.pi / 2,
                "power": 0.5,
                "active": True,
                "thruster_binding": 1,
            }
        ],
        "gravity": pair(0, gravity),
    }
    params = {
        "dt": 1 / 60,
        "base_motor_speed": 6.0,
        "base_motor_power": 900.0,
        "base_thruster_power": 10.0,
        "base_friction": 0.4,
        "max_timesteps": 256,
        "pixels_per_unit": 100,
    }
    return {
        "env_state": {**fields, **state},
        "env_params": params,
        "static_env_params": {"frame_skip": 2, "screen_dim": {"0": 500, "1": 500}},
    }


def test_a_level_is_a_scene() -> None:
    found = load_level(level())
    assert [shape.to_dict()["type"] for shape in found.scene.bodies] == ["static", "dynamic", "dynamic"]
    assert found.is_fixed.tolist() == [True, False, False] and found.is_circle.tolist() == [False, False, True]
    assert found.clusters.tolist() == [0, 1, 1] and found.frame_skip == 2 and found.max_steps == 256
    found.scene.check()
    world = ds.World(found.scene, backend="cpu")
    assert world.body(1).mass == pytest.approx(1) and world.body(1).inertia == pytest.approx(0.02)
    assert world.body(1).position == pytest.approx((1, 3)) and world.body(2).position == pytest.approx((1.2, 3))
    friction = found.scene.bodies[1].to_dict()["shapes"][0]["friction"]
    assert friction == pytest.approx(0.4 * math.sqrt(2)), "two bodies of friction 1 have √(0.4² + 0.4²)"


def test_thrusters_push_along_the_body() -> None:
    found = load_level(level())
    angles = np.array([[0.0, 0.0, 0.0], [0.0, math.pi / 2, 0.0]])
    forces, torques = found.loads(np.tile([0, 0, 0, 0, 0, 0.5], (2, 1)), angles, np.zeros((2, 3)))
    # 0.5 · 10 N · 0.5, turned with the body by a right angle; its lever is 0.1 m in both.
    assert forces[:, 1] == pytest.approx(np.array([[0, 2.5], [-2.5, 0]]), abs=1e-12) and torques[:, 1] == pytest.approx(0.25)
    assert not forces[:, [0, 2]].any()
    forces, _ = found.loads(np.tile([0, 0, 0, 0, 1.0, -1.0], (2, 1)), angles, np.zeros((2, 3)))
    assert not forces.any(), "another binding, and less than nothing, do nothing"


def test_motors_have_their_law() -> None:
    limited = level(joint=[joint(2, 3, motor_has_joint_limits=True, min_rotation=-1.0, max_rotation=1.0)])
    actions = np.array([[0, 0, 1.0, 0, 0, 0]])
    spins = np.array([[0.0, 1.0, 3.0]])
    strength = 900 * 0.01 / (50 + 50)
    for source, turned, fade in ((level(), 2.0, 1.0), (limited, 0.5, 1.0), (limited, 0.95, 0.5), (limited, -0.95, 1.0)):
        _, torques = load_level(source).loads(actions, np.array([[0.0, 0.2, 0.2 + turned]]), spins)
        wanted = fade * strength * math.tanh(0.1 * (6 - 2))
        assert torques[0] == pytest.approx([0, -wanted, wanted])
    _, torques = load_level(level()).loads(np.zeros((1, 6)), np.zeros((1, 3)), spins)
    assert not torques.any(), "a motor without an action turns freely"


def test_goals_end_an_episode() -> None:
    """A box falls on the floor, which is its goal, its bane, or nothing."""
    sources = []
    for role in (2, 3, 0):
        fields = level(-10.0, joint=[], circle=[])
        fields["env_state"]["polygon"][0]["role"], fields["env_state"]["polygon"][2]["role"] = role, 1
        fields["env_state"]["polygon"][2]["position"] = pair(2, 0.6)
        sources.append(fields)
    envs = gymnasium.make_vec("drystone/Kinetix-v0", num_envs=3, levels=sources, autoreset_mode="SameStep")
    envs.reset(seed=0)
    found: list[set[float]] = [set(), set(), set()]
    for _ in range(20):
        _, rewards, terminated, _, _ = envs.step(np.zeros((3, 6)))
        for world in range(3):
            found[world].add(round(float(rewards[world])))
            assert terminated[world] == (abs(rewards[world]) > 0.5)
    assert found == [{0, 1}, {0, -1}, {0}]


def test_a_mixture_plays_in_one_batch(tmp_path: Path) -> None:
    single = level(joint=[], circle=[])
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one.json").write_text(json.dumps(level(-10.0)))
    (tmp_path / "a" / "two.json").write_text(json.dumps(single))
    assert level_names(tmp_path) == ["a/one", "a/two"]
    envs: Any = gymnasium.make_vec("drystone/Kinetix-v0", num_envs=5, folder=tmp_path, render_mode="rgb_array")
    seen, _ = envs.reset(seed=0)
    assert seen.shape == (5, 3, 15) and seen[:, :, 0].tolist() == [[1, 1, 1], [1, 1, 0]] * 2 + [[1, 1, 1]]
    for _ in range(10):
        seen = envs.step(np.tile([0, 0, 1, 0, 0, 1], (5, 1)))[0]
    assert np.array_equal(seen[0], seen[2]) and np.array_equal(seen[1], seen[3]) and not np.array_equal(seen[0], seen[1])
    # Free of gravity: 5 N on 1 kg for a third of a second, and it turns.
    assert seen[1, 1, 2] > 3.1 and seen[1, 1, 7] > 1 and seen[0, 2, 7] != 0
    assert len(envs.render([0, 1])) == 2
    with pytest.raises(ValueError, match="levels: is"):
        gymnasium.make_vec("drystone/Kinetix-v0", num_envs=1, levels=[])
    check_env(gymnasium.make("drystone/Kinetix-v0", levels=["a/one"], folder=tmp_path).unwrapped, skip_render_check=True)


def test_wrong_levels_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="level: .*'env_params'"):
        load_level({"env_state": {}})
    with pytest.raises(FileNotFoundError):
        load_level("s/nothing", tmp_path)


def installed() -> list[Level]:
    try:
        folder = level_folder()
    except ds.ArgumentError:
        pytest.skip("kinetix-env is not installed")
    return [load_level(name, folder) for name in level_names(folder)]


def test_all_levels_of_kinetix() -> None:
    levels = installed()
    assert len(levels) == 74 and sum(len(found.motors.binding) for found in levels) == 93
    assert sum(len(found.thrusters.body) > 0 for found in levels) == 32
    folder = level_folder()
    compared = 0
    for name, found in zip(level_names(folder), levels, strict=True):
        found.scene.check()
        state = json.loads((folder / f"{name}.json").read_text())["env_state"]
        slots = [slot for slot, shape in enumerate(state["polygon"] + state["circle"]) if shape["active"]]
        for a, first in enumerate(slots):
            for b, second in enumerate(slots):
                if a != b and not (found.is_fixed[a] and found.is_fixed[b]):
                    apart = found.clusters[a] == 0 or found.clusters[a] != found.clusters[b]
                    assert apart == state["collision_matrix"][str(first)][str(second)], (name, first, second)
                    compared += not apart
    assert compared > 100
    envs = gymnasium.make_vec("drystone/Kinetix-v0", num_envs=74, threads=1)
    seen, _ = envs.reset(seed=0)
    envs.action_space.seed(0)
    for _ in range(30):
        seen, rewards, _, _, _ = envs.step(envs.action_space.sample())
    assert np.isfinite(seen).all() and np.isfinite(rewards).all() and np.abs(seen[..., 1:3]).max() < 20
    assert kinetix.ROLES == 4

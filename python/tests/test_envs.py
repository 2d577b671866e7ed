"""Tests of the environments: what Gymnasium asks, seeds and resets, and the originals beside them."""

from __future__ import annotations

import inspect
import math
import pydoc
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import load_env_creator
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import drystone.envs
from drystone.envs.bipedal_walker import OBSTACLE_EDGES, PARKED, RAYS, hardcore_ground, walker_ground
from drystone.envs.lunar_lander import lander_shaping
from drystone.envs.streams import Streams
from drystone.envs.top_down_car import ROAD, tracks

NAMES = ("CartPole-v1", "Pendulum-v1", "LunarLander-v3", "BipedalWalker-v3", "TopDownCar-v0", "Stacking-v0")


def many(name: str, count: int, **options: Any) -> Any:
    return gymnasium.make_vec(f"drystone/{name}", num_envs=count, threads=1, **options)


def one(name: str, **options: Any) -> Any:
    return gymnasium.make(f"drystone/{name}", disable_env_checker=True, **options)


def original(name: str, **options: Any) -> Any:
    return gymnasium.make(name, disable_env_checker=True, **options).unwrapped


def played(envs: Any, actions: list[Any], seed: int = 5) -> list[np.ndarray]:
    """Returns all that is seen, in the order in which it is seen."""
    found = [envs.reset(seed=seed)[0]]
    for action in actions:
        seen, rewards, terminated, truncated, _ = envs.step(action)
        found += [seen, np.asarray(rewards), np.asarray(terminated), np.asarray(truncated)]
    return [np.array(part) for part in found]


def sampled(envs: Any, count: int) -> list[Any]:
    envs.action_space.seed(3)
    return [envs.action_space.sample() for _ in range(count)]


# ── what Gymnasium asks


@pytest.mark.parametrize("name", NAMES)
def test_gymnasium_finds_no_fault(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Torques of Pendulum and controls of the car are not from −1 to 1, as in the originals.
        warnings.filterwarnings("ignore", message=".*(symmetric|infinity|human|spec).*")
        env = gymnasium.make(f"drystone/{name}", render_mode="rgb_array")
        check_env(env.unwrapped, skip_render_check=False)
    frame: Any = env.unwrapped.render()
    assert frame.dtype == np.uint8 and frame.shape[2] == 3 and len(np.unique(frame.reshape(-1, 3), axis=0)) > 3


@pytest.mark.parametrize("name", NAMES)
def test_many_have_the_spaces_of_one(name: str) -> None:
    envs, env = many(name, 3, render_mode="rgb_array"), one(name)
    assert envs.single_observation_space == env.observation_space and envs.single_action_space == env.action_space
    seen, infos = envs.reset(seed=1)
    assert seen in envs.observation_space and infos == {}
    for action in sampled(envs, 5):
        seen, rewards, terminated, truncated, infos = envs.step(action)
        assert seen in envs.observation_space and rewards.dtype == np.float64
        assert [flags.dtype for flags in (terminated, truncated)] == [np.bool_] * 2 and rewards.shape == (3,)
    frames = envs.render()
    assert len(frames) == 3 and frames[0].shape == frames[2].shape
    assert envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP


@pytest.mark.parametrize(
    "name", ["CartPole-v1", "Pendulum-v1", "LunarLander-v3", "BipedalWalker-v3", "BipedalWalkerHardcore-v3"]
)
def test_spaces_are_those_of_the_original(name: str) -> None:
    ours, theirs = one(name), original(name)
    assert ours.observation_space == theirs.observation_space and ours.action_space == theirs.action_space
    mine, known = gymnasium.spec(f"drystone/{name}"), gymnasium.spec(name)
    assert mine.max_episode_steps == known.max_episode_steps and mine.reward_threshold == known.reward_threshold


def test_spaces_of_continuous_engines() -> None:
    ours, theirs = one("LunarLander-v3", continuous=True), original("LunarLander-v3", continuous=True)
    assert ours.action_space == theirs.action_space and ours.unwrapped.continuous
    assert ours.action_space != one("LunarLander-v3").action_space


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([0, 1], r"actions: has shape \(2,\); expected shape \(3,\)"),
        ([0, 4, 1], r"actions\[1\]: is 4; expected a whole number from 0 to 3"),
        ([0.0, 1.0, 2.0], "actions: has dtype float64"),
    ],
)
def test_wrong_actions_are_refused(actions: Any, message: str) -> None:
    envs = many("LunarLander-v3", 3)
    with pytest.raises(gymnasium.error.ResetNeeded):
        envs.step([0, 0, 0])
    envs.reset(seed=1)
    with pytest.raises(ValueError, match=message):
        envs.step(actions)
    assert envs.step([0, 1, 2])[0].shape == (3, 8)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="autoreset_mode: is 'later'"):
        many("CartPole-v1", 1, autoreset_mode="later")
    with pytest.raises(ValueError, match="num_envs: is 0"):
        many("CartPole-v1", 0)
    with pytest.raises(ValueError, match="gravity: is 3"):
        many("LunarLander-v3", 1, gravity=3)
    envs = many("CartPole-v1", 2, autoreset_mode="Disabled")
    with pytest.raises(ValueError, match=r"seed: has length 3"):
        envs.reset(seed=[1, 2, 3])
    with pytest.raises(ValueError, match=r"options\['reset_mask'\]: is int64 \(2,\)"):
        envs.reset(options={"reset_mask": np.array([1, 0])})


@pytest.mark.parametrize("name", NAMES)
def test_unknown_options_of_a_reset_are_refused(name: str) -> None:
    known = {"CartPole-v1": '"reset_mask" or "low" or "high"', "Pendulum-v1": '"reset_mask" or "x_init" or "y_init"'}
    envs, env = many(name, 2), one(name)
    first = envs.reset(seed=1)[0].copy()
    state = envs.state()
    for target, options in ((envs, {"reset_masks": np.array([True, False])}), (env, {"randomize": True})):
        (key,) = options
        expected = re.escape(known.get(name, '"reset_mask"'))
        with pytest.raises(drystone.ArgumentError, match=rf"options\['{key}'\]: is no option of reset; expected {expected}$"):
            target.reset(seed=2, options=options)
    with pytest.raises(drystone.ArgumentError, match="options: is list; expected a dict"):
        envs.reset(options=["reset_mask"])
    assert envs.state() == state, "nothing has happened"
    assert np.array_equal(envs.reset(seed=1, options={})[0], first)


@pytest.mark.parametrize(
    ("seed", "message"),
    [
        (1.5, "seed: is 1.5; expected a whole number of at least 0"),
        ("one", "seed: is 'one'"),
        (True, "seed: is True"),
        (-1, "seed: is -1"),
        (2**64, "seed: is 18446744073709551616; expected a whole number from 0 to"),
        ([1.5, 2], r"seed\[0\]: is 1.5"),
        ([3, -1], r"seed\[1\]: is -1"),
        ([None, 2**64], r"seed\[1\]: is 18446744073709551616; expected a whole number from 0 to 18446744073709551615"),
        (np.array([1.0, 2.0]), r"seed\[0\]: is "),
        ([1, 2, 3], "seed: has length 3; expected a seed, or one for each of 2 worlds"),
    ],
)
def test_wrong_seeds_are_refused(seed: Any, message: str) -> None:
    envs, env = many("CartPole-v1", 2), one("CartPole-v1")
    envs.reset(seed=1)
    state = envs.state()
    with pytest.raises(drystone.ArgumentError, match=message):
        envs.reset(seed=seed)
    assert envs.state() == state
    with pytest.raises(drystone.ArgumentError, match="seed: is "):
        env.reset(seed=seed)


def test_seeds_have_64_bits() -> None:
    last = 2**64 - 1
    envs = many("CartPole-v1", 2)
    seen = envs.reset(seed=last - 1)[0].copy()
    assert np.array_equal(one("CartPole-v1").reset(seed=last)[0], seen[1]) and not np.array_equal(seen[0], seen[1])
    with pytest.raises(drystone.ArgumentError, match="seed: is"):
        envs.reset(seed=last)
    for seeds in ([last - 1, last], np.array([last - 1, last], dtype=np.uint64), (last - 1, np.uint64(last))):
        assert np.array_equal(envs.reset(seed=seeds)[0], seen)
    assert np.array_equal(one("CartPole-v1").reset(seed=np.int64(3))[0], one("CartPole-v1").reset(seed=3)[0])


# ── options of a reset, as the originals'


def test_carts_begin_within_bounds() -> None:
    options = {"low": 0.1, "high": 0.15}
    theirs = np.array([original("CartPole-v1").reset(seed=seed, options=options)[0] for seed in range(50)])
    envs = many("CartPole-v1", 200, autoreset_mode="SameStep")
    ours = envs.reset(seed=0, options=options)[0].copy()
    for seen in (theirs, ours):
        assert (seen >= 0.0999).all() and (seen <= 0.1501).all()
    assert ours.mean(axis=0) == pytest.approx(theirs.mean(axis=0), abs=0.01) and ours.std() == pytest.approx(theirs.std(), abs=0.003)
    # One bound alone leaves the other, numbers of NumPy are taken, and one world does as many.
    assert ((envs.reset(seed=0, options={"low": np.float32(0.04)})[0] - 0.045).__abs__() <= 0.0051).all()
    assert np.array_equal(one("CartPole-v1").reset(seed=7, options=options)[0], ours[7])
    # They hold for the episodes that begin by themselves, as in the original's vector environment, until the next reset.
    envs.reset(seed=0, options=options)
    for _ in range(30):
        seen, _, ended, _, _ = envs.step(np.ones(200, dtype=np.int64))
        assert (seen[ended] >= 0.0999).all() and (seen[ended] <= 0.1501).all()
        if ended.all():
            break
    assert (np.abs(envs.reset(seed=0)[0]) <= 0.05).all()
    # A mask limits them to its worlds.
    mask = np.arange(200) < 5
    seen = envs.reset(options={**options, "reset_mask": mask})[0]
    assert (seen[mask] >= 0.0999).all() and (np.abs(seen[~mask]) <= 0.05).all()
    assert np.array_equal(one("CartPole-v1").reset(seed=7, options={"low": 0.1, "high": 0.1})[0], np.full(4, 0.1, np.float32))


def test_pendulums_begin_within_bounds() -> None:
    options = {"x_init": 0.5, "y_init": 4.0}
    theirs = np.array([original("Pendulum-v1").reset(seed=seed, options=options)[0] for seed in range(200)])
    envs = many("Pendulum-v1", 1000)
    ours = envs.reset(seed=0, options=options)[0].copy()
    for seen in (theirs, ours):
        assert np.abs(np.arctan2(seen[:, 1], seen[:, 0])).max() == pytest.approx(0.5, abs=0.02)
        assert seen[:, 2].max() == pytest.approx(4, abs=0.15) and seen[:, 2].min() == pytest.approx(-4, abs=0.15)
    assert np.array_equal(one("Pendulum-v1").reset(seed=7, options=options)[0], ours[7])
    alone = envs.reset(seed=0, options={"x_init": 0})[0]
    assert (alone[:, 0] == 1).all() and 0.9 < alone[:, 2].max() <= 1
    assert envs.reset(seed=0)[0][:, 0].min() < -0.99


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("CartPole-v1", {"low": "far"}, r"options\['low'\]: is 'far'; expected a number"),
        ("CartPole-v1", {"high": math.nan}, r"options\['high'\]: is nan; expected a finite number"),
        ("CartPole-v1", {"low": 1.0}, r"options\['low'\]: is 1.0; expected a number of at most 0.05, which is options\['high'\]"),
        ("Pendulum-v1", {"x_init": -1}, r"options\['x_init'\]: is -1.0; expected a number of at least 0"),
        ("Pendulum-v1", {"y_init": None}, r"options\['y_init'\]: is None; expected a number"),
    ],
)
def test_wrong_bounds_are_refused(name: str, options: dict[str, Any], message: str) -> None:
    envs, theirs = many(name, 2), original(name)
    envs.reset(seed=1)
    state = envs.state()
    for target in (envs, one(name)):
        with pytest.raises(drystone.ArgumentError, match=message):
            target.reset(seed=2, options=options)
    assert envs.state() == state
    if "high" not in options:
        # The original takes NaN.
        with pytest.raises(ValueError):
            theirs.reset(seed=2, options=options)


# ── seeds and resets


@pytest.mark.parametrize("name", NAMES)
def test_seeds_repeat(name: str) -> None:
    envs = many(name, 3)
    actions = sampled(envs, 40 if name != "Stacking-v0" else 10)
    first = played(envs, actions)
    assert all(np.array_equal(a, b) for a, b in zip(first, played(envs, actions), strict=True))
    # More threads and worlds change nothing; another seed does.
    wide = played(gymnasium.make_vec(f"drystone/{name}", num_envs=5, threads=2), [_more(action) for action in actions])
    assert all(np.array_equal(a, b[:3]) for a, b in zip(first, wide, strict=True))
    assert not np.array_equal(first[0], played(envs, [], seed=6)[0])


def _more(action: Any) -> Any:
    return np.concatenate([action, action[:2]])


@pytest.mark.parametrize("name", NAMES)
def test_worlds_are_as_alone(name: str) -> None:
    count = 25 if name != "Stacking-v0" else 6
    envs = many(name, 3, autoreset_mode="Disabled")
    actions = sampled(envs, count)
    together, alone = envs.reset(seed=8)[0], one(name)
    seen, _ = alone.reset(seed=10)
    assert np.array_equal(seen, together[2]) and (name == "Stacking-v0" or not np.array_equal(seen, together[1]))
    for action in actions:
        together, rewards, terminated, _, _ = envs.step(action)
        seen, reward, ended, _, _ = alone.step(action[2])
        assert np.array_equal(seen, together[2]) and reward == rewards[2] and ended == terminated[2]
        if terminated.any():
            break


def test_an_episode_ends_in_three_ways() -> None:
    """All modes play the same episodes. The cart is always pushed to the right, and the pole falls after some steps."""
    push = np.ones(3, dtype=np.int64)
    later, same, never = (many("CartPole-v1", 3, autoreset_mode=mode) for mode in AutoresetMode)
    starts = [envs.reset(seed=4)[0] for envs in (later, same, never)]
    assert np.array_equal(starts[0], starts[1]) and np.array_equal(starts[0], starts[2])
    seen_later: list[list[np.ndarray]] = [[], [], []]
    seen_same: list[list[np.ndarray]] = [[], [], []]
    ended = np.zeros(3, dtype=bool)
    for _ in range(40):
        seen, rewards, terminated, truncated, infos = later.step(push)
        assert (rewards[ended] == 0).all() and not terminated[ended].any() and infos == {}
        assert (np.abs(seen[ended]) <= 0.05).all(), "where an episode has ended, another one begins"
        for world in range(3):
            seen_later[world].append(seen[world])
        ended = terminated | truncated
        seen, _, terminated, _, infos = same.step(push)
        for world in range(3):
            if terminated[world]:
                assert infos["_final_obs"][world] and abs(infos["final_obs"][world][2]) > math.radians(12)
                seen_same[world].append(infos["final_obs"][world])
                assert (np.abs(seen[world]) <= 0.05).all()
            seen_same[world].append(seen[world])
    for world in range(3):
        length = min(len(seen_later[world]), len(seen_same[world]))
        assert length >= 40 and np.array_equal(seen_later[world][:length], seen_same[world][:length])
    finished = np.zeros(3, dtype=bool)
    steps = 0
    while not finished.any():
        _, _, finished, _, _ = never.step(push)
        steps += 1
    assert 5 < steps < 20
    with pytest.raises(gymnasium.error.ResetNeeded, match=f"worlds \\[{np.flatnonzero(finished)[0]}"):
        never.step(push)
    before = never._observe(never._everyone)
    seen, _ = never.reset(options={"reset_mask": finished})
    assert np.array_equal(seen[~finished], before[~finished]) and (np.abs(seen[finished]) <= 0.05).all()
    assert never.step(push)[0].shape == (3, 4)


def test_long_episodes_are_truncated() -> None:
    envs = many("Pendulum-v1", 2, max_episode_steps=3)
    envs.reset(seed=1)
    flags = [envs.step(np.zeros((2, 1)))[3].tolist() for _ in range(8)]
    assert flags == [[False] * 2, [False] * 2, [True] * 2, [False] * 2, [False] * 2, [False] * 2, [True] * 2, [False] * 2]
    assert not any(many("Pendulum-v1", 2).reset(seed=1)[1])


def test_streams_are_uniform_and_apart() -> None:
    streams = Streams(1000)
    rows = np.arange(1000)
    streams.seed(rows, rows.astype(np.uint64))
    drawn = streams.uniform(rows, -1, 1, 50)
    assert abs(drawn.mean()) < 0.01 and drawn.std() == pytest.approx(1 / math.sqrt(3), abs=0.01)
    assert abs(np.corrcoef(drawn[:-1].ravel(), drawn[1:].ravel())[0, 1]) < 0.02 and len(np.unique(drawn)) == drawn.size
    again = Streams(10)
    again.seed(np.arange(10), np.arange(10, dtype=np.uint64))
    split = np.concatenate([again.uniform(np.arange(10), -1, 1, 20), again.uniform(np.arange(10), -1, 1, 30)], axis=1)
    assert np.array_equal(split, drawn[:10])


# ── beside the originals


class Given:
    """Generator that returns given numbers instead of random ones."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def uniform(self, low: float, high: float, size: Any = None) -> Any:
        if size is not None:
            return np.full(size, (low + high) / 2)
        return low + (high - low) * self.values(low, high)


def lander_pair(force: tuple[float, float]) -> tuple[Any, Any]:
    """Returns the original and ours with the same start: level ground at a quarter, a given push, no noise of engines."""
    theirs, ours = original("LunarLander-v3"), many("LunarLander-v3", 1, autoreset_mode="Disabled")
    theirs.reset(seed=0)
    pushes = iter(force)
    theirs._np_random = Given(lambda low, high: next(pushes) if high == 1000.0 else 0.5)
    theirs.reset()

    def drawn(rows: Any, low: Any, high: Any, width: int) -> np.ndarray:
        shares = np.full((1, width), 0.5)
        if width > 2:
            shares[0, 12:14] = force
        shares *= high - low
        shares += low
        return shares

    ours.reset(seed=0)
    ours._streams.uniform = drawn
    ours.reset()
    return theirs, ours


@pytest.mark.parametrize(
    ("program", "bounds"),
    [
        # No engine, main engine, each side engine, all in turns; bounds of x, y, angle after 40 steps, m and rad. Four
        # substeps instead of one fall 6 cm less in that time.
        ([0], (0.001, 0.07, 0.001)),
        ([2], (0.01, 0.07, 0.01)),
        ([1], (0.01, 0.07, 0.1)),
        ([3], (0.01, 0.07, 0.1)),
        ([1, 2, 0, 3, 2, 2], (0.01, 0.07, 0.01)),
    ],
)
@pytest.mark.parametrize("force", [(0.5, 0.5), (0.8, 0.3)])
def test_landers_fly_as_the_original(program: list[int], bounds: tuple[float, ...], force: tuple[float, float]) -> None:
    theirs, ours = lander_pair(force)
    for step in range(40):
        action = program[step % len(program)]
        theirs_seen = theirs.step(action)[0]
        ours_seen = ours.step([action])[0][0]
    apart = np.abs(theirs_seen - ours_seen) * [10, 20 / 3, 1, 1, 1, 1, 1, 1]
    print(program, force, apart)
    assert (apart[[0, 1, 4]] <= bounds).all()
    # Control: another action leads elsewhere.
    theirs, ours = lander_pair(force)
    for step in range(40):
        theirs_seen = theirs.step(program[step % len(program)])[0]
        ours_seen = ours.step([(program[step % len(program)] + 1) % 4])[0][0]
    apart = np.abs(theirs_seen - ours_seen) * [10, 20 / 3, 1, 1, 1, 1, 1, 1]
    assert (apart[[0, 1, 4]] > bounds).any()


def test_landers_begin_as_the_original() -> None:
    theirs = original("LunarLander-v3")
    starts = np.array([theirs.reset(seed=seed)[0] for seed in range(300)])
    ours = many("LunarLander-v3", 3000).reset(seed=0)[0]
    deviations = np.array([0.0048, 0.007, 0.48, 0.31, 0.0056, 0.11])
    assert np.abs(ours.mean(axis=0) - starts.mean(axis=0))[:6] == pytest.approx(0, abs=0.2) and not ours[:, 6:].any()
    assert (np.abs(ours.mean(axis=0) - starts.mean(axis=0))[:6] < 0.2 * deviations).all()
    assert ours.std(axis=0)[:6] == pytest.approx(starts.std(axis=0)[:6], rel=0.1)
    for place in range(6):
        assert ours[:, place].min() == pytest.approx(starts[:, place].min(), abs=0.1 * deviations[place])
        assert ours[:, place].max() == pytest.approx(starts[:, place].max(), abs=0.1 * deviations[place])


def test_ground_of_landers_is_that_of_the_original() -> None:
    """Draws of the original, given to ours, make the same ground."""
    envs = many("LunarLander-v3", 1)
    for seed in range(3):
        theirs = original("LunarLander-v3")
        theirs.reset(seed=seed)
        generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
        heights = generator.uniform(0, 1, 12)
        envs.reset(seed=0)
        envs._streams.uniform = lambda rows, low, high, width, heights=heights: np.concatenate(
            [np.tile(heights, (len(rows), 1)), np.full((len(rows), width - 12), 0.5)], axis=1
        )
        envs.reset()
        x = np.linspace(0.5, 19.5, 40)
        hits = envs.batch.query(np.stack([x, np.full(40, 30.0), x, np.full(40, -1.0)], axis=1), category=2, mask=1)
        expected = [np.interp(at, *_moon(theirs)) for at in x]
        assert hits.point[0, :, 1] == pytest.approx(expected, abs=1e-4)
        assert hits.point[0, :, 1] != pytest.approx(expected[::-1], abs=1e-4)


def _moon(env: Any) -> tuple[list[float], list[float]]:
    points = [polygon[0] for polygon in env.sky_polys] + [env.sky_polys[-1][1]]
    return [point[0] for point in points], [point[1] for point in points]


def test_rewards_of_landers_are_those_of_the_original() -> None:
    """On states of the original, the shaping of ours gives the original's rewards."""
    theirs = original("LunarLander-v3")
    before = lander_shaping(theirs.reset(seed=3)[0][None].astype(np.float64))
    theirs.action_space.seed(3)
    compared = 0
    for _ in range(60):
        action = theirs.action_space.sample()
        seen, reward, ended, _, _ = theirs.step(action)
        if ended:
            assert reward == -100
            break
        after = lander_shaping(seen[None].astype(np.float64))
        fuel = {0: 0.0, 1: 0.03, 2: 0.3, 3: 0.03}[int(action)]
        assert reward == pytest.approx(float((after - before)[0]) - fuel, abs=2e-4)
        assert abs(reward - float((after - before)[0]) - fuel) > 2e-4 or action == 0
        before = after
        compared += 1
    assert compared > 30
    # And those of ours too, to the end.
    ours = many("LunarLander-v3", 50, autoreset_mode="Disabled")
    seen = ours.reset(seed=3)[0]
    for _ in range(200):
        before = lander_shaping(seen.astype(np.float64))
        seen, rewards, ended, _, _ = ours.step(np.zeros(50, dtype=np.int64))
        expected = lander_shaping(seen.astype(np.float64)) - before
        assert rewards[~ended] == pytest.approx(expected[~ended], abs=2e-4) and (rewards[ended] == -100).all()
        if ended.any():
            break
    assert ended.any()


def lander_pilot(seen: np.ndarray) -> np.ndarray:
    """Gymnasium's heuristic for the lander, for many worlds."""
    aim = np.clip(seen[:, 0] * 0.5 + seen[:, 2], -0.4, 0.4)
    turn = (aim - seen[:, 4]) * 0.5 - seen[:, 5]
    rise = (0.55 * np.abs(seen[:, 0]) - seen[:, 1]) * 0.5 - seen[:, 3] * 0.5
    stands = seen[:, 6:].any(axis=1)
    turn, rise = np.where(stands, 0.0, turn), np.where(stands, -seen[:, 3] * 0.5, rise)
    main = (rise > np.abs(turn)) & (rise > 0.05)
    return np.where(main, 2, np.where(turn < -0.05, 3, np.where(turn > 0.05, 1, 0)))


def scores(envs: Any, pilot: Any, steps: int, seed: int = 0) -> np.ndarray:
    """Returns the sum of rewards of the first episode of each world."""
    seen = envs.reset(seed=seed)[0]
    total, going = np.zeros(envs.num_envs), np.ones(envs.num_envs, dtype=bool)
    for _ in range(steps):
        seen, rewards, terminated, truncated, _ = envs.step(pilot(seen))
        total += rewards * going
        going &= ~(terminated | truncated)
        if not going.any():
            break
    assert not going.any()
    return total


def test_a_pilot_of_the_original_lands_ours() -> None:
    ours = scores(many("LunarLander-v3", 100), lander_pilot, 1001)
    theirs = scores(gymnasium.make_vec("LunarLander-v3", num_envs=40, vectorization_mode="sync"), lander_pilot, 1001)
    print("heuristic:", ours.mean(), np.median(ours), theirs.mean(), np.median(theirs))
    assert np.median(ours) == pytest.approx(np.median(theirs), abs=25) and np.median(ours) > 220
    assert (ours > 200).mean() > (theirs > 200).mean() - 0.25
    # Control: without a pilot they crash.
    assert np.median(scores(many("LunarLander-v3", 50), lambda seen: np.zeros(len(seen), dtype=int), 1001)) < 0


def test_walkers_begin_as_the_original() -> None:
    theirs = original("BipedalWalker-v3")
    starts = []
    for seed in range(40):
        theirs.reset(seed=seed)
        starts.append(theirs.step(np.zeros(4))[0])
    ours = many("BipedalWalker-v3", 200).reset(seed=0)[0]
    assert ours.mean(axis=0) == pytest.approx(np.mean(starts, axis=0), abs=4e-3)
    assert ours.std(axis=0) == pytest.approx(np.std(starts, axis=0), abs=5e-3)
    assert ours[:, 14] == pytest.approx(starts[0][14], abs=2e-3), "the lidar sees the same ground"


def test_lidars_see_what_queries_see() -> None:
    envs = many("BipedalWalker-v3", 20, autoreset_mode="Disabled")
    envs.reset(seed=3)
    generator = np.random.default_rng(0)
    hulls = np.stack([generator.uniform(0.1, 90, 20), generator.uniform(4.5, 7.5, 20)], axis=1).astype(np.float32)
    rays = np.concatenate([np.broadcast_to(hulls[:, None], (20, 10, 2)), hulls[:, None] + RAYS], axis=2)
    hits = envs.batch.query(rays, category=2, mask=1)
    seen = envs._lidar(np.arange(20), hulls)
    assert seen == pytest.approx(hits.fraction, abs=1e-4) and 50 < hits.hit.sum() < 200
    assert envs._lidar(np.arange(20), hulls + 0.05) != pytest.approx(hits.fraction, abs=1e-4)


def test_ground_of_walkers_is_as_rough_as_the_original() -> None:
    theirs = original("BipedalWalker-v3")
    grounds = []
    for seed in range(60):
        theirs.reset(seed=seed)
        grounds.append(theirs.terrain_y)
    generator = np.random.default_rng(0)
    ours = walker_ground(generator.uniform(-1, 1, (2000, 200)), generator.uniform(0, 1, (2000, 200)))
    slopes, known = np.diff(ours, axis=1), np.diff(np.array(grounds), axis=1)
    assert np.abs(slopes[:, :19]).max() < 1e-9 and np.abs(known[:, :19]).max() < 1e-9
    assert slopes[:, 30:].std() == pytest.approx(known[:, 30:].std(), rel=0.05)
    assert ours[:, 100:].std() == pytest.approx(np.array(grounds)[:, 100:].std(), rel=0.15)
    # Control: rougher noise is rougher ground.
    rough = walker_ground(generator.uniform(-1.3, 1.3, (500, 200)), generator.uniform(0, 1, (500, 200)))
    assert np.diff(rough, axis=1)[:, 30:].std() != pytest.approx(known[:, 30:].std(), rel=0.05)


class GivenByPlace:
    """Generator of the original's ground that returns numbers given for each step of it, and not random ones."""

    def __init__(self, env: Any, noise: Any, stretches: Any, kinds: Any, sizes: Any, signs: Any) -> None:
        self.env, self.noise, self.stretches = env, noise, stretches
        self.kinds, self.sizes, self.signs = kinds, sizes, signs

    def uniform(self, low: float, high: float) -> float:
        return float(low + (high - low) * (self.noise[self.place] + 1) / 2)

    def random(self) -> float:
        return float(self.signs[self.place])

    def integers(self, low: int, high: int) -> int:
        given = {(5, 10): self.stretches, (1, 4): self.kinds, (4, 5): self.sizes}.get((low, high), self.sizes)
        return low + int(given[self.place] * (high - low))

    @property
    def place(self) -> int:
        return len(self.env.terrain_x) - 1


def test_obstacles_are_those_of_the_original() -> None:
    """Draws of ours, given to the original, make the same heights and boxes."""
    generator = np.random.default_rng(5)
    draws = generator.uniform(0, 1, (5, 12, 200))
    draws[0] = 2 * draws[0] - 1
    heights, edges = hardcore_ground(*draws)
    for world in range(12):
        theirs = original("BipedalWalker-v3", hardcore=True)
        theirs.reset(seed=0)
        theirs._np_random = GivenByPlace(theirs, *draws[:, world])
        theirs._generate_terrain(True)
        assert heights[world] == pytest.approx(theirs.terrain_y, abs=1e-9)
        used = edges[world][edges[world, :, 1] > PARKED]
        boxes = [body.fixtures[0].shape.vertices for body in theirs.terrain if len(body.fixtures[0].shape.vertices) == 4]
        sides = {_rounded(*pair) for box in boxes for pair in zip(box, box[1:] + box[:1], strict=True)}
        assert {_rounded(edge[:2], edge[2:]) for edge in used} <= sides and 2 * len(boxes) <= len(used) <= 3 * len(boxes)
        # Control: moved by 2 cm they are other edges.
        assert not {_rounded(edge[:2] + 0.02, edge[2:] + 0.02) for edge in used} <= sides
    # All kinds are there, and there is room for all edges.
    many_draws = generator.uniform(0, 1, (5, 3000, 200))
    _, found = hardcore_ground(2 * many_draws[0] - 1, *many_draws[1:])
    assert 70 < (found[:, :, 1] > PARKED).sum(axis=1).max() <= OBSTACLE_EDGES
    stairs = np.zeros((5, 1, 200))
    stairs[2], stairs[3] = 0.5, 0.9
    assert (hardcore_ground(*stairs)[1][..., 1] > PARKED).sum() <= OBSTACLE_EDGES, "only stairs, with short grass"


def _rounded(a: Any, b: Any) -> frozenset[tuple[float, ...]]:
    return frozenset(tuple(round(float(value), 3) + 0.0 for value in end) for end in (a, b))


def test_hardcore_walkers_fall_as_the_original() -> None:
    """The gait does not know obstacles: it falls, or does not get on, in both; the means of the scores are alike."""
    ours = gait(many("BipedalWalkerHardcore-v3", 24), 0, 500)
    theirs = gait(gymnasium.make_vec("BipedalWalkerHardcore-v3", num_envs=12, vectorization_mode="sync"), 0, 500)
    print("hardcore gait:", ours.mean(), np.median(ours), theirs.mean(), np.median(theirs))
    assert ours.mean() == pytest.approx(theirs.mean(), abs=25)
    # On the flat start both lidars see the same, one by a query and one by the heights.
    seen = [many(f"BipedalWalker{kind}-v3", 3).reset(seed=1)[0] for kind in ("", "Hardcore")]
    assert seen[0][:, 14:].std() > 0.1 and seen[0][:, 14:] == pytest.approx(seen[1][:, 14:], abs=1e-3)
    # Control: on the plain ground it comes further.
    assert gait(many("BipedalWalker-v3", 12), 0, 500).mean() > ours.mean() + 40


def test_walkers_move_as_the_original() -> None:
    """In the air joints and hull move alike: the first steps of a fall with legs drawn in."""
    theirs, ours = original("BipedalWalker-v3"), many("BipedalWalker-v3", 1, autoreset_mode="Disabled")
    theirs.reset(seed=1)
    theirs.step(np.zeros(4))
    ours.reset(seed=1)
    largest = 0.0
    for _ in range(12):
        action = np.array([0.5, -1.0, 0.2, -1.0], dtype=np.float32)
        known, theirs_reward, _, _, _ = theirs.step(action)
        seen, rewards, _, _, _ = ours.step(action[None])
        largest = max(largest, float(np.abs(known[:14] - seen[0, :14])[[0, 2, 4, 6, 9, 11]].max()))
    print("walker", largest)
    assert largest < 0.15 and abs(rewards[0] - theirs_reward) < 0.3
    still = many("BipedalWalker-v3", 1)
    still.reset(seed=1)
    for _ in range(12):
        seen = still.step(np.zeros((1, 4)))[0]
    assert np.abs(known[:14] - seen[0, :14])[[0, 2, 4, 6, 9, 11]].max() > 0.15


def gait(envs: Any, seed: int, steps: int = 1600) -> np.ndarray:
    """Returns the scores of Gymnasium's heuristic for the walker."""
    from gymnasium.envs.box2d.bipedal_walker import BipedalWalkerHeuristics

    pilots: list[Any] = [BipedalWalkerHeuristics() for _ in range(envs.num_envs)]
    going = np.ones(envs.num_envs, dtype=bool)

    def pilot(seen: np.ndarray) -> np.ndarray:
        steps = [pilot.step_heuristic(row) if goes else np.zeros(4) for pilot, row, goes in zip(pilots, seen, going, strict=True)]
        return np.array(steps, dtype=np.float32)

    seen = envs.reset(seed=seed)[0]
    total, actions = np.zeros(envs.num_envs), np.zeros((envs.num_envs, 4), dtype=np.float32)
    for _ in range(steps):
        seen, rewards, terminated, truncated, _ = envs.step(actions)
        total += rewards * going
        going &= ~(terminated | truncated)
        if not going.any():
            break
        actions = pilot(seen)
    return total


def test_a_gait_of_the_original_walks_in_ours() -> None:
    """The gait falls or not by little, in the original too, so that many walks have to be compared."""
    ours = gait(many("BipedalWalker-v3", 20), 0)
    theirs = gait(gymnasium.make_vec("BipedalWalker-v3", num_envs=12, vectorization_mode="sync"), 0)
    print("gait:", ours.mean(), np.median(ours), theirs.mean(), np.median(theirs))
    assert ours.mean() == pytest.approx(theirs.mean(), abs=80) and ours.mean() > 50 and ours.max() > 250
    # Control: with few sweeps the legs are too weak for it.
    weak = gait(many("BipedalWalker-v3", 8, settings={"iterations": 4}), 0)
    assert weak.mean() < ours.mean() - 60


@pytest.mark.parametrize("action", [0, 1])
def test_carts_move_as_the_original(action: int) -> None:
    """The original's law with steps of a fortieth of its own is the limit that ours should be near."""
    ours, theirs = many("CartPole-v1", 1, autoreset_mode="Disabled", max_episode_steps=None), original("CartPole-v1")
    state = np.array([0.02, -0.1, 0.03, 0.2])
    ours.reset(seed=0)
    ours._start(np.array([0]), state[None])
    theirs.reset(seed=0)
    theirs.tau, theirs.kinematics_integrator = 0.02 / 40, "semi-implicit"
    theirs.state = state
    apart = []
    for _ in range(8):
        for _ in range(40):
            known = theirs.step(action)[0]
        ours._act(np.array([action]), np.array([True]))
        ours._advance()
        apart.append(np.abs(ours._observe(np.array([0]))[0] - known))
    print("cart", np.max(apart, axis=0))
    assert (np.max(apart, axis=0) < [0.01, 0.05, 0.02, 0.1]).all()
    assert np.abs(known - state).max() > 0.5, "a control: they move much further than they are apart"


def test_pendulums_swing_as_the_original() -> None:
    ours, theirs = many("Pendulum-v1", 1, autoreset_mode="Disabled"), original("Pendulum-v1")
    ours.reset(seed=0)
    theirs.reset(seed=0)
    state = np.array([2.5, 0.4])
    ours._start(np.array([0]), state[None])
    theirs.state, theirs.dt = state, 0.05 / 40
    apart, costs = [], []
    for step in range(20):
        torque = np.array([1.5 if step < 10 else -2.0], dtype=np.float32)
        cost = theirs.step(torque)[1]
        for _ in range(39):
            known = theirs.step(torque)[0]
        seen, rewards, _, _, _ = ours.step(torque[None])
        apart.append(np.abs(seen[0] - known))
        costs.append(abs(rewards[0] - cost))
    print("pendulum", np.max(apart, axis=0), max(costs))
    assert (np.max(apart, axis=0) < [0.05, 0.05, 0.15]).all() and max(costs) < 0.3
    assert costs[0] < 1e-5, "the first reward is that of the same state"


# ── the others


def test_tracks_are_closed_and_even() -> None:
    generator = np.random.default_rng(1)
    points = tracks(generator.uniform(50, 150, (20, 12)), generator.uniform(0, 6, 20))
    steps = np.linalg.norm(np.roll(points, -1, axis=1) - points, axis=-1)
    assert points.shape == (20, 256, 2) and (steps.std(axis=1) < 0.05 * steps.mean(axis=1)).all()
    assert (steps.mean(axis=1) > 2).all() and (steps.mean(axis=1) < 6).all()


def test_pictures_of_cars_are_as_the_original() -> None:
    """The original draws our tracks with its car where ours is: the same picture, but for edges and its score."""
    from gymnasium.envs.box2d import car_dynamics

    car: Any = car_dynamics.Car
    envs = many("TopDownCar-v0", 4, pixels=True, autoreset_mode="Disabled")
    seen = envs.reset(seed=5)[0]
    for step in range(40):
        seen = envs.step(np.tile([0.3 * math.sin(step / 9), 0.1, 0.0], (4, 1)))[0]
    theirs = original("CarRacing-v3")
    theirs.reset(seed=0)
    wrong = []
    for world in range(4):
        tiles, along = envs._tiles[world], envs._along[world]
        sides = np.stack([-along[:, 1], along[:, 0]], axis=-1) * ROAD
        quads = np.stack([tiles + sides, tiles - sides, np.roll(tiles - sides, -1, 0), np.roll(tiles + sides, -1, 0)], axis=1)
        theirs.road_poly = [(quad.tolist(), (102 + 2.55 * (place % 3),) * 3) for place, quad in enumerate(quads)]
        theirs.car.destroy()
        theirs.car = car(theirs.world, float(envs.batch.angles[world, 0]), *map(float, envs.batch.positions[world, 0]))
        theirs.car.hull.linearVelocity = envs.batch.velocities[world, 0].tolist()
        theirs.car.hull.angularVelocity = float(envs.batch.angular_velocities[world, 0])
        for wheel, spin in zip(theirs.car.wheels, envs._spins[world], strict=True):
            wheel.omega = float(spin)
        theirs.t = 1.0
        known = theirs._render("state_pixels").astype(int)
        apart = np.abs(known - seen[world]).max(axis=2) > 50
        # Kerbs are not compared, as the polygons of the original above have none; nor are its digits and steering.
        kerbs = (seen[world] == (255, 255, 255)).all(axis=2) | (seen[world] == (255, 0, 0)).all(axis=2)
        mirrored = np.abs(known[:84] - seen[world][:84, ::-1]).max(axis=2) > 50
        bars = np.delete(apart[84:], np.s_[40:66], axis=1)[:, 12:]
        wrong.append([(apart & ~kerbs)[:84].mean(), bars.mean(), mirrored.mean()])
    print("pictures", np.array(wrong).round(4).tolist())
    road, indicators, other = np.mean(wrong, axis=0)
    assert road < 0.02 and indicators < 0.01 and np.max(wrong, axis=0)[0] < 0.04
    # Control: the mirrored picture is another one.
    assert other > 0.1


def test_pictures_of_cars_are_of_their_worlds() -> None:
    """Worlds are as alone, states continue, and episodes that begin have the map of their new track."""
    envs = many("TopDownCar-v0", 3, pixels=True, max_episode_steps=12, autoreset_mode="SameStep")
    vectors = many("TopDownCar-v0", 3, max_episode_steps=12, autoreset_mode="SameStep")
    alone = one("TopDownCar-v0", pixels=True)
    check_env(alone.unwrapped, skip_render_check=True)
    assert envs.single_observation_space == original("CarRacing-v3").observation_space
    pictures, _ = envs.reset(seed=8)
    vectors.reset(seed=8)
    assert np.array_equal(alone.reset(seed=10)[0], pictures[2]) and not np.array_equal(pictures[1], pictures[2])
    actions = sampled(envs, 30)
    for action in actions[:15]:
        pictures, rewards, *_ = envs.step(action)
        assert np.array_equal(vectors.step(action)[1], rewards), "what is seen changes nothing"
    state = envs.state()
    known = [envs.step(action)[0] for action in actions[15:]]
    other = many("TopDownCar-v0", 3, pixels=True, max_episode_steps=12, autoreset_mode="SameStep")
    assert np.array_equal(other.set_state(state), pictures)
    assert all(np.array_equal(other.step(action)[0], seen) for action, seen in zip(actions[15:], known, strict=True))


def test_a_driver_gets_round() -> None:
    envs = many("TopDownCar-v0", 8, max_episode_steps=None)

    def driver(seen: np.ndarray) -> np.ndarray:
        ahead = seen[:, 11:].reshape(len(seen), 8, 2)[:, 3]
        steer = np.clip(2.0 * np.arctan2(ahead[:, 0], ahead[:, 1]), -1, 1)
        slow = seen[:, 1] > 25
        return np.stack([steer, np.where(slow, 0.0, 0.4), np.where(slow, 0.1, 0.0)], axis=-1)

    total = scores(envs, driver, 3000)
    print("driver", total)
    assert np.median(total) > 700
    # Control: with no steering it leaves the road, and with it the tiles.
    envs.reset(seed=0)
    straight = np.tile([[0.0, 0.4, 0.0]], (8, 1))
    assert sum(envs.step(straight)[1] for _ in range(400)).max() < 500
    assert ROAD == pytest.approx(6.67, abs=0.01)


def test_stacks_are_as_high_as_they_stand() -> None:
    envs = many("Stacking-v0", 4, autoreset_mode="Disabled")
    envs.reset(seed=2)
    total = np.zeros(4)
    for turn in range(8):
        seen, rewards, ended, _, _ = envs.step(np.zeros((4, 2)))
        total += rewards
        if ended.any():
            break
        assert seen[:, -1] == pytest.approx(total, abs=1e-5)
    print("stack", turn, total)
    assert total.max() > 1.0
    # Control: side by side they make no stack, and beyond the table they fall.
    envs.reset(seed=2)
    assert envs.step(np.full((4, 2), [1.0, 0.0]))[1].max() < 1.0
    envs.reset(seed=2)
    fell = [envs.step(np.full((4, 2), [1.0, 0.2]))]
    assert fell[0][1].shape == (4,)


def test_wrappers_of_gymnasium_take_them() -> None:
    for mode in ("NextStep", "SameStep"):
        envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(many("CartPole-v1", 4, autoreset_mode=mode))
        envs.reset(seed=1)
        lengths: list[int] = []
        for _ in range(40):
            infos = envs.step(np.ones(4, dtype=np.int64))[4]
            if "episode" in infos:
                lengths += infos["episode"]["l"][infos["_episode"]].tolist()
        assert len(lengths) >= 12 and all(5 < length < 20 for length in lengths)


def test_a_pilot_that_learned_in_ours_lands_the_original() -> None:
    program = Path(__file__).parents[1] / "examples/learn_to_land.py"
    sizes = ("--generations", "12", "--pilots", "60", "--episodes", "2", "--trials", "30")
    done = subprocess.run([sys.executable, str(program), *sizes], capture_output=True, text=True, timeout=600)
    found = re.findall(r"flies (\S+): mean (-?\d+), median (-?\d+)", done.stdout)
    assert [name for name, _, _ in found] == ["drystone/LunarLander-v3", "LunarLander-v3"], done.stderr
    assert all(int(median) > 200 for _, _, median in found), done.stdout
    # Control: in the first generation most pilots crash.
    first = re.search(r"generation 1: best -?\d+, mean (-\d+)", done.stdout)
    assert first is not None and int(first[1]) < -100


def test_signatures_name_all_options() -> None:
    """The constructors share their options; help shows them with their defaults, and others are refused."""
    common = ["max_episode_steps", "autoreset_mode", "render_mode", "backend", "threads", "settings"]
    for name in (*NAMES, "Kinetix-v0"):
        spec = gymnasium.spec(f"drystone/{name}")
        kind = load_env_creator(str(spec.vector_entry_point))
        found = inspect.signature(kind).parameters
        assert list(found)[0] == "num_envs" and list(found)[-6:] == common, name
        assert found["max_episode_steps"].default == spec.max_episode_steps and found["backend"].default == "cpu"
        assert f"max_episode_steps: 'int | None' = {spec.max_episode_steps}" in pydoc.plain(pydoc.render_doc(kind))
    with pytest.raises(TypeError, match="boxes"):
        many("LunarLander-v3", 1, boxes=3)
    # Those of an own class that names no options stay as they are.
    assert list(inspect.signature(drystone.envs.WorldVectorEnv).parameters)[-6:] == common

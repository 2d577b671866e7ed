"""Tests of the state of environments: what continues from it is what would have come, to the same bits."""

from __future__ import annotations

import importlib.util
from typing import Any

import gymnasium
import numpy as np
import pytest

import drystone as ds
from drystone.envs import CartPoleVector, VectorState, level_names

CASES: dict[str, dict[str, Any]] = {
    "CartPole-v1": {},
    "Pendulum-v1": {"max_episode_steps": 30},
    "LunarLander-v3": {"continuous": True, "enable_wind": True},
    "BipedalWalker-v3": {},
    "BipedalWalkerHardcore-v3": {"max_episode_steps": 50},
    "TopDownCar-v0": {"max_episode_steps": 30},
    "Stacking-v0": {},
}
SCRATCH = {"_everyone", "_impulses", "_twists", "_speeds", "_strengths", "_actions", "_constants", "_roles"}
"""Arrays that each step writes before it reads them, or that never change."""


def made(name: str, count: int = 5, **options: Any) -> Any:
    return gymnasium.make_vec(f"drystone/{name}", num_envs=count, threads=1, **{**CASES.get(name, {}), **options})


def sampled(envs: Any, count: int) -> list[Any]:
    envs.action_space.seed(7)
    return [envs.action_space.sample() for _ in range(count)]


def played(envs: Any, actions: list[Any]) -> list[np.ndarray]:
    """Returns all that is seen."""
    found: list[np.ndarray] = []
    for action in actions:
        *parts, infos = envs.step(action)
        found += [np.array(part) for part in parts] + [np.array(infos[key]) for key in ("final_obs",) if key in infos]
    return found


def same(a: list[np.ndarray], b: list[np.ndarray]) -> bool:
    return len(a) == len(b) and all(x.dtype == y.dtype and x.tobytes() == y.tobytes() for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("name", CASES)
def test_a_state_continues_to_the_same_bits(name: str, mode: str) -> None:
    envs = made(name, autoreset_mode=mode)
    actions = sampled(envs, {"Stacking-v0": 24, "BipedalWalkerHardcore-v3": 80}.get(name, 160))
    middle = len(actions) // 2
    envs.reset(seed=3)
    played(envs, actions[:middle])
    state = envs.state()
    expected = played(envs, actions[middle:])
    ended = [expected[place] for place in range(2, len(expected)) if expected[place].dtype == np.bool_]
    assert any(flags.any() for flags in ended), "an episode is to end and begin after the state was taken"
    # In another environment of another history, through bytes, and back in the first one.
    other = made(name, autoreset_mode=mode)
    other.reset(seed=99)
    played(other, actions[: middle // 3])
    for target in (other, envs):
        seen = target.set_state(VectorState.from_bytes(state.to_bytes()))
        assert seen.tobytes() == target._observe(target._everyone).tobytes() and target.state() == state
        assert same(played(target, actions[middle:]), expected)
    # One that was never reset takes it too. Control: the same without the state.
    fresh = made(name, autoreset_mode=mode)
    fresh.set_state(state)
    assert same(played(fresh, actions[middle:]), expected)
    fresh.reset(seed=4)
    assert not same(played(fresh, actions[middle:]), expected)


def test_a_mixture_of_levels_continues_to_the_same_bits() -> None:
    if importlib.util.find_spec("kinetix") is None:
        pytest.skip("kinetix-env is not installed")
    envs = made("Kinetix-v0", 6, levels=level_names()[::30])
    actions = sampled(envs, 60)
    envs.reset(seed=1)
    played(envs, actions[:30])
    state = envs.state()
    expected = played(envs, actions[30:])
    envs.reset(seed=2)
    envs.set_state(state)
    assert same(played(envs, actions[30:]), expected)


@pytest.mark.parametrize("name", CASES)
def test_each_array_is_kept_or_scratch(name: str) -> None:
    """With a number of worlds that no other axis has, an array with that axis belongs to the worlds."""
    envs = made(name, 37)
    envs.reset(seed=1)
    of_worlds = {key for key, value in vars(envs).items() if isinstance(value, np.ndarray) and value.shape[:1] == (37,)}
    assert of_worlds == {"_elapsed", "_ended", "_starts", *type(envs)._kept} | (of_worlds & SCRATCH)


def test_what_is_not_kept_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control: without one of the arrays the landers score otherwise."""
    envs = made("LunarLander-v3")
    actions = sampled(envs, 30)
    monkeypatch.setattr(type(envs), "_kept", tuple(name for name in type(envs)._kept if name != "_shaping"))
    envs.reset(seed=3)
    state = envs.state()
    expected = played(envs, actions)
    envs.reset(seed=4)
    envs.set_state(state)
    assert not same(played(envs, actions), expected)


def test_states_are_cut_and_joined() -> None:
    """A world continues from its part of a state, alone or among others."""
    envs = made("LunarLander-v3", 5)
    actions = sampled(envs, 60)
    envs.reset(seed=3)
    played(envs, actions[:20])
    state = envs.state()
    expected = [envs.step(action)[0][2:4].copy() for action in actions[20:]]
    pair = made("LunarLander-v3", 2)
    pair.set_state(state[2:4])
    assert same([pair.step(action[2:4])[0] for action in actions[20:]], expected)
    assert VectorState.join([state[:2], state[2:]]) == state and VectorState.join([state[2:], state[:2]]) != state
    with pytest.raises(ds.SnapshotError, match="one environment"):
        walkers = made("BipedalWalker-v3", 1)
        walkers.reset(seed=1)
        VectorState.join([state, walkers.state()])


def test_a_state_keeps_the_options_of_the_reset() -> None:
    """Episodes that begin later begin within the same bounds."""

    class Own(CartPoleVector):
        """Environment that names its arrays without those of the base."""

        _kept = ()

    for envs in (made("CartPole-v1", 4, autoreset_mode="SameStep"), Own(4, autoreset_mode="SameStep")):
        envs.reset(seed=3, options={"low": 0.1, "high": 0.12})
        state = VectorState.from_bytes(envs.state().to_bytes())
        actions = sampled(envs, 40)
        expected = played(envs, actions)
        envs.reset(seed=4)
        assert not same(played(envs, actions), expected)
        envs.set_state(state)
        assert same(played(envs, actions), expected)


def test_states_of_others_are_refused() -> None:
    envs = made("LunarLander-v3", 2)
    with pytest.raises(gymnasium.error.ResetNeeded, match="before state"):
        envs.state()
    envs.reset(seed=1)
    state = envs.state()
    data = state.to_bytes()
    walkers = made("BipedalWalker-v3", 2)
    walkers.reset(seed=1)
    before = walkers.state()
    for target, given, message in (
        (walkers, state, "is of 2 worlds of LunarLanderVector; expected a state of 2 worlds of BipedalWalkerVector"),
        (made("LunarLander-v3", 3), state, "of 2 worlds"),
        (walkers, "state", "is str"),
        (made("LunarLander-v3", 2, settings={"substeps": 2}), state, "does not fit"),
    ):
        with pytest.raises(ds.SnapshotError, match=message):
            target.set_state(given)
    # A state that does not fit changes nothing.
    broken = walkers.state()
    played(walkers, sampled(walkers, 5))
    before = walkers.state()
    cut = VectorState(broken.environment, (broken.snapshots[0], broken.snapshots[1][:-3]), broken.arrays)
    with pytest.raises(ds.SnapshotError, match="does not fit"):
        walkers.set_state(cut)
    assert walkers.state() == before and before != broken
    for wrong in (b"", data[:-40], data[: len(data) // 2], bytes(200)):
        with pytest.raises(ds.SnapshotError):
            VectorState.from_bytes(wrong)


def test_an_environment_of_ones_own_keeps_its_arrays() -> None:
    """A class that names its arrays continues as the others."""

    class Counting(CartPoleVector):
        _kept = ("_seen",)

        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self._seen = np.zeros(self.num_envs)

        def _judge(self, rows: Any, actions: Any) -> Any:
            rewards, ended = super()._judge(rows, actions)
            self._seen[rows] += 1
            return rewards * self._seen[rows], ended

    envs = Counting(3)
    envs.reset(seed=1)
    played(envs, sampled(envs, 4))
    state = envs.state()
    rewards = envs.step(np.zeros(3, dtype=int))[1]
    envs.set_state(state)
    assert (envs.step(np.zeros(3, dtype=int))[1] == rewards).all() and rewards[0] > 4


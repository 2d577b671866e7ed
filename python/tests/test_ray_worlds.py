"""Tests of worlds on a Ray cluster of two nodes, whose actors are killed: the results are those of one local batch, to the
same bits. Skipped where Ray is not installed; .ci/python installs it."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

if importlib.util.find_spec("ray") is None:
    pytest.skip("Ray is not installed", allow_module_level=True)

import ray

import drystone as ds
from drystone.envs import CartPoleVector, VectorState, level_names
from drystone.ray import RayVectorEnv, ray_sweep

def local(name: str, count: int, **options: Any) -> Any:
    return gymnasium.make_vec(f"drystone/{name}", num_envs=count, threads=1, **options)


def spread(name: str, count: int, **options: Any) -> RayVectorEnv:
    return RayVectorEnv(f"drystone/{name}", count, **{"num_cpus": 0.5, "timeout": 120, **options})


def sampled(envs: Any, count: int) -> list[Any]:
    envs.action_space.seed(7)
    return [envs.action_space.sample() for _ in range(count)]


def played(envs: Any, actions: list[Any], halfway: Any = None) -> list[np.ndarray]:
    """Returns all that is seen, also after a reset of some worlds in the middle."""
    found: list[np.ndarray] = []
    for number, action in enumerate(actions):
        if number == len(actions) // 2:
            if halfway is not None:
                halfway()
            mask = np.arange(envs.num_envs) < 2
            found.append(envs.reset(options={"reset_mask": mask})[0])
        *parts, infos = envs.step(action)
        found += [np.array(part) for part in parts]
        found += [np.array(infos[key]) for key in ("final_obs", "_final_obs") if key in infos]
    return found


def same(a: list[np.ndarray], b: list[np.ndarray]) -> bool:
    return len(a) == len(b) and all(x.dtype == y.dtype and x.tobytes() == y.tobytes() for x, y in zip(a, b, strict=True))


def places(envs: RayVectorEnv) -> list[tuple[int, str]]:
    """Returns process and node of each actor."""
    return envs._ask([("place", None)] * len(envs.actors))


def wait_for_death(pid: int) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return
        except OSError:
            return
        time.sleep(0.01)
    raise AssertionError("it lives")


def test_actors_play_as_one_environment(nodes: Any) -> None:
    """For any number of actors, with episodes that end and begin, and resets of some worlds."""
    for name, mode, count in (("LunarLander-v3", "SameStep", 3), ("CartPole-v1", "NextStep", 2)):
        alone, many = local(name, 7, autoreset_mode=mode), spread(name, 7, actors=count, autoreset_mode=mode)
        actions = sampled(alone, 110)
        assert len({node for _, node in places(many)}) == 2, "actors on each node"
        assert many.observation_space == alone.observation_space and many.action_space == alone.action_space
        assert many.metadata == alone.metadata
        for seed in (5, [1, None, 3, None, 5, 6, 7]):
            first, again = alone.reset(seed=seed)[0], many.reset(seed=seed)[0]
            assert first.tobytes() == again.tobytes()
            expected = played(alone, actions)
            assert any(part.dtype == np.bool_ and part.any() for part in expected)
            assert same(played(many, actions), expected) and many.restarts == 0
            assert many.state() == alone.state()
        # Control: another seed is another play.
        many.reset(seed=6)
        assert not same(played(many, actions), expected)
        if name == "CartPole-v1":
            # Options hold for the episodes that begin later too.
            bounds = {"low": 0.1, "high": 0.12}
            first, again = alone.reset(seed=5, options=bounds)[0], many.reset(seed=5, options=bounds)[0]
            assert first.tobytes() == again.tobytes() and (first > 0.09).all()
            assert same(played(many, actions), played(alone, actions)) and many.state() == alone.state()
        many.close()


def test_a_killed_actor_changes_no_bit(nodes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = local("LunarLander-v3", 6, autoreset_mode="SameStep")
    many = spread("LunarLander-v3", 6, actors=2, autoreset_mode="SameStep", checkpoint_every=25)
    actions = sampled(alone, 120)

    def kill(index: int = 1) -> None:
        pid = places(many)[index][0]
        os.kill(pid, signal.SIGKILL)
        wait_for_death(pid)

    alone.reset(seed=3)
    expected = played(alone, actions)
    # In the middle of a stretch after a checkpoint: the process, then the actor by Ray.
    for round, end in enumerate((kill, lambda: ray.kill(many.actors[0], no_restart=True))):
        many.reset(seed=3)
        assert same(played(many, actions, end), expected) and many.restarts == round + 1
    assert many.state() == alone.state()
    # Before the first checkpoint, and twice.
    many.reset(seed=3)

    def kill_both() -> None:
        kill(0)
        kill(1)

    parts = played(many, actions[:10], kill_both)
    alone.reset(seed=3)
    assert same(parts, played(alone, actions[:10])) and many.restarts == 4
    # Control: without the actions since the checkpoint the result is another one.
    actors: Any = many._actors
    call = actors.call

    def forgetful(index: int, method: str, *arguments: Any) -> Any:
        if method == "recover":
            checkpoint, log, *others = arguments
            arguments = (checkpoint, log[:1] if checkpoint is None else [], *others)
        return call(index, method, *arguments)

    monkeypatch.setattr(actors, "call", forgetful)
    many.reset(seed=3)
    assert not same(played(many, actions, kill), expected)
    many.close()
    with pytest.raises(ds.ClusterError, match="closed"):
        many.step(actions[0])


def test_worlds_survive_the_loss_of_a_node(nodes: Any) -> None:
    lost = nodes.add_node(num_cpus=1, resources={"here": 1}, object_store_memory=100 << 20)
    spare = None
    alone = local("BipedalWalker-v3", 4)
    many = spread("BipedalWalker-v3", 4, actors=2, resources={"here": 0.5}, checkpoint_every=8)
    actions = sampled(alone, 40)

    def lose() -> None:
        nonlocal spare
        nodes.remove_node(lost, allow_graceful=False)
        spare = nodes.add_node(num_cpus=1, resources={"here": 1}, object_store_memory=100 << 20)

    try:
        for envs in (alone, many):
            envs.reset(seed=3)
        assert same(played(many, actions, lose), played(alone, actions)) and many.restarts == 2
    finally:
        many.close()
        for node in (lost, spare):
            if node is not None and node in nodes.list_all_nodes():
                nodes.remove_node(node)


def test_states_move_between_clusters_and_machines(nodes: Any) -> None:
    """A state fits any number of actors, and a local environment."""
    alone, many = local("TopDownCar-v0", 5, max_episode_steps=40), spread("TopDownCar-v0", 5, actors=3, max_episode_steps=40)
    actions = sampled(alone, 60)
    alone.reset(seed=1)
    for action in actions[:30]:
        alone.step(action)
    state = VectorState.from_bytes(alone.state().to_bytes())
    expected = played(alone, actions[30:])
    seen = many.set_state(state)
    assert many.state() == state and seen.shape == (5, 27)
    os.kill(places(many)[2][0], signal.SIGKILL)
    assert same(played(many, actions[30:]), expected) and many.restarts == 1
    alone.set_state(many.state())
    assert same([many.step(actions[0])[0]], [alone.step(actions[0])[0]])
    # A call that fails changes nothing.
    before = many.state()
    with pytest.raises(ds.SnapshotError, match="of 3 worlds"):
        many.set_state(state[:3])
    other = local("CartPole-v1", 5)
    other.reset(seed=1)
    with pytest.raises(ds.SnapshotError, match="CartPoleVector"):
        many.set_state(other.state())
    assert many.state() == before
    many.close()


def test_levels_and_frames_are_in_order(nodes: Any) -> None:
    if importlib.util.find_spec("kinetix") is None:
        pytest.skip("kinetix-env is not installed")
    options = {"levels": level_names()[::25], "render_mode": "rgb_array"}
    alone, many = local("Kinetix-v0", 5, **options), spread("Kinetix-v0", 5, actors=2, **options)
    actions = sampled(alone, 20)
    assert many.reset(seed=2)[0].tobytes() == alone.reset(seed=2)[0].tobytes()
    assert same(played(many, actions), played(alone, actions))
    for mine, known in zip(many.render([4, 0, 3]) or (), alone.render([4, 0, 3]), strict=True):
        assert np.array_equal(mine, known)
    many.close()


class Fragile(CartPoleVector):
    """Carts that fail, or kill their process, once in one of two actors; or kill it each time."""

    def __init__(self, num_envs: int, *, flag: str, **options: Any) -> None:
        super().__init__(num_envs, **options)
        self._flag = flag

    def _act(self, actions: Any, active: Any) -> None:
        if self._elapsed.max() == 5 and self.num_envs == 2 and not os.path.exists(self._flag):
            Path(self._flag).touch()
            if self._flag.endswith("dies"):
                os.kill(os.getpid(), signal.SIGKILL)
            raise ds.StepError("too many contacts")
        if self._flag == "death":
            os.kill(os.getpid(), signal.SIGKILL)
        super()._act(actions, active)


def test_an_error_in_one_actor_leaves_none_ahead(nodes: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"num_cpus": 0.5, "actors": 2, "timeout": 120}
    many, alone = RayVectorEnv(Fragile, 5, flag=str(tmp_path / "once"), **options), local("CartPole-v1", 5)
    actions = sampled(alone, 8)
    for envs in (alone, many):
        envs.reset(seed=2)
    expected = [alone.step(action)[0] for action in actions]
    assert same([many.step(action)[0] for action in actions[:5]], expected[:5])
    with pytest.raises(ds.StepError, match="too many contacts"):
        many.step(actions[5])
    # The other actor has taken the step, and is put back.
    assert same([many.step(action)[0] for action in actions[5:]], expected[5:]) and many.restarts == 0
    many.close()
    # An actor that dies within a step, of which the other one has the result.
    many = RayVectorEnv(Fragile, 5, flag=str(tmp_path / "dies"), **options)
    many.reset(seed=2)
    assert same([many.step(action)[0] for action in actions], expected) and many.restarts == 1
    many.close()
    monkeypatch.setattr("drystone.ray.actors.MAX_DEATHS", 2)
    hopeless = RayVectorEnv(Fragile, 1, flag="death", **options)
    hopeless.reset(seed=1)
    with pytest.raises(ds.ClusterError, match="actor 0 of 1 was lost 2 times"):
        hopeless.step([0])
    hopeless.close()


def test_wrong_arguments_are_refused_before_actors_start(nodes: Any) -> None:
    cases: tuple[tuple[tuple[Any, ...], dict[str, Any], type[Exception], str], ...] = (
        (("drystone/LunarLander-v3", 4), {"gravity": 3}, ds.ArgumentError, "gravity: is 3"),
        (("drystone/LunarLander-v3", 0), {}, ds.ArgumentError, "num_envs: is 0"),
        (("drystone/LunarLander-v3", 4), {"actors": 0}, ds.ArgumentError, "actors: is 0"),
        (("drystone/LunarLander-v3", 4), {"autoreset_mode": "later"}, ds.ArgumentError, "autoreset_mode"),
        (("drystone/LunarLander-v3", 4), {"num_cpus": -1}, ds.ArgumentError, "num_cpus"),
        (("drystone/LunarLander-v3", 4), {"boxes": 4}, TypeError, "boxes"),
        (("CartPole-v1", 4), {}, ds.ArgumentError, "environment: is 'CartPole-v1'"),
        ((dict, 4), {}, ds.ArgumentError, "environment"),
    )
    for arguments, options, error, message in cases:
        with pytest.raises(error, match=message):
            RayVectorEnv(*arguments, **options)
    with pytest.raises(ds.ClusterError, match=r"has not answered for 1 s; each needs \{'CPU': 1.0, 'moon': 1\}"):
        spread("CartPole-v1", 2, actors=1, num_cpus=1.0, resources={"moon": 1}, timeout=1)
    envs = spread("CartPole-v1", 4, actors=2, autoreset_mode="Disabled")
    with pytest.raises(gymnasium.error.ResetNeeded, match="before step"):
        envs.step([0] * 4)
    with pytest.raises(gymnasium.error.ResetNeeded, match="before state"):
        envs.state()
    envs.reset(seed=1)
    with pytest.raises(ValueError, match=r"actions\[3\]: is 2"):
        envs.step([0, 1, 0, 2])
    with pytest.raises(ValueError, match=r"reset_mask'\]: is int64"):
        envs.reset(options={"reset_mask": np.array([1, 0, 0, 0])})
    before = envs.state()
    calls: tuple[tuple[dict[str, Any], str], ...] = (
        ({"seed": [1, 2]}, "seed: has length 2"),
        ({"seed": 1.5}, "seed: is 1.5"),
        ({"seed": [1, 2, -3, 4]}, r"seed\[2\]: is -3"),
        ({"options": {"reset_masks": None}}, r"options\['reset_masks'\]: is no option of reset"),
        ({"options": {"low": 1}}, r"options\['low'\]: is 1.0; expected a number of at most 0.05"),
    )
    for call, message in calls:
        with pytest.raises(ds.ArgumentError, match=message):
            envs.reset(**call)
    assert envs.state() == before
    while not envs._ended.any():
        envs.step([1, 0, 1, 0])
    with pytest.raises(gymnasium.error.ResetNeeded, match="the episodes of worlds"):
        envs.step([1, 0, 1, 0])
    envs.close()


# ── sweeps


def slope(friction: float, boxes: int = 3) -> ds.Scene:
    """Returns boxes that slide down a slope of 1 in 2."""
    scene = ds.Scene("slope", gravity=(4.472, -8.944))
    scene.add(ds.Body.fixed().half_box(50, 1, friction=friction))
    for box in range(boxes):
        scene.add(ds.Body.dynamic(2.0 * box, 1.5).half_box(0.5, 0.5, friction=friction))
    return scene


def test_a_sweep_is_one_array(nodes: Any) -> None:
    frictions = np.linspace(0, 0.6, 10)
    scenes = [slope(float(friction)) for friction in frictions]
    batch = ds.Batch(scenes, backend="cpu", threads=1)
    expected = []
    for _ in range(4):
        batch.step(15)
        expected.append(batch.positions.copy())
    options: dict[str, Any] = {"num_cpus": 0.5, "actors": 2, "timeout": 120}
    found = ray_sweep(scenes, 60, every=15, batch_size=3, checkpoint_every=30, **options)
    assert found.shape == (10, 4, 4, 2) and found.tobytes() == np.stack(expected, axis=1).tobytes()
    last = ray_sweep(scenes, 60, lambda batch: batch.hashes(), batch_size=4, **options)
    assert last.dtype == np.uint64 and np.array_equal(last, batch.hashes()) and len(set(last)) == 10
    assert (np.diff(found[:, -1, 1, 0]) <= 0).all(), "more friction, less way"
    # Worlds of different sizes.
    mixed = [slope(0.1, boxes) for boxes in (1, 5, 2)]
    whole = ds.Batch(mixed, backend="cpu", threads=1)
    whole.step(20)
    apart = ray_sweep(mixed, 20, batch_size=1, **options)
    assert apart.shape == (3, 6, 2) and apart.tobytes() == whole.positions.tobytes()
    awake = ray_sweep(mixed, 20, "awake", batch_size=1, **options)
    assert awake.dtype == np.bool_ and np.array_equal(awake, whole.awake)


class KillsOnce:
    """Measures hashes, and kills the actor at the third sample of the batch that has a certain scene."""

    def __init__(self, flag: Path, victim: int) -> None:
        self.flag, self.victim = flag, victim

    def __call__(self, batch: ds.Batch) -> np.ndarray:
        hashes = batch.hashes()
        if batch.steps[0] == 45 and self.victim in batch.body_counts and not self.flag.exists():
            self.flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return hashes


def test_a_sweep_loses_nothing_when_an_actor_is_killed(nodes: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenes = [slope(0.2, boxes) for boxes in range(1, 9)]
    batch = ds.Batch(scenes, backend="cpu", threads=1)
    expected = []
    for _ in range(5):
        batch.step(15)
        expected.append(batch.hashes())
    options: dict[str, Any] = {"num_cpus": 0.5, "actors": 2, "timeout": 120, "batch_size": 2, "every": 15}
    found = ray_sweep(scenes, 75, KillsOnce(tmp_path / "once", 5), checkpoint_every=30, **options)
    assert (tmp_path / "once").exists() and np.array_equal(found, np.stack(expected, axis=1))
    # Control: an actor that begins again without the checkpoint has other results.
    from drystone.ray import sweep

    begin = sweep._Runner.begin
    monkeypatch.setattr(sweep._Runner, "begin", lambda self, scenes, order, checkpoint, *how: begin(self, scenes, order, None, *how))
    wrong = ray_sweep(scenes, 75, KillsOnce(tmp_path / "twice", 5), checkpoint_every=30, **options)
    assert (tmp_path / "twice").exists() and not np.array_equal(wrong, found)
    assert np.array_equal(wrong[0], found[0]), "that of the other batches is right"


def test_wrong_sweeps_are_refused(nodes: Any) -> None:
    scenes = [slope(0.1)] * 2
    options: dict[str, Any] = {"num_cpus": 0.5, "actors": 1, "timeout": 120}
    cases: tuple[tuple[Any, int, dict[str, Any], str], ...] = (
        (scenes, 10, {"every": 3}, "every: is 3; expected a divisor of 10 steps"),
        (scenes, 10, {"measure": "poses"}, "measure: is 'poses'"),
        (scenes, 0, {}, "steps: is 0"),
        ([], 10, {}, "scenes: has length 0"),
        ("bridge", 10, {}, "scenes: is str"),
        ([scenes[0], {"bodies": [{"type": "soft"}]}], 10, {}, r"scenes\[1\]"),
        (scenes, 10, {"measure": lambda batch: batch.positions[0]}, r"measure: returned float32 \(4, 2\); expected an array \(2, …\)"),
        ([slope(0, 1), slope(0, 2)], 5, {"measure": unequal, "batch_size": 1}, "one shape for all batches"),
    )
    for given, steps, more, message in cases:
        with pytest.raises(ds.ArgumentError, match=message):
            ray_sweep(given, steps, **{**options, **more})


def test_the_readme_runs_on_ray(nodes: Any, capsys: pytest.CaptureFixture[str]) -> None:
    guide = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```py\n(.*?)```", guide, re.DOTALL)
    names: dict[str, Any] = {}
    exec(block, names)  # noqa: S102
    # Ray prints there too, such as late news of a node that another test has killed.
    assert "(12, 2)" in capsys.readouterr().out.splitlines() and (np.diff(names["ways"], axis=0) <= 0).all()


def unequal(batch: ds.Batch) -> np.ndarray:
    """Returns whole numbers, which cannot be NaN, as many as there are bodies."""
    return np.ones((1, int(batch.body_counts[0])), dtype=int)

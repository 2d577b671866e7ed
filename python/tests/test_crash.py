"""Tests of clients whose service is killed, and restarted on the same store."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from between import KINDS, Between, client
from drystone.client import Bodies, Problem, Service, StreamEnded, Unreachable
from service import Process, process, steps_for

LARGE = "large_pyramid:base=40"


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.01)


def later(seconds: float, what: Callable[[], None]) -> threading.Thread:
    def run() -> None:
        time.sleep(seconds)
        what()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


@pytest.mark.parametrize("kind", KINDS)
def test_killed_in_the_middle_of_steps(tmp_path: Path, kind: str) -> None:
    with process(tmp_path / "store", {"DRYSTONE_CHECKPOINT_SECONDS": "0.2"}) as service:
        with Between(service.url) as between, client(kind, between.url) as user, Service(service.url) as other:
            world, twin = user.create(LARGE), user.create(LARGE)
            steps = steps_for(3.0, user.create(LARGE))
            watched = other.world(world.id)
            killed: list[int] = []

            def murder() -> None:
                wait_for(lambda: watched.status()["step"] > 100)
                service.kill()
                killed.append(1)
                time.sleep(0.5)
                service.start()

            murderer = later(0.0, murder)
            stepped = world.step(steps)
            murderer.join()
            assert killed and (stepped["steps"], stepped["step"]) == (steps, steps)
            keys = between.keys(f"{world.id}/step")
            assert len(keys) > 1 and len(set(keys)) == 1
            twin.step(steps)
            assert world.status()["step"] == steps
            assert world.metrics()["hash"] == twin.metrics()["hash"]
            # Negative control: with another key, as after an error without a key, it steps twice.
            world.step(5)
            assert world.status()["step"] == steps + 5


@pytest.mark.parametrize("kind", KINDS)
def test_killed_again_and_again(tmp_path: Path, kind: str) -> None:
    rounds = int(os.environ.get("SERVICE_ROUNDS", "4"))
    dice = random.Random(5)
    with process(tmp_path / "store", {"DRYSTONE_CHECKPOINT_SECONDS": "0.01"}) as service:
        with process(tmp_path / "calm") as calm, Service(calm.url) as quiet, client(kind, service.url) as user:
            world, twin = user.create("large_pyramid:base=6"), quiet.create("large_pyramid:base=6")
            done = threading.Event()
            kills = []

            def murder() -> None:
                for _ in range(rounds):
                    time.sleep(dice.uniform(0.05, 0.3))
                    service.kill()
                    kills.append(1)
                    time.sleep(dice.uniform(0.0, 0.3))
                    service.start()
                done.set()

            murderer = threading.Thread(target=murder)
            murderer.start()
            count = 0
            while not done.is_set() or count < 20:
                count += 1
                steps, push = dice.randint(1, 20), [dice.uniform(-5, 5), dice.uniform(0, 9)]
                ball: Any = {"position": [dice.uniform(-3, 3), 15], "shapes": [{"circle": {"radius": 0.3}}]}
                for one in (world, twin):
                    one.impulse("3.0", push)
                    if count % 5 == 0:
                        one.spawn([ball])
                    one.step(steps)
            murderer.join()
            assert len(kills) == rounds
            assert world.status()["step"] == twin.status()["step"]
            assert world.metrics()["hash"] == twin.metrics()["hash"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ["SIGTERM", "SIGKILL"])
def test_a_stream_goes_on_over_a_restart(tmp_path: Path, kind: str, how: str) -> None:
    with process(tmp_path / "store", {"DRYSTONE_CHECKPOINT_SECONDS": "0.2"}) as service, client(kind, service.url) as user:
        world = user.create("large_pyramid:base=8")
        world.play(4)
        restarted: list[threading.Thread] = []

        def restart() -> None:
            if how == "SIGTERM":
                service.stop()
            else:
                service.kill()
            time.sleep(1.5)
            service.start()

        gaps = []
        last: Bodies | None = None
        after = 0
        for bodies in world.stream(rate=100):
            last = bodies
            if bodies.gap is not None:
                gaps.append(bodies.gap)
            if bodies.step > 50 and not restarted:
                restarted.append(later(0.0, restart))
            after += bodies.reconnects > 0
            if after > 20:
                break
        restarted[0].join()
        assert last is not None and last.reconnects == 1 and len(gaps) == 1 and last.gap is None
        (gap,) = gaps
        assert gap.seconds >= 0.4
        assert gap.reason == "the service is stopping" if how == "SIGTERM" else "interrupted" in gap.reason
        # Bodies decoded from frames before and after the gap equal the state.
        world.pause()
        for bodies in world.stream():
            state = world.state()
            assert bodies.step == state.step
            assert np.array_equal(bodies.generation[bodies.present], state.generation)
            assert np.abs(bodies.position[bodies.present] - state.position).max() < 1e-6
            break


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_that_is_cut_says_what_was_left_out(tmp_path: Path, kind: str) -> None:
    with process(tmp_path / "store") as service, Between(service.url) as between, client(kind, between.url) as user:
        world = user.create("large_pyramid:base=8")
        world.play(4)
        # In the response to the handshake, in the first frame, and later.
        between.cut_streams_after.extend([20, 500, 6000])
        steps, gaps = [], []
        for bodies in world.stream(rate=60):
            steps.append(bodies.step)
            if bodies.gap is not None:
                assert bodies.gap.steps == bodies.step - steps[-2]
                gaps.append(bodies.gap)
            if gaps and len(steps) > 40:
                break
        assert len(gaps) == bodies.reconnects == 1 and steps == sorted(steps)
        assert len([seen for seen in between.seen if "/stream" in seen.path]) == 4
        # The deletion of the world ends its stream, even if it happened during a disconnection.
        world.pause()
        frames = iter(world.stream())
        next(frames)
        world.delete()
        assert list(frames) == []
        # A world that never existed is an error.
        with pytest.raises(Problem) as caught:
            next(iter(world.stream()))
        assert caught.value.status == 404


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_ends_when_patience_does(tmp_path: Path, kind: str) -> None:
    service = Process(tmp_path / "store")
    with client(kind, service.url, patience=3.0) as user:
        world = user.create("large_pyramid:base=4")
        world.step(3)
        frames = iter(world.stream())
        assert next(frames).step == 3
        service.kill()
        start = time.monotonic()
        with pytest.raises(StreamEnded) as caught:
            next(frames)
        assert caught.value.step == 3 and caught.value.attempts > 2
        assert 0.5 < time.monotonic() - start < 60
        with pytest.raises(Unreachable):
            next(iter(world.stream()))

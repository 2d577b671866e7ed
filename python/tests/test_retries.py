"""Tests of retries: failures, keys, waits, limits. A proxy between client and service interrupts, delays and refuses."""

from __future__ import annotations

import email.utils
import pickle
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from between import KINDS, Action, Between, client, cut, cut_in_answer, cut_while_it_works, delayed, passed, says
from drystone.client import BadAnswer, DrystoneError, Problem, StreamEnded, TimedOut, Unreachable, calls
from drystone.client.retry import problem_of, retry_after
from service import free_port, running, steps_for

SCENE = "large_pyramid:base=4"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(tmp_path_factory.mktemp("store")) as url:
        yield url


@pytest.fixture()
def between(url: str) -> Iterator[Between]:
    with Between(url) as made:
        yield made


@pytest.fixture(params=KINDS)
def service(request: pytest.FixtureRequest, between: Between) -> Iterator[Any]:
    with client(request.param, between.url, patience=20.0) as made:
        yield made


def in_seconds(seconds: float) -> tuple[str, str]:
    """Returns a date, and the clock of a machine that is a year behind."""
    now = time.time() - 365 * 86400
    return (
        f"Date: {email.utils.formatdate(now, usegmt=True)}",
        f"Retry-After: {email.utils.formatdate(now + seconds, usegmt=True)}",
    )


TROUBLES: dict[str, tuple[list[Action], float]] = {
    "429 with a number": ([says(429, "Retry-After: 1")], 1.0),
    "429 with a date": ([says(429, *in_seconds(2))], 2.0),
    "503 with a date in the past": ([says(503, "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT")], 0.0),
    "502 and 504 of a proxy": ([says(502), says(504)], 0.0),
    "500 of a proxy": ([says(500, body="Internal Server Error")], 0.0),
    "cut before": ([cut, cut], 0.0),
    "cut before the answer": ([cut_in_answer(0)], 0.0),
    "cut in the answer": ([cut_in_answer(20), cut_in_answer(150)], 0.0),
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_step_is_done_once_whatever_comes_between(service: Any, between: Between, trouble: str) -> None:
    plan, wait = TROUBLES[trouble]
    world, twin = service.create(SCENE), service.create(SCENE)
    between.seen.clear()
    between.plan.extend(plan)
    assert world.step(5)["steps"] == 5
    keys = between.keys("/step")
    assert len(keys) == len(plan) + 1
    assert len(set(keys)) == 1 and keys[0]
    first, second = [seen.at for seen in between.seen if "/step" in seen.path][:2]
    assert second - first >= wait
    twin.step(5)
    assert world.status()["step"] == 5
    assert world.metrics()["hash"] == twin.metrics()["hash"]
    # Negative control: another key is another step.
    world.step(5)
    assert world.status()["step"] == 10 and between.keys("/step")[-1] != keys[0]


def test_whatever_changes_something_is_asked_again_with_its_key(service: Any, between: Between) -> None:
    world = service.create(SCENE)

    def spawn() -> None:
        world.spawn([{"position": [0, 20], "shapes": [{"circle": {"radius": 0.5}}]}])

    changes = {
        "/v1/worlds": lambda: service.create(SCENE),
        "/commands": spawn,
        "/play": lambda: world.play(0.01),
        "/pause": world.pause,
        "/checkpoint": lambda: world.checkpoint("here"),
        "/restore": lambda: world.restore("here"),
    }
    for path, change in changes.items():
        between.seen.clear()
        between.plan.append(cut_in_answer(10))
        change()
        keys = [seen.key for seen in between.seen if seen.path.endswith(path)]
        assert len(keys) == 2 and keys[0] == keys[1] and keys[0], path
    # Changes from before the checkpoint exist once: the pyramid, its ground, and one ball.
    assert len(world.state().slot) == 4 * 5 // 2 + 1 + 1
    # Reading needs no key.
    between.plan.append(cut)
    between.seen.clear()
    world.query({"point": {"at": [0, 0]}})
    assert between.keys("/query") == [None, None]


def test_a_key_can_be_given(service: Any, between: Between) -> None:
    first, again = service.create(SCENE, key="the same"), service.create(SCENE, key="the same")
    other = service.create(SCENE, key="another")
    assert first.id == again.id != other.id
    for _ in range(2):
        assert first.step(3, key="step-1")["step"] == 3
    first.step(3, key="step-2")
    assert first.status()["step"] == 6
    for wrong in ("", " x", "two\nlines", "x" * 129, "ä"):
        with pytest.raises(ValueError, match="visible ASCII"):
            first.step(3, key=wrong)


def test_steps_that_are_still_worked_on_are_waited_for(service: Any, between: Between) -> None:
    world, twin = service.create("large_pyramid:base=40"), service.create("large_pyramid:base=40")
    # They last for long enough that several repetitions come during them.
    steps = steps_for(3.0, service.create("large_pyramid:base=40"))
    between.plan.append(cut_while_it_works)
    between.seen.clear()
    stepped = world.step(steps)
    assert (stepped["steps"], stepped["step"]) == (steps, steps)
    # The service answered 409 meanwhile, as it believed that the first client still waits.
    keys = between.keys("/step")
    assert len(keys) > 2 and len(set(keys)) == 1
    twin.step(steps)
    assert world.metrics()["hash"] == twin.metrics()["hash"]
    world.delete()
    twin.delete()


@pytest.mark.parametrize("kind", KINDS)
def test_timeouts(between: Between, kind: str) -> None:
    with client(kind, between.url, timeout=2.0, patience=5.0) as service:
        world = service.create(SCENE)
        # No client is disconnected before the service's own limit on steps.
        between.plan.append(delayed(3.0))
        between.seen.clear()
        assert world.step(2, timeout=5.0)["step"] == 2
        assert len(between.keys("/step")) == 1
        # A request whose answer comes later than that is repeated with the same key.
        between.plan.append(delayed(5.0))
        between.seen.clear()
        world.impulse(1, [0.0, 1.0])
        keys = between.keys("/commands")
        assert len(keys) == 2 and keys[0] == keys[1]
    with client(kind, between.url, timeout=0.3, patience=0.0) as service:
        between.plan.append(delayed(1.0))
        with pytest.raises(TimedOut) as caught:
            service.request("POST", f"{world.path}/step", {"steps": 4}, key="mine")
        assert (caught.value.key, caught.value.attempts) == ("mine", 1)
        assert isinstance(caught.value, DrystoneError) and isinstance(caught.value, TimeoutError)
        assert "key='mine'" in str(caught.value)


def test_when_patience_ends_the_key_is_told(between: Between, url: str) -> None:
    for kind in KINDS:
        with client(kind, between.url, patience=3.0) as service:
            world = service.create(SCENE)
            between.plan.extend([cut_in_answer(0)] + [says(503)] * 50)
            with pytest.raises(Problem) as caught:
                world.step(7)
            between.plan.clear()
            problem = caught.value
            assert (problem.status, problem.key) == (503, between.keys("/step")[-1])
            assert problem.attempts > 2 and problem.request == f"POST {world.path}/step"
            # The retry gets the same steps.
            assert world.step(7, key=problem.key)["step"] == 7
            assert world.status()["step"] == 7
    # The client does not wait for longer than its patience.
    with client("blocking", between.url, patience=30.0) as service:
        between.plan.append(says(429, "Retry-After: 60"))
        start = time.monotonic()
        with pytest.raises(Problem) as refused:
            service.create(SCENE)
        assert (refused.value.retry_after, refused.value.attempts) == (60.0, 1)
        assert time.monotonic() - start < 20.0
    for kind in KINDS:
        with client(kind, f"http://127.0.0.1:{free_port()}", patience=0.5) as nowhere:
            with pytest.raises(Unreachable) as gone:
                nowhere.create(SCENE, key="k")
            assert isinstance(gone.value, ConnectionError) and gone.value.key == "k" and gone.value.attempts > 1


@pytest.mark.parametrize(
    "body",
    [
        '{"type": "urn:drystone:busy", "detail": "in any words", "status": 409}',
        '{"type": "urn:drystone:conflict", "detail": "the first request with this key is still being worked on"}',
    ],
    ids=["by its type", "by the words of earlier versions"],
)
def test_a_busy_service_is_asked_again(between: Between, body: str) -> None:
    with client("blocking", between.url) as service:
        between.plan.append(says(409, body=body))
        world = service.create(SCENE)
        assert len(between.keys("/v1/worlds")) == 2 and len(set(between.keys("/v1/worlds"))) == 1
        world.delete()


@pytest.mark.parametrize("status", [400, 401, 404, 409, 413, 422, 500, 507])
def test_what_does_not_become_better_is_asked_once(between: Between, status: int) -> None:
    with client("blocking", between.url) as service:
        ours = '{"type": "urn:drystone:x", "detail": "not today"}'
        between.plan.append(says(status, "Retry-After: 5", body=ours) if status >= 500 else says(status))
        with pytest.raises(Problem) as caught:
            service.create(SCENE)
        assert (caught.value.status, caught.value.attempts, len(between.seen)) == (status, 1, 1)
        assert "not today" in caught.value.detail and "<" not in caught.value.detail


def test_a_deletion_that_was_cut_is_done(service: Any, between: Between) -> None:
    world = service.create(SCENE)
    between.plan.append(cut_in_answer(0))
    world.delete()
    # Negative controls: without an interruption it is an error, and a refusal is no interruption.
    for plan in ([], [says(429)]):
        between.plan.extend(plan)
        with pytest.raises(Problem) as caught:
            world.delete()
        assert caught.value.status == 404
    kept = service.create(SCENE)
    kept.checkpoint("a")
    between.plan.append(cut_in_answer(0))
    kept.forget("a")
    assert kept.checkpoints() == []


def test_all_pages_of_a_list_while_it_is_deleted(service: Any, between: Between, monkeypatch: pytest.MonkeyPatch) -> None:
    for world in service.worlds():
        world.delete()
    monkeypatch.setattr(calls, "PAGE", 3)
    made = {service.create(SCENE).id for _ in range(8)}
    between.seen.clear()
    between.plan.extend([passed, cut])
    deleted = []
    for world in service.worlds():
        world.delete()
        deleted.append(world.id)
    assert set(deleted) == made and len(deleted) == 8
    assert len([seen for seen in between.seen if seen.path.startswith("/v1/worlds?")]) == 4
    assert service.worlds() == []


class Babbling:
    """Answers every connection with the same bytes, for any request."""

    def __init__(self, words: bytes) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"

        def babble() -> None:
            try:
                while True:
                    peer, _ = self.listener.accept()
                    with peer:
                        peer.recv(65536)
                        peer.sendall(words)
            except OSError:
                return

        threading.Thread(target=babble, daemon=True).start()


def answer(status: str, body: str, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "words",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"",
        answer("200 OK", "<html>a hotel's page</html>"),
        answer("200 OK", "[]"),
        answer("200 OK", '{"id": "w'),
        answer("200 OK", "xxxx", "Content-Encoding: gzip"),
        answer("302 Found", "", "Location: /"),
        answer("404 Not Found", '"a word"'),
        answer("418 I'm a teapot", '{"detail": 7, "status": "x"}'),
    ],
)
def test_no_error_of_a_library_comes_through(kind: str, words: bytes) -> None:
    babbling = Babbling(words)
    with client(kind, babbling.url, patience=0.2) as service:
        for ask in (lambda: service.create(SCENE), service.worlds, service.scenes, lambda: service.world("w1")):
            with pytest.raises(DrystoneError):
                ask()
    # Neither in a stream nor in frames.
    with Between(babbling.url) as between, client(kind, between.url, patience=0.2) as service:
        from drystone.client import AsyncWorld, World

        with pytest.raises(DrystoneError):
            if kind == "blocking":
                next(iter(World(service, "w1").stream()))
            else:
                frames = AsyncWorld(service._inner, "w1").stream()
                next(service._drain(frames))
        with pytest.raises(DrystoneError):
            if kind == "blocking":
                World(service, "w1").state()
            else:
                service._loop.run_until_complete(AsyncWorld(service._inner, "w1").state())
    babbling.listener.close()


def test_bad_arguments_are_errors_of_values() -> None:
    for url in ("", "localhost:7878", "ftp://x", "http://"):
        with pytest.raises(ValueError, match="expected http"):
            with client("blocking", url):
                pass
    with pytest.raises(ValueError, match="cannot be read"), client("blocking", "https://x", ca="/no/such/file"):
        pass


def test_retry_after() -> None:
    assert retry_after({"Retry-After": "12"}) == 12.0
    assert retry_after({}) is None and retry_after({"Retry-After": "soon"}) is None
    date = email.utils.formatdate(time.time() + 100, usegmt=True)
    found = retry_after({"Retry-After": date})
    assert found is not None and 97 < found <= 101
    # The other machine's clock counts if it is sent.
    late = {"Date": "Tue, 15 Nov 1994 08:12:31 GMT", "Retry-After": "Tue, 15 Nov 1994 08:12:41 GMT"}
    assert retry_after(late) == 10.0
    assert retry_after({"Retry-After": "Tue, 15 Nov 1994 08:12:41 GMT"}) == 0.0
    assert retry_after({"Retry-After": "Tue, 99 Nov 1994 08:12:41 GMT"}) is None


def test_errors_travel_between_processes() -> None:
    problem = problem_of(422, {}, b'{"type": "urn:drystone:invalid", "detail": "no", "path": "a.b", "status": 422}')
    problem.key = "k"
    copies = [
        pickle.loads(pickle.dumps(error))
        for error in (problem, Unreachable("gone"), TimedOut("late"), StreamEnded("cut", step=7, code=1006), BadAnswer("?"))
    ]
    assert [type(copy) for copy in copies] == [Problem, Unreachable, TimedOut, StreamEnded, BadAnswer]
    assert (copies[0].path, copies[0].status, copies[0].key, str(copies[0])) == ("a.b", 422, "k", str(problem))
    assert (copies[3].step, copies[3].code, str(copies[1])) == (7, 1006, "gone")

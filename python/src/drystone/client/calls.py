"""Requests about worlds, defined once for the blocking and the async client. Bodies are given by id (`"12.0"`), name or
slot. `key` is the idempotency key of a change: a retry with the same key executes it once."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, TypeVar
from urllib.parse import quote, urlencode

import httpx

from . import models
from .errors import Json
from .frames import State, decode
from .retry import STEP_SECONDS, Call, checked_key

T = TypeVar("T")
PAGE = 1000
"""Number of worlds per page of the list."""


class HasPath(Protocol):
    """Part of a world that a request needs."""

    @property
    def path(self) -> str:
        """Path of the world at its service."""


def as_json(value: Any) -> bytes:
    """Writes the body of a request."""
    return json.dumps(value, separators=(",", ":")).encode()


def _get(path: str, read: Callable[[Any], T]) -> Call[T]:
    return Call("GET", path, lambda answer: read(answer.json()))


def _post(path: str, body: Any, read: Callable[[Any], T], key: str | None, takes: float | None = None) -> Call[T]:
    return Call("POST", path, lambda answer: read(answer.json()), as_json(body), checked_key(key), takes)


def _same(answer: Any) -> Any:
    return answer


def _nothing(_: Any) -> None:
    return None


def create(scene: str | models.Scene, name: str | None, key: str | None) -> Call[str]:
    """Creates a world."""
    body: models.NewWorld = {"scene": scene}
    if name is not None:
        body["name"] = name
    return _post("/v1/worlds", body, lambda answer: str(answer["id"]), key, STEP_SECONDS)


def show(id: str) -> Call[str]:
    """Finds a world."""
    return _get(f"/v1/worlds/{quote(id, safe='')}", lambda answer: str(answer["id"]))


def scenes() -> Call[Sequence[models.SceneEntry]]:
    """Lists the built-in scenes, with their parameters."""
    return _get("/v1/scenes", lambda answer: list(answer["scenes"]))


def scene_picture(name: str, dark: bool) -> Call[bytes]:
    """Draws a built-in scene shortly after its start: a PNG of 144 × 96 pixels."""
    query = "?dark=true" if dark else ""
    return Call("GET", f"/v1/scenes/{quote(name, safe='')}/picture{query}", lambda answer: answer.content)


def scene_size(scene: str) -> Call[int]:
    """Counts the bodies of a built-in scene, such as `"large_pyramid:base=20"`, without building it."""
    return _get(f"/v1/scenes/{quote(scene, safe='')}/size", lambda answer: int(answer["bodies"]))


class Pages:
    """Pages of the list of worlds, all read before any is returned, so that deletions meanwhile do not matter."""

    def __init__(self) -> None:
        self.ids: dict[str, None] = {}
        self._after: str | None = None
        self._more = True

    def next(self) -> Call[None] | None:
        """Returns the request for the next page, if there is one."""
        if not self._more:
            return None
        query = {"limit": str(PAGE)} | ({"after": self._after} if self._after else {})
        return _get(f"/v1/worlds?{urlencode(query)}", self._take)

    def _take(self, page: models.Worlds) -> None:
        known = len(self.ids)
        self.ids.update(dict.fromkeys(status["id"] for status in page["worlds"]))
        after = page.get("next")
        # A faulty service that repeats a page must not cause an endless loop.
        self._more = after is not None and len(self.ids) > known
        self._after = after


def status(self: HasPath) -> Call[models.Status]:
    """Returns the status: name, state, steps done and so on."""
    return _get(self.path, _same)


def step(
    self: HasPath, steps: int = 1, *, timeout: float | None = None, key: str | None = None
) -> Call[models.Stepped]:
    """Steps the world, and returns when the steps are done.

    With `timeout` it stops after that many seconds and says so (`stopped`). The default is the service's own limit.
    """
    body: models.Step = {"steps": steps}
    if timeout is not None:
        body["timeout"] = timeout
    return _post(f"{self.path}/step", body, _same, key, STEP_SECONDS if timeout is None else timeout)


def command(self: HasPath, *commands: models.CommandRecord, key: str | None = None) -> Call[Sequence[Json]]:
    """Executes commands before the next step: `{"impulse": {"body": "12.0", "impulse": [0, 5]}}`. Returns one result each."""
    batch: models.Batch = {"commands": commands}
    return _post(f"{self.path}/commands", batch, lambda answer: list(answer["results"]), key)


def impulse(
    self: HasPath,
    body: str | int,
    impulse: Sequence[float],
    point: Sequence[float] | None = None,
    *,
    key: str | None = None,
) -> Call[None]:
    """Applies an impulse to a body, N·s."""
    push: models.Impulse = {"body": body, "impulse": list(impulse)}
    if point is not None:
        push["point"] = list(point)
    batch: models.Batch = {"commands": [{"impulse": push}]}
    return _post(f"{self.path}/commands", batch, _nothing, key)


def spawn(
    self: HasPath,
    bodies: Sequence[models.SceneBody],
    joints: Sequence[models.SceneJoint] = (),
    *,
    key: str | None = None,
) -> Call[list[str]]:
    """Adds bodies, as in a scene file. Returns their ids."""
    batch: models.Batch = {"commands": [{"spawn": {"bodies": list(bodies), "joints": list(joints)}}]}
    return _post(f"{self.path}/commands", batch, lambda answer: list(answer["results"][0]["bodies"]), key)


def remove(self: HasPath, *bodies: str | int, key: str | None = None) -> Call[None]:
    """Removes bodies."""
    batch: models.Batch = {"commands": [{"remove": {"bodies": list(bodies)}}]}
    return _post(f"{self.path}/commands", batch, _nothing, key)


def gravity(self: HasPath, gravity: Sequence[float] | None = None, *, key: str | None = None) -> Call[None]:
    """Sets gravity, m/s², from the next step on, and wakes all bodies. Without a value it restores that of the scene."""
    change: models.Gravity = {} if gravity is None else {"gravity": list(gravity)}
    batch: models.Batch = {"commands": [{"gravity": change}]}
    return _post(f"{self.path}/commands", batch, _nothing, key)


def play(
    self: HasPath,
    speed: float | Literal["max"] = 1.0,
    *,
    unwatched: float | None = None,
    key: str | None = None,
) -> Call[None]:
    """Lets the world step by itself, at a multiple of real time or as fast as possible.

    With `unwatched` it pauses after that many seconds without a stream or a request about it; 0: never.
    """
    body: models.Play = {"speed": speed}
    if unwatched is not None:
        body["unwatched"] = unwatched
    return _post(f"{self.path}/play", body, _nothing, key)


def pause(self: HasPath, *, key: str | None = None) -> Call[int]:
    """Pauses the world. Returns the number of steps done."""
    return _post(f"{self.path}/pause", {}, lambda answer: int(answer["step"]), key)


def state(self: HasPath) -> Call[State]:
    """Returns poses and velocities of all bodies."""

    def read(answer: httpx.Response) -> State:
        return decode(answer.content)

    return Call("GET", f"{self.path}/state?format=binary", read)


def bodies(self: HasPath) -> Call[Sequence[models.Look]]:
    """Returns kind, mass and shapes of all bodies."""
    return _get(f"{self.path}/bodies", lambda answer: list(answer["bodies"]))


def body(self: HasPath, body: models.BodyRef) -> Call[models.BodyDetails]:
    """Returns a body in its current state, with its joints, as `spawn` and `join` take them."""
    return _get(f"{self.path}/bodies/{quote(str(body), safe='')}", _same)


def joints(self: HasPath) -> Call[Sequence[models.JointLook]]:
    """Returns kind, bodies and anchors of all joints, including broken ones."""
    return _get(f"{self.path}/joints", lambda answer: list(answer["joints"]))


def scene(self: HasPath) -> Call[models.Scene]:
    """Returns the world as a scene that starts in its current state."""
    return _get(f"{self.path}/scene", _same)


def web_page(self: HasPath) -> Call[str]:
    """Returns the world as a web page that starts in its current state and runs on the visitor's GPU: one HTML file."""
    return Call("GET", f"{self.path}/page", lambda answer: answer.text)


def metrics(self: HasPath) -> Call[models.Metrics]:
    """Returns energies, penetration and so on, and a hash of the state."""
    return _get(f"{self.path}/metrics", _same)


def series(self: HasPath, start: int = 0, body: models.BodyRef | None = None) -> Call[models.Series]:
    """Returns energies, and the motion of a body, after each step from `start` on.

    The first request begins to record; 10 seconds after the last one the recording ends. It keeps 4096 steps.
    """
    of = "" if body is None else f"&body={quote(str(body), safe='')}"
    return _get(f"{self.path}/series?from={start}{of}", _same)


def query(self: HasPath, *queries: models.QueryRecord) -> Call[Sequence[models.Found]]:
    """Runs ray, point, box and overlap queries: `{"ray": {"from": [0, 0], "to": [9, 0]}}`. Returns one answer each."""
    questions: models.Questions = {"queries": queries}
    # A read-only request has no key.
    return Call(
        "POST", f"{self.path}/query", lambda answer: list(answer.json()["answers"]), as_json(questions)
    )


def events(self: HasPath, start: int = 0) -> Call[tuple[Sequence[models.Event], int]]:
    """Returns the events since `start`, and the `start` of the next request."""
    return _get(f"{self.path}/events?from={start}", lambda answer: (list(answer["events"]), int(answer["next"])))


def checkpoint(self: HasPath, name: str | None = None, *, key: str | None = None) -> Call[str]:
    """Saves the state under a name. Returns the name."""
    body = {"name": name} if name else {}
    return _post(f"{self.path}/checkpoint", body, lambda answer: str(answer["checkpoint"]), key, STEP_SECONDS)


def checkpoints(self: HasPath) -> Call[Sequence[str]]:
    """Lists the names of checkpoints."""
    return _get(f"{self.path}/checkpoints", lambda answer: list(answer["checkpoints"]))


def restore(self: HasPath, name: str, *, key: str | None = None) -> Call[None]:
    """Restores a checkpoint."""
    return _post(f"{self.path}/restore", {"name": name}, _nothing, key, STEP_SECONDS)


def rewind(self: HasPath, steps: int = 1, *, timeout: float | None = None, key: str | None = None) -> Call[int]:
    """Rewinds by a number of steps, to the same bits, and discards later changes. Returns the number of steps done.

    The world must be paused. With `timeout` it stays unchanged if the rewind takes more seconds.
    """
    body: models.Rewind = {"steps": steps}
    if timeout is not None:
        body["timeout"] = timeout
    wait = STEP_SECONDS if timeout is None else timeout
    return _post(f"{self.path}/rewind", body, lambda answer: int(answer["step"]), key, wait)


def _delete(path: str, key: str | None) -> Call[None]:
    return Call("DELETE", path, _nothing, None, checked_key(key), STEP_SECONDS)


def forget(self: HasPath, name: str, *, key: str | None = None) -> Call[None]:
    """Deletes a checkpoint."""
    return _delete(f"{self.path}/checkpoints/{quote(name, safe='')}", key)


def delete(self: HasPath, *, key: str | None = None) -> Call[None]:
    """Deletes the world with all its checkpoints. After an interrupted attempt "not found" means done."""
    return _delete(self.path, key)

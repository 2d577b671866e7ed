"""The service and its worlds."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Iterator, Sequence
from typing import Any, Literal
from urllib.parse import urlencode

import httpx
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from . import models
from .frames import Bodies, State, decode

Json = dict[str, Any]
RETRIED = {429, 503, 507}


class Problem(Exception):
    """What the service says does not work (RFC 9457)."""

    def __init__(self, body: Json) -> None:
        self.type: str = body.get("type", "about:blank")
        self.status: int = body.get("status", 0)
        self.detail: str = body.get("detail", "")
        self.path: str | None = body.get("path")
        """JSON path of what is wrong."""
        self.expected: str | None = body.get("expected")
        self.body = body
        place = f"{self.path}: " if self.path else ""
        super().__init__(f"{place}{self.detail}" + (f"; expected {self.expected}" if self.expected else ""))


class Service:
    """A service. Every change carries an idempotency key, so that what is tried again is done once."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:7878",
        token: str | None = None,
        *,
        timeout: float = 60.0,
        patience: float = 30.0,
    ) -> None:
        """`token`: else that of the variable DRYSTONE_TOKEN. `patience`: seconds for which a request is tried again that
        the service refuses for now, or that is cut off."""
        self.url = url.rstrip("/")
        self.token = token or os.environ.get("DRYSTONE_TOKEN")
        self.patience = patience
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        self._http = httpx.Client(base_url=self.url, headers=headers, timeout=timeout)

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def request(self, method: str, path: str, body: Any = None, *, key: str | None = None) -> httpx.Response:
        """A request, tried again while the service asks for that."""
        headers = {"Idempotency-Key": key or uuid.uuid4().hex} if method == "POST" else {}
        content = None
        if body is not None:
            content = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        end = time.monotonic() + self.patience
        while True:
            try:
                answer = self._http.request(method, path, content=content, headers=headers)
            except httpx.TransportError:
                if time.monotonic() >= end:
                    raise
                time.sleep(0.2)
                continue
            if answer.is_success:
                return answer
            if answer.status_code in RETRIED:
                wait = float(answer.headers.get("Retry-After", "1"))
                if time.monotonic() + wait < end:
                    time.sleep(wait)
                    continue
            try:
                problem: Json = answer.json()
            except ValueError:
                problem = {"status": answer.status_code, "detail": answer.text}
            raise Problem(problem)

    def create(self, scene: str | models.Scene, name: str | None = None) -> World:
        """A world from a built-in scene, such as `"large_pyramid:base=20"`, or a scene as in a scene file."""
        body: models.NewWorld = {"scene": scene}
        if name is not None:
            body["name"] = name
        return World(self, self.request("POST", "/v1/worlds", body).json()["id"])

    def world(self, id: str) -> World:
        """A world that is there."""
        return World(self, self.request("GET", f"/v1/worlds/{id}").json()["id"])

    def worlds(self) -> Iterator[World]:
        """All worlds, the oldest first."""
        after: str | None = None
        while True:
            query = {"after": after} if after else {}
            page: models.Worlds = self.request("GET", "/v1/worlds?" + urlencode(query)).json()
            for status in page["worlds"]:
                yield World(self, status["id"])
            after = page.get("next")
            if after is None:
                return

    def scenes(self) -> Sequence[models.SceneEntry]:
        """The built-in scenes, with their parameters."""
        scenes: Sequence[models.SceneEntry] = self.request("GET", "/v1/scenes").json()["scenes"]
        return scenes


class World:
    """A world. Bodies are given by id (`"12.0"`), name or slot."""

    def __init__(self, service: Service, id: str) -> None:
        self.service = service
        self.id = id
        self.path = f"/v1/worlds/{id}"

    def __repr__(self) -> str:
        return f"World({self.id!r})"

    def _post(self, what: str, body: Any) -> Any:
        return self.service.request("POST", f"{self.path}/{what}", body).json()

    def _get(self, what: str) -> Any:
        return self.service.request("GET", f"{self.path}{what}").json()

    def status(self) -> models.Status:
        """How it is doing."""
        status: models.Status = self._get("")
        return status

    def step(self, steps: int = 1, *, timeout: float | None = None) -> models.Stepped:
        """Steps it, and waits until that is done. With `timeout` it stops after so many seconds and says so."""
        body: models.Step = {"steps": steps}
        if timeout is not None:
            body["timeout"] = timeout
        stepped: models.Stepped = self._post("step", body)
        return stepped

    def command(self, *commands: models.CommandRecord) -> Sequence[Json]:
        """Does these before the next step: `{"impulse": {"body": "12.0", "impulse": [0, 5]}}`. What each made."""
        batch: models.Batch = {"commands": commands}
        done: models.Done = self._post("commands", batch)
        return done["results"]

    def impulse(self, body: str | int, impulse: Sequence[float], point: Sequence[float] | None = None) -> None:
        """A sudden push, N·s."""
        push: models.Impulse = {"body": body, "impulse": list(impulse)}
        if point is not None:
            push["point"] = list(point)
        self.command({"impulse": push})

    def spawn(self, bodies: Sequence[models.SceneBody], joints: Sequence[models.SceneJoint] = ()) -> list[str]:
        """Adds bodies, as in a scene file. Their ids."""
        ids: list[str] = self.command({"spawn": {"bodies": list(bodies), "joints": list(joints)}})[0]["bodies"]
        return ids

    def remove(self, *bodies: str | int) -> None:
        """Removes bodies."""
        self.command({"remove": {"bodies": list(bodies)}})

    def play(self, speed: float | Literal["max"] = 1.0) -> None:
        """Lets it step by itself: times real time, or as fast as it goes."""
        self._post("play", {"speed": speed})

    def pause(self) -> int:
        """Stops it. Steps done."""
        played: models.Played = self._post("pause", {})
        return played["step"]

    def state(self) -> State:
        """Where every body is."""
        return decode(self.service.request("GET", f"{self.path}/state?format=binary").content)

    def bodies(self) -> Sequence[models.Look]:
        """What every body is and looks like."""
        bodies: models.Bodies = self._get("/bodies")
        return bodies["bodies"]

    def metrics(self) -> models.Metrics:
        """Energies, penetration and so on, and a hash of the state."""
        metrics: models.Metrics = self._get("/metrics")
        return metrics

    def query(self, *queries: models.QueryRecord) -> Sequence[models.Found]:
        """Rays, points, boxes, shapes: `{"ray": {"from": [0, 0], "to": [9, 0]}}`."""
        questions: models.Questions = {"queries": queries}
        answers: models.Answers = self._post("query", questions)
        return answers["answers"]

    def events(self, start: int = 0) -> tuple[Sequence[models.Event], int]:
        """What happened since, and where to go on."""
        events: models.Events = self._get(f"/events?from={start}")
        return events["events"], events["next"]

    def checkpoint(self, name: str | None = None) -> str:
        """Keeps the state under a name."""
        kept: models.Saved = self._post("checkpoint", {"name": name} if name else {})
        return kept["checkpoint"]

    def restore(self, name: str) -> None:
        """Goes back to it."""
        self._post("restore", {"name": name})

    def delete(self) -> None:
        """Forgets the world."""
        self.service.request("DELETE", self.path)

    def stream(
        self, rate: float = 30.0, *, region: tuple[float, float, float, float] | None = None
    ) -> Iterator[Bodies]:
        """Yields the same object with each frame, until the service ends it. A slow reader misses frames, and learns
        how many (`dropped`)."""
        query: dict[str, str] = {"rate": str(rate), "format": "delta"}
        if region is not None:
            query["region"] = ",".join(map(str, region))
        url = f"ws{self.service.url.removeprefix('http')}{self.path}/stream?{urlencode(query)}"
        headers = {"Authorization": f"Bearer {self.service.token}"} if self.service.token else None
        bodies = Bodies()
        with connect(
            url, subprotocols=[Subprotocol("drystone.v1")], additional_headers=headers, max_size=None, max_queue=1
        ) as socket:
            for message in socket:
                if isinstance(message, bytes):
                    bodies.feed(message)
                    yield bodies

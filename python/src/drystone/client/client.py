"""Clients of a service and its worlds: blocking (`Service`, `World`) and for asyncio (`AsyncService`, `AsyncWorld`)."""

from __future__ import annotations

import asyncio
import functools
import os
import ssl
import time
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar
from urllib.parse import urlsplit

import httpx
from websockets.asyncio.client import connect as connect_async
from websockets.sync.client import connect

from . import calls, models
from .errors import DrystoneError
from .frames import Bodies
from .retry import NETWORK_ERRORS, Attempts, Call, checked_key
from .watch import STREAM_ERRORS, Watch, keep_alive

P = ParamSpec("P")
T = TypeVar("T")
Region = tuple[float, float, float, float]


class _Connection:
    """Address, token, trusted certificates and patience of a client."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:7878",
        token: str | None = None,
        *,
        timeout: float = 60.0,
        patience: float = 30.0,
        ca: str | os.PathLike[str] | None = None,
        verify: bool = True,
        locate: Callable[[], str] | None = None,
    ) -> None:
        """
        - `token`: the token; default: the environment variable DRYSTONE_TOKEN.
        - `timeout`: seconds an answer may take. Steps, restores and similar requests have the time that the service allows.
        - `patience`: seconds for which a request is retried while the service is unreachable or refuses it temporarily. 0: never.
        - `ca`: file or folder with the trusted certificates, instead of the system's.
        - `verify`: False trusts every certificate. For experiments only.
        - `locate`: returns the address of a service that may have moved; called when a connection fails.
        """
        self.url = _checked(url)
        self.token = token or os.environ.get("DRYSTONE_TOKEN") or None
        self.timeout = timeout
        self.patience = patience
        self._locate = locate
        self._context = _trust(ca, verify) if self.url.startswith("https:") else None
        self._headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        self._open()

    def _open(self) -> None:
        """Creates the HTTP client."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    @property
    def _verify(self) -> ssl.SSLContext | bool:
        return True if self._context is None else self._context

    @property
    def _has_proxy(self) -> bool:
        # httpx reads the environment only without a custom transport.
        parts = urlsplit(self.url)
        proxies = urllib.request.getproxies()
        return bool({parts.scheme, "all"} & proxies.keys()) and not urllib.request.proxy_bypass(parts.hostname or "")

    def _attempts(self, call: Call[T]) -> Attempts[T]:
        return Attempts(call, self.patience, self.timeout)

    def _find(self) -> None:
        """Looks up the current address of the service before another attempt."""
        if self._locate is not None:
            self.url = _checked(self._locate())

    def _call(self, method: str, path: str, body: Any, key: str | None) -> Call[httpx.Response]:
        key = checked_key(key) if key is not None or method != "GET" else None
        return Call(method, path, lambda answer: answer, None if body is None else calls.as_json(body), key)


def _checked(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"url is {url!r}; expected http://HOST:PORT or https://HOST")
    return url.rstrip("/")


def _trust(ca: str | os.PathLike[str] | None, verify: bool) -> ssl.SSLContext:
    if not verify:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    if ca is None:
        return httpx.create_ssl_context()
    place = Path(ca)
    try:
        if place.is_dir():
            return ssl.create_default_context(capath=place)
        return ssl.create_default_context(cafile=place)
    except (OSError, ssl.SSLError) as error:
        raise ValueError(f"ca is {str(ca)!r}, which cannot be read: {error}") from error


class Service(_Connection):
    """Client of a service. Each change carries an idempotency key, so that retries execute it once.

    Thread-safe.
    """

    def _open(self) -> None:
        transport = None
        if not self._has_proxy:
            transport = httpx.HTTPTransport(verify=self._verify, socket_options=keep_alive())
        self._http = httpx.Client(headers=self._headers, verify=self._verify, transport=transport)

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def do(self, call: Call[T]) -> T:
        """Sends a request, with retries where they help, and reads its answer."""
        attempts = self._attempts(call)
        while True:
            try:
                if attempts.lost:
                    self._find()
                timeout = attempts.begin(self.url)
                answer = self._http.request(
                    call.method, self.url + call.path, content=call.content, headers=call.headers, timeout=timeout
                )
            except (*NETWORK_ERRORS, DrystoneError) as error:
                wait = attempts.broke(error)
            else:
                again = attempts.answered(answer)
                if again is None:
                    return attempts.result(answer)
                wait = again
            time.sleep(wait)

    def request(self, method: str, path: str, body: Any = None, *, key: str | None = None) -> httpx.Response:
        """Sends any request of the API like the others: with a key, and with retries where they help."""
        return self.do(self._call(method, path, body, key))

    def create(self, scene: str | models.Scene, name: str | None = None, *, key: str | None = None) -> World:
        """Creates a world from a built-in scene, such as `"large_pyramid:base=20"`, or a scene as in a scene file."""
        return World(self, self.do(calls.create(scene, name, key)))

    def world(self, id: str) -> World:
        """Returns an existing world."""
        return World(self, self.do(calls.show(id)))

    def worlds(self) -> list[World]:
        """Returns all worlds, the oldest first."""
        pages = calls.Pages()
        while (call := pages.next()) is not None:
            self.do(call)
        return [World(self, id) for id in pages.ids]

    def scenes(self) -> Sequence[models.SceneEntry]:
        """Returns the built-in scenes, with their parameters."""
        return self.do(calls.scenes())

    def scene_picture(self, name: str, *, dark: bool = False) -> bytes:
        """Returns a small picture of a built-in scene shortly after its start: a PNG of 144 × 96 pixels."""
        return self.do(calls.scene_picture(name, dark))

    def scene_size(self, scene: str) -> int:
        """Returns the number of bodies of a built-in scene, such as `"large_pyramid:base=20"`, without building it."""
        return self.do(calls.scene_size(scene))


def _blocking(call: Callable[Concatenate[calls.HasPath, P], Call[T]]) -> Callable[Concatenate[World, P], T]:
    @functools.wraps(call)
    def method(self: World, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.service.do(call(self, *args, **kwargs))

    return method


class World:
    """World of a service. Bodies are given by id (`"12.0"`), name or slot."""

    def __init__(self, service: Service, id: str) -> None:
        self.service = service
        self.id = id
        self.path = f"/v1/worlds/{id}"

    def __repr__(self) -> str:
        return f"World({self.id!r})"

    status = _blocking(calls.status)
    step = _blocking(calls.step)
    command = _blocking(calls.command)
    impulse = _blocking(calls.impulse)
    spawn = _blocking(calls.spawn)
    remove = _blocking(calls.remove)
    gravity = _blocking(calls.gravity)
    play = _blocking(calls.play)
    pause = _blocking(calls.pause)
    state = _blocking(calls.state)
    bodies = _blocking(calls.bodies)
    body = _blocking(calls.body)
    joints = _blocking(calls.joints)
    scene = _blocking(calls.scene)
    web_page = _blocking(calls.web_page)
    metrics = _blocking(calls.metrics)
    series = _blocking(calls.series)
    query = _blocking(calls.query)
    events = _blocking(calls.events)
    checkpoint = _blocking(calls.checkpoint)
    checkpoints = _blocking(calls.checkpoints)
    restore = _blocking(calls.restore)
    rewind = _blocking(calls.rewind)
    forget = _blocking(calls.forget)
    delete = _blocking(calls.delete)

    def stream(
        self, rate: float = 30.0, *, region: Region | None = None, patience: float | None = None
    ) -> Iterator[Bodies]:
        """Yields the same object with each frame, until the world is deleted.

        A lost connection is restored, within `patience` seconds (default: those of the service). `Bodies.gap` then says
        what was missed, and `Bodies.dropped` how many frames a slow reader has missed.
        """
        service = self.service
        watch = Watch(self.path, rate, region, service.patience if patience is None else patience)
        while True:
            try:
                if watch.attempts:
                    service._find()
                options = watch.options(service.url, service.token)
                with connect(**options, ssl=service._context) as socket:
                    for option in keep_alive():
                        socket.socket.setsockopt(*option)
                    watch.connected()
                    while True:
                        if (bodies := watch.take(socket.recv())) is not None:
                            yield bodies
            except (*STREAM_ERRORS, DrystoneError) as error:
                wait = watch.broke(error)
                if wait is None:
                    return
            time.sleep(wait)


class AsyncService(_Connection):
    """Client of a service for asyncio: `Service` with `await` before each call."""

    def _open(self) -> None:
        transport = None
        if not self._has_proxy:
            transport = httpx.AsyncHTTPTransport(verify=self._verify, socket_options=keep_alive())
        self._http = httpx.AsyncClient(headers=self._headers, verify=self._verify, transport=transport)

    async def __aenter__(self) -> AsyncService:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    async def do(self, call: Call[T]) -> T:
        """Sends a request, with retries where they help, and reads its answer."""
        attempts = self._attempts(call)
        while True:
            try:
                if attempts.lost:
                    await asyncio.to_thread(self._find)
                timeout = attempts.begin(self.url)
                answer = await self._http.request(
                    call.method, self.url + call.path, content=call.content, headers=call.headers, timeout=timeout
                )
            except (*NETWORK_ERRORS, DrystoneError) as error:
                wait = attempts.broke(error)
            else:
                again = attempts.answered(answer)
                if again is None:
                    return attempts.result(answer)
                wait = again
            await asyncio.sleep(wait)

    async def request(self, method: str, path: str, body: Any = None, *, key: str | None = None) -> httpx.Response:
        """Sends any request of the API like the others: with a key, and with retries where they help."""
        return await self.do(self._call(method, path, body, key))

    async def create(
        self, scene: str | models.Scene, name: str | None = None, *, key: str | None = None
    ) -> AsyncWorld:
        """Creates a world from a built-in scene, such as `"large_pyramid:base=20"`, or a scene as in a scene file."""
        return AsyncWorld(self, await self.do(calls.create(scene, name, key)))

    async def world(self, id: str) -> AsyncWorld:
        """Returns an existing world."""
        return AsyncWorld(self, await self.do(calls.show(id)))

    async def worlds(self) -> list[AsyncWorld]:
        """Returns all worlds, the oldest first."""
        pages = calls.Pages()
        while (call := pages.next()) is not None:
            await self.do(call)
        return [AsyncWorld(self, id) for id in pages.ids]

    async def scenes(self) -> Sequence[models.SceneEntry]:
        """Returns the built-in scenes, with their parameters."""
        return await self.do(calls.scenes())

    async def scene_picture(self, name: str, *, dark: bool = False) -> bytes:
        """Returns a small picture of a built-in scene shortly after its start: a PNG of 144 × 96 pixels."""
        return await self.do(calls.scene_picture(name, dark))

    async def scene_size(self, scene: str) -> int:
        """Returns the number of bodies of a built-in scene, such as `"large_pyramid:base=20"`, without building it."""
        return await self.do(calls.scene_size(scene))


def _awaited(
    call: Callable[Concatenate[calls.HasPath, P], Call[T]],
) -> Callable[Concatenate[AsyncWorld, P], Awaitable[T]]:
    @functools.wraps(call)
    async def method(self: AsyncWorld, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.service.do(call(self, *args, **kwargs))

    return method


class AsyncWorld:
    """World of a service for asyncio: `World` with `await` before each call, and `async for` over its stream."""

    def __init__(self, service: AsyncService, id: str) -> None:
        self.service = service
        self.id = id
        self.path = f"/v1/worlds/{id}"

    def __repr__(self) -> str:
        return f"AsyncWorld({self.id!r})"

    status = _awaited(calls.status)
    step = _awaited(calls.step)
    command = _awaited(calls.command)
    impulse = _awaited(calls.impulse)
    spawn = _awaited(calls.spawn)
    remove = _awaited(calls.remove)
    gravity = _awaited(calls.gravity)
    play = _awaited(calls.play)
    pause = _awaited(calls.pause)
    state = _awaited(calls.state)
    bodies = _awaited(calls.bodies)
    body = _awaited(calls.body)
    joints = _awaited(calls.joints)
    scene = _awaited(calls.scene)
    web_page = _awaited(calls.web_page)
    metrics = _awaited(calls.metrics)
    series = _awaited(calls.series)
    query = _awaited(calls.query)
    events = _awaited(calls.events)
    checkpoint = _awaited(calls.checkpoint)
    checkpoints = _awaited(calls.checkpoints)
    restore = _awaited(calls.restore)
    rewind = _awaited(calls.rewind)
    forget = _awaited(calls.forget)
    delete = _awaited(calls.delete)

    async def stream(
        self, rate: float = 30.0, *, region: Region | None = None, patience: float | None = None
    ) -> AsyncIterator[Bodies]:
        """Yields the same object with each frame, until the world is deleted, as `World.stream` does.

        Close the stream if you leave it early: `async with contextlib.aclosing(world.stream()) as frames`.
        """
        service = self.service
        watch = Watch(self.path, rate, region, service.patience if patience is None else patience)
        while True:
            try:
                if watch.attempts:
                    await asyncio.to_thread(service._find)
                options = watch.options(service.url, service.token)
                async with connect_async(**options, ssl=service._context) as socket:
                    for option in keep_alive():
                        socket.transport.get_extra_info("socket").setsockopt(*option)
                    watch.connected()
                    while True:
                        if (bodies := watch.take(await socket.recv())) is not None:
                            yield bodies
            except (*STREAM_ERRORS, DrystoneError) as error:
                wait = watch.broke(error)
                if wait is None:
                    return
            await asyncio.sleep(wait)

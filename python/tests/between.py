"""Proxy between client and service that interrupts, delays and refuses requests, and records them; and an asyncio client
that is called like the blocking one."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import inspect
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from drystone.client import AsyncService, AsyncWorld, Service


@dataclass(frozen=True)
class Seen:
    """Recorded request."""

    method: str
    path: str
    key: str | None
    at: float


@dataclass
class Exchange:
    """Request being handled by the proxy."""

    client: socket.socket
    head: bytes
    body: bytes
    ask: Callable[[], bytes]
    """Sends the request to the service. Returns the whole answer."""


Action: TypeAlias = Callable[[Exchange], None]


class Cut(Exception):
    """Ends the connection."""


def passed(exchange: Exchange) -> None:
    """Forwards the request, and returns the answer."""
    exchange.client.sendall(exchange.ask())


def cut(_: Exchange) -> None:
    """Disconnects before the service gets the request."""
    raise Cut


def cut_in_answer(after: int) -> Action:
    """Forwards the request, and disconnects after a number of bytes of the answer."""

    def action(exchange: Exchange) -> None:
        exchange.client.sendall(exchange.ask()[:after])
        raise Cut

    return action


def cut_while_it_works(exchange: Exchange) -> None:
    """Forwards the request and disconnects, while the service still believes that a client waits."""
    threading.Thread(target=exchange.ask, daemon=True).start()
    # The service gets this request before its repetition.
    time.sleep(0.5)
    raise Cut


def delayed(seconds: float) -> Action:
    """Forwards the request after a delay."""

    def action(exchange: Exchange) -> None:
        time.sleep(seconds)
        passed(exchange)

    return action


def says(status: int, *headers: str, body: str = "<html>not today</html>") -> Action:
    """Answers like a proxy."""
    lines = [f"HTTP/1.1 {status} No", f"Content-Length: {len(body)}", "Content-Type: text/html", *headers]

    def action(exchange: Exchange) -> None:
        exchange.client.sendall(("\r\n".join(lines) + "\r\n\r\n" + body).encode())

    return action


@dataclass
class Between:
    """Proxy in front of a service. The next request is handled by the first entry of `plan`; if it is empty, all pass."""

    target: str
    plan: deque[Action] = field(default_factory=deque)
    seen: list[Seen] = field(default_factory=list)
    only: str = ""
    """Part of the path of the requests to which the plan applies."""
    cut_streams_after: deque[int] = field(default_factory=deque)
    """Numbers of bytes to the client after which the next streams are interrupted."""
    _sockets: list[socket.socket] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Between:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        for open_socket in [self._listener, *self._sockets]:
            with contextlib.suppress(OSError):
                open_socket.close()

    def keys(self, path: str) -> list[str | None]:
        """Returns the keys of the requests with this in their path, in order."""
        return [seen.key for seen in self.seen if path in seen.path]

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._sockets.append(client)
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            with client.makefile("rb") as reader:
                while True:
                    head = b""
                    while not head.endswith(b"\r\n\r\n"):
                        line = reader.readline()
                        if not line:
                            return
                        head += line
                    headers = http.client.parse_headers(_after_first_line(head))
                    method, path, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
                    body = reader.read(int(headers.get("Content-Length", "0")))
                    self.seen.append(Seen(method, path, headers.get("Idempotency-Key"), time.monotonic()))
                    if headers.get("Upgrade"):
                        self._pipe(client, head)
                        return
                    action = self.plan.popleft() if self.plan and self.only in path else passed
                    action(Exchange(client, head, body, lambda: self._ask(method, path, headers, body)))
        except (Cut, OSError, http.client.HTTPException):
            # With a reset, like a machine that crashes.
            with contextlib.suppress(OSError):
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        finally:
            client.close()

    def _ask(self, method: str, path: str, headers: http.client.HTTPMessage, body: bytes) -> bytes:
        connection = http.client.HTTPConnection(urlsplit(self.target).netloc, timeout=120)
        hop = {"connection", "host", "content-length"}
        connection.request(method, path, body or None, {n: v for n, v in headers.items() if n.lower() not in hop})
        answer = connection.getresponse()
        content = answer.read()
        lines = [f"HTTP/1.1 {answer.status} {answer.reason}", f"Content-Length: {len(content)}"]
        lines += [f"{n}: {v}" for n, v in answer.getheaders() if n.lower() not in {"content-length", "connection"}]
        connection.close()
        return ("\r\n".join(lines) + "\r\n\r\n").encode() + content

    def _pipe(self, client: socket.socket, head: bytes) -> None:
        left = self.cut_streams_after.popleft() if self.cut_streams_after else None
        parts = urlsplit(self.target)
        with socket.create_connection((parts.hostname, parts.port or 80)) as service:
            service.sendall(head)

            def up() -> None:
                with contextlib.suppress(OSError):
                    while data := client.recv(65536):
                        service.sendall(data)
                with contextlib.suppress(OSError):
                    service.shutdown(socket.SHUT_RDWR)

            upwards = threading.Thread(target=up, daemon=True)
            upwards.start()
            try:
                while data := service.recv(65536):
                    if left is not None and len(data) >= left:
                        client.sendall(data[:left])
                        break
                    left = None if left is None else left - len(data)
                    client.sendall(data)
            finally:
                # A socket that is being read is not closed.
                with contextlib.suppress(OSError):
                    client.shutdown(socket.SHUT_RD)
                upwards.join()
            raise Cut


def _after_first_line(head: bytes) -> Any:
    import io

    return io.BytesIO(head.split(b"\r\n", 1)[1])


class Called:
    """Asyncio object, called from a blocking test."""

    def __init__(self, inner: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._inner, self._loop = inner, loop

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        if not callable(value):
            return value

        def method(*args: Any, **kwargs: Any) -> Any:
            result = value(*args, **kwargs)
            if inspect.isasyncgen(result):
                return self._drain(result)
            return self._wrap(self._loop.run_until_complete(result))

        return method

    def _wrap(self, result: Any) -> Any:
        if isinstance(result, AsyncWorld):
            return Called(result, self._loop)
        return [self._wrap(one) for one in result] if isinstance(result, list) else result

    def _drain(self, frames: Any) -> Iterator[Any]:
        try:
            while True:
                try:
                    one = self._loop.run_until_complete(frames.__anext__())
                except StopAsyncIteration:
                    return
                yield one
        finally:
            self._loop.run_until_complete(frames.aclose())


KINDS = ("blocking", "async")


@contextlib.contextmanager
def client(kind: str, url: str, token: str | None = None, **options: Any) -> Iterator[Any]:
    """Returns a client of either kind. Both are called in the same way."""
    if kind == "blocking":
        with Service(url, token, **options) as service:
            yield service
        return
    loop = asyncio.new_event_loop()
    called = Called(AsyncService(url, token, **options), loop)
    try:
        yield called
    finally:
        called.close()
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()

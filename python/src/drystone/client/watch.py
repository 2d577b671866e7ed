"""Stream policy: decoding of frames, which interruptions are resumed, and for how long. Without input, output or waiting,
which the blocking and the async client do."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from websockets.exceptions import ConnectionClosed, InvalidProxy, InvalidStatus, InvalidURI, WebSocketException
from websockets.typing import Subprotocol

from .errors import BadAnswer, DrystoneError, StreamEnded, TimedOut, Unreachable
from .frames import Bodies
from .retry import CONNECT_SECONDS, RETRIED, backoff, is_untrusted, problem_of, words

STREAM_ERRORS = (WebSocketException, OSError, EOFError, TimeoutError)
"""Errors that websockets raises while it connects and reads."""
GONE = 1000
"""Close code of a stream whose world was deleted."""
RESUMED = frozenset({1001, 1005, 1006, 1011, 1012, 1013, 1014})
"""Close codes after which a stream is resumed: going away, no code, interrupted, service error, restart, retry later,
bad gateway."""


def keep_alive() -> list[tuple[int, int, int]]:
    """Returns socket options that detect the loss of the other machine within a minute of silence."""
    options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    for name, value in (("TCP_KEEPIDLE", 20), ("TCP_KEEPALIVE", 20), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        # Some systems lack some of them.
        if hasattr(socket, name):
            options.append((socket.IPPROTO_TCP, getattr(socket, name), value))
    return options


class Watch:
    """Stream over any number of connections."""

    def __init__(
        self, path: str, rate: float, region: tuple[float, float, float, float] | None, patience: float
    ) -> None:
        query = {"rate": str(rate), "format": "delta"}
        if region is not None:
            query["region"] = ",".join(map(str, region))
        self.path = f"{path}/stream?{urlencode(query)}"
        self.bodies = Bodies()
        self.patience = patience
        self._seen = False
        self._failures = 0
        self._attempts = 0
        self._lost = time.monotonic()
        self._reason = ""

    @property
    def attempts(self) -> int:
        """Returns the number of connections begun."""
        return self._attempts

    def options(self, url: str, token: str | None) -> dict[str, Any]:
        """Begins a connection. Returns the options for websockets, except TLS."""
        self._attempts += 1
        headers: Mapping[str, str] | None = {"Authorization": f"Bearer {token}"} if token else None
        return {
            "uri": f"ws{url.removeprefix('http')}{self.path}",
            "subprotocols": [Subprotocol("drystone.v1")],
            "additional_headers": headers,
            "open_timeout": CONNECT_SECONDS,
            "close_timeout": 2.0,
            # The service sends pings. A ping of the client would not be answered while a slow reader lets frames wait.
            "ping_interval": None,
            "max_size": None,
            "max_queue": 1,
        }

    def connected(self) -> None:
        """Records that a connection was established."""
        if self._seen:
            self.bodies.resume(time.monotonic() - self._lost, self._reason)

    def take(self, message: str | bytes) -> Bodies | None:
        """Handles a message. Returns the bodies, if it is a frame."""
        if isinstance(message, str):
            return None
        self.bodies.feed(message)
        (self._seen, self._failures) = (True, 0)
        return self.bodies

    def broke(self, error: BaseException) -> float | None:
        """Handles the end of a connection. Returns the seconds to wait before the next one, or None if the stream is over.

        Raises the corresponding error otherwise.
        """
        if isinstance(error, BadAnswer):
            raise self._final(error)
        now = time.monotonic()
        if self._failures == 0 and (self._seen or isinstance(error, ConnectionClosed)):
            self._lost = now
        self._failures += 1
        code: int | None = None
        at_least: float | None = None
        made: DrystoneError
        if isinstance(error, DrystoneError):
            made = error
        elif isinstance(error, ConnectionClosed):
            code = error.rcvd.code if error.rcvd else None
            reason = (error.rcvd.reason if error.rcvd else "") or "the connection was interrupted"
            if code == GONE:
                return None
            made = StreamEnded(f"{self.path}: {reason}", step=self.bodies.step, code=code)
            if code is not None and code not in RESUMED:
                raise self._final(made) from error
            self._reason = reason
        elif isinstance(error, InvalidStatus):
            response = error.response
            problem = problem_of(response.status_code, response.headers, bytes(response.body or b""))
            if problem.status == 404 and self._seen:
                # Deleted while the client was disconnected.
                return None
            if problem.status not in RETRIED:
                raise self._final(problem) from error
            made, at_least = problem, problem.retry_after
        elif isinstance(error, (InvalidURI, InvalidProxy)):
            raise self._final(DrystoneError(f"{self.path}: {error}")) from error
        elif is_untrusted(error):
            raise self._final(Unreachable(f"{self.path}: the certificate is not trusted: {words(error)}")) from error
        elif isinstance(error, TimeoutError):
            made = TimedOut(f"{self.path}: no connection within {CONNECT_SECONDS:.0f} s")
        else:
            made = Unreachable(f"{self.path}: no connection: {words(error)}")
        self._reason = self._reason or words(error)
        wait = backoff(self._failures, at_least)
        left = self._lost + self.patience - now
        if at_least is None:
            wait = min(wait, max(left, 0.0))
        if left <= 0.0 or wait > left:
            if self._seen and not isinstance(made, StreamEnded):
                made = StreamEnded(str(made), step=self.bodies.step)
            raise self._final(made) from error
        return wait

    def _final(self, error: DrystoneError) -> DrystoneError:
        error.attempts, error.request = self._attempts, f"GET {self.path}"
        return error

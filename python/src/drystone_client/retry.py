"""Decisions about attempts: which failures are tried again, when, and for how long. Neither reads nor waits: the blocking
and the async client do that."""

from __future__ import annotations

import email.utils
import random
import re
import ssl
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import httpx

from .errors import BadAnswer, DrystoneError, Problem, TimedOut, Unreachable

T = TypeVar("T")

MAX_KEY = 128
"""Characters of an idempotency key."""
STEP_SECONDS = 600.0
"""Seconds the service may take for steps, the opening of a world or a restore (its `limits.step_seconds`)."""
MARGIN = 30.0
"""Seconds an answer may be late on its way."""
CONNECT_SECONDS = 10.0
"""Seconds a connection may take to be made."""
INITIAL_WAIT = 0.1
"""Seconds before the second attempt, and twice as many before each further one."""
MAX_WAIT = 5.0
"""Seconds between two attempts at most, unless the service asks for more."""
RETRIED = frozenset({429, 502, 503, 504})
"""Statuses that say: later. 507 is not one of them: the store stays full until room is made, and nothing has happened."""
BUSY = "urn:drystone:busy"
"""Type of the problem that says: the first request with this key is still being worked on."""
NETWORK_ERRORS = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError)
"""Everything that httpx raises when a request is sent."""


def checked_key(key: str | None) -> str:
    """Returns the key, or a new one.

    Raises ValueError if the service would not take it.
    """
    if key is None:
        return uuid.uuid4().hex
    if not 1 <= len(key) <= MAX_KEY or not all(" " <= letter <= "~" for letter in key) or key != key.strip():
        raise ValueError(f"key is {key!r}; expected 1 to {MAX_KEY} visible ASCII characters")
    return key


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request, and how its answer is read."""

    method: str
    path: str
    read: Callable[[httpx.Response], T]
    content: bytes | None = None
    key: str | None = None
    """Idempotency key; none for a request that changes nothing."""
    takes: float | None = None
    """Seconds the service may take; as long as the client usually waits if there is none."""

    @property
    def headers(self) -> dict[str, str]:
        """Headers beside those of the client."""
        headers = {"Idempotency-Key": self.key} if self.key else {}
        if self.content is not None:
            headers["Content-Type"] = "application/json"
        return headers


def problem_of(status: int, headers: Mapping[str, str], content: bytes) -> Problem:
    """Returns the problem that an answer means."""
    try:
        body: Any = httpx.Response(status, content=content).json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        text = " ".join(re.sub(r"<[^>]*>", " ", content[:2000].decode(errors="replace")).split())[:200]
        body = {"detail": f"HTTP {status}, not from a Drystone service" + (f": {text}" if text else "")}
    problem = Problem({"status": status, **body})
    problem.retry_after = retry_after(headers)
    return problem


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Returns the seconds that `Retry-After` asks for: a number, or a date, compared with the answer's own."""
    text = headers.get("Retry-After", "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d*)?", text):
        return float(text)
    if not text:
        return None
    try:
        until = email.utils.parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None
    try:
        # The service's clock, if it tells: ours may be another.
        now = email.utils.parsedate_to_datetime(headers.get("Date", "")).timestamp()
    except (ValueError, OverflowError):
        now = time.time()
    return max(0.0, until - now)


def backoff(failures: int, at_least: float | None) -> float:
    """Returns the seconds to wait after so many failures, with jitter, so that clients that failed together do not come
    back together."""
    wait = min(MAX_WAIT, INITIAL_WAIT * 2.0 ** min(failures - 1, 16))
    wait *= random.uniform(0.5, 1.0)
    return wait if at_least is None else max(wait, at_least * random.uniform(1.0, 1.1))


def causes(error: BaseException) -> list[BaseException]:
    """Returns a chain of errors, the first cause last."""
    chain: list[BaseException] = []
    at: BaseException | None = error
    while at is not None and at not in chain:
        chain.append(at)
        at = at.__cause__ or at.__context__
    return chain


def words(error: BaseException) -> str:
    """Returns what the first cause says: the operating system's words are better than those of the libraries above."""
    said = (text for cause in reversed(causes(error)) if (text := " ".join(str(cause).split())))
    return next(said, type(error).__name__)


def is_untrusted(error: BaseException) -> bool:
    """True where TLS failed for the other side's certificate: trying again does not help."""
    return any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes(error))


def is_busy(problem: Problem) -> bool:
    """True where the first request with this key is still being worked on."""
    # Services of earlier versions say it in words alone.
    return problem.status == 409 and (problem.type == BUSY or "still being worked on" in problem.detail)


@dataclass
class Attempts(Generic[T]):
    """Attempts of one request.

    `patience` bounds the seconds in which the service is away or refuses. Seconds in which it works on the request do not
    count; they are bounded by what it may take.
    """

    call: Call[T]
    patience: float
    usual: float
    """Seconds an answer may take, unless the call says more."""
    url: str = ""
    count: int = 0
    spent: float = 0.0
    """Seconds of patience used up."""
    in_doubt: bool = False
    """An earlier attempt may have been done."""
    failures: int = 0
    lost: bool = False
    """The attempt before came to no answer: the service may be elsewhere."""
    start: float = field(default_factory=time.monotonic)
    _begun: float = 0.0
    _mark: float | None = None
    _free: float = 0.0

    @property
    def takes(self) -> float:
        """Seconds the answer of one attempt may take."""
        return self.usual if self.call.takes is None else max(self.usual, self.call.takes + MARGIN)

    def begin(self, url: str) -> httpx.Timeout:
        """Begins an attempt. Returns its timeouts."""
        self.url = url
        self.count += 1
        self._begun = time.monotonic()
        return httpx.Timeout(self.takes, connect=min(CONNECT_SECONDS, self.usual))

    def broke(self, error: BaseException) -> float:
        """Takes an error of the connection. Returns the seconds to wait before the next attempt.

        Raises what it means if there is none.
        """
        self.lost = True
        if isinstance(error, DrystoneError):
            # The search for the service failed, before there was an attempt.
            self._begun = time.monotonic()
            return self._wait(error, None, reached=False)
        where, why = f"{self.call.method} {self.url}{self.call.path}", words(error)
        if is_untrusted(error):
            raise self._final(Unreachable(f"{where}: the certificate is not trusted: {why}")) from error
        if isinstance(error, httpx.DecodingError):
            raise self._final(BadAnswer(f"{where}: the answer cannot be read: {why}")) from error
        lasting = (httpx.UnsupportedProtocol, httpx.LocalProtocolError, httpx.InvalidURL, httpx.StreamError)
        if isinstance(error, lasting):
            raise self._final(DrystoneError(f"{where}: the request cannot be sent: {why}")) from error
        away = isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError))
        made: DrystoneError
        if isinstance(error, httpx.ConnectTimeout):
            made = TimedOut(f"{where}: no connection within {min(CONNECT_SECONDS, self.usual):.0f} s")
        elif isinstance(error, httpx.TimeoutException):
            made = TimedOut(f"{where}: no answer within {self.takes:.0f} s")
        elif away:
            made = Unreachable(f"{where}: no connection: {why}")
        else:
            made = Unreachable(f"{where}: the connection was cut: {why}")
        return self._wait(made, None, reached=not away, cause=error)

    def answered(self, answer: httpx.Response) -> float | None:
        """Takes an answer. Returns the seconds to wait before the next attempt, or none if the answer is good.

        Raises the problem if there is neither.
        """
        self.lost = False
        if answer.is_success:
            return None
        status = answer.status_code
        if status == 404 and self.call.method == "DELETE" and self.in_doubt:
            # The attempt that was cut has done it.
            return None
        problem = problem_of(status, answer.headers, answer.content)
        if is_busy(problem):
            wait = self._wait(problem, problem.retry_after, reached=True)
            self._free = wait
            return wait
        # A proxy's, or Ray Serve's whose replica has gone: the service itself says what kind of problem it has.
        foreign = status == 500 and not problem.type.startswith("urn:drystone:")
        if status in RETRIED or foreign:
            # A proxy that gave up waiting says 504; 502 may be either.
            self.in_doubt |= status == 502 or problem.type.endswith("store-away")
            return self._wait(problem, problem.retry_after, reached=status == 504 or foreign)
        raise self._final(problem)

    def result(self, answer: httpx.Response) -> T:
        """Reads a good answer."""
        try:
            return self.call.read(answer)
        except DrystoneError as error:
            raise self._final(error)
        except (ValueError, KeyError, TypeError, IndexError) as error:
            where = f"{self.call.method} {self.url}{self.call.path}"
            raise self._final(BadAnswer(f"{where}: the answer cannot be read: {error!r}")) from error

    def _wait(
        self, error: DrystoneError, at_least: float | None, *, reached: bool, cause: BaseException | None = None
    ) -> float:
        now = time.monotonic()
        self.failures += 1
        if self._mark is not None:
            # Patience begins with the first failure. A wait for the service's own work is free, an attempt in it as well.
            self.spent += max(0.0, self._begun - self._mark - self._free)
            self.spent += 0.0 if reached else now - self._begun
        self._mark, self._free = now, 0.0
        self.in_doubt |= reached
        wait = backoff(self.failures, at_least)
        left = self.patience - self.spent
        if at_least is None:
            wait = min(wait, max(left, 0.0))
        bound = self.start + self.takes + self.patience
        if left <= 0.0 or wait > left or now + wait > bound:
            if cause is None:
                raise self._final(error)
            raise self._final(error) from cause
        return wait

    def _final(self, error: DrystoneError) -> DrystoneError:
        (error.key, error.attempts) = (self.call.key, self.count)
        error.request = f"{self.call.method} {self.call.path}"
        ending = []
        if self.count > 1:
            ending.append(f"tried {self.count} times in {time.monotonic() - self.start:.1f} s")
        if self.call.key and not isinstance(error, Problem):
            ending.append(f"to ask again for the same: key={self.call.key!r}")
        if ending and error.args:
            error.args = (f"{error.args[0]} ({'; '.join(ending)})", *error.args[1:])
        return error



"""Retry policy: which failures are retried, when, and for how long. Without input, output or waiting, which the blocking
and the async client do."""

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
"""Largest number of characters of an idempotency key."""
STEP_SECONDS = 600.0
"""Seconds the service may take for steps, the opening of a world or a restore (its `limits.step_seconds`)."""
MARGIN = 30.0
"""Additional seconds for the network."""
CONNECT_SECONDS = 10.0
"""Timeout for connecting, s."""
INITIAL_WAIT = 0.1
"""Seconds before the second attempt; they double before each further one."""
MAX_WAIT = 5.0
"""Largest number of seconds between two attempts, unless the service asks for more."""
RETRIED = frozenset({429, 502, 503, 504})
"""Statuses after which a retry may succeed. 507 is not one of them: the store stays full until space is freed, and
nothing has happened."""
BUSY = "urn:drystone:busy"
"""Problem type of a request whose first attempt with the same key is still in progress."""
NETWORK_ERRORS = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError)
"""Errors that httpx raises when a request is sent."""


def checked_key(key: str | None) -> str:
    """Returns the key, or a new one.

    Raises ValueError if the service would refuse it.
    """
    if key is None:
        return uuid.uuid4().hex
    if not 1 <= len(key) <= MAX_KEY or not all(" " <= letter <= "~" for letter in key) or key != key.strip():
        raise ValueError(f"key is {key!r}; expected 1 to {MAX_KEY} visible ASCII characters")
    return key


@dataclass(frozen=True)
class Call(Generic[T]):
    """Request, with the function that reads its answer."""

    method: str
    path: str
    read: Callable[[httpx.Response], T]
    content: bytes | None = None
    key: str | None = None
    """Idempotency key; None for a read-only request."""
    takes: float | None = None
    """Seconds the service may take; None for the client's usual timeout."""

    @property
    def headers(self) -> dict[str, str]:
        """Returns the headers, in addition to those of the client."""
        headers = {"Idempotency-Key": self.key} if self.key else {}
        if self.content is not None:
            headers["Content-Type"] = "application/json"
        return headers


def problem_of(status: int, headers: Mapping[str, str], content: bytes) -> Problem:
    """Returns the problem described by an answer."""
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
    """Returns the seconds of `Retry-After`: a number, or a date, relative to the answer's own date."""
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
        # The service's clock, if it sends its date: the local clock may differ.
        now = email.utils.parsedate_to_datetime(headers.get("Date", "")).timestamp()
    except (ValueError, OverflowError):
        now = time.time()
    return max(0.0, until - now)


def backoff(failures: int, at_least: float | None) -> float:
    """Returns the seconds to wait after a number of failures, with jitter, so that clients that failed together do not
    return together."""
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
    """Returns the message of the first cause: the operating system's is clearer than those of the libraries above."""
    said = (text for cause in reversed(causes(error)) if (text := " ".join(str(cause).split())))
    return next(said, type(error).__name__)


def is_untrusted(error: BaseException) -> bool:
    """Returns true if TLS failed because of the server's certificate: retries do not help."""
    return any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes(error))


def is_busy(problem: Problem) -> bool:
    """Returns true if the first request with this key is still in progress."""
    # Services of earlier versions only have the text.
    return problem.status == 409 and (problem.type == BUSY or "still being worked on" in problem.detail)


@dataclass
class Attempts(Generic[T]):
    """Attempts of one request.

    `patience` limits the seconds in which the service is unreachable or refuses the request. Seconds in which it executes
    the request do not count; they are limited by the request's own timeout.
    """

    call: Call[T]
    patience: float
    usual: float
    """Seconds an answer may take, unless the call has a longer time."""
    url: str = ""
    count: int = 0
    spent: float = 0.0
    """Seconds of patience used up."""
    in_doubt: bool = False
    """True if an earlier attempt may have been executed."""
    failures: int = 0
    lost: bool = False
    """True if the previous attempt got no answer: the service may have moved."""
    start: float = field(default_factory=time.monotonic)
    _begun: float = 0.0
    _mark: float | None = None
    _free: float = 0.0

    @property
    def takes(self) -> float:
        """Returns the seconds the answer of one attempt may take."""
        return self.usual if self.call.takes is None else max(self.usual, self.call.takes + MARGIN)

    def begin(self, url: str) -> httpx.Timeout:
        """Begins an attempt. Returns its timeouts."""
        self.url = url
        self.count += 1
        self._begun = time.monotonic()
        return httpx.Timeout(self.takes, connect=min(CONNECT_SECONDS, self.usual))

    def broke(self, error: BaseException) -> float:
        """Handles an error of the connection. Returns the seconds to wait before the next attempt.

        Raises the corresponding error if there is none.
        """
        self.lost = True
        if isinstance(error, DrystoneError):
            # The lookup of the address failed before the attempt.
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
            made = Unreachable(f"{where}: the connection was interrupted: {why}")
        return self._wait(made, None, reached=not away, cause=error)

    def answered(self, answer: httpx.Response) -> float | None:
        """Handles an answer. Returns the seconds to wait before the next attempt, or None if the answer is good.

        Raises the problem if it is final.
        """
        self.lost = False
        if answer.is_success:
            return None
        status = answer.status_code
        if status == 404 and self.call.method == "DELETE" and self.in_doubt:
            # The interrupted attempt has executed it.
            return None
        problem = problem_of(status, answer.headers, answer.content)
        if is_busy(problem):
            wait = self._wait(problem, problem.retry_after, reached=True)
            self._free = wait
            return wait
        # From a proxy, or from Ray Serve whose replica ended: the service itself sends problem details.
        foreign = status == 500 and not problem.type.startswith("urn:drystone:")
        if status in RETRIED or foreign:
            # 504 is a proxy's timeout; 502 may be either.
            self.in_doubt |= status == 502 or problem.type.endswith("store-away")
            return self._wait(problem, problem.retry_after, reached=status == 504 or foreign)
        raise self._final(problem)

    def result(self, answer: httpx.Response) -> T:
        """Reads a successful answer."""
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
            # Patience begins with the first failure. Waiting for the service's own work is free, as are attempts during it.
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
            ending.append(f"to retry the same request: key={self.call.key!r}")
        if ending and error.args:
            error.args = (f"{error.args[0]} ({'; '.join(ending)})", *error.args[1:])
        return error



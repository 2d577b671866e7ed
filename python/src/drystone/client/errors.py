"""Errors of the client. All of them are `DrystoneError`; those of httpx and websockets are converted."""

from __future__ import annotations

from typing import Any

from ..errors import Error

Json = dict[str, Any]


class DrystoneError(Error):
    """Base of all errors of the client."""

    key: str | None = None
    """Idempotency key of the request, if it changes state. The same call with `key=error.key` is executed once, even if
    the service has executed it already."""
    request: str | None = None
    """Method and path of the request."""
    attempts: int = 0
    """Number of attempts to send the request."""

    def __init__(self, message: str) -> None:
        super().__init__(message)

    def __reduce__(self) -> tuple[Any, ...]:
        # Rebuilt without __init__, whose arguments differ in subclasses: errors travel between processes.
        return (_rebuilt, (type(self), self.args, self.__dict__.copy()))


def _rebuilt(kind: type[DrystoneError], args: tuple[Any, ...], state: dict[str, Any]) -> DrystoneError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class Problem(DrystoneError):
    """Error response of the service (RFC 9457), or of a proxy in front of it."""

    def __init__(self, body: Json) -> None:
        self.type: str = str(body.get("type", "about:blank"))
        """`urn:drystone:` and a word for the kind of problem; `about:blank` if the response is not the service's."""
        status = body.get("status", 0)
        self.status: int = status if isinstance(status, int) else 0
        """HTTP status."""
        self.detail: str = str(body.get("detail", ""))
        self.path: str | None = body.get("path")
        """JSON path of the wrong value in the request body."""
        self.expected: str | None = body.get("expected")
        """Description of the expected value."""
        self.retry_after: float | None = None
        """Seconds after which a retry may succeed, according to the service."""
        self.body = body
        """Whole response body."""
        place = f"{self.path}: " if self.path else ""
        super().__init__(f"{place}{self.detail}" + (f"; expected {self.expected}" if self.expected else ""))


class Unreachable(DrystoneError, ConnectionError):
    """No connection to the service, or an interrupted one. It is unknown whether the service has executed the request."""


class TimedOut(DrystoneError, TimeoutError):
    """No answer in time. It is unknown whether the service has executed the request."""


class StreamEnded(DrystoneError):
    """Interrupted stream that could not be resumed."""

    def __init__(self, message: str, *, step: int, code: int | None = None) -> None:
        self.step = step
        """Steps done in the last received frame."""
        self.code = code
        """Close code of the WebSocket, if the service sent one."""
        super().__init__(message)


class BadAnswer(DrystoneError, ValueError):
    """Unreadable answer or frame: the address is not that of a Drystone service, or of another version."""

"""Errors of the client. All of them are `DrystoneError`; none of httpx or websockets comes through."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


class DrystoneError(Exception):
    """Base of all errors of this package."""

    key: str | None = None
    """Idempotency key of the request, if it changes something. The same call with `key=error.key` is done once, even if
    the service has done it already."""
    request: str | None = None
    """Method and path of the request."""
    attempts: int = 0
    """Number of times the request was sent, or begun to be sent."""

    def __init__(self, message: str) -> None:
        super().__init__(message)

    def __reduce__(self) -> tuple[Any, ...]:
        # Built anew without __init__, which takes other things in subclasses: errors travel between processes.
        return (_rebuilt, (type(self), self.args, self.__dict__.copy()))


def _rebuilt(kind: type[DrystoneError], args: tuple[Any, ...], state: dict[str, Any]) -> DrystoneError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class Problem(DrystoneError):
    """An answer of the service that says what does not work (RFC 9457), or of a proxy before it."""

    def __init__(self, body: Json) -> None:
        self.type: str = str(body.get("type", "about:blank"))
        """`urn:drystone:` and a word for the kind of problem; `about:blank` if the answer is not the service's."""
        status = body.get("status", 0)
        self.status: int = status if isinstance(status, int) else 0
        """HTTP status."""
        self.detail: str = str(body.get("detail", ""))
        self.path: str | None = body.get("path")
        """JSON path of the wrong value in the body that was sent."""
        self.expected: str | None = body.get("expected")
        """Description of a right value."""
        self.retry_after: float | None = None
        """Seconds after which the service says that it may work."""
        self.body = body
        """All of the answer."""
        place = f"{self.path}: " if self.path else ""
        super().__init__(f"{place}{self.detail}" + (f"; expected {self.expected}" if self.expected else ""))


class Unreachable(DrystoneError, ConnectionError):
    """There is no connection to the service, or it was cut. Whether the service has done the request is not known."""


class TimedOut(DrystoneError, TimeoutError):
    """The service has not answered in time. Whether it has done the request is not known."""


class StreamEnded(DrystoneError):
    """A stream broke off and could not be taken up again."""

    def __init__(self, message: str, *, step: int, code: int | None = None) -> None:
        self.step = step
        """Steps done in the last frame that came."""
        self.code = code
        """Code of the WebSocket's end, if the service gave one."""
        super().__init__(message)


class BadAnswer(DrystoneError, ValueError):
    """An answer or a frame cannot be read: the address is not that of a Drystone service, or of another version."""

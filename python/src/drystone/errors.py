"""Errors of the package, all derived from `Error`. Files that cannot be read or written raise OSError."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """Base of all errors of this package."""


class ArgumentError(Error, ValueError):
    """An argument is not valid: `forces[0, 3]: is nan; expected a finite number`."""

    def __init__(self, argument: str, problem: str, expected: str) -> None:
        super().__init__(f"{argument}: {problem}; expected {expected}")
        self.argument = argument
        """Name of the argument, or of the part of it."""
        self.problem = problem
        """Description of what was given."""
        self.expected = expected
        """Description of valid values."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.argument, self.problem, self.expected))


class SceneError(ArgumentError):
    """A scene, a body or a joint is not valid: `scene: bodies[1].shapes[0].circle.radius: is -1; expected a length …`."""

    def __init__(self, path: str, problem: str, expected: str, argument: str = "scene") -> None:
        super().__init__(f"{argument}: {path}" if path else argument, problem, expected)
        self.argument = argument
        self.path = path
        """JSON path of the value, such as `bodies[1].position[0]`; empty for the whole."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.path, self.problem, self.expected, self.argument))


class SnapshotError(ArgumentError):
    """A saved world or state is damaged, or is of another world or environment."""

    def __init__(self, problem: str, argument: str = "data", expected: str | None = None) -> None:
        Error.__init__(self, f"{argument}: {problem}" + (f"; expected {expected}" if expected else ""))
        self.argument = argument
        self.problem = problem
        self.expected = expected or "bytes that `save` returned for a world of the same scene"
        self._given = expected

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.problem, self.argument, self._given))


class MissingError(Error, KeyError, IndexError):
    """There is no such body or joint, or no longer. Both a KeyError and an IndexError, as bodies have ids and indices."""

    def __str__(self) -> str:
        # KeyError shows its argument with quotes.
        return str(self.args[0]) if self.args else ""


class DeviceError(Error, RuntimeError):
    """There is no GPU, it was lost, or a world does not fit it; or there is no display for a window."""


class StepError(Error, RuntimeError):
    """A step failed, for example as it finds more contacts than are allowed."""


class PendingError(Error, RuntimeError):
    """The worlds of a batch are in a step that `step_async` began: call `wait` first."""


class ClusterError(Error, RuntimeError):
    """Actors of a Ray cluster do not start, do not answer, or end again and again."""


class InternalError(Error, RuntimeError):
    """The solver failed by a mistake of its own. The world cannot be used any more."""

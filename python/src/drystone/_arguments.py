"""Checks of arguments: each error names the argument, what it is, and what was expected."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import ArgumentError

Pair: TypeAlias = "Sequence[float] | NDArray[np.floating[Any]]"
"""Two numbers: a tuple, a list or an array of shape (2,)."""

FLOAT_KINDS = "fiu"


def number(name: str, value: object) -> float:
    """Returns a finite number."""
    if isinstance(value, bool) or not isinstance(value, (numbers.Real, np.number)):
        raise ArgumentError(name, f"is {_shown(value)}", "a number")
    result = float(value)
    if not math.isfinite(result):
        raise ArgumentError(name, f"is {result}", "a finite number")
    return result


def whole(name: str, value: object, least: int = 0, most: int = 2**63 - 1) -> int:
    """Returns a whole number in a range."""
    expected = f"a whole number from {least} to {most}" if most < 2**53 else f"a whole number of at least {least}"
    if isinstance(value, bool) or not isinstance(value, (numbers.Integral, np.integer)):
        raise ArgumentError(name, f"is {_shown(value)}", expected)
    result = int(value)
    if not least <= result <= most:
        raise ArgumentError(name, f"is {result}", expected)
    return result


def pair(name: str, value: object) -> tuple[float, float]:
    """Returns two finite numbers."""
    array = floats(name, value, "(2,)")
    if array.shape != (2,):
        raise ArgumentError(name, f"has shape {array.shape}", "shape (2,)")
    return float(array[0]), float(array[1])


def size(name: str, value: object) -> tuple[int, int]:
    """Returns width and height in pixels."""
    if not isinstance(value, Sequence) or len(value) != 2:
        raise ArgumentError(name, f"is {_shown(value)}", "width and height in pixels")
    return whole(f"{name}[0]", value[0], 16, 4096), whole(f"{name}[1]", value[1], 16, 4096)


def floats(name: str, value: object, shape: str) -> NDArray[np.float32]:
    """Returns finite numbers as a contiguous array of float32. `shape` is for the message of an error."""
    given = _array(name, value, shape)
    if given.dtype.kind not in FLOAT_KINDS:
        raise ArgumentError(name, f"has dtype {given.dtype}", "numbers, float32")
    with np.errstate(over="ignore"):
        array = np.ascontiguousarray(given, dtype=np.float32)
    if array.ndim != given.ndim:
        # A single number became an array of one.
        array = array.reshape(given.shape)
    if not np.isfinite(array).all():
        place = tuple(int(index) for index in np.argwhere(~np.isfinite(array))[0])
        where = f"{name}[{', '.join(map(str, place))}]" if place else name
        raise ArgumentError(where, f"is {given[place]}", "a finite number that fits float32")
    return array


def partial(name: str, value: object, shape: tuple[int, ...]) -> NDArray[np.float32] | None:
    """Returns an array of float32 of a shape, flat, in which NaN says nothing; None stays None."""
    if value is None:
        return None
    given = _array(name, value, str(shape))
    if given.dtype.kind not in FLOAT_KINDS:
        raise ArgumentError(name, f"has dtype {given.dtype}", "numbers, float32")
    if given.shape != shape:
        raise ArgumentError(name, f"has shape {given.shape}", f"shape {shape}")
    if np.isinf(given).any():
        place = tuple(int(index) for index in np.argwhere(np.isinf(given))[0])
        raise ArgumentError(f"{name}[{', '.join(map(str, place))}]", f"is {given[place]}", "a finite number, or NaN")
    return np.ascontiguousarray(given, dtype=np.float32).reshape(-1)


def flags(name: str, value: object, count: int) -> NDArray[np.bool_]:
    """Returns an array of one flag a world."""
    array = _array(name, value, f"({count},)")
    if array.dtype != np.bool_:
        raise ArgumentError(name, f"has dtype {array.dtype}", "dtype bool")
    if array.shape != (count,):
        raise ArgumentError(name, f"has shape {array.shape}", f"shape ({count},), a flag for each world")
    return array


def _array(name: str, value: Any, shape: str) -> NDArray[Any]:
    likely: ArrayLike = value
    try:
        return np.asarray(likely)
    except (ValueError, TypeError) as error:
        raise ArgumentError(name, f"is no array: {error}", f"an array of shape {shape}") from None


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"

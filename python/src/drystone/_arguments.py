"""Checks of arguments: each error names the argument, what it is, and what was expected."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import ArgumentError
from .results import BodyId, JointId

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
    if result > most:
        raise ArgumentError(name, f"is {result}", f"a whole number from {least} to {most}")
    if result < least:
        raise ArgumentError(name, f"is {result}", expected)
    return result


def id_pair(name: str, id: BodyId | JointId) -> tuple[int, int]:
    """Returns index and generation of an id for the extension. Raises ArgumentError unless they fit 32 bits."""
    most = 2**32 - 1
    return whole(f"{name}.index", id.index, 0, most), whole(f"{name}.generation", id.generation, 0, most)


def pair(name: str, value: object) -> tuple[float, float]:
    """Returns two finite numbers."""
    array = floats(name, value, "(2,)")
    if array.shape != (2,):
        raise ArgumentError(name, f"has shape {array.shape}", "shape (2,)")
    return float(array[0]), float(array[1])


def point(name: str, value: object) -> tuple[float, float]:
    """Returns two finite numbers as doubles, without rounding them to float32."""
    given = _numbers(name, value, "(2,)", "float64")
    if given.shape != (2,):
        raise ArgumentError(name, f"has shape {given.shape}", "shape (2,)")
    array = given.astype(np.float64)
    _check_finite(name, array, given, "a finite number")
    return float(array[0]), float(array[1])


def size(name: str, value: object) -> tuple[int, int]:
    """Returns width and height in pixels."""
    if not isinstance(value, Sequence) or len(value) != 2:
        raise ArgumentError(name, f"is {_shown(value)}", "width and height in pixels")
    return whole(f"{name}[0]", value[0], 16, 4096), whole(f"{name}[1]", value[1], 16, 4096)


def floats(name: str, value: object, shape: str) -> NDArray[np.float32]:
    """Returns finite numbers as a contiguous array of float32. `shape` is for the message of an error."""
    given = _numbers(name, value, shape)
    with np.errstate(over="ignore"):
        array = np.ascontiguousarray(given, dtype=np.float32)
    if array.ndim != given.ndim:
        # A single number became an array of one.
        array = array.reshape(given.shape)
    _check_finite(name, array, given, "a finite number that fits float32")
    return array


def partial(name: str, value: object, shape: tuple[int, ...]) -> NDArray[np.float32] | None:
    """Returns an array of float32 of a shape, flat, in which NaN leaves a value as it is; None stays None."""
    if value is None:
        return None
    given = _numbers(name, value, str(shape))
    if given.shape != shape:
        raise ArgumentError(name, f"has shape {given.shape}", f"shape {shape}")
    if np.isinf(given).any():
        place = tuple(int(index) for index in np.argwhere(np.isinf(given))[0])
        raise ArgumentError(f"{name}[{', '.join(map(str, place))}]", f"is {given[place]}", "a finite number, or NaN")
    return np.ascontiguousarray(given, dtype=np.float32).reshape(-1)


def partial_pairs(name: str, value: object, shape: tuple[int, ...]) -> NDArray[np.float32] | None:
    """Returns an array as `partial`, in which pairs are numbers or NaN as a whole. Raises ArgumentError for half a pair."""
    array = partial(name, value, shape)
    if array is None:
        return None
    gaps = np.isnan(array).reshape(-1, 2)
    half = gaps[:, 0] != gaps[:, 1]
    if half.any():
        first = int(np.argmax(half))
        row, column = divmod(2 * first // shape[2], shape[1])
        x, y = array[2 * first : 2 * first + 2].tolist()
        raise ArgumentError(f"{name}[{row}, {column}]", f"has ({x:g}, {y:g})", "two numbers, or NaN for both")
    return array


def flags(name: str, value: object, count: int) -> NDArray[np.bool_]:
    """Returns an array of one flag a world."""
    given = array_of(name, value, f"({count},)")
    if given.dtype != np.bool_:
        raise ArgumentError(name, f"has dtype {given.dtype}", "dtype bool")
    if given.shape != (count,):
        raise ArgumentError(name, f"has shape {given.shape}", f"shape ({count},), a flag for each world")
    return given


def array_of(name: str, value: Any, shape: str) -> NDArray[Any]:
    """Returns an array of any type. `shape` is for the message of an error."""
    likely: ArrayLike = value
    try:
        return np.asarray(likely)
    except (ValueError, TypeError) as error:
        raise ArgumentError(name, f"is no array: {error}", f"an array of shape {shape}") from None


def _numbers(name: str, value: object, shape: str, kind: str = "float32") -> NDArray[Any]:
    given = array_of(name, value, shape)
    if given.dtype.kind not in FLOAT_KINDS:
        raise ArgumentError(name, f"has dtype {given.dtype}", f"numbers, {kind}")
    return given


def _check_finite(name: str, values: NDArray[Any], given: NDArray[Any], expected: str) -> None:
    if not np.isfinite(values).all():
        place = tuple(int(index) for index in np.argwhere(~np.isfinite(values))[0])
        where = f"{name}[{', '.join(map(str, place))}]" if place else name
        raise ArgumentError(where, f"is {given[place]}", expected)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"

"""`VectorState`: the state of an environment, to continue it later, elsewhere or in parts."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SnapshotError

_FORMAT = 1


@dataclass(frozen=True, eq=False)
class VectorState:
    """State of an environment of many worlds: bodies, random streams, counters and ends of episodes.

    `state[a:b]` is the state of some worlds, `VectorState.join` puts parts together. Two states are equal if all their
    bits are. States can be pickled; `to_bytes` and `from_bytes` need no pickle.
    """

    environment: str
    """Name of the environment's class."""
    snapshots: tuple[bytes, ...]
    """State of the bodies of each world, as of `Batch.save`."""
    arrays: Mapping[str, NDArray[Any]]
    """Other arrays, by name: (worlds, …)."""

    def __len__(self) -> int:
        """Returns the number of worlds."""
        return len(self.snapshots)

    def __getitem__(self, worlds: slice) -> VectorState:
        """Returns the state of a range of worlds."""
        arrays = {name: array[worlds] for name, array in self.arrays.items()}
        return VectorState(self.environment, self.snapshots[worlds], arrays)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, VectorState):
            return NotImplemented
        if (self.environment, self.snapshots) != (other.environment, other.snapshots):
            return False
        return self.arrays.keys() == other.arrays.keys() and all(
            _equal(array, other.arrays[name]) for name, array in self.arrays.items()
        )

    __hash__ = None  # type: ignore[assignment]

    @staticmethod
    def join(parts: Sequence[VectorState]) -> VectorState:
        """Returns the state of the worlds of all parts, in their order. There is at least one part."""
        first = parts[0]
        for part in parts[1:]:
            if part.environment != first.environment or part.arrays.keys() != first.arrays.keys():
                raise SnapshotError(f"are of {first.environment} and {part.environment}", "parts", "one environment")
        arrays = {name: np.concatenate([part.arrays[name] for part in parts]) for name in first.arrays}
        return VectorState(first.environment, tuple(one for part in parts for one in part.snapshots), arrays)

    def to_bytes(self) -> bytes:
        """Returns the state as bytes: a compressed .npz archive."""
        lengths = np.array([len(snapshot) for snapshot in self.snapshots], dtype=np.int64)
        file = io.BytesIO()
        arrays: dict[str, Any] = {f"array.{name}": array for name, array in self.arrays.items()}
        np.savez_compressed(
            file,
            format=np.array(_FORMAT),
            environment=np.array(self.environment),
            lengths=lengths,
            snapshots=np.frombuffer(b"".join(self.snapshots), dtype=np.uint8),
            **arrays,
        )
        return file.getvalue()

    @staticmethod
    def from_bytes(data: bytes) -> VectorState:
        """Returns the state that `to_bytes` has written. Raises SnapshotError for damaged bytes."""
        expected = "the bytes of VectorState.to_bytes"
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as file:
                if int(file["format"]) != _FORMAT:
                    raise SnapshotError(f"has format {int(file['format'])}", "data", f"format {_FORMAT}")
                ends = np.cumsum(file["lengths"])
                whole = file["snapshots"].tobytes()
                if len(whole) != (ends[-1] if len(ends) else 0):
                    raise SnapshotError("is damaged", "data", expected)
                snapshots = tuple(whole[end - length : end] for end, length in zip(ends, file["lengths"], strict=True))
                arrays = {name[6:]: file[name] for name in file.files if name.startswith("array.")}
                return VectorState(str(file["environment"]), snapshots, arrays)
        except (KeyError, EOFError, OSError, zipfile.BadZipFile) as error:
            raise SnapshotError(f"is damaged: {error}", "data", expected) from None
        except ValueError as error:
            if isinstance(error, SnapshotError):
                raise
            raise SnapshotError(f"is damaged: {error}", "data", expected) from None


def _equal(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Returns true for arrays of the same type, shape and bits."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()

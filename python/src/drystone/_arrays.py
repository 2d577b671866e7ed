"""`StateArray`: the type of the read-only arrays."""

from __future__ import annotations

from typing import Any

import numpy as np


class StateArray(np.ndarray[Any, np.dtype[Any]]):
    """Read-only array whose content follows a world. Results of calculations with it are plain arrays.

    By DLPack it is shared with libraries that know read-only memory, such as PyTorch. Others get a copy: JAX takes arrays
    for constant, so that it must not see this one change.
    """

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        plain = np.asarray(array)
        return plain[()] if plain.ndim == 0 else plain

    def __dlpack__(self, **options: Any) -> Any:
        # Releases of NumPy before 2.1 know `stream` alone.
        given = {name: value for name, value in options.items() if value is not None}
        try:
            return super().__dlpack__(**given)
        except BufferError:
            return np.array(self).__dlpack__(**given)

"""`Movie`: an animated picture, which notebooks show."""

from __future__ import annotations

import base64
import os
import struct
import zlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ._arguments import number
from .errors import ArgumentError

_PNG = b"\x89PNG\r\n\x1a\n"


class Movie:
    """Animated picture: a GIF from `World.movie`, an animated PNG from `Movie.from_frames`."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        """Bytes of the file."""

    @classmethod
    def from_frames(cls, frames: Iterable[NDArray[np.uint8]], fps: float = 50.0) -> Movie:
        """Returns a movie of frames, for example those of `envs.render`: uint8 (height, width, 3) each, all of one size.

        It is an animated PNG, without loss, which repeats; browsers and notebooks show it. One frame makes a still
        picture.

        - `fps`: frames per second.
        """
        images = [np.asarray(frame) for frame in frames]
        if not images:
            raise ArgumentError("frames", "has length 0", "at least one frame")
        for index, image in enumerate(images):
            if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or image.shape != images[0].shape:
                like = "(height, width, 3)" if index == 0 else f"{images[0].shape}"
                raise ArgumentError(f"frames[{index}]", f"is {image.dtype} {image.shape}", f"uint8 {like}")
        rate = number("fps", fps)
        if not 0.1 <= rate <= 1000:
            raise ArgumentError("fps", f"is {fps}", "0.1 to 1000")
        height, width, _ = images[0].shape
        parts = [_PNG, _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))]
        if len(images) > 1:
            parts.append(_chunk(b"acTL", struct.pack(">II", len(images), 0)))
        sequence = 0
        for index, image in enumerate(images):
            if len(images) > 1:
                delay = round(10_000 / rate)
                control = struct.pack(">IIIIIHHBB", sequence, width, height, 0, 0, delay, 10_000, 0, 0)
                parts.append(_chunk(b"fcTL", control))
                sequence += 1
            # Each row begins with its filter; 0 is none.
            rows = np.zeros((height, 1 + 3 * width), dtype=np.uint8)
            rows[:, 1:] = image.reshape(height, -1)
            data = zlib.compress(rows.tobytes(), 6)
            if index == 0:
                parts.append(_chunk(b"IDAT", data))
            else:
                parts.append(_chunk(b"fdAT", struct.pack(">I", sequence) + data))
                sequence += 1
        return cls(b"".join([*parts, _chunk(b"IEND", b"")]))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the file."""
        Path(path).write_bytes(self.data)

    def _repr_html_(self) -> str:
        kind = "png" if self.data.startswith(_PNG) else "gif"
        return f'<img alt="movie" src="data:image/{kind};base64,{base64.b64encode(self.data).decode()}">'

    def __repr__(self) -> str:
        return f"<drystone.Movie: {len(self.data)} bytes>"


def _chunk(name: bytes, data: bytes) -> bytes:
    """Returns a chunk of a PNG file: length, name, data and checksum."""
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

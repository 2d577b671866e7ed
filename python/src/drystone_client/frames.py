"""Frames of a stream, and states, as NumPy arrays. The layout is in README.md."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

HEADER = struct.Struct("<4sHHIIQdIIIff12x")
ALL = 1
FULL = np.dtype(
    [
        ("slot", "<u4"),
        ("generation", "<u4"),
        ("position", "<f4", 2),
        ("angle", "<f4"),
        ("velocity", "<f4", 2),
        ("angular_velocity", "<f4"),
        ("flags", "<u4"),
    ]
)
DELTA = np.dtype([("slot", "<u4"), ("by", "<i2", 3), ("flags", "<u2")])

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class State:
    """Where every body is. One row a body, in the order of their slots."""

    step: int
    """Steps done."""
    time: float
    """Simulated seconds."""
    slot: npt.NDArray[np.uint32]
    generation: npt.NDArray[np.uint32]
    position: Floats
    """Of the origin, m; shape (n, 2)."""
    angle: Floats
    """rad, in (-pi, pi]."""
    velocity: Floats
    """Of the centre of mass, m/s; shape (n, 2)."""
    angular_velocity: Floats
    """rad/s."""
    flags: npt.NDArray[np.uint32]
    """1 asleep, 2 static, 4 kinematic."""

    @property
    def ids(self) -> list[str]:
        """As the service's commands take them."""
        return [f"{slot}.{generation}" for slot, generation in zip(self.slot, self.generation)]


def decode(frame: bytes) -> State:
    """A full frame, as `GET …/state?format=binary` gives it."""
    magic, version, flags, _, _, step, time, full, deltas, gone, _, _ = HEADER.unpack_from(frame)
    if magic != b"DRYF" or version != 1 or not flags & ALL or deltas or gone:
        raise ValueError("this is no full frame of version 1")
    rows = np.frombuffer(frame, FULL, full, HEADER.size)
    return State(
        step,
        time,
        *(rows[name] for name in ("slot", "generation", "position", "angle", "velocity", "angular_velocity", "flags")),
    )


@dataclass
class Bodies:
    """What a stream has told so far: bodies by slot. Feed it every frame, in order."""

    step: int = 0
    time: float = 0.0
    sequence: int = -1
    dropped: int = 0
    """Frames that were due and left out, because this client was slow."""
    generation: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """By slot; -1 where there is no body."""
    position: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 2)))
    angle: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    flags: npt.NDArray[np.uint32] = field(default_factory=lambda: np.zeros(0, np.uint32))

    @property
    def present(self) -> npt.NDArray[np.bool_]:
        """Slots that hold a body."""
        return self.generation >= 0

    def feed(self, frame: bytes) -> None:
        """Takes a frame, full or delta."""
        head = HEADER.unpack_from(frame)
        magic, version, flags, self.sequence, self.dropped, self.step, self.time = head[:7]
        full, deltas, gone, quantum, angle_quantum = head[7:]
        if magic != b"DRYF" or version != 1:
            raise ValueError("this is no frame of version 1")
        if flags & ALL:
            self.generation[:] = -1
        at = HEADER.size
        rows = np.frombuffer(frame, FULL, full, at)
        at += rows.nbytes
        changes = np.frombuffer(frame, DELTA, deltas, at)
        at += changes.nbytes
        left = np.frombuffer(frame, "<u4", gone, at)
        if full:
            self._room(int(rows["slot"].max()) + 1)
            slots = rows["slot"]
            self.generation[slots] = rows["generation"]
            self.position[slots] = rows["position"]
            self.angle[slots] = rows["angle"]
            self.flags[slots] = rows["flags"]
        slots = changes["slot"]
        # In 64 bits and whole quanta, as the service does it, so that both hold the same.
        self.position[slots] += changes["by"][:, :2].astype(np.float64) * quantum
        self.angle[slots] += changes["by"][:, 2].astype(np.float64) * angle_quantum
        self.flags[slots] = changes["flags"]
        self.generation[left] = -1

    def _room(self, slots: int) -> None:
        more = slots - len(self.generation)
        if more > 0:
            self.generation = np.concatenate([self.generation, np.full(more, -1, np.int64)])
            self.position = np.concatenate([self.position, np.zeros((more, 2))])
            self.angle = np.concatenate([self.angle, np.zeros(more)])
            self.flags = np.concatenate([self.flags, np.zeros(more, np.uint32)])

"""Frames of a stream, and states, as NumPy arrays. README.md has the binary layout."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from .errors import BadAnswer

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
    """Poses and velocities of all bodies, one row per body, in the order of their slots."""

    step: int
    """Steps done."""
    time: float
    """Simulated seconds."""
    slot: npt.NDArray[np.uint32]
    generation: npt.NDArray[np.uint32]
    position: Floats
    """Position of the origin, m; shape (n, 2)."""
    angle: Floats
    """Angle, rad, in (-pi, pi]."""
    velocity: Floats
    """Velocity of the centre of mass, m/s; shape (n, 2)."""
    angular_velocity: Floats
    """Angular velocity, rad/s."""
    flags: npt.NDArray[np.uint32]
    """Flags: 1 asleep, 2 static, 4 kinematic."""

    @property
    def ids(self) -> list[str]:
        """Ids, as accepted by commands."""
        return [f"{slot}.{generation}" for slot, generation in zip(self.slot, self.generation)]


def _head(frame: bytes) -> tuple[int, int, int, int, float, int, int, int, float, float]:
    """Returns the header, after checking magic number, version and length."""
    if len(frame) < HEADER.size:
        raise BadAnswer(f"expected a frame, found {len(frame)} bytes; the header alone has {HEADER.size}")
    magic, version, *rest = HEADER.unpack_from(frame)
    if magic != b"DRYF" or version != 1:
        raise BadAnswer(f"expected a frame of version 1 (DRYF), found {magic!r}, version {version}")
    flags, sequence, dropped, step, time, full, deltas, gone, quantum, angle_quantum = rest
    length = HEADER.size + full * FULL.itemsize + deltas * DELTA.itemsize + gone * 4
    if len(frame) != length:
        raise BadAnswer(f"a frame has {len(frame)} bytes; its header says {length}")
    return flags, sequence, dropped, step, time, full, deltas, gone, quantum, angle_quantum


def decode(frame: bytes) -> State:
    """Reads a full frame, as returned by `GET …/state?format=binary`.

    Raises BadAnswer if it is not one.
    """
    flags, _, _, step, time, full, deltas, gone, _, _ = _head(frame)
    if not flags & ALL or deltas or gone:
        raise BadAnswer("expected a full frame, not one with changes")
    rows = np.frombuffer(frame, FULL, full, HEADER.size)
    return State(
        step,
        time,
        *(rows[name] for name in ("slot", "generation", "position", "angle", "velocity", "angular_velocity", "flags")),
    )


@dataclass(frozen=True)
class Gap:
    """Gap of a stream between two frames: the connection was lost and restored."""

    steps: int
    """Steps of the world between the two. Negative if a killed service continued from an earlier step."""
    seconds: float
    """Seconds without a connection."""
    reason: str
    """Reason of the gap."""


@dataclass
class Bodies:
    """Bodies by slot, as of the last frame of a stream. All frames must be applied in order."""

    step: int = 0
    time: float = 0.0
    sequence: int = -1
    """Number of the frame, from 0 for each connection."""
    dropped: int = 0
    """Frames skipped so far because this client was slow, over all connections."""
    reconnects: int = 0
    """Number of times the connection was lost and restored."""
    gap: Gap | None = None
    """Gap before this frame; None if it follows the previous frame."""
    generation: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """Generation by slot; -1 where there is no body."""
    position: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 2)))
    angle: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    flags: npt.NDArray[np.uint32] = field(default_factory=lambda: np.zeros(0, np.uint32))
    _dropped_before: int = 0
    _broken: tuple[float, str] | None = None

    @property
    def present(self) -> npt.NDArray[np.bool_]:
        """Slots that hold a body."""
        return self.generation >= 0

    def feed(self, frame: bytes) -> None:
        """Applies a full or delta frame.

        Raises BadAnswer if it is not a frame, or changes an unknown body.
        """
        flags, sequence, dropped, step, time, full, deltas, gone, quantum, angle_quantum = _head(frame)
        expected = (self.sequence + 1) & 0xFFFFFFFF
        if not flags & ALL and sequence != expected:
            raise BadAnswer(f"expected frame {expected} of the stream, found {sequence}")
        self.gap = None
        if self._broken is not None:
            self.gap = Gap(step - self.step, *self._broken)
            self._broken = None
        (self.sequence, self.step, self.time) = (sequence, step, time)
        self.dropped = self._dropped_before + dropped
        if flags & ALL:
            self.generation[:] = -1
        at = HEADER.size
        rows = np.frombuffer(frame, FULL, full, at)
        at += rows.nbytes
        changes = np.frombuffer(frame, DELTA, deltas, at)
        at += changes.nbytes
        left = np.frombuffer(frame, "<u4", gone, at)
        known = len(self.generation)
        if (changes["slot"] >= max(known, int(rows["slot"].max()) + 1 if full else 0)).any() or (left >= known).any():
            raise BadAnswer("the frame changes bodies that are unknown in this stream")
        if full:
            self._room(int(rows["slot"].max()) + 1)
            slots = rows["slot"]
            self.generation[slots] = rows["generation"]
            self.position[slots] = rows["position"]
            self.angle[slots] = rows["angle"]
            self.flags[slots] = rows["flags"]
        slots = changes["slot"]
        # In 64 bits and whole quanta, like the service, so that both hold the same values.
        self.position[slots] += changes["by"][:, :2].astype(np.float64) * quantum
        self.angle[slots] += changes["by"][:, 2].astype(np.float64) * angle_quantum
        self.flags[slots] = changes["flags"]
        self.generation[left] = -1

    def resume(self, seconds: float, reason: str) -> None:
        """Begins another connection, `seconds` after the previous one was lost. Its first frame has all bodies."""
        self.reconnects += 1
        self._dropped_before, self.sequence = self.dropped, -1
        self._broken = (seconds, reason)

    def _room(self, slots: int) -> None:
        more = slots - len(self.generation)
        if more > 0:
            self.generation = np.concatenate([self.generation, np.full(more, -1, np.int64)])
            self.position = np.concatenate([self.position, np.zeros((more, 2))])
            self.angle = np.concatenate([self.angle, np.zeros(more)])
            self.flags = np.concatenate([self.flags, np.zeros(more, np.uint32)])

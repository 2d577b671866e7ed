"""Answers of a world as arrays: contact points, hits of rays, events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, order=True)
class BodyId:
    """Id of a body. It is also an index of the arrays: `world.positions[id]`.

    As a world runs on, an id never means another body that gets the row later. Calls that take a world back to an
    earlier state (`reset`, `restore`, `load`, `replace`, `vary`) take its ids back too: bodies that are added from
    there on may get ids that were given before. Drop the ids of bodies that were added after that state.
    """

    index: int
    """Row of the body in the arrays."""
    generation: int = 0
    """Number of bodies that had the row before."""

    def __index__(self) -> int:
        return self.index

    def __str__(self) -> str:
        return f"{self.index}.{self.generation}"


@dataclass(frozen=True, slots=True, order=True)
class JointId:
    """Id of a joint. As a world runs on, it never means another joint that gets the index later.

    After `World.reset` and `World.restore` new joints may get ids that were given before, as bodies do (`BodyId`).
    """

    index: int
    """Index of the joint."""
    generation: int = 0
    """Number of joints that had the index before."""

    def __index__(self) -> int:
        return self.index

    def __str__(self) -> str:
        return f"{self.index}.{self.generation}"


@dataclass(frozen=True, slots=True, eq=False)
class Contacts:
    """Contact points, a row each, also those of sleeping bodies. Two bodies may touch at two points."""

    world: NDArray[np.int32]
    """Index of the world, (points,)."""
    bodies: NDArray[np.int32]
    """Rows of the bodies A and B, (points, 2)."""
    position: NDArray[np.float32]
    """Contact points in the world, m, (points, 2)."""
    normal: NDArray[np.float32]
    """Unit vectors from A to B, (points, 2)."""
    separation: NDArray[np.float32]
    """Separation when the step began, m; negative is overlap, (points,)."""
    normal_impulse: NDArray[np.float32]
    """Impulse on B along the normal in the last substep, and by the impacts of the step, N·s, (points,)."""
    tangent_impulse: NDArray[np.float32]
    """Impulse on B along the tangent, the normal turned clockwise, as the normal impulse, N·s, (points,)."""
    force: NDArray[np.float32]
    """These impulses on B divided by the time of a substep, N, (points, 2); on A it is the opposite."""

    def __len__(self) -> int:
        return len(self.world)


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """First shape on the way of each ray or cast: arrays in the shape of the rays, (…) and (…, 2)."""

    body: NDArray[np.int32]
    """Row of the body; −1 if the ray hits nothing."""
    shape: NDArray[np.int32]
    """Index of the shape in the world; −1 if the ray hits nothing."""
    fraction: NDArray[np.float32]
    """Share of the way from start to end, 0 to 1; 1 if the ray hits nothing."""
    point: NDArray[np.float32]
    """Point of entry, m, (…, 2); the end if the ray hits nothing."""
    normal: NDArray[np.float32]
    """Unit normal out of the shape, (…, 2); 0 if the ray hits nothing."""
    depth: NDArray[np.float32]
    """Way out along the normal, m, of a cast that begins in the shape; else 0."""

    @property
    def hit(self) -> NDArray[np.bool_]:
        """True for each ray that hits a shape."""
        found: NDArray[np.bool_] = self.body >= 0
        return found


@dataclass(frozen=True, slots=True)
class AllHits:
    """All shapes on the way of rays: arrays (hits,) and (hits, 2), by ray, those of a ray nearest first."""

    ray: NDArray[np.int32]
    """Index of the ray."""
    body: NDArray[np.int32]
    """Row of the body."""
    shape: NDArray[np.int32]
    """Index of the shape in the world."""
    fraction: NDArray[np.float32]
    """Share of the way from start to end, 0 to 1."""
    point: NDArray[np.float32]
    """Point of entry, m, (hits, 2)."""
    normal: NDArray[np.float32]
    """Unit normal out of the shape, (hits, 2)."""


@dataclass(frozen=True, slots=True)
class Moved:
    """Characters after a move: arrays (characters,) and (characters, 2)."""

    positions: NDArray[np.float32]
    """Positions of their origins, m, (characters, 2)."""
    ground: NDArray[np.int32]
    """Row of the body on which each stands; −1 if it stands on none."""
    ground_normals: NDArray[np.float32]
    """Unit normal of that ground, (characters, 2); 0 without ground."""
    hits: NDArray[np.int32]
    """Number of surfaces that each met on its way."""


@dataclass(frozen=True, slots=True)
class Event:
    """Contact or sensor overlap that began or ended, or a joint that broke."""

    step: int
    """Number of the step, from 0."""
    kind: str
    """"begin", "end", "sensor_begin", "sensor_end" or "joint_broke"."""
    bodies: tuple[BodyId | None, BodyId | None]
    """The two bodies, of a sensor and its visitor in this order; None is the world."""
    joint: JointId | None
    """The joint that broke."""
    point: tuple[float, float]
    """Contact point of "begin", m; else 0."""
    normal: tuple[float, float]
    """Unit normal from the first body to the second of "begin"; else 0."""
    approach_speed: float
    """Approach speed of "begin" when the step began, m/s; else 0."""


def contacts_of(arrays: dict[str, NDArray[Any]]) -> Contacts:
    """Makes contacts from the arrays of the extension."""
    return Contacts(**arrays)


def hits_of(arrays: dict[str, NDArray[Any]], shape: tuple[int, ...]) -> Hits:
    """Makes hits from the arrays of the extension, in the shape of the rays."""
    return Hits(**{name: array.reshape(*shape, *array.shape[1:]) for name, array in arrays.items()})

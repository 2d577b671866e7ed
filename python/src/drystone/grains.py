"""Stresses, force chains and files of a world, for the physics of grains."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import NDArray

from .results import Contacts

if TYPE_CHECKING:
    import xarray

    from .world import World


@dataclass(frozen=True, slots=True, eq=False)
class Outlines:
    """Outlines of the shapes of a world but half planes, a row each: convex polygons, and a radius around them.

    One corner and a radius are a disc, two a capsule or, without a radius, a segment.
    """

    body: NDArray[np.int32]
    """Row of the body, (shapes,)."""
    radius: NDArray[np.float32]
    """Radius around the corners, m, (shapes,)."""
    starts: NDArray[np.int32]
    """First corner of each shape, and the number of all corners, (shapes + 1,)."""
    points: NDArray[np.float32]
    """Corners in the world, counter-clockwise, m, (corners, 2)."""
    centers: NDArray[np.float32]
    """Centres of mass of the bodies, m, (bodies, 2); NaN in rows without a body."""

    def __len__(self) -> int:
        return len(self.body)

    def areas(self) -> NDArray[np.float64]:
        """Returns the area of each shape, m²: float64 (shapes,)."""
        points, starts = self.points.astype(np.float64), self.starts
        # The corner after each, in its shape.
        after = np.arange(1, len(points) + 1)
        after[starts[1:] - 1] = starts[:-1]
        following = points[after]
        cross = points[:, 0] * following[:, 1] - points[:, 1] * following[:, 0]
        sides = np.hypot(*(following - points).T)
        area = np.add.reduceat(cross, starts[:-1]) / 2 if len(self) else np.zeros(0)
        round_trip = np.add.reduceat(sides, starts[:-1]) if len(self) else np.zeros(0)
        found: NDArray[np.float64] = np.maximum(area, 0.0) + self.radius * (round_trip + np.pi * self.radius)
        return found

    def rounded(self, corners: int = 16) -> list[NDArray[np.float64]]:
        """Returns the corners of each shape with its radius, an arc of 90° in `corners` / 4 steps: (n, 2) each."""
        steps = max(2, corners // 4 + 1)
        made = []
        for shape in range(len(self)):
            points = self.points[self.starts[shape] : self.starts[shape + 1]].astype(np.float64)
            radius = float(self.radius[shape])
            if radius == 0.0:
                made.append(points)
                continue
            if len(points) == 1:
                turn = np.arange(corners) * (2 * np.pi / corners)
                made.append(points + radius * np.stack([np.cos(turn), np.sin(turn)], axis=1))
                continue
            edge = np.roll(points, -1, axis=0) - points
            out = np.arctan2(edge[:, 1], edge[:, 0]) - np.pi / 2
            begin = np.roll(out, 1)
            sweep = (out - begin) % (2 * np.pi)
            arc = begin[:, None] + sweep[:, None] * np.linspace(0, 1, steps)
            made.append((points[:, None] + radius * np.stack([np.cos(arc), np.sin(arc)], axis=-1)).reshape(-1, 2))
        return made


@dataclass(frozen=True, slots=True, eq=False)
class ForceChains:
    """Pairs of bodies that press on each other, a row each."""

    bodies: NDArray[np.int32]
    """Rows of the two bodies, the lower first, (chains, 2)."""
    ends: NDArray[np.float64]
    """Line of the force: centres of mass of the two bodies, or the point of contact in place of that of a body without
    mass, m, (chains, 2, 2)."""
    force: NDArray[np.float64]
    """Force on the second body, N, (chains, 2); that on the first is the opposite."""

    def __len__(self) -> int:
        return len(self.force)

    @property
    def strength(self) -> NDArray[np.float64]:
        """Size of each force, N, (chains,)."""
        size: NDArray[np.float64] = np.hypot(*self.force.T)
        return size


def outlines(world: World) -> Outlines:
    """Returns the outlines of the shapes of a world. On a GPU this reads the state back."""
    return Outlines(**world._native.outlines())


def stresses(contacts: Contacts, shapes: Outlines) -> NDArray[np.float64]:
    """Returns the mean stress in each body: float64 (bodies, 2, 2), N/m, pressure negative."""
    bodies = len(shapes.centers)
    moment = np.zeros((bodies, 2, 2))
    for side, sign in ((0, -1.0), (1, 1.0)):
        row = contacts.bodies[:, side]
        lever = contacts.position.astype(np.float64) - shapes.centers[row]
        np.add.at(moment, row, sign * lever[:, :, None] * contacts.force[:, None, :])
    area = np.bincount(shapes.body, weights=shapes.areas(), minlength=bodies)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: NDArray[np.float64] = moment / area[:, None, None]
    found[area <= 0.0] = np.nan
    return found


def force_chains(contacts: Contacts, shapes: Outlines, masses: NDArray[np.bool_], least: float) -> ForceChains:
    """Returns the pairs of bodies whose force is at least `least` times the mean: the points of a pair are one."""
    swapped = contacts.bodies[:, :1] > contacts.bodies[:, 1:]
    pairs, place = np.unique(np.sort(contacts.bodies, axis=1), axis=0, return_inverse=True)
    place = place.reshape(-1)
    force, point, count = np.zeros((len(pairs), 2)), np.zeros((len(pairs), 2)), np.zeros(len(pairs))
    np.add.at(force, place, np.where(swapped, -contacts.force, contacts.force))
    np.add.at(point, place, contacts.position)
    np.add.at(count, place, 1.0)
    ends = shapes.centers[pairs].astype(np.float64)
    at_point = ~masses[pairs] | ~np.isfinite(ends).all(axis=2)
    ends = np.where(at_point[:, :, None], (point / np.maximum(count, 1.0)[:, None])[:, None], ends)
    size = np.hypot(*force.T)
    strong = size > 0.0
    if strong.any():
        strong &= size >= least * size[strong].mean()
    return ForceChains(pairs[strong].astype(np.int32), ends[strong], force[strong])


def write_vtu(path: str | os.PathLike[str], world: World) -> None:
    """Writes a VTU file, XML: a polygon for each shape, with the values of its body."""
    shapes = outlines(world)
    corners = shapes.rounded()
    points = np.concatenate([*corners, np.zeros((0, 2))])
    flat = np.column_stack([points, np.zeros(len(points))])
    offsets = np.cumsum([len(each) for each in corners], dtype=np.int64)
    # VTK's line, and its polygon.
    kinds = np.array([3 if len(each) == 2 else 7 for each in corners], dtype=np.uint8)
    rows = shapes.body
    stress = np.nan_to_num(stresses(world.contacts(), shapes))
    whole = np.zeros((len(stress), 3, 3))
    whole[:, :2, :2] = stress
    velocity = np.nan_to_num(world.velocities)
    cells = {
        "body": rows,
        "velocity": np.column_stack([velocity, np.zeros(len(velocity))])[rows],
        "angular_velocity": np.nan_to_num(world.angular_velocities)[rows],
        "awake": world.awake.astype(np.uint8)[rows],
        "stress": whole.reshape(-1, 9)[rows],
        "pressure": (-np.trace(stress, axis1=1, axis2=2) / 2)[rows],
    }
    parts = [
        '<?xml version="1.0"?>',
        '<VTKFile type="UnstructuredGrid" version="1.0" byte_order="LittleEndian">',
        "<UnstructuredGrid>",
        f'<FieldData>{_array("TimeValue", np.array([world.steps * world.dt]), tuples=1)}</FieldData>',
        f'<Piece NumberOfPoints="{len(flat)}" NumberOfCells="{len(corners)}">',
        f"<Points>{_array('Points', flat)}</Points>",
        f"<Cells>{_array('connectivity', np.arange(len(flat)))}{_array('offsets', offsets)}{_array('types', kinds)}</Cells>",
        f"<CellData>{''.join(_array(name, values) for name, values in cells.items())}</CellData>",
        "</Piece>",
        "</UnstructuredGrid>",
        "</VTKFile>",
    ]
    Path(path).write_text("\n".join(parts), encoding="utf-8")


def _array(name: str, values: NDArray[Any], tuples: int | None = None) -> str:
    """Returns a data array of a VTU file."""
    kind = {"f": "Float64", "i": "Int64", "u": "UInt8"}[values.dtype.kind]
    width = values.shape[1] if values.ndim > 1 else 1
    text = " ".join(f"{value:.9g}" for value in values.ravel().tolist())
    count = "" if tuples is None else f' NumberOfTuples="{tuples}"'
    return (
        f'<DataArray type="{kind}" Name={quoteattr(name)} NumberOfComponents="{width}"{count} format="ascii">{text}</DataArray>'
    )


def record(world: World, steps: int, every: int) -> xarray.Dataset:
    """Advances a world and returns its states as a data set, with dimensions time, body and axis."""
    try:
        import xarray
    except ImportError as error:
        raise ImportError('recording needs XArray: pip install "drystone[grains]"') from error
    names = ("positions", "angles", "velocities", "angular_velocities", "awake")
    columns: dict[str, list[NDArray[Any]]] = {name: [] for name in names}
    times, counts = [], []
    for step in range(steps + 1):
        if step > 0:
            world.step()
        if step % every and step != steps:
            continue
        times.append(world.steps * world.dt)
        counts.append(len(world.contacts()))
        for name in names:
            columns[name].append(np.array(getattr(world, name)))
    rows = max(len(column) for column in columns["angles"])
    units = {"positions": "m", "angles": "rad", "velocities": "m/s", "angular_velocities": "rad/s"}
    variables: dict[str, Any] = {"contacts": ("time", np.array(counts), {"long_name": "number of contact points"})}
    for name, found in columns.items():
        # Bodies that came later have no values before.
        filled = [_padded(column, rows) for column in found]
        dimensions = ("time", "body", "axis")[: filled[0].ndim + 1]
        variables[name] = (dimensions, np.array(filled), {"units": units[name]} if name in units else {})
    coordinates = {"time": ("time", times, {"units": "s"}), "body": np.arange(rows), "axis": ["x", "y"]}
    about = {"scene": world.name, "gravity": list(world.gravity), "dt": world.dt}
    return xarray.Dataset(variables, coordinates, about)


def _padded(column: NDArray[Any], rows: int) -> NDArray[Any]:
    missing = [(0, rows - len(column))] + [(0, 0)] * (column.ndim - 1)
    return np.pad(column, missing, constant_values=np.nan if column.dtype.kind == "f" else False)

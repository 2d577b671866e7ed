"""Tests of stresses, force chains, outlines and files of worlds."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import drystone as ds

ROWS = 6


def column() -> ds.World:
    """Returns a column of boxes of 1 m by 0.5 m and 1 kg, which stands."""
    scene = ds.Scene("column", gravity=(0, -10))
    scene.add(ds.Body.fixed(0, -1).half_box(50, 1))
    for row in range(ROWS):
        scene.add(ds.Body.dynamic(0, 0.25 + 0.5 * row).half_box(0.5, 0.25).mass(1))
    world = ds.World(scene, backend="cpu", threads=1)
    world.step(120)
    return world


def test_areas_are_those_of_geometry() -> None:
    scene = ds.Scene("shapes", gravity=(0, 0))
    scene.add(ds.Body.fixed(0, -20).half_plane())
    scene.add(ds.Body.dynamic(0, 0).circle(0.5))
    scene.add(ds.Body.dynamic(3, 0).half_box(1, 0.5, radius=0.1).angle(0.3))
    scene.add(ds.Body.dynamic(6, 0).capsule((-1, 0), (1, 0), 0.25))
    scene.add(ds.Body.dynamic(9, 0).polygon([(0, 0), (2, 0), (0, 1)]).circle(0.1, offset=(5, 0)))
    scene.add(ds.Body.fixed(0, 5).segment((-1, 0), (1, 0)))
    shapes = ds.World(scene, backend="cpu").outlines()
    assert shapes.body.tolist() == [1, 2, 3, 4, 4, 5] and len(shapes) == 6
    expected = [np.pi / 4, 2 + 0.1 * 6 + np.pi * 0.01, 1 + np.pi / 16, 1, np.pi * 0.01, 0]
    assert shapes.areas() == pytest.approx(expected, rel=1e-5, abs=1e-9)
    for corners, area in zip(shapes.rounded(256), expected, strict=True):
        following = np.roll(corners, -1, axis=0)
        assert abs((corners[:, 0] * following[:, 1] - corners[:, 1] * following[:, 0]).sum() / 2) == pytest.approx(area, rel=2e-3)
    turned = shapes.points[shapes.starts[1] : shapes.starts[2]].mean(axis=0)
    assert turned == pytest.approx([3, 0], abs=1e-5)


def test_stress_of_a_column_is_its_weight() -> None:
    stress = column().stress()
    assert stress.shape == (ROWS + 1, 2, 2)
    # The mean of the load above and below a box, on its width.
    load = 10.0 * (ROWS - np.arange(ROWS) - 0.5)
    assert stress[1:, 1, 1] == pytest.approx(-load, rel=0.02)
    assert np.abs(stress[1:, 0, 1] - stress[1:, 1, 0]).max() < 1.0 and np.abs(stress[1:, 0, 0]).max() < 5
    assert stress[1:, 1, 1] != pytest.approx(-load[::-1], rel=0.02), "a control: the lowest carries most"


def test_force_chains_of_a_column() -> None:
    world = column()
    chains = world.force_chains(0)
    assert chains.bodies.tolist() == [[row, row + 1] for row in range(ROWS)] and len(chains) == ROWS
    assert chains.strength == pytest.approx(10.0 * (ROWS - np.arange(ROWS)), rel=0.02)
    assert chains.force[:, 1] == pytest.approx(chains.strength, rel=1e-3), "the upper is pushed up"
    # The first ends on the ground, all others in centres.
    assert chains.ends[0, 0, 1] == pytest.approx(0, abs=0.02) and chains.ends[1, 0, 1] == pytest.approx(0.25, abs=0.02)
    assert world.force_chains().bodies[:, 1].tolist() == [1, 2, 3], "those above the mean"
    assert len(ds.World(ds.Scene("empty"), backend="cpu").force_chains()) == 0


def test_files_of_a_world(tmp_path: Path) -> None:
    world = column()
    world.to_vtk(tmp_path / "heap.vtu")
    root = ElementTree.parse(tmp_path / "heap.vtu").getroot()
    piece = root.find("UnstructuredGrid/Piece")
    assert piece is not None and piece.get("NumberOfCells") == str(ROWS + 1) and piece.get("NumberOfPoints") == str(4 * (ROWS + 1))
    arrays = {array.get("Name"): np.array((array.text or "").split(), dtype=float) for array in piece.iter("DataArray")}
    assert arrays["offsets"].tolist() == [4.0 * (cell + 1) for cell in range(ROWS + 1)] and set(arrays["types"]) == {7.0}
    assert arrays["Points"].reshape(-1, 4, 3).mean(axis=1)[1:, 1] == pytest.approx(world.positions[1:, 1], abs=1e-5)
    assert arrays["pressure"][1] > arrays["pressure"][ROWS] > 0 and len(arrays["stress"]) == 9 * (ROWS + 1)
    with pytest.raises(ValueError, match=r"path: is .*heap.vtk.*ends in \.vtu"):
        world.to_vtk(str(tmp_path / "heap.vtk"))


def test_records_are_data_sets(tmp_path: Path) -> None:
    import xarray

    world = ds.World("bouncing_ball", backend="cpu")
    run = world.record(50, every=20)
    assert run.time.values == pytest.approx(np.array([0, 20, 40, 50]) * world.dt) and world.steps == 50
    assert run.positions.dims == ("time", "body", "axis") and run.positions.attrs["units"] == "m"
    assert np.array_equal(run.positions.values[-1], world.positions)
    assert not np.array_equal(run.positions.values[0], run.positions.values[-1])
    run.to_netcdf(tmp_path / "run.h5", engine="h5netcdf")
    assert (tmp_path / "run.h5").read_bytes()[1:4] == b"HDF"
    with xarray.open_dataset(tmp_path / "run.h5", engine="h5netcdf") as again:
        assert again.identical(run)

"""Tests of the package as a whole: types, stubs, docs, examples, what an import brings."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
import struct
import subprocess
import sys
import zlib
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import drystone as ds

PYTHON = Path(__file__).parents[1]


def run(*command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, cwd=folder)


def test_the_wheel_is_tested() -> None:
    assert "site-packages" in str(Path(ds.__file__)), "not the sources, which have no extension"
    assert metadata.version("drystone") == ds.__version__
    files = [str(file) for file in metadata.files("drystone") or []]
    assert "drystone/py.typed" in files and "drystone/_drystone.abi3.so" in files and "drystone/_drystone.pyi" in files


def test_an_import_brings_numpy_alone(tmp_path: Path) -> None:
    code = "import sys, drystone; print(sorted({'httpx', 'websockets', 'ray', 'pydantic', 'torch', 'gymnasium', 'xarray'} & set(sys.modules)))"
    assert run("-c", code, folder=tmp_path).stdout == "[]\n"
    # Control: the client does bring them.
    assert "httpx" in run("-c", code.replace("drystone;", "drystone.client;"), folder=tmp_path).stdout


def test_stubs_are_those_of_the_extension(tmp_path: Path) -> None:
    done = run("-m", "mypy.stubtest", "drystone._drystone", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_types_are_checked(tmp_path: Path) -> None:
    program = (PYTHON / "examples/worlds.py").read_text()
    (tmp_path / "good.py").write_text(program)
    (tmp_path / "bad.py").write_text(program + '\nbatch.step("far")\nbatch.positions.shapes\nds.Body.dynamic().circle(1, densty=2)\n')
    good = run("-m", "mypy", "--strict", "good.py", folder=tmp_path)
    assert good.returncode == 0, good.stdout
    bad = run("-m", "mypy", "--strict", "bad.py", folder=tmp_path)
    assert bad.returncode == 1 and bad.stdout.count("error:") == 3, bad.stdout


def test_the_readme_runs(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (PYTHON / "README.md").read_text(), re.DOTALL)
    assert len(blocks) >= 3 and len(blocks[0].strip().splitlines()) <= 11, "ten lines"
    (tmp_path / "readme.py").write_text("\n".join(blocks))
    done = run("readme.py", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("(212, 2)\n") and (tmp_path / "pyramid.gif").read_bytes().startswith(b"GIF89a")
    # The program prints the outputs that its comments name.
    assert "(64, 2) (64,)" in done.stdout
    first = run("-c", blocks[0], folder=tmp_path)
    assert first.returncode == 0 and first.stderr == "", "nothing else is written"


def test_movies_of_frames_are_pictures() -> None:
    """The pixels come back from the file; more frames than one are an animation."""
    frames = [np.arange(5 * 4 * 3, dtype=np.uint8).reshape(5, 4, 3) + 10 * turn for turn in range(3)]
    for count in (1, 3):
        data, chunks, place = ds.Movie.from_frames(frames[:count], fps=25).data, [], 8
        while place < len(data):
            (length,) = struct.unpack_from(">I", data, place)
            name, content = data[place + 4 : place + 8], data[place + 8 : place + 8 + length]
            assert struct.unpack_from(">I", data, place + 8 + length)[0] == zlib.crc32(name + content)
            chunks.append((name, content))
            place += 12 + length
        assert data.startswith(b"\x89PNG\r\n\x1a\n") and chunks[0][1][:8] == struct.pack(">II", 4, 5)
        pixels = [content[4 * (name == b"fdAT") :] for name, content in chunks if name in (b"IDAT", b"fdAT")]
        for frame, packed in zip(frames[:count], pixels, strict=True):
            rows = np.frombuffer(zlib.decompress(packed), dtype=np.uint8).reshape(5, 13)
            assert not rows[:, 0].any() and np.array_equal(rows[:, 1:].reshape(5, 4, 3), frame)
        order = [struct.unpack_from(">I", content)[0] for name, content in chunks if name in (b"fcTL", b"fdAT")]
        assert order == list(range(len(order))) and (dict(chunks).get(b"acTL") is None) == (count == 1)
    assert "image/png" in ds.Movie.from_frames(frames)._repr_html_()
    for given, fps, message in (
        ([], 50.0, "frames: has length 0"),
        ([frames[0], frames[0][:4]], 50.0, r"frames\[1\]: is uint8 \(4, 4, 3\); expected uint8 \(5, 4, 3\)"),
        ([frames[0].astype(float)], 50.0, "is float64"),
        (frames, 0.0, "fps: is 0"),
    ):
        with pytest.raises(ds.ArgumentError, match=message):
            ds.Movie.from_frames(given, fps)


def test_examples_run(tmp_path: Path) -> None:
    done = run(str(PYTHON / "examples/worlds.py"), folder=tmp_path)
    assert done.returncode == 0 and re.search(r"up to a push of \d+\.\d+ N", done.stdout), done.stderr


@pytest.mark.parametrize("name", ["drystone", "drystone.scene", "drystone.world", "drystone.batch", "drystone.envs"])
def test_docstrings_run(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name))
    assert found.failed == 0 and found.attempted > 0


def test_everything_is_documented() -> None:
    missing = []
    for name in ds.__all__:
        thing = getattr(ds, name)
        if not inspect.isclass(thing):
            continue
        missing += [name] * (not inspect.getdoc(thing))
        for member, value in vars(thing).items():
            if not member.startswith("_") and (callable(value) or isinstance(value, property)) and not inspect.getdoc(value):
                missing.append(f"{name}.{member}")
    assert missing == []
    # Arrays say their shape.
    for owner in (ds.World, ds.Batch):
        for column in ("positions", "angles", "velocities", "angular_velocities", "awake"):
            assert re.search(r"\((worlds, )?bodies", inspect.getdoc(getattr(owner, column)) or "")

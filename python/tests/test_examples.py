"""Tests of the examples, run as by a user. Skipped where Ray or matplotlib is not installed, unless DRYSTONE_EXAMPLES
requires them."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from service import BINARY, running

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name: str, *arguments: str) -> str:
    # As for a user: `drystone` is in the PATH.
    environment = os.environ | {"PATH": os.pathsep.join((str(Path(BINARY).resolve().parent), os.environ["PATH"]))}
    command = [sys.executable, str(EXAMPLES / name), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def needs(module: str) -> pytest.MarkDecorator:
    missing = importlib.util.find_spec(module) is None and "DRYSTONE_EXAMPLES" not in os.environ
    return pytest.mark.skipif(missing, reason=f"{module} is not installed")


@needs("matplotlib")
def test_a_plot(tmp_path: Path) -> None:
    picture = tmp_path / "bounce.png"
    with running(tmp_path / "store") as url:
        said = run("plot.py", url, str(picture))
    highest = re.search(r"highest after 1 s: ([\d.]+) m", said)
    # It falls 4.5 m and returns with 0.8 of its speed, so to at most 0.64 of the height.
    assert highest and 2.9 < float(highest[1]) < 0.5 + 0.64 * 4.5 + 0.05, said
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 5000


@needs("ray")
def test_a_sweep_on_ray(tmp_path: Path) -> None:
    said = run("sweep.py", str(tmp_path))
    rows = re.findall(r"friction ([\d.]+): ([\d.]+) m, ideal ([\d.]+) m", said)
    assert len(rows) == 7, said
    distances = [float(distance) for _, distance, _ in rows]
    assert distances == sorted(distances, reverse=True)
    for _, distance, ideal in rows:
        # Within the error that a step's length and a slop of a hundredth of a length cause in two seconds.
        assert float(distance) == pytest.approx(float(ideal), abs=0.12), said

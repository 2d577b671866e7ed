"""Runs the notebooks: all cells of each, in order, in one namespace."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_notebooks_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert len(code) >= 4 and any("assert" in cell for cell in code) and not any(cell.get("outputs") for cell in cells)
    names: dict[str, object] = {}
    for number, cell in enumerate(code):
        exec(compile(cell, f"{path.name}, cell {number}", "exec"), names)  # noqa: S102

"""Tests that the models match the API of the tested service."""

from __future__ import annotations

import copy
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from generate_models import FILE, fetch, generate

from service import running


def test_models_are_as_the_service_describes_them(tmp_path: Path) -> None:
    with running(tmp_path) as url:
        description = fetch(url)
    assert FILE.read_text() == generate(description), "stale: run generate_models.py"
    # Negative control: a change of anything that clients read is detected.
    for change in ("type", "description"):
        other = copy.deepcopy(description)
        other["components"]["schemas"]["Stepped"]["properties"]["steps"][change] = "string"
        assert generate(other) != FILE.read_text()

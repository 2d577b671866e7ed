"""The built-in scenes, and the schema of scene files."""

from __future__ import annotations

import json
from typing import Any

from . import _drystone


def scenes(find: str | None = None) -> dict[str, str]:
    """Returns the built-in scenes, name and summary; with `find` those that match a text, best first."""
    return dict(_drystone.scene_names() if find is None else _drystone.search_scenes(find))


def schema() -> dict[str, Any]:
    """Returns the JSON schema of scene files: every key with its meaning, unit, range and default."""
    found: dict[str, Any] = json.loads(_drystone.json_schema())
    return found

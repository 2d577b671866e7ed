"""The process of a window: `python -m drystone._window_process FILE`, which `drystone.view` starts."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from . import _drystone
from .errors import Error


def main(arguments: list[str] | None = None) -> int:
    """Opens a window on a file, and returns the code with which the process ends."""
    parser = argparse.ArgumentParser(description="Opens a window on a saved world or a scene.")
    parser.add_argument("file", type=Path, help="saved world (.snap) or scene (.json)")
    parser.add_argument("--backend", default="auto", choices=["auto", "cpu", "gpu"])
    parser.add_argument("--paused", action="store_true")
    parser.add_argument("--dark", action="store_true", default=None)
    parser.add_argument("--light", dest="dark", action="store_false")
    parser.add_argument("--script", type=Path)
    parser.add_argument("--remove", action="store_true", help="remove the folder of the file at the end")
    given = parser.parse_args(arguments)
    remember = given.script is None
    try:
        _drystone.open_window(str(given.file), given.backend, given.paused, given.dark, remember, given.script)
    except Error as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        if given.remove:
            shutil.rmtree(given.file.parent, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

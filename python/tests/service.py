"""Services of their own for tests."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BINARY = os.environ.get("DRYSTONE", str(Path(__file__).parents[2] / "target/debug/drystone"))


@contextmanager
def running(store: Path) -> Iterator[str]:
    """The address of a service, which is ended in order afterwards."""
    arguments = [BINARY, "serve", "--listen", "127.0.0.1:0", "--backend", "cpu", "--store", str(store)]
    child = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
    assert child.stderr is not None
    said = []
    for line in child.stderr:
        said.append(line)
        if line.startswith("listening on "):
            try:
                yield line.split()[-1]
            finally:
                child.terminate()
                # Read to its end, so that it never waits for us.
                child.communicate(timeout=40)
            assert child.returncode == 0
            return
    raise AssertionError("the service did not start: " + "".join(said))

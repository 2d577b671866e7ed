"""Separate services for tests."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BINARY = os.environ.get("DRYSTONE", str(Path(__file__).parents[2] / "target/debug/drystone"))


def free_port() -> int:
    """Returns a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def steps_for(seconds: float, probe: Any) -> int:
    """Returns how many steps of a world like this one take about this time on this machine, by the fastest of some."""
    count = 100
    fastest = 1e9
    for _ in range(4):
        start = time.monotonic()
        probe.step(count)
        fastest = min(fastest, time.monotonic() - start)
    probe.delete()
    return max(1500, round(seconds * count / fastest))


class Process:
    """Service on a store, which can be killed and restarted at the same address."""

    def __init__(self, store: Path, variables: Mapping[str, str] | None = None) -> None:
        self.store = store
        self.variables = dict(variables or {})
        self.port = 0
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Starts the service, and waits until it listens."""
        arguments = [BINARY, "serve", "--listen", f"127.0.0.1:{self.port}", "--backend", "cpu"]
        arguments += ["--store", str(self.store)]
        environment = os.environ | self.variables
        self.child = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True, env=environment)
        assert self.child.stderr is not None
        said = []
        for line in self.child.stderr:
            said.append(line)
            if line.startswith("listening on "):
                self.port = int(line.rsplit(":", 1)[1])
                return
        raise AssertionError("the service did not start: " + "".join(said))

    def kill(self) -> None:
        """Ends the service with SIGKILL."""
        self.child.send_signal(signal.SIGKILL)
        self.child.communicate(timeout=40)

    def stop(self) -> None:
        """Stops the service in order."""
        self.child.terminate()
        # Read to its end, so that the service never blocks on the pipe.
        self.child.communicate(timeout=40)
        assert self.child.returncode == 0


@contextmanager
def process(store: Path, variables: Mapping[str, str] | None = None) -> Iterator[Process]:
    """Runs a service, and stops it in order afterwards."""
    made = Process(store, variables)
    try:
        yield made
    except BaseException:
        made.child.kill()
        made.child.communicate(timeout=40)
        raise
    made.stop()


@contextmanager
def running(store: Path) -> Iterator[str]:
    """Runs a service, and stops it in order afterwards. Yields its address."""
    with process(store) as made:
        yield made.url

"""The window: `drystone.view(world)`. It runs in a process of its own, as a process can open one window, on its main thread."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from .errors import DeviceError
from .scene import SceneSource, native_scene
from .world import World, _backend


def view(
    world: World | SceneSource,
    *,
    backend: str = "auto",
    paused: bool = False,
    dark: bool | None = None,
    block: bool = True,
    script: str | os.PathLike[str] | None = None,
) -> subprocess.Popen[bytes] | None:
    """Opens a window on a copy of a world as it is now, or on a scene.

    - `backend`: backend of the window's world; can be changed in the window.
    - `paused`: begin paused.
    - `dark`: dark or light colours; default those of the last session.
    - `block`: wait until the window is closed; False returns its process instead.
    - `script`: file with the lines of a scripted user, as of `drystone view --script`.

    What happens in the window does not change `world`. Raises DeviceError if there is no display or no adapter.
    """
    chosen = _backend(backend)
    if isinstance(world, World):
        name, data = "world.snap", world.save()
    else:
        name, data = "scene.json", native_scene(world).json().encode()
    folder = tempfile.mkdtemp(prefix="drystone-")
    path = Path(folder, name)
    path.write_bytes(data)
    command = [sys.executable, "-m", "drystone._window_process", str(path), "--remove", "--backend", chosen]
    command += ["--paused"] * paused
    if dark is not None:
        command += ["--dark" if dark else "--light"]
    if script is not None:
        command += ["--script", os.fspath(script)]
    child = subprocess.Popen(command, stderr=subprocess.PIPE if block else None)
    if not block:
        return child
    try:
        _, said = child.communicate()
    except BaseException:
        child.terminate()
        child.wait()
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if child.returncode != 0:
        lines = said.decode(errors="replace").strip().splitlines()
        raise DeviceError(lines[-1] if lines else f"the window ended with code {child.returncode}")
    return None

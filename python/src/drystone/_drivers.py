"""Keeps graphics drivers quiet where there is no display."""

from __future__ import annotations

import os
import sys


def keep_quiet() -> None:
    """Switches off the layer of Mesa's Vulkan drivers that asks the display for its GPU, if there is no display.

    The layer would write "XDG_RUNTIME_DIR is invalid" to standard error each time that adapters are listed. Adapters are
    ranked by the solver in any case.
    """
    if not sys.platform.startswith("linux") or "NODEVICE_SELECT" in os.environ:
        return
    has_display = "DISPLAY" in os.environ or "WAYLAND_SOCKET" in os.environ
    paths = (os.environ.get("WAYLAND_DISPLAY", ""), os.environ.get("XDG_RUNTIME_DIR", ""))
    if not has_display and not any(os.path.isabs(path) for path in paths):
        os.environ["NODEVICE_SELECT"] = "1"

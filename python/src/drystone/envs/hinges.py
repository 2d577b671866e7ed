"""Hinges with a motor and limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..scene import Scene


def driven_hinge(
    scene: Scene, b: int, a: int, limits: tuple[float, float], motor: Mapping[str, float], hinge: Mapping[str, Any]
) -> int:
    """Adds a hinge whose limits hold against its motor, and returns the index of the joint with the motor.

    In a joint with both, the motor is solved after the limits and wins over them until sweeps have built up its largest
    torque. So the limits are a joint of their own, which comes later.
    """
    driven = scene.join("revolute", b, a, motor=motor, **hinge)
    scene.join("revolute", b, a, limits=limits, **hinge)
    return driven

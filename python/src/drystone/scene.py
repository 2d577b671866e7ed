"""Scenes built in Python: `Scene` and `Body`. They make the objects of a scene file, which the solver checks."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

from . import _drystone
from .errors import ArgumentError, SceneError

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from ._arguments import Pair


class Surface(TypedDict, total=False):
    """Optional properties of a shape; what is left out has the default of the scene file."""

    density: float
    """Density, kg/m²; default 1."""
    material: str
    """Name of a material of the scene (`Scene.more["materials"]`), whose values the shape has unless it gives its own."""
    friction: float
    """Coulomb friction coefficient; default 0.6. Two are mixed by √(ab)."""
    kinetic_friction: float
    """Friction coefficient while sliding, at most `friction`; default the same."""
    restitution: float
    """Share of the approach speed that is returned, 0 to 1; default 0."""
    rolling_resistance: float
    """Torque against rolling, relative to normal force times radius; default 0."""
    tangent_speed: float
    """Speed of the surface along itself, as of a conveyor belt, m/s; default 0."""
    offset: Pair
    """Origin in the body's frame, m; default (0, 0)."""
    rotation: float
    """Rotation in the body's frame, rad; default 0."""
    sensor: bool
    """True: the shape reports overlaps and does not collide; default False."""
    filter: Mapping[str, int]
    """Collision filter: `category`, `mask` and `group`."""


class Body:
    """Body of a scene: a frame with the shapes fixed to it.

    Each method returns another body, so that one body can be the model of many:

    >>> brick = Body.dynamic(0, 0).half_box(0.5, 0.25, friction=0.8)
    >>> wall = [brick.at(0, 0.25 + 0.5 * row) for row in range(3)]
    >>> [body.to_dict()["position"] for body in wall]
    [[0, 0.25], [0, 0.75], [0, 1.25]]

    Positions are those of the frame's origin, m; angles are in radians, counter-clockwise.
    """

    def __init__(self, fields: Mapping[str, Any]) -> None:
        """Makes a body from the keys of a scene file: `Body({"type": "dynamic", "shapes": [{"circle": {"radius": 1}}]})`."""
        if not isinstance(fields, Mapping):
            raise ArgumentError("fields", f"is {type(fields).__name__}", "a mapping, as a body of a scene file")
        self._fields: dict[str, Any] = copy.deepcopy(dict(fields))

    @classmethod
    def dynamic(cls, x: float = 0.0, y: float = 0.0) -> Self:
        """Returns a body that moves under forces, with its origin at (x, y), m."""
        return cls({"type": "dynamic", "position": [_plain(x), _plain(y)], "shapes": []})

    @classmethod
    def kinematic(cls, x: float = 0.0, y: float = 0.0) -> Self:
        """Returns a body that moves with its velocity, unaffected by forces, with its origin at (x, y), m."""
        return cls({"type": "kinematic", "position": [_plain(x), _plain(y)], "shapes": []})

    @classmethod
    def fixed(cls, x: float = 0.0, y: float = 0.0) -> Self:
        """Returns a static body, which never moves, with its origin at (x, y), m."""
        return cls({"type": "static", "position": [_plain(x), _plain(y)], "shapes": []})

    def circle(self, radius: float, **surface: Unpack[Surface]) -> Self:
        """Adds a circle of a radius, m."""
        return self._shape("circle", {"radius": _plain(radius)}, surface)

    def half_box(self, half_width: float, half_height: float, *, radius: float | None = None, **surface: Unpack[Surface]) -> Self:
        """Adds a rectangle of half a width and half a height, m; `radius` rounds it, added on all sides, m."""
        box: dict[str, Any] = {"half": [_plain(half_width), _plain(half_height)]}
        if radius is not None:
            box["radius"] = _plain(radius)
        return self._shape("box", box, surface)

    def capsule(self, a: Pair, b: Pair, radius: float, **surface: Unpack[Surface]) -> Self:
        """Adds all points within a radius, m, of the segment from `a` to `b`, m."""
        return self._shape("capsule", {"a": _plain(a), "b": _plain(b), "radius": _plain(radius)}, surface)

    def polygon(self, points: Sequence[Pair], *, radius: float | None = None, **surface: Unpack[Surface]) -> Self:
        """Adds a convex polygon of 3 to 8 points, counter-clockwise, m; `radius` rounds it, added on all sides, m."""
        polygon: dict[str, Any] = {"points": _plain(points)}
        if radius is not None:
            polygon["radius"] = _plain(radius)
        return self._shape("polygon", polygon, surface)

    def segment(self, a: Pair, b: Pair, **surface: Unpack[Surface]) -> Self:
        """Adds a line from `a` to `b`, m, solid from both sides. It has no mass."""
        return self._shape("segment", {"a": _plain(a), "b": _plain(b)}, surface)

    def half_plane(self, normal: Pair = (0.0, 1.0), **surface: Unpack[Surface]) -> Self:
        """Adds everything below a line through the origin with a normal out of the solid side. Not for dynamic bodies."""
        return self._shape("half_plane", {"normal": _plain(normal)}, surface)

    def particle(self, radius: float, **surface: Unpack[Surface]) -> Self:
        """Adds a disc of a radius, m, on a body that never turns, as its only shape."""
        return self._shape("particle", {"radius": _plain(radius)}, surface)

    def at(self, x: float, y: float) -> Self:
        """Returns the body with its origin at (x, y), m."""
        return self.set(position=(x, y))

    def angle(self, angle: float) -> Self:
        """Returns the body at an angle, rad."""
        return self.set(angle=angle)

    def velocity(self, x: float, y: float) -> Self:
        """Returns the body with a velocity of its centre of mass, m/s."""
        return self.set(velocity=(x, y))

    def angular_velocity(self, speed: float) -> Self:
        """Returns the body with an angular velocity, rad/s."""
        return self.set(angular_velocity=speed)

    def id(self, name: str) -> Self:
        """Returns the body with a name, by which `World.body` and joints find it."""
        return self.set(id=name)

    def mass(self, mass: float) -> Self:
        """Returns the body with a mass, kg, instead of that of its shapes."""
        return self.set(mass=mass)

    def set(self, **fields: Any) -> Self:
        """Returns the body with other keys of a scene file, such as `bullet=True`, `linear_damping=0.1`, `path={…}`."""
        return type(self)({**self._fields, **{key: _plain(value) for key, value in fields.items()}})

    def to_dict(self) -> dict[str, Any]:
        """Returns the body as an object of a scene file."""
        return copy.deepcopy(self._fields)

    def _shape(self, kind: str, geometry: dict[str, Any], surface: Mapping[str, Any]) -> Self:
        unknown = sorted(set(surface) - set(Surface.__annotations__))
        if unknown:
            raise TypeError(f"{kind}() got an unexpected keyword argument {unknown[0]!r}")
        shape = {kind: geometry, **{key: _plain(value) for key, value in surface.items()}}
        return type(self)({**self._fields, "shapes": [*self._fields.get("shapes", []), shape]})

    def __repr__(self) -> str:
        return f"Body({self._fields!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Body) and self._fields == other._fields

    __hash__ = None  # type: ignore[assignment]


class Scene:
    """Scene built in Python: bodies, joints, settings.

    >>> scene = Scene("drop", gravity=(0, -10))
    >>> ground = scene.add(Body.fixed(0, -1).half_box(50, 1))
    >>> ball = scene.add(Body.dynamic(0, 4).circle(0.5))
    >>> hinge = scene.join("revolute", ball, anchor_a=(0, 5), anchor_b=(0, 1))
    >>> scene.settings["substeps"] = 8
    """

    def __init__(self, name: str = "", *, gravity: Pair | None = None, settings: Mapping[str, Any] | None = None) -> None:
        """
        - `name`: name of the scene.
        - `gravity`: gravity, m/s²; default (0, −9.81).
        - `settings`: settings of the solver by their keys in a scene file, such as `{"sleep": True, "dt": 1 / 120}`.
        """
        self.name = name
        self.gravity = gravity
        self.settings: dict[str, Any] = dict(settings or {})
        self.bodies: list[Body] = []
        self.joints: list[dict[str, Any]] = []
        self.more: dict[str, Any] = {}
        """Other keys of a scene file: `materials`, `material_pairs`, `emitters`, `timeline`, `fields`, `view`,
        `contact_rule`."""

    @classmethod
    def load(cls, source: SceneSource) -> Self:
        """Returns a scene that can be changed: from the catalogue (`"large_pyramid:base=20"`), a file, or a mapping."""
        fields: dict[str, Any] = json.loads(native_scene(source).json())
        fields.pop("version", None)
        scene = cls(fields.pop("name", ""), gravity=fields.pop("gravity", None), settings=fields.pop("settings", None))
        scene.bodies = [Body(body) for body in fields.pop("bodies", [])]
        scene.joints = fields.pop("joints", [])
        scene.more = fields
        return scene

    def add(self, body: Body | Mapping[str, Any]) -> int:
        """Adds a body and returns its index."""
        self.bodies.append(body if isinstance(body, Body) else Body(body))
        return len(self.bodies) - 1

    def join(self, type: str, b: int | str, a: int | str | None = None, **fields: Any) -> int:
        """Adds a joint and returns its index.

        - `type`: "distance", "spring", "revolute", "prismatic", "weld", "wheel", "motor", "mouse",
          "velocity", "gear" or "pulley".
        - `b`, `a`: its bodies, by index or name; without `a` it holds `b` to the world.
        - `fields`: further keys of a joint in a scene file, such as `anchor_b=(0, 1)`, `motor={"speed": 1, "max": 50}`.
        """
        joint = {"type": type, "b": b, **{key: _plain(value) for key, value in fields.items()}}
        if a is not None:
            joint["a"] = a
        self.joints.append(joint)
        return len(self.joints) - 1

    def to_dict(self) -> dict[str, Any]:
        """Returns the scene as the object of a scene file."""
        fields: dict[str, Any] = {"version": 1, **copy.deepcopy(self.more)}
        if self.name:
            fields["name"] = self.name
        if self.gravity is not None:
            fields["gravity"] = _plain(self.gravity)
        fields["bodies"] = [body.to_dict() for body in self.bodies]
        if self.joints:
            fields["joints"] = copy.deepcopy(self.joints)
        if self.settings:
            fields["settings"] = _plain(self.settings)
        return fields

    def check(self) -> None:
        """Checks the scene, as a world made from it would.

        Raises SceneError for the first value that is not valid.
        """
        native_scene(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a scene file, JSON."""
        Path(path).write_text(native_scene(self).json(), encoding="utf-8")

    def __repr__(self) -> str:
        return f"<drystone.Scene {self.name!r}: {len(self.bodies)} bodies, {len(self.joints)} joints>"


SceneSource: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any] | Scene"
"""Origin of a scene: a name of the catalogue with parameters, a file (.json, .ron), the object of a scene file, a Scene."""


def native_scene(source: SceneSource) -> _drystone.Scene:
    """Returns the checked scene."""
    if isinstance(source, _drystone.Scene):
        return source
    if isinstance(source, Scene):
        return _parse(source.to_dict())
    if isinstance(source, Mapping):
        return _parse({"version": 1, **source})
    if isinstance(source, str):
        is_file = source.lower().endswith((".json", ".ron")) or "/" in source or os.sep in source
        return _drystone.Scene.read(source) if is_file else _drystone.Scene.build(source)
    if isinstance(source, os.PathLike):
        return _drystone.Scene.read(os.fspath(source))
    raise ArgumentError("scene", f"is {type(source).__name__}", "a name, a file, a dict or a drystone.Scene")


def body_text(body: Body | Mapping[str, Any]) -> str:
    """Returns a body as JSON."""
    if not isinstance(body, (Body, Mapping)):
        raise ArgumentError("body", f"is {type(body).__name__}", "a drystone.Body or a dict")
    return _text(body.to_dict() if isinstance(body, Body) else _plain(body), "body")


def shapes_text(shapes: Body | Sequence[Mapping[str, Any]]) -> str:
    """Returns shapes of a body as JSON."""
    if isinstance(shapes, Body):
        return _text(shapes.to_dict().get("shapes", []), "shapes")
    if isinstance(shapes, (str, Mapping)) or not isinstance(shapes, Sequence):
        raise ArgumentError("shapes", f"is {type(shapes).__name__}", "a list of dicts, or a drystone.Body that has the shapes")
    if not shapes:
        raise SceneError("", "is empty", "at least one shape", "shapes")
    return _text(_plain(list(shapes)), "shapes")


def part_text(fields: Mapping[str, Any], argument: str) -> str:
    """Returns a part of a scene that is given as an argument as JSON."""
    if not isinstance(fields, Mapping):
        raise ArgumentError(argument, f"is {type(fields).__name__}", "a dict")
    return _text(_plain(fields), argument)


def scene_error(error: SceneError, argument: str) -> SceneError:
    """Returns the error of a part that was given as another argument than `scene`."""
    return SceneError(error.path, error.problem, error.expected, argument)


def _parse(fields: Mapping[str, Any]) -> _drystone.Scene:
    return _drystone.Scene.parse(_text(_plain(fields), "scene"))


def _text(fields: Any, argument: str) -> str:
    try:
        return json.dumps(fields, allow_nan=False)
    except (TypeError, ValueError) as error:
        path, value = _unwritable(fields, "")
        problem = f"is {value!r}" if path else str(error)
        raise SceneError(path, problem, "a finite number, text, a list or a dict", argument) from None


def _plain(value: Any) -> Any:
    """Returns a value as JSON has it: arrays and tuples as lists, numbers of NumPy as those of Python."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, (Body, Scene)):
        return value.to_dict()
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if hasattr(value, "tolist"):
        return value.tolist()
    # Whole numbers stay whole for counts; the scene file takes them as numbers too.
    return value


def _unwritable(value: Any, path: str) -> tuple[str, Any]:
    """Returns path and value of the first part that JSON cannot have."""
    if isinstance(value, dict):
        parts = [(f"{path}.{key}" if path else str(key), inner) for key, inner in value.items()]
    elif isinstance(value, list):
        parts = [(f"{path}[{index}]", inner) for index, inner in enumerate(value)]
    else:
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            return path, value
        return "", None
    for place, inner in parts:
        found = _unwritable(inner, place)
        if found[0]:
            return found
    return "", None

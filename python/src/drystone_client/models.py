"""What the service takes and gives, as JSON. Written by generate_models.py from the service's description."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict, final


class Aabb(TypedDict):
    """Finds the shapes whose boxes meet this one."""

    filter: NotRequired[FilterRecord]
    """Filter of the shapes that it finds."""
    max: Sequence[float]
    """Upper right corner, m."""
    min: Sequence[float]
    """Lower left corner, m."""


@final
class AabbQuery(TypedDict):
    """Finds the shapes whose boxes meet this one."""

    aabb: Aabb
    """Finds the shapes whose boxes meet this one."""


class AngularImpulse(TypedDict):
    """Turns a dynamic body, at once."""

    body: BodyRef
    """Id, index or name of the body."""
    impulse: float
    """Angular impulse, N·m·s."""


@final
class AngularImpulseCommand(TypedDict):
    """Turns a dynamic body, at once."""

    angular_impulse: AngularImpulse
    """Turns a dynamic body, at once."""


class AngularVelocity(TypedDict):
    """Sets the angular velocity of a dynamic or kinematic body."""

    angular_velocity: float
    """Angular velocity, rad/s."""
    body: BodyRef
    """Id, index or name of the body."""


@final
class AngularVelocityCommand(TypedDict):
    """Sets the angular velocity of a dynamic or kinematic body."""

    angular_velocity: AngularVelocity
    """Sets the angular velocity of a dynamic or kinematic body."""


class Answers(TypedDict):
    """Answers to queries, in their order."""

    answers: Sequence[Found]
    """Answers, one for each query."""
    step: int
    """Steps done."""


class Batch(TypedDict):
    """Commands, done one after the other."""

    commands: Sequence[CommandRecord]
    """Commands, at least one."""


class Bodies(TypedDict):
    """Bodies of a world with their shapes."""

    bodies: Sequence[Look]
    """Bodies, in the order of their slots."""
    step: int
    """Steps done."""
    view: NotRequired[View]
    """Part of the world that the scene wants to be shown at first. Left out if it does not say."""


BodyRef: TypeAlias = "str | int"


class BodyState(TypedDict):
    """Position and velocity of a body."""

    angle: float
    """Angle, rad, in (−π, π]."""
    angular_velocity: float
    """Angular velocity, rad/s."""
    asleep: NotRequired[bool]
    """True if it sleeps. Left out if not."""
    id: str
    """Id of the body: `slot.generation`."""
    name: NotRequired[str]
    """Name in the scene."""
    position: Sequence[float]
    """Position of its origin, m."""
    velocity: Sequence[float]
    """Velocity of its centre of mass, m/s."""


class Checkpoint(TypedDict):
    """Name of a checkpoint to be made."""

    name: NotRequired[str | None]
    """Name: small letters, digits and hyphens, at most 64. [default: by the step]"""


class Checkpoints(TypedDict):
    """Names of checkpoints."""

    checkpoints: Sequence[str]
    """Names, in their order."""


class Circle(TypedDict):
    """A circle."""

    center: Sequence[float]
    """Centre, m."""
    radius: float
    """Radius, m."""


CommandRecord: TypeAlias = "ImpulseCommand | AngularImpulseCommand | ForceCommand | TorqueCommand | VelocityCommand | AngularVelocityCommand | TeleportCommand | TargetCommand | WakeCommand | WakeAllCommand | GravityCommand | SpawnCommand | RemoveCommand | JoinCommand | UnjoinCommand | MouseCommand | ReleaseCommand | MotorCommand | LimitsCommand | LengthCommand | OffsetCommand | SpringTargetCommand | EnableCommand"
"""Command to a world: an object whose only key names it."""


class Done(TypedDict):
    """Results of commands."""

    results: Sequence[Any]
    """Results, one for each command: `{}`, or ids of what it made."""
    step: int
    """Steps done before them."""


class Enable(TypedDict):
    """Switches a joint on or off."""

    enabled: bool
    """True to switch it on."""
    joint: JointRef
    """Id, index or name of the joint."""


@final
class EnableCommand(TypedDict):
    """Switches a joint on or off."""

    enable: Enable
    """Switches a joint on or off."""


class Event(TypedDict):
    """Contact that began or ended, sensor, or joint that broke."""

    approach_speed: NotRequired[float]
    """Speed at which the bodies of a contact that began approached each other, m/s."""
    bodies: Sequence[str | None]
    """Ids of the bodies, `null` for one that is gone."""
    joint: NotRequired[str]
    """Id of a joint that broke."""
    normal: NotRequired[Sequence[float]]
    """Direction of a contact that began, from the first body to the second."""
    number: int
    """Number of the event, counted from the start of the service or the world."""
    point: NotRequired[Sequence[float]]
    """Place of a contact that began, m."""
    step: int
    """Step in which it happened."""
    type: str
    """`begin`, `end`, `sensor_begin`, `sensor_end` or `joint_broke`."""


class Events(TypedDict):
    """Events of a world."""

    events: Sequence[Event]
    """Events, the oldest first."""
    missed: int
    """Events between `from` and the first that is still kept."""
    next: int
    """`from` of the next request."""


class FilterRecord(TypedDict):
    """Filter, as in a scene."""

    category: NotRequired[int]
    """Categories of the query, as bits."""
    group: NotRequired[int]
    """Group: shapes of an equal positive one are always found, those of an equal negative one never."""
    mask: NotRequired[int]
    """Categories of the shapes that it finds, as bits."""


class Force(TypedDict):
    """Sets the constant force on a dynamic body from now on."""

    body: BodyRef
    """Id, index or name of the body."""
    force: Sequence[float]
    """Force, N."""
    point: NotRequired[Sequence[float] | None]
    """Point of the body at which it acts, moving along with it, m; its centre of mass if there is none."""


@final
class ForceCommand(TypedDict):
    """Sets the constant force on a dynamic body from now on."""

    force: Force
    """Sets the constant force on a dynamic body from now on."""


Found: TypeAlias = "HitFound | FoundFound"
"""The answer to a query."""


@final
class FoundFound(TypedDict):
    """Answer to other queries: all shapes that were found."""

    found: Sequence[ShapeOf]
    """Answer to other queries: all shapes that were found."""


class Gravity(TypedDict):
    """Sets gravity from the next step on, and wakes all. It stays until it is set again."""

    gravity: NotRequired[Sequence[float] | None]
    """Gravity, m/s², each from −1e15 to 1e15; that of the scene if there is none."""


@final
class GravityCommand(TypedDict):
    """Sets gravity from the next step on, and wakes all. It stays until it is set again."""

    gravity: Gravity
    """Sets gravity from the next step on, and wakes all. It stays until it is set again."""


class HalfPlane(TypedDict):
    """Everything below a line."""

    normal: Sequence[float]
    """Direction out of it."""
    point: Sequence[float]
    """Point on the line, m."""


class Hit(TypedDict):
    """End of a ray."""

    body: NotRequired[str | None]
    """Id of the body."""
    fraction: float
    """Part of the ray's length, 0 to 1."""
    normal: Sequence[float]
    """Direction out of the shape."""
    point: Sequence[float]
    """Place, m."""
    shape: int
    """Index of the shape in the world."""


@final
class HitFound(TypedDict):
    """Answer to a ray: the first hit, or `null`."""

    hit: Hit | None


class Impulse(TypedDict):
    """Pushes a dynamic body, at once."""

    body: BodyRef
    """Id, index or name of the body."""
    impulse: Sequence[float]
    """Impulse, N·s."""
    point: NotRequired[Sequence[float] | None]
    """Point of the body at which it acts, m; its centre of mass if there is none."""


@final
class ImpulseCommand(TypedDict):
    """Pushes a dynamic body, at once."""

    impulse: Impulse
    """Pushes a dynamic body, at once."""


class Join(TypedDict):
    """Adds a joint, written as in a scene file but for its bodies."""

    a: NotRequired[BodyRef | None]
    b: BodyRef
    """The other body."""
    joint: Mapping[str, Any]
    """Joint, written as in a scene without `a` and `b`."""


@final
class JoinCommand(TypedDict):
    """Adds a joint, written as in a scene file but for its bodies."""

    join: Join
    """Adds a joint, written as in a scene file but for its bodies."""


class JointLook(TypedDict):
    """Kind and place of a joint."""

    a: NotRequired[str | None]
    """Id of the first body, `null` for the world."""
    anchor_a: Sequence[float]
    """Anchor on the first body, in its frame; in the world if `a` is `null`, m."""
    anchor_b: Sequence[float]
    """Anchor on the second body, in its frame, m."""
    axis: NotRequired[Sequence[float]]
    """Direction in which a `prismatic` joint or a `wheel` slides, in the frame of the first body."""
    b: str
    """Id of the second body."""
    breakable: NotRequired[bool]
    """True if a force or a torque can break it. Left out if not."""
    broken: NotRequired[bool]
    """True if it broke. Left out if not."""
    disabled: NotRequired[bool]
    """True if it is switched off. Left out if not."""
    id: str
    """Id of the joint: `index.generation`."""
    length: NotRequired[float]
    """Distance of the anchors that a `distance` joint or a `spring` holds, m."""
    limits: NotRequired[Sequence[float]]
    """Least and greatest distance of the anchors of a `distance` joint, m."""
    name: NotRequired[str]
    """Name in the scene."""
    type: str
    """`distance`, `spring`, `revolute`, `prismatic`, `wheel`, `weld`, `motor` or `mouse`."""


JointRef: TypeAlias = "str | int"


class Joints(TypedDict):
    """Joints of a world."""

    joints: Sequence[JointLook]
    """Joints, in the order of their indices."""
    step: int
    """Steps done."""


class Length(TypedDict):
    """Sets the length of a rod or a spring."""

    joint: JointRef
    """Id, index or name of the joint."""
    length: float
    """Length, m."""


@final
class LengthCommand(TypedDict):
    """Sets the length of a rod or a spring."""

    length: Length
    """Sets the length of a rod or a spring."""


class Limits(TypedDict):
    """Sets the limits of a joint that has some."""

    joint: JointRef
    """Id, index or name of the joint."""
    limits: Sequence[float]
    """Lower and upper limit, m or rad."""


@final
class LimitsCommand(TypedDict):
    """Sets the limits of a joint that has some."""

    limits: Limits
    """Sets the limits of a joint that has some."""


class Look(TypedDict):
    """Type, mass and shapes of a body."""

    id: str
    """Id of the body: `slot.generation`."""
    mass: float
    """Mass, kg; 0 if it is not dynamic."""
    name: NotRequired[str]
    """Name in the scene."""
    shapes: Sequence[Outline]
    """Shapes, in the frame of the body."""
    type: str
    """`static`, `kinematic` or `dynamic`."""


class Metrics(TypedDict):
    """Quality and energy of a world."""

    contacts: int
    """Pairs of shapes that touch or are about to."""
    hash: str
    """Hash, as in a state."""
    metrics: Mapping[str, Any]
    """Penetration, energy, momentum and so on, as in the reports of `drystone run --json`."""
    overflowed_steps: int
    """Steps in which a buffer was too small."""
    quarantined: int
    """Bodies that were stopped because their numbers had become useless."""
    stages_ms: Mapping[str, float]
    """Milliseconds of each stage in the last step, where that is measured."""
    step: int
    """Steps done."""
    time: float
    """Simulated seconds."""


class Motor(TypedDict):
    """Sets the motor of a joint that has one."""

    joint: JointRef
    """Id, index or name of the joint."""
    max: float
    """Largest force, N, or torque, N·m."""
    speed: float
    """Speed, m/s, or rad/s where it turns."""


@final
class MotorCommand(TypedDict):
    """Sets the motor of a joint that has one."""

    motor: Motor
    """Sets the motor of a joint that has one."""


class Mouse(TypedDict):
    """Pulls a body with a pointer: the first grabs it, later ones move the pointer."""

    body: NotRequired[BodyRef | None]
    damping_ratio: NotRequired[float]
    """Damping ratio of the pull; 1 is critical."""
    hertz: NotRequired[float]
    """Stiffness of the pull, Hz."""
    max_force: NotRequired[float]
    """Largest force, N."""
    point: NotRequired[Sequence[float]]
    """Point of the body that is held, in its frame, m."""
    pointer: NotRequired[str]
    """Name of the pointer, chosen by the client."""
    target: Sequence[float]
    """Place in the world to which that point is pulled, m."""


@final
class MouseCommand(TypedDict):
    """Pulls a body with a pointer: the first grabs it, later ones move the pointer."""

    mouse: Mouse
    """Pulls a body with a pointer: the first grabs it, later ones move the pointer."""


class NewWorld(TypedDict):
    """Scene of a new world and its name. A scene as it is in a scene file does as well."""

    name: NotRequired[str | None]
    """Name for people. That of the scene, if there is none."""
    scene: str | Scene


class Offset(TypedDict):
    """Sets the offset of a motor joint."""

    angular: NotRequired[float]
    """Angle of B against A, rad."""
    joint: JointRef
    """Id, index or name of the joint."""
    linear: Sequence[float]
    """Offset of B's anchor against A's, in A's frame, m."""


@final
class OffsetCommand(TypedDict):
    """Sets the offset of a motor joint."""

    offset: Offset
    """Sets the offset of a motor joint."""


class Outline(TypedDict):
    """Shape for drawing. One of the first three is there."""

    circle: NotRequired[Circle]
    """A circle."""
    half_plane: NotRequired[HalfPlane]
    """Everything below a line."""
    polygon: NotRequired[Polygon]
    """Points with a radius about them: also boxes, capsules, segments."""
    sensor: NotRequired[bool]
    """True for a sensor, which notices other shapes and pushes none. Left out if not."""


class Overlap(TypedDict):
    """Finds the shapes that overlap this one."""

    angle: NotRequired[float]
    """Angle, rad."""
    filter: NotRequired[FilterRecord]
    """Filter of the shapes that it finds."""
    position: Sequence[float]
    """Position of its origin, m."""
    shape: Mapping[str, Any]
    """Shape, written as in a scene, such as `{"circle": {"radius": 1}}`."""


@final
class OverlapQuery(TypedDict):
    """Finds the shapes that overlap this one."""

    overlap: Overlap
    """Finds the shapes that overlap this one."""


class Play(TypedDict):
    """Speed at which a world plays."""

    speed: NotRequired[float | Literal["max"]]
    unwatched: NotRequired[float | None]
    """Seconds without a stream or a request about the world, after which it pauses, up to 1e9; 0: it plays
    on. [default: pause_unwatched_seconds]"""


class Played(TypedDict):
    """Answer to play and pause."""

    playing: bool
    """True if it steps by itself from now on."""
    speed: NotRequired[float | None]
    """Multiple of real time; `null` if as fast as it goes."""
    step: int
    """Steps done before it."""


class Point(TypedDict):
    """Finds the shapes that contain a point."""

    at: Sequence[float]
    """Point, m."""
    filter: NotRequired[FilterRecord]
    """Filter of the shapes that it finds."""


@final
class PointQuery(TypedDict):
    """Finds the shapes that contain a point."""

    point: Point
    """Finds the shapes that contain a point."""


class Polygon(TypedDict):
    """Points with a radius about them."""

    points: Sequence[Sequence[float]]
    """Corners, m, counter-clockwise."""
    radius: float
    """Radius, m."""


class Problem(TypedDict):
    """A problem, as `application/problem+json`."""

    applied: NotRequired[int | None]
    """Commands of the batch that were done before the one that was refused."""
    column: NotRequired[int | None]
    """Column there, in characters, from 1."""
    detail: str
    """Description of this problem."""
    expected: NotRequired[str | None]
    """Value that should be there."""
    line: NotRequired[int | None]
    """Line of the body, from 1."""
    path: NotRequired[str | None]
    """JSON path of what is wrong in the body, such as `bodies[3].shapes[0].box.half[1]`."""
    retry_after: NotRequired[int | None]
    """Seconds after which it may work; also in the header `Retry-After`."""
    status: int
    """HTTP status."""
    title: str
    """Title of all problems of this kind."""
    type: str
    """`urn:drystone:` and a word that says what kind of problem it is. Programs look at this."""


QueryRecord: TypeAlias = "RayQuery | PointQuery | AabbQuery | OverlapQuery"
"""Query about places, as clients write it: an object whose only key names it."""


class Questions(TypedDict):
    """Questions, answered in one go."""

    queries: Sequence[QueryRecord]
    """Queries, at least one."""


Ray = TypedDict(
    "Ray",
    {
        "filter": "NotRequired[FilterRecord]",
        "from": "Sequence[float]",
        "to": "Sequence[float]",
    },
)
"""Finds the first shape on the way from one point to another."""


@final
class RayQuery(TypedDict):
    """Finds the first shape on the way from one point to another."""

    ray: Ray
    """Finds the first shape on the way from one point to another."""


class Release(TypedDict):
    """Lets go of what a pointer holds."""

    pointer: NotRequired[str]
    """Name of the pointer."""


@final
class ReleaseCommand(TypedDict):
    """Lets go of what a pointer holds."""

    release: Release
    """Lets go of what a pointer holds."""


class Remove(TypedDict):
    """Removes bodies, and their joints with them."""

    bodies: Sequence[BodyRef]
    """Ids, indices or names of the bodies."""


@final
class RemoveCommand(TypedDict):
    """Removes bodies, and their joints with them."""

    remove: Remove
    """Removes bodies, and their joints with them."""


class Restore(TypedDict):
    """Name of a checkpoint."""

    name: str
    """Name of the checkpoint."""


class Restored(TypedDict):
    """Answer to restore and rewind."""

    step: int
    """Steps done at the state that the world was put back to."""


class Rewind(TypedDict):
    """Number of steps to go back."""

    steps: NotRequired[int]
    """Number of steps."""
    timeout: NotRequired[float | None]
    """Seconds it may take; then the world stays where it was. [default: limits.step_seconds]"""


class Saved(TypedDict):
    """Checkpoint that was made."""

    checkpoint: str
    """Name of the checkpoint."""
    step: int
    """Steps done."""


Scene = TypedDict(
    "Scene",
    {
        "$schema": "NotRequired[str]",
        "bodies": "NotRequired[Sequence[SceneBody]]",
        "emitters": "NotRequired[Sequence[SceneEmitter]]",
        "fields": "NotRequired[Sequence[SceneField]]",
        "gravity": "NotRequired[Sequence[float]]",
        "joints": "NotRequired[Sequence[SceneJoint]]",
        "name": "NotRequired[str]",
        "settings": "NotRequired[SceneSettings]",
        "version": "Literal[1]",
        "view": "NotRequired[SceneView]",
    },
)
"""A scene for Drystone, a 2D rigid-body solver. SI units, y up, angles in radians, counter-clockwise."""


class SceneBody(TypedDict):
    """A rigid body: a frame with velocity, and the shapes that are fixed to it."""

    angle: NotRequired[float]
    """rad."""
    angular_damping: NotRequired[float]
    """1/s."""
    angular_velocity: NotRequired[float]
    """rad/s. Not used by static bodies."""
    bullet: NotRequired[bool]
    """Swept against moving bodies as well when fast, not only against static ones."""
    can_sleep: NotRequired[bool]
    """May fall asleep, where bodies do."""
    fixed_rotation: NotRequired[bool]
    """Never turns."""
    force: NotRequired[Sequence[float]]
    """Constant force in world axes, N."""
    force_point: NotRequired[Sequence[float]]
    """Where the force acts: a point fixed on the body, in its frame, m. Left out: the centre of mass."""
    gravity_scale: NotRequired[float]
    """Factor on gravity."""
    id: NotRequired[str]
    """Name for reports and joints; unique in the scene."""
    inertia: NotRequired[float]
    """kg·m² about the centre of mass; overrides what the shapes give."""
    linear_damping: NotRequired[float]
    """1/s."""
    mass: NotRequired[float]
    """kg; overrides what the shapes give (inertia is scaled along unless given)."""
    path: NotRequired[ScenePath]
    """Leads it, instead of its velocity. Kinematic bodies only."""
    position: NotRequired[Sequence[float]]
    """Origin of its frame (not its centre of mass), m."""
    shapes: Sequence[SceneShape]
    """At least one."""
    torque: NotRequired[float]
    """Constant torque, N·m."""
    type: NotRequired[Literal["static", "kinematic", "dynamic"]]
    """static never moves; kinematic moves by its velocity alone; dynamic moves by forces."""
    velocity: NotRequired[Sequence[float]]
    """Of the centre of mass, m/s. Not used by static bodies."""


class SceneBox(TypedDict):
    """A rectangle."""

    half: Sequence[float]
    """Half width and half height, m."""
    radius: NotRequired[float]
    """Of the rounding, added on all sides, m."""


class SceneCapsule(TypedDict):
    """All points within `radius` of a segment."""

    a: Sequence[float]
    """One end of the segment, m."""
    b: Sequence[float]
    """The other end, m."""
    radius: float
    """m."""


class SceneEmitter(TypedDict):
    """Makes a batch of bodies, with joints among them, before a step, again and again if it says so. One that
    goes on for ever has keep or lifetime."""

    bodies: Sequence[SceneBody]
    """Of a batch, no half planes among them. Their ids are for the emitter's own joints."""
    count: NotRequired[int]
    """How many batches there are in all. Left out: no end."""
    every: NotRequired[int]
    """Steps from one batch to the next. Left out: there is only one."""
    joints: NotRequired[Sequence[SceneJoint]]
    """What ties the bodies of a batch together, or to the world: by their index in it, or their id."""
    keep: NotRequired[int]
    """How many batches there may be at a time: as another comes the oldest goes."""
    lifetime: NotRequired[int]
    """Steps that a batch takes part in before it goes."""
    start: NotRequired[int]
    """Steps done when the first batch comes."""


class SceneEntry(TypedDict):
    """A built-in scene."""

    bodies: NotRequired[int | None]
    """Number of bodies with the defaults of its parameters."""
    name: str
    """Name, the first word of a spec."""
    parameters: Sequence[SceneParameter]
    """Parameters."""
    source: str
    """Origin of its numbers."""
    steps: int
    """Number of steps that show what it is for."""
    summary: str
    """Description in a sentence."""


class SceneField(TypedDict):
    """Something that moves all dynamic bodies."""

    point: ScenePointField
    """Draws them to a point, equally hard from everywhere; negative values drive them away."""


class SceneFilter(TypedDict):
    """What a shape touches."""

    category: NotRequired[int]
    """What it is, as bits."""
    group: NotRequired[int]
    """Equal and positive: always meet; equal and negative: never; else category and mask decide."""
    mask: NotRequired[int]
    """What it meets, as bits. Both shapes must agree."""


class SceneHalfPlane(TypedDict):
    """Everything below a line. Static and kinematic bodies only."""

    normal: Sequence[float]
    """Out of the solid side; need not have length 1."""
    offset: NotRequired[float]
    """Distance of the line from the origin along the normal, m."""


class SceneJoint(TypedDict):
    """A tie between two bodies, or between a body and the world. Which keys it has depends on `type`."""

    a: NotRequired[Any]
    """First body: index or id. Left out: the world. Not for mouse."""
    anchor_a: NotRequired[Sequence[float]]
    """In the frame of `a` or the world, m. Not for mouse."""
    anchor_b: NotRequired[Sequence[float]]
    """In the frame of `b`, m."""
    angular_damping_ratio: NotRequired[float]
    """weld: damping of the angle. Left out: as `damping_ratio`."""
    angular_hertz: NotRequired[float]
    """weld: stiffness of the angle, Hz. Left out: as `hertz`."""
    angular_offset: NotRequired[float]
    """motor: the angle `b` should have to `a`, rad. Left out: 0."""
    axis: NotRequired[Sequence[float]]
    """prismatic, wheel: direction in the frame of `a` or the world; need not have length 1."""
    b: Any
    """Second body: index or id."""
    break_force: NotRequired[float]
    """Breaks when it pulls or pushes harder than this, N."""
    break_torque: NotRequired[float]
    """Breaks when it turns harder than this, N·m."""
    collide: NotRequired[bool]
    """Whether the two bodies touch each other."""
    damping: NotRequired[float]
    """spring: N·s/m. Left out: 0."""
    damping_ratio: NotRequired[float]
    """Damping of what the joint holds; 1 is critical. Left out: 2 (mouse: 0.7). Not for spring."""
    enabled: NotRequired[bool]
    """A joint that is switched off does nothing."""
    hertz: NotRequired[float]
    """Stiffness of what the joint holds, Hz. Left out: 60, which is rigid to the eye (mouse: 5). Not for
    spring; a distance that limits or a motor leave free is held only if this is given."""
    id: NotRequired[str]
    """Name for reports; unique among the joints of the scene."""
    length: NotRequired[float]
    """distance: m. Left out: as the scene starts."""
    limits: NotRequired[Sequence[float]]
    """distance (shortest, longest), prismatic, wheel: m; revolute: rad. Lower, upper."""
    linear_offset: NotRequired[Sequence[float]]
    """motor: where `b`'s anchor should be against `a`'s, in the frame of `a`, m. Left out: `[0, 0]`."""
    max_force: NotRequired[float]
    """motor, mouse: largest force, N. Left out: 1e15, which is no limit."""
    max_torque: NotRequired[float]
    """motor: largest torque, N·m. Left out: 1e15, which is no limit."""
    motor: NotRequired[SceneMotor]
    """distance, prismatic: drives along; revolute, wheel: turns."""
    reference_angle: NotRequired[float]
    """revolute, prismatic, weld: the angle of `b` against `a` that counts as 0, rad. Left out: as the scene
    starts."""
    rest_length: NotRequired[float]
    """spring: m. Left out: as the scene starts."""
    spring: NotRequired[SceneSpring]
    """revolute: pulls towards an angle; prismatic, wheel: towards a place on the axis."""
    stiffness: NotRequired[float]
    """spring: N/m."""
    target: NotRequired[Sequence[float]]
    """mouse: where `b`'s anchor is pulled to, in the world, m."""
    type: Literal["distance", "spring", "revolute", "prismatic", "weld", "wheel", "motor", "mouse"]
    """distance: a rod, or a rope, piston or winch by limits and motor; spring: Hooke's; revolute: a hinge;
    prismatic: a slider that keeps its angle; wheel: a slider that turns; weld: holds place and angle; motor:
    drives `b` to a place and an angle against `a`, with limited force; mouse: pulls `b` towards a place in
    the world."""


class SceneMotor(TypedDict):
    """Turns or drives a joint with what force it has."""

    max: float
    """Largest force, N, or torque, N·m."""
    speed: float
    """m/s, or rad/s where it turns. Positive lengthens, moves `b` along the axis, or turns `b`
    counter-clockwise."""


class SceneParameter(TypedDict):
    """Parameter of a built-in scene."""

    default: float
    """Value if it is not given."""
    integer: bool
    """True if it is a whole number."""
    max: float
    """Largest value."""
    meaning: str
    """Meaning, with its unit."""
    min: float
    """Smallest value."""
    name: str
    """Name, left of the `=`."""


class ScenePath(TypedDict):
    """Leads a kinematic body: amplitude · sin(rate · t + phase) beside its position, and turned likewise."""

    amplitude: NotRequired[Sequence[float]]
    """How far it swings to either side, m."""
    phase: NotRequired[float]
    """rad."""
    rate: NotRequired[float]
    """rad/s."""
    turn: NotRequired[float]
    """How far it turns to either side, rad."""


class ScenePointField(TypedDict):
    """Draws bodies to a point."""

    acceleration: NotRequired[float]
    """m/s²: all come equally fast."""
    core: NotRequired[float]
    """Up to this distance from the point it is not felt, m."""
    force: NotRequired[float]
    """At the centre of mass, N: light bodies come faster."""
    position: NotRequired[Sequence[float]]
    """In the world, m."""


class ScenePolygon(TypedDict):
    """A convex polygon."""

    points: Sequence[Sequence[float]]
    """3 to 8 corners, convex, counter-clockwise, each at least 0.1 mm out of the line through its neighbours,
    m."""
    radius: NotRequired[float]
    """Of the rounding, added on all sides, m."""


class SceneRound(TypedDict):
    """A circle or a particle."""

    radius: float
    """m."""


class SceneSegment(TypedDict):
    """A line from `a` to `b`."""

    a: Sequence[float]
    """m."""
    b: Sequence[float]
    """m."""


class SceneSettings(TypedDict):
    """How the scene is solved. The defaults are Box2D's."""

    accumulate: NotRequired[bool]
    """Clamp the accumulated impulse, not each increment. Off is wrong, and shows why."""
    baumgarte: NotRequired[float]
    """Share of the penetration that is removed in a step (baumgarte) or a sweep (projection)."""
    correct_position: NotRequired[bool]
    """Correct penetration at all."""
    dt: NotRequired[float]
    """Length of a step, s."""
    events: NotRequired[bool]
    """Report contacts that begin and cease, and what sensors notice."""
    iterations: NotRequired[int]
    """Sweeps a substep. Left out: 1 in soft mode, 10 in the others."""
    mode: NotRequired[Literal["soft", "baumgarte", "projection"]]
    """soft: soft contacts in substeps (Box2D); baumgarte: sequential impulses with bias; projection:
    sequential impulses, then a projection of the positions."""
    recycle: NotRequired[bool]
    """Keep contact manifolds while a pair hardly moves."""
    relax: NotRequired[bool]
    """Soft mode: one more sweep without bias after positions moved."""
    restitution_mix: NotRequired[Literal["min", "max"]]
    """Which of two restitutions counts."""
    restitution_threshold: NotRequired[float]
    """Impacts slower than this do not bounce, m/s."""
    sleep: NotRequired[bool]
    """Bodies at rest fall asleep, and wake when something touches them."""
    slop: NotRequired[float]
    """Penetration that is left alone, m."""
    strict: NotRequired[bool]
    """Repeat a step that outgrew a buffer, so that the result never depends on capacities."""
    substeps: NotRequired[int]
    """Substeps a step. Left out: 4 in soft mode, 1 in the others."""
    warm_start: NotRequired[bool]
    """Start from the impulses of the step before."""


class SceneShape(TypedDict):
    """A collider on a body. Exactly one of `circle`, `box`, `capsule`, `polygon`, `segment`, `half_plane`,
    `particle`."""

    box: NotRequired[SceneBox]
    """A rectangle about the shape's origin."""
    capsule: NotRequired[SceneCapsule]
    """All points within a radius of a segment."""
    circle: NotRequired[SceneRound]
    """About the shape's origin."""
    density: NotRequired[float]
    """kg/m²."""
    filter: NotRequired[SceneFilter]
    """What it touches."""
    friction: NotRequired[float]
    """Coulomb's coefficient; two are mixed by √(ab). At rest, if `kinetic_friction` is given."""
    half_plane: NotRequired[SceneHalfPlane]
    """Everything below a line, seen along its normal. On static and kinematic bodies only."""
    kinetic_friction: NotRequired[float]
    """Coulomb's coefficient while sliding, at most `friction`; mixed likewise. Left out: as `friction`."""
    offset: NotRequired[Sequence[float]]
    """In the body's frame, m."""
    particle: NotRequired[SceneRound]
    """A disc on a body that never turns, and the only shape of it."""
    polygon: NotRequired[ScenePolygon]
    """A convex polygon, with rounded corners if it has a radius."""
    restitution: NotRequired[float]
    """Share of the approach speed that is given back."""
    rolling_resistance: NotRequired[float]
    """Torque that resists rolling, over normal force times radius; the larger of two counts."""
    rotation: NotRequired[float]
    """On the body, rad."""
    segment: NotRequired[SceneSegment]
    """A line, solid from both sides. It has no area, hence no mass."""
    sensor: NotRequired[bool]
    """Notices what overlaps it, and touches nothing."""
    tangent_speed: NotRequired[float]
    """Speed of the surface along itself, as a conveyor belt's, m/s: positive carries what lies on top to the
    right."""


class SceneSpring(TypedDict):
    """Pulls a joint towards a position."""

    damping_ratio: NotRequired[float]
    """1 is critical."""
    hertz: float
    """Frequency at which the bodies would swing on it, Hz."""
    target: NotRequired[float]
    """Rest position: m along the axis, or rad."""


class SceneView(TypedDict):
    """A rectangle that is shown whole."""

    max: Sequence[float]
    """Right and top, m: above min on both axes."""
    min: Sequence[float]
    """Left and bottom, m."""


class Scenes(TypedDict):
    """Built-in scenes."""

    scenes: Sequence[SceneEntry]
    """Scenes, in the order in which they are listed to users."""


class ShapeOf(TypedDict):
    """A shape of a body."""

    body: NotRequired[str | None]
    """Id of the body."""
    shape: int
    """Index of the shape in the world."""


class Spawn(TypedDict):
    """Adds bodies, written as in a scene file, and joints among them."""

    bodies: Sequence[SceneBody]
    joints: NotRequired[Sequence[SceneJoint]]


@final
class SpawnCommand(TypedDict):
    """Adds bodies, written as in a scene file, and joints among them."""

    spawn: Spawn
    """Adds bodies, written as in a scene file, and joints among them."""


class SpringTarget(TypedDict):
    """Sets the rest position of the spring of a hinge, a slider or a wheel."""

    joint: JointRef
    """Id, index or name of the joint."""
    target: float
    """Rest position, rad or m."""


@final
class SpringTargetCommand(TypedDict):
    """Sets the rest position of the spring of a hinge, a slider or a wheel."""

    spring_target: SpringTarget
    """Sets the rest position of the spring of a hinge, a slider or a wheel."""


class State(TypedDict):
    """State of a world: its bodies and their velocities."""

    bodies: Sequence[BodyState]
    """Bodies, in the order of their slots."""
    hash: str
    """Hash of poses and velocities, 16 hexadecimal digits: equal runs have equal ones."""
    step: int
    """Steps done."""
    time: float
    """Simulated seconds."""


class Status(TypedDict):
    """Status of a world."""

    alterations: int
    """Bodies and joints added and removed by hand so far."""
    backend: str
    """`cpu` or `gpu`."""
    bodies: int
    """Bodies in it."""
    created: int
    """Seconds since 1970."""
    dt: float
    """Seconds a step."""
    gravity: Sequence[float]
    """Gravity, m/s²."""
    id: str
    """Id of the world."""
    in_memory: bool
    """False while the world is on disk only: one that is idle is put there, and comes back with the next
    request."""
    joints: int
    """Joints in it."""
    ms_per_step: float
    """Milliseconds that a step took lately."""
    name: str
    """Name of the world."""
    owner: NotRequired[str]
    """Owner of the token that made it. Told to tokens with `admin`."""
    problem: NotRequired[str | None]
    """Problem that it has."""
    speed: NotRequired[float | None]
    """Multiple of real time while it plays; left out if as fast as it goes."""
    state: str
    """`starting`, `paused`, `stepping`, `playing` or `failed`."""
    step: int
    """Steps done."""
    steps_to_go: int
    """Steps that were asked for and are not done."""
    time: float
    """Simulated seconds."""
    unwatched: NotRequired[float]
    """Seconds for which nobody had watched the world when it paused by itself (`play` with `unwatched`),
    until it steps again."""


class Step(TypedDict):
    """Number of steps and time for them."""

    steps: NotRequired[int]
    """Number of steps."""
    timeout: NotRequired[float | None]
    """Seconds it may take; then it stops where it is, and says so."""


class Stepped(TypedDict):
    """Steps done."""

    step: int
    """Steps done since the world began."""
    steps: int
    """Steps of this request."""
    stopped: NotRequired[str | None]
    """Reason why it ended early."""
    time: float
    """Simulated seconds since the world began."""


class Target(TypedDict):
    """Moves a kinematic body in the next step, so that it arrives with its end."""

    angle: NotRequired[float]
    """Angle, rad."""
    body: BodyRef
    """Id, index or name of the body."""
    position: Sequence[float]
    """Position of its origin, m."""


@final
class TargetCommand(TypedDict):
    """Moves a kinematic body in the next step, so that it arrives with its end."""

    target: Target
    """Moves a kinematic body in the next step, so that it arrives with its end."""


class Teleport(TypedDict):
    """Puts a body elsewhere, at once."""

    angle: NotRequired[float]
    """Angle, rad."""
    body: BodyRef
    """Id, index or name of the body."""
    position: Sequence[float]
    """Position of its origin, m."""


@final
class TeleportCommand(TypedDict):
    """Puts a body elsewhere, at once."""

    teleport: Teleport
    """Puts a body elsewhere, at once."""


class Torque(TypedDict):
    """Sets the constant torque on a dynamic body from now on."""

    body: BodyRef
    """Id, index or name of the body."""
    torque: float
    """Torque, N·m."""


@final
class TorqueCommand(TypedDict):
    """Sets the constant torque on a dynamic body from now on."""

    torque: Torque
    """Sets the constant torque on a dynamic body from now on."""


class Unjoin(TypedDict):
    """Removes joints."""

    joints: Sequence[JointRef]
    """Ids, indices or names of the joints."""


@final
class UnjoinCommand(TypedDict):
    """Removes joints."""

    unjoin: Unjoin
    """Removes joints."""


class Velocity(TypedDict):
    """Sets the velocity of a dynamic or kinematic body."""

    body: BodyRef
    """Id, index or name of the body."""
    velocity: Sequence[float]
    """Velocity of its centre of mass, m/s."""


@final
class VelocityCommand(TypedDict):
    """Sets the velocity of a dynamic or kinematic body."""

    velocity: Velocity
    """Sets the velocity of a dynamic or kinematic body."""


class View(TypedDict):
    """Rectangle of the world."""

    max: Sequence[float]
    """Upper right corner, m."""
    min: Sequence[float]
    """Lower left corner, m."""


class Wake(TypedDict):
    """Wakes a body and its island."""

    body: BodyRef
    """Id, index or name of the body."""


@final
class WakeAllCommand(TypedDict):
    """Wakes all bodies."""

    wake_all: Mapping[str, Any]
    """Wakes all bodies."""


@final
class WakeCommand(TypedDict):
    """Wakes a body and its island."""

    wake: Wake
    """Wakes a body and its island."""


WorldBody: TypeAlias = "NewWorld | Scene"


class Worlds(TypedDict):
    """Part of the list of worlds."""

    next: NotRequired[str | None]
    """Value for `after`, if there are more."""
    worlds: Sequence[Status]
    """Worlds, the oldest first."""

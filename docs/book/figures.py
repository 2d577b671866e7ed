#!/usr/bin/env python3
"""Makes the pictures, the plots and the measured tables of the book, and the movie of README.md.

    docs/book/figures.py DRYSTONE    the command; .ci/pictures calls this

Everything runs on the CPU with one thread, so that the same command gives the same bits. Layers of pictures are drawn by
a graphics adapter, of which a software one will do. Standard library only.
"""

from __future__ import annotations

import array
import json
import math
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

BOOK = Path(__file__).resolve().parent / "src"
PICTURES = BOOK / "pictures"
DOCS = BOOK.parent.parent
Scene = dict[str, Any]


class Drystone:
    def __init__(self, program: str) -> None:
        self.program = program
        self.folder = Path(tempfile.mkdtemp())

    def scene(self, name: str, **settings: Any) -> Scene:
        """A scene of the catalogue, with other settings."""
        file = self.folder / "scene.json"
        self.call("scenes", name, "--write", str(file))
        scene: Scene = json.loads(file.read_text())
        scene.setdefault("settings", {}).update(settings)
        return scene

    def run(self, scene: Scene, steps: int, *options: str) -> dict[str, Any]:
        """The report of a run."""
        arguments = ["run", "-", "--backend", "cpu", "--threads", "1", "--steps", str(steps), "--json", "-", "--quiet",
                     "--allow-lost"]
        report: dict[str, Any] = json.loads(self.call(*arguments, *options, text=json.dumps(scene)))
        return report

    def picture(self, name: str, scene: Scene, steps: int, size: str = "240x200", *options: str) -> dict[str, Any]:
        file = PICTURES / f"{name}.png"
        report = self.run(scene, steps, "--picture", str(file), "--size", size, *options)
        print(f"{file.relative_to(DOCS.parent)}")
        return report

    def heights(self, scene: Scene, steps: int, body: int) -> list[float]:
        """Height of a body after each step, m."""
        file = self.folder / "trace.npz"
        self.run(scene, steps, "--trace", str(file))
        with zipfile.ZipFile(file) as archive:
            data = archive.read("position.npy")
        # An .npy file: magic, version, length of the header, header, then rows of float32.
        length = int.from_bytes(data[8:10], "little")
        header = data[10 : 10 + length].decode()
        bodies = int(header.split("'shape': (")[1].split(")")[0].split(",")[1])
        values = array.array("f", data[10 + length :])
        return [values[2 * (step * bodies + body) + 1] for step in range(len(values) // (2 * bodies))]

    def call(self, *arguments: str, text: str | None = None, allowed: tuple[int, ...] = (0,)) -> str:
        environment = os.environ | {"NODEVICE_SELECT": "1"}
        done = subprocess.run(
            [self.program, *arguments], input=text, capture_output=True, text=True, env=environment, check=False
        )
        if done.returncode not in allowed:
            raise SystemExit(f"{' '.join(arguments)}: {done.stderr}")
        return done.stdout


# ── Plots ──

COLORS = ["#2f6f8f", "#d08a2e", "#8f3f5f", "#5f8f4f", "#6f5fa0"]


def plot(name: str, x_label: str, y_label: str, lines: list[tuple[str, list[tuple[float, float]]]],
         log_x: bool = False, log_y: bool = False) -> None:
    """Lines over two axes, as SVG on a light card, readable on a dark page too."""
    width, height, left, top, right, bottom = 560, 320, 64, 16, 16, 46
    points = [point for _, line in lines for point in line]
    ends = []
    for axis, log in ((0, log_x), (1, log_y)):
        low, high = min(point[axis] for point in points), max(point[axis] for point in points)
        if not log:
            low = min(low, 0.0)
        ends.append((low, high if high > low else low + 1.0))

    def place(value: float, axis: int) -> float:
        (low, high), log = ends[axis], (log_x, log_y)[axis]
        share = math.log(value / low) / math.log(high / low) if log else (value - low) / (high - low)
        return left + share * (width - left - right) if axis == 0 else height - bottom - share * (height - top - bottom)

    def ticks(axis: int) -> list[float]:
        (low, high), log = ends[axis], (log_x, log_y)[axis]
        if log:
            powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
            found = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
            found = [value for value in found if low * 0.999 <= value <= high * 1.001]
            return found if len(found) < 8 else [value for value in found if f"{value:e}"[0] == "1"]
        step = 10.0 ** math.floor(math.log10((high - low) / 2))
        step = next(step * factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= 7)
        first = math.ceil(low / step)
        return [index * step for index in range(first, math.floor(high / step + 1e-9) + 1)]

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="system-ui, sans-serif" font-size="12" fill="#333">',
        f'<rect width="{width}" height="{height}" rx="6" fill="#f6f4ee"/>',
    ]
    for value in ticks(0):
        x = place(value, 0)
        parts.append(f'<path d="M{x:.1f} {top}V{height - bottom}" stroke="#ddd9cf"/>')
        parts.append(f'<text x="{x:.1f}" y="{height - bottom + 16}" text-anchor="middle">{value:g}</text>')
    for value in ticks(1):
        y = place(value, 1)
        parts.append(f'<path d="M{left} {y:.1f}H{width - right}" stroke="#ddd9cf"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
    legend: list[str] = []
    for index, (label, line) in enumerate(lines):
        color = COLORS[index % len(COLORS)]
        way = " ".join(f"{place(x, 0):.1f},{place(y, 1):.1f}" for x, y in line)
        parts.append(f'<polyline points="{way}" fill="none" stroke="{color}" stroke-width="2"/>')
        if len(line) < 20:
            parts += [f'<circle cx="{place(x, 0):.1f}" cy="{place(y, 1):.1f}" r="3" fill="{color}"/>' for x, y in line]
        if label:
            y = top + 6 + 18 * index
            legend.append(f'<rect x="{width - right - 168}" y="{y}" width="12" height="12" fill="{color}"/>')
            legend.append(f'<text x="{width - right - 150}" y="{y + 10}">{label}</text>')
    if legend:
        size = f'width="174" height="{9 * len(legend) + 6}"'
        parts.append(f'<rect x="{width - right - 174}" y="{top}" {size} fill="#f6f4ee" fill-opacity="0.85"/>')
    parts += legend
    parts.append(f'<text x="{(left + width - right) / 2}" y="{height - 10}" text-anchor="middle">{x_label}</text>')
    middle = (top + height - bottom) / 2
    parts.append(f'<text transform="translate(16 {middle}) rotate(-90)" text-anchor="middle">{y_label}</text></svg>')
    file = PICTURES / f"{name}.svg"
    file.write_text("\n".join(parts) + "\n")
    print(file.relative_to(DOCS.parent))


def table(page: str, name: str, head: list[str], rows: list[list[str]]) -> None:
    """Writes a table between two marks of a page."""
    between(page, name, ["| " + " | ".join(row) + " |\n" for row in [head, ["---"] * len(head), *rows]] + ["\n"])


def between(page: str, name: str, lines: list[str]) -> None:
    """Writes lines between two marks of a page."""
    file = BOOK / page
    text = file.read_text()
    marks = f"<!-- {name}: written by .ci/pictures -->\n", f"<!-- end of {name} -->"
    before, rest = text.split(marks[0])
    after = rest.split(marks[1], 1)[1]
    file.write_text("".join([before, marks[0], "\n", *lines, marks[1], after]))
    print(f"{file.relative_to(DOCS.parent)}: {name}")


# ── Scenes that are not in the catalogue ──

GROUND = {"type": "static", "shapes": [{"box": {"half": [200, 1]}, "offset": [0, -1]}]}


def box(x: float, y: float, half: float = 0.5, density: float = 1.0, **shape: Any) -> Scene:
    return {"type": "dynamic", "position": [x, y],
            "shapes": [{"box": {"half": [half, half]}, "density": density, **shape}]}


def disc(x: float, y: float, velocity: tuple[float, float] = (0, 0), restitution: float = 1.0, radius: float = 0.5) -> Scene:
    return {"type": "dynamic", "position": [x, y], "velocity": list(velocity),
            "shapes": [{"circle": {"radius": radius}, "friction": 0, "restitution": restitution}]}


def world(name: str, bodies: list[Scene], **more: Any) -> Scene:
    return {"version": 1, "name": name, "bodies": bodies, **more}


def stack(side: float, count: int = 10, **settings: Any) -> Scene:
    bodies = [box(0, side * (index + 0.5), side / 2) for index in range(count)]
    return world("stack", [GROUND, *bodies], settings=settings)


def load(density: float) -> Scene:
    """A heavy box on a light one."""
    return world("load", [GROUND, box(0, 0.5), box(0, 1.5, density=density)])


def hanging(damping_ratio: float) -> Scene:
    """A ball hangs from a soft rod, which is stretched at the start."""
    bodies: list[Scene] = [{"type": "static", "position": [0, 4], "shapes": [{"circle": {"radius": 0.1}}]}, disc(0, 1)]
    rod = {"type": "distance", "a": 0, "b": 1, "length": 1.5, "hertz": 1, "damping_ratio": damping_ratio}
    return world("hanging", bodies, joints=[rod])


def wrecking() -> Scene:
    """A heavy ball on a chain swings into a pyramid."""
    base, links = 15, 8
    bodies: list[Scene] = [GROUND]
    for row in range(base):
        for column in range(base - row):
            bodies.append(box(column - 0.5 * (base - 1 - row), row + 0.5))
    pivot = (-9.0, 19.0)
    first = len(bodies)
    bodies.append({"type": "static", "position": list(pivot), "shapes": [{"circle": {"radius": 0.3}}]})
    joints: list[Scene] = []
    for link in range(links):
        bodies.append({"type": "dynamic", "position": [pivot[0] - 1.4 * (link + 0.5), pivot[1]],
                       "shapes": [{"capsule": {"a": [-0.5, 0], "b": [0.5, 0], "radius": 0.2}, "density": 3,
                                   "filter": {"group": -1}}]})
        joints.append({"type": "revolute", "a": first + link, "b": first + link + 1,
                       "anchor_a": [-0.7 if link else 0, 0], "anchor_b": [0.7, 0]})
    bodies.append({"type": "dynamic", "position": [pivot[0] - 1.4 * links - 1.6, pivot[1]],
                   "shapes": [{"circle": {"radius": 1.6}, "density": 3, "filter": {"group": -1}}]})
    joints.append({"type": "revolute", "a": first + links, "b": first + links + 1,
                   "anchor_a": [-0.7, 0], "anchor_b": [1.6, 0]})
    # The room that the movie shows.
    return world("wrecking ball", bodies, joints=joints, view={"min": [-24, -1.5], "max": [19.5, 22]})


# ── What each part of the book needs ──


def movie(drystone: Drystone) -> None:
    file = DOCS / "demo.gif"
    drystone.run(wrecking(), 390, "--movie", str(file), "--size", "440x242")
    size = file.stat().st_size
    print(f"{file.relative_to(DOCS.parent)}: {size} bytes")
    assert size < 1_500_000, "the movie is too large for a front page"


def concepts(drystone: Drystone) -> None:
    arch = drystone.scene("arch")
    drystone.picture("boxes", arch, 60, "480x270", "--layers", "aabbs,search_cells")
    drystone.picture("contacts", arch, 60, "480x270", "--layers", "contacts,normals,impulses")
    pyramids = drystone.scene("many_pyramids:rows=1,columns=3,base=8", sleep=True)
    drystone.picture("graph_color", drystone.scene("large_pyramid:base=14"), 60, "480x270", "--coloring", "graph_color")
    drystone.picture("islands", pyramids, 20, "480x270", "--coloring", "island")
    domino = drystone.scene("domino", sleep=True)
    drystone.picture("sleep", domino, 60, "480x270", "--coloring", "sleep")


def sliding(drystone: Drystone, mix: str) -> list[tuple[float, float]]:
    """The way of a box that slides at 5 m/s, along a wall to which gravity pulls it, so that its way is a height."""
    wall = {"type": "static", "shapes": [{"half_plane": {"normal": [1, 0], "offset": 0}, "friction": 0.8}]}
    box = {"position": [0.5, 0], "velocity": [0, 5], "fixed_rotation": True}
    box["shapes"] = [{"box": {"half": [0.5, 0.5]}, "friction": 0.2}]
    scene = {"version": 1, "gravity": [-10, 0], "settings": {"friction_mix": mix}, "bodies": [wall, box]}
    return [(step / 60, way) for step, way in enumerate(drystone.heights(scene, 240, 1))]


def volley(**settings: object) -> dict[str, object]:
    """Balls that fly at a thin wall, each from another distance."""
    wall = {"type": "static", "shapes": [{"box": {"half": [0.05, 10]}, "offset": [0, 10]}, {"half_plane": {"normal": [0, 1], "offset": 0}}]}
    balls = [{"position": [-20 - 0.13 * row, 1 + row], "velocity": [120, 0], "shapes": [{"circle": {"radius": 0.1}}]}
             for row in range(15)]
    return {"version": 1, "settings": settings, "bodies": [wall, *balls]}


def settings(drystone: Drystone) -> None:
    tall = "160x300"
    for substeps in (1, 4, 16):
        scene = drystone.scene("vertical_stack:count=30", substeps=substeps, initial_loads=False)
        drystone.picture(f"substeps-{substeps}", scene, 600, tall, "--view", "-8,-1,8,31")
    for iterations in (1, 10, 40):
        scene = drystone.scene("vertical_stack:count=12", mode="baumgarte", iterations=iterations)
        drystone.picture(f"iterations-{iterations}", scene, 600, tall, "--view=-4,-0.5,4,14.5")
    for dt in (15, 60, 240):
        scene = drystone.scene("vertical_stack:count=30", dt=1 / dt, initial_loads=False)
        drystone.picture(f"dt-{dt}", scene, 10 * dt, tall, "--view=-8,-1,8,31")
    drystone.picture("length_unit-0.01", stack(0.01, dt=1 / 960, length_unit=0.01), 960, "160x300",
                     "--view=-0.03,-0.005,0.03,0.108")
    for mode in ("soft", "baumgarte", "projection"):
        drystone.picture(f"mode-{mode}", drystone.scene("large_pyramid:base=100", mode=mode), 300, "240x200",
                         "--view=-90,-5,90,130")
    for name, count in (("warm_start", 10), ("recycle", 20), ("accumulate", 10)):
        for on in (False, True):
            scene = drystone.scene(f"vertical_stack:count={count}", initial_loads=False, **{name: on})
            steps = 60 if name == "accumulate" else 1200
            drystone.picture(f"{name}-{'on' if on else 'off'}", scene, steps, tall,
                             f"--view={-0.27 * count},-0.5,{0.27 * count},{count + 1}")
    for on in (False, True):
        drystone.picture(f"continuous-{'on' if on else 'off'}", volley(continuous=on), 15, "240x200",
                         "--view=-12,-0.5,12,19.5")
        scene = drystone.scene("vertical_stack:count=200", initial_loads=on)
        drystone.picture(f"initial_loads-{'on' if on else 'off'}", scene, 1200, tall, "--view=-60,-2,60,205")
        drystone.picture(f"mass_scaling-{'on' if on else 'off'}", drystone.scene("mixed_sizes", mass_scaling=on), 900,
                         "240x200", "--view=-3,0,3,5")
    rows = []
    for label, scene, steps in (
            ("`mixed_sizes`, 15 s", drystone.scene("mixed_sizes"), 900),
            ("`large_pyramid:base=150` without loads at the start, 10 s",
             drystone.scene("large_pyramid:base=150", initial_loads=False), 600),
            ("`tumbler`, 10 s", drystone.scene("tumbler"), 600), ("`junkyard`, 10 s", drystone.scene("junkyard"), 600)):
        cells = [label]
        for on in (False, True):
            chosen = scene | {"settings": scene.get("settings", {}) | {"mass_scaling": on}}
            metrics = drystone.run(chosen, steps)["metrics"]
            cells.append(", ".join(f"{1e3 * metrics[key]:.3g}" for key in ("max_penetration", "mean_penetration")))
        rows.append(cells)
    table("settings.md", "masses", ["deepest and mean overlap, mm", "off", "on"], rows)
    for share in (0.01, 0.2, 1):
        scene = drystone.scene("overlap_recovery:base=6", mode="baumgarte", baumgarte=share)
        drystone.picture(f"baumgarte-{share:g}", scene, 60, "240x200", "--view=-9,-1,9,14")
    for hertz, substeps in ((5, 4), (30, 4), (120, 8)):
        scene = drystone.scene("vertical_stack:count=30", contact_hertz=hertz, substeps=substeps)
        drystone.picture(f"contact_hertz-{hertz}", scene, 600, tall, "--view=-8,-1,8,31")
    for speed in (0, 3, 50):
        scene = drystone.scene("overlap_recovery:base=6,overlap=0.6", push_speed=speed)
        drystone.picture(f"push_speed-{speed}", scene, 60, "240x200", "--view=-9,-1,9,14")
    for ratio in (0.1, 10, 100):
        scene = drystone.scene("overlap_recovery:base=6", contact_damping_ratio=ratio)
        drystone.picture(f"contact_damping_ratio-{ratio:g}", scene, 60, "240x200", "--view=-9,-1,9,14")
    for on in (False, True):
        word = "on" if on else "off"
        scene = drystone.scene("overlap_recovery:base=6", relax=on)
        drystone.picture(f"relax-{word}", scene, 60, "240x200", "--view=-9,-1,9,14")
        scene = drystone.scene("overlap_recovery:base=6", mode="projection", correct_position=on)
        drystone.picture(f"correct_position-{word}", scene, 60, "240x200", "--view=-9,-1,9,14")
        scene = drystone.scene("many_pyramids:rows=1,columns=3,base=8", sleep=on)
        drystone.picture(f"sleep-{word}", scene, 120, "320x180", "--coloring", "sleep")
    for slop in (0.005, 0.3):
        scene = drystone.scene("overlap_recovery:base=6", mode="projection", slop=slop)
        drystone.picture(f"slop-{slop:g}", scene, 60, "240x200", "--view=-9,-1,9,14")
    for friction in (0.1, 0.35, 0.6):
        drystone.picture(f"friction-{friction:g}", drystone.scene(f"arch:friction={friction}"), 300)
    for hertz in (2, 10, 60):
        scene = drystone.scene("bridge:planks=40")
        for joint in scene["joints"]:
            joint["hertz"] = hertz
        drystone.picture(f"hertz-{hertz}", scene, 600, "240x200", "--view=-24,-16,24,24")
    lines = []
    for restitution in (0.0, 0.5, 0.8, 1.0):
        heights = drystone.heights(drystone.scene(f"bouncing_ball:restitution={restitution:g},height=4"), 360, 1)
        lines.append((f"restitution {restitution:g}", [(step / 60, height) for step, height in enumerate(heights)]))
    plot("restitution", "time, s", "height of the centre, m", lines)
    lines = []
    for threshold in (0.0, 1.0, 4.0):
        scene = drystone.scene("bouncing_ball:restitution=0.7,height=2", restitution_threshold=threshold)
        heights = drystone.heights(scene, 300, 1)
        lines.append((f"threshold {threshold:g} m/s", [(step / 60, height) for step, height in enumerate(heights)]))
    plot("restitution_threshold", "time, s", "height of the centre, m", lines)
    lines = []
    for mix in ("min", "max"):
        scene = drystone.scene("bouncing_ball:restitution=0.8,height=4", restitution_mix=mix)
        scene["bodies"][0]["shapes"][0]["restitution"] = 0.4
        heights = drystone.heights(scene, 300, 1)
        lines.append((mix, [(step / 60, height) for step, height in enumerate(heights)]))
    plot("restitution_mix", "time, s", "height of the centre, m", lines)
    lines = [(mix, sliding(drystone, mix)) for mix in ("product", "min", "geometric", "mean", "max")]
    plot("friction_mix", "time, s", "way of the box, m", lines)
    lines = []
    for slop in (0.0, 0.005):
        scene = drystone.scene("large_pyramid:base=10", mode="baumgarte", slop=slop)
        heights = drystone.heights(scene, 300, 55)
        lines.append((f"slop {slop:g} m", [(step / 60, 1e3 * (height - 9.5)) for step, height in enumerate(heights)]))
    plot("slop", "time, s", "height of the top box above 9.5 m, mm", lines)
    lines = []
    for ratio in (0.0, 0.2, 1.0, 5.0):
        heights = drystone.heights(hanging(ratio), 300, 1)
        lines.append((f"damping ratio {ratio:g}", [(step / 60, height) for step, height in enumerate(heights)]))
    plot("damping_ratio", "time, s", "height of the ball, m", lines)


def solver(drystone: Drystone) -> None:
    """Deepest overlap in a stack of ten, by sweeps, with and without warm starting."""
    lines = []
    for warm in (True, False):
        line = []
        for sweeps in (1, 2, 4, 8, 16, 32, 64):
            scene = drystone.scene("vertical_stack:count=10", mode="projection", iterations=sweeps, warm_start=warm)
            scene["settings"]["correct_position"] = False
            rest = drystone.run(scene, 30)["metrics"]
            line.append((float(sweeps), 1e3 * rest["max_penetration"]))
        lines.append(("warm start" if warm else "from zero", line))
    plot("sweeps", "sweeps a step", "deepest overlap after 0.5 s, mm", lines, log_x=True, log_y=True)
    lines = []
    for label, chosen in (("springs of 30 Hz", {"contact_hertz": 30}), ("with preloads", {"initial_loads": False}),
                          ("with loads at the start", {})):
        line = []
        for count in (1, 2, 4, 6, 8, 10, 15, 20, 30):
            report = drystone.run(drystone.scene(f"vertical_stack:count={count}", **chosen), 1200)
            line.append((float(count), 1e3 * report["metrics"]["max_penetration"]))
        lines.append((label, line))
    plot("compliance", "boxes in the stack", "deepest overlap, mm", lines)


def heaps(drystone: Drystone) -> None:
    """Pyramids by height, a bin of mixed sizes by substeps, and the committed results of `drystone bench --quality`."""
    lines = []
    for label, chosen in (("springs of 30 Hz", {"contact_hertz": 30}), ("with preloads", {"initial_loads": False}),
                          ("with loads at the start", {})):
        line = []
        for base in (10, 20, 40, 60, 80, 100, 150):
            report = drystone.run(drystone.scene(f"large_pyramid:base={base}", **chosen), 600)
            line.append((float(base), 1e3 * report["metrics"]["max_penetration"]))
        lines.append((label, line))
    plot("heap_rows", "rows of the pyramid", "deepest overlap after 10 s, mm", lines)

    keys = ("max_penetration", "mean_penetration")
    lines = []
    for label, on in (("", True), (", true masses", False)):
        both = [(f"deepest{label}", []), (f"mean{label}", [])]
        for substeps in (2, 4, 8, 16, 32):
            scene = drystone.scene("mixed_sizes", substeps=substeps, mass_scaling=on)
            metrics = drystone.run(scene, 900)["metrics"]
            for (_, line), key in zip(both, keys, strict=True):
                line.append((float(substeps), 1e3 * metrics[key]))
        lines += both
    drystone.picture("mixed_sizes", drystone.scene("mixed_sizes"), 900, "480x480")
    plot("mixed_substeps", "substeps", "overlap after 15 s, mm", lines, log_x=True, log_y=True)

    rows = []
    for ratio in (1, 2, 4, 8, 16):
        cells = [f"1 : {ratio}"]
        for on in (True, False):
            metrics = drystone.run(drystone.scene(f"mixed_sizes:ratio={ratio}", mass_scaling=on), 900)["metrics"]
            cells += [f"{1e3 * metrics[key]:.3g} mm" for key in keys]
        rows.append(cells)
    table("heaps.md", "ratios", ["sizes", "deepest", "mean", "true masses: deepest", "mean"], rows)

    rows = []
    for file in sorted((DOCS.parent / "benches/results").glob("*/quality.json")):
        results = json.loads(file.read_text())
        for row in results["rows"]:
            quality = row["quality"]
            length = {key: "" if quality.get(key) is None else f"{scale * quality[key]:.3g}" for key, scale in (
                ("max_penetration", 1e3), ("mean_penetration", 1e3), ("joint_error", 1e3), ("moved", 1), ("max_speed", 1))}
            if row["joints"] == 0:
                length["joint_error"] = ""
            time = row["cpu_ms_per_step"] or row["ms_per_step"]
            rows.append([f"`{row['scene']}`", row["backend"], f"{time['median']:.3g}", *length.values()])
    head = ["scene", "engine", "time of a step, ms", "deepest, mm", "mean, mm", "joint, mm", "moved, m", "fastest, m/s"]
    table("heaps.md", "quality", head, rows)


def limits(drystone: Drystone) -> None:
    """Measures known limits of the solver."""
    def deepest(scene: Scene, steps: int) -> float:
        return float(drystone.run(scene, steps)["metrics"]["max_penetration"])

    rows = []
    for side in (1000, 10, 1, 0.1, 0.05, 0.01, 0.001, 0.0001):
        report = drystone.run(stack(side, initial_loads=False), 600)
        rows.append([f"{side:g} m", f"{100 * report['metrics']['max_penetration'] / side:.2g} %"])
    table("limits.md", "sizes", ["side of a box", "deepest overlap, share of the side"], rows)

    rows = []
    for density in (1, 10, 100, 300, 1000):
        cells = [f"{density} : 1"]
        for chosen in ({}, {"initial_loads": False}, {"contact_hertz": 30}):
            scene = load(density) | {"settings": chosen}
            deepest_now = drystone.run(scene, 900)["metrics"]["max_penetration"]
            cells += [f"{1e3 * deepest_now:.3g} mm", f"{drystone.heights(scene, 900, 2)[-1]:.2f} m"]
        rows.append(cells)
    head = ["masses", "deepest overlap after 15 s", "height of the heavy box (1.5 m at the start)"]
    table("limits.md", "loads", [*head, "without loads at the start", "height", "on springs of 30 Hz", "height"], rows)

    rows = []
    # Each with its energy before and after, J. All bounce perfectly.
    pair = world("two discs", [disc(0, 0, (2, 0)), disc(1.5, 0.2)], gravity=[0, 0])
    two = world("one disc on two", [disc(-2, 0, (2, 0)), disc(0, 0.5), disc(0, -0.5)], gravity=[0, 0])
    cradle = world("cradle", [disc(-2, 0, (2, 0)), *(disc(index, 0) for index in range(4))], gravity=[0, 0])
    rack = [disc(5 + column * 0.9, (row - column / 2) * 1.04) for column in range(5) for row in range(column + 1)]
    rack_scene = world("break", [disc(0, 0, (10, 0)), *rack], gravity=[0, 0])
    for name, scene, steps in (("two discs", pair, 120), ("one disc hits two at once", two, 120),
                               ("cradle of five that touch", cradle, 120), ("billiard break, 15 discs", rack_scene, 180)):
        before = sum(0.5 * math.pi * 0.25 * (body["velocity"][0] ** 2 + body["velocity"][1] ** 2) for body in scene["bodies"])
        for rate in (60, 600):
            scene["settings"] = {"dt": 1 / rate, "restitution_threshold": 0}
            after = drystone.run(scene, steps * rate // 60)["metrics"]["kinetic_energy"]
            rows.append([name, f"1/{rate} s", f"{after / before:.3f}"])
    table("limits.md", "impacts", ["restitution 1", "step", "energy after ÷ before"], rows)

    rows = []
    for spin in (5, 20, 47, 100):
        scene = world("spin", [{"type": "dynamic", "angular_velocity": spin, "shapes": [{"box": {"half": [1, 0.1]}}]}],
                      gravity=[0, 0])
        file = drystone.folder / "state.json"
        drystone.run(scene, 60, "--state", str(file))
        state = json.loads(file.read_text())[0]
        rows.append([f"{spin} rad/s", f"{state['angular_velocity']:.4g} rad/s"])
    table("limits.md", "spins", ["spin as given", "spin after a second without torque"], rows)


def laws(drystone: Drystone) -> None:
    """All laws with their figures."""
    folder = drystone.folder / "laws"
    # Exit code 1 says that a law is missed, which is what the table shows.
    drystone.call("lab", "--backend", "cpu", "--quiet", "--out", str(folder), allowed=(0, 1))
    report = json.loads((folder / "laws.json").read_text())
    results = {"held": "held", "missed": "**missed**", "known_miss": "known", "held_unexpectedly": "held",
               "failed": "**failed**"}
    rows, pictures = [], []

    def shown(value: float | None) -> str:
        return "–" if value is None else f"{value:.4g}"

    def off(check: dict[str, Any]) -> float:
        if check["measured"] is None:
            return math.inf
        bound = check["high"] if check["measured"] > check["expected"] else check["low"]
        return 0.0 if bound is None else abs(check["measured"] - check["expected"]) / abs(bound - check["expected"])

    for law in report["laws"]:
        check = max(law["checks"], key=off)
        unit = f", {check['unit']}" if check["unit"] else ""
        low, high = shown(check["low"]), shown(check["high"])
        bound = f"at most {high}" if check["low"] is None else f"{low} to {high}"
        rows.append([f"[{law['law']}](#{law['law']})", law["source"], check["what"] + unit, shown(check["expected"]),
                     shown(check["measured"]), bound, results[law["verdict"]]])
        file = PICTURES / f"law-{law['law']}.svg"
        file.write_text((folder / f"{law['law']}.svg").read_text())
        note = f" Known: {law['note']}" if law["verdict"] == "known_miss" else ""
        pictures.append(f"### {law['law']}\n\n{law['statement']} ({law['source']}).{note}\n\n"
                        f"![{law['statement']}](pictures/{file.name})\n\n")
    table("laws.md", "laws", ["law", "source", "quantity", "expected", "measured", "bound", "result"], rows)
    between("laws.md", "figures of laws", pictures)


def reference(drystone: Drystone) -> None:
    """Keys of bodies, shapes and joints, from the schema."""
    schema = json.loads((DOCS.parent / "schema/scene-v1.schema.json").read_text())
    for name in ("Body", "Shape", "Material", "MaterialPair", "Filter", "Joint", "Motor", "Spring", "Path", "PointField", "Emitter", "TimedCommand", "When", "Remove"):
        rows = []
        kind = schema["$defs"][name]
        for key, value in kind["properties"].items():
            default = "needed" if key in kind.get("required", []) else "–"
            if "default" in value and not isinstance(value["default"], dict):
                default = f"`{json.dumps(value['default'])}`"
            rows.append([f"`{key}`", default, " ".join(value["description"].split())])
        table("keys.md", f"keys of {name}", ["key", "default", "meaning"], rows)


def main() -> None:
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    drystone = Drystone(sys.argv[1])
    PICTURES.mkdir(exist_ok=True)
    for part in (movie, concepts, settings, solver, heaps, limits, laws, reference):
        if len(sys.argv) == 2 or part.__name__ in sys.argv[2:]:
            part(drystone)


if __name__ == "__main__":
    main()

"""Tests of backup and restore in deploy/: a copy opens to the same bits, and damage is found."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import ModuleType

import pytest

from drystone.client import Service, models
from service import BINARY, running

DEPLOY = Path(__file__).parents[2] / "deploy"


def tool(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(DEPLOY / name), *map(str, arguments), "--drystone", BINARY]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def module(name: str) -> ModuleType:
    loader = importlib.machinery.SourceFileLoader(name, str(DEPLOY / name))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    loaded = importlib.util.module_from_spec(spec)
    loader.exec_module(loaded)
    return loaded


def sums(backup: Path) -> list[str]:
    return [line.split("  ", 1)[1] for line in (backup / "SHA256SUMS").read_text().splitlines()]


def test_a_backup_of_a_running_service_comes_to_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Files appear and disappear all the time.
    monkeypatch.setenv("DRYSTONE_CHECKPOINT_SECONDS", "0.05")
    store, backup, restored = tmp_path / "worlds", tmp_path / "backup", tmp_path / "restored"
    still = {}
    with running(store) as url, Service(url) as service:
        for scene in ("card_house", "large_pyramid:base=8", "bridge"):
            world = service.create(scene)
            world.step(40)
            still[world.id] = (world.status()["step"], world.metrics()["hash"])
        busy = service.create("large_pyramid:base=12")
        busy.play("max")
        bodies = busy.status()["bodies"]
        stop, acknowledged = threading.Event(), 0

        def load() -> None:
            nonlocal acknowledged
            with Service(url) as other:
                world = other.world(busy.id)
                while not stop.wait(0.005):
                    circle: models.SceneShape = {"circle": {"radius": 0.2}}
                    world.spawn([{"position": [50.0 + acknowledged, 1.0], "shapes": [circle]}])
                    acknowledged += 1

        thread = threading.Thread(target=load)
        thread.start()
        try:
            while acknowledged < 20:
                time.sleep(0.01)
            least = acknowledged
            made = tool("backup", store, backup)
            assert made.returncode == 0, made.stdout + made.stderr
            most = acknowledged + 1
        finally:
            stop.set()
            thread.join()
        assert not list(tmp_path.glob("*.partial"))
        # The state of each world of the copy was recorded, by a separate service.
        noted = {line.split("\t")[0]: line.split("\t") for line in (backup / "worlds.tsv").read_text().splitlines()[1:]}
        assert {world: (int(noted[world][2]), noted[world][3]) for world in still} == still
        assert noted[busy.id][1] == "playing"
    done = tool("restore", backup, restored)
    assert done.returncode == 0, done.stdout + done.stderr
    with running(restored) as url, Service(url) as service:
        for name, expected in still.items():
            again = service.world(name)
            # Metrics wait for the steps that continue after a start.
            found = again.metrics()["hash"]
            assert (again.status()["step"], found) == expected
        copy = service.world(busy.id)
        copy.pause()
        # It is of a moment during the copy: changes acknowledged before are in it.
        assert least <= copy.status()["bodies"] - bodies <= most
        copy.step(1)
    # Existing folders are never overwritten.
    again_done = tool("restore", backup, restored)
    assert again_done.returncode == 1 and "already exists" in again_done.stderr
    # The alternative: the store of a stopped service, and its own check.
    second = tool("backup", store, tmp_path / "second")
    assert second.returncode == 0, second.stdout + second.stderr
    checked = tool("restore", "--check", tmp_path / "second")
    assert checked.returncode == 0 and all(digest in checked.stdout for _, digest in still.values())


def log_of(backup: Path, scene: str) -> Path:
    """Returns the only log of a scene's world."""
    logs = (backup / "worlds").rglob("log-*")
    (log,) = [log for log in logs if scene in (log.parent / "world").read_text("latin1")]
    return log


@pytest.fixture()
def small(tmp_path: Path) -> Path:
    """Creates a backup of two worlds, whose service was killed during a step."""
    store = tmp_path / "worlds"
    with running(store) as url, Service(url) as service:
        for scene in ("slope", "card_house"):
            world = service.create(scene)
            for _ in range(4):
                world.step(3)
        service.create("slope").delete()
        made = tool("backup", store, tmp_path / "backup")
        assert made.returncode == 0, made.stdout + made.stderr
    return tmp_path / "backup"


def test_files_that_are_missing_changed_or_foreign_are_named(small: Path, tmp_path: Path) -> None:
    target = tmp_path / "restored"
    for number, name in enumerate(sums(small)):
        kept = (small / name).read_bytes()
        if number % 2:
            (small / name).unlink()
            expected = f"{name} is missing"
        else:
            (small / name).write_bytes(kept[:-1] + bytes([kept[-1] ^ 1]))
            expected = f"{name} is not as it was"
        done = tool("restore", small, target)
        assert done.returncode == 1 and expected in done.stderr, done.stdout + done.stderr
        assert not target.exists()
        (small / name).write_bytes(kept)
    # Notes about deleted worlds are copied, if a store has them.
    assert ("deleted" in {Path(name).parts[0] for name in sums(small)}) == (small / "deleted").is_dir()
    foreign = (small / sums(small)[0]).with_name("log-00000099")
    foreign.write_bytes(b"")
    done = tool("restore", small, target)
    assert done.returncode == 1 and "log-00000099 is not of this backup" in done.stderr
    foreign.unlink()
    assert tool("restore", small, target).returncode == 0


def test_a_damaged_store_without_sums_is_found_by_opening_it(small: Path, tmp_path: Path) -> None:
    (small / "SHA256SUMS").unlink()
    sound = tool("restore", "--check", small)
    assert sound.returncode == 0 and "no SHA256SUMS" in sound.stderr, sound.stderr
    log = log_of(small, "slope")
    kept = log.read_bytes()
    # In the first of several acknowledged records.
    log.write_bytes(kept[:20] + bytes([kept[20] ^ 1]) + kept[21:])
    done = tool("restore", small, tmp_path / "restored")
    assert done.returncode == 1 and not (tmp_path / "restored").exists(), done.stdout
    assert f"world {log.parent.name} is failed" in done.stderr and log.name in done.stderr, done.stderr
    # The others can be restored all the same.
    done = tool("restore", "--keep-going", small, tmp_path / "restored")
    assert done.returncode == 1 and (tmp_path / "restored").exists()
    # Bits that differ from the recorded ones are reported, too.
    log.write_bytes(kept)
    notes = small / "worlds.tsv"
    notes.write_text(notes.read_text().replace("\tpaused\t12\t", "\tpaused\t11\t"))
    done = tool("restore", "--check", small)
    assert done.returncode == 1 and "it was at step 11" in done.stderr, done.stderr


def test_a_partial_restore_of_a_world_is_found(small: Path) -> None:
    """A manual copy that lost a log. There are no sums, and the remaining files are readable."""
    (small / "SHA256SUMS").unlink()
    (small / "worlds.tsv").unlink()
    log = log_of(small, "slope")
    log.unlink()
    done = tool("restore", "--check", small)
    assert done.returncode == 1 and f"world {log.parent.name} is failed" in done.stderr, done.stdout + done.stderr


def test_a_world_that_is_written_out_meanwhile_is_copied_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backup = module("backup")
    world = tmp_path / "w1"
    world.mkdir()
    for name in ("world", "checkpoint-00000001", "log-00000001"):
        (world / name).write_bytes(name.encode())
    copy = backup.copy
    changes: list[str] = []

    def change_after_copy(source: Path, target: Path) -> str:
        digest: str = copy(source, target)
        if source.name == "log-00000001" and len(changes) < 3:
            # A new log, then its checkpoint; then obsolete files are removed.
            changes.append(source.name)
            if len(changes) == 1:
                (world / "log-00000002").write_bytes(b"")
            elif len(changes) == 2:
                (world / "checkpoint-00000002").write_bytes(b"two")
            else:
                (world / "checkpoint-00000001").unlink()
        elif source.name == "log-00000002":
            # Logs grow during the copy, which is no reason to repeat it.
            with (world / "log-00000002").open("ab") as log:
                log.write(b"more")
        return digest

    monkeypatch.setattr(backup, "copy", change_after_copy)
    names = backup.copy_world(world, tmp_path / "copy")
    assert sorted(names) == ["checkpoint-00000002", "log-00000001", "log-00000002", "world"] and len(changes) == 3
    assert sorted(file.name for file in (tmp_path / "copy").iterdir()) == sorted(names)
    # A world that is deleted meanwhile is not in the backup, and leaves nothing there.
    def delete_before_copy(source: Path, target: Path) -> str:
        shutil.rmtree(world)
        digest: str = copy(source, target)
        return digest

    monkeypatch.setattr(backup, "copy", delete_before_copy)
    assert backup.copy_world(world, tmp_path / "gone") is None and not (tmp_path / "gone").exists()

"""Tests of services on a Ray cluster of two nodes, which are killed during a sweep. Skipped where Ray is not installed,
as on a machine for which there is no Ray; .ci/python installs it."""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import signal
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from drystone.client import Problem, Service, Unreachable, models
from service import BINARY, free_port, running

if importlib.util.find_spec("ray") is None:
    pytest.skip("Ray is not installed", allow_module_level=True)

import ray

from drystone.client.ray import Cluster, Endpoint

WORLDS = 64
ROUNDS, STEPS = 4, 40


def cluster_in(folder: Path, **options: Any) -> Cluster:
    return Cluster(str(folder), services=2, binary=BINARY, backend="cpu", num_cpus=0.5, **options)


def scene(number: int) -> models.Scene:
    """Returns a pile that differs for each number."""
    shape: models.SceneShape = {"box": {"half": [0.5, 0.5]}, "friction": 0.01 * number}
    boxes: list[models.SceneBody] = [{"position": [0.1 * level, 0.5 + 1.1 * level], "shapes": [shape]} for level in range(6)]
    ground: models.SceneBody = {"type": "static", "shapes": [{"half_plane": {"normal": [0, 1], "offset": 0}}]}
    return {"version": 1, "bodies": [ground, *boxes]}


@ray.remote(num_cpus=1, max_retries=0)
def run(cluster: Cluster, number: int) -> tuple[str, int, str]:
    """Runs one world of the sweep. A repetition gets the same world and the same steps."""
    world = cluster.create(scene(number), name=f"friction {number}", key=f"sweep-{number}")
    done = 0
    for part in range(ROUNDS):
        # The sweep lasts for as long as the kills take, on any machine.
        time.sleep(0.2)
        done = world.step(STEPS, key=f"sweep-{number}-{part}")["step"]
    return world.id, done, world.metrics()["hash"]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def another(cluster: Cluster, name: str, before: Endpoint) -> Endpoint:
    """Returns the service that replaced this one."""
    end = time.monotonic() + 120
    while (now := cluster.endpoint(name)).pid == before.pid:
        assert time.monotonic() < end
        time.sleep(0.05)
    return now


def test_a_sweep_loses_nothing_when_an_actor_is_killed(nodes: Any, tmp_path: Path) -> None:
    with cluster_in(tmp_path / "swept") as cluster:
        first = cluster.endpoints()
        assert len({endpoint.node for endpoint in first.values()}) == 2, "a service on each node"
        victim, actor = cluster.names[0], cluster.actor(cluster.names[0])
        actor_pid = ray.get(actor.pid.remote())
        jobs = [run.remote(cluster, number) for number in range(WORLDS)]

        def in_the_middle(done: int) -> None:
            ray.wait(jobs, num_returns=done, timeout=120)
            ready, ahead = ray.wait(jobs, num_returns=WORLDS, timeout=0)
            assert len(ready) >= done and ahead, "a kill is to come in the middle of the sweep"

        # The service's process, then the actor's, then the actor by Ray.
        in_the_middle(8)
        os.kill(first[victim].pid, signal.SIGKILL)
        second = another(cluster, victim, first[victim])
        in_the_middle(20)
        os.kill(actor_pid, signal.SIGKILL)
        third = another(cluster, victim, second)
        in_the_middle(32)
        ray.kill(actor, no_restart=False)
        told = ray.get(jobs, timeout=240)
        fourth = another(cluster, victim, third)

        # The process alone is restarted by the same actor, at the same address; then the actor is another.
        assert (second.starts, second.url, second.pid != first[victim].pid) == (2, first[victim].url, True)
        assert (third.starts, fourth.starts) == (1, 1) and len({e.pid for e in (first[victim], second, third, fourth)}) == 4
        assert not any(is_alive(pid) for pid in (first[victim].pid, second.pid, third.pid, actor_pid))

        # Each world exists once, and was executed once.
        there = {world.id: world for world in cluster.worlds()}
        assert len(there) == WORLDS and there.keys() == {id for id, _, _ in told}
        assert len({id.split("/")[0] for id in there}) == 2
        steps = {id: world.status()["step"] for id, world in there.items()}
        assert set(steps.values()) == {ROUNDS * STEPS} == {done for _, done, _ in told}
        # Its state is that of an undisturbed world.
        with running(tmp_path / "calm") as url, Service(url) as calm:
            hashes = []
            for number, (id, _, told_hash) in enumerate(told):
                twin = calm.create(scene(number))
                twin.step(ROUNDS * STEPS)
                hashes.append(twin.metrics()["hash"])
                assert hashes[-1] == told_hash == there[id].metrics()["hash"], number
                twin.delete()
            assert len(set(hashes)) > WORLDS // 2, "worlds that are all the same show nothing"

        # A repetition of all requests changes nothing; with other keys it does.
        assert ray.get(run.remote(cluster, 7)) == told[7]
        again = cluster.create(scene(7), key="another", on=victim)
        assert len(cluster.worlds()) == WORLDS + 1 and again.id.startswith(f"{victim}/")
        # A world is found by its id from everywhere.
        assert cluster.world(told[7][0]).status()["name"] == "friction 7"


def test_a_stream_goes_on_at_another_address(nodes: Any, tmp_path: Path) -> None:
    with cluster_in(tmp_path / "streamed", name="streamed") as cluster:
        world = cluster.create("large_pyramid:base=5", on="streamed-1")
        world.play(2)
        killed = False
        for bodies in world.stream(rate=60):
            if not killed and bodies.step > 10:
                ray.kill(cluster.actor("streamed-1"), no_restart=False)
                killed = True
            if bodies.reconnects:
                break
        assert bodies.gap is not None and bodies.gap.seconds > 0
        assert Cluster.attach("streamed").names == cluster.names
        with pytest.raises(Unreachable, match="no services named"):
            Cluster.attach("absent")
        with pytest.raises(ValueError, match="expected one of"):
            cluster.service("streamed-7")


@contextlib.contextmanager
def bucket() -> Iterator[tuple[str, dict[str, str]]]:
    """Yields a store in an S3 server on this machine, and the settings of a service for it."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server: Any = ThreadedMotoServer(port=0)
    server.start()
    host, port = server.get_host_and_port()
    try:
        signed = {"Authorization": "AWS4-HMAC-SHA256 Credential=a/20200101/us-east-1/s3/aws4_request"}
        made = urllib.request.Request(f"http://{host}:{port}/lab", method="PUT", headers=signed)
        urllib.request.urlopen(made).close()
        names = {"ENDPOINT": f"http://{host}:{port}", "REGION": "us-east-1"}
        names |= {"ACCESS_KEY_ID": "a", "SECRET_ACCESS_KEY": "b"}
        yield "s3://lab/moved", {f"DRYSTONE_S3_{name}": value for name, value in names.items()}
    finally:
        server.stop()


def extra(module: str) -> pytest.MarkDecorator:
    """Marks a test that needs more than Ray: `.ci/python examples`."""
    missing = importlib.util.find_spec(module) is None and "DRYSTONE_EXAMPLES" not in os.environ
    return pytest.mark.skipif(missing, reason=f"{module} is not installed")


@pytest.mark.parametrize("store", ["folder", pytest.param("bucket", marks=extra("moto"))])
def test_a_service_moves_when_its_node_is_lost(nodes: Any, tmp_path: Path, store: str) -> None:
    lost = nodes.add_node(num_cpus=1, resources={"here": 1}, object_store_memory=100 << 20)
    spare = None
    # A folder shared by all nodes, which are one machine.
    folder: contextlib.AbstractContextManager[tuple[str, dict[str, str]]]
    folder = contextlib.nullcontext((str(tmp_path / "moved"), {}))
    try:
        with bucket() if store == "bucket" else folder as (place, variables):
            options: dict[str, Any] = {"services": 1, "shared": store == "folder", "environment": variables}
            options |= {"name": "moved", "binary": BINARY, "backend": "cpu", "resources": {"here": 0.5}, "num_cpus": 0.5}
            with Cluster(place, **options) as cluster:
                world, twin = (cluster.create("large_pyramid:base=5") for _ in range(2))
                world.step(10)
                before = cluster.endpoint("moved-0")
                nodes.remove_node(lost, allow_graceful=False)
                spare = nodes.add_node(num_cpus=1, resources={"here": 1}, object_store_memory=100 << 20)
                assert world.step(5)["step"] == 15
                after = cluster.endpoint("moved-0")
                assert after.node != before.node and not is_alive(before.pid)
                twin.step(15)
                assert world.metrics()["hash"] == twin.metrics()["hash"]
    finally:
        for node in (lost, spare):
            if node is not None and node in nodes.list_all_nodes():
                nodes.remove_node(node)


def test_a_service_that_does_not_start_says_why(nodes: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="absolute path"):
        Cluster("memory")
    with pytest.raises(Unreachable, match="/no/such/drystone cannot be executed"):
        Cluster(str(tmp_path), name="wrong", services=1, num_cpus=0.1, binary="/no/such/drystone")


@extra("fastapi")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_ray_serve_hands_requests_on(nodes: Any, tmp_path: Path) -> None:
    from ray import serve

    from drystone.client.ray import deployment

    port = free_port()
    serve.start(http_options={"host": "127.0.0.1", "port": port})
    try:
        token = "sixteen letters at least"
        made = deployment(str(tmp_path / "served"), token=token, num_cpus=0.2, binary=BINARY, backend="cpu")
        serve.run(made, name="lab", route_prefix="/lab")
        with Service(f"http://127.0.0.1:{port}/lab", token, patience=60.0) as service:
            world = service.create("large_pyramid:base=5", key="k")
            assert world.step(10)["step"] == 10 and len(world.state().slot) == 16
            assert [one.id for one in service.worlds()] == [world.id]
            with pytest.raises(Problem) as caught:
                service.create("nothing")
            assert caught.value.type == "urn:drystone:invalid"
            # The killed service is restarted by its replica; the killed replica is replaced by Serve.
            (own,) = service_pids(tmp_path / "served")
            os.kill(own, signal.SIGKILL)
            assert world.step(5)["step"] == 15
            (second,) = service_pids(tmp_path / "served")
            os.kill(parent_of(second), signal.SIGKILL)
            assert world.step(5)["step"] == 20
            assert service_pids(tmp_path / "served") not in ([own], [second])
        with Service(f"http://127.0.0.1:{port}/lab", "another, as long as the other") as stranger:
            with pytest.raises(Problem) as refused:
                stranger.worlds()
            assert refused.value.status == 401
    finally:
        untyped: Any = serve
        untyped.shutdown()


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def service_pids(store: Path) -> list[int]:
    """Returns the processes of services on a store."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_bytes().split(b"\0")
        except OSError:
            continue
        if str(store).encode() in words and words[0].decode() == BINARY:
            found.append(int(place.parent.name))
    assert found
    return found

"""Services on a Ray cluster: actors that run and restart `drystone serve`, and a client that finds the service of each
world. Needs `pip install "drystone[ray]"`.

>>> from drystone.client.ray import Cluster                                      # doctest: +SKIP
>>> with Cluster("s3://bucket/lab", services=4, num_gpus=1) as cluster:          # doctest: +SKIP
...     world = cluster.create("large_pyramid:base=20", key="run 1")
...     world.step(100)
"""

from __future__ import annotations

import collections
import hashlib
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ray
from ray.exceptions import GetTimeoutError, RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from . import models
from .client import AsyncService, Service, World
from .errors import DrystoneError, Unreachable
from .retry import backoff, checked_key

if TYPE_CHECKING:
    from ray.serve import Application

_untyped: Any = ray
"""Ray module, for functions without types."""
NAMESPACE = "drystone"
"""Namespace of the actors in Ray."""
START_SECONDS = 120.0
"""Seconds for which a request for the address waits while the service starts and opens its worlds."""
STOP_SECONDS = 35.0
"""Seconds a service may take to write out its worlds."""
KEPT_LINES = 4
"""Number of log lines in the error about a service that does not start."""
MAX_FAILURES = 8
"""Number of failed starts in a row, over about ten seconds, after which a request for the address is an error. Further
starts follow."""

# Starts the service so that it ends with its parent in any case: it would otherwise hold the store, and the actor that Ray
# restarts could not open it. Linux signals a child when its parent ends; other systems leave it running.
LAUNCHER = """
import ctypes, os, signal, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    if os.getppid() != int(sys.argv[1]):
        sys.exit("the parent process has ended")
try:
    os.execvp(sys.argv[2], sys.argv[2:])
except OSError as error:
    sys.exit(f"{sys.argv[2]} cannot be executed: {error}")
"""


@dataclass(frozen=True)
class Endpoint:
    """Address of a running service."""

    url: str
    token: str
    node: str
    """Ray's id of the node."""
    pid: int
    """Process id of the service."""
    starts: int
    """Number of starts of the service by this actor."""


class ServiceProcess:
    """Runs `drystone serve` on this machine and restarts it when it ends, on the same port if that is free."""

    def __init__(
        self,
        store: str,
        *,
        token: str,
        host: str = "127.0.0.1",
        binary: str = "drystone",
        backend: str = "auto",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._command = [sys.executable, "-I", "-S", "-c", LAUNCHER, str(os.getpid()), binary, "serve"]
        self._command += ["--store", store, "--backend", backend]
        # Ray guarantees one actor per name; a service on a disconnected node is not waited for.
        own = {"DRYSTONE_S3_TAKE_OVER": "true"}
        self._environment = own | os.environ | dict(environment or {}) | {"DRYSTONE_TOKEN": token}
        self._host, self._token = host, token
        self._said: collections.deque[str] = collections.deque(maxlen=KEPT_LINES)
        self._changed = threading.Condition()
        self._child: subprocess.Popen[str] | None = None
        self._url: str | None = None
        self._port = 0
        self._starts = 0
        self._ready = 0
        """Number of the start after which all worlds were open."""
        self._stopping = False
        self.failures = 0
        """Number of ends in a row before the service listened."""
        # The thread lives as long as the process: Linux ends the service with the thread that started it.
        threading.Thread(target=self._watch, daemon=True, name="drystone").start()

    @property
    def url(self) -> str | None:
        """Address, while the service listens."""
        return self._url

    def _watch(self) -> None:
        while True:
            try:
                ended = self._run()
            except OSError as error:
                # For example no memory for another process.
                ended = str(error)
                self._said.append(ended)
            with self._changed:
                (self._url, self._child) = (None, None)
                self._changed.notify_all()
                if self._stopping:
                    return
            self.failures += 1
            if self.failures > 1:
                # Another program may have taken the port.
                self._port = 0
            print(f"drystone serve has ended ({ended}); restarting it", file=sys.stderr, flush=True)
            time.sleep(backoff(self.failures, None))

    def _run(self) -> str:
        """Runs the service until it ends. Returns the reason."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        command = [*self._command, "--listen", f"{host}:{self._port}"]
        with self._changed:
            if self._stopping:
                return "stopped"
            self._starts += 1
            child = subprocess.Popen(
                command, stderr=subprocess.PIPE, text=True, env=self._environment, errors="replace"
            )
            self._child = child
        assert child.stderr is not None
        for number, line in enumerate(child.stderr):
            if number == 0:
                self._said.clear()
            self._said.append(line.rstrip())
            # For Ray's log of the actor.
            sys.stderr.write(line)
            if line.startswith("listening on "):
                with self._changed:
                    self._url = line.split()[-1]
                    self._port = int(self._url.rsplit(":", 1)[1])
                    self.failures = 0
                    self._changed.notify_all()
        return f"code {child.wait()}"

    def endpoint(self, seconds: float = START_SECONDS) -> tuple[str, int, int]:
        """Returns address, process and number of starts, once the service is ready.

        Raises Unreachable if it is not ready after that many seconds.
        """
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with self._changed:
                self._changed.wait_for(lambda: self._url is not None or self._stopping, 1.0)
                if self._stopping or self.failures >= MAX_FAILURES:
                    break
                (url, child, starts) = (self._url, self._child, self._starts)
            if url is not None and child is not None:
                if self._ready == starts:
                    return url, child.pid, starts
                try:
                    # Without a proxy from the environment.
                    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
                    with opener.open(f"{url}/health/ready", timeout=5.0):
                        self._ready = starts
                except (urllib.error.URLError, OSError):
                    time.sleep(0.05)
        said = "; ".join(self._said) or "it has logged nothing"
        raise Unreachable(f"the service is not ready, after {self._starts} starts: {said}")

    def stop(self, seconds: float = STOP_SECONDS) -> bool:
        """Stops the service in order. Returns true if it has written out all worlds."""
        with self._changed:
            self._stopping = True
            child = self._child
            self._changed.notify_all()
        if child is None:
            return True
        child.send_signal(signal.SIGTERM)
        try:
            return child.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            child.kill()
            return False


class ServiceActor:
    """Actor that runs a service on its node. Ray restarts it with the same store when its process or node fails."""

    def __init__(self, store: str, token: str, options: Mapping[str, Any]) -> None:
        self._token = token
        self._node = ray.get_runtime_context().get_node_id()
        self._process = ServiceProcess(store, token=token, host=_untyped.util.get_node_ip_address(), **options)

    def endpoint(self, seconds: float = START_SECONDS) -> Endpoint:
        """Returns the address of the service, once it is ready."""
        url, pid, starts = self._process.endpoint(seconds)
        return Endpoint(url, self._token, self._node, pid, starts)

    def pid(self) -> int:
        """Returns the process id of the actor."""
        return os.getpid()

    def stop(self) -> bool:
        """Stops the service in order."""
        return self._process.stop()


class ClusterWorld(World):
    """World of a cluster. Its id consists of the actor's name and the world's id: `"drystone-2/w8f…"`."""

    def __init__(self, service: Service, actor: str, id: str) -> None:
        super().__init__(service, id)
        self.actor = actor
        self.id = f"{actor}/{id}"

    def __repr__(self) -> str:
        return f"ClusterWorld({self.id!r})"


class Cluster:
    """Named actors with a service each, and the worlds on them.

    A call to an unreachable service asks its actor for the current address, waits for it, and continues with the same key.
    A cluster may be passed to tasks, which attach to the same actors.
    """

    def __init__(
        self,
        store: str,
        *,
        name: str = "drystone",
        services: int | None = None,
        shared: bool = False,
        num_cpus: float = 1.0,
        num_gpus: float = 0.0,
        resources: Mapping[str, float] | None = None,
        binary: str = "drystone",
        backend: str = "auto",
        environment: Mapping[str, str] | None = None,
        token: str | None = None,
        detached: bool = False,
        timeout: float = 60.0,
        patience: float = 120.0,
    ) -> None:
        """Starts the missing actors, and waits for their services. Existing ones stay unchanged.

        - `store`: `s3://BUCKET/PREFIX`, or an absolute path; each service has its own subfolder or prefix.
        - `services`: number of services; default: one per node.
        - `shared`: the path is the same folder on all nodes. Otherwise each service stays on its node. With a bucket or
          a shared folder a service whose node is lost is restarted on another.
        - `num_cpus`, `num_gpus`, `resources`: resources reserved with Ray for each service.
        - `binary`, `backend`, `environment`: the program, its backend, and settings (`DRYSTONE_LIMITS_WORLDS`).
        - `detached`: the services outlive this program, until `close`; `Cluster.attach` finds them.
        - `timeout`, `patience`: as for a `Service`. Ray needs some seconds to restart an actor.
        """
        is_bucket = store.startswith("s3://")
        if not is_bucket and not os.path.isabs(store):
            raise ValueError(f"store is {store!r}; expected s3://BUCKET/PREFIX or an absolute path, which outlives an actor")
        if not ray.is_initialized():
            ray.init()
        needs = {"CPU": num_cpus, "GPU": num_gpus, **(resources or {})}
        fit = [node for node in _untyped.nodes() if node["Alive"] and _fits(node, needs)]
        # In an order that survives a restart of Ray, because folders stay on their nodes.
        nodes = sorted(fit, key=lambda node: (node["NodeManagerAddress"], node["NodeName"], node["NodeID"]))
        if not nodes and not (is_bucket or shared):
            raise ValueError(f"no node of the Ray cluster has {needs}")
        count = services if services is not None else max(1, len(nodes))
        if count < 1:
            raise ValueError(f"services is {count}; expected 1 or more")
        token = token or secrets.token_urlsafe(32)
        options = {"binary": binary, "backend": backend, "environment": dict(environment or {})}
        names = [f"{name}-{index}" for index in range(count)]
        self._set_up(names, timeout, patience)
        self._outlives = detached
        actor = ray.remote(ServiceActor)
        for index, own in enumerate(names):
            strategy: Any = "SPREAD"
            if not is_bucket and not shared:
                strategy = NodeAffinitySchedulingStrategy(nodes[index % len(nodes)]["NodeID"], soft=False)
            self._actors[own] = actor.options(
                name=own,
                namespace=NAMESPACE,
                get_if_exists=True,
                lifetime="detached" if detached else None,
                # The service is the state. The next actor answers interrupted requests.
                max_restarts=-1,
                max_task_retries=-1,
                max_concurrency=64,
                num_cpus=num_cpus,
                num_gpus=num_gpus,
                resources=dict(resources or {}),
                scheduling_strategy=strategy,
            ).remote(f"{store.rstrip('/')}/{own}", token, options)
        try:
            self.endpoints()
        except DrystoneError:
            self.close()
            raise

    def _set_up(self, names: Sequence[str], timeout: float, patience: float) -> None:
        self.names = list(names)
        self._timeout, self._patience = timeout, patience
        self._outlives = True
        self._actors: dict[str, Any] = {}
        self._services: dict[str, Service] = {}
        self._lock = threading.Lock()

    @classmethod
    def attach(cls, name: str = "drystone", *, timeout: float = 60.0, patience: float = 120.0) -> Cluster:
        """Returns the cluster of another program, by its name."""
        if not ray.is_initialized():
            ray.init()
        named = ray.util.list_named_actors(all_namespaces=True)
        known = [actor["name"] for actor in named if actor["namespace"] == NAMESPACE]
        mine = [own for own in known if own.rpartition("-")[0] == name and own.rpartition("-")[2].isdecimal()]
        if not mine:
            raise Unreachable(f"there are no services named {name!r} on this Ray cluster")
        return _attached(sorted(mine, key=lambda own: int(own.rpartition("-")[2])), timeout, patience)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_attached, (self.names, self._timeout, self._patience))

    def __repr__(self) -> str:
        return f"Cluster({self.names})"

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        if self._outlives:
            self.leave()
        else:
            self.close()

    def close(self) -> None:
        """Stops the services in order, and ends their actors. Their worlds stay in the store."""
        stops = [actor.stop.remote() for actor in self._actors.values()]
        ray.wait(stops, num_returns=len(stops), timeout=STOP_SECONDS + 5.0)
        for actor in self._actors.values():
            ray.kill(actor, no_restart=True)
        self.leave()

    def leave(self) -> None:
        """Closes the connections. The services keep running."""
        with self._lock:
            for service in self._services.values():
                service.close()
            self._services.clear()
            self._actors.clear()

    def actor(self, name: str) -> Any:
        """Returns Ray's handle of an actor."""
        if name not in self.names:
            raise ValueError(f"{name!r} is not a service of this cluster; expected one of {', '.join(self.names)}")
        with self._lock:
            if name not in self._actors:
                try:
                    self._actors[name] = ray.get_actor(name, namespace=NAMESPACE)
                except ValueError as error:
                    raise Unreachable(f"there is no actor {name!r}: {error}") from error
            return self._actors[name]

    def endpoint(self, name: str) -> Endpoint:
        """Returns the current address of a service. Waits for an actor that Ray is restarting."""
        try:
            # The same time again for Ray, which may have to start the actor.
            endpoint: Endpoint = ray.get(self.actor(name).endpoint.remote(START_SECONDS), timeout=2.0 * START_SECONDS)
        except RayTaskError as error:
            raise Unreachable(f"{name}: {error.cause}") from error
        except GetTimeoutError as error:
            late = f"{name}: the actor has not started within {2.0 * START_SECONDS:.0f} s; does Ray have resources for it?"
            raise Unreachable(late) from error
        except RayError as error:
            raise Unreachable(f"{name}: the actor is unreachable: {' '.join(str(error).split())[:300]}") from error
        return endpoint

    def endpoints(self) -> dict[str, Endpoint]:
        """Returns the addresses of all services."""
        return {name: self.endpoint(name) for name in self.names}

    def service(self, name: str) -> Service:
        """Returns the client of one service. It finds the service after a restart by Ray."""
        with self._lock:
            known = self._services.get(name)
        if known is not None:
            return known
        endpoint = self.endpoint(name)
        made = Service(endpoint.url, endpoint.token, locate=lambda: self.endpoint(name).url, **self._limits)
        with self._lock:
            kept = self._services.setdefault(name, made)
        if kept is not made:
            made.close()
        return kept

    def async_service(self, name: str) -> AsyncService:
        """Returns an asyncio client of one service, which the caller must close."""
        endpoint = self.endpoint(name)
        return AsyncService(endpoint.url, endpoint.token, locate=lambda: self.endpoint(name).url, **self._limits)

    @property
    def _limits(self) -> dict[str, Any]:
        return {"timeout": self._timeout, "patience": self._patience}

    def place(self, key: str) -> str:
        """Returns the name of the service for a key: always the same, with keys spread evenly."""
        return max(self.names, key=lambda name: hashlib.sha256(f"{name}\0{key}".encode()).digest())

    def create(
        self, scene: str | models.Scene, name: str | None = None, *, key: str | None = None, on: str | None = None
    ) -> ClusterWorld:
        """Creates a world on the service that its key selects, or `on` another. The same key gives the same world."""
        key = checked_key(key)
        actor = self.place(key) if on is None else on
        world = self.service(actor).create(scene, name, key=key)
        return ClusterWorld(world.service, actor, world.id)

    def world(self, id: str) -> ClusterWorld:
        """Returns an existing world, by its id in the cluster."""
        actor, slash, own = id.partition("/")
        if not slash:
            raise ValueError(f"id is {id!r}; expected SERVICE/WORLD, such as {self.names[0]}/w8f…")
        world = self.service(actor).world(own)
        return ClusterWorld(world.service, actor, world.id)

    def worlds(self) -> list[ClusterWorld]:
        """Returns the worlds of all services."""
        services = [(name, self.service(name)) for name in self.names]
        return [ClusterWorld(service, name, world.id) for name, service in services for world in service.worlds()]


def _attached(names: Sequence[str], timeout: float, patience: float) -> Cluster:
    cluster = Cluster.__new__(Cluster)
    cluster._set_up(names, timeout, patience)
    return cluster


def _fits(node: Mapping[str, Any], needs: Mapping[str, float]) -> bool:
    return all(node["Resources"].get(what, 0.0) >= amount for what, amount in needs.items())


def deployment(
    store: str,
    *,
    token: str,
    name: str = "drystone",
    num_cpus: float = 1.0,
    num_gpus: float = 0.0,
    binary: str = "drystone",
    backend: str = "auto",
    environment: Mapping[str, str] | None = None,
) -> Application:
    """Returns an application for Ray Serve: one replica that runs a service and forwards requests to it.

    `serve.run(deployment("s3://bucket/lab", token=…), route_prefix="/lab")`; clients use `http://HOST:8000/lab` and the
    token. There is one replica, because the worlds are in one service; for several services deploy several applications.
    Streams (WebSockets) do not pass through it. Needs `ray[serve]`.
    """
    from ray import serve

    options = {"binary": binary, "backend": backend, "environment": dict(environment or {})}
    made = serve.deployment(
        name=name,
        num_replicas=1,
        # Requests for steps take until their end.
        max_ongoing_requests=1000,
        ray_actor_options={"num_cpus": num_cpus, "num_gpus": num_gpus},
        health_check_period_s=5.0,
        graceful_shutdown_timeout_s=STOP_SECONDS,
    )(Forwarder)
    return made.bind(store, token, options)


class Forwarder:
    """Replica of Ray Serve that forwards requests to the service on its node."""

    # Headers of the incoming connection, and those that httpx sets itself.
    _OWN = frozenset({"connection", "content-length", "host", "keep-alive", "te", "transfer-encoding", "upgrade"})

    def __init__(self, store: str, token: str, options: Mapping[str, Any]) -> None:
        import httpx

        self._process = ServiceProcess(store, token=token, **options)
        self._url = self._process.endpoint()[0]
        # The caller sets the time limit.
        self._http = httpx.AsyncClient(timeout=None, trust_env=False)

    async def __call__(self, request: Any) -> Any:
        import httpx
        from starlette.responses import Response

        path = request.scope["path"].removeprefix(request.scope.get("root_path", "").rstrip("/")) or "/"
        query = request.scope.get("query_string", b"").decode("latin-1")
        headers = [(n, v) for n, v in request.headers.items() if n.lower() not in self._OWN]
        url = f"{self._process.url or self._url}{path}" + (f"?{query}" if query else "")
        try:
            answer = await self._http.request(request.method, url, content=await request.body(), headers=headers)
        except httpx.TransportError as error:
            # It is unknown whether the request was executed; a retry with its key executes it once.
            return Response(f"the service is unreachable: {error}", 502, {"Retry-After": "1"})
        kept = {n: v for n, v in answer.headers.items() if n.lower() not in self._OWN}
        return Response(answer.content, answer.status_code, kept)

    def check_health(self) -> None:
        """Reports the replica as healthy while its service runs or starts."""
        if self._process.failures >= MAX_FAILURES:
            raise RuntimeError("the service does not start")

    def __del__(self) -> None:
        self._process.stop()


__all__ = ["Cluster", "ClusterWorld", "Endpoint", "Forwarder", "ServiceActor", "ServiceProcess", "deployment"]

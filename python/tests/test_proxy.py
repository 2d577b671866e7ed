"""Tests through TLS: the proxy of deploy/nginx.conf in front of the real service."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from between import KINDS, client
from drystone.client import Problem, Service, Unreachable, World
from service import free_port, running

CONFIG = Path(__file__).parents[2] / "deploy/nginx.conf"
NAME = "drystone.example.org"
TOKEN = "sixteen letters at least"
# Debian installs nginx where only root searches.
PROGRAMS = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin"))


def program(name: str) -> str:
    """Returns the path of a program. A skipped test without it would look like a passed one."""
    found = shutil.which(name, path=PROGRAMS)
    assert found is not None, f"{name} is missing: `.ci/setup tests` installs it"
    return found


def replaced(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


@contextmanager
def proxied(tmp_path: Path, url: str) -> Iterator[str]:
    """Yields the address of a proxy as deployed, except for its port, its certificate and its target."""
    (certificate, key, port) = (tmp_path / "cert.pem", tmp_path / "key.pem", free_port())
    arguments = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    arguments += ["-subj", f"/CN={NAME}", "-addext", "subjectAltName=IP:127.0.0.1"]
    arguments += ["-out", str(certificate), "-keyout", str(key)]
    subprocess.run([program("openssl"), *arguments], check=True, capture_output=True)
    letsencrypt = f"/etc/letsencrypt/live/{NAME}"
    site = replaced(
        CONFIG.read_text(),
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        (f"{letsencrypt}/fullchain.pem", str(certificate)),
        (f"{letsencrypt}/privkey.pem", str(key)),
        ("http://127.0.0.1:7878", url),
    )
    whole = tmp_path / "nginx.conf"
    folders = "".join(
        f"{what}_temp_path {tmp_path}/{what};\n" for what in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    head = f"daemon off;\nmaster_process off;\npid {tmp_path}/pid;\nerror_log {tmp_path}/log;\nevents {{}}\n"
    whole.write_text(f"{head}http {{\naccess_log off;\n{folders}{site}}}\n")
    server = subprocess.Popen([program("nginx"), "-p", tmp_path, "-c", whole, "-e", tmp_path / "log"])
    try:
        for _ in range(6000):
            if socket.socket().connect_ex(("127.0.0.1", port)) == 0:
                break
            assert server.poll() is None, (tmp_path / "log").read_text()
            time.sleep(0.01)
        yield f"https://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(20)


@pytest.fixture()
def proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yields a service and the proxy in front of it."""
    monkeypatch.setenv("DRYSTONE_TOKEN", TOKEN)
    # Both libraries of the client read this variable.
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
    with running(tmp_path / "worlds") as url, proxied(tmp_path, url) as address:
        yield address


def test_all_of_it_works_through_a_proxy(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Service(proxy) as service:
        world = service.create("large_pyramid:base=5")
        assert world.step(20)["steps"] == 20
        world.play(4)
        seen = 0
        for bodies in world.stream(rate=50):
            seen += 1
            if bodies.step > 60:
                break
        assert seen > 3
        world.pause()
        # The limit of bodies is that of the service or larger: the service reports the error.
        with pytest.raises(Problem) as caught:
            service.create({"version": 1, "bodies": [], "name": "x" * (3 << 20)})
        assert caught.value.status != 413
        world.delete()
    # Negative controls: another token is refused, and without the certificate the proxy is not trusted.
    with Service(proxy, "another token, as long") as stranger, pytest.raises(Problem) as refused:
        stranger.create("slope")
    assert refused.value.status == 401
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(Unreachable) as unknown, Service(proxy) as service:
        service.create("slope")
    assert "certificate" in str(unknown.value).lower()
    # Retries would not help: there was one attempt.
    assert unknown.value.attempts == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_certificate_can_be_given(proxy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    trust: list[dict[str, Any]] = [{"ca": tmp_path / "cert.pem"}, {"ca": str(tmp_path / "cert.pem")}, {"verify": False}]
    for options in trust:
        with client(kind, proxy, **options) as service:
            world = service.create("large_pyramid:base=3")
            assert world.step(2)["step"] == 2
            assert next(iter(world.stream())).step == 2
            world.delete()
    # Negative control: another certificate is not enough, neither for requests nor for streams.
    other = tmp_path / "other.pem"
    subprocess.run(
        [program("openssl"), *"req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=other".split()]
        + ["-keyout", str(tmp_path / "other-key.pem"), "-out", str(other)],
        check=True,
        capture_output=True,
    )
    with Service(proxy, ca=tmp_path / "cert.pem") as trusting:
        world = trusting.create("large_pyramid:base=3")
        strange: list[dict[str, Any]] = [{"ca": other}, {}]
        for options in strange:
            with client(kind, proxy, **options) as service:
                with pytest.raises(Unreachable, match="certificate"):
                    service.world(world.id)
            stranger = Service(proxy, **options)
            with pytest.raises(Unreachable, match="certificate"):
                next(World(stranger, world.id).stream())

"""Tests of the limits of the proxy of deploy/nginx.conf, and of its answers while the service is down."""

from __future__ import annotations

import ssl
from pathlib import Path

import httpx
import pytest

from service import running
from test_proxy import TOKEN, proxied


def trusting(folder: Path, proxy: str) -> httpx.Client:
    """Returns a client that trusts the certificate of the test's proxy."""
    return httpx.Client(base_url=proxy, verify=ssl.create_default_context(cafile=folder / "cert.pem"))


def test_strangers_are_few_at_a_time_and_do_not_stand_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRYSTONE_TOKEN", TOKEN)
    with running(tmp_path / "worlds") as url, proxied(tmp_path, url) as proxy, trusting(tmp_path, proxy) as stranger:
        answers = [stranger.get("/v1/worlds") for _ in range(60)]
        statuses = [answer.status_code for answer in answers]
        # Some get the 401, the others are not passed on.
        assert set(statuses) == {401, 429} and statuses.count(401) < 45, statuses
        refused = next(answer for answer in answers if answer.status_code == 429)
        assert refused.headers["content-type"] == "application/problem+json" and refused.headers["retry-after"] == "1"
        assert refused.json()["type"] == "urn:drystone:too-many"
        # Requests with a token do not count among them.
        headers = {"Authorization": f"Bearer {TOKEN}"}
        assert {stranger.get("/v1/worlds", headers=headers).status_code for _ in range(60)} == {200}


def test_a_service_that_is_away_is_a_503_with_a_time(tmp_path: Path) -> None:
    # No service listens there.
    with proxied(tmp_path, "http://127.0.0.1:9") as proxy, trusting(tmp_path, proxy) as client:
        answer = client.get("/v1/worlds", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 503 and answer.headers["retry-after"] == "2"
    assert answer.json()["type"] == "urn:drystone:unavailable" and answer.json()["retry_after"] == 2

"""Tests that the files of deploy/ agree with the service, and with each other."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml

from drystone.client import Problem, Service
from service import running

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
# Suffixes of a histogram in the text that Prometheus reads.
PARTS = re.compile(r"_(bucket|sum|count)$")
NAME = re.compile(r"drystone_[a-z_]+")
GIB = 1 << 30


def text(name: str) -> str:
    return (DEPLOY / name).read_text()


def settings() -> Any:
    return tomllib.loads(text("drystone.toml"))


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(text("alerts.yaml"))["groups"] for rule in group["rules"]]


def recorded() -> dict[str, str]:
    """Returns the metrics that the service records, with their kinds. A mere mention or description does not count."""
    found: dict[str, str] = {}
    for file in (ROOT / "crates/drystone-serve/src").rglob("*.rs"):
        # Tests use invented names.
        code = file.read_text().split("#[cfg(test)]")[0]
        for kind, name in re.findall(r'metrics::(counter|gauge|histogram)!\(\s*"(drystone_[a-z_]+)"', code):
            found[name] = kind
        for name in re.findall(r'"(drystone_log_(?:appends|failures)_total)"', code):
            found.setdefault(name, "counter")
    return found


def asked(expressions: list[str]) -> set[str]:
    """Returns the metrics in expressions, without the suffixes that Prometheus appends to histograms."""
    known = recorded()
    names = {name for expression in expressions for name in NAME.findall(expression)}
    return {name if name in known else PARTS.sub("", name) for name in names}


def expressions() -> list[str]:
    panels = json.loads(text("grafana.json"))["panels"]
    return [rule["expr"] for rule in rules()] + [target["expr"] for panel in panels for target in panel["targets"]]


def test_metrics_of_alerts_and_of_the_dashboard_exist() -> None:
    names = asked(expressions())
    assert len(names) > 20
    assert names <= set(recorded()), names - set(recorded())
    # Negative control.
    assert asked(["rate(drystone_stepps_total[1m])"]) - set(recorded()) == {"drystone_stepps_total"}


def test_rates_are_of_counters_and_quantiles_of_histograms() -> None:
    kinds = recorded()
    for expression in expressions():
        for function, name in re.findall(r"\b(rate|increase|resets)\((drystone_[a-z_]+)", expression):
            whole = PARTS.sub("", name)
            if name in kinds or whole in kinds:
                kind = kinds.get(name, kinds.get(whole))
                assert kind == ("counter" if name in kinds else "histogram"), f"{function} of {name}: {kind}"


def test_counters_are_there_before_anything_has_happened(tmp_path: Path) -> None:
    # A counter that first appears with 1 hides that 1 from increase(), and its alert stays silent.
    with running(tmp_path / "worlds") as url:
        with urllib.request.urlopen(f"{url}/metrics") as answer:
            before = answer.read().decode()
        with Service(url) as service:
            service.create("card_house").step(5)
            with pytest.raises(Problem):
                service.create("no_such_scene")
        with urllib.request.urlopen(f"{url}/metrics") as answer:
            after = answer.read().decode()

    def exported(page: str) -> set[str]:
        return {PARTS.sub("", match) for match in re.findall(r"^(drystone_[a-z_]+)", page, re.MULTILINE)}

    needed = set()
    for rule in rules():
        needed |= set(re.findall(r"increase\((drystone_[a-z_]+)", rule["expr"]))
    assert len(needed) > 5 and needed <= exported(before), needed - exported(before)
    for name in needed:
        assert re.search(rf"^{name}(\{{.*\}})? 0$", before, re.MULTILINE), name
    gauges = {"drystone_ready", "drystone_worlds_failed", "drystone_store_limit_bytes", "drystone_store_bytes"}
    assert gauges <= exported(before)
    assert re.search(r"^drystone_ready 1$", after, re.MULTILINE)
    assert re.search(r"^drystone_steps_total 5$", after, re.MULTILINE)
    assert {"drystone_requests_total", "drystone_request_seconds", "drystone_turn_seconds"} <= exported(after)
    # Each has one description.
    described = re.findall(r"^# HELP (drystone_[a-z_]+) .", after, re.MULTILINE)
    assert len(described) == len(set(described)) > 15


def test_alerts_say_what_to_do() -> None:
    named = rules()
    names = [rule["alert"] for rule in named]
    assert len(names) == len(set(names)) >= 15
    guide = text("README.md")
    for rule in named:
        assert rule["labels"]["severity"] in ("critical", "warning", "info"), rule
        assert rule["annotations"]["summary"], rule
        assert f"| {rule['alert']} |" in guide, f"README.md has no remedy for {rule['alert']}"
    for mentioned in re.findall(r"^\| (Drystone\w+) \|", guide, re.MULTILINE):
        assert mentioned in names, mentioned


def test_memory_is_the_same_everywhere() -> None:
    unit = re.search(r"^MemoryMax=(\d+)G$", text("drystone.service"), re.MULTILINE)
    assert unit is not None
    (deployment,) = [part for part in manifest() if part["kind"] == "Deployment"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["resources"]["limits"]["memory"] == f"{unit[1]}Gi"
    (near,) = [rule["expr"] for rule in rules() if rule["alert"] == "DrystoneMemoryNearLimit"]
    threshold = re.search(r"> ([0-9.* ]+)$", near)
    assert threshold is not None
    product = 1.0
    for factor in threshold[1].split("*"):
        product *= float(factor)
    assert product == pytest.approx(0.9 * int(unit[1]) * GIB)
    # Bodies in memory fit, with five streams of all of them and the memory for requests.
    variable = re.search(r"^Environment=DRYSTONE_LIMITS_RESIDENT_BODIES=(\d+)$", text("drystone.service"), re.MULTILINE)
    assert variable is not None
    resident = int(variable[1])
    assert {"name": "DRYSTONE_LIMITS_RESIDENT_BODIES", "value": str(resident)} in container["env"]
    assert resident * (3.5 + 5 * 0.5) * 1024 + settings()["limits"]["memory_bytes"] < int(unit[1]) * GIB
    # No configuration forbids that: a world must fit.
    assert resident >= settings()["limits"]["bodies"]


def test_every_limit_is_in_the_guide_with_its_default() -> None:
    rows = dict(re.findall(r"^\| (limits\.\w+) \| ([^|]*) \|", text("README.md"), re.MULTILINE))
    for key, value in settings()["limits"].items():
        assert rows.get(f"limits.{key}") == str(value), f"limits.{key} = {value}"


def unit_settings() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in text("drystone.service").splitlines():
        if line and line[0] not in "#[":
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


def test_the_unit_bounds_and_waits() -> None:
    unit = unit_settings()
    # MAX_DRAIN plus the time of connections and the runtime.
    assert int(unit["TimeoutStopSec"][0].removesuffix("s")) >= 35
    assert unit["CapabilityBoundingSet"] == [""] and unit["StateDirectoryMode"] == ["0700"]
    assert int(unit["StartLimitBurst"][0]) <= 20 and unit["OOMPolicy"] == ["kill"]
    assert unit["SupplementaryGroups"] == ["render video"] and unit["SystemCallFilter"][0] == "@system-service"
    limits = settings()["limits"]
    assert int(unit["LimitNOFILE"][0]) >= limits["connections"] + 2 * limits["worlds"] + 64
    assert unit["ExecReload"] == ["/bin/kill -HUP $MAINPID"]


def manifest() -> list[dict[str, Any]]:
    return [part for part in yaml.safe_load_all(text("kubernetes.yaml")) if part]


def test_the_manifest_is_of_one_service() -> None:
    parts = {part["kind"]: part for part in manifest()}
    assert sorted(parts) == ["Deployment", "PersistentVolumeClaim", "Secret", "Service"]
    versions = {"Deployment": "apps/v1"}
    for kind, part in parts.items():
        assert part["apiVersion"] == versions.get(kind, "v1"), kind
        assert part["metadata"]["name"] == "drystone", kind
    spec = parts["Deployment"]["spec"]
    # Two services on one store must not run.
    assert spec["replicas"] == 1 and spec["strategy"] == {"type": "Recreate"}
    pod = spec["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] >= 35
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    assert parts["Service"]["spec"]["selector"] == spec["selector"]["matchLabels"]
    (container,) = pod["containers"]
    probes = {kind: container[f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "liveness", "readiness")}
    assert probes == {"startup": "/health/live", "liveness": "/health/live", "readiness": "/health/ready"}
    assert {container[f"{kind}Probe"]["httpGet"]["port"] for kind in probes} == {"http"}
    (port,) = container["ports"]
    assert port["name"] == parts["Service"]["spec"]["ports"][0]["targetPort"] == "http"
    # Volumes and mounts match, and the store and the settings are where the image and the arguments expect them.
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    mounts = {mount["name"]: mount for mount in container["volumeMounts"]}
    assert sorted(volumes) == sorted(mounts)
    assert volumes["worlds"]["persistentVolumeClaim"]["claimName"] == "drystone"
    assert volumes["config"]["secret"]["secretName"] == "drystone" and "subPath" not in mounts["config"]
    (file,) = parts["Secret"]["stringData"]
    assert container["args"] == ["--config", f"{mounts['config']['mountPath']}/{file}"]
    config = tomllib.loads(parts["Secret"]["stringData"][file])
    assert config["store"].startswith(mounts["worlds"]["mountPath"] + "/")
    assert config["listen"] == f"0.0.0.0:{port['containerPort']}"
    assert len(config["tokens"]) == 1 and len(config["tokens"][0]["token"]) >= 16
    assert set(config) - {"tokens"} <= set(settings())
    # The user of the image.
    assert f"USER {pod['securityContext']['runAsUser']}:{pod['securityContext']['fsGroup']}" in text("Containerfile")
    assert pod["securityContext"]["runAsNonRoot"] is True and container["securityContext"]["readOnlyRootFilesystem"]


def test_scrapes_have_a_token_and_the_name_that_alerts_look_for() -> None:
    (scrape,) = yaml.safe_load(text("prometheus.yaml"))["scrape_configs"]
    assert scrape["metrics_path"] == "/metrics" and scrape["authorization"]["credentials_file"].startswith("/")
    assert f'up{{job="{scrape["job_name"]}"}}' in text("alerts.yaml")
    monitor = yaml.safe_load(text("servicemonitor.yaml"))
    (endpoint,) = monitor["spec"]["endpoints"]
    assert endpoint["path"] == "/metrics" and endpoint["authorization"]["credentials"]["key"] == "token"
    (service,) = [part for part in manifest() if part["kind"] == "Service"]
    assert endpoint["port"] == service["spec"]["ports"][0]["name"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert service["metadata"]["labels"][monitor["spec"]["jobLabel"]] == scrape["job_name"]


def test_the_image_can_be_asked_and_stopped() -> None:
    image = text("Containerfile")
    wanted = ["STOPSIGNAL SIGTERM", "VOLUME /var/lib/drystone", "EXPOSE 7878", "--stop-timeout 40", "ca-certificates"]
    assert [word for word in wanted if word not in image] == []
    assert "/health/ready" in health_check()[2]


def health_check() -> list[str]:
    found = re.search(r"^HEALTHCHECK .* CMD (\[.*\])$", text("Containerfile"), re.MULTILINE)
    assert found is not None
    command: list[str] = json.loads(found[1])
    return command


def test_the_health_check_of_the_image_tells_ready_from_away(tmp_path: Path) -> None:
    def healthy(port: str) -> bool:
        command = [part.replace("7878", port) for part in health_check()]
        return subprocess.run(command, capture_output=True, timeout=30).returncode == 0

    with running(tmp_path / "worlds") as url, Service(url) as service:
        assert service.create("slope").step(1)["steps"] == 1
        port = url.rsplit(":", 1)[1]
        assert healthy(port)
    assert not healthy(port)


def test_proxies_wait_longer_than_steps_take_and_take_as_much_as_the_service() -> None:
    limits = settings()["limits"]
    nginx = text("nginx.conf")
    waits = re.search(r"proxy_read_timeout (\d+)s;", nginx)
    size = re.search(r"client_max_body_size (\d+)m;", nginx)
    together = re.search(r"limit_conn drystone_all (\d+);", nginx)
    assert waits and size and together
    assert int(waits[1]) > limits["step_seconds"]
    assert int(size[1]) << 20 == limits["bytes"]
    assert int(together[1]) < limits["connections"]
    caddy = text("Caddyfile")
    waits = re.search(r"response_header_timeout (\d+)s", caddy)
    size = re.search(r"max_size (\d+)MiB", caddy)
    keeps = re.search(r"keepalive (\d+)s", caddy)
    assert waits and size and keeps
    assert int(waits[1]) > limits["step_seconds"] and int(size[1]) << 20 == limits["bytes"]
    assert int(keeps[1]) < limits["idle_seconds"]

"""A service over a database keeps serving during an outage of it, and the files of examples/fleet are accurate."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")
testing = pytest.importorskip("fastapi.testclient")
psycopg = pytest.importorskip("psycopg")
yaml = pytest.importorskip("yaml")

from scrubjay import Index, Objects, Scope  # noqa: E402
from scrubjay.adapters.service import Grant, create_app  # noqa: E402
from scrubjay.adapters.service.metrics import Metrics  # noqa: E402
from tests.adapters.serving import Serving  # noqa: E402
from tests.data.postgres import Cluster, as_superuser, new_cluster, new_url  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "fleet"
ACME = Scope("acme")


@pytest.fixture(scope="module")
def server() -> Iterator[Cluster]:
    made = new_cluster()
    if isinstance(made, str):
        pytest.skip(made)
    yield made
    made.remove()


def test_metrics_count_reads_uploads_and_losses_of_image_objects(server: Cluster, tmp_path: Path) -> None:
    url, objects = new_url(server.url), Objects(tmp_path.as_uri(), least_bytes=100)
    with Index.open(url, objects=objects) as index:
        index.upsert_many([{"id": i, "text": f"oak {i}"} for i in range(50)], scope=ACME)
        index.admin.compact()
    for made in tmp_path.rglob("*/*/*"):
        made.unlink()
    with Index.open(url, objects=objects) as index:
        index.search("oak", scope=ACME)
        text = Metrics(index).render().decode()
        lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    found = {name: float(value) for name, value in lines.items() if name.startswith("scrubjay_objects_total")}
    assert found == {
        f'scrubjay_objects_total{{result="{result}"}}': float(result == "lost")
        for result in ("read", "cached", "lost", "away", "written")
    }


def test_a_service_whose_database_is_away_stays_ready_for_what_it_has(server: Cluster) -> None:
    with Index.open(new_url(server.url), max_stale=0.2) as index:
        client = testing.TestClient(
            create_app(index, grant=Grant("local", "acme")), base_url="http://127.0.0.1"
        )
        index.upsert("m1", "oak", scope=ACME)
        asked: dict[str, Any] = {"url": "/v1/search", "json": {"text": "oak"}}
        assert not any("stale" in reason for reason in client.post(**asked).json()["degraded"])
        assert client.get("/health/ready").json() == {"status": "ok"}
        server.stop("immediate")
        try:
            time.sleep(0.4)
            ready = client.get("/health/ready")
            assert (ready.status_code, ready.json()) == (200, {"status": "stale"})
            answer = client.post(**asked)
            assert [hit["id"] for hit in answer.json()["hits"]] == ["m1"]
            assert any(reason.startswith("stale: ") for reason in answer.json()["degraded"])
        finally:
            server.start()
        last = time.monotonic() + 20
        while client.get("/health/ready").json() != {"status": "ok"}:
            assert time.monotonic() < last
            time.sleep(0.05)


# ---------------------------------------------------------------------- examples/fleet


def services() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((EXAMPLE / "compose.yaml").read_text())["services"]
    return found


def run(command: list[str], url: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command of the example, with the test's database in place of its own."""
    program = [sys.executable, "-m", "scrubjay", *command[1:]]
    ours = [url if part.startswith("postgresql://") else part for part in program]
    return subprocess.run(ours, capture_output=True, text=True, check=False, timeout=120, **options)


def test_the_commands_of_the_compose_file_run(server: Cluster, tmp_path: Path) -> None:
    made, owner = services(), as_superuser(new_url(server.url))
    told = run(made["roles"]["command"], owner)
    assert told.returncode == 0, told.stderr
    tokens = tmp_path / "tokens.json"
    added = run(
        ["scrubjay", "serve", "--tokens", str(tokens), "--add-token", "app", "--tenant", "acme"], owner
    )
    assert added.returncode == 0, added.stderr
    token = added.stdout.strip()
    serve = made["one"]["command"]
    assert serve == made["two"]["command"]
    ours = {"/tokens.json": str(tokens), "0.0.0.0": "127.0.0.1"}
    ours |= {
        part: owner.replace("tests@", "memories_app@") for part in serve if part.startswith("postgresql://")
    }
    with Serving(*(ours.get(part, part) for part in serve[2:])) as service:
        probe = made["one"]["healthcheck"]["test"][-1].replace("8421", str(service.port))
        subprocess.run([sys.executable, "-c", probe], check=True, timeout=60)
        put = service.ask("PUT", "/v1/memories/m1", {"text": "Prefers trains to planes."}, token)
        assert put[0] == 200, put
        status, found = service.ask("POST", "/v1/search", {"text": "trains"}, token)
        assert status == 200 and [hit["id"] for hit in found["hits"]] == ["m1"]


def test_the_files_agree_with_each_other_and_with_the_service() -> None:
    made, nginx = services(), (EXAMPLE / "nginx.conf").read_text()
    backends = set(re.findall(r"server (\w+):(\d+)", nginx))
    assert backends == {
        (name, "8421") for name, one in made.items() if one.get("command", [""])[1:2] == ["serve"]
    }
    documents = list(yaml.safe_load_all((EXAMPLE / "kubernetes.yaml").read_text()))
    assert [one["kind"] for one in documents] == [
        "Job", "Deployment", "PodDisruptionBudget", "Service", "Ingress",
    ]  # fmt: skip
    (container,) = documents[1]["spec"]["template"]["spec"]["containers"]
    assert container["readinessProbe"]["httpGet"] == {"path": "/health/ready", "port": 8421}
    assert container["livenessProbe"]["httpGet"] == {"path": "/health/live", "port": 8421}
    budget = int(re.search(r"--memory-budget (\d+)", container["command"][-1])[1])  # type: ignore[index]
    assert budget <= 0.75 * 4096 and container["resources"]["limits"]["memory"] == "4Gi"
    for command in (
        container["command"][-1],
        documents[0]["spec"]["template"]["spec"]["containers"][0]["command"][-1],
    ):
        verb, *options = command.replace("exec ", "").split()[1:]
        known = subprocess.run(
            [sys.executable, "-m", "scrubjay", verb, "--help"], capture_output=True, text=True, check=True,
            env={**os.environ, "COLUMNS": "200"},
        ).stdout  # fmt: skip
        assert all(option in known for option in options if option.startswith("--"))

"""The service behaves as its OpenAPI document says, for any request: Schemathesis generates requests from it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("schemathesis")
pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")

from fastapi.testclient import TestClient

from scrubjay import Index
from scrubjay.adapters.service import Grant, Limits, add_token, create_app
from tests.adapters.serving import Serving

SECONDS = 300 if os.environ.get("SCRUBJAY_TEST_PROFILE") == "thorough" else 10  # of each
REFUSALS = ["400", "401", "403", "404", "405", "406", "409", "413", "415", "422", "428", "429", "5xx"]
QUICK = ["--embedder", "none"]
# GET of this path is a stream of events, excluded from the document because clients wait for the end of answers.
STREAM = """
[[operations]]
include-path = "/v1/memory/changes"
phases.coverage.unexpected-methods = ["DELETE", "PATCH", "PUT"]
"""
# Which texts are times and which objects are filters is described in words, not in the schemas. All other checks run,
# such as: no 5xx, answers as described, wrong data and missing tokens rejected, deleted means gone.
NOT_CHECKED = "positive_data_acceptance"


@pytest.mark.parametrize(
    ("which", "n_operations"), [("--exclude-path-regex", 18), ("--include-path-regex", 26)]
)
def test_the_service_keeps_to_its_document(tmp_path: Path, which: str, n_operations: int) -> None:
    tokens = tmp_path / "tokens.json"
    token = add_token(tokens, Grant("fuzz", "acme", "jane", can=("read", "write", "erase", "metrics")))
    with Serving(tmp_path / "memories.scrubjay", "--tokens", tokens, "--rate", "0", *QUICK) as service:
        command = [sys.executable, "-m", "schemathesis.cli", "run", service.url + "/openapi.json"]
        command += ["-H", f"Authorization: Bearer {token}", "--exclude-checks", NOT_CHECKED, "--seed", "1"]
        command += [which, "^/v1/memory/"]  # the index, and the typed memory, each with its own time limit
        # Requests rejected for their size count as rejected; schemathesis does not assume that.
        (tmp_path / "schemathesis.toml").write_text(
            f"[checks.negative_data_rejection]\nexpected-statuses = {REFUSALS}\n{STREAM}"
        )
        command += ["--suppress-health-check", "all", "--continue-on-failure", "--max-time"]
        for seconds in (SECONDS, 8 * SECONDS):
            ran = subprocess.run(
                [*command, str(seconds)],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                timeout=seconds + 240,
                check=False,
            )
            assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]
            if f"Tested: {n_operations}" in ran.stdout:
                break  # on a loaded machine reading the document can take most of the shorter limit
        assert f"Tested: {n_operations}" in ran.stdout, ran.stdout
        metrics = service.ask("GET", "/metrics", token=token)[1]
        code, said = service.end()
    answered = [line for line in metrics.splitlines() if line.startswith("scrubjay_requests_total")]
    assert (
        sum(float(line.rpartition(" ")[2]) for line in answered) >= n_operations
    )  # thousands on an idle machine
    assert not [line for line in answered if 'status="500"' in line]
    assert code == 0 and "Traceback" not in said
    with Index.open(tmp_path / "memories.scrubjay") as index:
        assert index.admin.check().problems == []


def test_the_document_has_the_limits_of_the_service() -> None:
    schemas: Any = create_app(Index(), limits=Limits(max_k=7, max_batch=3)).openapi()["components"]["schemas"]
    assert schemas["SearchIn"]["properties"]["k"]["maximum"] == 7
    assert schemas["ListIn"]["properties"]["limit"]["maximum"] == 7
    assert schemas["UpsertIn"]["properties"]["memories"]["maxItems"] == 3


def test_an_unsupported_method_gets_405_with_the_allowed_ones() -> None:
    app = create_app(Index())
    client = TestClient(app, base_url="http://127.0.0.1")
    for path, operations in app.openapi()["paths"].items():
        known = {method.upper() for method in operations}
        for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} - known:
            answer = client.request(method, re.sub(r"{\w+}", "one", path))
            assert answer.status_code == 405, (method, path)
            assert set(answer.headers["allow"].split(", ")) == known, (method, path)

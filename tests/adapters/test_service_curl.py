"""A newcomer's path: the `curl` commands of docs/service.md, verbatim, against a running service."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.data import markdown

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")

from tests.adapters.serving import Serving

PAGE = Path(__file__).resolve().parents[2] / "docs" / "service.md"
ADDRESS = "http://127.0.0.1:8421"
VERBS = [
    "propose",
    "recall",
    "assemble",
    *(f"sessions/{verb}" for verb in ("record", "assemble", "distil", "close")),
    "forget",
    "recall",
]


def commands() -> list[tuple[str, str]]:
    """Return each command of the page with the words that the page promises in the answer."""
    blocks = [
        block.code for block in markdown.blocks(PAGE.read_text(encoding="utf-8")) if block.language == "sh"
    ]
    (code,) = [code for code in blocks if "curl " in code]
    return re.findall(r"^(curl .*?)\n#> (.*?)$", code, re.MULTILINE | re.DOTALL)


def test_the_page_stores_recalls_assembles_and_forgets() -> None:
    assert [re.findall(r"/v1/memory/([\w/]+)", command) for command, _ in commands()] == [
        [verb] for verb in VERBS
    ]
    assert all(ADDRESS in command for command, _ in commands())


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here")
def test_curl_alone_is_enough(tmp_path: Path) -> None:
    with Serving(tmp_path / "memories.scrubjay") as service:
        for command, expected in commands():
            ran = subprocess.run(
                ["sh", "-c", command.replace(ADDRESS, service.url)],
                capture_output=True,
                text=True,
                timeout=60,
                check=True,
            )
            assert expected in ran.stdout, (command, ran.stdout)
            assert "error" not in json.loads(ran.stdout)
        assert service.end()[0] == 0

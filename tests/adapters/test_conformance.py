"""memory-store-conformance with our stores behind the frameworks' interfaces: the fast levels.

The package is in `conformance/src`; `conformance/stock` runs all levels, also against the frameworks' own stores.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

CONFORMANCE = Path(__file__).resolve().parents[2] / "conformance"
QUICK = ["crud", "isolation", "filters"]
KNOWN = {"mem0_scrubjay": {"isolation.wildcards", "filters.hostile"}}  # mem0's "*" matches every value
MCP = ["crud.round-trip", "crud.replace", "isolation.users", "deletion.get", "filters.compare"]
MCP += ["durability.fork", "retrieval.k", "errors.metadata", "errors.question", "paging.deleted"]


@pytest.mark.parametrize(
    ("framework", "name", "only"),
    [
        ("langgraph", "langgraph_scrubjay", QUICK),
        ("mem0", "mem0_scrubjay", QUICK),
        ("langchain_core", "langchain_scrubjay", QUICK),
        ("crewai.memory.storage.backend", "crewai_scrubjay", [*QUICK, "retrieval"]),
        ("mcp.client.stdio", "mcp_scrubjay", MCP),
    ],
)
def test_each_adapter_passes_its_suite(
    framework: str, name: str, only: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(framework)
    monkeypatch.setattr(sys, "path", [str(CONFORMANCE / "src"), *sys.path])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))  # of servers
    from memory_store_conformance import validate
    from memory_store_conformance.factories import load

    factory: Any = load(f"{CONFORMANCE / 'stock' / 'scrubjay_stores.py'}:{name}")
    report = validate(factory, only=only)
    failed = {result.id: result.evidence for result in report.failures}
    assert set(failed) == KNOWN.get(name, set()), failed
    assert sum(result.outcome == "passed" for result in report.results) >= len(MCP)

"""`scrubjay doctor`: what runs here, which extras are installed, and whether a file is sound."""

from __future__ import annotations

import argparse
import json
import sqlite3
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from scrubjay.cli.outputs import open_index
from scrubjay.cli.terminal import bold, clean, dim, green, mark, render_table
from scrubjay.config import show_config
from scrubjay.embedders.accepted import embedder_of_model
from scrubjay.errors import Error
from scrubjay.memory.ledger.context import COLLECTION

__all__ = ["EXTRAS", "run_doctor"]

EXTRAS = {
    "wordllama": ("wordllama",),
    "readers": ("pyarrow", "pypdf", "docx"),
    "tables": ("pandas", "pyarrow"),
    "progress": ("tqdm",),
    "model2vec": ("model2vec",),
    "sentence-transformers": ("sentence_transformers",),
    "fastembed": ("fastembed",),
    "onnx": ("onnxruntime", "tokenizers"),
    "stemmers": ("Stemmer",),
    "redis": ("redis",),
    "encryption": ("cryptography",),
    "postgres": ("psycopg",),
    "opentelemetry": ("opentelemetry",),
    "serve": ("fastapi", "uvicorn", "prometheus_client"),
    "mcp": ("mcp",),
    "langchain": ("langchain_core",),
    "langgraph": ("langgraph",),
    "llama-index": ("llama_index.core",),
    "haystack": ("haystack",),
    "mem0": ("mem0",),
    "openai-agents": ("agents",),
    "google-adk": ("google.adk",),
    "strands": ("strands",),
    "crewai": ("crewai",),
    "agent-framework": ("agent_framework",),
    "agno": ("agno",),
    "anthropic": ("anthropic",),
    "cognee": ("cognee",),
    "pydantic-ai": ("pydantic_ai",),
    "smolagents": ("smolagents",),
}
"""Extra -> the modules that it brings."""


def run_doctor(arguments: argparse.Namespace) -> int:
    """Run `scrubjay doctor`; 0 if everything is well, 1 if the file has problems."""
    report: dict[str, Any] = {"here": _here(), "embedder": _embedder(), "extras": _extras()}
    if arguments.index is not None:
        report["file"] = _file(arguments)
    problems = report.get("file", {}).get("problems", [])
    if arguments.json:
        print(json.dumps(report, ensure_ascii=False, indent=2, default=str))
    else:
        _show(report)
    return 1 if problems else 0


def _here() -> dict[str, Any]:
    config = dict(show_config(as_dict=True))
    wanted = ("version", "compiler", "simd_active", "simd_levels", "python", "numpy", "machine")
    return {name: config[name] for name in wanted if name in config} | {"sqlite": sqlite3.sqlite_version}


def _embedder() -> dict[str, Any]:
    from scrubjay.embedders.wordllama import default

    try:
        return {"default": default().name, "dim": default().dim}
    except (Error, ValueError, OSError) as error:
        return {"default": None, "why": str(error)}


def _extras() -> dict[str, dict[str, Any]]:
    found = {}
    for extra, modules in EXTRAS.items():
        missing = [name for name in modules if not _is_there(name)]
        found[extra] = {"installed": not missing, "missing": missing}
    return found


def _is_there(name: str) -> bool:
    """Whether a module could be imported; nothing of it is, since that may take seconds."""
    try:
        return find_spec(name.partition(".")[0]) is not None and (
            "." not in name or find_spec(name) is not None
        )
    except (ImportError, ValueError):
        return False


def _file(arguments: argparse.Namespace) -> dict[str, Any]:
    path = Path(arguments.index)
    bar = False if arguments.no_progress or arguments.json else None
    with open_index(arguments.index, collection=arguments.collection) as index:
        stats = index.admin.stats()
        collections = index.admin.collections()
        check = index.admin.check(progress=bar)
        problems = [str(problem) for problem in check.problems]
        model = stats["embedder"]
        facts: dict[str, Any] = {
            "path": str(path),
            "bytes": path.stat().st_size,
            "mode": f"{path.stat().st_mode & 0o777:o}",
            "documents": check.documents,
            "scopes": len(index.scopes()),
            "collections": [name for name in collections if name != COLLECTION],
            "memory": COLLECTION in collections,
            "dim": stats["dim"],
            "pending": stats["pending"],
            "embedder": model,
        }
        if model is not None:
            made = embedder_of_model(str(model), None)
            facts["embedder_here"] = made is not None
        facts["problems"] = problems
    return facts


def _show(report: dict[str, Any]) -> None:
    width = 16
    print(bold("here"))
    for name, value in report["here"].items():
        shown = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else value
        print(f"  {name.replace('_', ' '):<{width}}{clean(str(shown))}")
    embedder = report["embedder"]
    print(f"  {'embedder':<{width}}{embedder['default'] or clean(embedder['why'])}")
    print(bold("extras"))
    rows = [
        [extra, green(mark()) if state["installed"] else "-", *_remedy(extra, state)]
        for extra, state in report["extras"].items()
    ]
    print(
        render_table(
            ["extra", "here", "to install"], [[clean(cell) for cell in row] for row in rows], stretch=2
        )
    )
    facts = report.get("file")
    if facts is None:
        return
    print(bold("file"))
    for name, value in facts.items():
        if name == "problems":
            continue
        shown = (
            ", ".join(value) or "-"
            if isinstance(value, list)
            else f"{value:,}"
            if type(value) is int
            else value
        )
        print(f"  {name.replace('_', ' '):<{width}}{clean(str('none' if shown is None else shown))}")
    for problem in facts["problems"]:
        print(f"  problem: {clean(problem)}")
    print(f"  {green(mark())} sound" if not facts["problems"] else dim("  scrubjay check --repair mends it"))


def _remedy(extra: str, state: dict[str, Any]) -> tuple[str]:
    return ("" if state["installed"] else f'pip install "scrubjay[{extra}]"',)

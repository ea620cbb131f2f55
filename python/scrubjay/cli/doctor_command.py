"""`scrubjay doctor`: the environment, the installed extras, and whether an index is sound."""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
import sysconfig
from contextlib import closing
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from scrubjay.base.errors import Error, MissingExtraError
from scrubjay.cli.outputs import open_index, shown_place
from scrubjay.cli.reader_state import InputError
from scrubjay.cli.terminal import bold, clean, dim, green, mark, render_table
from scrubjay.config import show_config
from scrubjay.embedders.accepted import embedder_of_model
from scrubjay.embedders.protocol import Embedder
from scrubjay.embedders.static import Static
from scrubjay.index import Index
from scrubjay.memory.ledger.context import COLLECTION
from scrubjay.store.postgres.address import is_address
from scrubjay.store.postgres.health import server_health
from scrubjay.store.sqlite.disk import disk_of

EXTRAS = {
    "wordllama": ("wordllama",),
    "readers": ("pyarrow", "pypdf", "docx"),
    "tables": ("pandas", "pyarrow"),
    "progress": ("tqdm",),
    "model2vec": ("model2vec",),
    "sentence-transformers": ("sentence_transformers",),
    "fastembed": ("fastembed",),
    "onnx": ("onnxruntime", "tokenizers"),
    "dates": ("dateparser",),
    "redis": ("redis",),
    "encryption": ("cryptography",),
    "postgres": ("psycopg",),
    "objects": ("obstore",),
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
    "txtai": ("txtai",),
}
"""Extra -> the modules that it installs."""


_OLDEST_SQLITE = (3, 24, 0)  # ON CONFLICT DO UPDATE


def run_doctor(arguments: argparse.Namespace) -> int:
    """Run `scrubjay doctor`; 0 if there is no problem, 1 if there is one. Warnings do not count."""
    here = _installation()
    report: dict[str, Any] = {"here": here, "embedder": _embedder(), "extras": _extras()}
    problems = here.pop("problems")
    warnings: list[str] = []
    if arguments.index is not None:
        kind, describe = ("database", _database) if is_address(arguments.index) else ("file", _file)
        report[kind] = describe(arguments, warnings)
        problems = [*problems, *report[kind]["problems"]]
    report |= {"problems": problems, "warnings": warnings}
    if arguments.json:
        print(json.dumps(report, ensure_ascii=False, indent=2, default=str))
    else:
        _show(report)
    return 1 if problems else 0


# -------------------------------------------------------------------- installation


def _installation() -> dict[str, Any]:
    config = dict(show_config(as_dict=True))
    names = ("version", "compiler", "simd_active", "simd_levels", "python", "numpy", "machine")
    here: dict[str, Any] = {name: config[name] for name in names if name in config}
    here["wheel"] = _wheel()
    here["free_threaded"] = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    here["gil"] = getattr(sys, "_is_gil_enabled", lambda: True)()
    here["sqlite"] = sqlite3.sqlite_version
    with closing(sqlite3.connect(":memory:")) as connection:
        here["sqlite_options"] = [option for (option,) in connection.execute("PRAGMA compile_options")]
    here["problems"] = _of_sqlite(sqlite3.sqlite_version_info, here["sqlite_options"])
    return here


def _wheel() -> str | None:
    """Return the tags of the installed wheel, such as "cp312-cp312-manylinux_2_28_x86_64"; None without a wheel."""
    try:
        wheel = metadata.distribution("scrubjay").read_text("WHEEL") or ""
    except metadata.PackageNotFoundError:
        return None
    tags = [line.partition(":")[2].strip() for line in wheel.splitlines() if line.startswith("Tag:")]
    return " ".join(tags) or None


def _of_sqlite(version: tuple[int, ...], options: list[str]) -> list[str]:
    problems = []
    if version < _OLDEST_SQLITE:
        oldest = ".".join(map(str, _OLDEST_SQLITE))
        problems.append(f"SQLite {'.'.join(map(str, version))} is too old: files need {oldest} or newer")
    for option, lacking in (
        ("THREADSAFE=0", "threads"),
        ("OMIT_WAL", "a write-ahead log"),
        ("OMIT_TRIGGER", "triggers"),
    ):
        if option in options:
            problems.append(f"SQLite was built without {lacking} ({option}): files cannot be used")
    return problems


def _embedder() -> dict[str, Any]:
    from scrubjay.embedders.wordllama import default

    note: dict[str, str] = {}
    try:
        try:
            model: Embedder = default()
        except MissingExtraError as missing:  # `--embedder auto` uses this fallback
            model, note = Static(), {"why": f"({missing})"}
        model.embed_query("a question")  # loads its weights
        return {"default": model.name, "dim": model.dim, **note}
    except (Error, ValueError, OSError) as error:
        return {"default": None, "why": str(error)}


def _extras() -> dict[str, dict[str, Any]]:
    extras = {}
    for extra, modules in EXTRAS.items():
        missing = [name for name in modules if not _is_there(name)]
        extras[extra] = {"installed": not missing, "missing": missing}
    return extras


def _is_there(name: str) -> bool:
    """Whether a module can be imported, without importing it, which may take seconds."""
    try:
        return find_spec(name.partition(".")[0]) is not None and (
            "." not in name or find_spec(name) is not None
        )
    except (ImportError, ValueError):
        return False


# -------------------------------------------------------------------- an index


def _file(arguments: argparse.Namespace, warnings: list[str]) -> dict[str, Any]:
    path = Path(arguments.index)
    facts: dict[str, Any] = {"path": str(path)}
    index_facts = _index(arguments, warnings)
    status, disk = path.stat(), disk_of(path)
    facts |= {
        "bytes": status.st_size,
        "mode": f"{status.st_mode & 0o777:o}",
        "free_bytes": disk.free_bytes,
        "file_system": disk.file_system,
        "network": disk.is_shared,
    }
    if disk.is_shared:
        warnings.append(
            f"the file is on a network file system ({disk.file_system}): never open it on two machines at once, and "
            "not at all if the file system lacks locks"
        )
    if disk.free_bytes < status.st_size:
        warnings.append("less space is free than the file takes: compact and backup need as much again")
    return facts | index_facts


def _database(arguments: argparse.Namespace, warnings: list[str]) -> dict[str, Any]:
    facts: dict[str, Any] = {"place": shown_place(arguments.index)}
    try:
        health = server_health(arguments.index)
    except Error as error:  # the index cannot be opened, either
        return facts | {"problems": [str(error)]}
    warnings += health.warnings
    facts |= health.facts | _index(arguments, warnings)
    facts["problems"] = [*health.problems, *facts["problems"]]
    return facts


def _index(arguments: argparse.Namespace, warnings: list[str]) -> dict[str, Any]:
    """Return the contents of the index and its problems; failure to open it counts as a problem."""
    try:
        with open_index(arguments.index, collection=arguments.collection) as index:
            return _contents(index, arguments, warnings)
    except InputError:  # the file does not exist, or is not an index
        raise
    except Error as error:
        return {"problems": [str(error)]}


def _contents(index: Index, arguments: argparse.Namespace, warnings: list[str]) -> dict[str, Any]:
    stats, collections = index.admin.stats(), index.admin.collections()
    model = stats["embedder"]
    facts: dict[str, Any] = {
        "documents": stats["documents"],
        "scopes": len(index.scopes()),
        "collections": [name for name in collections if name != COLLECTION],
        "memory": COLLECTION in collections,
        "dim": stats["dim"],
        "pending": stats["pending"],
        "embedder": model,
    }
    if model is not None:
        facts["embedder_here"] = embedder_of_model(str(model), None) is not None
        if not facts["embedder_here"]:
            warnings.append(f"the embedder {model} is not installed here: searches use keywords only")
    if facts["memory"]:
        remembered = index.collection(COLLECTION).admin.stats()
        facts |= {"memory_documents": remembered["documents"], "memory_embedder": remembered["embedder"]}
    if stats["pending"]:
        warnings.append(f"{stats['pending']} memories have no vector yet: admin.backfill() embeds them")
    if arguments.quick:
        return facts | {"checked": False, "problems": []}
    bar = False if arguments.no_progress or arguments.json else None
    check = index.admin.check(progress=bar)
    problems = [str(problem) for problem in check.problems]
    for name in collections if arguments.collection is None else ():  # all collections of the file
        faults = index.collection(name).admin.check(progress=bar).problems
        problems += [f"collection {name!r}: {problem}" for problem in faults]
    return facts | {"documents": check.documents, "checked": True, "problems": problems}


# -------------------------------------------------------------------- output


def _show(report: dict[str, Any]) -> None:
    print(bold("here"))
    _show_facts({name: value for name, value in report["here"].items() if name != "sqlite_options"})
    embedder = report["embedder"]
    _show_facts(
        {"embedder": " ".join(embedder[field] for field in ("default", "why") if embedder.get(field))}
    )
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
    for kind in ("file", "database"):
        if kind in report:
            print(bold(kind))
            _show_facts({name: value for name, value in report[kind].items() if name != "problems"})
    for warning in report["warnings"]:
        print(f"  warning: {clean(warning)}")
    for problem in report["problems"]:
        print(f"  problem: {clean(problem)}")
    index = report.get("file") or report.get("database")
    if index is not None and not index["problems"]:
        print(f"  {green(mark())} no problem found")
    elif "file" in report:
        print(dim("  scrubjay check --repair mends a damaged file"))


def _show_facts(facts: dict[str, Any]) -> None:
    for name, value in facts.items():
        text = value
        if isinstance(value, (list, tuple)):
            text = ", ".join(map(str, value)) or "-"
        elif type(value) is int:
            text = f"{value:,}"
        elif value is None:
            text = "none"
        print(f"  {name.replace('_', ' '):<16}{clean(str(text))}")


def _remedy(extra: str, state: dict[str, Any]) -> tuple[str]:
    return ("" if state["installed"] else f'pip install "scrubjay[{extra}]"',)

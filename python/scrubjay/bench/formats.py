"""The formats of data sets by name, and the detection of a path's format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from scrubjay.base.datafiles import json_items
from scrubjay.base.errors import DatasetError
from scrubjay.bench.datasets import Dataset
from scrubjay.bench.folders import JudgedFolder
from scrubjay.bench.locomo import LoCoMo, json_files
from scrubjay.bench.longmemeval import LongMemEval
from scrubjay.bench.memoryagentbench import MemoryAgentBench

FORMATS: Mapping[str, Callable[..., Dataset]] = {
    "beir": JudgedFolder,
    "judged": JudgedFolder,
    "locomo": LoCoMo,
    "longmemeval": LongMemEval,
    "memoryagentbench": MemoryAgentBench,
}
"""Name -> its class. "beir" and "judged" are one format: a folder with corpus, queries and qrels."""

_FIELDS = {"sample_id": "locomo", "question_id": "longmemeval", "context": "memoryagentbench"}


def open_dataset(path: str | Path, format: str | None = None, **options: Any) -> Dataset:
    """Open a data set.

    Args:
        path: its folder or file.
        format: one of :data:`FORMATS`; None: detected by the names of the files, or else by the fields of the first
            row.
        options: of the format's class.

    Raises:
        FileNotFoundError: the path does not exist.
        DatasetError: unknown format.
        ValueError, TypeError: unknown format name or option.
    """
    name = format_of(path) if format is None else format
    if name not in FORMATS:
        raise ValueError(f"format: expected one of {', '.join(FORMATS)}, got {format!r}")
    return FORMATS[name](path, **options)


def format_of(path: str | Path) -> str:
    """Return the name of the format of a folder or file.

    Raises:
        FileNotFoundError: the path does not exist.
        DatasetError: unknown format.
    """
    root = Path(path)
    if (root / "corpus.jsonl").is_file():
        return "beir" if (root / "qrels").is_dir() else "judged"
    if root.suffix == ".parquet" or (root.is_dir() and any(root.rglob("*.parquet"))):
        return "memoryagentbench"
    if root.is_dir() and not any(root.glob("*.json")) and any(root.rglob("*.jsonl")):
        return "memoryagentbench"
    file = json_files(root)[0]
    first = next(json_items(file), None)
    fields = first.value if first is not None else {}
    for field, name in _FIELDS.items():
        if field in fields:
            return name
    raise DatasetError(
        "expected rows of LoCoMo (sample_id), LongMemEval (question_id) or MemoryAgentBench (context), got "
        + (f"fields {', '.join(list(fields)[:8])}" if fields else "no rows"),
        file,
        None if first is None else first.line,
    )

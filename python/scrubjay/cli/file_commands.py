"""`scrubjay search`, `index` and `stats`: an index in memory over files."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from scrubjay._native import Scope
from scrubjay.cli.arguments import scope_of
from scrubjay.cli.readers import InputError, read_paths
from scrubjay.cli.show import hits_table, way
from scrubjay.cli.terminal import bold, dim, render_table
from scrubjay.cli.tune_command import as_fusion
from scrubjay.embedders.spec import from_spec
from scrubjay.index import Index

__all__ = ["run_index", "run_search", "run_stats"]


def run_search(arguments: argparse.Namespace) -> int:
    """Run `scrubjay search`; return its exit code."""
    index, _ = _load(arguments)
    return _answer(index, arguments.question, arguments)


def run_index(arguments: argparse.Namespace) -> int:
    """Run `scrubjay index`; return its exit code."""
    start = time.perf_counter()
    index, ids = _load(arguments)
    print(f"{index!r}\nread, embedded and indexed in {time.perf_counter() - start:.2f} s", file=sys.stderr)
    if arguments.out is not None:
        _write(index, ids, arguments.out)
    if arguments.search is not None:
        return _answer(index, arguments.search, arguments)
    return 0 if arguments.out is not None else _converse(index, arguments)


def run_stats(arguments: argparse.Namespace) -> int:
    """Run `scrubjay stats`; return its exit code."""
    index, ids = _load(arguments)
    scopes = _count_scopes(index, ids)
    # nothing was asked, so there is nothing to say of the query cache
    stats = {key: value for key, value in index.stats().items() if not key.startswith("query_cache")}
    if arguments.json:
        rows = [
            {"tenant": scope.tenant, "user": scope.user, "agent": scope.agent, "memories": n}
            for scope, n in scopes
        ]
        json.dump({**stats, "scopes": rows}, sys.stdout, ensure_ascii=False, indent=2)
        print()
        return 0 if ids else 1
    width = max(map(len, stats))
    for key, value in stats.items():
        shown = f"{value:,}" if isinstance(value, int) else "none" if value is None else str(value)
        print(f"{key.replace('_', ' '):<{width}}  {shown}")
    print()
    rows_shown = [[scope.tenant, scope.user or "-", scope.agent or "-", f"{n:,}"] for scope, n in scopes[:20]]
    print(render_table(["tenant", "user", "agent", "memories"], rows_shown, stretch=1))
    if len(scopes) > 20:
        print(dim(f"... {len(scopes) - 20} more scopes"))
    return 0 if ids else 1


def _load(arguments: argparse.Namespace) -> tuple[Index, list[str]]:
    """Read the files into a new index; return it and the ids in it, in order of writing."""
    index = Index(from_spec(arguments.embedder))
    model = None if index.embedder is None else index.embedder.name
    records: dict[str, Mapping[str, Any]] = {}
    for record in read_paths(arguments.files, scope_of(arguments)):
        made_by = record.pop("embedder", None)
        if "vector" in record and made_by is not None and made_by != model and model is not None:
            raise InputError(
                f"record {record['id']!r}: its vector was made by {made_by!r}, the embedder in use is {model!r}; name "
                "the same with --embedder, or leave the vectors out of the file"
            )
        if "vector" in record and model is None:
            del record["vector"]  # nothing could be asked of it
        records.pop(record["id"], None)
        records[record["id"]] = record
    rows = list(records.values())
    try:
        index.upsert_many(rows, progress=False if arguments.no_progress else None)
    except (TypeError, ValueError) as error:
        raise InputError(str(error)) from error
    return index, list(records)


def _answer(index: Index, question: str, arguments: argparse.Namespace) -> int:
    scope = scope_of(arguments)
    start = time.perf_counter_ns()
    hits = index.search(
        question,
        keywords=arguments.keywords,
        scope=scope,
        k=arguments.k,
        mode=arguments.mode,
        candidates=arguments.candidates,
        rrf_k=arguments.rrf_k,
        fusion=None if arguments.fusion is None else as_fusion(arguments.fusion),
        explain=arguments.explain,
    )
    took_us = (time.perf_counter_ns() - start) / 1000
    if arguments.json:
        answer = {
            "mode": hits.mode,
            "degraded": list(hits.degraded),
            "took_us": took_us,
            "hits": hits.to_dicts(),
        }
        if arguments.explain:
            answer["vector_work"] = hits.vector_work
        print(json.dumps(answer, ensure_ascii=False, indent=2))
    else:
        if len(hits):
            print(hits_table(hits, explained=arguments.explain))
        if arguments.explain and (looked_at := way(hits.vector_work)):
            print(dim(f"vectors: {looked_at}"))
        visible = index.count(scope)
        print(
            dim(f"{len(hits)} of {visible:,} memories that {scope!r} may see; {hits.mode}, {took_us:,.0f} us")
        )
        for reason in hits.degraded:
            print(dim(f"degraded: {reason}"))
        if visible == 0 and len(index) > 0:
            print(
                f"this scope sees none of the {len(index):,} memories: name one with --tenant and --user",
                file=sys.stderr,
            )
    return 0 if len(hits) else 1


def _converse(index: Index, arguments: argparse.Namespace) -> int:
    """Answer questions from standard input until it ends; 0 if the last one found something."""
    prompted = sys.stdin.isatty()
    if prompted:
        print(dim("ask; an empty line or Ctrl-D ends"), file=sys.stderr)
    code = 0
    while True:
        if prompted:
            print(bold("? "), end="", flush=True)
        question = sys.stdin.readline()
        if not question or (prompted and not question.strip()):
            return code
        if question.strip():
            code = _answer(index, question.strip(), arguments)


def _write(index: Index, ids: list[str], out: str) -> None:
    if out == "-":
        _write_records(index, ids, sys.stdout)
        return
    try:
        with Path(out).open("w", encoding="utf-8") as file:
            _write_records(index, ids, file)
    except OSError as error:
        raise InputError(f"{out}: {error.strerror or error}") from None
    print(f"{len(ids):,} records written to {out}", file=sys.stderr)


def _write_records(index: Index, ids: list[str], file: TextIO) -> None:
    model = None if index.embedder is None else index.embedder.name
    for id in ids:
        record = index.get(id)
        if record is None:
            continue
        scope = record.scope
        row: dict[str, Any] = {"id": id, "text": record.text, "tenant": scope.tenant}
        row.update(
            {key: value for key, value in (("user", scope.user), ("agent", scope.agent)) if value is not None}
        )
        if record.metadata:
            row["metadata"] = record.metadata
        if record.created_at is not None:
            row["created_at"] = str(record.created_at)
        if record.vector is not None:
            row["embedder"] = model
            # f16 originals hold no more than four digits
            row["vector"] = [float(f"{x:.5g}") for x in np.asarray(record.vector).tolist()]
        file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _count_scopes(index: Index, ids: list[str]) -> list[tuple[Scope, int]]:
    records = (index.get(id) for id in ids)
    return Counter(record.scope for record in records if record is not None).most_common()

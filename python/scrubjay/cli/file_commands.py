"""`scrubjay search`, `index`, `import` and `stats`: over files, loaded into memory, or over an index in a file."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, TextIO, cast

import numpy as np

from scrubjay._native import Scope
from scrubjay.base.progress import Progress, open_progress
from scrubjay.cli.hit_output import hits_table, way
from scrubjay.cli.objects import objects_of
from scrubjay.cli.options import filter_of, iso, scope_of
from scrubjay.cli.outputs import (
    check_output,
    is_index,
    new_index,
    open_index,
    say_memory,
    say_skipped,
    shown_place,
    written,
)
from scrubjay.cli.reader_state import of_record
from scrubjay.cli.readers import InputError, Reading, header_of_export, is_export, paths_below, read_paths
from scrubjay.cli.terminal import bold, clean, dim, render_table
from scrubjay.cli.tune_command import as_query
from scrubjay.documents.passage_vectors import PassageVectors
from scrubjay.embedders.accepted import AUTO, EmbedderLike, embedder_of_model
from scrubjay.fusion import RRF, Query
from scrubjay.index import Index
from scrubjay.index.snippets import DEFAULT_WIDTH
from scrubjay.store.postgres.address import is_address

_BATCH = 1000

_Key = tuple[Scope, str]


def run_search(arguments: argparse.Namespace) -> int:
    """Run `scrubjay search`; return its exit code."""
    question, files = arguments.question, arguments.files
    names_file = is_index(question) or question.endswith(".scrubjay")  # which may be missing
    # INDEX QUESTION, even if a file in the working folder has the name of the question
    if len(files) == 1 and names_file and not is_index(files[0]):
        arguments.question, arguments.files = files[0], [question]
    with _open_to_search(arguments) as (index, _):
        return _answer(index, arguments.question, arguments)


def run_index(arguments: argparse.Namespace) -> int:
    """Run `scrubjay index`; return its exit code."""
    start = time.perf_counter()
    if arguments.out is not None:
        _check_output(arguments)
    index, keys = _load(arguments)
    print(f"{index!r}\nread, embedded and indexed in {time.perf_counter() - start:.2f} s", file=sys.stderr)
    if arguments.out is not None:
        _write(index, keys, arguments)
    if arguments.search is not None:
        return _answer(index, arguments.search, arguments)
    if arguments.json and arguments.out not in (None, "-"):
        print(json.dumps({"memories": len(keys), "to": arguments.out}, ensure_ascii=False, indent=2))
    return 0 if arguments.out is not None else _converse(index, arguments)


def run_stats(arguments: argparse.Namespace) -> int:
    """Run `scrubjay stats`; return its exit code."""
    with _open_to_search(arguments, needs_embedder=False) as (index, keys):
        return _describe(index, _count_scopes(index, keys), arguments)


def run_import(arguments: argparse.Namespace) -> int:
    """Run `scrubjay import`; 0 if something was written, 1 if the files hold nothing."""
    start = time.perf_counter()
    target = Path(arguments.index)
    for source in paths_below(arguments.files):
        if source.exists() and target.exists() and source.samefile(target):
            raise InputError(f"{source}: expected another file than the index that is written")
    if is_address(arguments.index):
        name, objects = arguments.index, objects_of(arguments.index)
        with Index.open(name, arguments.embedder, collection=arguments.collection, objects=objects) as index:
            n_written = _fill(index, arguments)
    elif target.exists():
        with open_index(
            arguments.index, arguments.embedder, collection=arguments.collection, writes=True
        ) as index:
            n_written = _fill(index, arguments)
    else:
        if not target.parent.is_dir():
            raise InputError(f"{target}: No such file or directory: make the folder {target.parent} first")
        arguments.embedder = _embedder_of_new(arguments)
        with new_index(target, arguments) as index:
            n_written = _fill(index, arguments)
    if arguments.json:
        print(
            json.dumps(
                {"memories": n_written, "to": shown_place(arguments.index)}, ensure_ascii=False, indent=2
            )
        )
    else:
        took = f"in {time.perf_counter() - start:.2f} s"
        print(f"{n_written:,} memories written to {shown_place(arguments.index)} {took}", file=sys.stderr)
    return 0 if n_written else 1


def _embedder_of_new(arguments: argparse.Namespace) -> EmbedderLike | None:
    """Return the embedder of a new file: the requested one, or else the one of an export's vectors."""
    if arguments.embedder != AUTO:
        return cast("EmbedderLike | None", arguments.embedder)
    for name in arguments.files:
        if name == "-" or not is_export(Path(name)):
            continue
        header = header_of_export(Path(name))
        model, dim = header.get("embedder"), header.get("dim")
        if model is None and dim is None:  # the export has no vectors
            continue
        if model is None:
            return None
        embedder = embedder_of_model(model, dim)
        if embedder is None:
            raise InputError(
                f"{name}: its vectors are of {model!r}, which is not available here; with --embedder none they "
                "are stored as your own vectors, and searches use keywords"
            )
        return embedder
    return AUTO


@contextlib.contextmanager
def _open_to_search(
    arguments: argparse.Namespace, *, needs_embedder: bool = True
) -> Iterator[tuple[Index, list[_Key] | None]]:
    """Yield the index to search, loaded from files or opened, and its keys (None: the index can count them itself).

    An opened index gets no embedder if none is needed, because it may not be installed here.
    """
    for name in arguments.files:  # before loading a model
        if name != "-" and not is_address(name) and not Path(name).exists():
            raise InputError(f"{name}: No such file or directory")
    indexes = [name for name in arguments.files if is_index(name)]
    if not indexes:
        yield _load(arguments)
        return
    if len(arguments.files) > 1:
        raise InputError(
            f"{indexes[0]}: expected an index alone, it came with {len(arguments.files) - 1} other files"
        )
    with open_index(indexes[0], arguments.embedder if needs_embedder else None) as index:
        yield index, None


def _fill(index: Index, arguments: argparse.Namespace) -> int:
    """Write the records of the files; return how many memories."""
    bar = False if arguments.no_progress else None
    n_written = 0
    for name in arguments.files:
        if name != "-" and is_export(Path(name)):
            n_written += index.admin.import_(name, progress=bar)
            continue
        records = iter(_records([name], index, arguments).values())
        while batch := list(islice(records, _BATCH)):
            n_written += _upsert(index, batch, arguments)
    return n_written


def _describe(index: Index, scopes: list[tuple[Scope, int]], arguments: argparse.Namespace) -> int:
    # nothing is searched, so the query cache has no statistics
    stats = {key: value for key, value in index.admin.stats().items() if not key.startswith("query_cache")}
    if arguments.json:
        rows = [
            {"tenant": scope.tenant, "user": scope.user, "agent": scope.agent, "memories": n}
            for scope, n in scopes
        ]
        json.dump({**stats, "scopes": rows}, sys.stdout, ensure_ascii=False, indent=2)
        print()
        return 0 if scopes else 1
    width = max(map(len, stats))
    for key, value in stats.items():
        text = f"{value:,}" if isinstance(value, int) else "none" if value is None else str(value)
        print(f"{key.replace('_', ' '):<{width}}  {text}")
    print()
    rows_shown = [[scope.tenant, scope.user or "-", scope.agent or "-", f"{n:,}"] for scope, n in scopes[:20]]
    print(render_table(["tenant", "user", "agent", "memories"], rows_shown, stretch=1))
    if len(scopes) > 20:
        print(dim(f"... {len(scopes) - 20} more scopes"))
    return 0 if scopes else 1


def _load(arguments: argparse.Namespace) -> tuple[Index, list[_Key]]:
    """Read the files into a new index; return it and the keys in it, in order of writing."""
    for name in arguments.files:
        if is_index(name):
            raise InputError(
                f"{name}: expected files of memories, this is an index; search and stats take it alone"
            )
    index = Index(arguments.embedder)
    rows = _records(arguments.files, index, arguments)
    _upsert(index, list(rows.values()), arguments)
    return index, list(rows)


def _records(files: list[str], index: Index, arguments: argparse.Namespace) -> dict[_Key, Mapping[str, Any]]:
    """Read the records of files into a dict by scope and id, in order of writing."""
    model = None if index.embedder is None else index.embedder.name
    records: dict[_Key, Mapping[str, Any]] = {}
    reading = Reading(scope_of(arguments))
    for record in read_paths(files, reading):
        made_by = record.pop("embedder", None)
        if "vector" in record and made_by is not None and made_by != model and model is not None:
            raise InputError(
                f"record {record['id']!r}: its vector was made by {made_by!r}, the embedder in use is {model!r}; name "
                "the same with --embedder, or leave the vectors out of the file"
            )
        if "vector" in record and model is None:
            del record["vector"]  # without its model it cannot be searched
        key = (record["scope"], record["id"])
        records.pop(key, None)
        records[key] = record
    say_skipped(reading.skips, arguments)
    return records


def _upsert(index: Index, rows: list[Mapping[str, Any]], arguments: argparse.Namespace) -> int:
    try:
        return index.upsert_many(rows, progress=False if arguments.no_progress else None)
    except (TypeError, ValueError) as error:
        raise of_record(error, rows) from error


def _query(arguments: argparse.Namespace) -> Query:
    """Return the query of the options, on top of the settings in a file that --fusion names."""
    if arguments.rrf_k is not None and arguments.fusion is not None:
        raise InputError("--rrf-k: expected no --fusion beside it")
    query = Query() if arguments.fusion is None else as_query(arguments.fusion)
    if arguments.rrf_k is not None:
        try:
            query = Query(RRF(arguments.rrf_k), identifier_tier=False)
        except ValueError as error:  # "k: expected ..."
            raise InputError(f"--rrf-{error}") from None
    settings = {"keywords": arguments.keywords, "candidates": arguments.candidates, "mode": arguments.mode}
    return query.replace(**{name: value for name, value in settings.items() if value is not None})


def _answer(index: Index, question: str, arguments: argparse.Namespace) -> int:
    scope = scope_of(arguments)
    start = time.perf_counter_ns()
    hits = index.search(
        question,
        scope=scope,
        k=arguments.k,
        filter=filter_of(arguments),
        query=_query(arguments),
        explain=arguments.explain,
    )
    took_us = (time.perf_counter_ns() - start) / 1000
    if arguments.json:
        answer = {
            "mode": hits.mode,
            "degraded": list(hits.degraded),
            "corrections": hits.corrections,
            **({"relevance": hits.relevance} if arguments.explain else {}),
            "took_us": took_us,
            "hits": hits.to_dicts(snippet=DEFAULT_WIDTH),
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
            dim(f"{len(hits)} of {visible:,} memories visible from {scope!r}; {hits.mode}, {took_us:,.0f} us")
        )
        for typed, used in hits.corrections.items():
            print(dim(clean(f"searched for {used} in place of {typed}")))
        for reason in hits.degraded:
            print(dim(f"degraded: {reason}"))
        if visible == 0 and len(index) > 0:
            print(
                f"none of the {len(index):,} memories is visible from this scope: name one with --tenant and --user",
                file=sys.stderr,
            )
        if visible == 0 and index.path is not None:
            say_memory(index, "recall")
    return 0 if len(hits) else 1


def _converse(index: Index, arguments: argparse.Namespace) -> int:
    """Answer questions from standard input until its end; 0 if the last one found something."""
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


def _check_output(arguments: argparse.Namespace) -> None:
    out, path = arguments.out, Path(arguments.out)
    if (
        out != "-"
        and path.suffix.lower() not in (".jsonl", ".ndjson", ".scrubjay")
        and not path.is_char_device()
    ):
        raise InputError(f"--out: expected a name that ends in .scrubjay or .jsonl, got {out!r}")
    check_output(out, force=arguments.force, reads=paths_below(arguments.files))


def _write(index: Index, keys: list[_Key], arguments: argparse.Namespace) -> None:
    out = arguments.out
    progress = False if arguments.no_progress or out == "-" else None  # the printed output shows the progress
    bar = open_progress(progress, total=len(keys), what="writing", unit="memories")
    try:
        if out == "-":
            _write_records(index, keys, sys.stdout, bar)
        elif Path(out).suffix.lower() == ".scrubjay":
            with new_index(Path(out), arguments, force=arguments.force) as durable:
                left = (record for scope, id in keys if (record := index.get(id, scope=scope)) is not None)
                while batch := list(islice(left, _BATCH)):
                    durable.upsert_many(batch, progress=False)
                    bar.update(len(batch))
        else:
            with written(out, force=arguments.force) as file:
                _write_records(index, keys, file, bar)
    finally:
        bar.close()
    if out == "-":
        return
    print(f"{len(keys):,} records written to {out}", file=sys.stderr)


def _write_records(index: Index, keys: list[_Key], file: TextIO, bar: Progress) -> None:
    model = None if index.embedder is None else index.embedder.name
    for scope, id in keys:
        bar.update(1)
        record = index.get(id, scope=scope)
        if record is None:
            continue
        row: dict[str, Any] = {"id": id, "text": record.text, "tenant": scope.tenant}
        row.update(
            {key: value for key, value in (("user", scope.user), ("agent", scope.agent)) if value is not None}
        )
        if record.context is not None:
            row["context"] = record.context
        if record.metadata:
            row["metadata"] = record.metadata
        if record.created_at is not None:
            row["created_at"] = iso(record.created_at)
        if record.vector is not None:
            row["embedder"] = model
            # f16 vectors hold no more than four digits
            vector = record.vector
            if isinstance(vector, PassageVectors):
                row["passages"] = vector.spans.tolist()
            rows = np.atleast_2d(vector.rows if isinstance(vector, PassageVectors) else vector)
            numbers = [[float(f"{x:.5g}") for x in row_] for row_ in rows.tolist()]
            row["vector"] = numbers if isinstance(vector, PassageVectors) else numbers[0]
        file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _count_scopes(index: Index, keys: list[_Key] | None) -> list[tuple[Scope, int]]:
    if keys is None:
        return Counter({scope: len(index.list(scope, exact=True)) for scope in index.scopes()}).most_common()
    return Counter(scope for scope, _ in keys).most_common()

"""`scrubjay add`: incremental import of files into an index.

Every memory has its source file in its metadata (`file`, relative to the index's folder), and a stable id: the record's
own, or the file's name and the position in it. So a file that is added again is compared with its memories in the
index: new and changed ones are written, those that the file does not contain any more are deleted, and the rest is
neither embedded nor written. `--prune` deletes the memories of files that do not exist any more.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from scrubjay._native import Scope
from scrubjay.base.progress import open_progress
from scrubjay.cli.objects import objects_of
from scrubjay.cli.options import scope_of
from scrubjay.cli.outputs import is_index, new_index, open_index, say_skipped, shown_place
from scrubjay.cli.reader_state import of_record
from scrubjay.cli.readers import InputError, Reading, read_sources
from scrubjay.cli.readers.sources import is_within, name_of
from scrubjay.documents import payload
from scrubjay.documents.passage_vectors import PassageVectors
from scrubjay.documents.records import Record
from scrubjay.index import Index
from scrubjay.store.postgres.address import is_address

_BATCH = 1000
_FIELD = "file"
_OWN = "file_"  # for the field of a record that has this name already


@dataclasses.dataclass
class _AddCounts:
    """The counts of one run, in memories; `unchanged` ones were not written."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    deleted: int = 0
    files: int = 0


def run_add(arguments: argparse.Namespace) -> int:
    """Run `scrubjay add`; 0 if the index now holds what the files hold, 1 if they hold nothing."""
    start = time.perf_counter()
    target = Path(arguments.index)
    columns = {
        "text": arguments.text,
        "id": "" if arguments.number else arguments.id,
        "created_at": arguments.time,
    }
    reading = Reading(
        scope_of(arguments), {key: value for key, value in columns.items() if value is not None}
    )
    sources = _sources(arguments, target)
    with _open_target(target, arguments) as index:
        done = _AddRun(index, reading, target, arguments).run(sources)
    took_s = time.perf_counter() - start
    if arguments.json:
        facts = {**dataclasses.asdict(done), "to": shown_place(arguments.index), "seconds": round(took_s, 3)}
        skips = reading.skips
        facts |= {"skipped": skips.to_dicts(), "notes": skips.notes_to_dicts()}
        print(json.dumps(facts, ensure_ascii=False, indent=2))
    else:
        say_skipped(reading.skips, arguments)
        files = f"{done.files:,} {'file' if done.files == 1 else 'files'}"
        print(
            f"{shown_place(arguments.index)}: {done.added:,} added, {done.updated:,} updated, "
            f"{done.unchanged:,} unchanged, {done.deleted:,} deleted, of {files} in {took_s:.2f} s"
        )
    return 0 if done.added + done.updated + done.unchanged + done.deleted else 1


def _sources(arguments: argparse.Namespace, target: Path) -> list[str]:
    """Return the arguments that can be read; with --prune, missing ones are allowed.

    Raises:
        InputError: an argument is missing, is an index, or is the output file.
    """
    present = []
    for name in arguments.files:
        path = Path(name)
        if name != "-" and not path.exists():
            if arguments.prune:
                continue
            raise InputError(
                f"{name}: No such file or directory; --prune deletes the memories of missing files"
            )
        if name != "-" and target.exists() and path.samefile(target):
            raise InputError(f"{name}: expected another file than the index that is written")
        if is_index(name):
            raise InputError(
                f"{name}: expected files of memories, got an index; `scrubjay export` makes a file of it"
            )
        present.append(name)
    return present


@contextlib.contextmanager
def _open_target(target: Path, arguments: argparse.Namespace) -> Iterator[Index]:
    """Yield the index to fill; a new one gets its name when it is complete."""
    if is_address(arguments.index):
        name, objects = arguments.index, objects_of(arguments.index)
        with Index.open(name, arguments.embedder, collection=arguments.collection, objects=objects) as index:
            yield index
        return
    if target.exists():
        with open_index(
            arguments.index, arguments.embedder, collection=arguments.collection, writes=True
        ) as index:
            yield index
        return
    if not target.parent.is_dir():
        raise InputError(f"{target}: No such file or directory: make the folder {target.parent} first")
    with new_index(target, arguments) as index:
        yield index


class _AddRun:
    """One run of `add` on an index."""

    def __init__(self, index: Index, reading: Reading, target: Path, arguments: argparse.Namespace) -> None:
        self._index = index
        self._reading = reading
        # The folder to which names of files are relative; a database is in no folder.
        self._base = Path.cwd() if is_address(arguments.index) else Path(os.path.realpath(target)).parent
        self._arguments = arguments
        self._model = index.admin.stats()["embedder"]
        self._done = _AddCounts()
        self._batch: dict[tuple[Scope, str], Mapping[str, Any]] = {}
        self._ids: dict[tuple[Scope, str], set[str]] = defaultdict(set)
        self._seen: set[str] = set()

    def run(self, sources: list[str]) -> _AddCounts:
        """Read the sources, write new and changed records, delete stale ones."""
        bar = open_progress(self._progress_option(), total=None, what="adding", unit="memories")
        try:
            for source, records in read_sources(sources, self._reading, self._base):
                self._seen.add(source.name)
                if records is None:
                    continue
                self._done.files += 1
                for record in records:
                    self._queue(record, source.name)
                    if len(self._batch) >= _BATCH:
                        bar.update(self._write())
                self._ids.setdefault((self._reading.scope, source.name), set())
            bar.update(self._write())
        finally:
            bar.close()
        self._delete_stale()
        if self._arguments.prune:
            self._prune()
        return self._done

    def _progress_option(self) -> bool | None:
        return False if self._arguments.no_progress or self._arguments.json else None

    def _queue(self, record: dict[str, Any], file: str) -> None:
        model = self._model
        made_by = record.pop("embedder", None)
        if "vector" in record and made_by is not None and model is not None and made_by != model:
            raise InputError(
                f"record {record['id']!r}: its vector was made by {made_by!r}, the index holds vectors of {model!r}"
            )
        metadata = dict(record.get("metadata") or {})
        if _FIELD in metadata and metadata[_FIELD] != file:
            metadata[_OWN] = metadata[_FIELD]
        record["metadata"] = {**metadata, _FIELD: file}
        key = (record["scope"], record["id"])
        self._batch.pop(key, None)
        self._batch[key] = record
        self._ids[record["scope"], file].add(record["id"])

    def _write(self) -> int:
        """Write the records that differ from the index; return how many were compared."""
        by_scope: dict[Scope, list[Mapping[str, Any]]] = defaultdict(list)
        for record in self._batch.values():
            by_scope[record["scope"]].append(record)
        changed = []
        for scope, records in by_scope.items():
            stored = self._stored_records(scope, [record["id"] for record in records])
            for record, old in zip(records, stored, strict=True):
                if old is None or old.scope != scope:
                    self._done.added += 1
                    changed.append(record)
                    continue
                self._note_place(record["metadata"][_FIELD], (old.metadata or {}).get(_FIELD))
                if self._is_same(record, old):
                    self._done.unchanged += 1
                else:
                    self._done.updated += 1
                    changed.append(record)
        n_read = len(self._batch)
        self._batch.clear()
        try:
            self._index.upsert_many(changed, progress=False)
        except (TypeError, ValueError) as error:
            raise of_record(error, changed) from error
        return n_read

    def _stored_records(self, scope: Scope, ids: list[str]) -> list[Record | None]:
        try:
            return self._index.get_many(ids, scope=scope)
        except TypeError as error:  # an index with int ids
            raise InputError(f"{shown_place(self._arguments.index)}: {error}") from None

    def _note_place(self, file: str, before: object) -> None:
        """Report that a memory replaces one from another file with the same id."""
        if isinstance(before, str) and before != file:
            self._reading.skips.note(
                before, f"an id that {file} has, too, which took its place (see --number)"
            )

    def _is_same(self, record: Mapping[str, Any], old: Record) -> bool:
        if record["text"] != old.text or old.pending:
            return False
        if old.vector is None and (self._index.embedder is not None or "vector" in record):
            return False  # it was added without an embedder
        if "vector" in record:
            old_vector = old.vector.rows if isinstance(old.vector, PassageVectors) else np.asarray(old.vector)
            new_vector = np.asarray(record["vector"], dtype=np.float32)
            # Stored half floats differ by at most 2^-11 (4.9e-4) of a value; 2e-3 is four times that.
            if new_vector.shape != old_vector.shape or not np.allclose(
                new_vector, old_vector, rtol=2e-3, atol=1e-4
            ):
                return False
        try:
            context, passages = payload.checked_context(record.get("context")), record.get("passages")
            new = payload.encode(record["metadata"], record.get("created_at"), None, context, passages)
        except (TypeError, ValueError):
            return False  # the write reports the error
        return new == payload.encode(old.metadata, old.created_at, None, old.context, old.passages)

    def _delete_stale(self) -> None:
        """Delete the memories that a file no longer contains."""
        counts = {
            scope: self._index.values(_FIELD, scope=scope, limit=None, exact=True) for scope in self._scopes()
        }
        for (scope, file), ids in self._ids.items():
            if counts[scope].get(file, 0) > len(ids):
                stored = self._index.list(scope, filter={_FIELD: file}, exact=True)
                self._delete(scope, [record.id for record in stored if record.id not in ids], file)

    def _prune(self) -> None:
        """Delete the memories of files below the arguments that do not exist any more."""
        roots = [name_of(Path(name), self._base) for name in self._arguments.files if name != "-"]
        for scope in self._scopes():
            for file in self._index.values(_FIELD, scope=scope, limit=None, exact=True):
                if (
                    isinstance(file, str)
                    and file not in self._seen
                    and any(is_within(file, root) for root in roots)
                ):
                    stored = self._index.list(scope, filter={_FIELD: file}, exact=True)
                    self._delete(scope, [record.id for record in stored], file)

    def _scopes(self) -> list[Scope]:
        return sorted({self._reading.scope, *(scope for scope, _ in self._ids)})

    def _delete(self, scope: Scope, ids: list[str | int], file: str) -> None:
        if ids:
            reason = f"scrubjay add: no longer in {file}"[:1000]
            self._done.deleted += self._index.delete_many(ids, scope=scope, reason=reason)

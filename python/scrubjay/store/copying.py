"""Copies a collection from one store to another, in order of writing; an interrupted copy can be resumed.

The target is empty or holds a prefix of the same copy: existing documents are compared with the source one by
one, and the rest is written. At the end both are read again and their digests are compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from scrubjay._native import Scope
from scrubjay.base.errors import StoreError, UnsupportedError
from scrubjay.base.progress import Progress
from scrubjay.store.engine import DurableEngine
from scrubjay.store.residency.loading import decoded
from scrubjay.store.rows.scopes import names_of
from scrubjay.store.rows.sealed import frame
from scrubjay.store.rows.values import StoredRow

_BATCH = 1000
_LAYER = "memory_fact"  # a table of Memory, whose documents mirror rows of tables


class CopyReport(NamedTuple):
    """The result of a copy: `written` of the `documents` that both collections now have, and the digest of these."""

    documents: int
    written: int
    digest: str


def copy_documents(
    source: DurableEngine, target: DurableEngine, progress: Progress, *, with_records: bool = False
) -> CopyReport:
    """Copy every unexpired document. Neither collection may be written to meanwhile.

    Args:
        source, target: the engines of both collections.
        progress: counts documents.
        with_records: the caller also copies the records of a Memory.

    Raises:
        UnsupportedError: a Memory keeps its records in the source, and its tables would be left behind.
        StoreError: the target does not hold a prefix of this copy, or a collection was written to meanwhile.
    """
    if not with_records and source.store.has_layer(_LAYER):
        raise UnsupportedError(
            "copying a Memory",
            source.store.place,
            "`Memory.files.export` writes a tenant, `import_` reads it",
        )
    model = source.identity.model
    target.model = lambda: model
    now = source.clock()
    written = 0
    with source.store.snapshot():
        rest = _behind(_rows(source, now), _rows(target, now), target.store.place)
        batch: list[tuple[StoredRow, Scope]] = []
        for row in rest:
            batch.append(row)
            if len(batch) == _BATCH:
                written += _write(target, batch)
                progress.update(len(batch))
                batch = []
        written += _write(target, batch)
        progress.update(len(batch))
        n, digest = _digest(_rows(source, now))
    n_there, digest_there = _digest(_rows(target, now))
    if (n_there, digest_there) != (n, digest):
        raise StoreError(
            f"copy: expected {n:,} documents with the digest {digest}, got {n_there:,} with {digest_there}: a "
            f"collection was written to meanwhile: {target.store.place}"
        )
    return CopyReport(n, written, digest)


def _rows(engine: DurableEngine, now: int) -> Iterator[tuple[StoredRow, Scope]]:
    with engine.store.snapshot():
        for page in engine.store.walk(now=now):
            for entry in page:
                document = entry.load()
                if document is not None:
                    yield document


def _behind(
    source: Iterator[tuple[StoredRow, Scope]], target: Iterator[tuple[StoredRow, Scope]], place: str
) -> Iterator[tuple[StoredRow, Scope]]:
    """Yield the documents of the source that follow those of the target."""
    for there in target:
        own = next(source, None)
        if own is None or _content(*own) != _content(*there):
            raise StoreError(
                f"copy: expected an empty index or the beginning of this copy, got one with document "
                f"{there[0].id!r} of {there[1]!r}: {place}"
            )
    yield from source


def _content(row: StoredRow, scope: Scope) -> bytes:
    parts = (
        *names_of(scope),
        type(row.id).__name__,
        str(row.id),
        row.text,
        str(row.payload),
        str(row.vector),
    )
    return frame(*parts)


def _digest(rows: Iterator[tuple[StoredRow, Scope]]) -> tuple[int, str]:
    n, digest = 0, hashlib.blake2b(digest_size=16)
    for row in rows:
        digest.update(_content(*row))
        n += 1
    return n, digest.hexdigest()


def _write(target: DurableEngine, rows: Sequence[tuple[StoredRow, Scope]]) -> int:
    if not rows:
        return 0
    vectors = decoded([row.vector for row, _ in rows], target.dtype)
    return target.upsert_many(
        [row.id for row, _ in rows],
        [row.text for row, _ in rows],
        scope=[scope for _, scope in rows],
        vectors=vectors,
        payloads=[row.payload for row, _ in rows],
    )

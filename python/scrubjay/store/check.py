"""Do rows, images and both retrievers agree?

SQLite's own integrity check, counts, every row's hash and vector, every image; then each partition as the engine has it
is compared with one that is built from the rows alone: documents, postings, vectors and their order.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from scrubjay._native import Scope
from scrubjay.errors import CorruptIndexError, EncryptionError
from scrubjay.progress import Progress
from scrubjay.store.encryption import OVERHEAD_BYTES
from scrubjay.store.engine import DurableEngine
from scrubjay.store.feedback import has_notes
from scrubjay.store.filling import graph_lost, readable
from scrubjay.store.schema import Tables
from scrubjay.store.vectors import content_hash, n_bytes

__all__ = ["CheckReport", "check_store"]

_MAX_PROBLEMS = 100


@dataclass
class CheckReport:
    """What was looked at, and what was wrong (at most 100 sentences; empty: nothing).

    Of `sealed` partitions the tenant's key was not to be had: their rows are held to their hashes, and not read.
    """

    documents: int = 0
    partitions: int = 0
    images: int = 0
    sealed: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """Whether nothing was wrong."""
        return not self.problems

    def add(self, problem: str) -> None:
        """Add what is wrong."""
        if len(self.problems) < _MAX_PROBLEMS:
            self.problems.append(problem)


def _contradictions(t: Tables) -> dict[str, str]:
    return {
        "documents of a scope that does not exist": (
            f"SELECT count(*) FROM {t.document} WHERE scope NOT IN (SELECT key FROM {t.scope})"
        ),
        "scopes whose count of documents is wrong": (
            f"SELECT count(*) FROM {t.scope} s WHERE documents <> "
            f"(SELECT count(*) FROM {t.document} d WHERE d.scope = s.key)"
        ),
        "documents newer than their scope": (
            f"SELECT count(*) FROM {t.document} d JOIN {t.scope} s ON s.key = d.scope WHERE d.seq > s.version"
        ),
        "vectors without a document": (
            f"SELECT count(*) FROM {t.vector} WHERE seq NOT IN (SELECT seq FROM {t.document})"
        ),
        "staged vectors without a document": (
            f"SELECT count(*) FROM {t.staged_vector} WHERE seq NOT IN (SELECT seq FROM {t.document})"
        ),
        "images newer than their scope": (
            f"SELECT count(*) FROM {t.image} i JOIN {t.scope} s ON s.key = i.scope WHERE i.version > s.version"
        ),
        "images without a scope": f"SELECT count(*) FROM {t.image} WHERE scope NOT IN (SELECT key FROM {t.scope})",
    }


def check_store(engine: DurableEngine, progress: Progress) -> CheckReport:
    """Check everything; writers may go on (their documents are then compared as of the moment they are reached)."""
    t = engine.store.tables
    report = CheckReport()
    store = engine.store
    with store.snapshot():
        connection = store.reading_connection()
        for (said,) in connection.execute("PRAGMA integrity_check").fetchall():
            if said != "ok":
                report.add(f"SQLite: {said}")
        contradictions = _contradictions(t)
        if has_notes(connection, t):
            contradictions["notes of feedback on no document"] = (
                f"SELECT count(*) FROM feedback{t.suffix} WHERE id NOT IN (SELECT id FROM {t.document})"
            )
        for what, query in contradictions.items():
            (n,) = connection.execute(query).fetchone()
            if n:
                report.add(f"{n} {what}")
        (counted,) = connection.execute(f"SELECT value FROM {t.meta} WHERE name = 'documents'").fetchone()
        (n_documents,) = connection.execute(f"SELECT count(*) FROM {t.document}").fetchone()
        if counted != n_documents:
            report.add(f"{n_documents} documents, {counted} were counted")
        _check_rows(engine, report)
        scopes = [scope for scope, _ in store.scopes()]
    for scope in scopes:
        report.partitions += 1
        try:
            if store.cipher.openable(scope.tenant):
                _check_partition(engine, scope, report)
            else:
                report.sealed += 1
        except EncryptionError:
            report.sealed += 1
        except CorruptIndexError as error:
            report.add(f"{scope!r}: {error}")
        progress.update(1)
    return report


def _check_rows(engine: DurableEngine, report: CheckReport) -> None:
    t = engine.store.tables
    identity = engine.identity
    expected = None if identity.dim is None else n_bytes(identity.dim, identity.dtype)
    found = engine.store.reading_connection().execute(
        f"SELECT d.id, d.text, d.payload, d.hash, length(v.data) FROM {t.document} d "
        f"LEFT JOIN {t.vector} v ON v.seq = d.seq"
    )
    for id, text, payload, stored_hash, size in found:
        report.documents += 1
        right = isinstance(text, (str, bytes)) and isinstance(payload, (bytes, type(None)))
        if not right or content_hash(text, payload) != stored_hash:
            report.add(f"document {id!r}: text or payload are not what was written")
        sealed_bytes = OVERHEAD_BYTES if isinstance(text, bytes) else 0
        if size is not None and (expected is None or size != expected + sealed_bytes):
            report.add(f"document {id!r}: its vector has {size} bytes, expected {expected}")


def _check_partition(engine: DurableEngine, scope: Scope, report: CheckReport) -> None:
    store = engine.store
    partition = engine.residency.partition(scope)
    engine.residency.view(scope)
    with partition.lock, store.snapshot():
        state = store.scope_state(scope)
        if state is None or not partition.ready or partition.applied != state.version:
            return  # written to at this moment
        rebuilt = engine.empty_native()
        rows = list(store.rows(scope, now=engine.clock()))
        for start in range(0, len(rows), 2000):
            part = rows[start : start + 2000]
            vectors, damaged = readable([row.vector for row in part], rebuilt)
            for place in damaged:
                report.add(f"document {part[place].id!r}: its vector cannot be read")
            rebuilt.upsert_many(
                [row.id for row in part],
                [row.text for row in part],
                scope=scope,
                vectors=vectors,
                payloads=[row.payload for row in part],
            )
        expected = rebuilt.digest(scope)
        _compare(scope, "the engine", engine.native.digest(scope), expected, report)
        read = engine.empty_native()
        try:
            image = store.image(state.key)
            if image is None:
                return
            report.images += 1
            if image[0] == state.version:
                read.load_partition(scope, image[1])
                if graph_lost(read, scope, image[1]):
                    report.add(f"{scope!r}: image: its graph is not used; compact() writes it anew")
        except CorruptIndexError as error:
            report.add(f"{scope!r}: image: {error} (it is not used; compact() writes it anew)")
            return
        # Expired documents may still be in an image.
        if image[0] == state.version and len(read) == len(rebuilt):
            _compare(scope, "the image", read.digest(scope), expected, report)


def _compare(
    scope: Scope, what: str, found: dict[str, int], expected: dict[str, int], report: CheckReport
) -> None:
    for name, value in expected.items():
        if found[name] != value:
            report.add(
                f"{scope!r}: {what} differs from the rows in {name}: expected {value}, got {found[name]}"
            )

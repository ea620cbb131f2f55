"""The check of an index: rows, images and both retrievers must agree.

The store checks its rows (:mod:`scrubjay.store.sqlite.inspection`). Then each partition in the engine, and its
image, is compared with a partition built from the rows alone: documents, postings, vectors and their order.
"""

from __future__ import annotations

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptIndexError, EncryptionError
from scrubjay.base.progress import Progress
from scrubjay.store.engine import DurableEngine
from scrubjay.store.keys.encryption import PlaintextError
from scrubjay.store.residency.loading import graph_lost, readable
from scrubjay.store.rows.report import CheckReport
from scrubjay.store.sqlite.inspection import noting


def check_store(engine: DurableEngine, progress: Progress) -> CheckReport:
    """Check everything. Writers may continue; each partition is compared as of the moment it is checked."""
    report = CheckReport()
    store = engine.store
    scopes: list[Scope] = []
    with store.snapshot():
        store.inspect(report)
        with noting(report):
            scopes = [scope for scope, _ in store.scopes()]
    for scope in scopes:
        report.partitions += 1
        try:
            if store.cipher.openable(scope.tenant, scope.user):
                _check_partition(engine, scope, report)
            else:
                report.sealed += 1
        except (CorruptIndexError, PlaintextError) as error:
            report.add(f"{scope!r}: {error}")
        except EncryptionError:
            report.sealed += 1
        progress.update(1)
    return report


def _check_partition(engine: DurableEngine, scope: Scope, report: CheckReport) -> None:
    store = engine.store
    partition = engine.residency.partition(scope)
    engine.residency.view(scope)
    with partition.lock, store.snapshot():
        state = store.scope_state(scope)
        if state is None or not partition.ready or partition.applied != state.version:
            return  # written to during the check
        rebuilt = engine.empty_native()
        rows = [row for row in store.rows(scope, now=engine.clock()) if row.usable]
        for start in range(0, len(rows), 2000):
            part = rows[start : start + 2000]
            vectors, damaged = readable([row.vector for row in part], rebuilt)
            for place in damaged:
                report.add(f"document {part[place].id!r} of {scope!r}: its vector cannot be read")
            try:
                rebuilt.upsert_many(
                    [row.id for row in part],
                    [row.text for row in part],
                    scope=scope,
                    vectors=vectors,
                    payloads=[row.payload for row in part],
                )
            except (TypeError, ValueError) as error:
                raise CorruptIndexError(f"its rows cannot be indexed: {error}") from None
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
                    report.add(f"{scope!r}: image: its graph is not used; compact() rewrites it")
        except (CorruptIndexError, TypeError, ValueError) as error:
            report.add(f"{scope!r}: image: {error} (it is not used; compact() rewrites it)")
            return
        # Expired documents may still be in an image.
        if image[0] == state.version and len(read) == len(rebuilt):
            _compare(scope, "the image", read.digest(scope), expected, report)


def _compare(
    scope: Scope, what: str, counts: dict[str, int], expected: dict[str, int], report: CheckReport
) -> None:
    for name, value in expected.items():
        if counts[name] != value:
            report.add(
                f"{scope!r}: {what} differs from the rows in {name}: expected {value}, got {counts[name]}"
            )

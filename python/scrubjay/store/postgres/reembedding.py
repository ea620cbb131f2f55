"""Changing the model in a database (:mod:`scrubjay.store.postgres.staging` describes where the vectors are
meanwhile).

As in a file, new vectors are staged in small transactions, so that a killed process resumes where it stopped, and
the old ones serve until every document has one. Then an update of one row makes the change, and the vectors are
moved into place scope by scope, each under the lock of its home only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.errors import StoreError
from scrubjay.store.postgres.freezing import thaw_all
from scrubjay.store.postgres.row_security import EVERY_HOME
from scrubjay.store.postgres.sealing import is_sealed_sql
from scrubjay.store.postgres.staging import behind, changing_model, holding_model
from scrubjay.store.postgres.store import PostgresStore
from scrubjay.store.rows.decoding import scope_of
from scrubjay.store.rows.model_change import ModelChange
from scrubjay.store.rows.values import StoredRow

_Missing = tuple[StoredRow, Scope]

_MISSING = (
    "FROM sj_document d JOIN sj_scope s ON s.home = d.home AND s.collection = d.collection AND s.key = d.scope "
    "WHERE d.collection = %s AND NOT d.pending AND NOT EXISTS (SELECT 1 FROM sj_staged n WHERE n.home = d.home "
    "AND n.collection = d.collection AND n.scope = d.scope AND n.seq = d.seq)"
)
"""Documents without a new vector; pending documents are embedded after the change."""


def reembed_rows(store: Any, change: ModelChange) -> int:
    """Give every document a vector of the new model; return how many documents were embedded by this call."""
    goal = change.goal
    _claim(store, goal)  # freezing is disabled from now on
    thaw_all(store, "k.collection = %s", (store.number,), home=EVERY_HOME)
    n_embedded = 0
    is_down = False
    while True:
        for missing in _pages(store, change.batch_size):
            rows: Sequence[bytes | None] = []
            try:
                if not is_down:
                    rows = change.vectors(
                        [(row.text, row.payload) if row.usable else None for row, _ in missing]
                    )
            except change.failing:
                is_down = True
            if is_down:
                missing = [one for one in missing if not (one[0].usable and change.make_pending(*one))]
                rows = [None] * len(missing)
            _stage(store, goal, missing, rows)
            n_embedded += 0 if is_down else len(rows)
            change.progress.update(len(rows))
        if _change(store, change):
            break
    change.adopt()
    store.settle()
    return n_embedded


def _claim(store: PostgresStore, goal: str) -> None:
    """Begin staging vectors for this goal; staged vectors of another goal are deleted, after those still needed
    are moved into place."""
    while True:
        with store.writing("reembedding") as transaction:
            batch = transaction.batch
            batch.ask(*changing_model(store.number))
            if not batch.ask(*behind(store.number), home=EVERY_HOME):
                if _goal(batch, store) != goal:
                    homes = batch.ask(
                        "SELECT DISTINCT home FROM sj_staged WHERE collection = %s",
                        (store.number,),
                        home=EVERY_HOME,
                    )
                    for (home,) in homes:
                        batch.add(
                            "DELETE FROM sj_staged WHERE home = %s AND collection = %s",
                            (home, store.number),
                            home=home,
                        )
                    batch.add(
                        "UPDATE sj_collection SET reembedding = %s WHERE collection = %s",
                        (goal, store.number),
                    )
                return
        store.settle()


def _goal(batch: Any, store: PostgresStore) -> str | None:
    found = batch.ask("SELECT reembedding FROM sj_collection WHERE collection = %s", (store.number,))
    return found[0][0] if found else None


def _pages(store: PostgresStore, size: int) -> Iterator[list[_Missing]]:
    """Yield the documents without a new vector in order of writing, `size` at a time.

    Raises:
        CorruptIndexError: a document is damaged.
    """
    after: tuple[int, str, int] = (-1, "", 0)
    while True:
        found = store.ask(
            "SELECT d.seq, d.home, d.scope, d.id, d.text, d.payload, d.vector, d.hash, s.tenant, s.usr, s.agent "
            f"{_MISSING} AND (d.seq, d.home, d.scope) > (%s, %s, %s) ORDER BY d.seq, d.home, d.scope LIMIT %s",
            (store.number, *after, size),
            home=EVERY_HOME,
        )
        if found:
            named = [(row, scope_of(*row[8:])) for row in found]
            yield [
                store.sound((row[0], *row[3:8]), scope)
                if store.cipher.readable(scope.tenant, scope.user)
                else (StoredRow(row[0], "", "", None, None, "its key was destroyed", False), scope)
                for row, scope in named
            ]
        if len(found) < size:
            return
        after = found[-1][:3]


def _stage(
    store: PostgresStore, goal: str, documents: Sequence[_Missing], vectors: Sequence[bytes | None]
) -> None:
    with store.writing("reembedding") as transaction:
        batch = transaction.batch
        call, parameters = holding_model(store.number)
        batch.add(f"SELECT {call}", parameters)
        if _goal(batch, store) != goal:
            raise StoreError("reembedding: another process began to change the model, or completed a change")
        if store.cipher.ring is not None:
            transaction.lock_scopes(scope for _, scope in documents)
        for (row, scope), data in zip(documents, vectors, strict=True):
            key = store.homes.key(scope)
            sealed = data
            if data is not None and store.cipher.ring is not None:
                box = transaction.sealer.row_box(store.number, scope)
                sealed = data if box is None else box.seal_vector(row.seq, row.id, data)
            # The document may have been deleted or replaced while its text was embedded.
            batch.add(
                "INSERT INTO sj_staged SELECT home, collection, scope, seq, "
                f"CASE WHEN {is_sealed_sql('text')} THEN %s::bytea ELSE %s::bytea END FROM sj_document WHERE home = %s "
                "AND collection = %s AND scope = %s AND seq = %s ON CONFLICT (home, collection, scope, seq) "
                "DO UPDATE SET data = excluded.data",
                (sealed, data, key.home, store.number, key.number, row.seq),
                home=key.home,
            )


def _change(store: PostgresStore, change: ModelChange) -> bool:
    """Switch to the new model if every document has a new vector."""
    with store.writing("reembedding") as transaction:
        batch = transaction.batch
        batch.ask(*changing_model(store.number))
        if _goal(batch, store) != change.goal:
            raise StoreError("reembedding: another process began to change the model, or completed a change")
        if batch.ask(f"SELECT 1 {_MISSING} LIMIT 1", (store.number,), home=EVERY_HOME):
            return False
        ((generation,),) = batch.ask(
            "UPDATE sj_collection SET generation = generation + 1, embedding = embedding + 1, model = %s, dim = %s, "
            "reembedding = NULL WHERE collection = %s RETURNING generation",
            (change.model, change.dim, store.number),
        )
        transaction.generations[store.number] = generation
    return True

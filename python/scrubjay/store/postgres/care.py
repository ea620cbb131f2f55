"""The care of what a database keeps beside the documents of a transaction: images, tombstones, collections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scrubjay._native import Scope
from scrubjay.store.keys.sealing import sealed_image
from scrubjay.store.postgres import schema
from scrubjay.store.postgres.keys import key_of
from scrubjay.store.postgres.sealing import table_of
from scrubjay.store.postgres.turns import PLACE, Turns
from scrubjay.store.postgres.walls import EVERY_HOME
from scrubjay.store.rows.decoding import marked, scope_of
from scrubjay.store.rows.holds import check_held

__all__ = ["drop_collection", "forget_deleted", "vacuum", "write_image"]


def write_image(turns: Turns, scope: Scope, version: int, chunks: Sequence[bytes], *, replace: bool) -> None:
    """Replace a scope's image by that of `version`, unless it is of no use any more, or it has a newer one."""
    batch, key = turns.batch, key_of(scope)
    place = (key.home, turns.collection, key.number)
    box = None
    if turns.sealer.ring is not None:
        turns.begin([scope])  # who writes to the scope meanwhile would not know of the image in its digest
        box = turns.sealer.current(scope.tenant, make=False)
    found = batch.ask(
        "SELECT horizon, version, embedding = (SELECT c.embedding FROM sj_collection c WHERE c.collection = "
        "s.collection) FROM sj_scope s WHERE home = %s AND collection = %s AND key = %s "
        "FOR NO KEY UPDATE",  # two processes write one image after the other
        place,
        home=key.home,
    )
    newest = batch.ask(f"SELECT max(version) FROM sj_image WHERE {PLACE}", place, home=key.home)[0][0]
    if not found or not found[0][0] <= version <= found[0][1] or not found[0][2]:
        return
    if newest is not None and newest + (not replace) > version:
        return
    batch.add(f"DELETE FROM sj_image WHERE {PLACE}", place, home=key.home)
    chunks = marked(scope, version, chunks)
    if box is not None:
        chunks = sealed_image(box, table_of(turns.collection, "sj_image"), scope, version, chunks)
        turns.picture(box, key, version)
    for i, data in enumerate(chunks):
        batch.add(
            "INSERT INTO sj_image VALUES (%s, %s, %s, %s, %s, %s, %b)",
            (*place, i, len(chunks), version, data),
            home=key.home,
        )


def forget_deleted(turns: Turns) -> None:
    """Drop the ids of deleted documents of all collections, and every image that needs them."""
    batch = turns.batch
    homes = [home for (home,) in batch.ask("SELECT DISTINCT home FROM sj_tombstone", home=EVERY_HOME)]
    turns.lock(homes)
    for home in sorted(homes):
        batch.add(
            "UPDATE sj_scope s SET horizon = greatest(s.horizon, t.last), changed = statement_timestamp() "
            "FROM (SELECT collection, scope, max(seq) AS last FROM sj_tombstone WHERE home = %s "
            "GROUP BY collection, scope) t WHERE s.home = %s AND s.collection = t.collection "
            "AND s.key = t.scope",
            (home, home),
            home=home,
        )
        batch.add("DELETE FROM sj_tombstone WHERE home = %s", (home,), home=home)
        batch.add(
            "DELETE FROM sj_image i USING sj_scope s WHERE i.home = %s AND s.home = %s "
            "AND s.collection = i.collection AND s.key = i.scope AND i.version < s.horizon",
            (home, home),
            home=home,
        )


def drop_collection(turns: Turns, name: str, add_event: Callable[[Scope, str, int], None]) -> int:
    """Delete a collection; return how many documents that were.

    Args:
        turns: of the collection without a name, which gets an event for each scope that had documents.
        name: of the collection.
        add_event: with the scope, the reason and the number of its documents.

    Raises:
        HeldError: one of them is under a legal hold.
    """
    batch = turns.batch
    batch.flush()
    number = schema.find_collection(batch.connection, name)
    if number is None:
        return 0
    found = batch.ask(
        "SELECT tenant, usr, agent, documents, home FROM sj_scope WHERE collection = %s ORDER BY home, key",
        (number,),
        home=EVERY_HOME,
    )
    homes = sorted({row[4] for row in found})
    turns.lock(homes)
    for *names, n_documents, home in found:
        if n_documents:
            check_held(turns.holds.of(batch, home), scope_of(*names))
            add_event(scope_of(*names), f"drop_collection {name}", n_documents)
    for home in homes:
        for table in schema.TABLES:
            batch.add(f"DELETE FROM {table} WHERE home = %s AND collection = %s", (home, number), home=home)
    batch.add("DELETE FROM sj_collection WHERE collection = %s", (number,))
    return sum(row[3] for row in found)


def vacuum(connection: Any) -> list[str]:
    """Remove dead versions of rows from the tables that this role owns; return their names. Outside of transactions.

    A table that somebody locks is left out, and so are rows that an older transaction may still see.
    """
    found = connection.execute(
        "SELECT c.relname FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace "
        "AND c.relkind IN ('r', 'p') AND c.relname LIKE 'sj\\_%' AND pg_has_role(c.relowner, 'USAGE') ORDER BY 1"
    ).fetchall()
    tables = [table for (table,) in found]
    if tables:
        connection.execute(f"VACUUM (SKIP_LOCKED) {', '.join(tables)}")
    return tables

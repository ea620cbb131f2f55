"""Maintenance of tombstones, collections and dead row versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scrubjay._native import Scope
from scrubjay.store.postgres import schema
from scrubjay.store.postgres.home_locks import Turns
from scrubjay.store.postgres.row_security import EVERY_HOME
from scrubjay.store.rows.decoding import scope_of
from scrubjay.store.rows.holds import check_held


def forget_deleted(turns: Turns) -> None:
    """Delete the ids of deleted documents of all collections, and every image that needs them; also outdated
    images of other collections, which may contain texts that were replaced."""
    batch = turns.batch
    homes = [
        home
        for (home,) in batch.ask(
            "SELECT home FROM sj_tombstone UNION SELECT i.home FROM sj_image i JOIN sj_scope s ON s.home = i.home "
            "AND s.collection = i.collection AND s.key = i.scope "
            "WHERE i.collection <> %s AND i.version < s.version",
            (turns.collection,),
            home=EVERY_HOME,
        )
    ]
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
        turns.drop_images(
            "home = %s AND version < (SELECT CASE WHEN sj_image.collection = %s THEN s.horizon ELSE s.version END "
            "FROM sj_scope s WHERE s.home = %s AND s.collection = sj_image.collection AND s.key = sj_image.scope)",
            (home, turns.collection, home),
            home=home,
        )


def drop_collection(turns: Turns, name: str, add_event: Callable[[Scope, str, int], None]) -> int:
    """Delete a collection; return the number of its documents.

    Args:
        turns: of the unnamed collection, which gets an event for each scope that had documents.
        name: of the collection.
        add_event: called with the scope, the reason and the number of its documents.

    Raises:
        HeldError: a document is under a legal hold.
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
    for *names, n_documents, _ in found:
        if n_documents:
            check_held(turns.holds.of(batch, names[0]), scope_of(*names))
            add_event(scope_of(*names), f"drop_collection {name}", n_documents)
    for home in homes:
        turns.drop_images("home = %s AND collection = %s", (home, number), home=home)
        turns.drop_cold("home = %s AND collection = %s", (home, number), home=home)
        for table in schema.TABLES:
            batch.add(f"DELETE FROM {table} WHERE home = %s AND collection = %s", (home, number), home=home)
    batch.add("DELETE FROM sj_collection WHERE collection = %s", (number,))
    return sum(row[3] for row in found)


def vacuum(connection: Any) -> list[str]:
    """Vacuum the tables that this role owns; return their names. Call outside of transactions.

    Locked tables are skipped, and so are row versions that an older transaction may still see.
    """
    found = connection.execute(
        "SELECT c.relname FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace "
        "AND c.relkind IN ('r', 'p') AND c.relname LIKE 'sj\\_%' AND pg_has_role(c.relowner, 'USAGE') ORDER BY 1"
    ).fetchall()
    tables = [table for (table,) in found]
    if tables:
        connection.execute(f"VACUUM (SKIP_LOCKED) {', '.join(tables)}")
    return tables

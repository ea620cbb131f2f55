"""Vectors of another model: where they are until they are in place, and who waits for whom.

Vectors of one model are an embedding; a collection counts its embeddings. A change of the model stages a vector for
every document, then gives the collection the next embedding; that is one row, however many documents there are. From
then on the vectors of a scope that still has the one before in place are the staged ones. Whoever next writes to the
scope puts them in place first, and who changed the model does so with all.

Every write holds the model (a shared lock of the server) until it ends, and so sees one embedding; the change of the
model takes that lock alone, for the moment of the change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scrubjay.store.postgres.batch import Batch, Statement
from scrubjay.store.postgres.keys import Key
from scrubjay.store.postgres.sealing import is_sealed_sql, tag_sql

_MODEL = 0x534A4D  # "SJM": of advisory locks, for the models of collections
_PLACE = "home = %s AND collection = %s AND scope = %s"
_STAGED = (
    "(SELECT n.data FROM sj_staged n WHERE n.home = d.home AND n.collection = d.collection AND n.scope = d.scope "
    "AND n.seq = d.seq)"
)

_IS_BEHIND = "s.embedding < c.embedding FROM sj_scope s JOIN sj_collection c ON c.collection = s.collection"

OF_DOCUMENT = (
    f"CASE WHEN (SELECT {_IS_BEHIND} "
    f"WHERE s.home = d.home AND s.collection = d.collection AND s.key = d.scope) THEN {_STAGED} ELSE d.vector END"
)
"""The vector of a document `d`, whatever its scope."""


def vector_of(key: Key, collection: int) -> tuple[str, tuple[str, int, int]]:
    """Return the expression for the vector of a document `d` of one scope, asked once for all of them, and its
    parameters."""
    return (
        f"CASE WHEN (SELECT {_IS_BEHIND} WHERE s.home = %s AND s.collection = %s AND s.key = %s) "
        f"THEN {_STAGED} ELSE d.vector END",
        (key.home, collection, key.number),
    )


def end_in_place(key: Key, collection: int) -> tuple[str, tuple[str, int, int]]:
    """Return the expression for the end of the vector in place, of a sealed document `d` whose staged one is read
    instead (empty if it has none; NULL if the one in place is read), and its parameters."""
    return (
        f"CASE WHEN (SELECT {_IS_BEHIND} WHERE s.home = %s AND s.collection = %s AND s.key = %s) "
        f"THEN coalesce({tag_sql('d.vector')}, ''::bytea) END",
        (key.home, collection, key.number),
    )


def holding_model(collection: int) -> tuple[str, Sequence[Any]]:
    """Return the call after which the collection's model stays until the transaction ends."""
    return "pg_advisory_xact_lock_shared(%s, %s)", (_MODEL, collection)


def changing_model(collection: int) -> Statement:
    """Return the statement that waits for all writes to the collection and lets none begin until the transaction
    ends."""
    return "SELECT pg_advisory_xact_lock(%s, %s)", (_MODEL, collection)


def put_in_place(batch: Batch, collection: int, key: Key) -> None:
    """Let a scope's staged vectors take the place of the old ones; its home is locked. What has none is pending."""
    place = (key.home, collection, key.number)
    batch.add(f"UPDATE sj_document d SET vector = {_STAGED} WHERE {_PLACE}", place, home=key.home)
    batch.add(f"DELETE FROM sj_staged WHERE {_PLACE}", place, home=key.home)


def ends_of(collection: int, key: Key) -> Statement:
    """Return the question for number, and the ends of both vectors, of each sealed row of a scope."""
    return (
        f"SELECT d.seq, {tag_sql('d.vector')}, {tag_sql(_STAGED)} FROM sj_document d WHERE {_PLACE} "
        f"AND {is_sealed_sql('d.text')}",
        (key.home, collection, key.number),
    )


def vectors_of(collection: int, key: Key) -> Statement:
    """Return the question for how many vectors a scope has in place."""
    return f"SELECT count(vector) FROM sj_document WHERE {_PLACE}", (key.home, collection, key.number)


def behind(collection: int) -> Statement:
    """Return the question for the scopes whose staged vectors are not in place, some at a time."""
    return (
        "SELECT s.tenant, s.usr, s.agent FROM sj_scope s JOIN sj_collection c ON c.collection = s.collection "
        "WHERE c.collection = %s AND s.embedding < c.embedding AND s.home <> '' ORDER BY s.home, s.key LIMIT 100",
        (collection,),
    )

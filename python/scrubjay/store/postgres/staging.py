"""Staged vectors of another model, and the locks of a change of the model.

The vectors of one model are an embedding; a collection counts its embeddings. A change of the model stages a
vector for every document, then advances the collection to the next embedding, which updates one row however many
documents there are. From then on, in a scope whose previous embedding is still in place, the staged vectors are
the valid ones. The next write to the scope moves them into place first; the process that changed the model does
so for all scopes.

Every write holds the model (a shared advisory lock) until it ends, and so sees one embedding; the change of the
model takes that lock exclusively, for the moment of the change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scrubjay.store.postgres.batch import Batch, Statement
from scrubjay.store.postgres.keys import Key
from scrubjay.store.postgres.sealing import is_sealed_sql, tag_sql

_MODEL = 0x534A4D  # "SJM": advisory locks of the models of collections
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
"""The valid vector of a document `d` of any scope."""


def vector_of(key: Key, collection: int) -> tuple[str, tuple[str, int, int]]:
    """Return the SQL expression for the vector of a document `d` of one scope, whose state is evaluated once for
    all documents, and its parameters."""
    return (
        f"CASE WHEN (SELECT {_IS_BEHIND} WHERE s.home = %s AND s.collection = %s AND s.key = %s) "
        f"THEN {_STAGED} ELSE d.vector END",
        (key.home, collection, key.number),
    )


def end_in_place(key: Key, collection: int) -> tuple[str, tuple[str, int, int]]:
    """Return the SQL expression, and its parameters, for the end of the vector in place of a sealed document `d`
    whose staged vector is read instead (empty if it has none; NULL if the one in place is read)."""
    return (
        f"CASE WHEN (SELECT {_IS_BEHIND} WHERE s.home = %s AND s.collection = %s AND s.key = %s) "
        f"THEN coalesce({tag_sql('d.vector')}, ''::bytea) END",
        (key.home, collection, key.number),
    )


def holding_model(collection: int) -> tuple[str, Sequence[Any]]:
    """Return the call that keeps the collection's model unchanged until the transaction ends."""
    return "pg_advisory_xact_lock_shared(%s, %s)", (_MODEL, collection)


def changing_model(collection: int) -> Statement:
    """Return the statement that waits for all writes to the collection, and blocks new ones until the transaction
    ends."""
    return "SELECT pg_advisory_xact_lock(%s, %s)", (_MODEL, collection)


def put_in_place(batch: Batch, collection: int, key: Key) -> None:
    """Replace a scope's vectors by the staged ones; its home is locked. Documents without a staged vector are
    pending."""
    place = (key.home, collection, key.number)
    batch.add(f"UPDATE sj_document d SET vector = {_STAGED} WHERE {_PLACE}", place, home=key.home)
    batch.add(f"DELETE FROM sj_staged WHERE {_PLACE}", place, home=key.home)


def ends_of(collection: int, key: Key) -> Statement:
    """Return the query for the number, and the ends of both vectors, of each sealed row of a scope."""
    return (
        f"SELECT d.seq, {tag_sql('d.vector')}, {tag_sql(_STAGED)} FROM sj_document d WHERE {_PLACE} "
        f"AND {is_sealed_sql('d.text')}",
        (key.home, collection, key.number),
    )


def vectors_of(collection: int, key: Key) -> Statement:
    """Return the query for the number of vectors that a scope has in place."""
    return f"SELECT count(vector) FROM sj_document WHERE {_PLACE}", (key.home, collection, key.number)


def behind(collection: int) -> Statement:
    """Return the query for a page of scopes whose staged vectors are not in place."""
    return (
        "SELECT s.tenant, s.usr, s.agent FROM sj_scope s JOIN sj_collection c ON c.collection = s.collection "
        "WHERE c.collection = %s AND s.embedding < c.embedding AND s.home <> '' ORDER BY s.home, s.key LIMIT 100",
        (collection,),
    )

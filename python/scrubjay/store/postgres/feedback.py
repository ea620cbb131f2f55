"""Feedback on hits in a database; :mod:`scrubjay.store.sqlite.feedback` specifies the guarantees of a note.

A note changes no version. It is deleted with its document and with the asking scope, in the same transaction.
"""

from __future__ import annotations

from scrubjay.store.keys.opening import around_cell
from scrubjay.store.postgres.digests import place_of_note
from scrubjay.store.postgres.home_locks import PLACE, Turns
from scrubjay.store.postgres.keys import stored_id
from scrubjay.store.rows.feedback import MAX_NOTES, Feedback
from scrubjay.store.rows.scopes import names_of

_PRUNED_EVERY = 256  # notes


def write_note(turns: Turns, note: Feedback, *, now: int) -> bool:
    """Write a feedback note; False if its document does not exist. A home keeps MAX_NOTES, and a few more."""
    key, batch = turns.homes.key(note.document_scope), turns.batch
    turns.thawed(note.document_scope)
    place = (key.home, turns.collection)
    data = stored_id(note.id)
    found = batch.ask(
        f"SELECT 1 FROM sj_document WHERE {PLACE} AND id = %s AND (expires_at IS NULL OR expires_at > %s)",
        (*place, key.number, data, now),
        home=key.home,
    )
    if not found:
        return False
    number = turns.next(key.home)
    query = None if note.query is None else note.query.encode()
    tenant = note.scope.tenant
    box = turns.sealer.sealing(tenant, note.scope.user)
    if box is not None and query is not None:
        query = box.seal(around_cell(tenant, place_of_note(turns.collection, number)), query)
    asker = (round(note.at * 1e6), *names_of(note.scope))
    ranks = (note.lexical_rank, note.vector_rank, note.score)
    turns.notes.run(
        1,
        "INSERT INTO sj_feedback VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
        (*place, number, *asker, key.number, data, note.used, query, *ranks),
        *place,
    )
    count = "SELECT count(*) FROM sj_feedback WHERE home = %s AND collection = %s"
    (n,) = batch.ask(count, place, home=key.home)[0]
    if n > MAX_NOTES + _PRUNED_EVERY:
        turns.notes.run(
            -1,
            "DELETE FROM sj_feedback WHERE home = %s AND collection = %s AND number <= (SELECT number FROM "
            "sj_feedback WHERE home = %s AND collection = %s ORDER BY number DESC LIMIT 1 OFFSET %s)",
            (*place, *place, MAX_NOTES),
            *place,
        )
    return True

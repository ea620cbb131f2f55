"""Feedback on hits in a database: :mod:`scrubjay.store.sqlite.feedback` says what is promised of a note.

A note changes no version. It goes with its document and with the scope that asked, in the same transaction.
"""

from __future__ import annotations

from operator import itemgetter

from scrubjay._native import Scope
from scrubjay.errors import CorruptIndexError
from scrubjay.store.keys.opening import around_cell
from scrubjay.store.postgres.batch import Statement
from scrubjay.store.postgres.digests import place_of_note
from scrubjay.store.postgres.keys import Unreadable, can_hold, id_of, stored_id
from scrubjay.store.postgres.reading import PostgresReader, agreeing
from scrubjay.store.postgres.turns import PLACE, Turns
from scrubjay.store.postgres.walls import EVERY_HOME
from scrubjay.store.rows.decoding import scope_of
from scrubjay.store.rows.feedback import MAX_NOTES, Feedback
from scrubjay.store.rows.listing import warn_of
from scrubjay.store.rows.scopes import names_of
from scrubjay.store.rows.sealed import is_sealed

__all__ = ["read_notes", "write_note"]

_PRUNED_EVERY = 256  # notes


def read_notes(store: PostgresReader, scope: Scope | None, *, now: int) -> list[Feedback]:
    """Return the notes on documents that are still there, oldest first; with `scope` those asked from within it."""
    if scope is not None and not can_hold(scope):
        return []

    def question(home: str | None) -> Statement:
        condition, names = agreeing(scope, home, table="f")
        return (
            "SELECT f.number, f.query, f.id, f.used, f.lexical_rank, f.vector_rank, f.score, f.at, f.tenant, "
            "f.usr, f.agent, s.tenant, s.usr, s.agent, s.cold IS NOT NULL "
            "FROM sj_feedback f JOIN sj_scope s ON s.home = f.home AND "
            f"s.collection = f.collection AND s.key = f.scope WHERE f.collection = %s AND {condition} "
            "AND (s.cold IS NOT NULL OR EXISTS(SELECT 1 FROM sj_document d WHERE d.home = f.home "
            "AND d.collection = f.collection AND d.id = f.id AND d.scope = f.scope "
            "AND (d.expires_at IS NULL OR d.expires_at > %s))) "
            "ORDER BY f.number, f.home",
            (store.number, *names, now),
        )

    if scope is None:
        found = store.ask(*question(None), home=EVERY_HOME)
    else:
        homes = store.homes.asked_within(scope)
        found = sorted(store.ask_each(homes, question), key=itemgetter(0))  # of each home in order
    kind = store.identity().id_kind
    notes: list[Feedback] = []
    damaged: list[str] = []
    readable: dict[tuple[str, str], bool] = {}
    frozen: dict[Scope, set[bytes]] = {}
    for row in found:
        number, query, data, used, lexical, vector, score, at = row[:8]
        id, tenant = id_of(data, kind), row[8]
        place = place_of_note(store.number, number)
        try:
            who = tenant, row[9]
            if who not in readable:
                readable[who] = store.cipher.readable(*who)
            if not readable[who]:  # its key was destroyed: as if erased
                continue
            if isinstance(id, Unreadable):
                raise CorruptIndexError("its document cannot be read")
            asker, own = scope_of(*row[8:11]), scope_of(*row[11:14])
            if row[14]:  # its document is in an object
                if own not in frozen:
                    frozen[own] = {found.id for found in store.frozen(own, now=now)}
                if data not in frozen[own]:
                    continue
            is_refused = query is not None and not is_sealed(query) and store.cipher.refuses_plain(tenant)
            if not is_refused:
                query = store.cipher.open(tenant, place, query)
        except CorruptIndexError as error:
            damaged.append(f"note {number}: {error.what}")
            continue
        if is_refused:  # no damage: something else wrote it, or it is to be encrypted first
            raise store.cipher.plain(place, tenant)
        text = None if query is None else query.decode("utf-8", "replace")
        notes.append(Feedback(id, used, text, lexical, vector, score, at / 1e6, asker, own))
    warn_of(damaged, store.place)
    return notes


def write_note(turns: Turns, note: Feedback, *, now: int) -> bool:
    """Write a note of feedback; False if its document is not there. A home keeps MAX_NOTES, and a few more."""
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

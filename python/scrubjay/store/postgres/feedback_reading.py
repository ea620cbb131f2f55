"""Reads feedback on hits, which :mod:`scrubjay.store.postgres.feedback` writes."""

from __future__ import annotations

from operator import itemgetter

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptIndexError
from scrubjay.store.postgres.batch import Statement
from scrubjay.store.postgres.cold_reading import ColdRows
from scrubjay.store.postgres.collection import Collection
from scrubjay.store.postgres.conditions import agreeing
from scrubjay.store.postgres.digests import place_of_note
from scrubjay.store.postgres.keys import Unreadable, can_hold, id_of
from scrubjay.store.postgres.row_security import EVERY_HOME
from scrubjay.store.rows.decoding import scope_of
from scrubjay.store.rows.feedback import Feedback
from scrubjay.store.rows.listing import warn_of
from scrubjay.store.rows.sealed import is_sealed


def read_notes(collection: Collection, cold: ColdRows, scope: Scope | None, *, now: int) -> list[Feedback]:
    """Return the notes on existing documents, oldest first; with `scope` only those written from within it."""
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
            (collection.number, *names, now),
        )

    if scope is None:
        found = collection.ask(*question(None), home=EVERY_HOME)
    else:
        homes = collection.homes.asked_within(scope)
        # merged; each home's are in order
        found = sorted(collection.ask_each(homes, question), key=itemgetter(0))
    kind = collection.identity().id_kind
    notes: list[Feedback] = []
    damaged: list[str] = []
    readable: dict[tuple[str, str], bool] = {}
    frozen: dict[Scope, set[bytes]] = {}
    for row in found:
        number, query, data, used, lexical, vector, score, at = row[:8]
        id, tenant = id_of(data, kind), row[8]
        place = place_of_note(collection.number, number)
        try:
            who = tenant, row[9]
            if who not in readable:
                readable[who] = collection.cipher.readable(*who)
            if not readable[who]:  # its key was destroyed, so it counts as erased
                continue
            if isinstance(id, Unreadable):
                raise CorruptIndexError("its document cannot be read")
            asker, own = scope_of(*row[8:11]), scope_of(*row[11:14])
            if row[14]:  # its document is in an object
                if own not in frozen:
                    frozen[own] = {found.id for found in cold.live(own, now=now)}
                if data not in frozen[own]:
                    continue
            is_refused = (
                query is not None and not is_sealed(query) and collection.cipher.refuses_plain(tenant)
            )
            if not is_refused:
                query = collection.cipher.open(tenant, place, query)
        except CorruptIndexError as error:
            damaged.append(f"note {number}: {error.what}")
            continue
        if is_refused:  # not damaged: other software wrote it, or it must be encrypted first
            raise collection.cipher.plain(place, tenant)
        text = None if query is None else query.decode("utf-8", "replace")
        notes.append(Feedback(id, used, text, lexical, vector, score, at / 1e6, asker, own))
    warn_of(damaged, collection.place)
    return notes

"""The erasure of all data of scopes, within a transaction."""

from __future__ import annotations

from dataclasses import replace

from scrubjay._native import Scope
from scrubjay.store.postgres.conditions import agreeing
from scrubjay.store.postgres.digests import ScopeChanges
from scrubjay.store.postgres.document_writing import DocumentWriter
from scrubjay.store.postgres.home_locks import PLACE, Turns
from scrubjay.store.postgres.keys import can_hold
from scrubjay.store.rows.decoding import scope_of
from scrubjay.store.rows.holds import check_held
from scrubjay.store.rows.values import Written


def erase_scopes(
    turns: Turns, documents: DocumentWriter, scope: Scope, reason: str, *, exact: bool, now: int
) -> list[Written]:
    """Delete every document whose scope agrees with `scope`, with images and tombstones.

    Raises:
        HeldError: a document is under a legal hold.
    """
    if not can_hold(scope):
        return []
    homes = _lock_asked(turns, scope, exact=exact)
    if turns.is_held:
        check_held(turns.holds.of(turns.batch, scope.tenant), scope, within=not exact)
    scopes = [one for home in homes for one in _erase_in(turns, documents, home, scope, exact=exact)]
    return [_erase_one(turns, documents, one, reason, now) for one in scopes]


def _lock_asked(turns: Turns, scope: Scope, *, exact: bool) -> list[str]:
    """Lock the homes that may have scopes that agree with a scope, or notes written from them; return the homes."""
    if scope.user is None and not exact:
        return turns.lock_tenant(scope.tenant)
    homes = turns.homes.asked_within(scope) if scope.user is not None else [turns.homes.of(scope)]
    turns.lock(homes)
    return homes


def _erase_in(
    turns: Turns, documents: DocumentWriter, home: str, scope: Scope, *, exact: bool
) -> list[Scope]:
    """Delete the images of a locked home's scopes that agree with `scope`, and the notes written from them;
    return these scopes."""
    condition, names = agreeing(scope, home, exact=exact, table="s")
    rows = "home = s.home AND {table}.collection = s.collection AND {table}.scope = s.key"
    found = turns.batch.ask(
        f"SELECT tenant, usr, agent FROM sj_scope s WHERE {condition} AND collection = %s AND (documents > 0 "
        + "".join(
            f"OR EXISTS(SELECT 1 FROM {table} WHERE {table}.{rows.format(table=table)}) "
            for table in ("sj_image", "sj_tombstone", "sj_cold")
        )
        # the lock waits for an image that is being written, so that it is deleted as well
        + ") FOR NO KEY UPDATE",
        (*names, turns.collection),
        home=home,
    )
    scopes = [scope_of(*row) for row in found]
    turns.begin(scopes)
    if scopes:
        numbers = [turns.homes.key(one).number for one in scopes]
        turns.drop_images(
            "home = %s AND collection = %s AND scope = ANY(%s)",
            (home, turns.collection, numbers),
            home=home,
        )
        turns.drop_cold(
            "home = %s AND collection = %s AND scope = ANY(%s)",
            (home, turns.collection, numbers),
            home=home,
        )
    asked, asked_names = agreeing(scope, home, exact=exact)
    documents.delete_notes(f"{asked} AND collection = %s", (*asked_names, turns.collection), home)
    return scopes


def _erase_one(turns: Turns, documents: DocumentWriter, scope: Scope, reason: str, now: int) -> Written:
    key, state = turns.homes.key(scope), turns.state(scope)
    before = replace(state)
    place = (key.home, turns.collection, key.number)
    for table in ("sj_document", "sj_tombstone", "sj_staged"):
        turns.batch.add(f"DELETE FROM {table} WHERE {PLACE}", place, home=key.home)
    if state.cold is not None:
        turns.batch.add(
            "UPDATE sj_scope SET cold = NULL WHERE home = %s AND collection = %s AND key = %s",
            place,
            home=key.home,
        )
    documents.delete_notes(PLACE, place, key.home)
    state.version = state.horizon = turns.next(key.home)
    state.documents, state.vectors, state.is_changed, state.cold = 0, 0, True, None
    state.counted = ScopeChanges()  # a scope without documents has no digest
    if before.documents:
        documents.event(key, state.version, reason, before.documents, now)
    return Written(scope, before.version, state.version, before.documents, erased=True)

"""Erasing names of scopes: pseudonyms replace them in the rows that must remain.

A scope's row is found by a hash of its names, so it moves to the hash of the pseudonyms, together with its
events; those of a tenant move to another home. Other processes cannot be told of a scope whose name is erased:
they see a new generation of the collection, and read everything again.
"""

from __future__ import annotations

from typing import Any

from scrubjay._native import Scope
from scrubjay.store.postgres.conditions import agreeing
from scrubjay.store.postgres.home_locks import PLACE, TouchedScope, Turns
from scrubjay.store.postgres.keys import Key
from scrubjay.store.rows.decoding import scope_of
from scrubjay.store.rows.pseudonyms import Pseudonyms
from scrubjay.store.rows.scopes import names_of


def agrees(names: tuple[str, str, str], within: Scope) -> bool:
    """Whether the names of a scope agree with each component that `within` names.

    >>> within = Scope("acme", user="jane")
    >>> agrees(("acme", "jane", "bot"), within), agrees(("acme", "", ""), within)
    (True, False)
    """
    return all(
        wanted is None or wanted == name
        for wanted, name in zip((within.tenant, within.user, within.agent), names, strict=True)
    )


def rename_scopes(turns: Turns, scope: Scope, words: Pseudonyms) -> int | None:
    """Rename every empty scope of a collection that agrees with `scope`; return the collection's new generation,
    None if there was no such scope.

    Every home of the scope's tenant is locked, and the pseudonym's own home if a tenant is renamed.
    """
    batch, homes = turns.batch, turns.homes
    turns.leave_scopes()
    found: list[tuple[Any, ...]] = []
    for home in homes.within(scope):
        condition, names = agreeing(scope, home)
        found += batch.ask(
            "SELECT tenant, usr, agent, horizon, (SELECT c.embedding FROM sj_collection c WHERE c.collection = "
            f"s.collection) FROM sj_scope s WHERE {condition} AND collection = %s AND documents = 0",
            (*names, turns.collection),
            home=home,
        )
    pairs = [(homes.key(scope_of(*row[:3])), homes.key(scope_of(*words.of(*row[:3]))), row) for row in found]
    turns.lock(new.home for _, new, _ in pairs)
    for old, new, (*_, horizon, embedding) in pairs:
        _move_events(turns, old, new)
        batch.add(
            "DELETE FROM sj_scope WHERE home = %s AND collection = %s AND key = %s",
            (old.home, turns.collection, old.number),
            home=old.home,
        )
        turns.touched.pop(old, None)
        # Greater than the old version, even if the new home was never written to.
        version = max(turns.next(new.home), horizon + 1)
        turns.touched[new] = TouchedScope(new.scope, version, 0, 0, version, is_new=True, embedding=embedding)
        turns.number(new, version)
    if not found:
        return None
    ((generation,),) = batch.ask(
        "UPDATE sj_collection SET generation = generation + 1 WHERE collection = %s RETURNING generation",
        (turns.collection,),
    )
    return int(generation)


def _move_events(turns: Turns, old: Key, new: Key) -> None:
    batch, place = turns.batch, (old.home, turns.collection, old.number)
    if old.home == new.home:
        batch.add(f"UPDATE sj_event SET scope = %s WHERE {PLACE}", (new.number, *place), home=old.home)
        return
    events: list[Any] = batch.ask(
        f"DELETE FROM sj_event WHERE {PLACE} RETURNING version, at, reason, documents", place, home=old.home
    )
    for event in events:
        batch.add(
            "INSERT INTO sj_event(home, collection, scope, version, at, reason, documents) "
            "VALUES (%s, %s, %s, %s, %s, %s, %s)",
            (new.home, turns.collection, new.number, *event),
            home=new.home,
        )


def is_whole_tenant(scope: Scope) -> bool:
    """Whether the name of the tenant is erased, and with it the home."""
    return names_of(scope)[1:] == ("", "")

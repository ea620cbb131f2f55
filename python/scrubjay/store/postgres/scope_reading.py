"""Reads scopes: their states, listings, document counts and deletion events."""

from __future__ import annotations

from collections.abc import Sequence

from scrubjay._native import Scope
from scrubjay.store.postgres.batch import Statement
from scrubjay.store.postgres.cold import OF_SCOPE, expired_sql
from scrubjay.store.postgres.cold_reading import ColdRows
from scrubjay.store.postgres.collection import Collection
from scrubjay.store.postgres.conditions import LIVE, agreeing
from scrubjay.store.postgres.freshness import Freshness
from scrubjay.store.postgres.keys import Unreadable, can_hold, id_of
from scrubjay.store.postgres.last_use import today
from scrubjay.store.postgres.row_security import EVERY_HOME
from scrubjay.store.postgres.thawing import Thawing
from scrubjay.store.rows.decoding import scope_of
from scrubjay.store.rows.scopes import names_of
from scrubjay.store.rows.values import Event, ScopeHead, ScopeState

_STATE = "key, version, horizon, documents, vectors, digest"


class ScopeReader:
    """Reads scopes of one collection; the methods are specified in :class:`scrubjay.store.seam.Store`.
    Thread-safe.

    Reading the state of a scope subscribes to hints about it.
    """

    def __init__(self, collection: Collection, cold: ColdRows, care: Thawing, freshness: Freshness) -> None:
        self._collection = collection
        self._cold = cold
        self._care = care
        self._freshness = freshness

    def scope_state(self, scope: Scope) -> ScopeState | None:
        self._freshness.meet([scope])
        if not can_hold(scope):
            return None
        key = self._collection.homes.key(scope)
        found = self._collection.ask(
            f"SELECT {_STATE} FROM sj_scope WHERE home = %s AND collection = %s AND key = %s "
            "AND tenant = %s AND usr = %s AND agent = %s",
            (key.home, self._collection.number, key.number, *names_of(scope)),
            home=key.home,
        )
        return ScopeState(key, *found[0][1:]) if found else None

    def scope_states(self, scopes: Sequence[Scope]) -> list[ScopeState | None]:
        self._freshness.meet(scopes)
        keys = dict(self._collection.homes.by_home(scopes))
        if not keys:
            return [None] * len(scopes)
        found = self._collection.ask_each(
            list(keys),
            lambda home: (
                f"SELECT tenant, usr, agent, {_STATE} FROM sj_scope WHERE home = %s AND collection = %s "
                "AND key = ANY(%s)",
                (home, self._collection.number, [key.number for key in keys[home]]),
            ),
        )
        by_names = {row[:3]: row[4:] for row in found}
        states = ((scope, by_names.get(names_of(scope))) for scope in scopes)
        return [
            None if state is None else ScopeState(self._collection.homes.key(scope), *state)
            for scope, state in states
        ]

    def look(self, scope: Scope, *, now: int) -> ScopeHead:
        self._freshness.meet([scope])
        if not can_hold(scope):
            return ScopeHead(None, [], None)
        key = self._collection.homes.key(scope)
        place = (key.home, self._collection.number, key.number)
        own = "d.home = s.home AND d.collection = s.collection AND d.scope = s.key AND d.expires_at"
        found = self._collection.ask(
            f"SELECT {_STATE}, ARRAY(SELECT d.id FROM sj_document d WHERE {own} <= %s), "
            f"(SELECT min(d.expires_at) FROM sj_document d WHERE {own} > %s), "
            "(SELECT generation FROM sj_collection c WHERE c.collection = s.collection), s.cold, s.used "
            "FROM sj_scope s WHERE home = %s AND collection = %s AND key = %s "
            "AND tenant = %s AND usr = %s AND agent = %s",
            (now, now, *place, *names_of(scope)),
            home=key.home,
        )
        self._cold.saw(key, is_frozen=bool(found) and found[0][-2] is not None)
        if not found:
            return ScopeHead(None, [], None)
        *state, expired, next_expiry, generation, cold, used = found[0]
        self._freshness.saw_generation(generation)
        if cold is not None:
            expiries = self._cold.expiries(key)
            next_expiry = next((at for at in expiries if at > now), None)
            if expiries and expiries[0] <= now:
                expired = [row.id for row in self._cold.live(scope, now=None) if not row.is_live(now)]
        elif used < today():
            self._care.used(scope)
        ids = (id_of(data, self._collection.kind()) for data in expired)
        gone = [id for id in ids if not isinstance(id, Unreadable)]
        return ScopeHead(ScopeState(key, *state[1:]), gone, next_expiry)

    def scopes(self) -> list[tuple[Scope, ScopeState]]:
        found = self._collection.ask(
            f"SELECT tenant, usr, agent, home, {_STATE} FROM sj_scope WHERE collection = %s AND documents > 0",
            (self._collection.number,),
            home=EVERY_HOME,
        )
        scopes = [scope_of(*row[:3]) for row in found]
        return [
            (scope, ScopeState(self._collection.homes.key(scope), *row[5:]))
            for scope, row in zip(scopes, found, strict=True)
        ]

    def living_scopes(
        self,
        within: Scope | None,
        *,
        now: int,
        users: tuple[str, str] | None = None,
        after: Scope | None = None,
        limit: int | None = None,
    ) -> list[Scope]:
        if within is not None and not can_hold(within):
            return []
        more = ""
        more_names: tuple[str, ...] = ()
        if users is not None:  # names never contain NUL
            more = ' AND s.usr COLLATE "C" >= %s AND s.usr COLLATE "C" < %s'
            more_names += tuple(end.replace("\0", "\x01") for end in users)
        page = ""
        last: tuple[int, ...] = ()
        in_order = ", ".join(f's.{column} COLLATE "C"' for column in ("tenant", "usr", "agent"))
        if after is not None:
            more = f"{more} AND ({in_order}) > (%s, %s, %s)"
            more_names += tuple(name.replace("\0", "\x01") for name in names_of(after))
        if limit is not None:
            page, last = f" ORDER BY {in_order} LIMIT %s", (limit,)

        def question(home: str | None) -> Statement:
            condition, names = agreeing(within, home, table="s")
            return (
                "SELECT tenant, usr, agent FROM sj_scope s WHERE collection = %s AND documents > 0 "
                f"AND {condition}{more} AND (s.cold IS NOT NULL AND s.documents > {expired_sql(OF_SCOPE)} "
                "OR EXISTS(SELECT 1 FROM sj_document d WHERE d.home = s.home AND d.collection = s.collection "
                f"AND d.scope = s.key AND {LIVE})){page}",
                (self._collection.number, *names, *more_names, now, now, *last),
            )

        if within is None:
            found = self._collection.ask(*question(None), home=EVERY_HOME)
        else:
            found = self._collection.ask_each(self._collection.homes.within(within), question)
        if limit is not None:  # merge the first ones of each home
            found = sorted(found)[:limit]
        return [scope_of(*row) for row in found]

    def stale_scopes(self) -> list[Scope]:
        found = self._collection.ask(
            "SELECT tenant, usr, agent FROM sj_scope s WHERE collection = %s AND documents > 0 AND s.cold IS NULL "
            "AND NOT EXISTS(SELECT 1 FROM sj_image i WHERE i.home = s.home AND i.collection = s.collection "
            "AND i.scope = s.key AND i.version = s.version)",
            (self._collection.number,),
            home=EVERY_HOME,
        )
        return [scope_of(*row) for row in found]

    def count(self, scopes: Sequence[Scope] | None, *, now: int) -> int:
        if scopes is None:
            condition, parameters = "collection = %s", [self._collection.number]
            (total,) = self._collection.ask(
                f"SELECT (SELECT coalesce(sum(documents), 0)::bigint FROM sj_scope WHERE {condition}) - "
                f"(SELECT count(*) FROM sj_document WHERE {condition} AND expires_at <= %s) - "
                f"{expired_sql('k.collection = %s')}",
                (*parameters, *parameters, now, *parameters, now),
                home=EVERY_HOME,
            )[0]
            return int(total)
        n = 0
        for home, group in self._collection.homes.by_home(scopes):
            keys = [key.number for key in group]
            (part,) = self._collection.ask(
                "SELECT (SELECT coalesce(sum(documents), 0)::bigint FROM sj_scope WHERE home = %s AND collection = %s "
                "AND key = ANY(%s)) - (SELECT count(*) FROM sj_document WHERE home = %s AND collection = %s "
                "AND scope = ANY(%s) AND expires_at <= %s) - "
                + expired_sql("k.home = %s AND k.collection = %s AND k.scope = ANY(%s)"),
                (home, self._collection.number, keys, *(home, self._collection.number, keys, now) * 2),
                home=home,
            )[0]
            n += int(part)
        return n

    def vector_count(self, *, now: int) -> int:
        (total,) = self._collection.ask(
            "SELECT (SELECT coalesce(sum(vectors), 0)::bigint FROM sj_scope WHERE collection = %s) - "
            "(SELECT count(vector) FROM sj_document WHERE collection = %s AND expires_at <= %s) - "
            + expired_sql("k.collection = %s", expiries="vector_expiries"),
            (self._collection.number, *(self._collection.number, now) * 2),
            home=EVERY_HOME,
        )[0]
        return int(total)

    def events(self) -> list[Event]:
        found = self._collection.ask(
            "SELECT e.at, e.reason, s.tenant, s.usr, s.agent, e.documents FROM sj_event e JOIN sj_scope s ON "
            "s.home = e.home AND s.collection = e.collection AND s.key = e.scope WHERE e.collection = %s "
            "ORDER BY e.version, e.home, e.scope",
            (self._collection.number,),
            home=EVERY_HOME,
        )
        return [Event(row[0], row[1].decode(), scope_of(*row[2:5]), row[5]) for row in found]

"""Forgetting: at once and provably on request, gradually by age.

Everything of a user is deleted in one transaction: rows of every kind, rejections, observations, logs, traces, and the
documents of all collections of the file. What remains is an event with the counts.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from scrubjay._native import Scope
from scrubjay.errors import CorruptIndexError, EncryptionError
from scrubjay.memory.base import absent, checked_scope, documents_in, log, log_gone
from scrubjay.memory.consolidation import Consolidated, Merger, consolidate, merge
from scrubjay.memory.content import checked_str
from scrubjay.memory.crud import Crud
from scrubjay.memory.decay import Decay
from scrubjay.memory.documents import ids_of_documents
from scrubjay.memory.history import History
from scrubjay.memory.holds import HELD, check_hold, is_held
from scrubjay.memory.naming import forget_names
from scrubjay.memory.repair import Repair
from scrubjay.memory.rows import (
    EpisodeRow,
    FactRow,
    as_row,
    find_row,
    is_visible,
    opener,
    raw_rows_where,
    scope_in,
)
from scrubjay.memory.schema import KINDS, erasing
from scrubjay.memory.sealing import release
from scrubjay.memory.statements import is_in_force
from scrubjay.memory.trace import erase_traces, sweep_traces
from scrubjay.store.files import ErasureReport
from scrubjay.store.pseudonyms import Pseudonyms
from scrubjay.store.reading import names_of, scope_of
from scrubjay.store.together import Change

__all__ = ["Forgetting", "Forgotten", "MemoryErasure", "Swept"]

_DAY_US = 86_400_000_000
_OWNED = ("memory_preference", "memory_fact", "memory_episode", "memory_observation", "memory_rejection")


@dataclass(frozen=True)
class Forgotten:
    """What was erased: records of each kind, events of traces, documents of all collections (`documents`)."""

    counts: dict[str, int]

    @property
    def total(self) -> int:
        """Of everything but the documents, which are projections of records or other collections' own."""
        return sum(n for what, n in self.counts.items() if what != "documents")


@dataclass(frozen=True)
class Swept:
    """What a sweep did."""

    expired: int
    """Records past their time, and facts too weak to keep."""
    let_go: int
    """Rows that were kept to be asked about: superseded and revoked records, rejections."""
    faded: int
    """Facts that sink from now on."""
    traces: int
    """Events past their retention."""


@dataclass(frozen=True)
class MemoryErasure:
    """What is left of a scope: rows by table, and what a search of the files' bytes found (None: nothing was given to
    look for)."""

    rows: dict[str, int]
    files: ErasureReport | None

    @property
    def clean(self) -> bool:
        """Whether nothing is left."""
        return not self.rows and (self.files is None or self.files.clean)


class Forgetting(Crud, History, Repair):
    """The part of a memory that forgets."""

    decay: Decay
    retention_days: float
    history_days: float | None

    # ------------------------------------------------------------------ at once

    def forget(
        self,
        user: str | Scope | None = None,
        *,
        tenant: str | None = None,
        agent: str | None = None,
        reason: str = "forget",
        by: str | None = None,
        names: bool = False,
    ) -> Forgotten:
        """Erase everything of a user (or an agent, or a whole tenant), of all kinds, in one transaction.

        Preferences, facts, episodes, whatever their status, with their histories; rejections; observations; traces;
        and every document of this scope in *all* collections of the file. A tenant's facts that others have also
        observed, or that were confirmed, stay, without the author's name. Policies go with their tenant.

        Args:
            user: or a Scope, which says all three.
            tenant: whose user it is; required.
            agent: of this agent only.
            reason: for the deletion event.
            by: who asked for it.
            names: the names of the user, agent or tenant (and its users) go from the file as well. In deletion events
                and scopes, which are kept, random pseudonyms take their place; the same where a name stands as author
                or as who decided something in records of others. Texts and reasons are not looked at. Every process
                that has the file open reads its partitions anew.

        Rows are overwritten with zeros; copies in the log disappear with :meth:`compact`, which
        :meth:`verify_erased` proves. A user of an encrypted tenant can be forgotten while the tenant's key is at hand
        (digests of what stays are rewritten), a whole tenant always.

        Raises:
            EncryptionError: the key that this needs is not available.
            HeldError: some of it is under a legal hold (:meth:`MemoryAdmin.hold`).
            TypeError, ValueError: it is not said whose memories; nothing is erased by default.
        """
        if isinstance(user, Scope):
            if tenant is not None or agent is not None:
                raise TypeError(
                    "user: expected either a Scope or the names of tenant, user and agent, got both"
                )
            scope = user
        else:
            if tenant is None:
                raise TypeError("tenant: expected the tenant whose user is forgotten, got None")
            scope = Scope(tenant, user, agent)
        reason = checked_str(reason, "reason") or "forget"
        if by is not None:
            checked_str(by, "by")
        counts: dict[str, int] = {}
        words = Pseudonyms(scope) if names else None
        if self.store.cipher.ring is not None:
            self.store.cipher.openable(scope.tenant)
        with self.changing("forgetting") as change:
            connection = change.connection
            check_hold(connection, scope, within=True)
            with erasing(connection):
                connection.execute("CREATE TEMP TABLE IF NOT EXISTS gone(id TEXT PRIMARY KEY)")
                connection.execute("DELETE FROM temp.gone")
                self._gather(connection, scope)
                shared = (
                    raw_rows_where(  # of the tenant's own: the user's scope does not hold their documents
                        connection, "fact", "id IN (SELECT id FROM temp.gone) AND user = '' AND agent = ''"
                    )
                )
                counts.update(self._erase_rows(connection, scope))
                connection.execute("DELETE FROM temp.gone")
            if scope.user is not None:
                for found in shared:
                    log_gone(change, found[0], (scope.tenant, "", ""), "forgotten")
            n_shared = 0
            if scope.user is not None:
                ids = [id for found in shared for id in ids_of_documents(as_row("fact", found))]  # type: ignore[arg-type]
                n_shared = change.delete(ids, scope=Scope(scope.tenant), reason=reason)
                topics = dict.fromkeys(as_row("fact", found).topic for found in shared)  # type: ignore[union-attr]
                for topic in topics:
                    self._project(change, (scope.tenant, "", ""), (topic,), None)
            release(connection, scope.tenant)  # before documents go, and the data key if nothing is left
            counts["documents"] = n_shared + change.erase(scope, reason=reason, everywhere=True, words=words)
            if words is not None:
                by = forget_names(connection, scope, words, by)
                scope = scope_of(*words.of(*names_of(scope)))
            self.note_deletion(change, scope, reason, by, counts)
            log_gone(change, "", names_of(scope), "forgotten", by)
        self.forget_known(None if names else scope.tenant)
        return Forgotten({what: n for what, n in counts.items() if n})

    @staticmethod
    def _gather(connection: sqlite3.Connection, scope: Scope) -> None:
        """Note the ids of all records that go."""
        for table in KINDS.values():
            condition, values = _of(scope, table)
            if condition is not None:
                connection.execute(f"INSERT INTO temp.gone SELECT id FROM {table} WHERE {condition}", values)
        if scope.user is not None:  # unconfirmed facts of the tenant that only this user observed
            connection.execute(
                "INSERT OR IGNORE INTO temp.gone SELECT id FROM memory_fact f WHERE tenant = ? "
                "AND user = '' AND agent = '' AND decided_by IS NULL AND EXISTS (SELECT 1 FROM memory_observation o "
                "WHERE o.tenant = f.tenant AND o.hash = f.hash AND o.user = ?) AND NOT EXISTS ("
                "SELECT 1 FROM memory_observation o WHERE o.tenant = f.tenant AND o.hash = f.hash AND o.user <> ?)",
                (scope.tenant, scope.user, scope.user),
            )

    @staticmethod
    def _erase_rows(connection: sqlite3.Connection, scope: Scope) -> dict[str, int]:
        counts: dict[str, int] = {}
        if scope.user is not None:  # remaining observers are not told who the other was
            connection.execute(
                "UPDATE memory_fact SET author = NULL, place = NULL, evidence = NULL, source_turn = NULL, "
                "source_run = 'forgotten' WHERE tenant = ? AND user = '' AND agent = '' AND EXISTS ("
                "SELECT 1 FROM memory_observation o WHERE o.tenant = memory_fact.tenant AND o.hash = memory_fact.hash "
                "AND o.user = ? AND o.run = memory_fact.source_run)",
                (scope.tenant, scope.user),
            )
            connection.execute(
                "DELETE FROM memory_log WHERE by = ? AND record IN (SELECT id FROM memory_fact WHERE tenant = ? "
                "AND user = '' AND agent = '')",
                (scope.user, scope.tenant),
            )
        for kind, table in KINDS.items():
            counts[kind] = connection.execute(
                f"DELETE FROM {table} WHERE id IN (SELECT id FROM gone)"
            ).rowcount
        connection.execute("DELETE FROM memory_log WHERE record IN (SELECT id FROM gone)")
        condition, values = _of(scope, "memory_log")  # what is gone already: one event says it of all
        connection.execute(f"DELETE FROM memory_log WHERE {condition}", values)
        connection.execute("DELETE FROM memory_observation WHERE fact IN (SELECT id FROM gone)")
        for what, table in (("observation", "memory_observation"), ("rejection", "memory_rejection")):
            condition, values = _of(scope, table)
            if condition is not None:
                counts[what] = connection.execute(f"DELETE FROM {table} WHERE {condition}", values).rowcount
        counts["trace"] = erase_traces(connection, tenant=scope.tenant, user=scope.user, agent=scope.agent)
        return counts

    def verify_erased(
        self,
        scope: Scope,
        texts: Iterable[str] = (),
        vectors: Iterable[ArrayLike] = (),
        names: Iterable[str] = (),
    ) -> MemoryErasure:
        """Look for what should be gone: rows of everything within `scope` (its users and agents included), documents
        of any collection, and, in the bytes of the files, texts, vectors and names (see
        :meth:`scrubjay.Admin.verify_erased`). Run :meth:`compact` first.
        """
        checked_scope(scope)
        sought = (_listed(texts, "texts"), _listed(vectors, "vectors"), (), _listed(names, "names"))
        rows: dict[str, int] = {}
        with self.snapshot() as connection:
            tables = [*KINDS.values(), "memory_observation", "memory_rejection", "memory_run"]
            for table in tables:
                condition, values = _of(scope, table)
                if condition is None:
                    continue
                (n,) = connection.execute(
                    f"SELECT count(*) FROM {table} WHERE {condition}", values
                ).fetchone()
                rows[table] = n
            numbers = [n for (n,) in connection.execute("SELECT number FROM collection").fetchall()]
            for suffix in ["", *(f"_{number}" for number in numbers)]:
                condition, values = _of(scope, f"scope{suffix}")
                (n,) = connection.execute(
                    f"SELECT ifnull(sum(documents), 0) FROM scope{suffix} WHERE {condition}", values
                ).fetchone()
                rows[f"document{suffix}"] = n
        report = self.index.admin.verify_erased(*sought) if any(sought) else None
        return MemoryErasure({table: n for table, n in rows.items() if n}, report)

    def compact(self) -> None:
        """Make what was deleted or forgotten disappear from the files (see :meth:`scrubjay.Admin.compact`)."""
        self.documents.admin.compact(progress=False)

    # ------------------------------------------------------------------ little by little

    def sweep(self) -> Swept:
        """Delete expired records, let facts age, and delete rows that were only kept for :meth:`why`.

        Searches and look-ups leave out what has expired anyway. Revoked records, superseded preferences and rejections
        are kept for `retention_days`, superseded facts and those whose time is over for `history_days`, traces as long
        as their class says. One transaction. What is kept of an encrypted tenant
        whose key cannot be had now stays until it can.
        """
        away = self.store.tenants_without_key()
        with self.changing("sweeping memory") as change:
            with erasing(change.connection):
                expired = self._expire(change, away)
                faded = self._age(change, expired)
                let_go = self._let_go(change, away)
                n_traces = sweep_traces(change.connection, change.now, away)
            for names, counts in expired.items():
                self.note_deletion(change, scope_of(*names), "expired", None, counts)
        self.forget_known()
        n_expired = sum(sum(counts.values()) for counts in expired.values())
        return Swept(n_expired, let_go, faded, n_traces)

    def _expire(self, change: Change, away: Collection[str]) -> dict[tuple[str, str, str], dict[str, int]]:
        expired: dict[tuple[str, str, str], dict[str, int]] = {}
        held = is_held(change.connection)
        for kind in ("preference", "fact", "episode"):
            for found in raw_rows_where(change.connection, kind, "expires_at <= ?", (change.now,)):
                row: Any = as_row(kind, found)
                if not isinstance(row.expires_at, int):
                    raise CorruptIndexError(f"{kind}.expires_at cannot be read", id=row.id)
                scope_in(row)
                if row.tenant not in away and not held(row):
                    self._delete_row(change, row, expired)  # whose key was destroyed, too
        return expired

    def _delete_row(
        self, change: Change, row: Any, expired: dict[tuple[str, str, str], dict[str, int]]
    ) -> None:
        change.connection.execute(f"DELETE FROM {KINDS[row.kind]} WHERE id = ?", (row.id,))
        change.connection.execute("DELETE FROM memory_log WHERE record = ?", (row.id,))
        log_gone(change, row.id, (row.tenant, row.user, row.agent), "expired")
        self.remove_document(change, row, "expired")
        if row.kind == "fact":
            self._unshare(change, row.id)
        counts = expired.setdefault((row.tenant, row.user, row.agent), {})
        counts[row.kind] = counts.get(row.kind, 0) + 1

    def _age(self, change: Change, expired: dict[tuple[str, str, str], dict[str, int]]) -> int:
        decay, n_faded, held = self.decay, 0, is_held(change.connection)
        weak = raw_rows_where(
            change.connection,
            "fact",
            "status = 'active' AND confidence < ? AND last_used_at < ?",
            (decay.keep_from, change.now - _DAY_US),
        )
        for found in weak:
            row: Any = as_row("fact", found)
            if [type(value) for value in (row.uses, row.last_used_at)] != [int, int]:
                raise CorruptIndexError("fact.uses or fact.last_used_at cannot be read", id=row.id)
            strength = decay.strength_now(row.confidence, row.uses, row.last_used_at, change.now)
            if not self._has_key(row.tenant):
                continue
            if strength < decay.expire_below and not held(row):
                self._delete_row(change, row, expired)
            elif strength < decay.sink_below and not row.faded and self.store.cipher.readable(row.tenant):
                row = opener(change.connection)(row)
                change.connection.execute("UPDATE memory_fact SET faded = 1 WHERE id = ?", (row.id,))
                documents_in(change).put(row._replace(faded=1), before=row)
                log(change, row.id, "faded")
                n_faded += 1
        return n_faded

    def _has_key(self, tenant: str) -> bool:
        """Whether a tenant's rows can be read now; the ones of others age when they can."""
        try:
            return self.store.cipher.openable(tenant)
        except EncryptionError:
            return False

    def _let_go(self, change: Change, away: Collection[str]) -> int:
        """Delete what was kept to be asked about, once its time is over."""
        before = change.now - int(self.retention_days * _DAY_US)
        gone = [
            ("preference", "status IN ('superseded', 'revoked') AND updated_at < ?", before),
            ("episode", "status = 'revoked' AND updated_at < ?", before),
            ("fact", "status = 'revoked' AND updated_at < ?", before),
        ]
        if self.history_days is not None:
            past = change.now - int(self.history_days * _DAY_US)
            gone += [
                ("fact", "status = 'superseded' AND updated_at < ?", past),
                ("fact", "status = 'active' AND valid_until < ?", past),
            ]
        others = f" AND tenant NOT IN ({', '.join('?' * len(away))})" if away else ""
        execute, n, held = change.connection.execute, 0, is_held(change.connection)
        for kind, condition, limit in gone:
            for found in raw_rows_where(change.connection, kind, condition + others, (limit, *away)):
                row: Any = as_row(kind, found)
                if held(row):
                    continue
                execute("DELETE FROM memory_log WHERE record = ?", (row.id,))
                execute(f"DELETE FROM {KINDS[kind]} WHERE id = ?", (row.id,))
                log_gone(change, row.id, (row.tenant, row.user, row.agent), "expired")
                if kind == "fact":
                    self.remove_document(change, row, "history")
                n += 1
        table = "memory_rejection"
        spared = f" AND NOT {HELD.format(row=table, user=f'{table}.user', agent=f'{table}.agent')}"
        n += execute(f"DELETE FROM memory_rejection WHERE at < ?{others}{spared}", (before, *away)).rowcount
        return n

    # ------------------------------------------------------------------ what is said twice

    def consolidate(
        self,
        scope: Scope,
        merger: Merger = merge,
        *,
        likeness: float = 0.8,
        least_episodes: int = 5,
        dry_run: bool = False,
    ) -> Consolidated:
        """Merge what is said twice and sum up episodes of one task type, by proposals to the gate, in one transaction.

        A merged fact is a new one that takes the place of those that it was made of: as a correction, for all of their
        time, or from now on if they have no subject and predicate. They are in force again if it is revoked. A summary
        stands beside its episodes, whose ids its metadata has ("consolidates"). To undo it, revoke the ids of the
        result.

        Args:
            scope: of records in force of exactly this scope.
            merger: takes the records of a group, oldest first, and returns the candidate that is to stand for them, or
                None. The default needs no model: of facts the longest stands for all, episodes stay as they are.
            likeness: share of all words of two facts that both must have (Jaccard). They must be of one subject and
                predicate as well, and differ in no number and no value.
            least_episodes: how many episodes of a task type are worth a summary.
            dry_run: only say what would be proposed.

        Raises:
            TypeError, ValueError: an argument, or what the merger returned; nothing is written.
            Exception: what the merger raises; nothing is written.
        """
        return consolidate(
            self, scope, merger, likeness=likeness, least_episodes=least_episodes, dry_run=dry_run
        )

    # ------------------------------------------------------------------ use

    def feedback(self, id: str, used: bool = True, *, scope: Scope) -> None:
        """Note that a fact or episode was of use (or was not): what is used does not fade.

        Raises:
            KeyError: `scope` sees no such record in force.
        """
        checked_scope(scope)
        if not isinstance(used, bool):
            raise TypeError(f"used: expected a bool, got {type(used).__name__}")
        with self.changing("noting use") as change:
            row = find_row(change.connection, id)
            if (
                not isinstance(row, (FactRow, EpisodeRow))
                or not is_visible(row, scope)
                or not is_in_force(row, change.now)
            ):
                raise absent(id)
            if not used:
                change.connection.execute(
                    f"UPDATE {KINDS[row.kind]} SET uses = max(uses - 1, 0) WHERE id = ?", (id,)
                )
                return
            change.connection.execute(
                f"UPDATE {KINDS[row.kind]} SET uses = uses + 1, last_used_at = ? WHERE id = ?",
                (change.now, id),
            )
            if isinstance(row, FactRow) and row.faded:
                change.connection.execute("UPDATE memory_fact SET faded = 0 WHERE id = ?", (id,))
                documents_in(change).put(row._replace(faded=0), before=row)
                log(change, id, "revived")


def _of(scope: Scope, table: str) -> tuple[str | None, Sequence[str]]:
    """The condition for the rows of a table that belong to a scope or are below it; None if it cannot have any."""
    tenant, user, agent = names_of(scope)
    condition, values = "tenant = ?", [tenant]
    columns = {"memory_policy": (), "memory_preference": ("user",), "memory_observation": ("user",)}
    has = columns.get(table, ("user", "agent"))
    for column, name in (("user", user), ("agent", agent)):
        if not name:
            continue
        if column not in has:
            return None, ()
        condition += f" AND {column} = ?"
        values.append(name)
    return condition, values


def _listed(given: Any, name: str) -> list[Any]:
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise TypeError(f"{name}: expected a sequence, got {type(given).__name__}")
    return list(given)

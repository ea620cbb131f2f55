"""Verifiable erasure of a record, or of all data of a user or a tenant.

All data of a user is deleted in one transaction: rows of every kind, rejections, observations, logs, traces, and the
documents of all collections of the file. A deletion event with the counts remains.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from scrubjay._native import Scope
from scrubjay.base.arguments import checked_flag
from scrubjay.memory.gate.promotion import Promotion
from scrubjay.memory.ledger.context import MemoryContext, checked_scope
from scrubjay.memory.ledger.deletions import note_deletion
from scrubjay.memory.ledger.documents import remove_documents
from scrubjay.memory.ledger.holds import check_hold
from scrubjay.memory.ledger.log import drop, log_gone
from scrubjay.memory.ledger.naming import forget_names
from scrubjay.memory.ledger.rows import as_row, find_row, raw_rows_where
from scrubjay.memory.ledger.schema import KINDS, erasing
from scrubjay.memory.ledger.sealing import is_file, release
from scrubjay.memory.ledger.slots import Slots
from scrubjay.memory.ledger.trace import erase_traces
from scrubjay.memory.ledger.versions import delete_versions
from scrubjay.memory.model.content import checked_str
from scrubjay.memory.model.documents import ids_of_documents
from scrubjay.memory.model.rows import FactRow, belongs_to, is_global, scope_in
from scrubjay.memory.read.rules import Rules
from scrubjay.store.rows.decoding import scope_of
from scrubjay.store.rows.erasure_search import ErasureReport, KeyProof
from scrubjay.store.rows.pseudonyms import Pseudonyms
from scrubjay.store.rows.scopes import names_of

_AT_ONCE = 500  # ids in one statement


@dataclass(frozen=True)
class Forgotten:
    """Result of an erasure: counts of records by kind, trace events, and documents of all collections (`documents`).

    Attributes:
        counts: kind -> count.
    """

    counts: dict[str, int]

    @property
    def total(self) -> int:
        """The sum of all counts except documents, which are projections of records or belong to other collections."""
        return sum(n for kind, n in self.counts.items() if kind != "documents")


@dataclass(frozen=True)
class MemoryErasure:
    """Remains of a scope: rows by table, and the report of a search of the files or of a database's rows (None: no
    texts, vectors or names were given)."""

    rows: dict[str, int]
    files: ErasureReport | None
    keys: tuple[KeyProof, ...] = ()
    """For a user with keys of their own: the state of each key; see :class:`scrubjay.ErasureReport`."""

    @property
    def clean(self) -> bool:
        """Whether nothing remains."""
        destroyed = all(key.destroyed_at is not None for key in self.keys)
        return not self.rows and destroyed and (self.files is None or self.files.clean)

    @property
    def proofs(self) -> tuple[str, ...]:
        """The proofs in words: about each key of the user, rows, and the texts searched for and not found."""
        rows = () if self.rows else ("rows absent",)
        searched = () if self.files is None else self.files.proofs
        return tuple(dict.fromkeys((*map(str, self.keys), *rows, *searched)))


class Erasure:
    """Deletes records and scopes with all data derived from them."""

    def __init__(self, context: MemoryContext, slots: Slots, promotion: Promotion, rules: Rules) -> None:
        self._context = context
        self._slots = slots
        self._promotion = promotion
        self._rules = rules

    def delete(self, id: str, *, scope: Scope, reason: str = "delete", by: str | None = None) -> bool:
        """Delete a record and everything stored about it; return False if exactly this scope has no such record.

        The facts that it superseded come back into force, as if it had never been said. A deletion event records that a
        record was deleted.

        Args:
            id: the id of the record.
            scope: the record's exact scope.
            reason, by: for the deletion event.
        """
        checked_scope(scope)
        reason = checked_str(reason, "reason") or "delete"
        if by is not None:
            by = checked_str(by, "by")
        # Copies of a tenant's fact, which may belong to any user, come back into force once it is deleted.
        owners = [scope.tenant] if scope.user is None else [scope, Scope(scope.tenant)]
        with self._context.changing("deleting", of=owners) as change:
            row = find_row(change.connection, id, scope)
            if row is None or not belongs_to(row, scope):
                return False
            if not is_global(row):
                check_hold(change.connection, scope_in(row), within=False)
            drop(change, row, "forgotten", by)
            if isinstance(row, FactRow):
                change.connection.execute(
                    "DELETE FROM memory_observation WHERE tenant = ? AND fact = ?", (row.tenant, id)
                )
            remove_documents(change, row, reason)
            if isinstance(row, FactRow):
                delete_versions(change, row, reason)
                self._slots.project_slot_of(change, row, by)
                self._promotion.unshare(change, row)
            note_deletion(change, scope_in(row), reason, by, {row.kind: 1})
        self._rules.clear(scope.tenant)
        return True

    def forget(
        self,
        user: str | Scope | None = None,
        tenant: str | None = None,
        agent: str | None = None,
        reason: str = "forget",
        by: str | None = None,
        names: bool = False,
    ) -> Forgotten:
        """Erase all data of a user (or an agent, or a whole tenant), of all kinds, in one transaction.

        This covers preferences, facts and episodes of any status with their histories; rejections; observations;
        traces; and every document of this scope in *all* collections of the file. A tenant's facts that others have
        observed as well, or that were confirmed, stay without the author's name. Policies go with their tenant.

        Args:
            user: the user, or a Scope that states tenant, user and agent.
            tenant: the tenant of the user; required.
            agent: erases only data of this agent.
            reason: for the deletion event.
            by: the name of the person who asked for it.
            names: also remove the names of the user, agent or tenant (and its users) from the file. In deletion events
                and scopes, which are kept, random pseudonyms replace them, as they do where a name is the author of
                another user's record or the name of the person who decided on it. Texts and reasons are not searched.
                Every process that has the file open reloads its partitions.

        Rows are overwritten with zeros; copies in the WAL disappear with :meth:`MemoryAdmin.compact`, which
        :meth:`MemoryAdmin.verify_erased` proves. A user of an encrypted tenant can be forgotten while the tenant's key
        is available (digests of the remaining rows are rewritten), a whole tenant always. Where users have keys of
        their own (:mod:`scrubjay.keystores`) the user's key is destroyed, so no earlier copy can be decrypted.

        Raises:
            EncryptionError: a required key is unavailable; or everything was erased but the user's key could not be
                destroyed now: the next erasure or opening destroys it.
            HeldError: part of it is under a legal hold (:meth:`MemoryAdmin.hold`).
            TypeError, ValueError: no tenant is given, or an argument is invalid; nothing is erased by default.
        """
        names = checked_flag(names, "names")
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
            by = checked_str(by, "by")
        counts: dict[str, int] = {}
        words = Pseudonyms(scope) if names else None
        if self._context.store.cipher.ring is not None:
            self._context.store.cipher.openable(scope.tenant)
        owners: list[str | Scope] = [scope.tenant]
        if names:  # they occur in other scopes' rows; the stamp of all tenants announces their removal
            owners.append("")
        elif scope.user is not None:
            owners = [scope, Scope(scope.tenant)]
        with self._context.changing("forgetting", of=owners) as change:
            connection = change.connection
            check_hold(connection, scope, within=True)
            with erasing(connection):
                gathered = _gather(connection, scope)
                shared = [  # facts of the tenant itself: the user's scope does not contain their documents
                    found
                    for some in _some(gathered["memory_fact"])
                    for found in raw_rows_where(
                        connection,
                        "fact",
                        f"tenant = ? AND user = '' AND agent = '' AND id IN ({_marks(some)})",
                        (scope.tenant, *some),
                    )
                ]
                counts.update(_erase_rows(connection, scope, gathered))
            if scope.user is not None:
                for found in shared:
                    log_gone(change, found[0], (scope.tenant, "", ""), "forgotten")
            n_shared = 0
            if scope.user is not None:
                ids = [id for found in shared for id in ids_of_documents(as_row("fact", found))]  # type: ignore[arg-type]
                n_shared = change.delete(ids, scope=Scope(scope.tenant), reason=reason)
                topics = dict.fromkeys(as_row("fact", found).topic for found in shared)  # type: ignore[union-attr]
                for topic in topics:
                    self._slots.project(change, (scope.tenant, "", ""), (topic,), None)
            release(connection, scope.tenant)  # before the documents, and the data key if nothing is left
            counts["documents"] = n_shared + change.erase(scope, reason=reason, everywhere=True, words=words)
            if words is not None:
                by = forget_names(connection, scope, words, by)
                scope = scope_of(*words.of(*names_of(scope)))
            note_deletion(change, scope, reason, by, counts)
            log_gone(change, "", names_of(scope), "forgotten", by)
        self._rules.clear(None if names else scope.tenant)
        return Forgotten({kind: n for kind, n in counts.items() if n})

    def verify_erased(
        self,
        scope: Scope,
        texts: Iterable[str] = (),
        vectors: Iterable[ArrayLike] = (),
        names: Iterable[str] = (),
    ) -> MemoryErasure:
        """Look for remains of erased data: rows of everything within `scope` (including its users and agents),
        documents of any collection, and, in the bytes of the files or all rows of a database, texts, vectors and names
        (see :meth:`scrubjay.Admin.verify_erased`). Run :meth:`MemoryAdmin.compact` first.
        """
        checked_scope(scope)
        sought = (_listed(texts, "texts"), _listed(vectors, "vectors"), (), _listed(names, "names"))
        rows: dict[str, int] = {}
        with self._context.snapshot() as connection:
            tables = [*KINDS.values(), "memory_observation", "memory_rejection", "memory_run"]
            for table in tables:
                condition, values = _condition(scope, table)
                if condition is None:
                    continue
                (n,) = connection.execute(
                    f"SELECT count(*) FROM {table} WHERE {condition}", values
                ).fetchone()
                rows[table] = n
            for suffix, n in documents_within(connection, scope):
                rows[f"document{suffix}"] = n
        admin = self._context.index.admin
        report = admin.verify_erased(*sought) if any(sought) else None
        keys = () if scope.user is None else self._context.store.cipher.proofs(scope.tenant, scope.user)
        return MemoryErasure({table: n for table, n in rows.items() if n}, report, keys)


def documents_within(connection: sqlite3.Connection, scope: Scope) -> list[tuple[str, int]]:
    """Return the number of documents within a scope for each collection, by the suffix of its tables."""
    if not is_file(connection):
        counted: list[tuple[str, int]] = connection.documents_within(scope)  # type: ignore[attr-defined]
        return counted
    counted = []
    numbers = [n for (n,) in connection.execute("SELECT number FROM collection").fetchall()]
    for suffix in ["", *(f"_{number}" for number in numbers)]:
        condition, values = _condition(scope, f"scope{suffix}")
        (n,) = connection.execute(
            f"SELECT ifnull(sum(documents), 0) FROM scope{suffix} WHERE {condition}", values
        ).fetchone()
        counted.append((suffix, n))
    return counted


def _some(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield ids in batches of the size that one statement takes."""
    for first in range(0, len(ids), _AT_ONCE):
        yield ids[first : first + _AT_ONCE]


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))


def _gather(connection: sqlite3.Connection, scope: Scope) -> dict[str, list[str]]:
    """Return the ids of all records to erase, by table."""
    gathered: dict[str, list[str]] = {}
    for table in KINDS.values():
        condition, values = _condition(scope, table)
        found: list[Any] = []
        if condition is not None:
            found = connection.execute(f"SELECT id FROM {table} WHERE {condition}", values).fetchall()
        gathered[table] = [id for (id,) in found]
    if scope.user is not None:  # unconfirmed facts of the tenant that only this user observed
        found = connection.execute(
            "SELECT id FROM memory_fact f WHERE tenant = ? "
            "AND user = '' AND agent = '' AND decided_by IS NULL AND EXISTS (SELECT 1 FROM memory_observation o "
            "WHERE o.tenant = f.tenant AND o.hash = f.hash AND o.user = ?) AND NOT EXISTS ("
            "SELECT 1 FROM memory_observation o WHERE o.tenant = f.tenant AND o.hash = f.hash AND o.user <> ?)",
            (scope.tenant, scope.user, scope.user),
        ).fetchall()
        gathered["memory_fact"] = list(dict.fromkeys([*gathered["memory_fact"], *(id for (id,) in found)]))
    return gathered


def _erase_rows(
    connection: sqlite3.Connection, scope: Scope, ids: Mapping[str, Sequence[str]]
) -> dict[str, int]:
    counts: dict[str, int] = {}
    if scope.user is not None:  # the remaining observers do not learn of the erased one
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
        counts[kind] = 0
        for some in _some(ids[table]):
            which, bound = f"IN ({_marks(some)})", (scope.tenant, *some)
            counts[kind] += connection.execute(
                f"DELETE FROM {table} WHERE tenant = ? AND id {which}", bound
            ).rowcount
            connection.execute(f"DELETE FROM memory_log WHERE +tenant = ? AND record {which}", bound)
            if kind == "fact":
                connection.execute(f"DELETE FROM memory_observation WHERE tenant = ? AND fact {which}", bound)
    condition, values = _condition(scope, "memory_log")  # of records deleted earlier; one event replaces them
    connection.execute(f"DELETE FROM memory_log WHERE {condition}", values)
    for counted, table in (("observation", "memory_observation"), ("rejection", "memory_rejection")):
        condition, values = _condition(scope, table)
        if condition is not None:
            counts[counted] = connection.execute(f"DELETE FROM {table} WHERE {condition}", values).rowcount
    counts["trace"] = erase_traces(connection, tenant=scope.tenant, user=scope.user, agent=scope.agent)
    return counts


def _condition(scope: Scope, table: str) -> tuple[str | None, Sequence[str]]:
    """The condition for rows of a table within a scope; None if the table cannot contain any."""
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


def _listed(value: Any, name: str) -> list[Any]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise TypeError(f"{name}: expected a sequence, got {type(value).__name__}")
    return list(value)

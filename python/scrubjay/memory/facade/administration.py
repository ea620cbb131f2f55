"""What whoever runs the service does with a memory, of all scopes: care of the file, global policies, legal holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from numpy.typing import ArrayLike

from scrubjay._native import Scope
from scrubjay.index.documented import documented
from scrubjay.memory.gate.policies import policy_of, revoke_global, write_global
from scrubjay.memory.intake.consolidation import Consolidated, Merger, merge
from scrubjay.memory.intake.intake import Intake
from scrubjay.memory.ledger.changes import ChangeEvent, Sight
from scrubjay.memory.ledger.context import MemoryContext, checked_scope
from scrubjay.memory.ledger.deletions import deletions_of
from scrubjay.memory.ledger.holds import Hold, held_scopes
from scrubjay.memory.ledger.log import log_gone
from scrubjay.memory.ledger.trace import TraceEvent
from scrubjay.memory.lifecycle.consistency import Consistency
from scrubjay.memory.lifecycle.erasure import Erasure, MemoryErasure
from scrubjay.memory.lifecycle.sweeping import Sweeping, Swept
from scrubjay.memory.model.answers import Deletion
from scrubjay.memory.model.candidates import Outcome, Provenance
from scrubjay.memory.model.content import named
from scrubjay.memory.read.feed import checked_cursor
from scrubjay.memory.runs.runs import Runs
from scrubjay.payload import CreatedAt
from scrubjay.store.rows.listing import checked_count
from scrubjay.store.rows.scopes import names_of


class MemoryAdmin:
    """An administrator's verbs: :attr:`scrubjay.memory.Memory.admin`. They reach every scope, and no scope allows them.

    >>> import tempfile
    >>> from scrubjay import HeldError
    >>> from scrubjay.memory import Memory
    >>> folder, jane = tempfile.TemporaryDirectory(), Scope("acme", user="jane")
    >>> with Memory.open(folder.name + "/memory.scrubjay") as memory:
    ...     name = memory.admin.hold(jane, reason="case 17", by="legal")
    ...     try:
    ...         memory.forget(jane)
    ...     except HeldError as error:
    ...         print(error.reason)
    ...     print(memory.admin.release(jane, by="legal", name=name), memory.forget(jane).total)
    case 17
    True 0
    >>> folder.cleanup()
    """

    def __init__(
        self,
        context: MemoryContext,
        consistency: Consistency,
        erasure: Erasure,
        sweeping: Sweeping,
        intake: Intake,
        runs: Runs,
    ) -> None:
        self._context = context
        self._consistency = consistency
        self._erasure = erasure
        self._sweeping = sweeping
        self._intake = intake
        self._runs = runs

    # ------------------------------------------------------------------ care of the file

    @documented(Consistency.check)
    def check(self) -> list[str]:
        """Return what is wrong between the records and the documents that are searched; empty: nothing."""
        return self._consistency.check()

    @documented(Consistency.reindex)
    def reindex(self) -> int:
        """Make documents again that are missing or old, delete those of no record; return how many there were."""
        return self._consistency.reindex()

    @documented(Sweeping.sweep)
    def sweep(self) -> Swept:
        """Delete expired records, let facts age, and delete rows that were only kept for :meth:`Memory.why`."""
        return self._sweeping.sweep()

    def compact(self) -> None:
        """Make what was deleted or forgotten disappear from the files (see :meth:`scrubjay.Admin.compact`)."""
        self._context.documents.admin.compact(progress=False)

    @documented(Erasure.verify_erased)
    def verify_erased(
        self,
        scope: Scope,
        texts: Iterable[str] = (),
        vectors: Iterable[ArrayLike] = (),
        names: Iterable[str] = (),
    ) -> MemoryErasure:
        """Look for what should be gone."""
        return self._erasure.verify_erased(scope, texts, vectors, names)

    def deletions(self, tenant: str) -> list[Deletion]:
        """Return the deletion events of a tenant, oldest first."""
        with self._context.reading() as connection:
            return deletions_of(connection, Scope(tenant).tenant)

    @documented(Intake.consolidate)
    def consolidate(
        self, scope: Scope, merger: Merger = merge, likeness: float = 0.8, least_episodes: int = 5,
        dry_run: bool = False,
    ) -> Consolidated:  # fmt: skip
        """Merge what is said twice and sum up episodes of one task type."""
        return self._intake.consolidate(scope, merger, likeness, least_episodes, dry_run)

    @documented(Runs.find_in_traces)
    def find_in_traces(
        self, text: str, scope: Scope, *, run_id: str | None = None, limit: int = 100,
    ) -> list[tuple[str, TraceEvent]]:  # fmt: skip
        """Return (run id, event) of events of exactly this scope that hold `text`, newest first; for forensics."""
        return self._runs.find_in_traces(text, scope, run_id=run_id, limit=limit)

    # ------------------------------------------------------------------ policies of all tenants

    def global_policy(
        self,
        key: str,
        text: Any = "",
        *,
        by: str,
        value: Any = None,
        type: str = "",
        mandatory: bool = False,
        effective_from: CreatedAt | None = None,
        effective_until: CreatedAt | None = None,
        source: Provenance | str = "admin",
        sensitivity: str = "",
    ) -> Outcome:
        """Write the next version of a policy of all tenants, those to come included; it is confirmed at once.

        For whoever runs the service: no scope gives the right to it. It is in the clear in the file, also where
        tenants are encrypted, every tenant may read it, and :meth:`Memory.forget` does not touch it.

        Args:
            key: what it is about. A tenant's policy in force of the same key takes its place for that tenant.
            text, value, type, effective_from, effective_until, source, sensitivity: as for :meth:`Memory.policy`.
            by: who takes responsibility.
            mandatory: it goes before tenants' policies of its key.

        Raises:
            TypeError, ValueError: the message names the argument, what was expected and what was given.
        """
        candidate = policy_of(key, text, effective_from, effective_until, value, type, sensitivity)
        return write_global(self._context, candidate, by=by, source=source, mandatory=mandatory)

    def revoke_global_policy(self, id: str, *, reason: str, by: str) -> None:
        """Take a version of a global policy out of force permanently, for all tenants.

        Args:
            id: of the version.
            reason, by: why, and who decided it.

        Raises:
            KeyError: no global policy that is not revoked has this id.
            ValueError: no reason is given, or no name.
        """
        revoke_global(self._context, id, reason=reason, by=by)

    # ------------------------------------------------------------------ legal holds

    def hold(self, scope: Scope, *, reason: str, by: str, name: str | None = None) -> str:
        """Hold everything of a scope and within it, what is written later included, until it is released.

        Records: `forget`, `delete` and `update` raise :class:`scrubjay.HeldError` for them, and a sweep leaves them.
        Notes, which are documents of the index and its collections: so does every way of writing that would replace,
        change or delete one, by any caller, and a collection that has some cannot be dropped. New documents and records
        may be written. What expires, is revoked or superseded is out of force all the same, and stays.

        Args:
            scope: of any tenant.
            reason: shown to who is refused.
            by: the name of who sets it.
            name: of the hold. A scope may have several, and each is released by its name; one of this name that is
                there gets the new reason. None: the reason is the name.

        Returns:
            The name.
        """
        checked_scope(scope)
        reason, by = named(reason, "reason"), named(by, "by")
        name = reason if name is None else named(name, "name")
        with self._context.changing("setting a legal hold", of=[scope.tenant]) as change:
            change.connection.execute(
                "INSERT INTO memory_hold(tenant, user, agent, reason, by, at, name) VALUES (?, ?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (tenant, user, agent, name) DO UPDATE SET reason = excluded.reason, by = excluded.by",
                (*names_of(scope), reason, by, change.now, name),
            )
            log_gone(change, "", names_of(scope), "held", by)
        return name

    def release(self, scope: Scope, *, by: str, name: str | None = None) -> bool:
        """Release a hold on exactly this scope; False if there is none. Other holds, on it and on wider scopes, stay.

        Args:
            scope: what was held.
            by: who decided it.
            name: of the hold; None: of the only one.

        Raises:
            ValueError: no name is given, and the scope has several holds; nothing was released.
        """
        checked_scope(scope)
        by = named(by, "by")
        if name is not None:
            name = named(name, "name")
        with self._context.changing("releasing a legal hold", of=[scope.tenant]) as change:
            there = [one.name for one in held_scopes(change.connection, scope.tenant) if one.scope == scope]
            if name is None and len(there) > 1:
                raise ValueError(
                    f"name: expected that of one of the holds, {', '.join(map(repr, there))}, got None"
                )
            released = [one for one in there if name in (None, one)]
            for one in released:
                change.connection.execute(
                    "DELETE FROM memory_hold WHERE tenant = ? AND user = ? AND agent = ? AND name = ?",
                    (*names_of(scope), one),
                )
                log_gone(change, "", names_of(scope), "released", by)
        return bool(released)

    def holds(self, tenant: str | None = None) -> list[Hold]:
        """Return the holds on the scopes of a tenant (None: of all tenants), in the order of the scopes, those of one
        scope in that of time."""
        if tenant is not None:
            tenant = Scope(tenant).tenant
        with self._context.reading() as connection:
            return held_scopes(connection, tenant)

    # ------------------------------------------------------------------ the feed of all scopes

    def changes(self, since: int = 0, *, limit: int = 1000) -> list[ChangeEvent]:
        """Return the changes of all scopes after a cursor, as :meth:`Feed.changes` does of one.

        Args:
            since: the cursor of the last change that is known; 0: from the beginning.
            limit: how many at most; over PostgreSQL, of those with the number of the last one all.
        """
        checked_count(limit, "limit")
        return self._context.changes.after(checked_cursor(since), Sight(None), limit)

    def on_change(self, function: Callable[[ChangeEvent], object]) -> Callable[[], None]:
        """Call a function with each change of any scope, as :meth:`Feed.on_change` does of one."""
        return self._context.changes.follow(function, Sight(None))

"""Administration of a memory, across all scopes: care of the file, global policies, legal holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from numpy.typing import ArrayLike

from scrubjay._native import Scope
from scrubjay.documents.payload import CreatedAt
from scrubjay.index.shared_docstrings import documented
from scrubjay.memory.gate.policies import policy_of, revoke_global, write_global
from scrubjay.memory.intake.consolidation import Consolidated, Merger, merge
from scrubjay.memory.intake.intake import Intake
from scrubjay.memory.ledger.changes import ChangeEvent, EventScope
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
from scrubjay.store.rows.listing import checked_count
from scrubjay.store.rows.scopes import names_of


class MemoryAdmin:
    """The administrator's methods, :attr:`scrubjay.memory.Memory.admin`. They reach every scope; no scope grants them.

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

    def __repr__(self) -> str:
        return f"<scrubjay.memory.MemoryAdmin of {self._context.index.path}>"

    # ------------------------------------------------------------------ care of the file

    @documented(Consistency.check)
    def check(self) -> list[str]:
        """Return the inconsistencies between the records and the search documents; empty: there are none."""
        return self._consistency.check()

    @documented(Consistency.reindex)
    def reindex(self) -> int:
        """Rebuild missing or outdated documents and delete those without a record; return how many there were."""
        return self._consistency.reindex()

    @documented(Sweeping.sweep)
    def sweep(self) -> Swept:
        """Delete expired records, let facts age, and delete rows that were kept only for :meth:`Memory.why`."""
        return self._sweeping.sweep()

    def compact(self) -> None:
        """Remove deleted and forgotten data from the files physically (see :meth:`scrubjay.Admin.compact`)."""
        self._context.documents.admin.compact(progress=False)

    @documented(Erasure.verify_erased)
    def verify_erased(
        self,
        scope: Scope,
        texts: Iterable[str] = (),
        vectors: Iterable[ArrayLike] = (),
        names: Iterable[str] = (),
    ) -> MemoryErasure:
        """Look for remains of erased data."""
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
        """Merge duplicates, and summarise episodes of one task type."""
        return self._intake.consolidate(scope, merger, likeness, least_episodes, dry_run)

    @documented(Runs.find_in_traces)
    def find_in_traces(
        self, text: str, scope: Scope, *, run_id: str | None = None, limit: int = 100,
    ) -> list[tuple[str, TraceEvent]]:  # fmt: skip
        """Return (run id, event) for events of exactly this scope that contain `text`, newest first; for forensics."""
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
        """Write the next version of a policy of all tenants, including future ones; it is confirmed at once.

        For the operator of the service: no scope grants it. The policy is stored in the clear even where tenants are
        encrypted, every tenant may read it, and :meth:`Memory.forget` does not touch it.

        Args:
            key: the subject of the policy. A tenant's policy in force with the same key overrides it for that tenant.
            text, value, type, effective_from, effective_until, source, sensitivity: as for :meth:`Memory.policy`.
            by: the name of the person who is responsible.
            mandatory: whether it overrides tenants' policies with its key.

        Raises:
            TypeError, ValueError: the message names the argument, what was expected and what was given.
        """
        candidate = policy_of(key, text, effective_from, effective_until, value, type, sensitivity)
        return write_global(self._context, candidate, by=by, source=source, mandatory=mandatory)

    def revoke_global_policy(self, id: str, *, reason: str, by: str) -> None:
        """Take a version of a global policy out of force permanently, for all tenants.

        Args:
            id: the id of the version.
            reason, by: the reason, and the name of the person who decided it.

        Raises:
            KeyError: no global policy with this id exists that is not revoked.
            ValueError: `reason` or `by` is empty.
        """
        revoke_global(self._context, id, reason=reason, by=by)

    # ------------------------------------------------------------------ legal holds

    def hold(self, scope: Scope, *, reason: str, by: str, name: str | None = None) -> str:
        """Place a legal hold on a scope and all scopes within it, including later writes, until it is released.

        Records: `forget`, `delete` and `update` raise :class:`scrubjay.HeldError` for them, and sweeps keep them.
        Notes (documents of the index and its collections): every write by any caller that would replace, change or
        delete one raises it as well, and a collection that contains held notes cannot be dropped. New documents and
        records may be written. A record that expires, is revoked or superseded still goes out of force; its row stays.

        Args:
            scope: a scope of any tenant.
            reason: shown to callers whose operation is refused.
            by: the name of the person who sets the hold.
            name: the name of the hold. A scope may have several holds, each released by its name; an existing hold of
                this name gets the new reason. None: the reason is the name.

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
        """Release a hold on exactly this scope; return False if there is none. Other holds on it or around it stay.

        Args:
            scope: the scope of the hold.
            by: the name of the person who decided it.
            name: the name of the hold; None: the only one.

        Raises:
            ValueError: no name is given and the scope has several holds; nothing was released.
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
        """Return the holds on the scopes of a tenant (None: of all tenants), ordered by scope, then by time."""
        if tenant is not None:
            tenant = Scope(tenant).tenant
        with self._context.reading() as connection:
            return held_scopes(connection, tenant)

    # ------------------------------------------------------------------ the feed of all scopes

    def changes(self, since: int = 0, *, limit: int = 1000) -> list[ChangeEvent]:
        """Return the changes of all scopes after a cursor, as :meth:`Feed.changes` does of one.

        Args:
            since: the cursor of the last change already seen; 0: from the beginning.
            limit: the maximum number. Over PostgreSQL changes may share a number: all that share the last are returned.
        """
        limit = checked_count(limit, "limit")
        return self._context.changes.after(checked_cursor(since), EventScope(None), limit)

    def on_change(self, function: Callable[[ChangeEvent], object]) -> Callable[[], None]:
        """Call a function with each change in any scope, as :meth:`Feed.on_change` does for one."""
        return self._context.changes.follow(function, EventScope(None))

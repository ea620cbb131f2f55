"""The partitions in the native engine, kept equal to the rows.

A partition is resident when the engine holds its documents as of version `applied` of its scope. A search
requests the partitions that it sees: a partition that is not resident is loaded from its images or rows, a stale
one replays the rows and deletions since. Evictions and replacements are numbered, so that a search that
overlapped one is repeated. Expired documents are removed before a search.

States of a partition::

    absent --bring: image or rows--> current --commit of another process--> stale
    stale --bring: changes since `applied`, or all if that is before the horizon--> current
    current --commit of this process, applied directly--> current
    any --drop: eviction, a destroyed key, another model, another history--> absent

The writer applies its own commits if the partition is at the version before them; otherwise it marks the
partition as stale.

Lock order (a thread waits only for locks further to the right): the store's write lock or `Budget.evicting`,
`Partition.lock`, `Residency._lock`, then the leaves `_departing` and `Budget._lock`. One thread loads a partition
under its lock; other searches that need it wait for that partition only. Where the order is reversed (eviction
writes an image, `_forget_partitions` takes partition locks) the lock is tried without waiting.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

from scrubjay._native import Engine, Scope
from scrubjay.base.errors import EncryptionError, StoreError, StoreUnavailableError
from scrubjay.base.locks import is_mine
from scrubjay.store.residency.budget import Budget
from scrubjay.store.residency.housekeeping import Housekeeper
from scrubjay.store.residency.loading import FEW, UNFINISHED, PartitionLoading
from scrubjay.store.residency.loads import Loads
from scrubjay.store.residency.partition import NEVER, Partition
from scrubjay.store.rows.single_write import Glances, OwnCommit, ScopeChange
from scrubjay.store.rows.values import ScopeState
from scrubjay.store.seam import Store

View = tuple[tuple[Partition, ...], int]
"""The partitions that a scope sees, and a stamp for :meth:`Residency.held`."""

_MAX_KNOWN = 20_000  # partitions that have an object without being resident
_MAX_BLOB_BYTES = 900_000_000  # SQLite's limit for a BLOB is slightly higher
# The share of a partition that may change before its image is written again: at eviction, when idle, while it is
# being written to. Replaying a document costs as much as writing ten into an image.
_STALE_SHARE, _RESTING_SHARE, _WORKING_SHARE = 0.02, 0.1, 0.25
_REST_SECONDS = 1.0
_EVICTING_SECONDS = 0.0005  # time that a search spends on eviction
_UNDECIDED_SECONDS = 0.0005  # for which a search waits for the outcome of a commit that it saw


class _Trusting(int):
    """The stamp of a view that was taken during a commit of this process."""

    own: OwnCommit

    @classmethod
    def of(cls, stamp: int, own: OwnCommit) -> _Trusting:
        """Return the stamp of a view that depends on a commit in progress."""
        trusting = cls(stamp)
        trusting.own = own
        return trusting


class Residency(PartitionLoading):
    """The partitions of one native engine over one store. Thread-safe."""

    def __init__(
        self,
        store: Store,
        engine: Engine,
        *,
        budget: Budget,
        clock: Callable[[], int],
        generation: int = 0,
        on_new_model: Callable[[], None] = lambda: None,
    ) -> None:
        self.generation = generation  # of the model whose vectors the engine holds
        self._on_new_model = on_new_model
        self.engine = engine
        self.budget = budget
        self.housekeeper = Housekeeper(self)
        self.loads = Loads()
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()  # guards the tables below, `_seen` and the versions of partitions
        self._partitions: dict[Scope, Partition] = {}
        self._views: dict[Scope, tuple[Partition, ...]] = {}
        self._changed: dict[Partition, None] = {}  # partitions whose images may be outdated
        self.left_behind: set[Partition] = set()
        """Resident partitions that are not current because the rows could not be read."""
        self._n_restarts = 0  # how often the store's history was replaced
        self._departing = threading.Lock()
        self._n_departures = 0
        self._glance: object = None
        # the commit of this process that is neither applied nor abandoned yet
        self._own: OwnCommit | None = None
        self._keyed = store.cipher.ring is not None
        self._asks_each_time = store.asks_each_time
        self.may_be_stale = store.path is None
        """Whether `freshness` is meaningful: a file is never stale."""
        self.freshness = store.freshness
        """Return for how many seconds writes of other processes may be unseen by this thread's last search, and
        whether that exceeds the promised bound. Bound to the store's own method, because it is called after every
        search."""
        self._erased: set[str] = set()  # tenants with destroyed keys that are not in memory
        self._tick_when_asked = 0
        store.watch(self.used)
        self._seen = store.mark()  # the scopes written to before this mark have been marked

    def use_clock(self, clock: Callable[[], int]) -> None:
        """Use another clock from now on."""
        self._clock = clock

    # ------------------------------------------------------------------ before a search

    def view(self, scope: Scope) -> View:
        """Return the partitions visible to `scope`, resident and current, and a stamp for :meth:`held`.

        No partitions if the tenant's key was destroyed.

        Raises:
            EncryptionError: the tenant's key is not available.
        """
        if self._keyed and not self._readable(scope):
            return (), self._n_departures
        glance, own = self._store.glance(), None
        if glance != self._glance:
            own = self._explanation(glance)
            if own is None:
                self.mark_changed()
                self._glance = glance  # set last: another thread may rely on the marks
        view = self._views.get(scope)
        if view is None:
            view = self._make_view(scope)
        stamp = self._n_departures  # read first, so that a later departure has a greater number
        if own is not None:
            stamp = _Trusting.of(stamp, own)
        tick = self.budget.tick()
        brought = False
        for partition in view:
            partition.last_used = tick
            if not partition.ready:
                brought = self.bring(partition) or brought
            elif partition.next_expiry != NEVER and partition.next_expiry <= self._clock():
                self._expire(partition)
        if brought:
            self._evict_briefly(view)
            return self.view(scope)
        return view, stamp

    def view_together(self, scopes: Sequence[Scope]) -> tuple[list[Scope], View]:
        """Return the scopes whose tenants' keys exist, and a view of all of them like :meth:`view`, with each
        partition once. The partitions are in memory at the same time, whatever the budget.

        Raises:
            EncryptionError: a tenant's key is not available.
        """
        if self._keyed:
            scopes = [scope for scope in scopes if self._readable(scope)]
        self._look()
        while True:
            stamp = self._n_departures  # read first, as in `view`
            seen = self._views_of(scopes)
            tick, brought = self.budget.tick(), False
            for partition in seen:
                partition.last_used = tick
                if not partition.ready:
                    brought = self.bring(partition) or brought
                elif partition.next_expiry != NEVER and partition.next_expiry <= self._clock():
                    self._expire(partition)
            if not brought:
                return list(scopes), (seen, stamp)
            self._evict_briefly(seen)

    def _views_of(self, scopes: Sequence[Scope]) -> tuple[Partition, ...]:
        partitions: dict[Partition, None] = {}
        for scope in scopes:
            partitions.update(dict.fromkeys(self._views.get(scope) or self._make_view(scope)))
        return tuple(partitions)

    def _look(self) -> None:
        """Mark the partitions written to since the last glance."""
        glance = self._store.glance()
        if glance != self._glance:
            self.mark_changed()
            self._glance = glance  # set last: another thread may rely on the marks

    def _explanation(self, glance: object) -> OwnCommit | None:
        """Return the commit of this process that alone explains the difference between a glance and the last one;
        None: others may have committed."""
        own, known = self._own, self._glance
        return own if own is not None and own.explains(known, glance) else None

    def view_now(self, scope: Scope) -> View | None:
        """Return what :meth:`view` returns, or None if that could read the file, request a key or wait for a
        lock."""
        if self._keyed or self._asks_each_time or self._store.glance() != self._glance:
            return None
        view = self._views.get(scope)
        if view is None:
            return None
        stamp, tick = self._n_departures, self.budget.tick()
        for partition in view:
            if not partition.ready or (
                partition.next_expiry != NEVER and partition.next_expiry <= self._clock()
            ):
                return None
            partition.last_used = tick
        return view, stamp

    def _readable(self, scope: Scope) -> bool:
        """Check the tenant's key. If it was destroyed, remove everything of the tenant from memory."""
        tenant = scope.tenant
        if self._store.cipher.readable(tenant):
            if self._erased:
                self._erased.discard(tenant)
            if scope.user is not None and self._store.cipher.is_erased(tenant, scope.user):
                self._forget_user(scope)
            return True
        seen = (self._partitions.get(visible) for visible in scope.visible())
        left = tenant not in self._erased or any(
            partition is not None and partition.memory_bytes for partition in seen
        )
        if left and self.forget_tenant(tenant, wait=False):
            self._erased.add(tenant)
        return False

    def _forget_user(self, scope: Scope) -> None:
        """Mark the partitions of a user whose key was destroyed as stale; reading them again leaves them empty."""
        with self._lock:
            for visible in scope.visible():
                partition = self._partitions.get(visible)
                if visible.user is not None and partition is not None and not partition.erased:
                    partition.ready = False

    def forget_tenant(self, tenant: str | None, *, wait: bool) -> bool:
        """Drop all partitions of a tenant, or of all tenants; the next search loads what it needs.

        Returns False, without `wait`, if eviction is suspended (:meth:`without_eviction`).
        """
        if not wait and is_mine(self.budget.evicting):
            return False
        if not self.budget.evicting.acquire(blocking=wait):
            return False
        try:
            with self._lock:
                known = [p for p in self._partitions.values() if tenant is None or p.scope.tenant == tenant]
            for partition in known:
                with partition.lock:
                    if not partition.retired:
                        self.drop(partition)
        finally:
            self.budget.evicting.release()
        return True

    def held(self, view: tuple[Partition, ...], stamp: int) -> bool:
        """Whether a view is still valid: none of its partitions left the engine since it was taken, and the
        commit of this process that it depends on did not fail."""
        if type(stamp) is not int and isinstance(stamp, _Trusting) and not self._is_trusted(stamp.own):
            return False
        return stamp == self._n_departures or all(partition.left_at <= stamp for partition in view)

    def _is_trusted(self, own: OwnCommit) -> bool:
        # If it fails, the search saw the commit of another process. A commit is visible some microseconds before its
        # outcome is known here: waiting for it takes less time than reading what was written, under a lock that the
        # writer needs next, and searching again.
        is_done = own.outcome(_UNDECIDED_SECONDS)
        if is_done is None:  # it copies the log into the file, or waits for a processor
            self._look()
        return bool(is_done)

    def damage(self, scopes: Sequence[Scope]) -> tuple[int, int]:
        """Return how many documents visible to `scopes` have unreadable vectors, and how many are missing."""
        view = {partition for scope in scopes for partition in self._views.get(scope, ())}
        return sum(one.n_without_vector for one in view), sum(one.n_lost for one in view)

    def without_eviction(self) -> AbstractContextManager[bool]:
        """Suspend eviction for the duration of a block, for searches that were disturbed repeatedly."""
        return self.budget.evicting

    def mark_changed(self) -> None:
        """Find the scopes written to since the last call, and mark their partitions as stale."""
        with self._lock:
            self._seen, changed, is_renewed = self._store.noticed(self._seen)
            if changed is None:
                self._n_restarts += 1
            for scope, version in changed or ():
                partition = self._partitions.get(scope)
                if partition is None or version <= partition.version:
                    continue
                partition.version = version
                if not partition.is_current():
                    partition.ready = False
        if changed is None:
            self.start_over()
        elif (changed or is_renewed) and self._store.generation() != self.generation:
            self._on_new_model()

    def partition(self, scope: Scope) -> Partition:
        """Return the partition of exactly this scope."""
        with self._lock:
            return self._partition(scope)

    def _partition(self, scope: Scope) -> Partition:
        partition = self._partitions.get(scope)
        if partition is None:
            # Read under the lock: a concurrent change is either in this state, or marks the new entry.
            return self._enter(scope, self._store.scope_state(scope))
        return partition

    def _enter(self, scope: Scope, state: ScopeState | None) -> Partition:
        empty = state is None or state.documents == 0
        partition = Partition(self, scope, 0 if state is None else state.version, empty=empty)
        self._partitions[scope] = partition
        return partition

    def _make_view(self, scope: Scope) -> tuple[Partition, ...]:
        with self._lock:
            if len(self._partitions) > _MAX_KNOWN:
                self._forget_partitions()
            visible = scope.visible()
            unknown = [seen for seen in visible if seen not in self._partitions]
            states = dict(zip(unknown, self._store.scope_states(unknown), strict=True)) if unknown else {}
            view = tuple(
                self._enter(seen, states[seen]) if seen in states else self._partitions[seen]
                for seen in visible
            )
            self._views[scope] = view
            return view

    def _forget_partitions(self) -> None:
        """Drop the objects of partitions that occupy no memory."""
        self._views.clear()
        partitions = {}
        for scope, partition in self._partitions.items():
            if partition.memory_bytes or partition.in_flight or not partition.lock.acquire(blocking=False):
                partitions[scope] = partition
                continue
            partition.retired = True
            partition.ready = False
            partition.lock.release()
        self._partitions = partitions

    def bring(self, partition: Partition) -> bool:
        """Make a partition resident and current; False if the rows cannot be read now and it stays resident but
        stale.

        Raises:
            StoreUnavailableError: the rows cannot be read, and it is not resident.
        """
        with partition.lock:
            while not partition.ready and not partition.retired:
                try:
                    self._read(partition)
                except StoreUnavailableError:
                    if partition.resident:
                        self.left_behind = {*self.left_behind, partition}
                        return False
                    self.drop(partition)
                    raise
                except BaseException:
                    self.drop(partition)
                    raise
        return True

    def is_behind(self, scopes: Sequence[Scope]) -> bool:
        """Whether a partition visible to `scopes` is known to be stale; call if `left_behind` is not empty."""
        self.left_behind = {
            partition for partition in self.left_behind if not partition.ready and partition.resident
        }
        return any(not self.left_behind.isdisjoint(self._views.get(scope, ())) for scope in scopes)

    def stamp(self, scope: Scope) -> int:
        """Return the version of exactly this scope, as far as this process knows: at least that of its own
        writes, including those of other collections."""
        self._look()
        return self.partition(scope).version

    def reach(self, scope: Scope, version: int) -> None:
        """Ensure that the next search sees at least this version of exactly this scope.

        Raises:
            StoreUnavailableError: the store does not have it now.
        """
        partition = self.partition(scope)
        if partition.version >= version and (partition.ready or self.bring(partition)):
            return
        state = self._store.scope_state(scope)
        version_found = 0 if state is None else state.version
        with self._lock:
            if version_found > partition.version:
                partition.version = version_found
                partition.ready = False
        if version_found < version or not self.bring(partition):
            raise StoreUnavailableError(
                f"after: expected version {version} of {scope!r}, found {version_found}: the write was lost in a "
                f"failover, or the server that has it does not answer: {self._store.place}"
            )

    # ------------------------------------------------------------------ around a commit of this process

    def announce(
        self, changes: Sequence[ScopeChange], own: OwnCommit | None = None
    ) -> list[tuple[Partition, ScopeChange]]:
        """Return the changes that this process is about to commit with the partitions of their scopes, which stay
        unchanged until :meth:`confirm`. `own` describes how a glance shows this commit."""
        announced = []
        with self._lock:
            self._own = own
            known = self._partitions
            for change in changes:
                scope = change[0][0]
                announced.append((known.get(scope) or self._partition(scope), change))
        return announced

    def confirm(self, announced: Sequence[tuple[Partition, ScopeChange]]) -> None:
        """Note, after a successful commit, that this process will apply its versions itself.

        Not before: if the commit fails, another process may write the same version of a scope before the failure is
        known here, and searches must read that write.
        """
        with self._lock:
            for partition, ((_, before, after, _, _, _), _, _) in announced:
                partition.in_flight, partition.in_flight_from = after, before

    def abandon(self, changes: Sequence[ScopeChange]) -> None:
        """After a commit that failed or could not be applied: let the next search read what is stored."""
        self._own = None
        for written, _, _ in changes:
            partition = self.partition(written.scope)
            with self._lock:
                partition.in_flight = 0
                partition.ready = False

    def apply(self, partition: Partition, change: ScopeChange) -> None:
        """Apply what was just committed to one scope, if the partition is at the version before the commit.

        Args:
            partition: of the scope, as :meth:`announce` returned it.
            change: the committed change of the scope.
        """
        # Fields of named tuples are unpacked: a look-up by name takes as long as five assignments.
        (scope, before, after, n_before, deleted, erased), rows, prepared = change
        if partition.retired:  # replaced since it was announced
            partition = self.partition(scope)
        with partition.lock:
            if partition.applied < after:
                if n_before == 0 and not (partition.resident and partition.applied == before):
                    self.drop(partition)
                    partition.resident, partition.applied = True, before
                if partition.resident and partition.applied == before:
                    partition.resident = False  # while it is incomplete
                    if erased:
                        self.drop(partition)
                    elif deleted and rows:
                        self.disturb(partition)
                    if deleted:
                        self._forget(partition, deleted)
                    n_bytes = self._put(partition, rows, prepared)
                    partition.resident, partition.erased, partition.applied = True, False, after
                    self._count_changes(partition, len(deleted) + len(rows))
                    if n_bytes is None:
                        self.measure(partition)
                    else:
                        self.budget.charge(partition, n_bytes)
                    for row in rows:
                        if row.expires_at is not None:
                            partition.next_expiry = min(partition.next_expiry, row.expires_at)
            with self._lock:
                partition.in_flight = 0
                if partition.version < after:
                    partition.version = after
                partition.ready = partition.resident and partition.applied >= partition.version

    def settle(self, glances: Glances | None) -> None:
        """Record that a commit of this process was applied. If everything before it was marked, the next search
        need not ask the store what was written. None: others may have committed as well."""
        with self._lock:
            if glances is not None:
                before, after, mark = glances
                if self._glance == before:
                    self._seen, self._glance = mark, after
            self._own = None  # cleared last: a search that finds no commit compares the glance

    def drop(self, partition: Partition) -> None:
        """Remove a partition from the engine; the caller holds its lock. Overlapping searches are repeated."""
        partition.ready = False
        self._depart(partition)
        partition.resident = partition.erased = False
        partition.applied = partition.n_changed = partition.n_damaged = 0
        partition.n_lost = partition.n_without_vector = 0
        partition.graph_saved = False
        self._changed.pop(partition, None)
        self.budget.charge(partition, 0)
        partition.next_expiry = NEVER
        self.engine.erase(partition.scope, exact=True)

    def disturb(self, partition: Partition) -> None:
        """Prepare for deleting and adding documents in two steps of the engine: overlapping searches are
        repeated, new ones wait. The caller holds the partition's lock, and makes it ready again."""
        partition.ready = False
        self._depart(partition)

    def _depart(self, partition: Partition) -> None:
        with self._departing:
            partition.left_at = self._n_departures + 1
            self._n_departures += 1

    def restart(self, engine: Engine, generation: int) -> None:
        """Continue with an empty engine, for vectors of another model."""
        with self._lock:
            known = list(self._partitions.values())
            if generation == self.generation:
                return
            for partition in known:  # an overlapping search must not return the results of an empty engine
                partition.ready = False
                self._depart(partition)
            self.generation = generation
            self.engine = engine
        for partition in known:
            with partition.lock:
                self.drop(partition)

    def start_over(self) -> None:
        """Drop every partition, because the store's history was replaced by one whose versions are not
        comparable.

        Overlapping searches are repeated.
        """
        with self._lock:
            known = list(self._partitions.values())
            for partition in known:
                partition.ready = False
                self._depart(partition)
        for partition in known:
            with partition.lock:
                self.drop(partition)
                with self._lock:
                    partition.version = partition.in_flight = 0

    # ------------------------------------------------------------------ memory and images

    def is_bringing(self) -> bool:
        """Whether this thread is changing a partition of the engine."""
        return any(is_mine(partition.lock) for partition in list(self._partitions.values()))

    def resident(self) -> list[Partition]:
        """Return the partitions that occupy memory."""
        with self._lock:
            return [p for p in self._partitions.values() if p.resident and p.memory_bytes]

    def used(self) -> list[Scope]:
        """Return the resident scopes that were searched since the last call."""
        last_tick, self._tick_when_asked = self._tick_when_asked, self.budget.tick()
        return [partition.scope for partition in self.resident() if partition.last_used > last_tick]

    def evict(self, keep: Sequence[Partition] = ()) -> None:
        """Evict the least recently used partitions until the rest fits the budget.

        Pinned partitions and those in `keep` stay, and so do dirty ones whose images cannot be written right now.
        """
        self.budget.evict(keep)

    def _evict_briefly(self, keep: Sequence[Partition]) -> None:
        """Evict while a search waits; what takes longer is left to the housekeeper."""
        if not self.budget.evict(keep, seconds=_EVICTING_SECONDS):
            self.housekeeper.note()

    def let_go(self, partition: Partition, *, briefly: bool = False) -> bool:
        """Evict a partition; False if it is in use, or dirty and its image cannot be written (`briefly`: must not
        be written)."""
        if self.is_dirty(partition) and (briefly or not self.save(partition)):
            return False
        if not partition.lock.acquire(blocking=False):
            return False
        try:
            self.drop(partition)
        finally:
            partition.lock.release()
        if self.budget.freed_much():
            self.housekeeper.note()
        return True

    def is_dirty(self, partition: Partition, *, share: float = _STALE_SHARE) -> bool:
        """Whether so much changed since the image was written that replaying it is slow, or the image lacks the
        graph."""
        if self._lacks_graph(partition):
            return True
        if partition.n_changed <= FEW:
            return False
        state = self._store.scope_state(partition.scope)
        return state is not None and partition.n_changed > share * state.documents

    def _lacks_graph(self, partition: Partition) -> bool:
        """Whether the engine has a graph that the image lacks. Building one for a large partition takes minutes."""
        return (
            not partition.graph_saved
            and partition.resident
            and not partition.n_damaged
            and self.engine.graph_state(partition.scope) == "built"
        )

    def save(self, partition: Partition, *, wait: bool = False, in_background: bool = False) -> bool:
        """Write the images of a resident partition; False if the write lock could not be acquired, or the write
        failed.

        The caller holds neither the write lock nor the partition's lock: a writer may wait for a partition, so no
        holder of a partition may wait for a writer.
        """
        with partition.lock:
            if not partition.resident or partition.applied == 0 or partition.n_damaged:
                return True  # an image would hide that vectors are missing
            version, n_changed, stamp = partition.applied, partition.n_changed, partition.left_at
            n_restarts = self._n_restarts
            # read before saving: a graph that is built meanwhile may not be in the image
            new_graph = self._lacks_graph(partition)
            replace = partition.unreadable or new_graph
            chunks = self.engine.save_partition(partition.scope)
        if max(map(len, chunks), default=0) < _MAX_BLOB_BYTES:
            try:
                with (
                    self._store.image_in_pieces(partition.scope, version, chunks, replace=replace)
                    if wait
                    else nullcontext(chunks) as image,
                    self._store.writing(
                        "writing images", scopes=(), wait=wait, in_background=in_background
                    ) as transaction,
                ):
                    with self._lock:
                        is_current = n_restarts == self._n_restarts
                    if is_current:  # an image of another history would be mistaken for one of this
                        transaction.write_image(partition.scope, version, image, replace=replace)
            except EncryptionError:
                return True  # no key could read it
            except StoreError:
                return False
        with partition.lock:
            if partition.left_at == stamp:
                partition.n_changed = max(partition.n_changed - n_changed, 0)
                partition.unreadable = False
                if new_graph:
                    partition.graph_saved = True
                    self.measure(partition)
        return True

    def tidy(self) -> bool | None:
        """Evict what searches left over, write images of partitions that are idle or have changed by a quarter,
        and return freed memory to the system.

        An idle partition whose graph is being built waits for it, so that image and graph are written together.
        """
        self.evict()
        now = time.monotonic()
        for partition in list(self._changed):
            resting = now - partition.changed_at >= _REST_SECONDS
            if resting and not self.is_dirty(partition, share=_RESTING_SHARE):
                if self.engine.graph_state(partition.scope) not in UNFINISHED:
                    self._changed.pop(partition, None)
            elif resting or self.is_dirty(partition, share=_WORKING_SHARE):
                self._changed.pop(partition, None)
                if not self.save(partition, wait=True, in_background=True):
                    self._changed[partition] = None
                    return None
        if self.budget.take_freed():
            self.engine.release_free_memory()
        return bool(self._changed)

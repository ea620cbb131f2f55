"""The partitions in the native engine, kept equal to the rows.

A partition is resident when the engine holds its documents as of version `applied` of its scope. A search asks for the
partitions that it sees; a partition that is not resident is loaded from its images or rows, a stale one replays the
rows and deletions since. Evictions and replacements are numbered, so that a search that overlapped one knows that it
must run again. The passing of time is a change, too: expired documents are removed before a search.

One lock a partition: one thread loads it, others that need it wait for that alone. The writer applies its own commits
directly if the partition is at the version before them; in every other case the partition is marked as stale.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from scrubjay._native import Engine, Scope
from scrubjay.errors import EncryptionError, StoreError, StoreUnavailableError
from scrubjay.locks import is_mine
from scrubjay.store.residency.budget import Budget
from scrubjay.store.residency.filling import FEW, UNFINISHED, Filling
from scrubjay.store.residency.housekeeping import Housekeeper
from scrubjay.store.residency.loads import Loads
from scrubjay.store.residency.partition import NEVER, Partition
from scrubjay.store.rows.single import Glances, OwnCommit, ScopeChange
from scrubjay.store.rows.stored import ScopeState
from scrubjay.store.seam import Store

View = tuple[tuple[Partition, ...], int]
"""The partitions that a scope sees, and a stamp for :meth:`Residency.held`."""

_MAX_KNOWN = 20_000  # partitions that are remembered without being resident
_MAX_BLOB_BYTES = 900_000_000  # SQLite takes a little more
# Of a partition, what may have changed before its image is written again: when it leaves, when it rests, while it
# changes. Catching a document up costs as much as writing ten into an image.
_STALE_SHARE, _RESTING_SHARE, _WORKING_SHARE = 0.02, 0.1, 0.25
_REST_SECONDS = 1.0
_EVICTING_SECONDS = 0.0005  # that a search spends on it


class _Trusting(int):
    """The stamp of a view that was taken while a commit of this process was under way."""

    own: OwnCommit

    @classmethod
    def of(cls, stamp: int, own: OwnCommit) -> _Trusting:
        """Return the stamp of a view that trusts in a commit."""
        trusting = cls(stamp)
        trusting.own = own
        return trusting


class Residency(Filling):
    """The partitions of one native engine over one store."""

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
        self._lock = threading.Lock()  # the tables below, `seen`, and versions
        self._partitions: dict[Scope, Partition] = {}
        self._views: dict[Scope, tuple[Partition, ...]] = {}
        self._changed: dict[Partition, None] = {}  # whose images may be old
        self.left_behind: set[Partition] = set()
        """Resident, and not current because the rows could not be read."""
        self._n_restarts = 0  # how often the store's history turned out to be another one
        self._departing = threading.Lock()
        self._n_departures = 0
        self._glance: object = None
        self._own: OwnCommit | None = None  # of this process, which is neither applied nor abandoned yet
        self._keyed = store.cipher.ring is not None
        self._asks_each_time = store.asks_each_time
        self.may_be_stale = store.path is None
        """Whether `freshness` can say anything: a file is always up to date."""
        self.freshness = store.freshness
        """Return for how many seconds what others wrote may be unknown to this thread's last search, and whether that
        is longer than promised. The store's own method: it is called after every search."""
        self._erased: set[str] = set()  # tenants whose keys were destroyed, and who are not in memory
        self._tick_when_asked = 0
        store.watch(self.used)
        self._seen = store.mark()  # every scope written to before has been marked

    def use_clock(self, clock: Callable[[], int]) -> None:
        """Go by another clock from now on."""
        self._clock = clock

    # ------------------------------------------------------------------ before a search

    def view(self, scope: Scope) -> View:
        """Return the partitions that `scope` sees, resident and current, and a stamp for :meth:`held`.

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
                self._glance = glance  # only now: another thread may rely on what is marked
        view = self._views.get(scope)
        if view is None:
            view = self._make_view(scope)
        stamp = self._n_departures  # before looking: who leaves later has a greater number
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
        """Return what :meth:`view` does, of several scopes: those whose tenants' keys were not destroyed, and what they
        see, each partition once. They are in memory together, whatever the budget.

        Raises:
            EncryptionError: a tenant's key is not available.
        """
        if self._keyed:
            scopes = [scope for scope in scopes if self._readable(scope)]
        self._look()
        while True:
            stamp = self._n_departures  # before looking, as above
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
        found: dict[Partition, None] = {}
        for scope in scopes:
            found.update(dict.fromkeys(self._views.get(scope) or self._make_view(scope)))
        return tuple(found)

    def _look(self) -> None:
        """Mark what was written to since the last look."""
        glance = self._store.glance()
        if glance != self._glance:
            self.mark_changed()
            self._glance = glance  # only now: another thread may rely on what is marked

    def _explanation(self, glance: object) -> OwnCommit | None:
        """Return the commit of this process that is all that a glance shows beside what is known; None: others may have
        committed."""
        own, known = self._own, self._glance
        return own if own is not None and own.explains(known, glance) else None

    def view_now(self, scope: Scope) -> View | None:
        """Return what :meth:`view` does, or None if that might read the file, ask for a key or wait for a lock."""
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
        """Ask for the tenant's key. Once that was destroyed nothing of the tenant stays in memory."""
        tenant = scope.tenant
        if self._store.cipher.readable(tenant):
            if self._erased:
                self._erased.discard(tenant)
            if scope.user is not None and self._store.cipher.is_erased(tenant, scope.user):
                self._forget_user(scope)
            return True
        seen = (self._partitions.get(one) for one in scope.visible())
        left = tenant not in self._erased or any(one is not None and one.memory_bytes for one in seen)
        if left and self.forget_tenant(tenant, wait=False):
            self._erased.add(tenant)
        return False

    def _forget_user(self, scope: Scope) -> None:
        """Have what a user whose key was destroyed has in memory read again: then it is nothing."""
        with self._lock:
            for one in scope.visible():
                partition = self._partitions.get(one)
                if one.user is not None and partition is not None and not partition.erased:
                    partition.ready = False

    def forget_tenant(self, tenant: str | None, *, wait: bool) -> bool:
        """Take all partitions of a tenant out of memory, or all there are; the next search reads what it needs.

        False, without `wait`: a caller relies on what is in memory now (:meth:`without_eviction`).
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
        """Whether no partition of the view left the engine since it was taken, and a commit of this process that it
        trusted in did not fail."""
        if isinstance(stamp, _Trusting) and not self._is_trusted(stamp.own):
            return False
        return stamp == self._n_departures or all(partition.left_at <= stamp for partition in view)

    def _is_trusted(self, own: OwnCommit) -> bool:
        is_done = own.is_done
        if is_done is None:  # if it fails, what was seen was the commit of another process
            self._look()
        return bool(is_done)

    def damage(self, scopes: Sequence[Scope]) -> tuple[int, int]:
        """Return of how many documents that `scopes` see the vectors cannot be read, and how many not at all."""
        view = {partition for scope in scopes for partition in self._views.get(scope, ())}
        return sum(one.n_without_vector for one in view), sum(one.n_lost for one in view)

    def without_eviction(self) -> AbstractContextManager[bool]:
        """While this is held nothing is evicted: for a search that was disturbed again and again."""
        return self.budget.evicting

    def mark_changed(self) -> None:
        """Find the scopes that were written to since the last time, and mark their partitions as behind."""
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
            # Read under the lock: a change is either in what is read here, or marked on what is entered here.
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
        """Drop the objects of partitions that occupy nothing."""
        self._views.clear()
        kept = {}
        for scope, partition in self._partitions.items():
            if partition.memory_bytes or partition.in_flight or not partition.lock.acquire(blocking=False):
                kept[scope] = partition
                continue
            partition.retired = True
            partition.ready = False
            partition.lock.release()
        self._partitions = kept

    def bring(self, partition: Partition) -> bool:
        """Make a partition resident and current; False if the rows cannot be read now, and it is here as of before.

        Raises:
            StoreUnavailableError: the rows cannot be read, and it is not here.
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
        """Whether something is known to be missing in what `scopes` see; to be asked if anything is `left_behind`."""
        self.left_behind = {one for one in self.left_behind if not one.ready and one.resident}
        return any(not self.left_behind.isdisjoint(self._views.get(scope, ())) for scope in scopes)

    def stamp(self, scope: Scope) -> int:
        """Return the version of exactly this scope, as far as this process knows: at least that of its own writes, also
        by other collections."""
        self._look()
        return self.partition(scope).version

    def reach(self, scope: Scope, version: int) -> None:
        """See to it that the next search has seen this version of exactly this scope.

        Raises:
            StoreUnavailableError: the store does not have it now.
        """
        partition = self.partition(scope)
        if partition.version >= version and (partition.ready or self.bring(partition)):
            return
        state = self._store.scope_state(scope)
        found = 0 if state is None else state.version
        with self._lock:
            if found > partition.version:
                partition.version = found
                partition.ready = False
        if found < version or not self.bring(partition):
            raise StoreUnavailableError(
                f"after: expected version {version} of {scope!r}, found {found}: the write was lost in a failover, or "
                f"the server that has it does not answer: {self._store.place}"
            )

    # ------------------------------------------------------------------ around a commit of this process

    def announce(self, changes: Sequence[ScopeChange], own: OwnCommit | None = None) -> list[Partition]:
        """Return the partitions of the scopes that this process is about to commit to, which stay what they are until
        :meth:`confirm`. `own`: how a glance shows this commit."""
        with self._lock:
            self._own = own
            return [self._partitions.get(one.scope) or self._partition(one.scope) for one, _, _ in changes]

    def confirm(self, partitions: Sequence[Partition], changes: Sequence[ScopeChange]) -> None:
        """Say that a commit did not fail, so that its versions are those of this process, which applies them itself.

        Not before: if it fails, another process may be given the same version of the scope before that is known here.
        """
        with self._lock:
            for partition, (one, _, _) in zip(partitions, changes, strict=True):
                partition.in_flight, partition.in_flight_from = one.after, one.before

    def abandon(self, changes: Sequence[ScopeChange]) -> None:
        """The commit failed, or could not be applied: let the next search look at what is stored."""
        self._own = None
        for one, _, _ in changes:
            partition = self.partition(one.scope)
            with self._lock:
                partition.in_flight = 0
                partition.ready = False

    def apply(self, partition: Partition, change: ScopeChange) -> None:
        """Bring what was just committed to one scope into the engine, if the partition stands where that began.

        Args:
            partition: of the scope, as :meth:`announce` returned it.
            change: what was done to the scope.
        """
        one, rows, prepared = change
        if partition.retired:  # announced by two at once, of whom one has ended
            partition = self.partition(one.scope)
        with partition.lock:
            if partition.applied < one.after:
                if one.documents_before == 0 and not (partition.resident and partition.applied == one.before):
                    self.drop(partition)
                    partition.resident, partition.applied = True, one.before
                if partition.resident and partition.applied == one.before:
                    partition.resident = False  # until it is whole again
                    if one.erased:
                        self.drop(partition)
                    elif one.deleted and rows:
                        self.disturb(partition)
                    if one.deleted:
                        self._forget(partition, one.deleted)
                    n_bytes = self._put(partition, rows, prepared)
                    partition.resident, partition.erased, partition.applied = True, False, one.after
                    self._count_changes(partition, len(one.deleted) + len(rows))
                    if n_bytes is None:
                        self.measure(partition)
                    else:
                        self.budget.charge(partition, n_bytes)
                    for row in rows:
                        if row.expires_at is not None:
                            partition.next_expiry = min(partition.next_expiry, row.expires_at)
            with self._lock:
                partition.in_flight = 0
                if partition.version < one.after:
                    partition.version = one.after
                partition.ready = partition.resident and partition.applied >= partition.version

    def settle(self, glances: Glances | None) -> None:
        """A commit of this process was applied, so that everything is known of it: if everything before it was marked,
        the next search need not ask what was written. None: others may have committed as well."""
        with self._lock:
            if glances is not None:
                before, after, mark = glances
                if self._glance == before:
                    self._seen, self._glance = mark, after
            self._own = None  # only now: a search that finds none looks at the glance

    def drop(self, partition: Partition) -> None:
        """Take a partition out of the engine; the caller holds its lock. Searches that overlap run again."""
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
        """Documents go and others come, in two steps of the engine: searches that overlap run again, those that begin
        wait. The caller holds the partition's lock, and makes it ready again."""
        partition.ready = False
        self._depart(partition)

    def _depart(self, partition: Partition) -> None:
        with self._departing:
            partition.left_at = self._n_departures + 1
            self._n_departures += 1

    def restart(self, engine: Engine, generation: int) -> None:
        """Go on with an empty engine, for vectors of another model."""
        with self._lock:
            known = list(self._partitions.values())
            if generation == self.generation:
                return
            for partition in known:  # a search that overlaps must not take an empty engine for an answer
                partition.ready = False
                self._depart(partition)
            self.generation = generation
            self.engine = engine
        for partition in known:
            with partition.lock:
                self.drop(partition)

    def start_over(self) -> None:
        """Let every partition be read anew: the store's history is another one, in which versions mean something else.

        Searches that overlap run again.
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
        """Whether this thread is just changing what the engine has of a partition."""
        return any(is_mine(partition.lock) for partition in list(self._partitions.values()))

    def resident(self) -> list[Partition]:
        """Return the partitions that occupy memory."""
        with self._lock:
            return [p for p in self._partitions.values() if p.resident and p.memory_bytes]

    def used(self) -> list[Scope]:
        """Return the scopes in memory that were searched since the last call."""
        asked, self._tick_when_asked = self._tick_when_asked, self.budget.tick()
        return [partition.scope for partition in self.resident() if partition.last_used > asked]

    def evict(self, keep: Sequence[Partition] = ()) -> None:
        """Evict the least recently used partitions until the rest fits the budget.

        Pinned ones and those in `keep` stay, and so do dirty ones whose images cannot be written right now.
        """
        self.budget.evict(keep)

    def _evict_briefly(self, keep: Sequence[Partition]) -> None:
        """As :meth:`evict` while a search waits; what takes longer is left to the housekeeper."""
        if not self.budget.evict(keep, seconds=_EVICTING_SECONDS):
            self.housekeeper.note()

    def let_go(self, partition: Partition, *, briefly: bool = False) -> bool:
        """Take a partition out of memory; False if it is in use, or dirty and its image cannot be written, or is not
        to be written now."""
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
        """Whether so much changed since its image that catching up would take long, or it has no graph yet."""
        if self._lacks_graph(partition):
            return True
        if partition.n_changed <= FEW:
            return False
        state = self._store.scope_state(partition.scope)
        return state is not None and partition.n_changed > share * state.documents

    def _lacks_graph(self, partition: Partition) -> bool:
        """Whether the engine has a graph that its image lacks: building one takes minutes where it is worth it."""
        return (
            not partition.graph_saved
            and partition.resident
            and not partition.n_damaged
            and self.engine.graph_state(partition.scope) == "built"
        )

    def save(self, partition: Partition, *, wait: bool = False, in_background: bool = False) -> bool:
        """Write the images of a resident partition; False if the writer's turn could not be taken, or the write failed.

        The caller holds neither: a writer may wait for a partition, so no holder of a partition may wait for a writer.
        """
        with partition.lock:
            if not partition.resident or partition.applied == 0 or partition.n_damaged:
                return True  # an image would hide that vectors are missing
            version, n_changed, stamp = partition.applied, partition.n_changed, partition.left_at
            n_restarts = self._n_restarts
            new_graph = self._lacks_graph(partition)  # before: one that comes now may not be in the image
            replace = partition.unreadable or new_graph
            chunks = self.engine.save_partition(partition.scope)
        if max(map(len, chunks), default=0) < _MAX_BLOB_BYTES:
            try:
                with self._store.writing(
                    "writing images", scopes=(), wait=wait, in_background=in_background
                ) as transaction:
                    with self._lock:
                        is_current = n_restarts == self._n_restarts
                    if is_current:  # an image of another history would be taken for one of this
                        transaction.write_image(partition.scope, version, chunks, replace=replace)
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
        """Evict what searches left; write images of partitions that rest, or are new to a quarter; give freed memory
        back to the system.

        What rests while its graph is built waits for that: then image and graph are written together.
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

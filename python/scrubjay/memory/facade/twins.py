"""Async twins: each blocking method of a memory, its sessions, feed and files, for an event loop.

As :mod:`scrubjay.index.twins`: a twin takes, returns and raises what its method does, on a thread of the loop's
default executor; a call whose awaiting task is cancelled still runs to its end.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from types import TracebackType

from scrubjay._native import Scope
from scrubjay.index.twins import AsyncTwin, OpenTwin, loose_twin, twin
from scrubjay.memory.exchange.files import Files
from scrubjay.memory.facade.administration import MemoryAdmin
from scrubjay.memory.facade.memory import Memory
from scrubjay.memory.ledger.changes import ChangeEvent
from scrubjay.memory.model.names import Retention
from scrubjay.memory.read.feed import Feed
from scrubjay.memory.runs.session import Session


class AsyncSession(AsyncTwin[Session]):
    """The async twins of a session; made by :meth:`AsyncMemory.session`."""

    __slots__ = ()

    user = loose_twin(Session.user)
    model = loose_twin(Session.model)
    tool = loose_twin(Session.tool)
    append = twin(Session.append)
    extend = twin(Session.extend)
    position = twin(Session.position)
    retract = twin(Session.retract)
    propose = twin(Session.propose)
    complete = twin(Session.complete)
    events = twin(Session.events)
    recent = twin(Session.recent)
    assemble = loose_twin(Session.assemble)
    flush = twin(Session.flush)
    close = twin(Session.close)

    @property
    def session(self) -> Session:
        """The session."""
        return self._sync

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import asyncio

        await asyncio.to_thread(self._sync.__exit__, kind, error, trace)


class AsyncFeed(AsyncTwin[Feed]):
    """The async twins of :class:`scrubjay.memory.Feed`; `AsyncMemory.feed`."""

    __slots__ = ()

    changes = twin(Feed.changes)
    on_change = twin(Feed.on_change)

    async def follow(
        self, since: int | None = None, *, scope: Scope, within: bool = False, poll_s: float = 0.2
    ) -> AsyncGenerator[ChangeEvent, None]:
        """Yield changes after a cursor (None: from now on), and later ones, of any process; never ends.

        Args:
            since, scope, within: as in :meth:`Feed.changes`.
            poll_s: seconds between two polls of the file.

        Raises:
            ClosedError: the memory was closed meanwhile.
        """
        import asyncio

        cursor = await asyncio.to_thread(lambda: self._sync.cursor) if since is None else since
        while True:
            events = await asyncio.to_thread(self._sync.changes, cursor, scope=scope, within=within)
            for event in events:
                yield event
                cursor = event.cursor
            if not events:
                await asyncio.sleep(poll_s)


class AsyncFiles(AsyncTwin[Files]):
    """The async twins of :class:`scrubjay.memory.Files`; `AsyncMemory.files`."""

    __slots__ = ()

    export = twin(Files.export)
    import_ = twin(Files.import_)
    export_markdown = twin(Files.export_markdown)
    import_markdown = twin(Files.import_markdown)
    import_from = twin(Files.import_from)

    async def lines(self, scope: Scope) -> AsyncIterator[str]:
        """Yield the lines of :meth:`Files.lines`; all are read first, from one snapshot of the file, on one thread."""
        import asyncio

        for line in await asyncio.to_thread(_all, self._sync.lines(scope)):
            yield line


class AsyncMemoryAdmin(AsyncTwin[MemoryAdmin]):
    """The async twins of :class:`scrubjay.memory.MemoryAdmin`; `AsyncMemory.admin`."""

    __slots__ = ()

    consolidate = twin(MemoryAdmin.consolidate)
    find_in_traces = twin(MemoryAdmin.find_in_traces)
    check = twin(MemoryAdmin.check)
    reindex = twin(MemoryAdmin.reindex)
    sweep = twin(MemoryAdmin.sweep)
    compact = twin(MemoryAdmin.compact)
    verify_erased = twin(MemoryAdmin.verify_erased)
    deletions = twin(MemoryAdmin.deletions)
    global_policy = twin(MemoryAdmin.global_policy)
    revoke_global_policy = twin(MemoryAdmin.revoke_global_policy)
    hold = twin(MemoryAdmin.hold)
    release = twin(MemoryAdmin.release)
    holds = twin(MemoryAdmin.holds)
    changes = twin(MemoryAdmin.changes)
    on_change = twin(MemoryAdmin.on_change)


class AsyncMemory(OpenTwin[Memory]):
    """The async twins of a memory: the same methods, to be awaited.

    Args:
        memory: the memory to work on. Any number of twins may share one memory, which may be used beside them.

    :meth:`session`, :attr:`feed` and :attr:`files` have their own twins. Await :meth:`distil`, not `distil_later`.

    >>> import asyncio, tempfile
    >>> async def main(folder):
    ...     async with await AsyncMemory.open(folder + "/memory.scrubjay") as memory:
    ...         jane = Scope("acme", user="jane")
    ...         outcome = await memory.propose("Jane lives in Oslo", scope=jane, source="run-1")
    ...         return (await memory.recall("Oslo", jane)).texts
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     asyncio.run(main(folder))
    ['Jane lives in Oslo']
    """

    __slots__ = ()

    _of = Memory
    _name = "memory"

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)

    @property
    def memory(self) -> Memory:
        """The memory."""
        return self._sync

    @property
    def feed(self) -> AsyncFeed:
        """The change feed of the records."""
        return AsyncFeed(self._sync.feed)

    @property
    def files(self) -> AsyncFiles:
        """Import and export."""
        return AsyncFiles(self._sync.files)

    @property
    def admin(self) -> AsyncMemoryAdmin:
        """The operator's methods."""
        return AsyncMemoryAdmin(self._sync.admin)

    async def session(self, scope: Scope, run_id: str, *, retention: Retention = "standard") -> AsyncSession:
        """Await :meth:`Memory.session`; ``async with await memory.session(...) as session`` ends the run."""
        import asyncio

        return AsyncSession(await asyncio.to_thread(self._sync.session, scope, run_id, retention=retention))

    propose = twin(Memory.propose)
    propose_all = twin(Memory.propose_all)
    add = loose_twin(Memory.add)
    get = twin(Memory.get)
    list = twin(Memory.list)
    history = twin(Memory.history)
    update = loose_twin(Memory.update)
    delete = twin(Memory.delete)
    confirm = twin(Memory.confirm)
    revoke = twin(Memory.revoke)
    known = twin(Memory.known)
    policy = twin(Memory.policy)
    policies = twin(Memory.policies)
    prefer = twin(Memory.prefer)
    recall = twin(Memory.recall)
    assemble = loose_twin(Memory.assemble)
    replay = twin(Memory.replay)
    runs = twin(Memory.runs)
    distil = twin(Memory.distil)
    ingest = twin(Memory.ingest)
    feedback = twin(Memory.feedback)
    why = twin(Memory.why)
    rejections = twin(Memory.rejections)
    forget = twin(Memory.forget)


def _all(lines: Iterator[str]) -> list[str]:
    return [*lines]

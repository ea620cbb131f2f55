"""Async twins of every method of an index, its views and its administration that may block.

A twin takes the arguments of its method, returns what it returns and raises what it raises. It runs the method on a
thread of the loop's default pool (:func:`asyncio.to_thread`), so the loop is not blocked; searches of a resident scope
are plain calls (:meth:`Index.asearch`). If the awaiting task is cancelled, the call still runs to its end: a write may
have happened.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Concatenate, Generic, ParamSpec, Protocol, TypeVar

from numpy.typing import ArrayLike

from scrubjay._native import Scope
from scrubjay.base.initialised import guarded
from scrubjay.documents.records import Stamp
from scrubjay.embedders.accepted import EmbedderLike
from scrubjay.filters import FilterLike
from scrubjay.fusion import Query
from scrubjay.index.admin import Admin
from scrubjay.index.facade import Index
from scrubjay.index.results import Hits
from scrubjay.index.view import ScopeView

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound="OpenTwin[Any]")


class AsyncTwin(Generic[T_co]):
    """Holds the object whose methods it awaits."""

    __slots__ = ("_sync",)

    def __init__(self, sync: T_co) -> None:
        self._sync = sync


class _Stands(Protocol[T_co]):
    """Any twin: holds the object whose methods it awaits."""

    @property
    def _sync(self) -> T_co: ...


def twin(
    method: Callable[Concatenate[T, P], R],
) -> Callable[Concatenate[_Stands[T], P], Coroutine[Any, Any, R]]:
    """Return the async twin of a method."""

    @functools.wraps(method)
    async def run(self: _Stands[T], /, *args: P.args, **kwargs: P.kwargs) -> R:
        import asyncio  # a third of the time of `import scrubjay`

        return await asyncio.to_thread(method, self._sync, *args, **kwargs)

    return _documented(run, method)


class OpenTwin(Generic[T]):
    """The async twins of a class that opens a file; used in ``async with``.

    A subclass sets `_of` to that class, `_name` to the name of the constructor's argument, and `_package` to the
    package from which users import the class.
    """

    __slots__ = ("_sync",)

    _of: ClassVar[type[Any]]
    _name: ClassVar[str]
    _package: ClassVar[str] = "scrubjay"

    def __init__(self, sync: T) -> None:
        if not isinstance(sync, self._of):
            name = self._of.__name__
            raise TypeError(f"{self._name}: expected a {self._package}.{name}, got {type(sync).__name__}")
        self._sync = sync

    @classmethod
    async def open(cls, path: str | Path, embedder: EmbedderLike | None = None, **options: Any) -> Any:
        """Await `open` of the class; ``async with await AsyncIndex.open(path) as index`` closes it again.

        Args:
            path: the file, or the address of a database.
            embedder: turns texts into vectors, as for `open` of the class.
            options: further arguments of `open` of the class.
        """
        import asyncio

        return cls(await asyncio.to_thread(cls._of.open, path, embedder, **options))

    async def close(self) -> None:
        """Await `close` of the object."""
        import asyncio

        await asyncio.to_thread(self._sync.close)  # type: ignore[attr-defined]

    async def __aenter__(self: S) -> S:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<{_path_of(type(self))} of {self._sync!r}>"


def _twin_of_function(function: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Return the async twin of a static method."""

    @functools.wraps(function)
    async def run(*args: P.args, **kwargs: P.kwargs) -> R:
        import asyncio

        return await asyncio.to_thread(function, *args, **kwargs)

    return _documented(run, function)


def loose_twin(method: Callable[..., R]) -> Callable[..., Coroutine[Any, Any, R]]:
    """Return the async twin of a method, without types for its parameters."""
    return twin(method)


def _path_of(cls: type) -> str:
    """Return the dotted path from which users import a class."""
    package = cls.__module__
    for inside in (".twins", ".index", ".facade", ".asynchronous"):
        package = package.removesuffix(inside)
    return f"{package}.{cls.__name__}"


def _documented(run: F, method: Callable[..., Any]) -> F:
    owner, _, name = method.__qualname__.rpartition(".")
    run.__qualname__ = f"Async{owner}.{name}"
    run.__doc__ = f"Await what :meth:`{owner}.{name}` does."
    return run


@guarded
class AsyncScopeView(AsyncTwin[ScopeView]):
    """The async twins of :class:`scrubjay.ScopeView`; created by :meth:`AsyncIndex.scope`."""

    __slots__ = ()

    @property
    def exact_scope(self) -> Scope:
        """The scope of the view."""
        return self._sync.exact_scope

    async def search(
        self, text: str | bytes | None = None, *, k: int = 10, filter: FilterLike | None = None,
        vector: ArrayLike | None = None, query: Query | None = None, explain: bool = False,
        after: Stamp | None = None,
    ) -> Hits:  # fmt: skip
        """Await what :meth:`ScopeView.asearch` does."""
        return await self._sync.asearch(
            text, k=k, filter=filter, vector=vector, query=query, explain=explain, after=after
        )

    search_batch = loose_twin(ScopeView.search_batch)
    get = loose_twin(ScopeView.get)
    get_many = loose_twin(ScopeView.get_many)
    list = loose_twin(ScopeView.list)
    scroll = loose_twin(ScopeView.scroll)
    values = loose_twin(ScopeView.values)
    count = loose_twin(ScopeView.count)
    upsert = loose_twin(ScopeView.upsert)
    upsert_many = loose_twin(ScopeView.upsert_many)
    patch = loose_twin(ScopeView.patch)
    delete = loose_twin(ScopeView.delete)
    delete_many = loose_twin(ScopeView.delete_many)
    erase = loose_twin(ScopeView.erase)
    feedback = loose_twin(ScopeView.feedback)


@guarded
class AsyncAdmin(AsyncTwin[Admin]):
    """The async twins of :class:`scrubjay.Admin`; `AsyncIndex.admin`."""

    __slots__ = ()

    stats = twin(Admin.stats)
    stamp = twin(Admin.stamp)
    query_cache_stats = twin(Admin.query_cache_stats)
    feedbacks = twin(Admin.feedbacks)
    events = twin(Admin.events)
    check = twin(Admin.check)
    verify_erased = twin(Admin.verify_erased)
    collections = twin(Admin.collections)
    drop_collection = twin(Admin.drop_collection)
    warm = twin(Admin.warm)
    sweep = twin(Admin.sweep)
    freeze = twin(Admin.freeze)
    compact = twin(Admin.compact)
    reembed = twin(Admin.reembed)
    backfill = twin(Admin.backfill)
    encrypted_tenants = twin(Admin.encrypted_tenants)
    encrypt = twin(Admin.encrypt)
    rotate_key = twin(Admin.rotate_key)
    forget_keys = twin(Admin.forget_keys)
    backup = twin(Admin.backup)
    export = twin(Admin.export)
    import_ = twin(Admin.import_)
    repair = staticmethod(_twin_of_function(Admin.repair))
    salvage = staticmethod(_twin_of_function(Admin.salvage))


class AsyncIndex(OpenTwin[Index]):
    """The async twins of an index: the same verbs, to be awaited.

    Args:
        index: the index. Any number of twins may share one index and be used beside it.

    :meth:`scope` and :attr:`admin` return twins as well. The index's properties are those of :attr:`index`.

    >>> import asyncio
    >>> async def main():
    ...     index = AsyncIndex(Index())
    ...     jane = index.scope("acme", user="jane")
    ...     await jane.upsert("m1", "Prefers trains to planes.")
    ...     hits = await jane.search("train")
    ...     return hits[0].id, await index.count(), (await index.admin.stats())["documents"]
    >>> asyncio.run(main())
    ('m1', 1, 1)
    """

    __slots__ = ()

    _of = Index
    _name = "index"

    def __init__(self, index: Index) -> None:
        super().__init__(index)

    @property
    def index(self) -> Index:
        """The index whose methods are awaited."""
        return self._sync

    @property
    def admin(self) -> AsyncAdmin:
        """Operator verbs, to be awaited."""
        return AsyncAdmin(self._sync.admin)

    def scope(
        self, tenant: str | Scope, *, user: str | None = None, agent: str | None = None
    ) -> AsyncScopeView:
        """Return the async twins of the view of one scope.

        Args:
            tenant, user, agent: as for :meth:`scrubjay.Index.scope`.
        """
        return AsyncScopeView(self._sync.scope(tenant, user=user, agent=agent))

    async def collection(self, name: str, **options: Any) -> AsyncIndex:
        """Await what :meth:`Index.collection` does.

        Args:
            name: of the collection.
            options: further arguments of :meth:`scrubjay.Index.collection`.
        """
        import asyncio

        return AsyncIndex(await asyncio.to_thread(self._sync.collection, name, **options))

    async def use(self, embedder: EmbedderLike | None) -> None:
        """Await what assigning :attr:`Index.embedder` does."""
        import asyncio

        await asyncio.to_thread(setattr, self._sync, "embedder", embedder)

    async def search(
        self, text: str | bytes | None = None, *, scope: Scope | Sequence[Scope], k: int = 10,
        filter: FilterLike | None = None, vector: ArrayLike | None = None, query: Query | None = None,
        explain: bool = False, after: Stamp | None = None,
    ) -> Hits:  # fmt: skip
        """Await what :meth:`Index.asearch` does, with the arguments of :meth:`scrubjay.Index.search`."""
        return await self._sync.asearch(
            text, scope=scope, k=k, filter=filter, vector=vector, query=query, explain=explain, after=after
        )

    search_batch = twin(Index.search_batch)
    feedback = twin(Index.feedback)
    get = twin(Index.get)
    get_many = twin(Index.get_many)
    find = twin(Index.find)
    count = twin(Index.count)
    list = twin(Index.list)
    scroll = twin(Index.scroll)
    values = twin(Index.values)
    scopes = twin(Index.scopes)
    upsert = twin(Index.upsert)
    upsert_many = twin(Index.upsert_many)
    patch = twin(Index.patch)
    delete = twin(Index.delete)
    delete_many = twin(Index.delete_many)
    erase = twin(Index.erase)

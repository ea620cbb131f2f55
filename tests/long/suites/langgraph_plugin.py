"""A pytest plugin that runs LangGraph's store tests on Scrubjay's store, in place of the store that they test.

`SCRUBJAY_SUITE` names the replaced store: checkpoint, sqlite or postgres. Only the class is replaced; the tests are
unchanged. A database of the Postgres tests is a file of that name; SQL statements are discarded, so tests that read
rows by SQL fail.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Query
from scrubjay.adapters.langgraph import ScrubjayStore

__all__: list[str] = []

_FOLDER = tempfile.TemporaryDirectory()
_METRICS = {"l2": "l2", "inner_product": "ip", "cosine": "cosine"}
_MODE = os.environ.get("SCRUBJAY_SUITE_MODE", "vector")


class _NoDatabase(AbstractContextManager[Any], AbstractAsyncContextManager[Any]):
    """A connection or cursor that accepts SQL and does nothing."""

    def execute(self, *_: Any, **__: Any) -> Any:
        return self

    def __await__(self) -> Any:
        yield from ()
        return self

    def __exit__(self, *_: object) -> None:
        return None

    async def __aexit__(self, *_: object) -> None:
        return None


class Store(ScrubjayStore):
    """Scrubjay's store with the constructors of the replaced ones."""

    MIGRATIONS: tuple[str, ...] = ()

    def __init__(self, where: Any = None, *, index: Any = None, ttl: Any = None, **options: Any) -> None:
        config = None if index is None else dict(index)
        if config is not None:
            options.setdefault("metric", _METRICS.get(config.get("distance_type", "cosine"), "cosine"))
            config.setdefault("fields", config.get("text_fields"))
        super().__init__(where, index=config, ttl=ttl, query=_query(config), dtype="f32", **options)

    @classmethod
    def from_conn_string(cls, conn_string: str, **options: Any) -> Store:
        for other in ("pipeline", "pool_config", "sweep_interval"):
            options.pop(other, None)
        if conn_string == ":memory:":
            return cls(None, **options)
        name = conn_string.partition("?")[0].rpartition("/")[2]
        return cls(Path(_FOLDER.name) / name, **options)

    def _cursor(self, **_: Any) -> _NoDatabase:
        return _NoDatabase()


class AsyncStore(Store):
    """The same, with async sweeper methods."""

    async def start_ttl_sweeper(self, *arguments: Any) -> Any:  # type: ignore[override]
        return super().start_ttl_sweeper(*arguments)

    async def stop_ttl_sweeper(self, *arguments: Any) -> Any:  # type: ignore[override]
        return super().stop_ttl_sweeper(*arguments)

    async def sweep_ttl(self) -> Any:  # type: ignore[override]
        return super().sweep_ttl()


def _query(config: Any) -> Query | None:
    return None if config is None else Query(mode=_MODE)  # type: ignore[arg-type]


def pytest_configure(config: pytest.Config) -> None:
    suite = os.environ["SCRUBJAY_SUITE"]
    if suite == "checkpoint":
        import langgraph.store.memory as memory

        memory.InMemoryStore = Store  # type: ignore[misc,assignment]
    elif suite == "sqlite":
        import langgraph.store.sqlite as sqlite
        import langgraph.store.sqlite.aio as aio

        sqlite.SqliteStore = Store  # type: ignore[misc,assignment]
        sqlite.AsyncSqliteStore = aio.AsyncSqliteStore = AsyncStore  # type: ignore[misc,assignment]
    else:
        import langgraph.store.postgres as postgres
        import psycopg

        postgres.PostgresStore = Store  # type: ignore[misc,assignment]
        postgres.AsyncPostgresStore = AsyncStore  # type: ignore[misc,assignment]
        for connection in (psycopg.Connection, psycopg.AsyncConnection):
            connection.connect = lambda *_, **__: _NoDatabase()  # type: ignore[method-assign,assignment]

"""Lets a suite that opens indexes by paths run over PostgreSQL as well: each path refers to a separate database."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Error, Index, Objects
from tests.data import database_reuse
from tests.data.postgres import as_superuser, new_url

__all__ = ["database_of", "freeze_after_writes", "superuser_rows", "use_buckets", "use_postgres"]

BUCKETS = 3
"""Number of homes of a tenant's users in suites with such homes: few, so that some users share one."""


_taken: list[str] = []


def use_buckets(monkeypatch: pytest.MonkeyPatch, n: int = BUCKETS) -> None:
    """Let new databases by default keep the users of each tenant in `n` homes."""
    from scrubjay.store.postgres import schema

    prepare = schema.prepare

    def prepared(connection: Any, *, user_homes: int | None = None, **options: Any) -> tuple[str, int]:
        if user_homes is None and schema._version(connection) is None:
            user_homes = n
        return prepare(connection, user_homes=user_homes, **options)

    monkeypatch.setattr(schema, "prepare", prepared)


def use_postgres(monkeypatch: pytest.MonkeyPatch, *, reuse_databases: bool = False) -> None:
    """Let `Index.open` open a database in place of a file, and see the writes of others at once, as in a file.

    `reuse_databases` is for suites of memory: databases of earlier tests are reused.

    With SCRUBJAY_TEST_OBJECTS=FOLDER every image is an object in that folder; with SCRUBJAY_TEST_COLD=1 as well every
    scope is frozen there after each write to it.
    """
    if os.environ.get("SCRUBJAY_TEST_COLD"):
        freeze_after_writes(monkeypatch)
    databases: dict[str, str] = {}
    give_back_all()
    opened: Any = Index.open.__func__  # type: ignore[attr-defined]

    def open_database(cls: type[Index], path: str | Path, *arguments: Any, **options: Any) -> Index:
        if not str(path).startswith("postgresql:"):
            if str(path) not in databases:
                # A reused database has the tables of a memory, which an index without one must not have.
                asking = sys._getframe(1).f_globals["__name__"]
                if reuse_databases and "user_homes" not in options and asking.startswith("scrubjay.memory."):
                    databases[str(path)] = database_reuse.take()
                    _taken.append(databases[str(path)])
                else:
                    databases[str(path)] = new_url()
                monkeypatch.setenv(f"SCRUBJAY_TEST_DATABASE {path}", databases[str(path)])
            path = databases[str(path)]
        options.setdefault("max_stale", 0)
        if folder := os.environ.get("SCRUBJAY_TEST_OBJECTS"):
            options.setdefault("objects", Objects(Path(folder).absolute().as_uri(), least_bytes=0))
        index: Index = opened(cls, path, *arguments, **options)
        return index

    monkeypatch.setattr(Index, "open", classmethod(open_database))


def give_back_all() -> None:
    """Return the databases of the previous test for reuse."""
    while _taken:
        database_reuse.give_back(_taken.pop())


def freeze_after_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every scope be frozen after each write to it, if its index has an object store."""
    from scrubjay.store.postgres.freezing import freeze_scope
    from scrubjay.store.postgres.store import PostgresStore

    writing = PostgresStore.writing

    @contextmanager
    def frozen_afterwards(self: PostgresStore, doing: str, **options: Any) -> Iterator[Any]:
        with writing(self, doing, **options) as transaction:
            yield transaction
        written = [state.scope for _, state in transaction._turns.changed()]
        if doing != "freezing" and self.objects is not None:
            for scope in written:
                with suppress(Error):
                    freeze_scope(self, scope, self.objects)

    if writing.__name__ != "frozen_afterwards":
        monkeypatch.setattr(PostgresStore, "writing", frozen_afterwards)


def database_of(path: object) -> str | None:
    """Return the database to which a path refers; None for a file."""
    return os.environ.get(f"SCRUBJAY_TEST_DATABASE {path}")


def superuser_rows(url: str, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a statement run as the superuser, to whom row security does not apply."""
    import psycopg

    with psycopg.connect(as_superuser(url), autocommit=True) as connection:
        cursor = connection.execute(query, parameters or None)  # type: ignore[arg-type]
        return cursor.fetchall() if cursor.description else []

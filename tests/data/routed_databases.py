"""Three databases behind one store, with homes distributed by hash, as in a server that shards.

A statement is sent to the database of the current home. One that needs the rows of two homes finds those of one, so
that the index answers differently from a file. Statements about every home are sent to all three databases; data
without a home (the schema, the collections) is in all three.
"""

from __future__ import annotations

import re
import secrets
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

import pytest

from scrubjay.store.postgres.server import Server
from tests.data.postgres import cluster, new_url

__all__ = ["N_DATABASES", "route", "server_of", "use_routed"]

N_DATABASES = 3
_EVERYWHERE = ("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "SET ")


def server_of(home: str) -> int:
    """Return the number of the database of a home."""
    return zlib.crc32(home.encode()) % N_DATABASES


class RoutedCursor:
    """The answers to one statement, merged if it was sent to several databases."""

    def __init__(self, query: str, cursors: Sequence[Any], *, merges: bool) -> None:
        self._query = query
        self._cursors = cursors if merges else cursors[:1]

    @property
    def description(self) -> Any:
        """The description of the columns; None for a statement without rows."""
        return self._cursors[0].description

    @property
    def rowcount(self) -> int:
        """The number of rows written or found."""
        return sum(int(cursor.rowcount) for cursor in self._cursors)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return the rows: sums, if each database answered with numbers; otherwise in the order of the statement."""
        answers = [cursor.fetchall() for cursor in self._cursors]
        if len(answers) > 1 and all(len(rows) == 1 and _are_numbers(rows[0]) for rows in answers):
            return [tuple(sum(column) for column in zip(*(rows[0] for rows in answers), strict=True))]
        rows = [row for rows in answers for row in rows]
        return sorted(rows, key=lambda row: row[:3]) if "ORDER BY d.seq, d.home" in self._query else rows

    def fetchone(self) -> Any:
        """Return the first row, or None."""
        found = self.fetchall()
        return found[0] if found else None


def _are_numbers(row: tuple[Any, ...]) -> bool:
    return all(type(value) is int for value in row)


class RoutedConnection:
    """The part of a connection that the store uses."""

    def __init__(self, connections: Sequence[Any]) -> None:
        self._connections = connections
        self._home, self._across = "", False
        self._is_piped = False

    def __getattr__(self, name: str) -> Any:  # info, pgconn, notifications
        return getattr(self._connections[0], name)

    @property
    def adapters(self) -> RoutedConnection:
        """The object that registers dumpers, here this one."""
        return self

    def register_dumper(self, *dumper: Any) -> None:
        """Register a dumper with each connection."""
        for one in self._connections:
            one.adapters.register_dumper(*dumper)

    @property
    def closed(self) -> bool:
        """Whether any connection is closed."""
        return any(one.closed for one in self._connections)

    def close(self) -> None:
        """Close all connections."""
        for one in self._connections:
            one.close()

    def execute(self, query: str, parameters: Any = None, **options: Any) -> RoutedCursor:
        """Send a statement to the database of the home that was set last."""
        self._forget_settings()
        asked = self._connections
        if query.startswith("SELECT set_config('scrubjay.home'"):
            self._home, self._across = parameters[0], parameters[1] == "on"
        elif self._home and not self._across and not query.startswith(_EVERYWHERE):
            asked = [self._connections[server_of(self._home)]]
        merges = self._across or len(asked) == 1
        return RoutedCursor(
            query, [one.execute(query, parameters, **options) for one in asked], merges=merges
        )

    def _forget_settings(self) -> None:
        """Reset the home after a transaction, whose end resets the setting."""
        if not self._is_piped and self._connections[0].info.transaction_status == 0:
            self._home, self._across = "", False

    def exchange(self, statements: Sequence[tuple[str, Any, bool]]) -> list[list[tuple[Any, ...]]]:
        """Send several statements at once, each to the database of the home that was set last."""
        self._forget_settings()
        with ExitStack() as until:
            for one in self._connections:
                until.enter_context(one.pipeline())
            self._is_piped = True
            try:
                cursors = [
                    self.execute(query, parameters, binary=True)
                    if is_wanted
                    else self.execute(query, parameters)
                    for query, parameters, is_wanted in statements
                ]
            except BaseException:
                # Statements after the failed one were not prepared, though psycopg may assume so.
                for one in self._connections:
                    one.prepare_threshold = None
                raise
            finally:
                self._is_piped = False
        wanted = [cursor for cursor, (*_, is_wanted) in zip(cursors, statements, strict=True) if is_wanted]
        return [cursor.fetchall() if cursor.description else [] for cursor in wanted]

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Begin and end a transaction on each connection."""
        with ExitStack() as until:
            for one in self._connections:
                until.enter_context(one.transaction())
            yield


def _new_database() -> str:
    return new_url(_new_base())


def _new_base() -> str:
    import psycopg

    server = cluster()
    if isinstance(server, str):
        pytest.skip(server)
    name = f"d{secrets.token_hex(6)}"
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server.url.replace("/postgres?", f"/{name}?")


def route(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let every index opened from now on store its rows in three databases; return their addresses, of which the first
    is the one to open."""
    urls = [_new_database() for _ in range(N_DATABASES)]
    monkeypatch.setattr(Server, "_connect", lambda server: _connected(server, urls))
    return urls


def use_routed(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on, let each path of a database (:func:`tests.data.stores.use_postgres`) refer to one routed over three
    databases."""
    several: dict[str, list[str]] = {}
    connect = Server._connect

    def new() -> str:
        urls = [new_url(base) for base in _bases()]
        several[_schema(urls[0])] = urls
        return urls[0]

    def connected(server: Server) -> Any:
        urls = several.get(_schema(server._url))
        return connect(server) if urls is None else _connected(server, urls)

    monkeypatch.setattr("tests.data.stores.new_url", new)
    monkeypatch.setattr(Server, "_connect", connected)


def _connected(server: Server, urls: Sequence[str]) -> RoutedConnection:
    from scrubjay.store.postgres.server import connection_class

    connections = [connection_class().connect(url, autocommit=True, client_encoding="UTF8") for url in urls]
    for one in connections:
        server._prepare(one)
    routed = RoutedConnection(connections)
    with server._lock:
        server._all.add(routed)
    return routed


def _schema(url: str) -> str:
    found = re.search(r"search_path(?:=|%3D)(\w+)", url)
    return found[1] if found else ""


@cache
def _bases() -> tuple[str, ...]:
    """Return three databases of this run's server, in which schemas are created."""
    return tuple(_new_base() for _ in range(N_DATABASES))

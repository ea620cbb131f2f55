"""Connections to one database, and the history that it shows.

A connection is taken from the pool for a call or a transaction and returned. If one breaks, all idle ones are
discarded with it: after a restart of the server they are dead. `lineage` names the history: the cluster and its
timeline, which changes when a standby takes over. A new connection with another lineage notifies all listeners.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from scrubjay.base.errors import ClosedError, StoreFormatError
from scrubjay.base.locks import renew_in_children
from scrubjay.store.postgres.address import Address, psycopg_module
from scrubjay.store.postgres.errors import translated

_LEAST_VERSION = 130_000
_MOST_RESTING = 16
_CONNECT_SECONDS = 5
_OF_ONE_PROCESS = {
    "application_name",
    "client_encoding",
    "connect_timeout",
    "fallback_application_name",
    "passfile",
    "password",
    "sslpassword",
    "tcp_user_timeout",
}
IDLE_SECONDS = 60
"""How long a writer may be idle within a transaction before the server ends it."""

_LINEAGE = (
    "SELECT CASE WHEN pg_is_in_recovery() THEN 'standby' ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END"
    " || '-' || (SELECT system_identifier FROM pg_control_system())"
)


class Server:
    """A database as used by one process. Thread-safe.

    Args:
        address: of the database.
        busy_seconds: how long to wait for another writer.
        durability: "full": a commit waits for the disk; "normal": it does not.
        read_only: the server rejects every write.
    """

    def __init__(
        self, address: Address, *, busy_seconds: float, durability: str = "full", read_only: bool = False
    ) -> None:
        self.place = address.place
        self.busy_seconds = busy_seconds
        self.read_only = read_only
        self.lineage = ""
        """The lineage of the newest connection; "" before the first."""
        self._url = address.url
        self._durability = durability
        self._lock = threading.Lock()
        renew_in_children(self, "_lock")
        self._resting: list[Any] = []
        # including those in use: after a fork they are neither closed nor collected
        self._all: set[Any] = set()
        self._listeners: list[weakref.WeakMethod[Callable[[], None]]] = []
        self._lineages: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._n_users = 0
        self._closed = False
        self._pid = os.getpid()

    # ------------------------------------------------------------------ connections

    def take(self, *, fresh: bool = False) -> Any:
        """Return a connection for one thread, outside of any transaction; :meth:`give` returns it.

        Raises:
            StoreUnavailableError, StoreError: no connection can be made.
        """
        self.check_open()
        with self._lock:
            while self._resting and not fresh:
                connection = self._resting.pop()
                if not connection.closed:
                    return connection
                self._all.discard(connection)
        return self._connect()

    def give(self, connection: Any, *, most_resting: int = _MOST_RESTING) -> None:
        """Return a connection to the pool; one that is broken, in a transaction, or over the limit is closed."""
        idle = psycopg_module().pq.TransactionStatus.IDLE
        sound = not connection.closed and connection.info.transaction_status == idle
        with self._lock:
            if sound and not self._closed and len(self._resting) < most_resting:
                self._resting.append(connection)
                return
            self._all.discard(connection)
        with suppress(Exception):
            connection.close()

    def forget_resting(self) -> None:
        """Discard the idle connections after one broke, since they are likely dead, too."""
        with self._lock:
            resting, self._resting = self._resting, []
            self._all.difference_update(resting)
        for connection in resting:
            with suppress(Exception):
                connection.close()

    def _connect(self) -> Any:
        psycopg = psycopg_module()
        with translated(self.place, "connecting"):
            parameters = {"connect_timeout": _CONNECT_SECONDS, **psycopg.conninfo.conninfo_to_dict(self._url)}
            parameters.setdefault("application_name", "scrubjay")
            parameters["client_encoding"] = "UTF8"
            connection = connection_class().connect(**parameters, autocommit=True)
            try:
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
        with self._lock:
            self._all.add(connection)
        return connection

    def _prepare(self, connection: Any) -> None:
        version = connection.info.server_version
        encoding = connection.info.parameter_status("server_encoding")
        if encoding is None:  # a pooler need not pass on what the server reported
            (encoding,) = connection.execute("SHOW server_encoding").fetchone()
        if version < _LEAST_VERSION:
            raise StoreFormatError(
                f"path: expected PostgreSQL {_LEAST_VERSION // 10_000} or newer, got {version // 10_000}: {self.place}"
            )
        if encoding != "UTF8":
            raise StoreFormatError(
                f"path: expected a database with the encoding UTF8, got {encoding}; make one with "
                f"createdb -E UTF8 -T template0: {self.place}"
            )
        psycopg = psycopg_module()
        settings = self._settings()
        try:
            ((found,),) = connection.exchange([settings, (_LINEAGE, (), True)])[0]
        except (
            psycopg.errors.InsufficientPrivilege,
            psycopg.errors.UndefinedFunction,
            psycopg.errors.FeatureNotSupported,
        ):
            connection.exchange([settings])  # the failure undid them
            found = "shared"  # servers on shared storage have one history
        self._note_lineage(connection, found)

    def _settings(self) -> tuple[str, tuple[str, ...], bool]:
        """Return the statement that sets up a new connection, as :meth:`Connection.exchange` takes it."""
        milliseconds = max(int(self.busy_seconds * 1000), 1)
        return (
            "SELECT set_config('synchronous_commit', %s, false), set_config('lock_timeout', %s, false), "
            "set_config('idle_in_transaction_session_timeout', %s, false), "
            "set_config('default_transaction_read_only', %s, false)",
            (
                "on" if self._durability == "full" else "off",
                str(milliseconds),
                str(IDLE_SECONDS * 1000),
                "on" if self.read_only else "off",
            ),
            False,
        )

    def _note_lineage(self, connection: Any, lineage: str) -> None:
        with self._lock:
            self._lineages[connection] = lineage
            is_other = self.lineage not in ("", lineage)
            self.lineage = lineage
            listeners = list(self._listeners) if is_other else []
        for listener in listeners:
            if (told := listener()) is not None:
                told()

    def lineage_of(self, connection: Any) -> str:
        """Return the lineage that a connection showed when it was made."""
        return self._lineages.get(connection, "")

    def address_words(self) -> list[str]:
        """Return the parameters of connections to this database, without secrets and without those that do not
        affect what is read."""
        connection = self.take()
        try:
            found = connection.info.get_parameters()
        finally:
            self.give(connection)
        return sorted(f"{name}={value}" for name, value in found.items() if name not in _OF_ONE_PROCESS)

    # ------------------------------------------------------------------ users of the server

    def listen(self, on_other_history: Callable[[], None]) -> None:
        """Register a method that is called, from any thread, when the database shows another history than before.

        Its object is held weakly: the feed's thread refers to the server, and would never end.
        """
        with self._lock:
            self._listeners = [one for one in self._listeners if one() is not None]
            self._listeners.append(weakref.WeakMethod(on_other_history))

    def use(self) -> None:
        """Register a collection as a user of the server."""
        with self._lock:
            self._n_users += 1

    def leave(self) -> bool:
        """Unregister a collection; the last one closes the server. Return whether it was the last one."""
        with self._lock:
            self._n_users -= 1
            if self._n_users > 0:
                return False
            self._closed = True
            resting, self._resting = self._resting, []
            self._all.difference_update(resting)
        for connection in resting:
            with suppress(Exception):
                connection.close()
        return True

    def check_open(self) -> None:
        """Raise ClosedError if the server was closed, or belongs to another process."""
        if self._closed or self._pid != os.getpid():
            raise ClosedError(f"the index is closed, or was opened before this process forked: {self.place}")

    def abandon(self) -> None:
        """In the child after a fork: give up the connections, which belong to the parent."""
        self._closed = True


def connection_class() -> Any:
    """Return the class of connections; imported on demand, because it needs psycopg."""
    psycopg_module()
    from scrubjay.store.postgres.pipeline import Connection

    return Connection

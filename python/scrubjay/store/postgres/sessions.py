"""The connection of each thread: taken from the pool for a query, or bound to its snapshot or transaction."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from scrubjay.base.errors import ClosedError
from scrubjay.store.postgres.batch import Batch, Parameters, Statement
from scrubjay.store.postgres.errors import is_away, translated
from scrubjay.store.postgres.keys import Key
from scrubjay.store.postgres.row_security import NO_HOME, Home
from scrubjay.store.postgres.server import Server
from scrubjay.store.postgres.transaction import PostgresTransaction


@dataclass(slots=True, eq=False)
class Session:
    """A snapshot or a transaction of a thread."""

    batch: Batch
    is_begun: bool = False
    """Whether it has begun on the server: a snapshot begins with its first query."""
    transaction: PostgresTransaction | None = None
    """None: the session is a snapshot."""
    unfrozen: Key | None = None
    """A scope known, from a read in this session, to have its rows in the table."""


class Sessions:
    """Runs queries on behalf of one collection. Thread-safe."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._local = threading.local()
        self._closed = False

    @property
    def place(self) -> str:
        """The address, without user and password."""
        return self.server.place

    @property
    def current(self) -> Session | None:
        """The snapshot or transaction of this thread; None: it has neither."""
        return getattr(self._local, "session", None)

    @property
    def transaction(self) -> PostgresTransaction | None:
        """This thread's transaction, until it is committed."""
        session = self.current
        found = None if session is None else session.transaction
        return None if found is None or found.committed else found

    def is_writing_here(self) -> bool:
        """Whether this thread has a transaction."""
        session = self.current
        return session is not None and session.transaction is not None

    @contextmanager
    def using(self, transaction: PostgresTransaction) -> Iterator[None]:
        """Run all queries of this thread inside the block within a transaction."""
        self._local.session = Session(transaction.batch, is_begun=True, transaction=transaction)
        try:
            yield
        finally:
            self._local.session = None

    # ------------------------------------------------------------------ queries

    def ask(
        self,
        query: str,
        parameters: Parameters = (),
        *,
        home: Home = NO_HOME,
        doing: str = "reading",
    ) -> list[tuple[Any, ...]]:
        """Return the rows of one statement about a home, on the connection of this thread's session if it has
        one."""
        return self._answered([(home, (query, parameters))], doing)[0]

    def ask_each(
        self, homes: Sequence[str], question: Callable[[str], Statement], *, doing: str = "reading"
    ) -> list[tuple[Any, ...]]:
        """Return the rows of a statement about each of several homes, home by home, in one round trip."""
        if len(homes) == 1:
            return self.ask(*question(homes[0]), home=homes[0], doing=doing)
        answers = self._answered([(home, question(home)) for home in homes], doing)
        return [row for rows in answers for row in rows]

    def _answered(
        self, statements: Sequence[tuple[Home, Statement]], doing: str
    ) -> list[list[tuple[Any, ...]]]:
        self.check_open()
        session = self.current
        with translated(self.place, doing):
            if session is None:
                return self._ask_once(statements)
            if not session.is_begun:
                return self._begin_and_ask(session, statements)
            return session.batch.ask_each(statements)

    def _ask_once(self, statements: Sequence[tuple[Home, Statement]]) -> list[list[tuple[Any, ...]]]:
        connection = self.server.take()
        try:
            return Batch(connection, begun=False).ask_each(statements)
        except Exception as error:
            if not is_away(error):
                raise
            self.server.forget_resting()
        finally:
            self.server.give(connection)
        # the first connection may have been idle since before a restart
        connection = self.server.take(fresh=True)
        try:
            return Batch(connection, begun=False).ask_each(statements)
        finally:
            self.server.give(connection)

    @contextmanager
    def connection(self, doing: str) -> Iterator[Any]:
        """Take a connection outside of any transaction."""
        self.check_open()
        connection = self.server.take()
        try:
            with translated(self.place, doing):
                yield connection
        finally:
            self.server.give(connection)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        if self.current is not None:
            yield
            return
        with translated(self.place, "reading"):
            session = self._local.session = Session(Batch(self.server.take()))
            try:
                yield
            finally:
                self._local.session = None
                connection = session.batch.connection  # another one than at first, if that was dead
                if session.is_begun:
                    with suppress(Exception):
                        connection.execute("ROLLBACK")
                self.server.give(connection)

    def _begin_and_ask(
        self, session: Session, statements: Sequence[tuple[Home, Statement]]
    ) -> list[list[tuple[Any, ...]]]:
        """Begin the snapshot along with its first query, in one round trip."""
        for is_last in (False, True):
            try:
                session.batch.add("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                found = session.batch.ask_each(statements)
                session.is_begun = True
                return found
            except Exception as error:
                if is_last or not is_away(error):
                    session.is_begun = True  # so that it is rolled back
                    raise
                self.server.give(session.batch.connection)
                self.server.forget_resting()
                session.batch = Batch(self.server.take(fresh=True))
        raise AssertionError("unreachable")

    # ------------------------------------------------------------------ closing

    @property
    def is_closed(self) -> bool:
        """Whether :meth:`close` was called."""
        return self._closed

    def check_open(self) -> None:
        """Raise ClosedError if the store was closed, or was opened by the parent process of a fork."""
        if self._closed:
            raise ClosedError(f"the index is closed, or was opened before this process forked: {self.place}")

    def close(self) -> None:
        """Reject further queries."""
        self._closed = True

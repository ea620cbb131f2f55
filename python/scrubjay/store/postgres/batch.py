"""Batches of statements of one transaction, each with the home that it is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scrubjay.store.postgres.address import psycopg_module
from scrubjay.store.postgres.row_security import NO_HOME, Home, seeing, seeing_and

Parameters = Sequence[Any] | Mapping[str, Any]
"""Parameters of a statement, by position or by name."""
Statement = tuple[str, Parameters]


class Batch:
    """The statements to send on one connection within one transaction, in order. Not thread-safe.

    Statements without a result are queued, and sent with the next one that has a result. Before a statement about
    another home than the last one, the server is told whose rows are visible.

    Args:
        connection: outside of any transaction (:class:`scrubjay.store.postgres.pipeline.Connection`).
        begun: whether the first statement begins a transaction; otherwise each round trip is a transaction of its
            own.
    """

    def __init__(self, connection: Any, *, begun: bool = True) -> None:
        self.connection = connection
        self._is_begun = begun
        self._later: list[Statement] = []
        self._home: Home | None = NO_HOME  # visible on the server once the queue was sent; None: unknown

    def add(self, query: str, parameters: Parameters = (), *, home: Home = NO_HOME) -> None:
        """Queue a statement about a home."""
        self._see(home)
        self._later.append((query, parameters))

    def add_seeing(self, home: Home, call: str, parameters: Sequence[Any]) -> None:
        """Queue the call of a function, combined with setting the visible home."""
        self._later.append(seeing_and(home, call, parameters))
        self._home = home

    def _see(self, home: Home) -> None:
        if home != self._home:
            self._later.append(seeing(home))
            self._home = home

    def ask(self, query: str, parameters: Parameters = (), *, home: Home = NO_HOME) -> list[tuple[Any, ...]]:
        """Send the queue and a statement; return the rows of the statement."""
        return self.ask_all([(query, parameters)], home=home)[0]

    def ask_all(
        self, statements: Sequence[Statement], *, home: Home = NO_HOME
    ) -> list[list[tuple[Any, ...]]]:
        """Send the queue and these statements in one round trip; return the rows of the latter."""
        return self.ask_each([(home, statement) for statement in statements], home=home)

    def ask_each(
        self, statements: Sequence[tuple[Home, Statement]], *, home: Home | None = None
    ) -> list[list[tuple[Any, ...]]]:
        """Do the same for statements about different homes. Without statements, `home` is set as the visible one
        after the queue."""
        if not statements and home is not None:
            self._see(home)
        to_send = [(*statement, False) for statement in self._later]
        for own, statement in statements:
            if own != self._home:
                to_send.append((*seeing(own), False))
                self._home = own
            to_send.append((*statement, True))
        self._later = []
        found: list[list[tuple[Any, ...]]] = self.connection.exchange(to_send) if to_send else []
        if not self._is_begun:
            self._home = NO_HOME  # the setting ends with its transaction
        return found

    def run(self, query: str, parameters: Parameters, *, home: Home) -> tuple[list[tuple[Any, ...]], int]:
        """Send the queue and a statement; return the rows of the statement, and the number of rows written or
        found."""
        self._see(home)
        self.flush()
        cursor = self.connection.execute(query, parameters, binary=True)
        return cursor.fetchall() if cursor.description else [], cursor.rowcount

    def savepoint(self, statement: str) -> None:
        """Send SAVEPOINT, RELEASE or ROLLBACK TO; the last one also after a failed statement."""
        failed = psycopg_module().pq.TransactionStatus.INERROR
        if self.connection.info.transaction_status == failed:
            self._later.clear()  # the server rejects everything before the rollback
        self.flush()
        self.connection.execute(statement)
        if statement.startswith("ROLLBACK"):
            self._home = None  # the one of the savepoint is restored

    def commit(self) -> None:
        """Send the queue and a COMMIT; what follows runs outside of the transaction."""
        self.ask_all([("COMMIT", ())], home=self._home or NO_HOME)
        self._is_begun, self._home = False, NO_HOME

    def flush(self) -> None:
        """Send the queue."""
        if self._later:
            self.ask_all([], home=self._home or NO_HOME)

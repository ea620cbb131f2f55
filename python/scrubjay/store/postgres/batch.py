"""Statements of one transaction that are sent together, each with the home that it is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scrubjay.store.postgres.address import psycopg_module
from scrubjay.store.postgres.walls import NO_HOME, Home, seeing, seeing_and

Parameters = Sequence[Any] | Mapping[str, Any]
"""Of a statement, in their order or by their names."""
Statement = tuple[str, Parameters]


class Batch:
    """What is to be sent on one connection within one transaction, in order. Not for several threads.

    Statements that need no answer are collected, and go with the next one that does. The server is told which home's
    rows a statement may see whenever that is another one than before.

    Args:
        connection: outside of any transaction (:class:`scrubjay.store.postgres.wire.Connection`).
        begun: whether the first statement begins a transaction; else each round trip is one of its own.
    """

    def __init__(self, connection: Any, *, begun: bool = True) -> None:
        self.connection = connection
        self._is_begun = begun
        self._later: list[Statement] = []
        self._home: Home | None = NO_HOME  # that the server sees once all was sent; None: not known

    def add(self, query: str, parameters: Parameters = (), *, home: Home = NO_HOME) -> None:
        """Collect a statement about a home."""
        self._see(home)
        self._later.append((query, parameters))

    def add_seeing(self, home: Home, call: str, parameters: Sequence[Any]) -> None:
        """Collect the call of a function, along with telling the server whose rows may be seen from now on."""
        self._later.append(seeing_and(home, call, parameters))
        self._home = home

    def _see(self, home: Home) -> None:
        if home != self._home:
            self._later.append(seeing(home))
            self._home = home

    def ask(self, query: str, parameters: Parameters = (), *, home: Home = NO_HOME) -> list[tuple[Any, ...]]:
        """Return the rows of a statement, after everything that was collected."""
        return self.ask_all([(query, parameters)], home=home)[0]

    def ask_all(
        self, statements: Sequence[Statement], *, home: Home = NO_HOME
    ) -> list[list[tuple[Any, ...]]]:
        """Send what was collected and these statements in one round trip; return the rows of the latter."""
        return self.ask_each([(home, statement) for statement in statements], home=home)

    def ask_each(
        self, statements: Sequence[tuple[Home, Statement]], *, home: Home | None = None
    ) -> list[list[tuple[Any, ...]]]:
        """The same of statements that are each about a home of their own; `home`: of what was collected, if there are
        none."""
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
            self._home = NO_HOME  # a setting goes with its transaction
        return found

    def run(self, query: str, parameters: Parameters, *, home: Home) -> tuple[list[tuple[Any, ...]], int]:
        """Return the rows of a statement, after everything that was collected, and how many it wrote or found."""
        self._see(home)
        self.flush()
        cursor = self.connection.execute(query, parameters, binary=True)
        return cursor.fetchall() if cursor.description else [], cursor.rowcount

    def savepoint(self, statement: str) -> None:
        """Send SAVEPOINT, RELEASE or ROLLBACK TO; the last one also where a statement failed before."""
        failed = psycopg_module().pq.TransactionStatus.INERROR
        if self.connection.info.transaction_status == failed:
            self._later.clear()  # nothing is taken before it is undone
        self.flush()
        self.connection.execute(statement)
        if statement.startswith("ROLLBACK"):
            self._home = None  # that of the savepoint again

    def commit(self) -> None:
        """Send what was collected with a COMMIT; what follows runs outside of the transaction."""
        self.ask_all([("COMMIT", ())], home=self._home or NO_HOME)
        self._is_begun, self._home = False, NO_HOME

    def flush(self) -> None:
        """Send what was collected."""
        if self._later:
            self.ask_all([], home=self._home or NO_HOME)

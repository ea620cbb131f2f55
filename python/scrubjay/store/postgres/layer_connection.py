"""The connection object through which a layer above reads and writes its rows: the interface of a SQLite
connection over the database.

A statement runs on this thread's transaction or snapshot, or on a connection from the pool, in each home that it
is about (:mod:`scrubjay.store.postgres.row_homes`). What triggers do in a file is done here: rows get numbers,
changed scopes are recorded, and changes of rows that the layer caches as a whole are counted (the layer's
stamps). Before it writes, the layer must lock the homes (`Transaction.lock`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from scrubjay._native import Scope
from scrubjay.base.errors import StoreError
from scrubjay.store.postgres.batch import Statement as Preparation
from scrubjay.store.postgres.collection import Collection
from scrubjay.store.postgres.conditions import agreeing
from scrubjay.store.postgres.dialect import Layer, Statement, translated
from scrubjay.store.postgres.errors import translated as errors_translated
from scrubjay.store.postgres.home_merging import merged
from scrubjay.store.postgres.row_homes import homes_of, misplaced
from scrubjay.store.postgres.row_security import EVERY_HOME
from scrubjay.store.postgres.sealing import LAYER_TABLES, SEALED_TEXT, Keys, SealedText
from scrubjay.store.postgres.transaction import PostgresTransaction

_READS_RECORDS = ("SELECT id, ", "SELECT id FROM ")
_NEW_RECORDS = tuple(f"INSERT INTO sj_memory_{kind}(home, id, " for kind in ("fact", "preference", "episode"))
_HOLDS = "SELECT usr, agent FROM sj_memory_hold WHERE home = %s"
_SAVEPOINTS = ("SAVEPOINT ", "RELEASE ", "ROLLBACK TO ")

_ESCAPE = "\U0010ffff"
"""A noncharacter. PostgreSQL's texts cannot hold NUL, which is stored as this character and "0"."""


class Rows:
    """The result of a statement, with the methods of a cursor that layers use."""

    __slots__ = ("_at", "_rows", "rowcount")

    def __init__(self, rows: list[tuple[Any, ...]], rowcount: int) -> None:
        self._rows, self._at = rows, 0
        self.rowcount = rowcount
        """The number of rows that were written or returned."""

    def fetchone(self) -> Any:
        """Return the next row, or None."""
        return next(self, None)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return the remaining rows."""
        rows, self._at = self._rows[self._at :], len(self._rows)
        return rows

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self

    def __next__(self) -> tuple[Any, ...]:
        if self._at >= len(self._rows):
            raise StopIteration
        self._at += 1
        return self._rows[self._at - 1]

    def close(self) -> None:
        """Do nothing: no resources are held."""


class LayerConnection:
    """The tables of one layer. Thread-safe."""

    is_file = False
    """False: there are no triggers; the layer does their work."""

    def __init__(self, collection: Collection, layer: Layer, statements: Sequence[str]) -> None:
        self._collection = collection
        self._layer = layer
        self._names = [re.split(r" ON |\(", one)[0].split()[-1] for one in statements]
        self.text_factory: Any = str

    @property
    def cipher(self) -> Keys:
        return self._collection.cipher

    def next_number(self) -> int:
        """Return the number for the next row to write, within a transaction."""
        transaction = self._collection.sessions.transaction
        if transaction is None:
            raise StoreError(f"writing: expected a transaction, got none: {self._collection.place}")
        return transaction.number()

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> Rows:
        """Run a statement of the layer in each home that it is about.

        Raises:
            RowRefusedError: a constraint of the tables rejects the row.
            StoreError: the statement writes, outside of a transaction or without the lock of a home.
        """
        made = translated(statement, self._layer)
        values: dict[str, Any] = {f"p{i}": _stored(value) for i, value in enumerate(parameters)}
        transaction = self._collection.sessions.transaction
        own = self._collection.homes.own
        values.update((f"h{name[1:]}", own(values[name])) for name in made.tenants)
        given = {f"p{i}": value for i, value in enumerate(parameters)}
        homes = homes_of(made, given, self._collection.homes)
        if transaction is None and made.writes:
            raise StoreError(f"writing: expected a transaction, got none: {self._collection.place}")
        if transaction is None:
            return Rows(_read(self._asked(None, made, values, homes)), -1)
        if made.number is not None and values.get(made.number) is None:
            values[made.number] = transaction.number()
        with errors_translated(self._collection.place, "writing" if made.writes else "reading"):
            if statement.startswith(_SAVEPOINTS):
                transaction.batch.savepoint(statement)
                return Rows([], -1)
            if not made.writes:
                return Rows(_read(self._asked(transaction, made, values, homes)), -1)
            rows, n = self._run(transaction, made, values, homes)
        if made.changes is not None:
            self._note(transaction, made, rows)
            rows = []
        return Rows(_read(rows), n)

    # ------------------------------------------------------------------ reading

    def _asked(
        self,
        transaction: PostgresTransaction | None,
        made: Statement,
        values: dict[str, Any],
        homes: Sequence[str] | None,
    ) -> list[tuple[Any, ...]]:
        """Return the rows of a query, which is sent to all its homes in one round trip."""
        if homes is None and transaction is not None and made.is_spread and made.id is not None:
            # A record looked up by id alone is usually in a locked home.
            rows = self._asked_each(transaction, made, values, transaction.homes_of_record(values[made.id]))
            if rows:
                return rows
        if homes is None and transaction is not None and made.is_held:
            homes = transaction.homes  # the parameters of holds differ between tenants
        if homes is None:
            return self._collection.ask(made.query, values, home=EVERY_HOME)
        # a locked tenant's home without a row was never written to, so it has no rows
        if transaction is not None and len(homes) > 1:
            locked = set(transaction.homes)
            homes = [one for one in homes if one in locked or not transaction.has_turn_of(one)]
        if len(homes) == 1:
            return self._asked_each(transaction, made, values, homes)
        return merged(made.query, values, self._asked_each(transaction, made, values, homes))

    def _asked_each(
        self,
        transaction: PostgresTransaction | None,
        made: Statement,
        values: dict[str, Any],
        homes: Sequence[str],
    ) -> list[tuple[Any, ...]]:
        """Return the rows of all homes, in the order of homes."""
        if not homes:
            return []

        def question(home: str) -> Preparation:
            return made.query, self._values_in(made, values, home)

        if transaction is None or not made.is_spread or not made.query.startswith(_READS_RECORDS):
            return self._collection.ask_each(homes, question)
        answers = transaction.batch.ask_each([(home, question(home)) for home in homes])
        for home, rows in zip(homes, answers, strict=True):
            transaction.home_of_record.update((row[0], home) for row in rows)
        return [row for rows in answers for row in rows]

    def _values_in(self, made: Statement, values: dict[str, Any], home: str) -> dict[str, Any]:
        """Return the parameters of a statement for one home."""
        tenant = self._collection.homes.tenant(home)
        of_tenant: dict[str, Any] = {f"h{name[1:]}": home for name in made.tenants if values[name] == tenant}
        if made.is_held:
            own = self._collection.homes.own(tenant)
            held = self._collection.ask(_HOLDS, (own,), home=own)
            of_tenant["held_users"] = [user for user, _ in held]
            of_tenant["held_agents"] = [agent for _, agent in held]
        return {**values, **of_tenant}

    # ------------------------------------------------------------------ writing

    def _run(
        self,
        transaction: PostgresTransaction,
        made: Statement,
        values: dict[str, Any],
        homes: Sequence[str] | None,
    ) -> tuple[list[tuple[Any, ...]], int]:
        """Run a statement that writes; one that names several homes or none runs in each of them that is locked."""
        rows: list[tuple[Any, ...]] = []
        n = 0
        counted = counting(made.query)
        tenant = self._collection.homes.tenant
        for one in self._written(transaction, made, values, homes):
            if made.is_whole and one:
                transaction.lock_tenant(tenant(one))
            here = self._values_in(made, values, one)
            if counted is None or not one or not transaction.sealer.is_encrypted(tenant(one)):
                more, n_more = transaction.batch.run(made.query, here, home=one)
            else:
                more, n_more = self._run_counted(transaction, counted, here, one)
            rows, n = rows + more, n + n_more
            if n and made.id is not None:  # an id is unique
                transaction.home_of_record[values[made.id]] = one
                break
        if not n and made.changes is not None and made.id is not None:
            self._hold_to_turns(made, values)
        return rows, n

    def _hold_to_turns(self, made: Statement, values: dict[str, Any]) -> None:
        """Raise an error if a record to be changed is in a home that is not locked.

        Raises:
            StoreError: such a record exists.
        """
        question = f"SELECT 1 FROM sj_{made.changes} WHERE id = %(id)s LIMIT 1"
        if self._collection.ask(question, {"id": values[made.id or ""]}, home=EVERY_HOME):
            raise StoreError(
                f"writing: expected the lock of the user whose {made.changes} is written: {self._collection.place}"
            )

    def _written(
        self,
        transaction: PostgresTransaction,
        made: Statement,
        values: dict[str, Any],
        homes: Sequence[str] | None,
    ) -> Sequence[str]:
        """Return the homes in which a statement writes.

        Raises:
            StoreError: none of them is locked.
        """
        locked, homes_of_all = transaction.homes, self._collection.homes
        if homes is not None and len(homes) == 1:
            (home,) = homes
            if home not in locked and transaction.has_turn_of(home):  # the home was never written to
                transaction.lock_homes([home])
                locked = transaction.homes
            found = [home] if home in locked else []
            if made.query.startswith(_NEW_RECORDS):
                transaction.home_of_record[values["p0"]] = home
        elif homes is not None:
            found = [home for home in homes if home in locked]
        elif not made.is_spread:
            found = [home for home in locked if homes_of_all.is_own(home)]
        elif (record := made.id or made.record) is not None:
            found = list(transaction.homes_of_record(values[record]))
        else:
            found = list(locked)
        if not found:
            raise StoreError(
                f"writing: expected the lock of the home that is written to: {self._collection.place}"
            )
        return found

    def _run_counted(
        self, transaction: PostgresTransaction, counted: DigestedWrite, values: dict[str, Any], home: str
    ) -> tuple[list[tuple[Any, ...]], int]:
        """Run a statement that writes rows covered by a digest; record the rows it adds and removes."""
        if counted.old is not None:
            old, _ = transaction.batch.run(counted.old, values, home=home)
            transaction.note_rows(-1, counted.table, old, home)
        rows, n = transaction.batch.run(counted.query, values, home=home)
        if counted.comes:
            transaction.note_rows(1, counted.table, [row[counted.n_returned :] for row in rows], home)
        return [row[: counted.n_returned] for row in rows], n

    def documents_within(self, scope: Scope) -> list[tuple[str, int]]:
        """Return, for each collection, its suffix in reports and the number of its documents within a scope."""

        def question(home: str) -> Preparation:
            condition, names = agreeing(scope, home)
            return (
                f"SELECT collection, sum(documents)::bigint FROM sj_scope WHERE {condition} GROUP BY collection",
                names,
            )

        counts: dict[int, int] = {}
        for number, n in self._collection.ask_each(self._collection.homes.within(scope), question):
            counts[number] = counts.get(number, 0) + n
        return [(f"_{number}", n) for number, n in sorted(counts.items())]

    def missing(self) -> list[str]:
        """Return the names of missing tables and indexes of the layer."""
        return [
            name
            for name in self._names
            if self._collection.ask("SELECT to_regclass(%s)::text", (name,))[0][0] is None
        ]

    def misplaced(self) -> list[str]:
        """Return the problems with the homes of the layer's rows; call in a snapshot."""
        return misplaced(self._collection, self._layer)

    def _note(self, transaction: PostgresTransaction, made: Statement, rows: Sequence[Any]) -> None:
        stamps = self._layer.stamps
        for names in dict.fromkeys(rows):
            if not transaction.has_turn(names[0], _as_given(names[1])):
                raise StoreError(
                    f"writing: expected the lock of the user whose {made.changes} is written: {self._collection.place}"
                )
            transaction.touch(*names)
            home = self._collection.homes.of_user(names[0], _as_given(names[1]))
            if made.changes in self._layer.stamped:
                transaction.batch.add(
                    f"INSERT INTO {stamps} AS s VALUES (%s, %s, %s, 1) "
                    "ON CONFLICT (home, tenant, usr) DO UPDATE SET version = s.version + 1",
                    (home, *names[:2]),
                    home=home,
                )


class DigestedWrite(NamedTuple):
    """A statement that writes rows of a table with digests."""

    table: str
    query: str
    """It returns the original results, followed by the rows as they are afterwards."""
    n_returned: int
    """The number of values that it returned originally."""
    old: str | None
    """The query for the rows that it will change; None: it only inserts."""
    comes: bool
    """Whether the rows exist afterwards."""


_WRITES = re.compile(
    r"(?:INSERT INTO (?P<new>\w+)|UPDATE (?P<changed>\w+)(?P<as>(?: AS \w+)?) SET|DELETE FROM (?P<gone>\w+))",
    re.DOTALL,
)


@lru_cache(maxsize=512)
def counting(query: str) -> DigestedWrite | None:
    """Return a writing statement extended to return the rows that it adds and removes; None: its table has no
    digest.

    Raises:
        StoreError: it has an alias or DO UPDATE, so its effect cannot be determined.

    >>> counting("UPDATE sj_memory_fact SET a = (SELECT 1 WHERE true) WHERE id = %(p0)s RETURNING tenant").old
    'SELECT * FROM sj_memory_fact WHERE id = %(p0)s'
    """
    found = _WRITES.match(query)
    if found is None:
        return None
    table = found["new"] or found["changed"] or found["gone"]
    if table not in LAYER_TABLES:
        return None
    body, _, returned = query.partition(" RETURNING ")
    if found["as"] or " DO UPDATE " in body:
        raise StoreError(f"digests: expected a statement without an alias and without DO UPDATE: {query}")
    n_returned = len(returned.split(",")) if returned else 0
    whole = f"{body} RETURNING {returned}{', ' if returned else ''}{table}.*"
    if found["new"]:
        return DigestedWrite(table, whole, n_returned, None, comes=True)
    where = _outer_where(body)
    old = f"SELECT * FROM {table}{'' if where is None else body[where:]}"
    return DigestedWrite(table, whole, n_returned, old, comes=found["changed"] is not None)


def _outer_where(query: str) -> int | None:
    """Return where the WHERE outside of parentheses begins; None: no condition."""
    depth = 0
    for found in re.finditer(r"[()]| WHERE ", query):
        if found[0] == "(":
            depth += 1
        elif found[0] == ")":
            depth -= 1
        elif depth == 0:
            return found.start()
    return None


def as_kept(text: str) -> str:
    """Return a text of a layer in stored form.

    >>> as_kept("a\\0b") == "a\U0010ffff0b"
    True
    """
    if "\0" in text or _ESCAPE in text:
        return text.replace(_ESCAPE, _ESCAPE + "1").replace("\0", _ESCAPE + "0")
    return text


def _stored(value: Any) -> Any:
    if value.__class__ is SealedText:
        return value.to_text()
    if value.__class__ is str:
        return as_kept(value)
    return int(value) if value.__class__ is bool else value


def _read(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    for i, row in enumerate(rows):
        if any(value.__class__ is str and _ESCAPE in value for value in row):
            rows[i] = tuple(map(_as_given, row))
    return rows


def _as_given(value: Any) -> Any:
    if value.__class__ is not str or _ESCAPE not in value:
        return value
    if value.startswith(SEALED_TEXT):
        return SealedText.from_text(value)
    return value.replace(_ESCAPE + "0", "\0").replace(_ESCAPE + "1", _ESCAPE)

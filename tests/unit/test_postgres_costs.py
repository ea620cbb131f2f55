"""The cost of a search and a write over PostgreSQL, in calls, round trips and rows, on any machine."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrubjay import Index, Query, Scope
from scrubjay.backend import Backend
from tests.data.postgres import new_url

psycopg = pytest.importorskip("psycopg")
wire = pytest.importorskip("scrubjay.store.postgres.pipeline")

JANE = Scope("acme", user="jane")
VECTOR = np.array([1.0, 0.5], dtype=np.float32)


@pytest.fixture
def url() -> str:
    return new_url()


@pytest.fixture
def index(url: str) -> Iterator[Index]:
    with Index.open(url, dim=2) as opened:
        yield opened


def n_calls(do: Callable[[], object]) -> int:
    """Return the number of calls of Python functions."""
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        do()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("query", [None, Query(candidates=50)])
def test_a_warm_search_calls_one_function_more_than_over_a_file(
    index: Index, tmp_path: Path, query: Query | None
) -> None:
    with Index.open(tmp_path / "a.scrubjay", dim=2) as file:
        calls = []
        for one in (index, file):
            one.upsert("a", "an oak", scope=JANE, vector=VECTOR)
            one.search("oak", scope=JANE, vector=VECTOR, query=query)
            found = [
                n_calls(lambda one=one: one.search("oak", scope=JANE, vector=VECTOR, query=query))
                for _ in "123"
            ]
            calls.append(min(found))  # the feed may have received something concurrently
    assert calls[0] <= calls[1] + 1


class TestUpsert:
    @pytest.fixture
    def exchanges(self, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
        """Record the statements of each round trip from now on."""
        sent: list[list[str]] = []
        exchange, execute = wire.Connection.exchange, wire.Connection.execute
        own_thread = threading.get_ident()  # the feed and hints have their own threads

        def exchanging(self: Any, statements: Any) -> Any:
            if threading.get_ident() == own_thread:
                sent.append([query for query, *_ in statements])
            return exchange(self, statements)

        def executing(self: Any, query: Any, *rest: Any, **options: Any) -> Any:
            if threading.get_ident() == own_thread:
                sent.append([str(query)])
            return execute(self, query, *rest, **options)

        monkeypatch.setattr(wire.Connection, "exchange", exchanging)
        monkeypatch.setattr(wire.Connection, "execute", executing)
        return sent

    @pytest.mark.parametrize("id", ["new", "known"])
    def test_an_upsert_takes_two_round_trips(self, url: str, exchanges: list[list[str]], id: str) -> None:
        with Index.open(url, dim=2, max_stale=3600, shared_feed=False) as index:
            for known in ("known", "another"):  # the first write determines the properties of the index
                index.upsert(known, "an oak", scope=JANE, vector=VECTOR)
            exchanges.clear()
            index.upsert(id, "a jay", scope=JANE, vector=VECTOR)
            own = list(exchanges)
        assert [(sent[0], sent[-1]) for sent in own] == [("BEGIN", own[0][-1]), (own[1][0], "COMMIT")]

    @pytest.mark.parametrize("ids", [["7"], ["7", "8", "new"]])
    def test_reads_no_more_of_a_large_scope(self, index: Index, ids: list[str]) -> None:
        """Even while the server has no statistics of the tables, as in the first minutes."""
        index.upsert_many(
            [{"id": f"{i}", "text": "oak", "scope": JANE, "vector": VECTOR} for i in range(300)]
        )
        store: Any = Backend.of(index).engine.store  # type: ignore[union-attr]
        with store.writing("writing", scopes=[JANE]) as transaction:
            key = store.homes.key(JANE)
            wanted = [one.encode() for one in ids]
            query, parameters = transaction._documents.question_of_old(key, wanted)
            found = transaction.batch.ask(query, parameters, home=key.home)
            plan = transaction.batch.ask(f"EXPLAIN (ANALYZE, TIMING off) {query}", parameters, home=key.home)
            text = "\n".join(row[0] for row in plan)
            transaction.roll_back()
            transaction.committed = True
        assert sorted(row[0] for row in found) == sorted(one for one in wanted if one != b"new")
        assert "Rows Removed" not in text, text
        assert "Index Scan" in text


class TestExchange:
    """Statements that are sent together give the same results as psycopg's own."""

    @pytest.fixture
    def connection(self, url: str) -> Iterator[Any]:
        with wire.Connection.connect(url, autocommit=True) as opened:
            yield opened

    @pytest.mark.parametrize(
        "value",
        [None, True, 0, 1, -1, 2**15, 2**31, 2**62, 2**63 + 1, 0.5, "", "é%s", b"", b"\0\xff", [1, 2**40], [b"a", b""],
         ["x"], [], [None, "y"]],
    )  # fmt: skip
    def test_exchange_returns_values_like_execute(self, connection: Any, value: object) -> None:
        query = "SELECT %s::text, %s" if isinstance(value, str) else "SELECT 7 %% 4, %s"
        parameters = (value,) * query.count("%s")
        expected = connection.execute(query, parameters, binary=True).fetchall()
        for _ in range(12):  # with its text, prepared along with it, prepared
            assert connection.exchange([(query, parameters, True)]) == [expected]

    def test_exchange_returns_rows_of_the_wanted_statements_only(self, connection: Any) -> None:
        found = connection.exchange(
            [
                ("SELECT 1", (), False),
                ("CREATE TABLE a(b int)", (), True),
                ("INSERT INTO a VALUES (%(x)s), (%(y)s), (%(x)s)", {"x": 1, "y": 2}, False),
                ("SELECT b FROM a ORDER BY b", (), True),
            ]
        )
        assert found == [[], [(1,), (1,), (2,)]]

    def test_statements_of_an_exchange_are_one_transaction(self, connection: Any) -> None:
        connection.execute("CREATE TABLE a(b int)")
        with pytest.raises(psycopg.errors.DivisionByZero):
            connection.exchange(
                [
                    ("INSERT INTO a VALUES (1)", (), False),
                    ("SELECT 1 / 0", (), False),
                    ("INSERT INTO a VALUES (2)", (), False),
                ]
            )
        assert connection.exchange([("SELECT b FROM a", (), True)]) == [[]]

    def test_within_a_transaction_an_error_is_the_end_of_it(self, connection: Any) -> None:
        connection.exchange([("BEGIN", (), False), ("SELECT 1", (), True)])
        for _ in "12":
            with pytest.raises(psycopg.Error):
                connection.exchange([("SELECT 1 / 0", (), False), ("COMMIT", (), False)])
        connection.execute("ROLLBACK")
        assert connection.exchange([("SELECT 1", (), True)]) == [[(1,)]]

    def test_more_than_both_buffers_hold(self, connection: Any) -> None:
        text = "x" * 3_000_000
        assert connection.exchange([("SELECT %s::text", (text,), True)] * 6) == [[(text,)]] * 6

    @pytest.mark.parametrize(
        ("query", "parameters"), [("SELECT %s", ()), ("SELECT 1", (1,)), ("SELECT %x", (1,))]
    )
    def test_invalid_statements_are_refused_and_the_connection_goes_on(
        self, connection: Any, query: str, parameters: Any
    ) -> None:
        with pytest.raises(psycopg.ProgrammingError, match="expected"):
            connection.exchange([("SELECT 1", (), True), (query, parameters, True)])
        assert connection.exchange([("SELECT 1", (), True)]) == [[(1,)]]

    def test_prepared_statements_are_bounded(self, connection: Any) -> None:
        for _ in range(7):
            assert connection.exchange([(f"SELECT {i} + %s", (1,), True) for i in range(300)]) == [
                [(i + 1,)] for i in range(300)
            ]
        n_prepared = connection.execute("SELECT count(*) FROM pg_prepared_statements").fetchone()[0]
        assert 0 < n_prepared <= 200

    @pytest.mark.parametrize(
        "statement",
        [
            "ROLLBACK",
            "DROP TABLE IF EXISTS nothing",
            pytest.param(
                "DISCARD ALL",
                marks=pytest.mark.skipif(
                    psycopg.__version__ < "3.3", reason="unnoticed by psycopg itself before 3.3"
                ),
            ),
        ],
    )
    def test_statements_work_after_psycopg_discards_prepared_ones(
        self, connection: Any, statement: str
    ) -> None:
        for _ in range(3):
            for _ in range(8):  # both prepare it
                assert connection.execute("SELECT 1 + %s", (1,)).fetchall() == [(2,)]
                assert connection.exchange([("SELECT 2 + %s", (1,), True)]) == [[(3,)]]
            connection.execute(statement)

    def test_a_connection_that_is_ended_by_the_server(self, connection: Any, url: str) -> None:
        with psycopg.connect(url, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s)", (connection.info.backend_pid,))
        with pytest.raises(psycopg.OperationalError):
            connection.exchange([("SELECT 1", (), True), ("SELECT 2", (), True)])
        assert connection.closed

    @pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that sends signals")
    def test_an_interrupt_ends_the_statement_at_the_server(self, connection: Any, url: str) -> None:
        def interrupt(*_: object) -> None:
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGALRM, interrupt)
        started = time.monotonic()
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            with pytest.raises(KeyboardInterrupt):
                connection.exchange([("SELECT 1", (), True), ("SELECT pg_sleep(30)", (), False)])
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        assert connection.closed
        with psycopg.connect(url, autocommit=True) as other:
            while other.execute(
                "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'"
            ).fetchall():
                assert time.monotonic() < started + 15
                time.sleep(0.05)

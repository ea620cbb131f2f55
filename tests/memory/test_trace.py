"""Traces: append-only by the schema, numbered without gaps, of one scope, kept according to their retention class."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Index, Scope
from scrubjay.backend import Backend
from scrubjay.base.errors import CorruptIndexError, EncryptionError, KeyErasedError, StoreError
from scrubjay.memory.ledger.event_drafts import Draft
from scrubjay.memory.ledger.schema import TABLES, prepare
from scrubjay.memory.ledger.trace import Traces, erase_traces, sweep_traces

JANE = Scope("acme", user="jane")
DAY_US = 86_400_000_000


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1_700_000_000_000_000

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def make_tables(store: Any) -> None:
    if hasattr(store, "make_layer"):
        prepare(store)
        return
    with store.writing("making tables") as transaction:
        for statement in TABLES:
            transaction.connection.execute(statement)


@pytest.fixture
def traces(tmp_path: Path, clock: Clock) -> Iterator[Traces]:
    with Index.open(tmp_path / "memory.scrubjay") as index:
        store = Backend.of(index).engine.store  # type: ignore[union-attr]
        make_tables(store)
        yield Traces(store, clock)


def drafts(*texts: str, kind: str = "user") -> list[Draft]:
    return [Draft.of(kind, text) for text in texts]


def test_events_come_back_in_order_with_numbers_and_turns(traces: Traces) -> None:
    traces.append(JANE, "r1", drafts("one") + drafts("answer", kind="model"))
    traces.append(JANE, "r1", [Draft.of("tool", "", "search", {"hits": [1, 2]}, "2023-05-08T13:56:00")])
    traces.append(JANE, "r1", drafts("two\0 with NUL, 'quotes' and \U0001f426"))
    found = traces.events(JANE, "r1")
    assert [(event.seq, event.turn, event.kind) for event in found] == [
        (1, 1, "user"),
        (2, 1, "model"),
        (3, 1, "tool"),
        (4, 2, "user"),
    ]
    assert found[2].author == "search" and found[2].data == {"hits": [1, 2]}
    assert found[2].at == datetime(2023, 5, 8, 13, 56, tzinfo=timezone.utc)
    assert found[3].content == "two\0 with NUL, 'quotes' and \U0001f426"
    assert traces.events(JANE, "r1", after=3) == found[3:]
    assert [event.seq for event in traces.tail(JANE, "r1", 2, ("user", "model"))] == [2, 4]
    assert [run.run_id for run in traces.runs(JANE)] == ["r1"]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE memory_event SET content = 'forged'",
        "DELETE FROM memory_event WHERE seq = 2",
        "DELETE FROM memory_run",
        "UPDATE memory_run SET user = 'joe'",
        "UPDATE memory_run SET run = 'other'",
        "UPDATE memory_run SET n_events = 1",
        "INSERT INTO memory_event VALUES (1, 5, 1, 0, NULL, 'user', 'user', 'a gap', NULL, 'acme')",
        "INSERT INTO memory_event VALUES (1, 2, 1, 0, NULL, 'user', 'user', 'twice', NULL, 'acme')",
        "INSERT INTO memory_event VALUES (99, 1, 1, 0, NULL, 'user', 'user', 'of no run', NULL, 'acme')",
        "REPLACE INTO memory_event VALUES (1, 1, 1, 0, NULL, 'user', 'user', 'replaced', NULL, 'acme')",
    ],
)
def test_the_schema_holds_it_append_only(traces: Traces, statement: str) -> None:
    traces.append(JANE, "r1", drafts("one", "two", "three"))
    before = traces.events(JANE, "r1")
    with pytest.raises(StoreError), traces.store.writing("forging") as transaction:
        transaction.connection.execute(statement)
    assert traces.events(JANE, "r1") == before


def test_overlapping_distilled_ranges_are_refused_by_the_schema(traces: Traces) -> None:
    traces.append(JANE, "r1", drafts("one", "two", "three"))
    row = "INSERT INTO memory_distilled VALUES (1, ?, ?, 0, 'x', '[]')"
    for first, last, taken in ((1, 2, False), (1, 3, True), (2, 3, True), (3, 3, False), (4, 3, True)):
        try:
            with traces.store.writing("distilling") as transaction:
                transaction.connection.execute(row, (first, last))
        except StoreError:
            assert taken
        else:
            assert not taken


@pytest.mark.parametrize(
    "foreign",
    [
        Scope("acme"),
        Scope("acme", user="joe"),
        Scope("acme", agent="jane"),
        Scope("acme", user="jane", agent="a"),
        Scope("acm", user="ejane"),
        Scope("acme", user="jane\0"),
        Scope("acme", user="Jane"),
        Scope("acme", user="jan%"),
        Scope("acme' OR 1=1 --", user="jane"),
    ],
)
def test_only_exactly_the_scope_sees_its_runs(traces: Traces, foreign: Scope) -> None:
    traces.append(JANE, "r1", drafts("the door code is 4711"))
    assert traces.events(foreign, "r1") == []
    assert traces.tail(foreign, "r1", 9, ("user",)) == []
    assert traces.find(foreign, "code") == [] == traces.find(foreign, "")
    assert traces.run(foreign, "r1") is None and traces.runs(foreign) == []
    traces.append(foreign, "r1", drafts("mine"))
    assert [event.content for event in traces.events(JANE, "r1")] == ["the door code is 4711"]
    assert [event.content for event in traces.events(foreign, "r1")] == ["mine"]


def test_forensics_finds_text_whatever_its_case(traces: Traces) -> None:
    traces.append(JANE, "r1", drafts("Die STRASSE ist 100% lang", "etwas anderes"))
    traces.append(JANE, "r2", drafts("Straße_2"))
    assert [(run, event.seq) for run, event in traces.find(JANE, "straße")] == [("r2", 1), ("r1", 1)]
    assert [run for run, _ in traces.find(JANE, "strasse", run_id="r1")] == ["r1"]
    assert traces.find(JANE, "_1") == [] and len(traces.find(JANE, "100%")) == 1
    assert len(traces.find(JANE, "", limit=2)) == 2


def test_retention_is_kept_at_read_and_by_sweep(traces: Traces, clock: Clock) -> None:
    for retention, days in (("short", 7), ("standard", 90), ("long", 365)):
        traces.append(JANE, retention, drafts("old"), retention)
        clock.now += DAY_US
        traces.append(JANE, retention, drafts("young"), retention)
        clock.now += days * DAY_US - DAY_US - 1
        assert len(traces.events(JANE, retention)) == 2
        clock.now += 1
        assert [event.content for event in traces.events(JANE, retention)] == ["young"]
        assert [event.content for event in traces.tail(JANE, retention, 9, ("user",))] == ["young"]
        assert len(traces.find(JANE, "old")) == 0
    traces.append(JANE, "kept", drafts("for ever"), "permanent")
    clock.now += 4000 * DAY_US
    with traces.store.writing("sweeping") as transaction:
        transaction.lock(["acme"])
        assert sweep_traces(transaction.connection, clock.now) == 6
        assert sweep_traces(transaction.connection, clock.now) == 0
    assert [event.content for event in traces.events(JANE, "kept")] == ["for ever"]
    # A run continues after its events are deleted, and its numbers are never reused.
    assert traces.append(JANE, "standard", drafts("again"))[0].seq == 3


def test_erasure_takes_every_run_of_its_scope_and_nothing_else(traces: Traces) -> None:
    scopes = [
        Scope("acme"),
        JANE,
        Scope("acme", user="jane", agent="a"),
        Scope("acme", user="joe"),
        Scope("globex", user="jane"),
    ]
    for scope in scopes:
        traces.append(scope, "r1", drafts("one", "two"))
    with traces.store.writing("erasing") as transaction:
        transaction.lock(["acme"])
        assert erase_traces(transaction.connection, tenant="acme", user="jane") == 4
    assert [bool(traces.events(scope, "r1")) for scope in scopes] == [True, False, False, True, True]
    assert traces.append(JANE, "r1", drafts("anew"))[0].seq == 1
    with traces.store.writing("erasing") as transaction:
        transaction.lock(["acme"])
        assert erase_traces(transaction.connection, tenant="acme") == 5
    assert [bool(traces.events(scope, "r1")) for scope in scopes] == [False] * 4 + [True]


def test_an_append_is_all_or_nothing(traces: Traces) -> None:
    class Fails(list):
        def __iter__(self) -> Iterator[Draft]:
            yield from drafts("one")
            raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        traces.append(JANE, "r1", Fails())
    assert traces.run(JANE, "r1") is None and traces.events(JANE, "r1") == []


def test_threads_append_to_one_run_without_gaps(traces: Traces) -> None:
    def work(name: str) -> None:
        for i in range(20):
            traces.append(JANE, "r1", drafts(f"{name} {i}"))

    threads = [threading.Thread(target=work, args=(f"t{i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = traces.events(JANE, "r1")
    assert [event.seq for event in found] == list(range(1, 81)) == [event.turn for event in found]
    for name in ("t0", "t1", "t2", "t3"):
        own = [event.content for event in found if event.content.startswith(name)]
        assert own == [f"{name} {i}" for i in range(20)]


class Provider:
    """A key for acme, until it is destroyed."""

    def __init__(self) -> None:
        self.keys = {"acme": b"k" * 32}
        self.destroyed = False

    def __call__(self, tenant: str) -> bytes | None:
        if tenant == "acme" and self.destroyed:
            raise KeyErasedError("acme")
        return self.keys.get(tenant)


@contextmanager
def sealed_traces(path: Path, keys: Provider | None) -> Iterator[tuple[Index, Traces]]:
    with Index.open(path, keys=keys) as index:
        store = Backend.of(index).engine.store  # type: ignore[union-attr]
        yield index, Traces(store, Clock())


def test_traces_are_sealed_with_the_tenants_key(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    path, provider = tmp_path / "m.scrubjay", Provider()
    joe, globex = Scope("acme", user="joe"), Scope("globex", user="jane")
    with sealed_traces(path, provider) as (index, traces):
        make_tables(traces.store)
        draft = Draft.of("user", "The door code is 4711.", "Jane Doe", {"where": "at the door"})
        written = traces.append(JANE, "r1", [draft, *drafts("Noted.", kind="model")])
        traces.append(joe, "r1", drafts("Joe was here."))
        traces.append(globex, "r1", drafts("In the clear."))
        assert traces.events(JANE, "r1") == written and written[0].data == {"where": "at the door"}
        assert traces.tail(JANE, "r1", 1, ("user",)) == written[:1]
        assert [event.seq for _, event in traces.find(JANE, "DOOR CODE")] == [1]
        in_file = b"".join(file.read_bytes() for file in tmp_path.iterdir())
        assert not any(text in in_file for text in (b"door code", b"Jane Doe", b"at the door", b"Joe was"))
        assert b"In the clear." in in_file
        # Joe's trace still needs the key when the tenant has no documents any more.
        index.upsert("m1", "a document", scope=JANE)
        index.erase(Scope("acme"))
    with sealed_traces(path, provider) as (_, traces):
        assert [event.content for event in traces.events(joe, "r1")] == ["Joe was here."]
        with traces.store.writing("swapping") as transaction:  # sealed bytes decrypt only in their own cell
            transaction.connection.execute("DROP TRIGGER memory_event_fixed")
            transaction.connection.execute(
                "UPDATE memory_event SET content = (SELECT content FROM memory_event WHERE seq = 2) "
                "WHERE seq = 1 AND run = 1"
            )
        with pytest.raises(CorruptIndexError):
            traces.events(JANE, "r1")
    provider.destroyed = True
    with sealed_traces(path, provider) as (_, traces):
        assert (
            traces.events(joe, "r1") == [] == traces.find(joe, "Joe") == traces.tail(joe, "r1", 1, ("user",))
        )
        with pytest.raises(KeyErasedError):
            traces.append(joe, "r1", drafts("More."))
        assert [event.content for event in traces.events(globex, "r1")] == ["In the clear."]
    with sealed_traces(path, None) as (_, traces), pytest.raises(EncryptionError):
        traces.events(joe, "r1")


@pytest.mark.parametrize(
    ("arguments", "error", "said_so"),
    [
        (("User", "x"), ValueError, "kind: expected"),
        (("", "x"), ValueError, "kind: expected"),
        ((None, "x"), TypeError, "kind: expected a str, got NoneType"),
        (("user", b"x"), TypeError, "content: expected a str, got bytes"),
        (
            ("user", "\ud800"),
            ValueError,
            "content: expected text that UTF-8 can encode, got a lone surrogate at 0",
        ),
        (("user", "x", "a" * 501), ValueError, "author: expected at most 500"),
        (("user", "x", None, {"a": float("nan")}), ValueError, r"data\['a'\]: expected a finite number"),
        (("user", "x", None, {"a": "\udfff"}), ValueError, "data: expected text that UTF-8 can encode"),
        (("user", "x", None, {"a": object()}), TypeError, r"data\['a'\]: expected a JSON value"),
        (("user", "x", None, [1]), TypeError, "data: expected a mapping"),
        (("user", "x", None, None, "tomorrow"), ValueError, "at: expected an ISO 8601 time"),
    ],
)
def test_bad_events_are_named(arguments: tuple, error: type[Exception], said_so: str) -> None:
    with pytest.raises(error, match=said_so):
        Draft.of(*arguments)


def test_tables_can_be_made_in_any_database() -> None:
    connection = sqlite3.connect(":memory:")
    for statement in TABLES:
        connection.execute(statement)
    connection.close()

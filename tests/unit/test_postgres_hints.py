"""Hints make other processes' writes visible at once, and missing or wrong hints do no harm."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from scrubjay import Index, Scope
from scrubjay.backend import Backend
from scrubjay.memory import Memory
from scrubjay.store.postgres import feed, hints, shared_feed
from scrubjay.store.postgres.feed import Feed
from scrubjay.store.postgres.store import PostgresStore
from tests.data.postgres import new_url

psycopg = pytest.importorskip("psycopg")

JANE = Scope("acme", user="jane")
POLL_SECONDS = 30.0  # so that only a hint makes a write visible in time


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(feed, "_LONGEST_PAUSE", POLL_SECONDS)
    return new_url()


@pytest.fixture(params=[False, True], ids=["alone", "shared"])
def either_pair(url: str, request: pytest.FixtureRequest) -> Iterator[tuple[Index, Index]]:
    """A writer and a reader, each with its own feed, or one that follows the other."""
    yield from opened(url, shared=request.param)


@pytest.fixture
def pair(url: str) -> Iterator[tuple[Index, Index]]:
    """A writer and a reader, each with its own feed."""
    yield from opened(url, shared=False)


def opened(url: str, *, shared: bool) -> Iterator[tuple[Index, Index]]:
    options: Any = {"max_stale": 1000, "shared_feed": shared}
    with Index.open(url, **options) as writer:
        until(partial(listens, writer))
        with Index.open(url, **options) as reader:
            until(partial(listens, reader))
            assert feed_of(reader).sharing.role == ("follower" if shared else "alone")
            yield writer, reader


def store_of(index: Index) -> PostgresStore:
    store: Any = Backend.of(index).engine.store  # type: ignore[union-attr]
    assert isinstance(store, PostgresStore)
    return store


def feed_of(index: Index) -> Feed:
    return store_of(index)._feed


def listens(index: Index) -> bool:
    return feed_of(index).hints._connection is not None or feed_of(index).sharing.is_following


def hears(index: Index, scope: Scope = JANE) -> bool:
    own = feed_of(index)
    heard = own.hints._heard_of
    if own.sharing.is_following:
        heard = set().union(*(one.wishes() for one in shared_feed._live))
    return not {hints.bucket_of(scope.tenant), hints.ALL}.isdisjoint(heard)


def wants_all(connection: Any, index: Index) -> None:
    connection.execute(
        "SELECT pg_advisory_lock_shared(%s, %s)", (feed_of(index).hints._lock_class, hints.ALL)
    )


def until(true: Callable[[], bool], seconds: float = 10) -> float:
    started = time.monotonic()
    while not true():
        assert time.monotonic() - started < seconds
        time.sleep(0.002)
    return time.monotonic() - started


def found(index: Index, scope: Scope = JANE) -> set[Any]:
    ids = {hit.id for hit in index.search("oak", scope=scope, k=100)}
    until(lambda: hears(index, scope))
    return ids


def finds(index: Index, ids: set[Any]) -> bool:
    return found(index) == ids


def test_hints_show_writes_of_another_process_before_the_next_poll(either_pair: tuple[Index, Index]) -> None:
    writer, reader = either_pair
    assert found(reader) == set()
    for i in range(5):
        writer.upsert(i, "oak", scope=JANE)
        until(partial(finds, reader, {*range(i + 1)}))
    writer.delete(2, scope=JANE)
    until(lambda: found(reader) == {0, 1, 3, 4})
    writer.erase(JANE)
    until(lambda: found(reader) == set())


def test_a_collection_hears_of_what_is_its_own(either_pair: tuple[Index, Index]) -> None:
    writer, reader = either_pair
    notes = [index.collection("notes") for index in either_pair]
    assert found(notes[1]) == found(reader) == set()
    notes[0].upsert("n", "oak", scope=JANE)
    until(lambda: found(notes[1]) == {"n"})
    assert writer.erase(JANE, everywhere=True) == 1
    until(lambda: found(notes[1]) == set())


def test_hints_of_scopes_that_are_not_resident_cause_no_poll(either_pair: tuple[Index, Index]) -> None:
    writer, reader = either_pair
    found(reader)
    before = feed_of(reader).fresh_at
    for i in range(20):
        writer.upsert(i, "oak", scope=Scope("globex", user=f"u{i}"))
    writer.upsert(99, "oak", scope=JANE)
    until(lambda: found(reader) == {99})
    after = feed_of(reader).fresh_at
    assert after > before
    for i in range(20):
        writer.upsert(i, "jay", scope=Scope("globex", user=f"u{i}"))
    time.sleep(0.3)
    assert feed_of(reader).fresh_at == after


def test_a_hint_carries_no_names_and_is_sent_after_the_commit(
    either_pair: tuple[Index, Index], url: str
) -> None:
    writer, _ = either_pair
    channel = feed_of(writer).hints.channel(hints.ALL)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(psycopg.sql.SQL("LISTEN {}").format(psycopg.sql.Identifier(channel)))
        wants_all(connection, writer)

        def change_and_fail() -> None:
            with Backend.of(writer).changing("failing") as change:
                change.upsert(["n"], ["jay"], scopes=[JANE], vectors=[None], payloads=[None])
                raise RuntimeError

        with pytest.raises(RuntimeError):
            change_and_fail()
        assert list(connection.notifies(timeout=0.3)) == []
        writer.upsert("acme", "a secret of jane", scope=JANE)
        (heard,) = connection.notifies(timeout=5, stop_after=1)
        _, word = heard.payload.split()
        number, key = word.split(".")
        assert (int(number), len(heard.payload) < 50) == (store_of(writer).number, True)
        assert int(key, 16) >= 0 and "jane" not in heard.payload and "acme" not in heard.payload


def test_wrong_hints_do_no_harm(either_pair: tuple[Index, Index], url: str) -> None:
    writer, reader = either_pair
    found(reader)
    channel = feed_of(reader).hints.channel(hints.bucket_of("acme"))
    with psycopg.connect(url, autocommit=True) as connection:
        for words in ("", " ", "x", "x y.z", "x 1.", "x .1", "x 1.zz", "é 1.é", "x " + "9.f " * 1500):
            connection.execute("SELECT pg_notify(%s, %s)", (channel, words))
    writer.upsert("m", "oak", scope=JANE)
    until(lambda: found(reader) == {"m"})
    assert listens(reader)


def test_many_scopes_at_once(either_pair: tuple[Index, Index]) -> None:
    writer, reader = either_pair
    scopes = [Scope("acme", user=f"u{i}") for i in range(600)]
    found(reader, scopes[-1])
    writer.upsert_many([{"id": "m", "text": "oak", "scope": scope} for scope in scopes])
    until(lambda: found(reader, scopes[-1]) == {"m"})


def test_without_hints_the_polls_suffice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hints.Hints, "_connect", lambda self: None)
    url = new_url()
    with Index.open(url, max_stale=0.2) as writer, Index.open(url, max_stale=0.2) as reader:
        assert len(reader.search("oak", scope=JANE)) == 0
        writer.upsert("m", "oak", scope=JANE)
        until(lambda: len(reader.search("oak", scope=JANE)) == 1)
        assert feed_of(reader).hints._connection is None


def heard(pair: tuple[Index, Index], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the messages that the reader receives from now on, including those that do not concern it."""
    notes: list[Any] = []
    feed = feed_of(pair[1])
    concerns = feed.concerns
    monkeypatch.setattr(feed, "concerns", lambda hints: notes.extend(hints) or concerns(hints))
    return notes


def test_hints_are_sent_only_for_tenants_resident_elsewhere(
    pair: tuple[Index, Index], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, reader = pair
    found(reader), found(writer)
    notes = heard(pair, monkeypatch)
    other = next(name for name in map(str, range(99)) if hints.bucket_of(name) != hints.bucket_of("acme"))
    writer.upsert("o", "oak", scope=Scope(other))  # resident in the writer itself
    until(lambda: hints.bucket_of(other) in feed_of(writer).hints._quiet)
    assert hints.bucket_of("acme") not in feed_of(writer).hints._quiet
    writer.upsert("m", "oak", scope=JANE)
    until(lambda: found(reader) == {"m"})
    assert len(notes) == 1
    # A process in which it becomes resident later receives hints after a while.
    found(reader, Scope(other))
    time.sleep(2 * hints.QUIET_SECONDS)
    writer.upsert("o2", "oak", scope=Scope(other))
    until(lambda: found(reader, Scope(other)) == {"o", "o2"})


def test_a_reader_of_many_tenants_subscribes_to_all_hints(
    pair: tuple[Index, Index], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hints, "MOST_BUCKETS", 3)
    writer, reader = pair
    scopes = [Scope(f"tenant {i}") for i in range(8)]
    for scope in scopes:
        found(reader, scope)
    assert len(feed_of(reader).hints._heard_of) == 4 and hints.ALL in feed_of(reader).hints._heard_of
    for scope in scopes:
        writer.upsert("m", "oak", scope=scope)
    for scope in scopes:
        until(partial(lambda scope: found(reader, scope) == {"m"}, scope))


def test_the_locks_that_say_who_listens_go_with_the_process(pair: tuple[Index, Index], url: str) -> None:
    reader = pair[1]
    found(reader)

    def n_locks() -> int:
        with psycopg.connect(url, autocommit=True) as connection:
            (n,) = connection.execute(
                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = %s AND objsubid = 2",
                (hints.bucket_of("acme"),),
            ).fetchone()  # type: ignore[misc]
        return int(n)

    assert n_locks() == 1
    reader.close()
    until(lambda: n_locks() == 0)


def test_a_lost_connection_is_reestablished(pair: tuple[Index, Index], url: str) -> None:
    writer, reader = pair
    found(reader)
    for index in pair:
        (pid,) = (feed_of(index).hints._connection.info.backend_pid,)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(%s)", (pid,))
        until(partial(listens_anew, index, pid))
    writer.upsert("m", "oak", scope=JANE)
    until(lambda: found(reader) == {"m"})


def test_a_connection_that_breaks_as_it_is_made_is_made_anew(pair: tuple[Index, Index], url: str) -> None:
    writer, reader = pair
    found(reader)
    own = feed_of(reader).hints
    take, broken = own._server.take, []

    def take_broken(**options: Any) -> Any:
        connection = take(**options)
        if threading.current_thread().name == "scrubjay-feed" and not broken:
            broken.append(connection)
            with psycopg.connect(url, autocommit=True) as other:
                other.execute("SELECT pg_terminate_backend(%s)", (connection.info.backend_pid,))
        return connection

    own._server.take = take_broken  # type: ignore[method-assign]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(%s)", (own._connection.info.backend_pid,))
    until(lambda: broken)
    until(lambda: listens(reader) and own._connection is not broken[0] and hears(reader))
    writer.upsert("m", "oak", scope=JANE)
    until(lambda: found(reader) == {"m"})


def listens_anew(index: Index, before: int) -> bool:
    connection = feed_of(index).hints._connection
    return connection is not None and connection.info.backend_pid != before


def test_an_index_that_is_closed_or_forgotten_leaves_nothing_behind(url: str) -> None:
    index = Index.open(url, max_stale=1000)
    until(lambda: listens(index))
    thread = feed_of(index)._thread
    own = feed_of(index).hints
    started = time.monotonic()
    index.close()
    assert time.monotonic() - started < 1.5
    assert thread is not None and not thread.is_alive()
    assert own._connection is None and own._bell.fileno() == -1


@pytest.mark.parametrize("open_one", [Index.open, Memory.open])
def test_an_index_dropped_without_close_ends_its_thread(open_one: Callable[[str], Any]) -> None:
    before = {thread for thread in threading.enumerate() if thread.name == "scrubjay-feed"}
    opened = open_one(new_url())
    threads = {thread for thread in threading.enumerate() if thread.name == "scrubjay-feed"} - before
    assert len(threads) == 1
    del opened
    gc.collect()
    until(lambda: not any(thread.is_alive() for thread in threads))

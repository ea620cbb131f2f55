"""Losses, and their reports, when the server or a writer is killed, or a standby that was behind takes over."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Index, Scope, Stamp, StoreError, StoreUnavailableError
from scrubjay.backend import Backend
from tests.data.postgres import Cluster, new_cluster, new_url

JANE, JOE = Scope("acme", user="jane"), Scope("acme", user="joe")


@pytest.fixture(scope="module")
def server() -> Iterator[Cluster]:
    made = new_cluster()
    if isinstance(made, str):
        pytest.skip(made)
    yield made
    made.remove()


@pytest.fixture
def url(server: Cluster) -> str:
    return new_url(server.url)


def words(index: Index, scope: Scope = JANE) -> set[Any]:
    return {hit.id for hit in index.search("oak", scope=scope, k=10_000)}


def until(holds: Any, seconds: float = 20) -> None:
    last = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < last
        time.sleep(0.02)


class TestAway:
    def test_during_an_outage_resident_scopes_answer_and_are_marked_stale(
        self, server: Cluster, url: str
    ) -> None:
        with Index.open(url, max_stale=0.3) as index, Index.open(url) as other:
            for scope in (JANE, JOE):
                index.upsert_many([{"id": i, "text": f"oak {i}", "scope": scope} for i in range(30)])
            assert len(words(index)) == 30
            hits = index.search("oak", scope=JANE)
            assert not any(reason.startswith("stale: ") for reason in hits.degraded)
            assert 0 <= hits.freshness < 1
            server.stop("immediate")
            try:
                until(lambda: any(r.startswith("stale: ") for r in index.search("oak", scope=JANE).degraded))
                assert len(words(index)) == 30
                assert index.search("oak", scope=JANE).freshness > 0
                (batch,) = index.search_batch(["oak"], scope=JANE, k=50)
                assert len(batch) == 30 and any(reason.startswith("stale: ") for reason in batch.degraded)
                with pytest.raises(StoreUnavailableError, match=r"does not answer|is stopping"):
                    index.search("oak", scope=Scope("globex"))
                for write in (
                    lambda: index.upsert(99, "oak", scope=JANE),
                    lambda: index.delete(1, scope=JANE),
                    lambda: index.get(1, scope=JANE),
                ):
                    with pytest.raises(StoreUnavailableError):
                        write()
            finally:
                server.start()
            until(lambda: not any(r.startswith("stale: ") for r in index.search("oak", scope=JANE).degraded))
            other.upsert(100, "oak", scope=JANE)
            other.delete(1, scope=JANE)
            until(lambda: words(index) == {*range(30), 100} - {1})
            index.upsert(101, "oak", scope=JANE)
            assert words(index) == {*range(30), 100, 101} - {1}
            assert index.admin.check().clean

    def test_during_an_outage_a_known_stale_scope_answers_as_it_was(self, server: Cluster, url: str) -> None:
        with Index.open(url, max_stale=0.3) as index, Index.open(url) as other:
            index.upsert(1, "oak", scope=JANE)
            assert words(index) == {1}
            other.upsert(2, "oak", scope=JANE)
            known: Any = Backend.of(index).engine.store._freshness  # type: ignore[union-attr]
            until(lambda: JANE in known._behind and known._behind[JANE] == other.admin.stamp(JANE).version)
            server.stop("immediate")
            try:
                hits = index.search("oak", scope=JANE)
                assert hits.ids.tolist() == [1]
                assert any(reason.startswith("stale: ") for reason in hits.degraded)
            finally:
                server.start()
            until(lambda: words(index) == {1, 2})
            until(lambda: not any(r.startswith("stale: ") for r in index.search("oak", scope=JANE).degraded))

    def test_documents_that_expire_during_an_outage_are_not_found(self, server: Cluster, url: str) -> None:
        with Index.open(url, max_stale=0.3) as index:
            now = [1_000_000_000.0]
            Backend.of(index).use_clock(lambda: int(now[0] * 1e6))
            index.upsert(1, "oak", scope=JANE, expires_at=now[0] + 60)
            index.upsert(2, "oak", scope=JANE)
            assert words(index) == {1, 2}
            server.stop("fast")
            try:
                now[0] += 61
                assert words(index) == {2}
                now[0] += 61
                assert words(index) == {2}
            finally:
                server.start()
            until(lambda: words(index) == {2})

    @pytest.mark.parametrize("max_stale", [0, 0.02, 1])
    def test_waiting_costs_nothing(self, server: Cluster, url: str, max_stale: float) -> None:
        with Index.open(url, max_stale=max_stale) as index:
            index.upsert("m1", "oak", scope=JANE)
            time.sleep(0.1)  # the connection for hints is there
            server.stop("immediate")
            try:
                worked = time.process_time()
                time.sleep(1)
                assert time.process_time() - worked < 0.3  # seconds of CPU, of all threads
            finally:
                server.start()

    def test_a_stamp_that_cannot_be_reached(self, server: Cluster, url: str) -> None:
        with Index.open(url) as index:
            index.upsert(1, "oak", scope=JANE)
            stamp = index.admin.stamp(JANE)
            ahead = stamp._replace(version=stamp.version + 10**9)
            with pytest.raises(StoreUnavailableError, match="after: expected version"):
                index.search("oak", scope=JANE, after=ahead)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("the database system is in recovery mode", StoreUnavailableError),
        ("the database system is starting up", StoreUnavailableError),
        ("the database system is shutting down", StoreUnavailableError),
        ("the database system is not yet accepting connections", StoreUnavailableError),
        ('database "memories" does not exist', StoreError),
        ('role "app" does not exist', StoreError),
    ],
)
def test_connection_errors_of_the_server_have_typed_errors(said: str, kind: type[StoreError]) -> None:
    psycopg = pytest.importorskip("psycopg")
    from scrubjay.store.postgres.errors import meaning

    refused = psycopg.OperationalError(f'connection to server on socket "/tmp/s" failed: FATAL:  {said}\n')
    assert type(meaning(refused, "postgresql:///memories", "connecting")) is kind


class TestStamps:
    def test_a_search_after_a_stamp_has_seen_the_write(self, url: str) -> None:
        with Index.open(url, max_stale=60) as reader, Index.open(url, max_stale=60) as writer:
            words(reader)
            for i in range(25):
                writer.upsert(i, "oak", scope=JANE)
                stamp = Stamp.read(str(writer.admin.stamp(JANE)))
                found = reader.search("oak", scope=Scope("acme", "jane", "bot"), after=stamp, k=100)
                assert set(found.ids.tolist()) == {*range(i + 1)}
            writer.delete(3, scope=JANE)
            found = reader.search("oak", scope=JANE, after=writer.admin.stamp(JANE), k=100)
            assert 3 not in found.ids

    def test_stamps_and_freshness_work_in_a_file_and_in_memory(self, tmp_path: Path) -> None:
        with Index.open(tmp_path / "m.scrubjay") as file, Index() as local:
            for index in (file, local):
                index.upsert(1, "oak", scope=JANE)
                stamp = index.admin.stamp(JANE)
                hits = index.search("oak", scope=JANE, after=stamp)
                assert len(hits) == 1 and hits.freshness == 0.0
            with pytest.raises(ValueError, match="of this collection"):
                file.search("oak", scope=JANE, after=local.admin.stamp(JANE))
            with pytest.raises(ValueError, match="that of"):
                file.search("oak", scope=JOE, after=file.admin.stamp(JANE))
            with pytest.raises(TypeError, match=r"scrubjay\.Stamp"):
                file.search("oak", scope=JANE, after="7")  # type: ignore[arg-type]
            for wrong in ("", "[1]", '["a",null,null,"7","x"]', "{}"):
                with pytest.raises(ValueError, match="expected a stamp"):
                    Stamp.read(wrong)


class TestFreshness:
    """The reported age of a result is right even if the feed receives more during the search."""

    @staticmethod
    def meanwhile(index: Index, monkeypatch: pytest.MonkeyPatch, do: Any) -> Any:
        """Run a function after the engine has searched; return the feed."""
        engine: Any = Backend.of(index).engine
        search = engine.search

        def then(*arguments: Any, **options: Any) -> Any:
            found = search(*arguments, **options)
            do()
            return found

        monkeypatch.setattr(type(engine), "search", lambda self, *a, **o: then(*a, **o))
        return engine.store._feed

    def test_freshness_does_not_cover_hints_heard_after_the_poll(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with Index.open(url, max_stale=60) as index, Index.open(url) as other:
            index.upsert(1, "oak", scope=JANE)

            def write() -> None:
                other.upsert(2, "oak", scope=JANE)
                time.sleep(0.05)
                feed.poll()

            feed = self.meanwhile(index, monkeypatch, write)
            hits = index.search("oak", scope=JANE)
            assert hits.ids.tolist() == [1] and hits.freshness >= 0.05

    def test_a_search_that_could_not_poll_is_marked_stale_although_the_server_is_back(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with Index.open(url, max_stale=0) as index:
            index.upsert(1, "oak", scope=JANE)

            def answer() -> None:
                feed._turn.release()
                feed.poll()

            feed = self.meanwhile(index, monkeypatch, answer)
            feed._turn.acquire()  # so that its own thread detects nothing
            feed.is_away = True
            hits = index.search("oak", scope=JANE)
            assert not feed.is_away and any(reason.startswith("stale: ") for reason in hits.degraded)


class Writers:
    """Threads that write batches of three, each atomic, and record which were acknowledged."""

    def __init__(self, url: str, n: int) -> None:
        self.url = url
        self.acknowledged: list[int] = []
        self.unknown: list[int] = []
        self.stopped = threading.Event()
        self.threads = [threading.Thread(target=self._write, args=(i,)) for i in range(n)]
        for thread in self.threads:
            thread.start()

    def _write(self, number: int) -> None:
        with Index.open(self.url, busy_timeout=10) as index:
            chance, batch = random.Random(number), number
            while not self.stopped.is_set():
                scope = chance.choice([JANE, JOE, Scope("globex")])
                try:
                    index.upsert_many(
                        [{"id": f"{batch}-{i}", "text": f"oak {batch}", "scope": scope} for i in range(3)]
                    )
                    self.acknowledged.append(batch)
                except StoreError:
                    self.unknown.append(batch)
                    time.sleep(0.05)
                batch += 100

    def end(self) -> None:
        self.stopped.set()
        for thread in self.threads:
            thread.join(60)
            assert not thread.is_alive()

    def judge(self) -> None:
        """No acknowledged write is lost, and none is partial; searches agree with the rows."""
        with Index.open(self.url, max_stale=0) as index:
            seen: dict[int, int] = {}
            for scope in (JANE, JOE, Scope("globex")):
                listed = {record.id for record in index.list(scope, exact=True)}
                assert words(index, scope) == listed
                for id in listed:
                    batch = int(str(id).partition("-")[0])
                    seen[batch] = seen.get(batch, 0) + 1
            assert set(seen.values()) <= {3}
            assert set(self.acknowledged) <= set(seen) <= {*self.acknowledged, *self.unknown}
            assert index.admin.check().problems == []


def test_the_server_is_killed_while_threads_write(server: Cluster, url: str) -> None:
    with Index.open(url) as index:
        index.upsert_many([{"id": "0-0", "text": "x", "scope": Scope("z")}])
    writers = Writers(url, 4)
    try:
        for _ in range(3):
            before = len(writers.acknowledged)
            until(lambda before=before: len(writers.acknowledged) > before + 15)
            server.stop("immediate")
            server.start()
        before = len(writers.acknowledged)
        until(lambda: len(writers.acknowledged) > before + 5)
    finally:
        writers.end()
    assert len(writers.acknowledged) > 50
    writers.judge()


WRITER = """
import sys
from scrubjay import Index, Scope
index = Index.open(sys.argv[1])
batch = int(sys.argv[2])
while True:
    scope = [Scope("acme", user="jane"), Scope("acme", user="joe")][batch % 2]
    index.upsert_many([{"id": f"{batch}-{i}", "text": f"oak {batch}", "scope": scope} for i in range(3)])
    if batch % 5 == 4:
        index.delete_many([f"{batch}-{i}" for i in range(3)], scope=scope)
        print("gone", batch, flush=True)
    else:
        print("there", batch, flush=True)
    batch += 1
"""


def test_a_writing_process_is_killed(url: str) -> None:
    there: set[int] = set()
    gone: set[int] = set()
    with Index.open(url, max_stale=0) as reader:
        for round in range(4):
            process = subprocess.Popen(
                [sys.executable, "-c", WRITER, url, str(round * 10_000)], stdout=subprocess.PIPE, text=True
            )
            assert process.stdout is not None
            for _ in range(random.Random(round).randrange(10, 40)):
                what, batch = process.stdout.readline().split()
                (there if what == "there" else gone).add(int(batch))
                assert {f"{batch}-{i}" for i in range(3)} <= words(reader, JANE) | words(reader, JOE) or (
                    what == "gone"
                )
            process.send_signal(signal.SIGKILL)
            for line in process.communicate()[0].splitlines():
                if len(parts := line.split()) == 2:
                    (there if parts[0] == "there" else gone).add(int(parts[1]))
        found: dict[int, int] = {}
        for scope in (JANE, JOE):
            for id in words(reader, scope):
                batch = int(str(id).partition("-")[0])
                found[batch] = found.get(batch, 0) + 1
        assert set(found.values()) == {3}  # no partial batches
        assert there <= set(found)
        assert not gone & set(found)
        assert len(set(found) - there) <= 4  # one per round that was not acknowledged
        reader.upsert("after", "oak", scope=JANE)  # no lock of the killed process remains
        assert reader.admin.check().clean


def test_a_standby_that_was_behind_takes_over(server: Cluster, url: str, tmp_path: Path) -> None:
    """Versions alone would hide the loss: the history has another lineage."""
    with Index.open(url, max_stale=0.3) as index, Index.open(url, max_stale=0.3) as other:
        index.upsert_many([{"id": i, "text": "oak", "scope": JANE} for i in range(20)])
        assert len(words(index)) == len(words(other)) == 20
        server.stop()
        server.copy_to(tmp_path / "behind")
        server.start()
        until(lambda: _writes(index, 100))
        for i in range(101, 130):
            index.upsert(i, "oak", scope=JANE)
        for i in range(5):
            index.delete(i, scope=JANE)
        stamp = index.admin.stamp(JANE)
        until(lambda: words(other) == {*range(5, 20), *range(100, 130)})
        server.stop("immediate")
        server.fork_from_copy(tmp_path / "behind")
        until(lambda: _writes(index, 200))
        expected = {*range(20), 200}
        until(lambda: words(other) == expected)
        assert words(index) == expected  # no phantoms, nothing missing
        with pytest.raises(StoreUnavailableError, match=r"failover|does not answer"):
            other.search("oak", scope=JANE, after=stamp._replace(version=stamp.version + 10**12))
        with Index.open(url) as cold:
            assert words(cold) == expected
        assert index.admin.check().clean


def _writes(index: Index, id: int) -> bool:
    try:
        index.upsert(id, "oak", scope=JANE)
    except StoreUnavailableError:
        return False
    return True


def test_statements_of_a_failed_batch_are_not_taken_for_prepared(url: str) -> None:
    """After a failing statement nothing is prepared; the connection is usable, and the same statement works."""
    from psycopg.errors import DivisionByZero

    from scrubjay.store.postgres.batch import Batch
    from scrubjay.store.postgres.row_security import NO_HOME

    with Index.open(url, dim=2) as index:
        store: Any = Backend.of(index).engine.store  # type: ignore[union-attr]
        connection = store.server.take()
        wanted = ("SELECT 40 + %s", (2,))
        prepared = "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE 'SELECT 40%%'"
        try:
            for n_times in range(10):  # from some time on the statement would be prepared
                assert Batch(connection, begun=False).ask_all([wanted], home=NO_HOME) == [[(42,)]]
                with pytest.raises(DivisionByZero):
                    Batch(connection, begun=False).ask_all([("SELECT 1 / %s", (0,)), wanted], home=NO_HOME)
                if n_times == 2:  # it was tried, behind what failed
                    assert Batch(connection, begun=False).ask(prepared) == [(0,)]
            assert Batch(connection, begun=False).ask(prepared) == [(1,)]
        finally:
            store.server.give(connection)
        assert not connection.closed

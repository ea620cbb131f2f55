"""The cold tier: scopes whose rows are one object answer as before, and lose nothing."""

from __future__ import annotations

import itertools
import random
import threading
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrubjay import (
    CorruptDataWarning,
    CorruptIndexError,
    EncryptionError,
    Index,
    Memory,
    Objects,
    Scope,
    StoreError,
    StoreUnavailableError,
)
from scrubjay.backend import Backend
from scrubjay.embedders import Function
from scrubjay.keystores import KeyFolder, UserKeys
from scrubjay.store.objects.objects import GRACE_SECONDS
from scrubjay.store.postgres import schema
from scrubjay.store.postgres.last_use import today
from tests.data.blobs import FaultyBlobs
from tests.data.keys import key_of, provider
from tests.data.postgres import new_url
from tests.data.stores import superuser_rows

psycopg = pytest.importorskip("psycopg")

JANE, JOE, ACME = Scope("acme", user="jane"), Scope("globex", user="joe"), Scope("acme")
SECRET = "The door code of the boathouse is 4711-XYZZY."
N, DIM = 60, 16
VECTORS = np.random.default_rng(3).normal(size=(400, DIM)).astype(np.float32)


@pytest.fixture
def url() -> str:
    return new_url()


@pytest.fixture
def blobs() -> FaultyBlobs:
    return FaultyBlobs()


def opened(url: str, blobs: FaultyBlobs | None, **options: Any) -> Index:
    keep = options.pop("keep_seconds", 86_400)
    objects = None if blobs is None else Objects(blobs, keep_seconds=keep)
    return still(Index.open(url, dim=DIM, objects=objects, max_stale=0, **options))


def still(index: Index) -> Index:
    """Disable background writes of images and restoring of rows."""
    store_of(index).tidy = lambda: None
    Backend.of(index).engine.residency.housekeeper.stop()  # type: ignore[union-attr]
    return index


def store_of(index: Index) -> Any:
    return Backend.of(index).engine.store  # type: ignore[union-attr]


def fill(index: Index, scope: Scope = JANE, n: int = N) -> None:
    index.upsert_many(
        [{"id": f"m{i}", "text": f"{SECRET} Note {i}.", "vector": VECTORS[i]} for i in range(n)],
        scope=scope,
        progress=False,
    )


@pytest.fixture
def frozen(url: str, blobs: FaultyBlobs) -> str:
    """An index with three scopes, all of them frozen with their images."""
    with opened(url, blobs) as index:
        for scope in (JANE, JOE, ACME):
            fill(index, scope)
        index.admin.compact()
        assert index.admin.freeze(0) == (3, 3 * N, sum(map(len_of_rows, blobs.kept.values())))
    assert rows(url) == 0
    return url


def len_of_rows(kept: tuple[bytes, float]) -> int:
    return len(kept[0]) if kept[0].startswith(b"SJCOLD1\n") else 0


def rows(url: str) -> int:
    return int(superuser_rows(url, "SELECT count(*) FROM sj_document")[0][0])


def cold_scopes(url: str) -> int:
    return int(superuser_rows(url, "SELECT count(*) FROM sj_scope WHERE cold IS NOT NULL")[0][0])


def answers(index: Index, scope: Scope = JANE) -> list[tuple[str | int, float]]:
    found = index.search("boathouse note 7", scope=scope, vector=VECTORS[7], k=20)
    assert not found.degraded
    return [(hit.id, hit.score) for hit in found]


# ---------------------------------------------------------------------- reading, and coming back


def test_a_frozen_scope_is_found_from_its_image_and_nothing_changes(frozen: str, blobs: FaultyBlobs) -> None:
    with Index(dim=DIM) as twin:
        fill(twin)
        expected = answers(twin)
    with opened(frozen, blobs) as index:
        assert answers(index, JOE) == expected
        assert len(answers(index, JANE)) == 20
        assert index.admin.stats()["loads_from_image"] == 3
    assert rows(frozen) == 0 and cold_scopes(frozen) == 3


def test_without_an_image_it_is_found_from_its_object(frozen: str, blobs: FaultyBlobs) -> None:
    with opened(frozen, blobs) as index:
        expected = answers(index, JOE)
    superuser_rows(frozen, "DELETE FROM sj_image")
    with opened(frozen, blobs) as index:
        assert answers(index, JOE) == expected
        assert index.admin.stats()["loads_from_rows"] == 1
        assert index.admin.check().problems == []
    assert rows(frozen) == 0


def test_reads_take_the_object_for_the_table(frozen: str, blobs: FaultyBlobs) -> None:
    with opened(frozen, blobs) as index:
        assert index.get("m3", scope=JANE).text == f"{SECRET} Note 3."  # type: ignore[union-attr]
        assert index.get("m99", scope=JANE) is None
        assert len(index.get_many(["m1", "m2"], scope=JANE)) == 2
        assert index.count() == 3 * N and index.count(scope=Scope("globex", user="joe")) == N
        listed = [one.id for one in index.list(scope=JOE, limit=1000)]
        assert sorted(listed) == sorted(f"m{i}" for i in range(N))
        page = index.scroll(scope=JOE, limit=7)
        assert len(page.records) == 7 and page.cursor is not None
        assert len(index.scroll(scope=JOE, limit=7, cursor=page.cursor).records) == 7
        assert index.scopes() == sorted([JANE, JOE, ACME])
    assert rows(frozen) == 0 and cold_scopes(frozen) == 3


@pytest.mark.parametrize("how", ["upsert", "replace", "patch", "delete", "delete_many", "feedback"])
def test_the_first_write_brings_the_rows_back(frozen: str, blobs: FaultyBlobs, how: str) -> None:
    before = superuser_rows(frozen, "SELECT version FROM sj_scope WHERE tenant = 'globex'")
    with opened(frozen, blobs) as index:
        n = N
        if how == "upsert":
            index.upsert("new", "A new one.", scope=JOE)
            n = N + 1
        elif how == "replace":
            index.upsert("m5", "Another one.", scope=JOE)
        elif how == "patch":
            index.patch("m5", scope=JOE, metadata={"seen": True})
        elif how == "delete":
            assert index.delete("m5", scope=JOE)
            n = N - 1
        elif how == "delete_many":
            assert index.delete_many(["m5", "m6", "nobody"], scope=JOE) == 2
            n = N - 2
        else:
            assert index.feedback("m3", query="boathouse", scope=JOE)
            assert superuser_rows(frozen, "SELECT version FROM sj_scope WHERE tenant = 'globex'") == before
        assert rows(frozen) == n == index.count(scope=JOE)
        assert index.admin.check().problems == []
        assert cold_scopes(frozen) == 2


def test_a_frozen_scope_that_is_read_is_restored_in_the_background(frozen: str, blobs: FaultyBlobs) -> None:
    with opened(frozen, blobs) as index:
        index.get("m3", scope=JANE)
        index.list(scope=ACME, limit=1000)
        store_of(index)._care.care()
        assert rows(frozen) == 0  # reading everything once restores nothing
        index.get("m4", scope=JANE)
        store_of(index)._care.care()
        assert rows(frozen) == N and cold_scopes(frozen) == 2
        assert index.get("m3", scope=JANE).text == f"{SECRET} Note 3."  # type: ignore[union-attr]
        assert index.admin.check().problems == []


def test_a_resident_scope_stays_current_after_freezing(url: str, blobs: FaultyBlobs) -> None:
    with opened(url, blobs) as index, opened(url, blobs) as other:
        fill(index, JOE)
        expected = answers(index, JOE)
        assert answers(other, JOE) == expected
        assert index.admin.freeze(0).scopes == 1
        for one in (index, other):
            calls = list(blobs.calls)
            assert answers(one, JOE) == expected
            assert blobs.calls == calls  # nothing was read
        other.upsert("m7", "nothing of the kind", scope=JOE)  # restores the rows
        assert answers(index, JOE) == answers(other, JOE) != expected
        assert index.admin.check().problems == []


def test_frozen_again_it_is_another_object(frozen: str, blobs: FaultyBlobs) -> None:
    first = superuser_rows(frozen, "SELECT cold FROM sj_scope WHERE tenant = 'globex'")
    with opened(frozen, blobs) as index:
        store_of(index).thaw([JOE])
        assert index.admin.freeze(0).scopes == 1
        assert superuser_rows(frozen, "SELECT cold FROM sj_scope WHERE tenant = 'globex'") != first
        assert len(answers(index, JOE)) == 20


def test_a_read_only_index_reads_what_is_frozen(frozen: str, blobs: FaultyBlobs) -> None:
    with opened(frozen, blobs, read_only=True) as index:
        assert len(answers(index, JOE)) == 20
        assert index.get("m3", scope=JOE) is not None and len(index.list(scope=JOE, limit=1000)) == N


# ---------------------------------------------------------------------- which, and when


def test_only_what_was_not_used_for_so_many_days(url: str, blobs: FaultyBlobs) -> None:
    with opened(url, blobs) as index:
        for scope in (JANE, JOE, ACME):
            fill(index, scope, 5)
        assert index.admin.freeze(1).scopes == 0
        superuser_rows(url, f"UPDATE sj_scope SET used = {today() - 3}, changed = now() - interval '3 days'")
        assert index.admin.freeze(4).scopes == 0
        assert index.admin.freeze(3, within=JOE).scopes == 1
    with opened(url, blobs) as index:
        index.search("boathouse", scope=JANE)  # loads jane's and acme's
        assert index.admin.freeze(3).scopes == 0
        assert superuser_rows(url, "SELECT DISTINCT used FROM sj_scope WHERE tenant = 'acme'") == [(today(),)]
        superuser_rows(url, f"UPDATE sj_scope SET used = {today() - 3}")
        index.search("boathouse", scope=JANE)  # in memory
        store_of(index)._care._uses._stamped.clear()  # as on the next day
        assert index.admin.freeze(3).scopes == 0
    with opened(url, blobs) as index:
        superuser_rows(url, f"UPDATE sj_scope SET used = {today() - 3}")
        assert index.get("m1", scope=JANE) is not None and len(index.list(scope=ACME)) == 5
        assert index.admin.freeze(3).scopes == 0
        assert superuser_rows(url, "SELECT count(*) FROM sj_scope WHERE used = %s", today()) == [(2,)]


def test_scopes_with_pending_documents_or_concurrent_changes_are_not_frozen(
    url: str, blobs: FaultyBlobs
) -> None:
    failing = True

    def embed(texts: list[str]) -> Any:
        if failing:
            raise OSError("away")
        return VECTORS[: len(texts)]

    with still(
        Index.open(
            url, Function(embed, dim=DIM, name="m"), objects=Objects(blobs), on_embedder_error="pending"
        )
    ) as index:
        index.upsert("a", "pending", scope=JOE)
        assert index.admin.freeze(0).scopes == 0
        failing = False
        index.admin.backfill()
        blobs.on_put = lambda name: index.upsert("b", "meanwhile", scope=JOE)
        assert index.admin.freeze(0).scopes == 0
        assert blobs.kept == {} or len(blobs.kept) <= 1
        blobs.on_put = lambda name: None
        assert index.admin.freeze(0).scopes == 1 and rows(url) == 0
        assert index.count() == 2 and index.admin.check().problems == []


def test_bad_arguments(url: str, blobs: FaultyBlobs, tmp_path: Path) -> None:
    with opened(url, blobs) as index:
        for wrong, error in ((-1, ValueError), (1.5, TypeError), (True, TypeError), ("1", TypeError)):
            with pytest.raises(error, match="older_than"):
                index.admin.freeze(wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="within"):
            index.admin.freeze(0, within="acme")  # type: ignore[arg-type]
        assert index.admin.freeze(10**9) == (0, 0, 0)
    with opened(url, None) as index, pytest.raises(StoreError, match="objects="):
        index.admin.freeze(0)
    with Index.open(tmp_path / "a.scrubjay") as index, pytest.raises(StoreError, match="in a file"):
        index.admin.freeze(0)


# ---------------------------------------------------------------------- expiry


def test_expiry_of_what_is_frozen(url: str, blobs: FaultyBlobs) -> None:
    soon = datetime.now(timezone.utc) + timedelta(days=1)
    with opened(url, blobs) as index:
        fill(index, JOE, 10)
        index.upsert("e1", "expires soon", scope=JOE, vector=VECTORS[0], expires_at=soon)
        index.upsert("e2", "expires soon as well", scope=JOE, expires_at=soon)
        index.upsert("only", "expires", scope=JANE, expires_at=soon)
        index.admin.compact()
        assert index.admin.freeze(0).scopes == 2
        assert index.count() == 13 and index.count(scope=JOE) == 12
    later = time.time_ns() // 1000 + 2 * 86_400_000_000
    with opened(url, blobs) as index:
        engine: Any = Backend.of(index).engine
        engine.clock = lambda: later
        engine.residency.use_clock(engine.clock)
        engine._listings._now = engine.clock
        assert index.count() == 10 and index.count(scope=JOE) == 10 and index.count(scope=JANE) == 0
        assert store_of(index).vector_count(now=later) == 10
        assert index.scopes() == [JOE]
        assert len(index.search("expires", scope=JOE, k=50)) == 0
        assert index.get("e1", scope=JOE) is None and len(index.list(scope=JOE, limit=100)) == 10
        assert rows(url) == 0
        assert index.admin.sweep() == 3
        assert rows(url) == 10 and index.admin.check().problems == []


# ---------------------------------------------------------------------- erasure


def test_erasing_removes_the_object_and_reads_nothing(frozen: str, blobs: FaultyBlobs) -> None:
    with opened(frozen, blobs) as index:
        blobs.calls.clear()
        assert index.erase(JANE, exact=True) == N
        assert "get" not in blobs.calls
        assert len(index.search("boathouse", scope=JANE, k=100)) == N  # acme's
        assert index.erase(ACME) == N and cold_scopes(frozen) == 1
        index.erase(JOE)
        assert blobs.kept == {} and superuser_rows(frozen, "SELECT count(*) FROM sj_cold") == [(0,)]
        index.admin.compact()
        assert index.admin.verify_erased([SECRET]).clean
        assert index.admin.check().problems == []
        index.upsert("again", "Somebody is back.", scope=JOE)
        assert index.count() == 1 and rows(frozen) == 1


def test_erasing_removes_the_objects_of_rows_that_came_back(frozen: str, blobs: FaultyBlobs) -> None:
    with opened(frozen, blobs) as index:
        store_of(index).thaw([JOE])
        assert (
            sum(map(bool, map(len_of_rows, blobs.kept.values()))) == 3
        )  # kept, for a standby that is behind
        assert not index.admin.verify_erased(["Note 8."]).clean
        for scope in (JANE, JOE, ACME):
            index.erase(scope)
        assert blobs.kept == {}


def test_an_object_outlives_its_return_by_a_while(frozen: str, blobs: FaultyBlobs) -> None:
    blobs.grow_old(GRACE_SECONDS + 10)
    with opened(frozen, blobs) as index:
        store_of(index).thaw([JANE, JOE, ACME])
        index.admin.compact()
        assert sum(map(bool, map(len_of_rows, blobs.kept.values()))) == 3
    with opened(frozen, blobs, keep_seconds=0) as index:
        index.admin.compact()
        assert sum(map(bool, map(len_of_rows, blobs.kept.values()))) == 0
        assert superuser_rows(frozen, "SELECT count(*) FROM sj_cold") == [(0,)]
        assert index.count() == 3 * N and len(answers(index, JOE)) == 20


def test_a_failover_to_before_the_return_finds_the_object(frozen: str, blobs: FaultyBlobs) -> None:
    superuser_rows(frozen, "CREATE TABLE was_scope AS SELECT * FROM sj_scope")
    superuser_rows(frozen, "CREATE TABLE was_cold AS SELECT * FROM sj_cold")
    with opened(frozen, blobs) as index:
        expected = answers(index, JOE)
        store_of(index).thaw([JOE])
        index.admin.compact()
    for table in ("scope", "cold"):  # as on a standby that was behind
        superuser_rows(frozen, f"TRUNCATE sj_{table}")
        superuser_rows(frozen, f"INSERT INTO sj_{table} SELECT * FROM was_{table}")
    superuser_rows(frozen, "DELETE FROM sj_document")
    with opened(frozen, blobs) as index:
        assert answers(index, JOE) == expected and index.admin.check().problems == []


def test_sweeping_leaves_what_is_cold(frozen: str, blobs: FaultyBlobs) -> None:
    blobs.put(f"{next(iter(blobs.kept)).partition('/')[0]}/ff/{'f' * 64}", b"nobody's")
    blobs.grow_old(GRACE_SECONDS + 10)
    with opened(frozen, blobs) as index:
        index.admin.compact()
        assert len(blobs.kept) == 6
        superuser_rows(frozen, "DELETE FROM sj_image")
        index.admin.compact()
        assert len(blobs.kept) == 3 and index.get("m1", scope=JOE) is not None


# ---------------------------------------------------------------------- faults


@pytest.mark.parametrize("fault", ["missing", "half", "longer", "one bit", "empty", "swapped"])
def test_a_damaged_object_is_an_error_and_is_reported(frozen: str, blobs: FaultyBlobs, fault: str) -> None:
    superuser_rows(frozen, "DELETE FROM sj_image")
    blobs.swap() if fault == "swapped" else blobs.damage(fault)
    with opened(frozen, blobs) as index:
        if fault == "longer":  # the first bytes are what was put there
            assert index.get("m1", scope=JOE) is not None
            return
        before = superuser_rows(frozen, "SELECT * FROM sj_scope ORDER BY key")
        for call in (
            lambda: index.search("boathouse", scope=JOE),
            lambda: index.get("m1", scope=JOE),
            lambda: index.list(scope=JOE),
            lambda: index.upsert("new", "new", scope=JOE),
            lambda: index.delete("m1", scope=JOE),
        ):
            with pytest.raises(CorruptIndexError, match="cold tier"):
                call()
        assert superuser_rows(frozen, "SELECT * FROM sj_scope ORDER BY key") == before
        problems = index.admin.check().problems
        assert sum("cold tier" in problem for problem in problems) >= 3
        assert index.erase(JOE) == N  # the remedy


def test_the_object_store_is_away(frozen: str, blobs: FaultyBlobs) -> None:
    with opened(frozen, blobs) as index:
        resident = answers(index, JOE)
        blobs.refuses = {"get", "put", "delete", "list"}
        assert answers(index, JOE) == resident
        for call in (
            lambda: index.get("m1", scope=JOE),
            lambda: index.upsert("new", "new", scope=JOE),
            lambda: index.search("boathouse", scope=JANE),
        ):
            with pytest.raises(StoreUnavailableError, match="does not answer"):
                call()
        index.upsert("n1", "a new user", scope=Scope("initech"))
        with pytest.raises(StoreUnavailableError):
            index.admin.freeze(0)
        assert (
            index.count(scope=Scope("initech")) == 1 and index.get("n1", scope=Scope("initech")) is not None
        )
        blobs.refuses = set()
        store_of(index).objects._away_until = 0
        index.upsert("new", "new", scope=JOE)
        assert index.count(scope=JOE) == N + 1 and index.admin.check().problems == []


def test_reading_a_frozen_scope_without_an_object_store_is_an_error(frozen: str) -> None:
    with opened(frozen, None) as index:
        assert index.count() == 3 * N
        for call in (
            lambda: index.search("boathouse", scope=JOE),
            lambda: index.get("m1", scope=JOE),
            lambda: index.upsert("new", "new", scope=JOE),
            lambda: index.admin.verify_erased([SECRET]),
        ):
            with pytest.raises(StoreError, match="objects=") as caught:
                call()
            assert not isinstance(caught.value, StoreUnavailableError)
        index.upsert("n1", "another scope", scope=Scope("initech"))
        assert index.erase(JOE) == N


def test_freezing_verifies_the_object_before_deleting_rows(url: str, blobs: FaultyBlobs) -> None:
    with opened(url, blobs) as index:
        fill(index, JOE)
        blobs.on_put = lambda name: blobs.damage("half")
        with pytest.raises(StoreUnavailableError, match="as it was put there"):
            index.admin.freeze(0)
        assert rows(url) == N and cold_scopes(url) == 0


class Killed(BaseException):
    """Simulates the end of the process."""


def steps_of(monkeypatch: pytest.MonkeyPatch, blobs: FaultyBlobs, at: int) -> None:
    """Raise at one step: a call of the object store or a statement of the freezing or restoring transaction."""
    from scrubjay.store.postgres.batch import Batch

    count = itertools.count()

    def step() -> None:
        if next(count) == at:
            raise Killed

    ask_all, put, get = Batch.ask_all, blobs.put, blobs.get

    def counted(self: Any, *arguments: Any, **options: Any) -> Any:
        step()
        return ask_all(self, *arguments, **options)

    monkeypatch.setattr(Batch, "ask_all", counted)
    monkeypatch.setattr(blobs, "put", lambda *given: (put(*given), step())[0])
    monkeypatch.setattr(blobs, "get", lambda *given: (step(), get(*given))[1])


@pytest.mark.parametrize("doing", ["freeze", "thaw", "write", "erase"])
def test_killed_at_any_step_nothing_is_lost(
    url: str, blobs: FaultyBlobs, doing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(url, blobs) as index:
        fill(index, JOE)
        index.admin.compact()
        expected = answers(index, JOE)
    done = False
    for at in range(60):
        with opened(url, blobs) as index:
            if doing == "freeze":
                store_of(index).thaw([JOE])
            elif not cold_scopes(url):
                index.admin.freeze(0)
            if doing == "erase" and index.count(scope=JOE) == 0:
                fill(index, JOE)
                index.admin.freeze(0)
        with opened(url, blobs) as index, monkeypatch.context() as patch:
            steps_of(patch, blobs, at)
            try:
                if doing == "freeze":
                    index.admin.freeze(0)
                elif doing == "thaw":
                    store_of(index).thaw([JOE])
                elif doing == "write":
                    index.upsert("m7", f"{SECRET} Note 7.", scope=JOE, vector=VECTORS[7])
                else:
                    index.erase(JOE)
                done = True
            except Killed:
                pass
        with opened(url, blobs) as index:
            if doing == "erase":
                assert index.count(scope=JOE) in (0, N)
                assert len(index.list(scope=JOE, limit=1000)) == index.count(scope=JOE)
            else:
                assert answers(index, JOE) == expected or doing == "write"
                assert sorted(one.id for one in index.list(scope=JOE, limit=1000)) == sorted(
                    f"m{i}" for i in range(N)
                )
            assert index.admin.check().problems == []
        if done:
            break
    assert done and at > 3
    blobs.grow_old(GRACE_SECONDS + 10)
    with opened(url, blobs, keep_seconds=0) as index:
        index.admin.compact()
        named = superuser_rows(
            url, "SELECT object FROM sj_image WHERE object IS NOT NULL UNION SELECT object FROM sj_cold"
        )
        assert {name.rpartition("/")[2] for name in blobs.kept} == {bytes(one).hex() for (one,) in named}


def test_a_commit_whose_answer_is_lost_keeps_the_object(
    url: str, blobs: FaultyBlobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    from scrubjay.store.postgres.batch import Batch

    with opened(url, blobs) as index:
        fill(index, JOE)
        commit = Batch.commit

        def lost(self: Any) -> None:
            commit(self)
            raise psycopg.OperationalError("the connection was lost")

        with monkeypatch.context() as patch:
            patch.setattr(Batch, "commit", lost)
            with pytest.raises(StoreError):
                index.admin.freeze(0)
        assert cold_scopes(url) == 1 and rows(url) == 0
    with opened(url, blobs) as index:
        assert len(answers(index, JOE)) == 20


class _Bar:
    def update(self, n: int) -> None: ...
    def close(self) -> None: ...


# ---------------------------------------------------------------------- several at once


def test_two_processes_bring_back_at_once(frozen: str, blobs: FaultyBlobs) -> None:
    with opened(frozen, blobs) as one, opened(frozen, blobs) as other:
        blobs.delay = 0.05
        results: list[object] = []

        def write(index: Index, id: str) -> None:
            try:
                index.upsert(id, "written at once", scope=JOE)
                results.append(id)
            except BaseException as error:  # noqa: BLE001
                results.append(error)

        threads = [
            threading.Thread(target=write, args=(index, id)) for index, id in ((one, "a"), (other, "b"))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(map(str, results)) == ["a", "b"]
        assert one.count(scope=JOE) == other.count(scope=JOE) == N + 2 == rows(frozen)
        assert one.admin.check().problems == []


def test_writers_searches_and_freezing_at_once(url: str, blobs: FaultyBlobs) -> None:
    """Three threads with an index each, one of which freezes continually: no write is lost or missed."""
    scopes = [Scope("acme", user=f"u{i}") for i in range(3)]
    written: dict[Scope, set[str]] = {scope: set() for scope in scopes}
    problems: list[object] = []
    stop = threading.Event()

    def freeze() -> None:
        with opened(url, blobs) as index:
            while not stop.is_set():
                index.admin.freeze(0)

    def work(index: Index, scope: Scope, name: str) -> None:
        random_ = random.Random(name)
        for i in range(25):
            id = f"{name}{i}"
            index.upsert(id, f"word{i} of {name}", scope=scope, vector=VECTORS[i])
            written[scope].add(id)
            found = {hit.id for hit in index.search(f"word{i}", scope=scope, k=200)}
            if id not in found or not found <= written[scope]:
                problems.append((id, found))
            if random_.random() < 0.3:
                gone = random_.choice(sorted(written[scope]))
                written[scope].discard(gone)
                if not index.delete(gone, scope=scope):
                    problems.append(("not there", gone))
            got = index.get(id, scope=scope) if id in written[scope] else None
            if id in written[scope] and got is None:
                problems.append(("missed", id))

    with opened(url, blobs) as one, opened(url, blobs) as other:
        freezer = threading.Thread(target=freeze)
        freezer.start()
        workers = [
            threading.Thread(target=work, args=given)
            for given in ((one, scopes[0], "a"), (other, scopes[1], "b"), (one, scopes[2], "c"))
        ]
        for thread in workers:
            thread.start()
        for thread in workers:
            thread.join()
        stop.set()
        freezer.join()
        assert problems == []
        for scope in scopes:
            assert {record.id for record in other.list(scope=scope, limit=1000)} == written[scope]
        assert one.admin.check().problems == []


# ---------------------------------------------------------------------- the twin


@pytest.mark.parametrize("seed", range(4))
def test_an_index_that_freezes_answers_as_one_that_never_does(seed: int, blobs: FaultyBlobs) -> None:
    """Random writes, deletions, expiries and reads, with freezing in between."""
    given = random.Random(seed)
    scopes = [
        Scope("acme"),
        Scope("acme", user="jane"),
        Scope("acme", user="jane", agent="bot"),
        Scope("globex"),
    ]
    words = ["boat", "house", "train", "night", "code", "door", "acme", "jam"]
    clock = [1_800_000_000_000_000]
    urls = [new_url(), new_url()]
    with opened(urls[0], blobs, keys=provider) as index, opened(urls[1], blobs, keys=provider) as twin:
        both = (index, twin)
        for one in both:
            engine: Any = Backend.of(one).engine
            engine.clock = lambda: clock[0]
            engine.residency.use_clock(engine.clock)
            engine._listings._now = engine.clock
        for step in range(60):
            scope, id = given.choice(scopes), f"m{given.randrange(12)}"
            what = given.choice(
                ["upsert"] * 4 + ["delete", "matching", "feedback", "patch", "later", "sweep", "erase"]
            )
            if given.random() < 0.5:
                index.admin.freeze(0)
            if given.random() < 0.2:
                Backend.of(index).engine.residency.start_over()  # type: ignore[union-attr]
            if given.random() < 0.2:
                index.admin.compact()
            text = " ".join(given.choices(words, k=4))
            vector = VECTORS[given.randrange(400)]
            expires = None
            if given.random() < 0.3:
                expires = datetime.fromtimestamp(clock[0] / 1e6 + given.randrange(1, 9), timezone.utc)
            if what == "later":
                clock[0] += given.randrange(1, 4) * 1_000_000
            done = []
            for one in both:
                if what == "upsert":
                    done.append(
                        one.upsert(
                            id, text, scope=scope, vector=vector, expires_at=expires, metadata={"n": step % 3}
                        )
                    )
                elif what == "delete":
                    done.append(one.delete(id, scope=scope))
                elif what == "matching":
                    done.append(one.delete_many(filter={"n": step % 3}, scope=scope))
                elif what == "feedback":
                    done.append(one.feedback(id, query=text, scope=scope))
                elif what == "patch":
                    done.append(one.patch(id, scope=scope, metadata={"n": 7}) is None)
                elif what == "sweep":
                    done.append(one.admin.sweep())
                elif what == "erase" and step % 2 == 0:
                    done.append(one.erase(scope, exact=True))
            assert len(set(map(str, done))) <= 1, (step, what, done)
            asked_scope = given.choice(scopes)
            assert seen(index, asked_scope, text, vector) == seen(twin, asked_scope, text, vector), (
                step,
                what,
            )
        assert index.admin.check().problems == twin.admin.check().problems == []


def seen(index: Index, scope: Scope, text: str, vector: Any) -> list[Any]:
    """Return what a caller sees of a scope, except versions and times."""
    hits = index.search(text, scope=scope, vector=vector, k=50)
    listed = index.list(scope=scope, limit=100)
    newest = index.scroll(scope=scope, limit=3, descending=True)
    return [
        [(hit.id, hit.scope, hit.score, hit.text) for hit in hits],
        hits.degraded,
        [(one.id, one.scope, one.text, one.metadata) for one in listed],
        [one.id for one in newest.records],
        index.count(),
        index.count(scope=scope),
        index.count(scope=scope, filter={"n": 1}),
        index.scopes(),
        [(note.id, note.used, note.query) for note in index.admin.feedbacks()],
        [
            (one.id, one.text)
            for one in (index.get(f"m{i}", scope=scope) for i in range(12))
            if one is not None
        ],
        sorted(index.values("n", scope=scope).items()),
        store_of(index).vector_count(now=Backend.of(index).engine.clock()),  # type: ignore[union-attr]
    ]


# ---------------------------------------------------------------------- everything at once


def exported(index: Index, path: Path) -> list[str]:
    index.admin.export(path)
    return path.read_text().splitlines()


def test_export_import_copy_and_walks_of_what_is_frozen(
    frozen: str, blobs: FaultyBlobs, tmp_path: Path
) -> None:
    with opened(frozen, blobs) as index:
        cold_lines = exported(index, tmp_path / "cold.jsonl")
        store_of(index).thaw([JOE])  # some of each
        assert exported(index, tmp_path / "some.jsonl") == cold_lines
        assert index.admin.freeze(0).scopes == 1
        assert exported(index, tmp_path / "again.jsonl") == cold_lines
        store_of(index).thaw([JANE, JOE, ACME])
        assert exported(index, tmp_path / "warm.jsonl") == cold_lines
        assert index.admin.freeze(0).scopes == 3
        with Index.open(tmp_path / "copy.scrubjay", dim=DIM) as copy:
            from scrubjay.store.copying import copy_documents

            report = copy_documents(
                Backend.of(index).engine,
                Backend.of(copy).engine,
                _Bar(),  # type: ignore[arg-type]
            )
            assert report.documents == 3 * N
            assert exported(copy, tmp_path / "copy.jsonl")[1:] == cold_lines[1:]
        blobs.damage("half")
        with pytest.warns(CorruptDataWarning, match="all documents"):
            index.admin.export(tmp_path / "damaged.jsonl")
    assert rows(frozen) == 0


def test_another_model_brings_everything_back(url: str, blobs: FaultyBlobs) -> None:
    def embed(texts: list[str]) -> Any:
        return np.stack([VECTORS[len(text) % 400] for text in texts])

    other = Function(lambda texts: embed(texts)[:, :8], dim=8, name="other")
    options: dict[str, Any] = {"objects": Objects(blobs), "max_stale": 0}
    with still(Index.open(url, Function(embed, dim=DIM, name="one"), **options)) as index:
        for scope in (JANE, JOE):
            index.upsert_many([{"id": f"m{i}", "text": "word " * i + "."} for i in range(20)], scope=scope)
        assert index.admin.freeze(0).scopes == 2
        assert index.admin.reembed(other, progress=False) == 40
        assert rows(url) == 40 and index.admin.check().problems == []
        assert len(index.search("word", scope=JOE)) == 10
        assert index.admin.freeze(0).scopes == 2
    with still(Index.open(url, other, **options)) as index:
        assert len(index.search("word", scope=JOE)) == 10 and index.admin.check().problems == []


def test_dropping_a_collection_removes_its_objects(url: str, blobs: FaultyBlobs) -> None:
    with opened(url, blobs) as index:
        notes = still(index.collection("notes"))
        fill(notes, JOE)
        assert notes.admin.freeze(0).scopes == 1 and index.admin.freeze(0).scopes == 0
        assert len(blobs.kept) == 1
        assert index.admin.drop_collection("notes") == N
        assert blobs.kept == {}


def test_tables_of_the_version_before(url: str, blobs: FaultyBlobs) -> None:
    with opened(url, blobs) as index:
        fill(index, JOE)
    superuser_rows(url, "ALTER TABLE sj_schema DROP user_homes")
    superuser_rows(url, "DROP TABLE sj_cold")
    superuser_rows(url, "ALTER TABLE sj_scope DROP cold, DROP used")
    superuser_rows(url, "UPDATE sj_schema SET version = 6")
    with pytest.raises(StoreError, match="version"):
        opened(url, blobs, read_only=True)
    with opened(url, blobs) as index:
        assert superuser_rows(url, "SELECT DISTINCT used FROM sj_scope") == [(today(),)]
        assert superuser_rows(url, "SELECT version FROM sj_schema") == [(schema.VERSION,)]
        assert index.admin.freeze(1).scopes == 0 and index.admin.freeze(0).scopes == 1
        assert len(answers(index, JOE)) == 20
    policies = superuser_rows(
        url, "SELECT relrowsecurity, relforcerowsecurity FROM pg_class WHERE oid = 'sj_cold'::regclass"
    )
    assert policies == [(True, True)]


def test_memory_over_what_is_frozen(url: str, blobs: FaultyBlobs) -> None:
    with Memory.open(url, objects=Objects(blobs)) as memory:
        for i in range(5):
            memory.propose(f"Jane likes train number {i}", scope=JANE, source="run-1")
        expected = memory.recall("train", JANE).texts
        assert len(expected) == 5
    with still(Index.open(url, objects=Objects(blobs), max_stale=0)) as index:
        members = [index, *(still(index.collection(name)) for name in index.admin.collections())]
        assert sum(member.admin.freeze(0).scopes for member in members) == 1 and rows(url) == 0
    with Memory.open(url, objects=Objects(blobs)) as memory:
        assert memory.recall("train", JANE).texts == expected
        assert rows(url) == 0
        memory.propose("Jane likes boats", scope=JANE, source="run-2")
        assert "Jane likes boats" in memory.recall("boats", JANE).texts and rows(url) == 6
        assert memory.admin.check() == []
    with still(Index.open(url, objects=Objects(blobs), max_stale=0)) as index:
        still(index.collection("memory")).admin.freeze(0)
    with Memory.open(url, objects=Objects(blobs)) as memory:
        memory.forget(JANE)
        assert memory.recall("train", JANE).texts == []
        assert [name for name, kept in blobs.kept.items() if len_of_rows(kept)] == []


# ---------------------------------------------------------------------- encryption


def test_nothing_of_an_encrypted_tenant_is_in_the_clear(url: str, blobs: FaultyBlobs) -> None:
    with opened(url, blobs, keys=provider) as index:
        fill(index, JANE)
        index.upsert("id-of-jane-4711", "text", scope=JANE)
        index.admin.compact()
        assert index.admin.freeze(0).scopes == 1
        for data, _ in blobs.kept.values():
            assert b"boathouse" not in data and b"jane" not in data and b"id-of-jane-4711" not in data
        assert len(answers(index, JANE)) == 20
    superuser_rows(url, "DELETE FROM sj_image")
    with opened(url, blobs, keys=provider) as index:
        assert len(answers(index, JANE)) == 20 and index.admin.check().problems == []
        index.upsert("m1", "Another text.", scope=JANE)
        assert rows(url) == N + 1 and index.admin.check().problems == []
        assert index.admin.freeze(0).scopes == 1
    with opened(url, blobs) as index, pytest.raises(EncryptionError):
        index.get("m1", scope=JANE)
    with opened(url, blobs) as index:
        assert index.admin.freeze(0).scopes == 0


def test_an_older_object_put_back_is_noticed(url: str, blobs: FaultyBlobs) -> None:
    with opened(url, blobs, keys=provider) as index:
        fill(index, JANE)
        index.admin.freeze(0)
        superuser_rows(url, "CREATE TABLE was_cold AS SELECT * FROM sj_cold")
        index.upsert("m1", "A correction.", scope=JANE)
        index.admin.freeze(0)
    superuser_rows(url, "DELETE FROM sj_cold")
    superuser_rows(url, "INSERT INTO sj_cold SELECT * FROM was_cold")
    superuser_rows(url, "UPDATE sj_scope SET cold = (SELECT object FROM sj_cold)")
    superuser_rows(url, "DELETE FROM sj_image")
    with opened(url, blobs, keys=provider) as index:
        with pytest.raises(CorruptIndexError):
            index.search("boathouse", scope=JANE)
        assert index.admin.check().problems != []


def test_a_frozen_user_whose_key_is_destroyed(url: str, blobs: FaultyBlobs, tmp_path: Path) -> None:
    other = Scope("acme", user="joe")
    keys = UserKeys(key_of, KeyFolder(tmp_path / "keys"))
    with opened(url, blobs, keys=keys) as index:
        fill(index, JANE)
        fill(index, other)
        fill(index, ACME)
        assert index.admin.freeze(0).scopes == 3
        backup = dict(blobs.kept)
        for table in ("scope", "cold", "home", "user_key"):
            superuser_rows(url, f"CREATE TABLE was_{table} AS SELECT * FROM sj_{table}")
        assert index.erase(JANE) == N
        assert len(blobs.kept) == 2
        report = index.admin.verify_erased(scope=JANE)
        assert [key.destroyed_at is not None for key in report.keys] == [True]
        assert index.count() == 2 * N
    for table in (
        "scope",
        "cold",
        "home",
        "user_key",
    ):  # an older backup of the database and of the bucket
        superuser_rows(url, f"TRUNCATE sj_{table}")
        superuser_rows(url, f"INSERT INTO sj_{table} SELECT * FROM was_{table}")
    blobs.kept = backup
    with opened(url, blobs, keys=UserKeys(key_of, KeyFolder(tmp_path / "keys"))) as index:
        assert index.get("m1", scope=JANE).scope == ACME  # type: ignore[union-attr]
        assert all(hit.scope != JANE for hit in index.search("boathouse", scope=JANE, k=100))
        assert all(record.scope != JANE for record in index.list(scope=JANE, limit=1000))
        assert index.get("m1", scope=other).scope == other  # type: ignore[union-attr]


def test_encrypting_a_tenant_that_was_frozen_in_the_clear(url: str, blobs: FaultyBlobs) -> None:
    with opened(url, blobs) as index:
        fill(index, JANE)
        fill(index, ACME)
        assert index.admin.freeze(0).scopes == 2
    with opened(url, blobs, keys=provider) as index:
        with pytest.raises(EncryptionError):
            index.search("boathouse", scope=JANE)
        assert index.admin.encrypt("acme") == 2 * N
        assert blobs.kept == {}
        assert index.admin.freeze(0).scopes == 2 and len(answers(index, JANE)) == 20
        assert all(b"boathouse" not in data for data, _ in blobs.kept.values())
        assert index.admin.check().problems == []

"""No write is refused, nothing is lost and everything is embedded in the end, whenever the embedder fails."""

from __future__ import annotations

import logging
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import scrubjay
from scrubjay import BackfillReport, Index, Query, Scope
from scrubjay.backend import Backend
from scrubjay.embedders import Function
from scrubjay.store.residency import housekeeping
from tests.data.flaky import POISON, Flaky
from tests.data.keys import provider
from tests.data.postgres import new_url
from tests.unit.processes import PATIENCE_SECONDS, SETTING

HURRY = housekeeping.Housekeeper.hurry
JANE, JOE = Scope("acme", user="jane"), Scope("acme", user="joe")


@pytest.fixture(autouse=True)
def no_background_embedding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the background thread, unless a test wakes it."""
    monkeypatch.setattr(housekeeping, "_PAUSE_SECONDS", 3600.0)
    monkeypatch.setattr(housekeeping.Housekeeper, "hurry", lambda _: None)


@pytest.fixture(params=["memory", "file", "sealed", "postgres"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Index]:
    if request.param == "memory":
        yield Index(Flaky())
    else:
        keys = provider if request.param == "sealed" else None
        path = new_url() if request.param == "postgres" else tmp_path / "memories.scrubjay"
        with Index.open(path, Flaky(), keys=keys) as opened:
            yield opened


def flaky(index: Index) -> Flaky:
    assert isinstance(index.embedder, Flaky)
    return index.embedder


def n_pending(index: Index) -> int:
    found = index.admin.stats()["pending"]
    assert isinstance(found, int)
    return found


def wait_for(what: object) -> None:
    """Wait until a function returns a true value."""
    last = time.monotonic() + PATIENCE_SECONDS
    assert callable(what)
    while not what():
        assert time.monotonic() < last
        time.sleep(0.005)


def test_documents_written_during_an_outage_are_found_by_words_and_embedded_later(
    index: Index,
) -> None:
    index.upsert("m1", "Takes the night train.", scope=JANE)
    flaky(index).is_up = False
    index.upsert("m2", "A train to Oslo", scope=JANE, metadata={"stars": 3}, created_at=86400)
    assert (
        index.upsert_many([{"id": "m3", "text": "No trains"}, {"id": "m4", "text": "hmm"}], scope=JANE) == 2
    )
    record = index.get("m2", scope=JANE)
    assert record is not None and record.vector is None and record.pending
    assert n_pending(index) == 3
    flaky(index).is_up = True
    hits = index.search("train", scope=JANE)
    assert hits.mode == "hybrid"
    assert {hit.id: hit.pending for hit in hits} == {"m1": False, "m2": True, "m3": True}
    assert {hit.id: hit.to_dict().get("pending") for hit in hits} == {"m1": None, "m2": True, "m3": True}
    assert [reason.partition(":")[0] for reason in hits.degraded] == ["vectors_pending"]
    assert "3 memories" in hits.degraded[0]
    assert index.search("train", scope=JANE, query=Query(mode="lexical")).degraded == ()
    assert index.search("train", scope=JOE).degraded == ()  # other users' memories are not reported
    assert index.search_batch(["train"], scope=JANE)[0].degraded == hits.degraded

    assert index.admin.backfill(progress=False, batch_size=2) == BackfillReport(3, 0, 0)
    assert n_pending(index) == 0
    hits = index.search("train", scope=JANE)
    assert hits.degraded == () and not any(hit.pending for hit in hits)
    after = index.get("m2", scope=JANE)
    assert after == record and not after.pending
    np.testing.assert_array_equal(np.asarray(after.vector), flaky(index).vector("A train to Oslo"))
    empty = index.get("m4", scope=JANE)  # it has no vector, and needs none
    assert empty is not None and empty.vector is None and not empty.pending
    assert index.admin.backfill(progress=False) == BackfillReport(0, 0, 0)
    if index.path is not None:
        assert index.admin.check().problems == []


def test_filled_in_vectors_equal_those_without_an_outage(index: Index) -> None:
    texts = [f"{word} number {i}" for i, word in enumerate(["oak", "area", "boat", "echo"] * 30)]
    flaky(index).n_good = 1
    index.upsert_many([{"id": i, "text": text} for i, text in enumerate(texts)], scope=JANE, batch_size=50)
    assert n_pending(index) == 70
    flaky(index).n_good = 1  # fails again after the next batch
    assert index.admin.backfill(progress=False, batch_size=30) == BackfillReport(30, 0, 40)
    flaky(index).n_good = None
    assert index.admin.backfill(progress=False, batch_size=30) == BackfillReport(40, 0, 0)
    assert flaky(index).n_embedded == 120
    expected = Index(Flaky())
    expected.upsert_many([{"id": i, "text": text} for i, text in enumerate(texts)], scope=JANE)
    for question in ("oak boat", "echo number 3", "eee"):
        given, wanted = (one.search(question, scope=JANE, k=120) for one in (index, expected))
        assert dict(zip(given.ids.tolist(), given.scores.tolist(), strict=True)) == pytest.approx(
            dict(zip(wanted.ids.tolist(), wanted.scores.tolist(), strict=True))
        )


def test_a_text_that_is_refused_does_not_hold_up_the_others(index: Index) -> None:
    index.upsert_many(
        [{"id": i, "text": POISON if i in (3, 4) else f"oak {i}"} for i in range(20)],
        scope=JANE,
        batch_size=5,
    )
    assert n_pending(index) == 20
    assert index.admin.backfill(progress=False, batch_size=8) == BackfillReport(18, 2, 2)
    assert [hit.id for hit in index.search(POISON, scope=JANE, query=Query(mode="lexical"))] == [3, 4]
    index.upsert(3, "better", scope=JANE)
    assert n_pending(index) == 1
    index.delete(4, scope=JANE)
    assert n_pending(index) == 0


def test_backfill_keeps_documents_changed_while_it_embeds(index: Index) -> None:
    flaky(index).is_up = False
    for id in ("same", "patched", "vector", "taken", "replaced", "deleted"):
        index.upsert(id, "oak", scope=JANE)
    flaky(index).is_up = True
    embed = flaky(index).embed_documents

    def disturbed(texts: list[str]) -> np.ndarray:
        flaky(index).embed_documents = embed  # type: ignore[method-assign]
        index.patch("patched", scope=JANE, metadata={"stars": 5})
        index.patch("vector", scope=JANE, vector=[7.0, 8.0, 9.0])
        index.patch("taken", scope=JANE, vector=None)
        index.upsert("replaced", "eel", scope=JANE)
        index.delete("deleted", scope=JANE)
        return embed(texts)

    flaky(index).embed_documents = disturbed  # type: ignore[method-assign]
    report = index.admin.backfill(progress=False)
    assert report.pending == n_pending(index) <= 1  # in a file a patched document is visited again
    assert index.admin.backfill(progress=False).pending == 0
    found = {record.id: record for record in index.scroll(scope=JANE, vectors=True)}
    vectors = {
        id: None if one.vector is None else np.asarray(one.vector).tolist() for id, one in found.items()
    }
    assert vectors == {
        "same": [1, 0, 1],
        "patched": [1, 0, 1],
        "vector": [7, 8, 9],
        "taken": None,
        "replaced": [0, 2, 0],
    }
    assert found["patched"].metadata == {"stars": 5}
    assert not any(one.pending for one in found.values())


@pytest.mark.parametrize("bad", [[[1.0, 2.0]], [[float("nan")] * 3], "text"])
def test_wrong_vectors_are_an_error_whatever_the_policy(index: Index, bad: object) -> None:
    index.upsert("m1", "oak", scope=JANE)
    flaky(index).embed_documents = lambda texts: bad  # type: ignore[method-assign,assignment,return-value]
    with pytest.raises(scrubjay.EmbedderError, match="expected"):
        index.upsert("m2", "oak", scope=JANE)
    assert len(index) == 1 and n_pending(index) == 0


@pytest.mark.parametrize("bad", [["a"], [None], [[1.0], [1.0, 2.0]], 5, []])
def test_a_function_that_answers_no_vectors_is_an_error_as_well(bad: object) -> None:
    index = Index(Function(lambda texts: bad, dim=2, name="bad"))
    with pytest.raises(scrubjay.EmbedderError, match="expected"):
        index.upsert("m1", "oak", scope=JANE)
    assert len(index) == 0


def test_on_embedder_error_raise_writes_nothing_and_unknown_policies_are_refused(tmp_path: Path) -> None:
    for index in (
        Index(Flaky(), on_embedder_error="raise"),
        Index.open(tmp_path / "memories.scrubjay", Flaky(), on_embedder_error="raise"),
    ):
        flaky(index).is_up = False
        with pytest.raises(scrubjay.EmbedderError, match=r"nothing was written: ConnectionError: no route"):
            index.upsert("m1", "oak", scope=JANE)
        assert len(index) == 0
        index.close()
    with pytest.raises(ValueError, match=r"on_embedder_error: expected 'pending' or 'raise', got 'ignore'"):
        Index(on_embedder_error="ignore")


def test_an_outage_is_logged_once(index: Index, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "scrubjay")
    flaky(index).is_up = False
    for i in range(5):
        index.upsert(i, "oak", scope=JANE)
    flaky(index).is_up = True
    index.search("oak", scope=JANE)
    flaky(index).is_up = False
    index.upsert(9, "oak", scope=JANE)
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO", "WARNING"]


def test_writers_do_not_wait_for_an_embedder_again_and_again(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, n_calls = [100.0], [0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def hang(texts: list[str]) -> np.ndarray:
        now[0] += 3.0
        n_calls[0] += 1
        raise TimeoutError

    flaky(index).embed_documents = hang  # type: ignore[method-assign]
    for i in range(20):
        index.upsert(i, "oak", scope=JANE)
    assert n_calls == [1]
    now[0] += 29.0
    index.upsert(20, "oak", scope=JANE)
    assert n_calls == [1]
    now[0] += 2.0
    index.upsert(21, "oak", scope=JANE)
    assert n_calls == [2] and n_pending(index) == 22


def test_pending_documents_are_embedded_in_the_background(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(housekeeping, "_PAUSE_SECONDS", 0.01)
    flaky(index).is_up = False
    index.upsert("m1", "oak", scope=JANE)
    time.sleep(0.05)
    assert n_pending(index) == 1
    flaky(index).is_up = True
    wait_for(lambda: n_pending(index) == 0)


def test_a_search_that_embeds_starts_the_backfill(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping.Housekeeper, "hurry", HURRY)
    flaky(index).is_up = False
    index.upsert("m1", "oak", scope=JANE)
    flaky(index).is_up = True
    index.search("eel", scope=JANE)  # an hour before the thread would look
    wait_for(lambda: n_pending(index) == 0)


def test_the_next_opening_continues_the_backfill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, embedder = tmp_path / "memories.scrubjay", Flaky()
    with Index.open(path, embedder) as index:
        index.upsert("m0", "oak", scope=JANE)
    with Index.open(path) as index:  # without an embedder, in a file with vectors of one
        index.upsert("m1", "oak", scope=JANE)
        assert n_pending(index) == 1
        assert index.admin.backfill(progress=False) == BackfillReport(0, 0, 1)
    with Index.open(path, embedder, read_only=True) as index:
        assert n_pending(index) == 1
        assert index.search("oak", scope=JANE).degraded
    monkeypatch.setattr(housekeeping, "_PAUSE_SECONDS", 0.01)
    with Index.open(path, embedder) as index, Index.open(path) as other:
        wait_for(lambda: n_pending(index) == 0)
        hits = other.search(vector=[1.0, 0.0, 1.0], scope=JANE, query=Query(mode="vector"))
        assert sorted(hits.ids.tolist()) == ["m0", "m1"]


def test_a_collection_and_its_drop(tmp_path: Path) -> None:
    path, embedder = tmp_path / "memories.scrubjay", Flaky()
    with Index.open(path, embedder) as index:
        side = index.collection("side")
        embedder.is_up = False
        side.upsert("m1", "oak", scope=JANE)
        assert (n_pending(index), n_pending(side)) == (0, 1)
        index.admin.drop_collection("side")
        side = index.collection("side")
        assert n_pending(side) == 0
        side.upsert("m1", "oak", scope=JANE)
        index.erase(JANE, everywhere=True)
        assert n_pending(side) == 0


def test_backfill_skips_expired_documents(index: Index) -> None:
    flaky(index).is_up = False
    index.upsert("m1", "oak", scope=JANE, ttl=-1.0)
    index.upsert("m2", "oak", scope=JANE)
    flaky(index).is_up = True
    index.count(JANE)
    assert index.admin.backfill(progress=False) == BackfillReport(1, 0, 0)


def test_an_export_comes_back_without_an_embedder(tmp_path: Path) -> None:
    embedder = Flaky()
    with Index.open(tmp_path / "one.scrubjay", embedder) as index:
        index.upsert("m1", "oak", scope=JANE)
        embedder.is_up = False
        index.upsert("m2", "boat", scope=JANE)
        index.admin.export(tmp_path / "out.jsonl")
    with Index.open(tmp_path / "two.scrubjay", embedder) as index:
        assert index.admin.import_(tmp_path / "out.jsonl", progress=False) == 2
        assert n_pending(index) == 1
        embedder.is_up = True
        assert index.admin.backfill(progress=False).pending == 0
        index.admin.export(tmp_path / "again.jsonl")
    assert "pending" not in (tmp_path / "again.jsonl").read_text()


def test_repair_and_backup_keep_what_is_pending(tmp_path: Path) -> None:
    path, embedder = tmp_path / "memories.scrubjay", Flaky()
    embedder.is_up = False
    with Index.open(path, embedder) as index:
        index.upsert("m1", "oak", scope=JANE)
        index.collection("side").upsert("m2", "oak", scope=JANE)
        index.admin.backup(tmp_path / "copy.scrubjay")
    scrubjay.Admin.repair(path)
    embedder.is_up = True
    for file in (path, tmp_path / "copy.scrubjay"):
        with Index.open(file, embedder) as index:
            side = index.collection("side")
            assert (n_pending(index), n_pending(side)) == (1, 1)
            assert index.admin.backfill(progress=False).embedded == 1
            assert side.admin.backfill(progress=False).embedded == 1


def test_a_new_model_embeds_what_the_old_one_could_not(tmp_path: Path) -> None:
    old, new = Flaky(), Flaky("new", "aeiou")
    with Index.open(tmp_path / "memories.scrubjay", old) as index:
        index.upsert("m1", "oak", scope=JANE)
        old.is_up = False
        index.upsert("m2", "boat", scope=JANE)
        assert index.admin.reembed(new, progress=False) == 2
        assert n_pending(index) == 0 and new.n_embedded == 2
        assert sorted(index.search("oa", scope=JANE, query=Query(mode="vector")).ids.tolist()) == ["m1", "m2"]
        assert index.admin.check().problems == []


@pytest.mark.parametrize("keys", [None, provider])
def test_a_new_model_that_is_away_keeps_the_old_vectors_or_leaves_pending_ones(
    tmp_path: Path, keys: object
) -> None:
    old, new = Flaky(), Flaky("new", "aeiou")
    with Index.open(tmp_path / "memories.scrubjay", old, keys=keys) as index:  # type: ignore[arg-type]
        index.upsert_many([{"id": i, "text": f"oak {i}"} for i in range(10)], scope=JANE)
        new.n_good = 1
        with pytest.raises(scrubjay.EmbedderError):
            index.admin.reembed(new, progress=False, batch_size=4)
        assert index.admin.stats()["embedder"] == "flaky" and n_pending(index) == 0
        new.n_good = 1
        assert index.admin.reembed(new, progress=False, batch_size=4, on_embedder_error="pending") == 4
        assert index.admin.stats()["embedder"] == "new" and n_pending(index) == 2
        assert index.admin.check().problems == []
        new.n_good = None
        assert index.admin.backfill(progress=False) == BackfillReport(2, 0, 0)
        assert len(index.search("oak", scope=JANE, query=Query(mode="vector"))) == 10
        assert index.admin.check().problems == []


def test_the_seam_of_layers_above(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping.Housekeeper, "hurry", HURRY)
    embedder = Flaky()
    with Index.open(tmp_path / "memories.scrubjay", embedder) as index:
        backend = Backend.of(index)
        embedder.is_up = False
        vectors, payloads = backend.embed_or_mark(["oak"], [None])
        with backend.changing("test") as change:
            change.upsert(["m1"], ["oak"], scopes=[JANE], vectors=vectors, payloads=payloads)
        assert n_pending(index) == 1
        embedder.is_up = True
        vectors, payloads = backend.embed_or_mark(["oak"], [b'{"metadata":{"a":1}}'])
        assert payloads == [b'{"metadata":{"a":1}}'] and vectors[0] is not None
        wait_for(lambda: n_pending(index) == 0)


def test_metadata_that_resembles_the_pending_mark_is_not_one(index: Index) -> None:
    index.upsert("m1", "oak", scope=JANE, metadata={"pending": True, "text": '"pending":true'})
    record = index.get("m1", scope=JANE)
    assert record is not None and not record.pending and n_pending(index) == 0


def test_threads_that_write_while_it_goes_away_and_comes_back(index: Index) -> None:
    def write(start: int) -> None:
        for i in range(start, start + 60):
            flaky(index).is_up = i % 7 < 4
            index.upsert(i, f"oak {i}", scope=JANE)

    threads = [threading.Thread(target=write, args=(1000 * n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    flaky(index).is_up = True
    assert index.admin.backfill(progress=False).pending == 0
    records = list(index.scroll(scope=JANE, vectors=True, limit=1000))
    assert len(records) == 180 and all(record.vector is not None for record in records)


_WRITER = """
import random
from scrubjay import Index, Scope
from tests.data.flaky import Flaky
embedder, rng = Flaky(), random.Random(int(sys.argv[2]))
index = Index.open(sys.argv[1], embedder, durability="normal")
n = int(sys.argv[3])
while True:
    embedder.is_up = rng.random() < 0.4
    n += 1
    if rng.random() < 0.2:
        five = [{"id": f"{n}-{i}", "text": f"oak {n} {i}"} for i in range(5)]
        index.upsert_many(five, scope=Scope("acme"), batch_size=2)
    else:
        index.upsert(str(n), f"oak {n}", scope=Scope("acme", user="jane" if n % 2 else None))
    print(n, flush=True)
"""

_FILLER = """
from scrubjay import Index, Scope
from tests.data.flaky import Flaky
index = Index.open(sys.argv[1], Flaky(), durability="normal")
print("begun", flush=True)
index.admin.backfill(progress=False, batch_size=3)
print("done", flush=True)
time.sleep(3600)
"""


def _killed(code: str, arguments: list[str], n_lines: int, extra_seconds: float) -> list[str]:
    """Return the complete lines of output of a process that was killed while printing."""
    process = subprocess.Popen(
        [sys.executable, "-c", SETTING + textwrap.dedent(code), *arguments], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(n_lines)]
    time.sleep(extra_seconds)
    process.send_signal(signal.SIGKILL)
    lines += process.stdout.readlines()
    process.stdout.close()
    process.wait()
    assert lines[0], "it ended before it did anything"
    return [line.strip() for line in lines if line.endswith("\n")]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_processes_that_are_killed_while_they_write_and_while_they_fill_in(tmp_path: Path) -> None:
    path, rng = str(tmp_path / "memories.scrubjay"), random.Random(1)
    acknowledged: list[str] = []
    last = 0
    for seed in range(3):
        acknowledged += _killed(_WRITER, [path, str(seed), str(last)], 40, rng.random() * 0.02)
        last = int(acknowledged[-1]) + 1  # one more may have been committed
        _killed(_FILLER, [path], 1, rng.random() * 0.01)
    embedder = Flaky()
    with Index.open(path, embedder) as index:
        index.admin.backfill(progress=False)
        pages = [index.scroll(scope=scope, exact=True, vectors=True, limit=9999) for scope in index.scopes()]
        records = [record for page in pages for record in page]
        parts = Counter(str(record.id).partition("-")[0] for record in records)
        assert set(acknowledged) <= set(parts) and set(parts.values()) <= {1, 5}
        for record in records:
            assert not record.pending
            np.testing.assert_array_equal(np.asarray(record.vector), embedder.vector(record.text))
        assert n_pending(index) == 0
        assert index.admin.check().problems == []

"""Concurrent writers: lock waits, the remains of a failed batch, and the maximum size of a text."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrubjay import Engine, Index, Scope
from scrubjay._native import copied_vector
from scrubjay.backend import Backend

ACME, JANE, GLOBEX = Scope("acme"), Scope("acme", user="jane"), Scope("globex")
LIMIT = 16 << 20


class Gate:
    """A stemmer that blocks at the word "gate" until it is opened."""

    def __init__(self) -> None:
        self.reached, self.opened = threading.Event(), threading.Event()
        self.in_time = False

    def __call__(self, word: str) -> str:
        if word == "gate":
            self.reached.set()
            self.in_time = self.opened.wait(120)
        return word


def beside(write: Callable[[], Any], gate: Gate, others: Callable[[], Any]) -> None:
    """Call `others` while a write is blocked in its analysis."""
    thread = threading.Thread(target=write)
    thread.start()
    try:
        assert gate.reached.wait(120)
        others()
    finally:
        gate.opened.set()
        thread.join()
    assert gate.in_time


@pytest.mark.parametrize("kind", [Engine, Index])
def test_writers_do_not_wait_for_the_analysis_of_another_scope(kind: Any) -> None:
    gate = Gate()
    engine = kind(analyzer="gated", stemmer=gate)
    engine.upsert("old", "tea", scope=GLOBEX)

    def others() -> None:
        engine.upsert("slow", "tea", scope=GLOBEX)  # the id of the document being written
        engine.upsert("new", "tea", scope=GLOBEX)
        engine.upsert("old", "coffee", scope=GLOBEX)
        assert engine.delete("new", scope=GLOBEX)
        assert len(engine.search("coffee", scope=GLOBEX)) == 1
        assert engine.erase(GLOBEX) == 2

    beside(lambda: engine.upsert("slow", "gate", scope=ACME), gate, others)
    assert len(engine) == 1


def test_in_a_file_nobody_waits_for_the_analysis_of_a_stranger(tmp_path: Path) -> None:
    gate = Gate()
    with Index.open(tmp_path / "x.scrubjay", analyzer="gated", stemmer=gate, durability="normal") as index:

        def others() -> None:
            index.upsert("theirs", "tea", scope=GLOBEX)
            index.upsert("slow", "coffee", scope=GLOBEX)
            assert index.search("tea", scope=GLOBEX)[0].id == "theirs"

        beside(lambda: index.upsert_many([{"id": "slow", "text": "gate"}], scope=ACME), gate, others)
        assert index.search("gate", scope=ACME)[0].id == "slow"
        assert index.search("coffee", scope=GLOBEX)[0].id == "slow"


@pytest.mark.parametrize("text", ["a." * 1_000_000, "\ufdfa" * 200_000, " ".join(map(str, range(250_000)))])
@pytest.mark.parametrize("kind", [Engine, Index])
def test_many_writes_go_on_beside_one_of_a_huge_text(kind: Any, text: str) -> None:
    engine = kind()
    started, times = threading.Event(), []

    def write_huge() -> None:
        started.set()
        begin = time.perf_counter()
        for id in range(3):
            engine.upsert(id, text, scope=ACME)
        times.append(time.perf_counter() - begin)

    thread = threading.Thread(target=write_huge)
    thread.start()
    started.wait()
    n_written, longest = 0, 0.0
    while thread.is_alive():
        begin = time.perf_counter()
        engine.upsert(1000 + n_written % 100, f"tea number {n_written}", scope=GLOBEX)
        longest = max(longest, time.perf_counter() - begin)
        n_written += 1
    thread.join()
    # Writing in sequence would give a handful, each as long as a huge one.
    assert n_written >= 60, (n_written, longest, times)


@pytest.mark.parametrize("kind", [Engine, Index])
def test_a_batch_whose_stemmer_fails_leaves_nothing(kind: Any) -> None:
    def stem(word: str) -> str:
        if word == "boom":
            raise RuntimeError("no stem")
        return word

    def fields(ids: range, last: str) -> dict[str, Any]:
        texts = [f"tea {id}" for id in ids[:-1]] + [last]
        return {
            "scope": [JANE if id % 3 else ACME for id in ids],
            "vectors": [np.float32([1, id + 1]) for id in ids],
            "payloads": [b'{"metadata":{"n":%d,"kind":"k%d"}}' % (id, id % 4) for id in ids],
            "texts": texts,
            "ids": list(ids),
        }

    def write(engine: Any, ids: range, last: str) -> None:
        engine.upsert_many(**fields(ids, last))

    def seen(engine: Any) -> list[Any]:
        found = [
            sorted(engine.search(vector=[1, 2], scope=scope, k=5000, filter=condition).ids.tolist())
            for scope in (ACME, JANE)
            for condition in (None, {"n": {"$gte": 5, "$lt": 2500}}, {"kind": "k1"}, {"n": {"$lt": 7}})
        ]
        native = engine if kind is Engine else engine.native
        return [native.digest(ACME), native.digest(JANE), len(engine), found]

    engine, twin = (
        (
            Engine(analyzer="moody", stemmer=stem, background=False)
            if kind is Engine
            else Backend.of(Index(analyzer="moody", stemmer=stem)).engine
        )
        for _ in range(2)
    )
    for each in (engine, twin):
        write(each, range(1500), "tea")
    before = seen(engine)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="no stem"):
            write(engine, range(1000, 3000), "boom")
        assert seen(engine) == before
        with pytest.raises(ValueError, match=r"vectors\[1\]"):
            engine.upsert_many([1, 5000], ["tea", "tea"], scope=[ACME, GLOBEX], vectors=[[1, 2], [1, 2, 3]])
        assert seen(engine) == before
    for each in (engine, twin):
        write(each, range(1000, 3000), "tea")
    assert seen(engine) == seen(twin)


def test_an_array_that_changes_meanwhile_brings_no_nan_in() -> None:
    engine = Engine(dim=64)
    vectors = np.ones((64, 64), dtype=np.float32)
    done = threading.Event()

    def flip() -> None:
        while not done.is_set():
            vectors[:, 7] = np.nan
            vectors[:, 7] = 1.0

    thread = threading.Thread(target=flip)
    thread.start()
    n_written = 0
    try:
        begin = time.monotonic()
        while time.monotonic() < begin + 3 or (not n_written and time.monotonic() < begin + 60):
            ids = list(range(64))
            try:
                n_written += engine.upsert_many(ids, ["tea"] * 64, scope=ACME, vectors=vectors)
            except ValueError:
                pass
            try:
                scores = engine.search(vector=vectors[3], scope=ACME).scores
                assert np.isfinite(scores).all()
            except ValueError:
                pass
            for id in ids:
                document = engine.get(id, scope=ACME)
                assert document is None or np.isfinite(document.vector).all()
    finally:
        done.set()
        thread.join()
    assert n_written


def test_prepared_documents_are_written_later() -> None:
    engine, other = Engine(), Engine()
    engine.upsert(1, "old", scope=ACME)
    prepared = engine.prepare([1, 2], ["tea", "coffee"], scope=ACME)
    assert len(prepared) == 2
    for unlike in (
        lambda: other.apply_all([prepared], scope=ACME, n_documents=2),
        lambda: engine.apply_all([prepared], scope=ACME, n_documents=3),
        lambda: engine.apply_all(
            [prepared, other.prepare_row(1, "tea", scope=ACME)[0]], scope=ACME, n_documents=3
        ),
    ):
        assert unlike() is None
    with pytest.raises(TypeError, match=r"prepared\[0\]: expected PreparedDocuments, got str"):
        engine.apply_all(["tea"], scope=ACME, n_documents=1)  # type: ignore[list-item]
    assert len(other) == 0
    assert len(engine) == 1
    engine.upsert(1, "newer", scope=ACME)  # the document of the prepared write is gone
    assert engine.apply(prepared) == 2
    assert [len(engine.search(text, scope=ACME)) for text in ("tea", "coffee", "old", "newer")] == [
        1,
        1,
        0,
        0,
    ]
    with pytest.raises(ValueError, match="prepared: expected documents of this engine"):
        other.apply(prepared)
    mine = engine.prepare([3], ["mine"], scope=ACME)
    engine.upsert(3, "theirs", scope=GLOBEX)
    more, _, _ = engine.prepare_row(4, "more", scope=ACME)
    n_bytes = engine.apply_all([mine, more], scope=ACME, n_documents=2)
    assert n_bytes == engine.partition_bytes(ACME)
    assert [engine.get(3, scope=scope).text for scope in (ACME, GLOBEX)] == ["mine", "theirs"]  # type: ignore[union-attr]
    assert engine.count(ACME) == 4


def test_a_usual_vector_is_copied_natively() -> None:
    """Any other type is left to the checks in Python."""
    vector = np.arange(1, 38, dtype=np.float32)
    copy = copied_vector(vector, 37)
    assert copy is not vector and copy.dtype == np.float32 and (copy == vector).all()
    with_nan, with_infinity = vector.copy(), vector.copy()
    with_nan[36], with_infinity[36] = np.nan, np.inf
    for other in (with_nan, with_infinity, 0 * vector, 1e30 * vector, vector.astype(">f4"), vector.astype(float),
                  vector[::2], vector[None], vector.tolist(), None):  # fmt: skip
        assert copied_vector(other, 37) is None
    assert copied_vector(vector, 36) is None and copied_vector(vector, None) is None


def test_a_prepared_row_keeps_its_engine() -> None:
    engine = Engine()
    died = weakref.ref(engine, lambda _: None)
    row, _, _ = engine.prepare_row(1, "tea", scope=ACME)
    del engine
    assert died() is not None
    assert died().apply(row) == 1  # type: ignore[union-attr]
    del row
    assert died() is None


def test_prepared_documents_are_checked_against_what_earlier_writes_settled() -> None:
    """The type of ids and the dimension belong to the engine, whoever wrote first."""
    for ids, vectors, error in ((["x"], None, TypeError), ([7], [[1.0, 2.0, 3.0]], ValueError)):
        engine = Engine()
        prepared = engine.prepare([1, 2], ["tea", "coffee"], scope=ACME, vectors=[[1.0, 2.0], None])
        engine.upsert_many(ids, ["theirs"], scope=GLOBEX, vectors=vectors)
        with pytest.raises(error):
            engine.apply(prepared)
        assert (len(engine), engine.count(ACME)) == (1, 0)


@pytest.mark.parametrize("kind", ["engine", "index", "file"])
def test_a_text_has_a_largest_size(kind: str, tmp_path: Path) -> None:
    index: Any = Engine() if kind == "engine" else Index() if kind == "index" else Index.open(tmp_path / "x")
    with pytest.raises(ValueError, match=r"text: expected at most 16777216 bytes \(16 MiB\), got 16777217"):
        index.upsert(1, "x" * (LIMIT + 1), scope=ACME)
    with pytest.raises(ValueError, match="text: expected at most 8388608 tokens"):
        index.upsert(1, "\ufdfa " * 2_100_000, scope=ACME)
    with pytest.raises(
        ValueError, match="text: expected at most 67108864 bytes between two ASCII separators"
    ):
        index.upsert(1, "\ufdfa" * 2_100_000, scope=ACME)
    with pytest.raises(ValueError, match="text: expected at most 16777216 bytes"):
        index.search("x" * (LIMIT + 1), scope=ACME)
    assert len(index) == 0
    index.upsert(1, "x" * LIMIT, scope=ACME)
    assert len(index) == 1
    if kind == "file":
        index.close()


def test_a_payload_has_a_largest_size() -> None:
    engine = Engine()
    with pytest.raises(
        ValueError, match=r"payload: expected at most 16777216 bytes \(16 MiB\), got 16777217"
    ):
        engine.upsert(1, "tea", scope=ACME, payload=bytes(LIMIT + 1))
    assert len(engine) == 0


def test_listings_and_scopes_hold_through_concurrent_writes() -> None:
    index = Index()
    scopes = [Scope("acme", user=f"u{i}") for i in range(4)]
    errors: list[Exception] = []

    def work(number: int) -> None:
        try:
            for step in range(300):
                id, scope = f"m{step % 7}", scopes[(number + step) % 4]
                known = index.get(id, scope=scopes[step % 3])
                if known is not None and step % 2:
                    index.delete(id, scope=known.scope)
                index.upsert(id, "tea", scope=scope)
                if step % 11 == 0:
                    index.erase(scopes[step % 4])
                assert all(record.text == "tea" for record in index.list(scope))
        except Exception as error:  # noqa: BLE001 - any: it is looked at below
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    listed = [(scope, record.id) for scope in scopes for record in index.list(scope, exact=True)]
    assert len(set(listed)) == len(listed) == len(index)
    assert set(index.scopes()) == {
        record.scope for scope in scopes for record in index.list(scope, exact=True)
    }

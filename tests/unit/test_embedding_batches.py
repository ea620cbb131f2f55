"""Batches embedded concurrently give the same results as sequentially: vectors, order, failures."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scrubjay
from scrubjay import Index, Scope
from scrubjay.embedders import Static, Truncated
from scrubjay.embedders.batches import answers, n_at_once
from scrubjay.embedders.protocol import Vectors

ACME = Scope("acme")
BATCH = 4


class Counting:
    """Four numbers per text; `before` is called with the number of the batch, on the embedding thread."""

    name, dim = "counting", 4

    def __init__(
        self, parallel_batches: Any = 3, before: Callable[[int], object] = lambda number: None
    ) -> None:
        self.parallel_batches = parallel_batches
        self.before = before
        self.begun: list[int] = []
        self.n_inside = self.most_inside = 0
        self._lock = threading.Lock()

    def embed_documents(self, texts: list[str]) -> Vectors:
        number = int(texts[0].split()[1]) // BATCH
        with self._lock:
            self.begun.append(number)
            self.n_inside += 1
            self.most_inside = max(self.most_inside, self.n_inside)
        try:
            self.before(number)
        finally:
            with self._lock:
                self.n_inside -= 1
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        number = int(text.split()[1])
        return np.array([number % 7, number % 5, number % 3, number], np.float32)  # the first one is zero


def records(n: int) -> list[dict[str, Any]]:
    return [{"id": number, "text": f"memory {number}"} for number in range(n)]


def written(embedder: Counting, n: int = 30, **options: Any) -> dict[int | str, Any]:
    """Return the vectors of an index by id after one call."""
    index = Index(embedder, **options)
    index.upsert_many(records(n), scope=ACME, batch_size=BATCH, progress=False)
    found = zip(index.get_many(list(range(n)), scope=ACME), vectors_of(index, n), strict=True)
    return {record.id: (record.pending, vector) for record, vector in found if record is not None}


def vectors_of(index: Index, n: int) -> list[list[float] | None]:
    """Return the vectors of the memories from 0 on."""
    vectors = []
    for number in range(n):
        record = index.get(number, scope=ACME)
        assert record is not None
        vectors.append(None if record.vector is None else np.asarray(record.vector).tolist())
    return vectors


def helpers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "scrubjay-embedding"]


def test_vectors_are_those_of_one_batch_after_the_other() -> None:
    late = Counting(before=lambda number: time.sleep(0.02 if number % 3 == 0 else 0))
    assert written(late) == written(Counting(1))
    assert sorted(late.begun) == list(range(8))
    assert late.begun == sorted(late.begun) or late.most_inside > 1


def test_batches_are_embedded_at_a_time() -> None:
    both = threading.Barrier(2)
    embedder = Counting(2, before=lambda number: both.wait(timeout=20) if number < 2 else None)
    assert len(written(embedder)) == 30
    assert embedder.most_inside == 2


@pytest.mark.parametrize("given", [None, 0, -1, 1, True, "3", 2.0])
def test_without_a_number_one_follows_the_other(given: Any) -> None:
    embedder = Counting(given, before=lambda number: time.sleep(0.002))
    assert n_at_once(embedder) == 1
    assert len(written(embedder)) == 30
    assert (embedder.most_inside, embedder.begun) == (1, list(range(8)))


def failing(*numbers: int, late: int = -1) -> Callable[[int], None]:
    def before(number: int) -> None:
        if number == late:
            time.sleep(0.1)
        if number in numbers:
            raise ConnectionError(f"batch {number}")

    return before


@pytest.mark.parametrize("numbers", [(0,), (3,), (7,), (2, 3), (0, 1, 2)])
def test_failures_in_parallel_batches_equal_those_one_after_the_other(numbers: tuple[int, ...]) -> None:
    # The first batch is the last to fail.
    late = Counting(before=failing(*numbers, late=numbers[0]))
    assert written(late) == written(Counting(1, before=failing(*numbers)))


@pytest.mark.parametrize("numbers", [(0,), (3,), (2, 3)])
def test_the_policy_raise_names_the_first_failure(numbers: tuple[int, ...]) -> None:
    said = []
    for n_batches in (1, 3):
        embedder = Counting(n_batches, before=failing(*numbers, late=numbers[0]))
        index = Index(embedder, on_embedder_error="raise")
        with pytest.raises(scrubjay.EmbedderError) as raised:
            index.upsert_many(records(30), scope=ACME, batch_size=BATCH, progress=False)
        assert len(index) == 0
        assert isinstance(raised.value.__cause__, ConnectionError)
        said.append(str(raised.value))
    assert said[0] == said[1]
    assert f"from position {numbers[0] * BATCH}," in said[0]


def test_a_batch_of_a_wrong_shape_is_an_error_and_writes_nothing() -> None:
    embedder = Counting()
    embedder.embed_documents = lambda texts: np.zeros((1, 3), np.float32)  # type: ignore[method-assign]
    index = Index(embedder)
    with pytest.raises(scrubjay.EmbedderError, match="shape"):
        index.upsert_many(records(30), scope=ACME, batch_size=BATCH, progress=False)
    assert len(index) == 0


def test_a_failed_embedder_gets_one_batch_until_it_answers() -> None:
    first = threading.Event()
    embedder = Counting(before=failing(0))
    index = Index(embedder)
    index.upsert_many(records(30), scope=ACME, batch_size=BATCH, progress=False)
    time.sleep(0.05)  # it is not called for ten times as long as it took to fail
    embedder.begun.clear()

    def before(number: int) -> None:
        if number == 0:
            time.sleep(0.05)
            assert embedder.begun == [0]
            first.set()
        assert first.is_set()

    embedder.before = before
    index.upsert_many(records(30), scope=ACME, batch_size=BATCH, progress=False)
    assert first.is_set()
    assert sorted(set(embedder.begun)) == list(range(8))


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("where", ["caller", "helper"])
def test_an_interrupted_call_ends_its_embedding_threads(stop: type[BaseException], where: str) -> None:
    caller = threading.current_thread()
    both = threading.Barrier(2)

    def before(number: int) -> None:
        if number < 2:
            both.wait(timeout=20)
            if (threading.current_thread() is caller) == (where == "caller"):
                raise stop
        time.sleep(0.01)

    embedder = Counting(2, before=before)
    index = Index(embedder)
    with pytest.raises(stop):
        index.upsert_many(records(400), scope=ACME, batch_size=BATCH, progress=False)
    assert helpers() == []
    assert embedder.n_inside == 0
    assert max(embedder.begun) < 10
    assert len(index) == 0


def test_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = written(Counting(1))

    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    assert answers(Counting(), [["memory 0"], ["memory 1"]], 3, lambda n: None)[1].error is None
    monkeypatch.undo()
    assert written(Counting()) == expected


def test_progress_is_told_by_the_caller_of_every_text() -> None:
    told: list[tuple[int, bool]] = []
    caller = threading.current_thread()
    embedder = Counting(before=lambda number: time.sleep(0.001 * (number % 4)))
    batches = [
        [f"memory {number}" for number in range(first, first + BATCH)] for first in range(0, 40, BATCH)
    ]
    found = answers(embedder, batches, 3, lambda n: told.append((n, threading.current_thread() is caller)))
    assert [answer.batch for answer in found] == batches
    assert sum(n for n, _ in told) == 40
    assert all(is_caller and n > 0 for n, is_caller in told)


def test_static_embedders_use_the_cores_they_may(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"The {word} of {number} trains to Geneva." for number in range(150) for word in ("key", "way")]
    monkeypatch.setattr("scrubjay.embedders.batches.usable_cores", lambda: 3)
    monkeypatch.setattr("scrubjay.embedders.static.usable_cores", lambda: 3)
    for embedder in (Static(), Truncated(Static(), 64)):
        assert n_at_once(embedder) == 3
        index = Index(embedder)
        rows = [{"id": number, "text": text} for number, text in enumerate(texts)]
        index.upsert_many(rows, scope=ACME, batch_size=16, progress=False)
        expected = Index(embedder)
        for row in rows:
            expected.upsert(row["id"], row["text"], scope=ACME)
        assert vectors_of(index, len(rows)) == vectors_of(expected, len(rows))

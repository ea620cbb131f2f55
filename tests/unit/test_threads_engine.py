"""Readers and writers in many threads see a consistent engine.

Documents describe themselves: the text of document n in scope s holds the words of n and s, so that a hit can be judged
without knowing when it was read. The scopes have the same ids.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from scrubjay import Query
from tests.data.engines import Kit

DIM = 8
SECONDS = 1.5


def run(workers: list[Callable[[threading.Event], None]], seconds: float = SECONDS) -> None:
    """Run all workers until the time is over or one fails; raise the first failure."""
    stop, failures = threading.Event(), []

    def guarded(worker: Callable[[threading.Event], None]) -> None:
        try:
            worker(stop)
        except BaseException as error:  # noqa: BLE001 - handed to the main thread
            failures.append(error)
            stop.set()

    threads = [threading.Thread(target=guarded, args=(worker,)) for worker in workers]
    for thread in threads:
        thread.start()
    stop.wait(seconds)
    stop.set()
    for thread in threads:
        thread.join(timeout=300)
        assert not thread.is_alive(), "a worker does not come back"
    if failures:
        raise failures[0]


def vector_of(number: int) -> Any:
    return np.random.default_rng(number).normal(size=DIM).astype(np.float32)


def test_every_hit_is_whole_and_at_home(kit: Kit) -> None:
    """Writers churn three scopes; readers check that id, text, payload and scope of each hit belong together.

    Document `number` has the id number // 3 in scope number % 3, so that every id is in all three.
    """
    engine = kit.Engine(dim=DIM)
    scopes = [kit.Scope("acme"), kit.Scope("acme", "jane"), kit.Scope("globex")]

    def writer(seed: int) -> Callable[[threading.Event], None]:
        def work(stop: threading.Event) -> None:
            random = np.random.default_rng(seed)
            while not stop.is_set():
                number = int(random.integers(200)) * 2 + seed % 2  # each writer has its own documents
                place = number % len(scopes)
                action = random.random()
                if action < 0.6:
                    text = f"jay n{number} home{place} {'oak ' * int(random.integers(5))}"
                    engine.upsert(
                        number // 3,
                        text,
                        scope=scopes[place],
                        vector=vector_of(number),
                        payload=str(number).encode(),
                    )
                elif action < 0.9:
                    engine.delete(number // 3, scope=scopes[place])
                elif action < 0.97:
                    numbers = [n for n in range(number, number + 20, 4) if n < 400]
                    engine.upsert_many(
                        [n // 3 for n in numbers],
                        [f"jay n{n} home{n % len(scopes)}" for n in numbers],
                        scope=[scopes[n % len(scopes)] for n in numbers],
                        vectors=np.stack([vector_of(n) for n in numbers]),
                        payloads=[str(n).encode() for n in numbers],
                    )
                else:
                    engine.compact()

        return work

    def reader(place: int) -> Callable[[threading.Event], None]:
        visible = {0: {0}, 1: {0, 1}, 2: {2}}[place]

        def work(stop: threading.Event) -> None:
            while not stop.is_set():
                result = engine.search(
                    "jay oak n7", vector=vector_of(1), scope=scopes[place], k=50, explain=True
                )
                numbers = [
                    id * 3 + scopes.index(result.scope(index)) for index, id in enumerate(result.ids.tolist())
                ]
                assert len(set(numbers)) == len(numbers), "one document twice"
                for index, number in enumerate(numbers):
                    assert result.text(index).startswith(f"jay n{number} home{number % 3}")
                    assert result.payload(index) == str(number).encode()
                    assert number % 3 in visible
                    assert result.similarities[index] == pytest.approx(
                        float(vector_of(number) @ vector_of(1))
                        / float(np.linalg.norm(vector_of(number)) * np.linalg.norm(vector_of(1))),
                        abs=2e-3,
                    )
                assert np.all(np.diff(result.scores) <= 0)

        return work

    run([writer(0), writer(1), reader(0), reader(1), reader(2)])


def test_a_write_that_returned_is_visible_everywhere(kit: Kit) -> None:
    """Each thread finds its own last write at once, in both rankings, and no longer finds what it deleted."""
    engine, home = kit.Engine(dim=DIM), kit.Scope("acme")

    def worker(name: int) -> Callable[[threading.Event], None]:
        def work(stop: threading.Event) -> None:
            turn = 0
            while not stop.is_set():
                turn += 1
                id, word = f"{name}/{turn}", f"t{name}x{turn}"
                engine.upsert(id, f"jay {word}", scope=home, vector=vector_of(name * 100_000 + turn))
                assert list(engine.search(word, scope=home, query=Query(mode="lexical"), k=1).ids) == [id]
                found = engine.search(vector=vector_of(name * 100_000 + turn), scope=home, k=1)
                assert list(found.ids) == [id]
                if turn % 3:
                    assert engine.delete(id, scope=home)
                    assert engine.get(id, scope=home) is None
                    assert id not in list(engine.search(f"jay {word}", scope=home, k=5000).ids)

        return work

    run([worker(name) for name in range(4)])


def test_an_update_shows_the_old_or_the_new_version(kit: Kit) -> None:
    """Never both, never neither: one document is rewritten continually, and every search finds it exactly once."""
    engine, home = kit.Engine(dim=DIM), kit.Scope("acme")
    engine.upsert("m", "jay even", scope=home, vector=vector_of(0), payload=b"even")
    engine.upsert("other", "jay bystander", scope=home, vector=vector_of(9))

    def writer(stop: threading.Event) -> None:
        turn = 0
        while not stop.is_set():
            turn += 1
            name = ("even", "odd")[turn % 2]
            engine.upsert("m", f"jay {name}", scope=home, vector=vector_of(turn % 2), payload=name.encode())
            if turn % 500 == 0:
                engine.compact()

    def reader(stop: threading.Event) -> None:
        while not stop.is_set():
            for options in (
                {"text": "jay even odd"},
                {"vector": vector_of(3)},
                {"text": "jay", "vector": vector_of(3)},
            ):
                result = engine.search(scope=home, explain=True, **options)
                ids = list(result.ids)
                assert sorted(ids) == ["m", "other"], f"{options}: {ids}"
                index = ids.index("m")
                payload = result.payload(index)
                assert payload is not None
                assert result.text(index) == f"jay {payload.decode()}"
            document = engine.get("m", scope=home)
            assert document is not None
            assert document.text == f"jay {document.payload.decode()}"
            assert engine.count(home) == 2

    run([writer, reader, reader])


def test_one_id_in_many_scopes_is_many_documents(kit: Kit) -> None:
    """Each thread writes, reads and deletes the same few ids in its own scope, unaffected by the others."""
    engine = kit.Engine(dim=DIM)
    engine.upsert(0, "jay shared", scope=kit.Scope("acme"))

    def worker(name: int) -> Callable[[threading.Event], None]:
        home = kit.Scope("acme", f"user{name}") if name % 2 else kit.Scope(f"tenant{name}")

        def work(stop: threading.Event) -> None:
            own: dict[int, str] = {}
            random = np.random.default_rng(name)
            while not stop.is_set():
                id, text = int(random.integers(3)), f"jay u{name} {int(random.integers(1000))}"
                if random.random() < 0.7:
                    engine.upsert(id, text, scope=home, vector=vector_of(name))
                    own[id] = text
                else:
                    assert engine.delete(id, scope=home) == (own.pop(id, None) is not None)
                for id in range(3):
                    found = engine.get(id, scope=home)
                    if id == 0 and name % 2 and id not in own:
                        assert found.text == "jay shared"
                    else:
                        assert (None if found is None else found.text) == own.get(id)
                result = engine.search("jay", scope=home)
                texts = {result.text(index) for index in range(len(result))}
                assert texts == {*own.values(), *(["jay shared"] if name % 2 else [])}

        return work

    run([worker(name) for name in range(5)])
    assert engine.get(0, scope=kit.Scope("acme")).text == "jay shared"


def test_statistics_are_those_of_one_moment(kit: Kit) -> None:
    """While pairs of documents are written and deleted together, the scores of a search belong to one state.

    A batch writes both or deletes both: df is n or n + 2, so the score of the resident has one of two values.
    """
    engine, home = kit.Engine(), kit.Scope("acme")
    engine.upsert("resident", "jay", scope=home)
    pair = ["p1", "p2"]

    def score() -> tuple[bytes, int]:
        result = engine.search("jay", scope=home, k=10)
        return result.scores[list(result.ids).index("resident")].tobytes(), len(result)

    quiet = score()
    engine.upsert_many(pair, ["jay oak", "jay oak"], scope=home)
    full = score()
    assert quiet[0] != full[0]

    def writer(stop: threading.Event) -> None:
        while not stop.is_set():
            engine.upsert_many(pair, ["jay oak", "jay oak"], scope=home)
            assert engine.delete_many(pair, scope=home) == 2

    def reader(stop: threading.Event) -> None:
        while not stop.is_set():
            seen, n_hits = score()
            if n_hits == 1:
                assert seen == quiet[0]
            if n_hits == 3:
                assert seen == full[0]

    run([writer, reader, reader])


def test_batches_and_searches_at_once(kit: Kit) -> None:
    """search_batch on several threads gives the same results as single searches, also from several callers at once."""
    engine, home = kit.Engine(dim=DIM), kit.Scope("acme")
    n = 300
    engine.upsert_many(
        list(range(n)),
        [f"jay w{number % 17} x{number}" for number in range(n)],
        scope=home,
        vectors=np.stack([vector_of(number) for number in range(n)]),
    )
    queries = [f"w{number} jay x{number * 7}" for number in range(17)]
    expected = [engine.search(query, scope=home) for query in queries]

    def worker(stop: threading.Event) -> None:
        while not stop.is_set():
            for result, alone in zip(
                engine.search_batch(queries, scope=home, threads=3), expected, strict=True
            ):
                assert result.ids.tolist() == alone.ids.tolist()
                assert result.scores.tobytes() == alone.scores.tobytes()

    run([worker] * 3, seconds=0.7)


def test_searches_leave_the_interpreter_free(kit: Kit) -> None:
    """The engine releases the GIL while it works: Python code in another thread continues during long searches."""
    if not kit.is_native:
        pytest.skip("the model is Python")
    engine, home = kit.Engine(dim=256), kit.Scope("acme")
    n = 20_000
    random = np.random.default_rng(1)
    engine.upsert_many(
        list(range(n)), ["t"] * n, scope=home, vectors=random.normal(size=(n, 256)).astype(np.float32)
    )
    queries = random.normal(size=(400, 256)).astype(np.float32)

    def steps_beside_a_search() -> int:
        done, n_steps = threading.Event(), 0

        def search() -> None:
            engine.search_batch(None, vectors=queries, scope=home, threads=1)
            done.set()

        thread = threading.Thread(target=search)
        thread.start()
        while not done.is_set():
            n_steps += 1
            time.sleep(0.0005)
        thread.join()
        return n_steps

    # If the GIL were held, it would be one or two every time. Under load a thread may be scheduled late.
    counted: list[int] = []
    while not counted or (counted[-1] <= 10 and len(counted) < 20):
        counted.append(steps_beside_a_search())
    assert counted[-1] > 10, f"{counted} steps: the GIL was held"

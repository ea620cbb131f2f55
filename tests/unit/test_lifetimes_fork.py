"""The child of a fork: an in-memory engine continues to work there, or says why it cannot; nothing hangs."""

from __future__ import annotations

import os

import pytest

from tests.unit.processes import run

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

FORKING = """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)
def in_child(work):
    child = os.fork()
    if child == 0:
        signal.alarm(120)
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0

def filled(**options):
    engine = Engine(dim=16, **options)
    rows = np.random.default_rng(1).standard_normal((1200, 16)).astype(np.float32)
    engine.upsert_many(range(1200), [f"oak w{i}" for i in range(1200)], scope=scope, vectors=rows)
    return engine

def everything(engine):
    assert len(engine.search("oak", vector=vector, scope=scope, k=5)) == 5
    assert len(engine.search_batch(["oak"] * 8, scope=scope)) == 8
    before = len(engine)
    engine.upsert(100_000, "yew", scope=scope)
    assert engine.search("yew", scope=scope).ids.tolist() == [100_000]
    for i in range(1000, 1199):
        engine.delete(i, scope=scope)
    engine.compact()
    assert engine.build_graphs(1) == 1
    found = engine.digest(scope)
    assert found["miscounted"] == 0 and found["n_documents"] == len(engine)
    images = engine.save_partition(scope)
    engine.erase(scope)
    assert engine.load_partition(scope, images) == found["n_documents"]
    time.sleep(0.05)
    assert engine.stats()["dead"] == 0
"""


def test_a_child_does_everything_while_upkeep_and_writers_are_at_work_in_the_parent() -> None:
    run(
        FORKING
        + """
engine, stop = filled(background=True), threading.Event()
def write():
    i = 0
    while not stop.is_set():
        i += 1
        engine.upsert(i % 700, f"oak w{i} " + "elm " * (i % 50), scope=scope, vector=vector)
        if i % 7 == 0: engine.delete((i * 31) % 700, scope=scope)
def read():
    while not stop.is_set():
        engine.get(5, scope=scope); engine.search("oak", scope=scope, query=Query(ids=range(50)))
        engine.search_batch(["oak"] * 4, scope=scope)
def tidy():
    while not stop.is_set():
        engine.compact(); engine.build_graphs(1)
threads = [threading.Thread(target=each, daemon=True) for each in (write, write, read, tidy)]
for thread in threads: thread.start()
for _ in range(5):
    time.sleep(0.02)
    in_child(lambda: everything(engine))
stop.set()
for thread in threads: thread.join()
everything(engine)
"""
    )


def test_a_child_may_drop_the_engine_and_exit_as_usual() -> None:
    run(
        FORKING
        + """
engine = filled(background=True)
for i in range(600): engine.delete(i, scope=scope)
child = os.fork()
if child == 0:
    signal.alarm(120)
    del engine
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
child = os.fork()
if child == 0:
    signal.alarm(120)
    engine.delete(700, scope=scope)
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    )


def test_a_writer_that_waits_for_the_gil_in_its_stemmer_holds_up_no_fork() -> None:
    run(
        FORKING
        + """
engine = Engine(analyzer="own", stemmer=lambda word: word[::-1])
engine.upsert(0, "oak", scope=scope)
stop = threading.Event()
def write():
    i = 0
    while not stop.is_set():
        i += 1
        text = " ".join(f"oak{chr(97 + (i + j) % 26)}{chr(97 + i % 23)}x" for j in range(20))
        engine.upsert(i % 50, text, scope=scope)
threads = [threading.Thread(target=write, daemon=True) for _ in range(2)]
for thread in threads: thread.start()
def child():
    assert engine.search("oakaax", scope=scope) is not None
    try:
        engine.upsert(1000, "yew", scope=scope)
    except scrubjay.Error as error:
        assert "forked" in str(error), error
    else:
        assert engine.search("yew", scope=scope).ids.tolist() == [1000]
    engine.search("oakaax", scope=scope)
    len(engine), repr(engine)
for _ in range(6):
    time.sleep(0.02)
    in_child(child)
stop.set()
for thread in threads: thread.join()
engine.upsert(1000, "yew", scope=scope)
"""
    )


def test_a_stemmer_may_fork() -> None:
    run(
        FORKING
        + """
def stem(word):
    if word == "fork":
        child = os.fork()
        if child != 0:
            assert os.waitpid(child, 0)[1] == 0
        else:
            signal.alarm(120)
            children.append(True)
    return word
children = []
engine = Engine(analyzer="own", stemmer=stem)
engine.upsert(1, "oak", scope=scope)
engine.upsert(2, "fork", scope=scope)
if children:
    engine.upsert(3, "elm", scope=scope)
    assert len(engine) == 3
    os._exit(0)
assert len(engine) == 2
"""
    )

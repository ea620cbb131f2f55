"""The interpreter ends while daemon threads are inside native calls: the exit code stays 0."""

from __future__ import annotations

import pytest

from tests.unit.processes import run

CALLS = {
    "search": "engine.search('oak', vector=vector, scope=scope)",
    "search with a filter": "engine.search('oak', scope=scope, filter={'a': 1}, query=Query(ids=range(100)))",
    "search_batch": "engine.search_batch(['oak'] * 8, scope=scope)",
    "upsert": "engine.upsert(i % 500, 'oak elm ash', scope=scope, vector=vector)",
    "upsert_many": "engine.upsert_many(range(50), ['oak elm ash'] * 50, scope=scope)",
    "delete and compact": "engine.delete(i % 2000, scope=scope); engine.compact()",
    "short reads": "engine.get(3, scope=scope); len(engine); repr(engine); engine.stats()",
}

BUSY = """
engine = Engine(dim=16, background=True)
engine.upsert_many(range(2000), ["oak elm ash"] * 2000, scope=scope, vectors=[vector] * 2000)
def work():
    i = 0
    while True:
        i += 1
        {call}
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.15)
"""


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_daemon_threads_in_a_call_do_not_end_the_process(call: str) -> None:
    for _ in range(2):
        run(BUSY.format(call=call))


# A thread that waits for the GIL in a stemmer holds locks of the engine; the last code to run writes to it.
STEMMING = """
engine = Engine(analyzer="own", stemmer=lambda word: "".join(reversed(word)))
def work():
    i = 0
    while True:
        i += 1
        {call}
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
class Last:
    def __del__(self, engine=engine, scope=scope):
        engine.upsert(10**9, "bye", scope=scope)
        engine.search_batch(["yew a", "yew b"], scope=scope)
sys.keep = Last()
time.sleep(0.15)
"""


@pytest.mark.parametrize(
    "call",
    [
        "engine.upsert(i % 500, f'oak{chr(97 + i % 26)}x{chr(97 + i % 23)} elm', scope=scope)",
        "engine.search_batch([f'oak{chr(97 + i % 26)}{chr(97 + j)}' for j in range(20)], scope=scope)",
    ],
    ids=["upsert", "search_batch"],
)
def test_daemon_threads_in_a_stemmer_neither_end_the_process_nor_hold_it_up(call: str) -> None:
    for _ in range(3):
        run(STEMMING.format(call=call))


def test_upkeep_and_workers_outlive_the_interpreter() -> None:
    run("""
        engine = Engine(dim=16, background=True)
        rows = np.random.default_rng(1).standard_normal((20000, 16)).astype(np.float32)
        engine.upsert_many(range(20000), ["oak elm"] * 20000, scope=scope, vectors=rows)
        engine.search_batch(["oak"] * 64, scope=scope)
        threading.Thread(target=engine.build_graphs, args=(1,), daemon=True).start()
        for i in range(15000):
            engine.delete(i, scope=scope)
        cycle = [engine]
        cycle.append(cycle)
    """)

"""A stemmer calls back into its engine, or waits for the GIL while others use it: answers or errors, no deadlock."""

from __future__ import annotations

import pytest

from tests.unit.processes import run

VERBS = """
verbs = {
    "search": lambda e: e.search("oak", scope=scope),
    "search_batch": lambda e: e.search_batch(["oak", "elm"], scope=scope),
    "find_substring": lambda e: e.find_substring("oak", scope=scope),
    "get": lambda e: e.get(1, scope=scope),
    "count": lambda e: e.count(), "count in": lambda e: e.count(scope, filter={"a": 1}),
    "len": len, "repr": repr, "stats": lambda e: e.stats(), "stats of": lambda e: e.stats(scope),
    "properties": lambda e: [getattr(e, name) for name in ("dim", "metric", "analyzer", "k1", "b")],
    "generation": lambda e: e.generation(scope), "graph_state": lambda e: e.graph_state(scope),
    "partition_bytes": lambda e: e.partition_bytes(scope),
    "digest": lambda e: e.digest(scope), "save_partition": lambda e: e.save_partition(scope),
    "load_partition": lambda e: e.load_partition(Scope("other"), images),
    "upsert": lambda e: e.upsert(2, "elm", scope=scope),
    "upsert_many": lambda e: e.upsert_many([3], ["ash"], scope=scope),
    "validate": lambda e: e.validate([3], ["ash"], scope=scope),
    "delete": lambda e: e.delete(7, scope=scope), "delete_many": lambda e: e.delete_many([7, 8], scope=[scope, scope]),
    "erase": lambda e: e.erase(Scope("nobody")), "compact": lambda e: e.compact(),
    "build_graphs": lambda e: e.build_graphs(1), "init": lambda e: e.__init__(),
}
other = Engine(analyzer="own", stemmer=str)
other.upsert(999, "yew", scope=Scope("other"))
images = other.save_partition(Scope("other"))
"""


@pytest.mark.parametrize("outer", ["upsert", "delete", "search", "search_batch"])
def test_a_stemmer_that_calls_back_gets_an_answer_or_an_error(outer: str) -> None:
    run(
        VERBS
        + f"""
import faulthandler; faulthandler.dump_traceback_later(200, exit=True)
for name, verb in verbs.items():
    outcomes, active = [], []
    def stem(word):
        if active and not outcomes:
            outcomes.append(None)
            try:
                outcomes[0] = (True, verb(engine))
            except scrubjay.Error as error:
                outcomes[0] = (False, error)
        return word
    engine = Engine(analyzer="own", stemmer=stem)
    engine.upsert_many([0, 1, 7], ["oak", "oak elm", "ash"], scope=scope)
    active.append(True)
    if "{outer}" == "upsert": engine.upsert(5, f"new word{{chr(97 + len(name))}}", scope=scope)
    elif "{outer}" == "delete": engine.delete(0, scope=scope)
    elif "{outer}" == "search": engine.search(f"word{{chr(97 + len(name))}}x", scope=scope)
    else: engine.search_batch([f"word{{c}}" for c in "abcdef"], scope=scope)
    assert outcomes or "{outer}" == "delete", name
    active.clear()
    engine.upsert(6, "birch", scope=scope)
    assert engine.search("birch", scope=scope).ids.tolist() == [6], name
    assert engine.digest(scope)["miscounted"] == 0, name
"""
    )


def test_a_stemmer_may_take_its_time_on_the_main_thread() -> None:
    """It holds the GIL and is inside the library itself: no code requests the GIL on its behalf."""
    run(
        """
import faulthandler; faulthandler.dump_traceback_later(200, exit=True)
long = "oak elm " * 200_000
def stem(word):
    if word == "slow":
        scrubjay.analyze(long)
        assert len(other.search(long, scope=scope)) == 1
    return word
other = Engine()
other.upsert(1, "oak", scope=scope)
engine = Engine(analyzer="own", stemmer=stem)
engine.upsert(1, "slow oak", scope=scope)
assert engine.search("oak", scope=scope).ids.tolist() == [1]
"""
    )


def test_no_verb_waits_for_the_engine_while_it_holds_the_gil() -> None:
    """Every verb beside writers whose stemmer needs the GIL continually."""
    run(
        VERBS
        + """
import faulthandler; faulthandler.dump_traceback_later(200, exit=True)
def stem(word):
    time.sleep(0)
    return word[::-1]
engine, stop, i = Engine(analyzer="own", stemmer=stem), threading.Event(), 0
engine.upsert_many([0, 1, 7, 8], ["oak", "oak elm", "ash", "ash"], scope=scope)
def write():
    i = 0
    while not stop.is_set():
        i += 1
        text = f"oak{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}{chr(97 + i // 676 % 26)}"
        engine.upsert(10 + i % 5, text, scope=scope)
threads = [threading.Thread(target=write, daemon=True) for _ in range(2)]
for thread in threads: thread.start()
for _ in range(5):
    for name, verb in verbs.items():
        try:
            verb(engine)
        except (scrubjay.Error, ValueError) as error:
            assert name == "load_partition", (name, error)
stop.set()
for thread in threads: thread.join()
assert engine.digest(scope)["miscounted"] == 0
"""
    )

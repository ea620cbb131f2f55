"""Ctrl-C in a long native call: KeyboardInterrupt within 200 ms of CPU time, and no partial effects."""

from __future__ import annotations

import pytest

from tests.unit.processes import outcome_of, run

# Another thread sends the signal once the process has used `after` seconds of CPU: the machine may be busy. A call that
# ends before, on a fast machine, proves nothing: the program exits with TOO_LATE, and the test sends it earlier. The
# same happens if the signal came after the call's last check for signals: `late` detects that by what was written.
TOO_LATE = 75
STRIKES_AFTER = (0.3, 0.1, 0.03, 0.01)

MEASURE = """
def interrupted(call, late=lambda: False, after={after}):
    struck, over, began = [], threading.Event(), time.process_time()
    def strike():
        while time.process_time() - began < after and not over.is_set():
            time.sleep(0.001)
        if not over.is_set():
            struck.append(time.process_time())
            os.kill(os.getpid(), signal.SIGINT)
    thread = threading.Thread(target=strike)
    try:
        thread.start()
        call()
        over.set()
        thread.join()
        os._exit({too_late})
    except KeyboardInterrupt:
        took = time.process_time() - struck[0]
        if over.is_set():
            os._exit({too_late})
        assert took < 0.2, took
        if late():
            os._exit({too_late})
    thread.join()

def forever(call):
    while True:
        call()
words = [f"w{i:x}" for i in np.random.default_rng(1).integers(0, 1 << 22, 200_000)]
engine = Engine(dim=16)
"""

LONG = {
    "one document of many words": """
        text = " ".join(words * 10)
        assert 13_000_000 < len(text) < 1 << 24
        def whole():
            if engine.get(1, scope=scope) is None:
                return False
            assert engine.get(1, scope=scope).text == text and len(engine) == 1
            assert engine.digest(scope)["miscounted"] == 0
            return True
        interrupted(lambda: engine.upsert(1, text, scope=scope), late=whole)
        assert engine.get(1, scope=scope) is None and len(engine) == 0
        assert len(engine.search(words[0], scope=scope)) == 0
        assert engine.digest(scope)["miscounted"] == 0
        engine.upsert(1, "oak", scope=scope)
        assert engine.search("oak", scope=scope).ids.tolist() == [1]
    """,
    "one document that is one run": """
        text = ".".join(words * 10)
        assert 13_000_000 < len(text) < 1 << 24
        def whole():
            if engine.get(1, scope=scope) is None:
                return False
            assert engine.get(1, scope=scope).text == text and len(engine) == 1
            assert engine.digest(scope)["miscounted"] == 0
            return True
        interrupted(lambda: engine.upsert(1, text, scope=scope), late=whole)
        assert engine.get(1, scope=scope) is None and len(engine) == 0 and engine.digest(scope)["miscounted"] == 0
        text = "a." * 7_500_000
        interrupted(lambda: forever(lambda: engine.upsert(1, text, scope=scope)))
    """,
    "many documents": """
        texts = [" ".join(words[i % 1000 : i % 1000 + 120]) for i in range(60_000)]
        interrupted(lambda: engine.upsert_many(range(60_000), texts, scope=scope), late=lambda: len(engine) == 60_000)
        counted = engine.digest(scope)
        assert counted["miscounted"] == 0 and counted["n_documents"] == len(engine) < 60_000
    """,
    "search_batch": """
        texts = [" ".join(words[i % 1000 : i % 1000 + 20]) for i in range(20_000)]
        engine.upsert_many(range(20_000), texts, scope=scope)
        interrupted(lambda: engine.search_batch([" ".join(words[:900])] * 40_000, scope=scope))
        assert len(engine.search(words[3], scope=scope)) > 0
    """,
    "embed": """
        texts = [" ".join(words[:2000])] * 4000
        interrupted(lambda: scrubjay.embedders.Static().embed_documents(texts))
    """,
    "embed one text": """
        text = " ".join(words * 30)
        interrupted(lambda: scrubjay.embedders.Static().native.embed_query(text))
        interrupted(lambda: scrubjay.embedders.Static().native.embed(["oak elm ash " * 50] * 100_000))
    """,
    "search with a long question": """
        engine.upsert_many(range(2000), [" ".join(words[i : i + 40]) for i in range(2000)], scope=scope)
        interrupted(lambda: engine.search(" ".join(words * 10), scope=scope))
        assert len(engine.search(words[3], scope=scope)) > 0
    """,
    "delete_many": """
        engine.upsert_many(range(400_000), ["oak elm"] * 400_000, scope=scope)
        interrupted(lambda: engine.delete_many(range(400_000), scope=scope), late=lambda: len(engine) == 0)
        assert engine.digest(scope)["miscounted"] == 0
        assert len(engine.search("oak", scope=scope, k=1)) == 1
    """,
    "build_graphs": """
        rows = np.random.default_rng(1).standard_normal((60_000, 16)).astype(np.float32)
        engine.upsert_many(range(60_000), ["oak"] * 60_000, scope=scope, vectors=rows)
        interrupted(lambda: engine.build_graphs(1), late=lambda: engine.stats()["graphs"] == 1)
        assert engine.stats()["graphs"] == 0
    """,
    "compact": """
        texts = [" ".join(words[i : i + 40]) for i in range(40_000)]
        engine.upsert_many(range(40_000), texts, scope=scope)
        engine.delete_many(range(0, 40_000, 2), scope=scope)
        def again():
            engine.delete(again.at, scope=scope)
            again.at += 2
            engine.compact()
        again.at = 1
        interrupted(lambda: forever(again))
        assert engine.digest(scope)["miscounted"] == 0
        engine.compact()
        assert engine.stats()["dead"] == 0 and len(engine) == 20_000 - (again.at - 1) // 2
    """,
    "images": """
        texts = [" ".join(words[i : i + 40]) for i in range(40_000)]
        engine.upsert_many(range(40_000), texts, scope=scope)
        images = engine.save_partition(scope)
        interrupted(lambda: forever(lambda: engine.save_partition(scope)))
        interrupted(lambda: forever(lambda: engine.digest(scope)))
        interrupted(lambda: forever(lambda: Engine(dim=16).load_partition(scope, images)))
        interrupted(lambda: forever(lambda: engine.find_substring("zz", scope=scope)))
        assert engine.digest(scope)["miscounted"] == 0
    """,
}


@pytest.mark.parametrize("call", LONG.values(), ids=LONG.keys())
def test_a_long_call_ends_soon(call: str) -> None:
    indented = "\n".join(line[8:] for line in call.splitlines())
    for after in STRIKES_AFTER:
        program = MEASURE.replace("{after}", str(after)).replace("{too_late}", str(TOO_LATE))
        outcome = outcome_of(program + indented)
        if outcome.returncode != TOO_LATE:
            assert outcome.returncode == 0, (
                f"exit code {outcome.returncode}\n{outcome.stdout}\n{outcome.stderr}"
            )
            return
    pytest.fail(f"was over within {STRIKES_AFTER[-1]} s, before it could be interrupted")


def test_a_handler_that_raises_ends_the_call_with_what_it_raises() -> None:
    run("""
        class Late(Exception): pass
        def late(*_): raise Late
        signal.signal(signal.SIGALRM, late)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            while True:
                Engine().upsert(1, "oak.elm " * 1_900_000, scope=scope)
        except Late:
            sys.exit(0)
        sys.exit(1)
    """)


def test_other_threads_are_left_alone() -> None:
    run("""
        engine, done, n_interrupts = Engine(), [], 0
        def work():
            engine.upsert(1, "oak.elm " * 1_000_000, scope=scope)
            done.append(len(engine))
        thread = threading.Thread(target=work)
        thread.start()
        while not done:
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                n_interrupts += 1
            time.sleep(0.01)
        assert done == [1] and n_interrupts > 1
    """)


def test_a_handler_may_not_re_enter_what_it_interrupts() -> None:
    """It gets an error or a right answer, and the call that it interrupted continues."""
    run("""
        engine, outcomes = Engine(dim=16), []
        rows = np.random.default_rng(1).standard_normal((20_000, 16)).astype(np.float32)
        engine.upsert_many(range(20_000), ["oak elm"] * 20_000, scope=scope, vectors=rows)
        def handler(*_):
            for call in (engine.compact, lambda: engine.upsert(50_001, "ash", scope=scope), engine.stats,
                         lambda: engine.digest(scope), lambda: len(engine.search("oak", scope=scope)),
                         lambda: len(scrubjay.analyze("oak elm " * 50_000))):
                try:
                    outcomes.append(call())
                except scrubjay.Error as error:
                    outcomes.append(error)
        # By the time of the processor: under load nothing would be left between two strikes.
        signal.signal(signal.SIGPROF, handler)
        signal.setitimer(signal.ITIMER_PROF, 0.15, 0.15)
        engine.build_graphs(1)
        text = "oak.elm " * 1_000_000
        engine.upsert(50_002, text, scope=scope)
        engine.delete_many(range(10_000), scope=scope)
        engine.compact()
        signal.setitimer(signal.ITIMER_PROF, 0)
        assert outcomes and engine.get(50_002, scope=scope).text == text
        assert engine.digest(scope)["miscounted"] == 0
    """)

"""Pruning never changes an answer: the best k are the first k of all matches, whatever k is.

With a huge k nothing can be pruned, and `test_lexical.py` compares that with the oracle; here the partitions are large
enough for windows, chunks and thresholds to matter, and the distributions provoke them: very common and very rare terms
together, runs of equal scores, the best documents at the very end, deletes in between.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from scrubjay import Query
from tests.data.engines import Kit
from tests.data.replay import Pair
from tests.reference import judge

WINDOW = 16_384
CHUNK = 65_536
N_SMALL, N_LARGE = 3_000, CHUNK + WINDOW + 500
PARTITIONS = [
    ("acme", None, None),
    ("acme", "jane", None),
    ("acme", None, "coder"),
    ("acme", "jane", "coder"),
]
EVERYTHING = ("acme", "jane", "coder")
VOCABULARY = [f"{a}{b}q" for a in "bcdfghjklm" for b in "aeiouxzvwt"]
"""A hundred words that no stemmer touches."""
WEIGHTS = [1 / (place + 1) ** 1.3 for place in range(len(VOCABULARY))]


def zipf_text(numbers: random.Random) -> str:
    return " ".join(numbers.choices(VOCABULARY, WEIGHTS, k=numbers.randint(1, 15)))


def tied_text(numbers: random.Random) -> str:
    """Few distinct texts: long runs of equal scores."""
    return numbers.choice(["baq", "baq beq", "baq beq biq", "caq", "beq", "baq caq caq"])


def texts(kind: str, n: int, seed: int) -> list[str]:
    numbers = random.Random(seed)
    if kind == "ties":
        return [tied_text(numbers) for _ in range(n)]
    found = [zipf_text(numbers) for _ in range(n)]
    if kind == "best last":
        for place in range(0, n, 7):
            found[place] = " ".join(["baq"] * (1 + place * 20 // n) + ["beq"] * (place * 9 // n))
        found[-1] = "baq " * 31 + "wtq beq"
    return found


def queries(seed: int, n: int) -> list[str]:
    numbers = random.Random(seed)
    fixed = [
        "baq",
        "baq beq",
        "mtq",
        "baq mtq",
        "mtq mwq mvq baq beq biq boq",
        "baq baq baq mtq",
        " ".join(VOCABULARY),
    ]
    drawn = [
        " ".join(
            numbers.choices(
                VOCABULARY, WEIGHTS if numbers.random() < 0.5 else None, k=numbers.choice([2, 3, 5, 8, 30])
            )
        )
        for _ in range(n)
    ]
    return fixed + drawn


def filled(engine: Any, kit: Kit, kind: str, n: int, partitions: list[tuple]) -> None:
    """Each partition begins with id 0, so that most ids are in all of them."""
    numbers = random.Random(5)
    scopes = [kit.Scope(*key) for key in partitions]
    homes = [scopes[place * len(scopes) // n] for place in range(n)]
    ids = [place - -(-(place * len(scopes) // n) * n // len(scopes)) for place in range(n)]
    engine.upsert_many(ids, texts(kind, n, seed=3), scope=homes)
    gone = numbers.sample(range(n), n // 20)
    engine.delete_many([ids[place] for place in gone], scope=[homes[place] for place in gone])


@pytest.mark.parametrize("kind", ["zipf", "ties", "best last"])
@pytest.mark.parametrize(
    "partitions", [PARTITIONS[1:2], PARTITIONS], ids=["one partition", "four partitions"]
)
def test_thousands_of_documents_against_the_oracle(kit: Kit, kind: str, partitions: list[tuple]) -> None:
    pair = Pair(kit)
    n = N_SMALL if kit.is_native else 400
    for engine in (pair.engine, pair.model):
        filled(engine, kit, kind, n, partitions)
    scope = pair.scope(EVERYTHING)
    for number, query in enumerate(queries(seed=11, n=12)):
        everything = pair.model.search(query, scope=scope, query=Query(mode="lexical"), k=judge.ALL)
        for k in (1, 10, 1 + number * 37):
            given = pair.engine.search(query, scope=scope, query=Query(mode="lexical"), k=k)
            assert judge.keys(given) == judge.keys(everything, k), (query, k)
            judge.same_bits(given.scores, everything.scores[:k], "scores")


@pytest.mark.parametrize("kind", ["zipf", "ties", "best last"])
@pytest.mark.parametrize(
    "partitions", [PARTITIONS[1:2], PARTITIONS], ids=["one partition", "four partitions"]
)
def test_the_best_are_the_first_of_all(kit: Kit, kind: str, partitions: list[tuple]) -> None:
    """More than one chunk, more than one window; without the oracle."""
    if not kit.is_native:
        pytest.skip("too many documents for the model")
    engine = kit.Engine()
    filled(engine, kit, kind, N_LARGE, partitions)
    scope = kit.Scope(*EVERYTHING)
    for number, query in enumerate(queries(seed=12, n=40)):
        everything = engine.search(query, scope=scope, query=Query(mode="lexical"), k=judge.ALL)
        assert np.all(np.diff(everything.scores) <= 0)
        for k in (1, 2, 10, 100, 1 + number * 211):
            given = engine.search(query, scope=scope, query=Query(mode="lexical"), k=k)
            assert judge.keys(given) == judge.keys(everything, k), (query, k)
            judge.same_bits(given.scores, everything.scores[:k], "scores")


def test_long_lists_find_the_matches_counted_from_the_texts(kit: Kit) -> None:
    """The matching documents, and the best one, computed from the texts without any formula."""
    engine, home = kit.Engine(), kit.Scope("acme")
    n = 40_000 if kit.is_native else 500
    given_texts = ["baq"] * n
    for place in range(0, n, n // 5):
        given_texts[place] = f"baq mtq v{chr(97 + place * 5 // n)}q"
    engine.upsert_many(list(range(n)), given_texts, scope=home)
    result = engine.search("baq mtq", scope=home, k=6)
    assert result.ids.tolist() == [*range(0, n, n // 5), 1]
    assert engine.search("baq mtq vcq", scope=home, k=1).ids.tolist() == [2 * (n // 5)]
    assert len(engine.search("baq", scope=home, k=n + 1)) == n

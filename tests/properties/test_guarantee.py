"""The default fusion keeps a place among the first ten for what one ranking alone is sure of.

Vectors are exact, so that the whole result is compared with the twin, bit for bit. Scopes have more documents than
places; a few lie far from the others, so that the vector ranking is sure of them.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay import Query
from scrubjay.documents import payload
from tests.data.engines import Kit
from tests.data.replay import Pair
from tests.reference import judge
from tests.reference.fusion import FAR_OUT, MOST_NEAR, PLACES, Options
from tests.reference.query import Asked

HOME = ("acme", "jane", None)
WORDS = "jay oak acorn cache key staging prefix branch nest wing".split()
OFF = Options(guarantee=False)
seeds = st.integers(0, 2**32 - 1)


class World:
    """A scope, and a question for which the two rankings prefer different documents."""

    def __init__(self, kit: Kit, seed: int, chunk_docs: int | None = None) -> None:
        self.random = random = np.random.default_rng(seed)
        self.pair = Pair(kit, chunk_docs, dim=4, metric="ip")
        self.n = n = int(random.integers(11, 70))
        self.homes = [HOME, ("acme", None, None)][: int(random.integers(1, 3))]
        self.turns = random.random() < 0.3
        several = int(random.integers(1, 4))
        vectors = random.integers(-1, 2, size=(n, 4)).astype(np.float32)
        vectors[~vectors.any(axis=1)] = 1  # no engine takes a zero
        for far in random.choice(n, int(random.integers(0, 6))):
            vectors[far] = random.integers(1, 4, size=4) * np.float32(4)
        self.question = self._text(several, 0.1)
        self.vector = random.integers(1, 3, size=4).astype(np.float32)
        for home in self.homes:
            ids = [place for place in range(n) if self.homes[place % len(self.homes)] == home]
            texts = [self._text(7, 0.05) for _ in ids]
            rows = [None if random.random() < 0.1 else vectors[id] for id in ids]
            payloads = [self._payload(id) for id in ids]
            self.pair.both(
                lambda engine, ids=ids, texts=texts, rows=rows, payloads=payloads, home=home: (
                    engine.upsert_many(
                        ids, texts, scope=self.pair.scope(home), vectors=rows, payloads=payloads
                    )
                )
            )
        assert self.pair.engine.count() == n

    def _text(self, most: int, share_of_identifiers: float) -> str:
        words = list(self.random.choice(WORDS, self.random.integers(1, most + 1)))
        if self.random.random() < share_of_identifiers:
            words.append(f"TS-{100 + self.random.integers(20)}")
        return " ".join(words)

    def _payload(self, id: int) -> bytes | None:
        metadata: dict[str, Any] = {"importance": int(self.random.integers(3))}
        if self.turns:
            metadata |= {"run": "r", "position": id // len(self.homes), "speaker": "ab"[id % 2]}
        return payload.encode(metadata, None, None)

    def asked(self, k: int, ranking: Options, **options: Any) -> dict[str, Any]:
        return {
            "text": self.question, "vector": self.vector, "scope": self.pair.scope(HOME), "k": k,
            "query": Asked(ranking, **options),
        }  # fmt: skip


@st.composite
def rankings(draw: st.DrawFn) -> Options:
    """The default fusion, most often alone, sometimes with what comes after it."""
    optional: dict[str, Any] = draw(
        st.one_of(
            st.just({}),
            st.fixed_dictionaries(
                {},
                optional={
                    "coverage": st.sampled_from([0.3, 2.0]),
                    "prior": st.sampled_from([0.1, 1.0]),
                    "mmr": st.sampled_from([0.5, 0.9]),
                    "min_score": st.floats(-1, 3),
                    "guarantee": st.booleans(),
                },
            ),
        )
    )
    return Options(identifier_tier=draw(st.booleans()), **optional)


@pytest.mark.parametrize("chunk_docs", [16, None])
@given(
    seeds, rankings(), st.integers(1, 30), st.sampled_from([None, None, 3, (2, 30), (30, 12)]),
    st.lists(st.integers(0, 69), max_size=4, unique=True), st.booleans(),
)  # fmt: skip
def test_guaranteed_places_are_those_of_the_twin(
    kit: Kit, chunk_docs: int | None, seed: int, ranking: Options, k: int, candidates: Any, listed: list[int],
    excluded: bool,
) -> None:  # fmt: skip
    world = World(kit, seed, chunk_docs)
    listed = [id for id in listed if id < world.n]
    given_ids: dict[str, Any] = {"exclude": listed} if excluded else {"rankings": [listed]} if listed else {}
    asked = world.asked(k, ranking, candidates=candidates, **given_ids)
    judge.same_result(
        world.pair.engine.search(**asked, explain=True),
        world.pair.model.search(**asked, explain=True),
        explain=True,
    )
    judge.same_result(world.pair.engine.search(**asked), world.pair.model.search(**asked))


@given(seeds, st.booleans())
def test_the_clear_first_of_one_ranking_is_among_the_first_ten(
    kit: Kit, seed: int, identifiers: bool
) -> None:
    """(Without the twin.) And with fewer hits it is the same order, as far as it goes."""
    world = World(kit, seed)
    if world.turns:  # a turn is ranked with its neighbours' scores
        return
    asked = world.asked(PLACES, Options(identifier_tier=identifiers))
    engine, n_documents = world.pair.engine, world.n
    first = engine.search(**asked)
    every = engine.search(**{**asked, "k": n_documents})
    assert judge.keys(every, PLACES) == judge.keys(first)
    assert list(every.scores) == sorted(every.scores, reverse=True)
    for k in (1, 3, 9, 11):
        some = engine.search(**{**asked, "k": k})
        assert judge.keys(some) == judge.keys(every, k)
        judge.same_bits(some.scores, every.scores[:k], "scores")
    if sum(every.identifiers) > PLACES - MOST_NEAR - 1:
        return
    lexical = engine.search(world.question, scope=asked["scope"], k=2, query=Query(mode="lexical"))
    if len(lexical) == 1 or (len(lexical) == 2 and lexical.scores[0] > lexical.scores[1]):
        assert judge.keys(lexical, 1)[0] in judge.keys(first)
    nearest = engine.search(
        vector=world.vector, scope=asked["scope"], k=n_documents, query=Query(mode="vector")
    )
    similarities = np.asarray(nearest.scores)
    for place in range(min(MOST_NEAR, len(similarities) - MOST_NEAR)):
        far = similarities[place] - similarities.mean() >= FAR_OUT * similarities.std()
        if far and similarities[place] > similarities[MOST_NEAR]:
            assert judge.keys(nearest)[place] in judge.keys(first)


@given(seeds)
def test_a_guarantee_moves_nothing_else(kit: Kit, seed: int) -> None:
    """(Without the twin.) Other hits keep their order and their scores; at most four are raised, none below the ten."""
    world = World(kit, seed)
    engine = world.pair.engine
    plain = engine.search(**world.asked(100, OFF), explain=True)
    found = engine.search(**world.asked(100, Options()), explain=True)
    raised = [at for at in range(len(found)) if found.parts(at)["guarantee"] != 0]
    assert len(raised) <= 1 + MOST_NEAR
    others = [key for at, key in enumerate(judge.keys(found)) if at not in raised]
    moved = {judge.keys(found)[at] for at in raised}
    assert others == [key for key in judge.keys(plain) if key not in moved]
    if raised and not any(found.identifiers):
        assert max(raised) < PLACES
        # In the last places, but for others whose scores equal that of the hit that they passed.
        for at in range(max(raised) + 1, PLACES):
            assert found.scores[at] == found.scores[PLACES]
    assert not any(plain.parts(at)["guarantee"] for at in range(len(plain)))


def scope_of_fillers(kit: Kit, n_first_by_words: int) -> Pair:
    """A scope whose first by words is the farthest, behind documents that are good by words and by meaning."""
    pair = Pair(kit, dim=4, metric="ip")
    texts = ["jay jay nest"] * n_first_by_words + ["jay nest"] * 12 + ["oak"] * 12
    rows = [[-9, 0, 0, 0]] * n_first_by_words + [[20 - n, 0, 0, 0] for n in range(12)] + [[0, 1, 0, 0]] * 12
    pair.both(
        lambda engine: engine.upsert_many(
            list(range(len(texts))), texts, scope=pair.scope(HOME), vectors=np.array(rows, dtype=np.float32)
        )
    )
    assert pair.engine.count() == len(texts)
    return pair


def order(pair: Pair, ranking: Options, k: int = 12, **options: Any) -> list[int]:
    found = pair.engine.search(
        "jay", vector=np.array([1, 0, 0, 0], dtype=np.float32), scope=pair.scope(HOME), k=k,
        query=Asked(ranking, **options),
    )  # fmt: skip
    return found.ids.tolist()


def test_the_first_by_words_takes_the_tenth_place(kit: Kit) -> None:
    pair = scope_of_fillers(kit, 1)
    assert order(pair, OFF)[:10] == list(range(1, 11))
    assert order(pair, Options()) == [*range(1, 10), 0, 10, 11]
    assert order(pair, Options(), k=5) == [1, 2, 3, 4, 5]
    assert order(pair, Options("rrf"))[9] != 0 or order(pair, OFF)[9] != 0
    assert 0 not in order(pair, Options(), k=10, exclude=[0])


def test_a_tied_first_place_is_not_guaranteed(kit: Kit) -> None:
    pair = scope_of_fillers(kit, 2)
    assert order(pair, Options()) == order(pair, OFF)


def test_signals_come_after_the_guarantee(kit: Kit) -> None:
    """A document that a signal lifts above the tenth keeps its place; the guaranteed one is then behind it."""
    pair = scope_of_fillers(kit, 1)
    for id in (10, 11):
        pair.both(
            lambda engine, id=id: engine.upsert(
                id, "jay nest", scope=pair.scope(HOME), vector=np.array([10, 0, 0, 0], dtype=np.float32),
                payload=payload.encode({"importance": 1}, None, None),
            )
        )  # fmt: skip
    found = order(pair, Options(prior=1.0))
    assert found[:2] == [10, 11] and found.index(0) >= 10


def test_an_option_turns_it_off(kit: Kit) -> None:
    if not kit.is_native:
        pytest.skip("of the index")
    from scrubjay import Auto

    pair = scope_of_fillers(kit, 1)
    asked: dict[str, Any] = {
        "vector": np.array([1, 0, 0, 0], dtype=np.float32),
        "scope": pair.scope(HOME),
        "k": 10,
    }
    assert 0 in pair.engine.search("jay", **asked).ids
    assert 0 in pair.engine.search("jay", **asked, query=Query()).ids
    assert 0 not in pair.engine.search("jay", **asked, query=Query(Auto(guarantee=False))).ids
    with pytest.raises(TypeError, match=r"guarantee: expected a bool, got int 1"):
        Auto(guarantee=1)  # type: ignore[arg-type]


def test_the_order_of_equals_and_betters_holds(kit: Kit) -> None:
    """Of two documents in both rankings one that is at least as good in both has no lower score, raised or not."""
    for seed in range(60):
        world = World(kit, seed)
        if world.turns:
            continue
        found = world.pair.engine.search(**world.asked(100, Options(identifier_tier=False)), explain=True)
        bm25, similarity = np.nan_to_num(found.bm25), np.asarray(found.similarities)
        for i, j in itertools.permutations(np.flatnonzero(~np.isnan(similarity)), 2):
            if bm25[i] >= bm25[j] and similarity[i] >= similarity[j]:
                assert found.scores[i] >= found.scores[j]

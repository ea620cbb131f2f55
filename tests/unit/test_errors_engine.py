"""Every bad input is a clear error, and leaves the engine unchanged.

Each case has the call, the error type of the contract, and what the message must mention (the argument, and the row if
there are rows). The engine's whole visible state is compared before and after.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from scrubjay import Query
from tests.data.engines import Kit
from tests.data.replay import error_kind
from tests.reference.query import Asked, Options
from tests.reference.scopes import key

NAN, INF = float("nan"), float("inf")
DIM = 3


class House:
    """Return an engine with a few documents, and a function for all of its visible state."""

    def __init__(self, kit: Kit) -> None:
        self.kit = kit
        self.home, self.shared, self.foreign = (
            kit.Scope("acme", "jane"),
            kit.Scope("acme"),
            kit.Scope("globex"),
        )
        self.engine = kit.Engine(dim=DIM)
        self.engine.upsert("m1", "the jay", scope=self.home, vector=[1, 0, 0], payload=b"1")
        self.engine.upsert("m2", "an acorn", scope=self.shared, vector=[0, 1, 0])
        self.engine.upsert("m3", "an oak", scope=self.foreign)

    def state(self) -> Any:
        documents = []
        for id in ("m1", "m2", "m3", "new", "n1", "n2", "n3"):
            for scope in (self.home, self.shared, self.foreign):
                document = self.engine.get(id, scope=scope)
                if document is not None:
                    vector = None if document.vector is None else document.vector.tolist()
                    documents.append(
                        (document.id, document.text, key(document.scope), document.payload, vector)
                    )
        answers = []
        for scope in (self.home, self.shared, self.foreign):
            for mode in ("lexical", "vector", "hybrid"):
                result = self.engine.search(
                    "the jay acorn oak new", vector=[1, 2, 3], scope=scope, query=Query(mode=mode), k=50
                )
                answers.append((list(result.ids), result.scores.tobytes()))
        stats = self.engine.stats()
        counters = stats["documents"], stats["vectors"], self.engine.dim
        return documents, answers, len(self.engine), self.engine.count(self.home), counters


Call = Callable[[House], Any]


def upsert(id: Any = "new", text: Any = "new", **options: Any) -> Call:
    return lambda house: house.engine.upsert(id, text, **{"scope": house.home, **options})


def many(ids: Any = ("n1", "n2", "n3"), texts: Any = ("new", "new", "new"), **options: Any) -> Call:
    return lambda house: house.engine.upsert_many(ids, texts, **{"scope": house.home, **options})


def named(method: str, ids: Any, **options: Any) -> Call:
    """A method that takes an id, or several, and a scope."""
    return lambda house: getattr(house.engine, method)(ids, **{"scope": house.home, **options})


def search(text: Any = "jay", **options: Any) -> Call:
    return lambda house: house.engine.search(text, **{"scope": house.home, **options})


def rrf(**options: Any) -> Call:
    return search(vector=[1, 0, 0], query=Asked(Options("rrf", **options)))


def batch(texts: Any = ("jay", "oak"), **options: Any) -> Call:
    return lambda house: house.engine.search_batch(texts, **{"scope": house.home, **options})


GOOD_ROWS = np.eye(3, dtype=np.float32)


def rows_with(row: int, values: Any) -> Any:
    rows = GOOD_ROWS.copy()
    rows[row] = values
    return rows


BAD_CALLS: dict[str, tuple[Call, str, list[str]]] = {
    # ids
    "id None": (upsert(id=None), "TypeError", ["id"]),
    "id float": (upsert(id=1.0), "TypeError", ["id"]),
    "id bytes": (upsert(id=b"new"), "TypeError", ["id"]),
    "id bool": (upsert(id=True), "TypeError", ["id"]),
    "id list": (upsert(id=["new"]), "TypeError", ["id"]),
    "id of the other kind": (upsert(id=7), "TypeError", ["id"]),
    "id empty": (upsert(id=""), "ValueError", ["id"]),
    "id with a lone surrogate": (upsert(id="\ud800"), "ValueError", ["id"]),
    "delete, id of the other kind": (named("delete", 7), "TypeError", ["id"]),
    "get, id of the other kind": (named("get", 7), "TypeError", ["id"]),
    "delete_many, id of the other kind": (named("delete_many", ["m1", 7]), "TypeError", ["ids", "1"]),
    "delete_many, one str": (named("delete_many", "m1"), "TypeError", ["ids"]),
    "ids, one of the other kind": (many(ids=["n1", 7, "n3"]), "TypeError", ["ids", "1"]),
    "ids, one empty": (many(ids=["n1", "n2", ""]), "ValueError", ["ids", "2"]),
    "ids, one str": (many(ids="abc"), "TypeError", ["ids"]),
    "ids None": (many(ids=None), "TypeError", ["ids"]),
    # texts
    "text None": (upsert(text=None), "TypeError", ["text"]),
    "text int": (upsert(text=7), "TypeError", ["text"]),
    "text list": (upsert(text=["new"]), "TypeError", ["text"]),
    "texts, one None": (many(texts=["new", None, "new"]), "TypeError", ["texts", "1"]),
    "texts, one str": (many(texts="abc"), "TypeError", ["texts"]),
    "texts too few": (many(texts=["new"]), "ValueError", ["texts", "3", "1"]),
    "texts too many": (many(texts=["new"] * 4), "ValueError", ["texts", "3", "4"]),
    # scopes
    "scope missing": (lambda house: house.engine.upsert("new", "new"), "TypeError", ["scope"]),
    "scope None": (upsert(scope=None), "TypeError", ["scope"]),
    "scope str": (upsert(scope="acme"), "TypeError", ["scope"]),
    "scopes too few": (lambda house: many(scope=[house.home])(house), "ValueError", ["scope", "3", "1"]),
    "scopes, one None": (lambda house: many(scope=[house.home, None, house.home])(house), "TypeError", ["scope"]),
    "get without scope": (lambda house: house.engine.get("m1"), "TypeError", ["scope"]),
    "get, scope None": (named("get", "m1", scope=None), "TypeError", ["scope"]),
    "get, scope str": (named("get", "m1", scope="acme"), "TypeError", ["scope"]),
    "get, several scopes": (lambda house: named("get", "m1", scope=[house.home])(house), "TypeError", ["scope"]),
    "delete without scope": (lambda house: house.engine.delete("m1"), "TypeError", ["scope"]),
    "delete, scope None": (named("delete", "m1", scope=None), "TypeError", ["scope"]),
    "delete, scope tuple": (named("delete", "m1", scope=("acme", "jane", None)), "TypeError", ["scope"]),
    "delete, several scopes": (lambda house: named("delete", "m1", scope=[house.home])(house), "TypeError", ["scope"]),
    "delete_many without scope": (lambda house: house.engine.delete_many(["m1"]), "TypeError", ["scope"]),
    "delete_many, scope None": (named("delete_many", ["m1"], scope=None), "TypeError", ["scope"]),
    "delete_many, scopes too few": (
        lambda house: named("delete_many", ["m1", "m2"], scope=[house.home])(house), "ValueError", ["scope", "2", "1"],
    ),
    "delete_many, scopes too many": (
        lambda house: named("delete_many", ["m1"], scope=[house.home] * 2)(house), "ValueError", ["scope", "1", "2"],
    ),
    "delete_many, one None of the scopes": (
        lambda house: named("delete_many", ["m1", "m2"], scope=[house.home, None])(house), "TypeError", ["scope"],
    ),
    "search without scope": (lambda house: house.engine.search("jay"), "TypeError", ["scope"]),
    "search, scope None": (search(scope=None), "TypeError", ["scope"]),
    "search, scope tuple": (search(scope=("acme", "jane", None)), "TypeError", ["scope"]),
    "erase None": (lambda house: house.engine.erase(None), "TypeError", ["scope"]),
    "count str": (lambda house: house.engine.count("acme"), "TypeError", ["scope"]),
    # payloads
    "payload str": (upsert(payload="x"), "TypeError", ["payload"]),
    "payload int": (upsert(payload=1), "TypeError", ["payload"]),
    "payloads too few": (many(payloads=[b"1"]), "ValueError", ["payloads", "3", "1"]),
    "payloads, one str": (many(payloads=[b"1", "2", None]), "TypeError", ["payloads"]),
    # vectors
    "vector too short": (upsert(vector=[1.0, 2.0]), "ValueError", ["vector", "3", "2"]),
    "vector too long": (upsert(vector=[1.0] * 4), "ValueError", ["vector", "3", "4"]),
    "vector empty": (upsert(vector=[]), "ValueError", ["vector"]),
    "vector scalar": (upsert(vector=np.float32(1)), "ValueError", ["vector"]),
    "vector a matrix": (upsert(vector=np.ones((1, 3))), "ValueError", ["vector"]),
    "vector NaN": (upsert(vector=[1.0, NAN, 0.0]), "ValueError", ["vector"]),
    "vector inf": (upsert(vector=[1.0, INF, 0.0]), "ValueError", ["vector"]),
    "vector -inf": (upsert(vector=[1.0, -INF, 0.0]), "ValueError", ["vector"]),
    "vector beyond float32": (upsert(vector=np.array([1e300, 0, 0])), "ValueError", ["vector"]),
    "vector zero": (upsert(vector=np.zeros(3)), "ValueError", ["vector"]),
    "vector minus zero": (upsert(vector=-np.zeros(3)), "ValueError", ["vector"]),
    "vector str": (upsert(vector="abc"), "TypeError", ["vector"]),
    "vector of str": (upsert(vector=["a", "b", "c"]), "TypeError", ["vector"]),
    "vector complex": (upsert(vector=np.ones(3, dtype=np.complex64)), "TypeError", ["vector"]),
    "vector of objects": (upsert(vector=np.array([1.0, 2.0, None], dtype=object)), "TypeError", ["vector"]),
    "vector dict": (upsert(vector={"a": 1}), "TypeError", ["vector"]),
    "vectors too few": (many(vectors=GOOD_ROWS[:2]), "ValueError", ["vectors", "3", "2"]),
    "vectors too wide": (many(vectors=np.ones((3, 4))), "ValueError", ["vectors", "3", "4"]),
    "vectors flat": (many(vectors=np.ones(9)), "ValueError", ["vectors"]),
    "vectors, three axes": (many(vectors=np.ones((3, 3, 1))), "ValueError", ["vectors"]),
    "vectors, row 2 NaN": (many(vectors=rows_with(2, NAN)), "ValueError", ["vectors", "2"]),
    "vectors, row 1 inf": (many(vectors=rows_with(1, INF)), "ValueError", ["vectors", "1"]),
    "vectors, row 1 zero": (many(vectors=rows_with(1, 0)), "ValueError", ["vectors", "1"]),
    "vectors, a short row": (many(vectors=[[1, 0, 0], [1, 0], None]), "ValueError", ["vectors", "1"]),
    "vectors, a row of str": (many(vectors=[[1, 0, 0], "abc", None]), "TypeError", ["vectors", "1"]),
    # search
    "neither text nor vector": (search(text=None), "ValueError", ["text", "vector"]),
    "lexical without text": (search(text=None, vector=[1, 0, 0], query=Asked(mode="lexical")), "ValueError", ["text"]),
    "vector without vector": (search(query=Asked(mode="vector")), "ValueError", ["vector"]),
    "text int in a search": (search(text=7), "TypeError", ["text"]),
    "mode unknown": (search(query=Asked(mode="fuzzy")), "ValueError", ["mode", "fuzzy"]),
    "mode None": (search(query=Asked(mode=None)), "ValueError|TypeError", ["mode"]),
    "k zero": (search(k=0), "ValueError", ["k", "0"]),
    "k negative": (search(k=-1), "ValueError", ["k", "-1"]),
    "k float": (search(k=1.5), "TypeError", ["k"]),
    "k None": (search(k=None), "TypeError", ["k"]),
    "candidates zero": (search(vector=[1, 0, 0], query=Asked(candidates=0)), "ValueError", ["candidates", "0"]),
    "candidates negative": (search(vector=[1, 0, 0], query=Asked(candidates=-5)), "ValueError", ["candidates", "-5"]),
    "query vector too short": (search(vector=[1.0]), "ValueError", ["vector", "3", "1"]),
    "query vector NaN": (search(vector=[NAN, 0, 0]), "ValueError", ["vector"]),
    "query vector inf": (search(vector=[0, INF, 0]), "ValueError", ["vector"]),
    "query vector zero": (search(vector=[0, 0, 0]), "ValueError", ["vector"]),
    "query vector a matrix": (search(vector=np.ones((1, 3))), "ValueError", ["vector"]),
    "query vector str": (search(vector="abc"), "TypeError", ["vector"]),
    "rrf_k negative": (rrf(rrf_k=-1), "ValueError", ["rrf_k", "-1"]),
    "rrf_k NaN": (rrf(rrf_k=NAN), "ValueError", ["rrf_k"]),
    "weights one": (rrf(weights=(1.0,)), "ValueError|TypeError", ["weights"]),
    "weights NaN": (rrf(weights=(1.0, NAN)), "ValueError", ["weights"]),
    "weights negative": (rrf(weights=(1.0, -1.0)), "ValueError", ["weights"]),
    "rankings, wrong kind of id": (search(query=Asked(rankings=[[7]])), "TypeError", ["rankings"]),
    "rankings, wrong kind of id in a pair": (
        lambda house: search(query=Asked(rankings=[[(house.home, 7)]]))(house), "TypeError", ["rankings"],
    ),
    "rankings, a pair without scope": (search(query=Asked(rankings=[[(None, "m1")]])), "TypeError", ["rankings", "0"]),
    "rankings, a pair the wrong way round": (
        lambda house: search(query=Asked(rankings=[[("m1", house.home)]]))(house), "TypeError", ["rankings", "0"],
    ),
    "rankings, a pair with an empty id": (
        lambda house: search(query=Asked(rankings=[["m1", (house.home, "")]]))(house), "ValueError", ["rankings", "1"],
    ),
    "rankings, three of a kind": (
        lambda house: search(query=Asked(rankings=[[(house.home, "m1", "m2")]]))(house),
        "TypeError",
        ["rankings", "0"],
    ),
    "rankings, a scope alone": (
        lambda house: search(query=Asked(rankings=[[house.home]]))(house), "TypeError", ["rankings", "0"],
    ),
    # batches of searches
    "batch, nothing": (batch(texts=None), "ValueError", ["texts", "vectors"]),
    "batch, one str": (batch(texts="jay"), "TypeError", ["texts"]),
    "batch, vectors too few": (batch(vectors=GOOD_ROWS[:1]), "ValueError", ["vectors", "2", "1"]),
    "batch, scopes too few": (lambda house: batch(scope=[house.home])(house), "ValueError", ["scope", "2", "1"]),
    "batch, row NaN": (batch(vectors=rows_with(1, NAN)[:2]), "ValueError", ["vectors", "1"]),
    "batch, k zero": (batch(k=0), "ValueError", ["k", "0"]),
    "batch, threads zero": (batch(threads=0), "ValueError", ["threads", "0"]),
}  # fmt: skip


@pytest.fixture
def house(kit: Kit) -> House:
    return House(kit)


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.parametrize("name", BAD_CALLS)
def test_bad_input_is_a_clear_error(house: House, name: str) -> None:
    call, expected, mentioned = BAD_CALLS[name]
    before = house.state()
    with pytest.raises(Exception) as raised:  # noqa: PT011 - the type is compared below
        call(house)
    assert error_kind(raised.value) in expected.split("|"), repr(raised.value)
    message = str(raised.value)
    assert all(word in message for word in mentioned), f"{message!r} does not mention all of {mentioned}"
    assert house.state() == before


@pytest.mark.parametrize(
    ("options", "error", "mentioned"),
    [
        ({"dim": 0}, "ValueError", "dim"),
        ({"dim": -3}, "ValueError", "dim"),
        ({"dim": 2.5}, "TypeError", "dim"),
        ({"metric": "manhattan"}, "ValueError", "metric"),
        ({"dtype": "f8"}, "ValueError", "dtype"),
        ({"k1": -0.1}, "ValueError", "k1"),
        ({"k1": NAN}, "ValueError", "k1"),
        ({"k1": INF}, "ValueError", "k1"),
        ({"b": -0.1}, "ValueError", "b"),
        ({"b": 1.1}, "ValueError", "b"),
        ({"b": NAN}, "ValueError", "b"),
    ],
    ids=repr,
)
def test_invalid_engine_settings_are_refused(
    kit: Kit, options: dict[str, Any], error: str, mentioned: str
) -> None:
    with pytest.raises(Exception) as raised:  # noqa: PT011 - the type is compared below
        kit.Engine(**options)
    assert error_kind(raised.value) == error, repr(raised.value)
    assert mentioned in str(raised.value)


def test_an_unknown_analyzer_is_refused(kit: Kit) -> None:
    if not kit.is_native:
        pytest.skip("the model takes an analyzer")
    with pytest.raises(ValueError, match="klingon"):
        kit.Engine(analyzer="klingon")


def test_a_refused_first_write_settles_nothing(kit: Kit) -> None:
    """Neither the type of ids nor the dimension."""
    engine, home = kit.Engine(), kit.Scope("acme")
    with pytest.raises(ValueError, match="vector"):
        engine.upsert("m1", "jay", scope=home, vector=[NAN, 1.0])
    with pytest.raises(ValueError, match="vectors"):
        engine.upsert_many(["m1", "m2"], ["jay", "jay"], scope=home, vectors=[[1.0, 2.0], [1.0, 2.0, 3.0]])
    assert (engine.dim, len(engine)) == (None, 0)
    engine.upsert(1, "jay", scope=home, vector=[1.0, 2.0, 3.0, 4.0])
    assert engine.dim == 4


def test_a_search_settles_nothing(kit: Kit) -> None:
    engine, home = kit.Engine(), kit.Scope("acme")
    assert len(engine.search("jay", vector=[1.0, 2.0], scope=home)) == 0
    assert engine.dim is None
    engine.upsert(1, "jay", scope=home, vector=[1.0, 2.0, 3.0])


@pytest.mark.parametrize("id", [2**63, -(2**63) - 1, 10**30])
def test_int_ids_have_64_bits(kit: Kit, id: int) -> None:
    engine = kit.Engine()
    with pytest.raises(ValueError, match="id"):
        engine.upsert(id, "jay", scope=kit.Scope("acme"))
    assert len(engine) == 0


@pytest.mark.parametrize("k", [2**63, 2**64, 10**30])
def test_an_absurd_k_is_all_or_an_error(house: House, k: int) -> None:
    try:
        result = house.engine.search("jay acorn", scope=house.home, k=k)
    except (ValueError, OverflowError) as error:
        assert "k" in str(error)
    else:
        assert len(result) == 2


def test_generators_are_consumed_or_refused(house: House) -> None:
    """Never a part of the rows."""
    before = house.state()
    try:
        house.engine.upsert_many((f"n{n}" for n in (1, 2)), (t for t in ("new", "new")), scope=house.home)
    except TypeError as error:
        assert "ids" in str(error)
        assert house.state() == before
    else:
        assert house.engine.count(house.home) == 4


@pytest.mark.parametrize("bad_row", [0, 1, 499, 999])
def test_a_batch_is_written_as_a_whole_or_not_at_all(house: House, bad_row: int) -> None:
    before = house.state()
    rows = np.ones((1000, DIM), dtype=np.float32)
    rows[bad_row, 1] = NAN
    ids = [f"b{number}" for number in range(1000)]
    with pytest.raises(ValueError, match=rf"\b{bad_row}\b"):
        house.engine.upsert_many(ids, ["new"] * 1000, scope=house.home, vectors=rows)
    assert house.state() == before
    rows[bad_row, 1] = 1.0
    house.engine.upsert_many(ids, ["new"] * 1000, scope=house.home, vectors=rows)
    assert len(house.engine) == 1003


def test_an_exception_from_the_callers_objects_passes_through(house: House) -> None:
    class Broken:
        def __len__(self) -> int:
            return 3

        def __getitem__(self, index: int) -> str:
            if index == 1:
                raise RuntimeError("the caller's own")
            return f"n{index}"

    before = house.state()
    with pytest.raises((RuntimeError, TypeError)):
        house.engine.upsert_many(Broken(), ["new"] * 3, scope=house.home)
    assert house.state() == before


@pytest.mark.parametrize("metric", ["cosine", "ip", "l2"])
def test_zero_vectors_are_refused(kit: Kit, metric: str) -> None:
    """A vector of zeros is a failed embedding, whatever the metric; the error names the row."""
    engine, home = kit.Engine(metric=metric), kit.Scope("acme")
    with pytest.raises(ValueError, match=r"vectors\D*1"):
        engine.upsert_many([1, 2], ["t", "t"], scope=home, vectors=[[1.0, 0.0], [0.0, 0.0]])
    assert (len(engine), engine.dim) == (0, None)


def test_values_beyond_half_precision(kit: Kit) -> None:
    """A value that f16 cannot hold is refused or handled; no result has infinity or NaN."""
    for metric in ("cosine", "ip", "l2"):
        engine, home = kit.Engine(metric=metric, dtype="f16"), kit.Scope("acme")
        try:
            engine.upsert(1, "t", scope=home, vector=[1e6, 1.0])
        except ValueError as error:
            assert "vector" in str(error)
            assert len(engine) == 0
            continue
        scores = engine.search(vector=[1.0, 1.0], scope=home).scores
        assert np.isfinite(scores).all()
        assert np.isfinite(engine.get(1, scope=home).vector).all()

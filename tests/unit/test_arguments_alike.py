"""An index in memory, one in a file, a view and `asearch` accept and refuse the same arguments with the same message; a
refused call changes nothing, and nothing is taken for something else in silence."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from scrubjay import Filter, Index, Query, Scope

JANE = Scope("acme", user="jane")
DAY = np.timedelta64(1, "D")  # NumPy's signed integers include it

Call = Callable[[Any], Any]


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Any]]:
    """An index in memory and one in a file, and their views."""
    place = tmp_path_factory.mktemp("alike") / "m.scrubjay"
    with Index(dim=2) as first, Index.open(place, dim=2, durability="normal") as second:
        for index in (first, second):
            index.upsert("m1", "oak one", scope=JANE, vector=[1, 0], metadata={"kind": "tree"})
            index.upsert("m2", "oak two", scope=JANE, vector=[0, 1])
            index.upsert("s", "oak shared", scope=Scope("acme"))
        yield [first, second]


def refusals(call: Call, targets: list[Any]) -> set[str]:
    """Return the messages with which all refuse a call."""
    said = set()
    for index in targets:
        before = index.list(JANE)
        with pytest.raises((TypeError, ValueError)) as refused:
            call(index)
        said.add(f"{type(refused.value).__name__}: {refused.value}")
        assert index.list(JANE) == before
    return said


FLAGS: dict[str, Callable[[Any, Any], Any]] = {
    "list.exact": lambda index, flag: index.list(JANE, exact=flag),
    "scroll.exact": lambda index, flag: index.scroll(scope=JANE, exact=flag),
    "scroll.descending": lambda index, flag: index.scroll(scope=JANE, descending=flag),
    "scroll.vectors": lambda index, flag: index.scroll(scope=JANE, vectors=flag),
    "values.exact": lambda index, flag: index.values("kind", scope=JANE, exact=flag),
    "search.explain": lambda index, flag: index.search("oak", scope=JANE, explain=flag),
    "search_batch.explain": lambda index, flag: index.search_batch(["oak"], scope=JANE, explain=flag),
    "asearch.explain": lambda index, flag: asyncio.run(index.asearch("oak", scope=JANE, explain=flag)),
    "erase.exact": lambda index, flag: index.erase(JANE, exact=flag),
    "erase.everywhere": lambda index, flag: index.erase(JANE, everywhere=flag),
    "erase.names": lambda index, flag: index.erase(JANE, names=flag),
    "feedback.used": lambda index, flag: index.feedback("m1", flag, scope=JANE),
    "upsert_many.progress": lambda index, flag: index.upsert_many(
        [{"id": "m1", "text": "elm"}], scope=JANE, progress=flag
    ),
}


@pytest.mark.parametrize("verb", FLAGS)
@pytest.mark.parametrize("flag", ["false", "", 0, 1, 1.0, [], b"x", np.array([True, False])])
def test_a_flag_is_true_or_false(targets: list[Any], verb: str, flag: Any) -> None:
    """`erase(scope, exact="false")` would erase less than meant, `exact=None` more."""
    call = FLAGS[verb]
    name = verb.partition(".")[2]
    (said,) = refusals(lambda index: call(index, flag), targets)
    assert said.startswith(f"TypeError: {name}: expected a bool, got {type(flag).__name__} ")
    if name != "progress":
        (said,) = refusals(lambda index: call(index, None), targets)
        assert said == f"TypeError: {name}: expected a bool, got NoneType None"


@pytest.mark.parametrize("flag", [np.True_, np.False_])
def test_a_flag_may_be_numpys(targets: list[Any], flag: Any) -> None:
    for index in targets:
        assert len(index.list(JANE, exact=flag)) == (2 if flag else 3)
        assert index.feedback("m1", flag, scope=JANE)


IDS: dict[str, Callable[[Any, Any], Any]] = {
    "get_many": lambda index, ids: index.get_many(ids, scope=JANE),
    "delete_many": lambda index, ids: index.delete_many(ids, scope=JANE),
    "delete_many, filter": lambda index, ids: index.delete_many(ids, scope=JANE, filter={"kind": "tree"}),
    "list": lambda index, ids: index.list(JANE, ids=ids),
    "count": lambda index, ids: index.count(JANE, ids=ids),
    "count, exclude": lambda index, ids: index.count(JANE, exclude=ids),
    "search": lambda index, ids: index.search("oak", scope=JANE, query=Query(ids=ids)),
}


@pytest.mark.parametrize("verb", IDS)
@pytest.mark.parametrize(
    "ids",
    ["m1", b"m1", bytearray(b"m1"), memoryview(b"m1"), {"m1": 1}, 7, np.array("m1"), np.array([["m1"]])],
    ids=["str", "bytes", "bytearray", "memoryview", "dict", "int", "array without dimensions", "matrix"],
)
def test_one_id_in_place_of_several(targets: list[Any], verb: str, ids: Any) -> None:
    call = IDS[verb]
    (said,) = refusals(lambda index: call(index, ids), targets)
    assert (
        "exclude: " if "exclude" in verb else "ids: "
    ) in said or "ids[0]: expected a str or an int" in said


@pytest.mark.parametrize("verb", IDS)
def test_the_columns_of_a_table_are_no_ids(targets: list[Any], verb: str) -> None:
    pandas = pytest.importorskip("pandas")
    table, call = pandas.DataFrame({"m1": ["x"]}), IDS[verb]
    (said,) = refusals(lambda index: call(index, table), targets)
    assert said.endswith("(a set, list, array, bitmap or other iterable), got DataFrame")
    for index in targets:
        assert index.count(JANE, ids=pandas.Series(["m1", "m2"])) == 2


@pytest.mark.parametrize("verb", IDS)
def test_ids_under_a_mask_are_not_taken_for_ids(verb: str) -> None:
    index, call = Index(), IDS[verb]
    index.upsert_many([{"id": i, "text": "oak"} for i in range(4)], scope=JANE)
    masked = np.ma.array([1, 2], mask=[False, True])
    with pytest.raises((TypeError, ValueError), match="masked"):
        call(index, masked)
    assert len(index) == 4


@pytest.mark.parametrize("verb", IDS)
@pytest.mark.parametrize("wrong", [None, 1.5, True, DAY, "", "\ud800", b"m1", ["m1"], 2**70])
def test_the_position_of_a_wrong_id_is_said(targets: list[Any], verb: str, wrong: Any) -> None:
    call = IDS[verb]
    (said,) = refusals(lambda index: call(index, ["m1", wrong]), targets)
    name = "exclude" if "exclude" in verb else "ids"
    assert f"{name}[1]: expected" in said


ONE: dict[str, Callable[[Any, Any], Any]] = {
    "get": lambda index, id: index.get(id, scope=JANE),
    "find": lambda index, id: index.find(id, within=JANE),
    "upsert": lambda index, id: index.upsert(id, "elm", scope=JANE),
    "patch": lambda index, id: index.patch(id, scope=JANE, metadata={"a": 1}),
    "delete": lambda index, id: index.delete(id, scope=JANE),
    "feedback": lambda index, id: index.feedback(id, scope=JANE),
}


@pytest.mark.parametrize("verb", ONE)
@pytest.mark.parametrize("wrong", [None, 1.5, True, DAY, "", "\ud800", b"m1", ["m1"], 7, np.int64(7), 2**70])
def test_a_wrong_id_is_refused_in_the_same_words(targets: list[Any], verb: str, wrong: Any) -> None:
    call = ONE[verb]
    (said,) = refusals(lambda index: call(index, wrong), targets)
    assert said.partition(": ")[2].startswith("id: expected ")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda index: index.search("oak", scope=JANE, k=np.ones(2)), "k: expected an int, got ndarray"),
        (lambda index: index.search("oak", scope=JANE, k=np.ones(1)), "k: expected an int, got ndarray"),
        (lambda index: index.search_batch(["oak"], scope=JANE, threads=np.ones(2)), "threads: expected an int"),
        (lambda index: index.list(JANE, limit=DAY), "limit: expected an int, got timedelta64"),
        (lambda index: index.upsert("m1", "elm", scope=JANE, version=DAY), "version: expected an int or None"),
        (lambda index: index.upsert("m1", "elm", scope=JANE, version=2**70), r"version: expected 0 to 2\*\*62"),
        (lambda index: index.list(JANE, order=np.array(["newest", "oldest"])), "order: expected 'newest' or"),
        (lambda index: index.upsert_many([], scope=JANE, batch_size=1.5), "batch_size: expected an int, got float"),
        (lambda index: index.upsert_many([], scope=JANE, batch_size=True), "batch_size: expected an int, got bool"),
        (lambda index: index.delete("m1", scope=JANE, reason="\ud800"), "reason: expected text that UTF-8"),
        (lambda index: index.erase(JANE, reason="\ud800"), "reason: expected text that UTF-8 can encode"),
        (lambda index: index.delete_many(scope=JANE, filter={}), "filter: expected conditions, got {}"),
        (
            lambda index: index.delete_many(scope=JANE, filter=Filter({})),
            r"filter: expected conditions, got Filter\({}\)",
        ),
        (
            lambda index: index.delete_many(scope=JANE, filter={"$and": [{}, {"$and": []}]}),
            r"filter: expected conditions, got {'\$and': \[{}, {'\$and': \[\]}\]}",
        ),
        (
            lambda index: index.delete_many(scope=JANE, filter={"$not": {"$or": []}}),
            r"filter: expected conditions, got {'\$not': {'\$or': \[\]}}",
        ),
        (
            lambda index: index.delete_many(scope=JANE, filter={"kind": {"$nin": []}}),
            r"filter: expected conditions, got {'kind': {'\$nin': \[\]}}",
        ),
        (
            lambda index: index.delete_many(scope=JANE, filter={"$or": [{"kind": "tree"}, {}]}),
            r"filter: expected conditions, got {'\$or': \[{'kind': 'tree'}, {}\]}",
        ),
        (lambda index: index.upsert_many([], scope="acme"), "scope: expected a scrubjay.Scope, got str"),
        (lambda index: index.upsert_many(np.array("m1"), scope=JANE), "records: expected an iterable of mappings"),
        (lambda index: index.upsert("m1", "elm", scope=JANE, passages=np.array(1)), "passages: expected pairs"),
        (lambda index: index.upsert("m1", "elm", scope=JANE, vector=bytearray(8)), "vector: expected .*bytearray"),
        (lambda index: index.patch("m1", scope=JANE, vector=memoryview(b"ab")), "vector: expected .*memoryview"),
        (lambda index: index.search("oak", scope=JANE, vector=bytearray(b"ab")), "vector: expected .*bytearray"),
        (lambda index: index.search_batch(["oak", 7], scope=JANE), r"texts\[1\]: expected a str, bytes or None"),
        (lambda index: index.search_batch(np.array("oak"), scope=JANE), "texts: expected a sequence of str"),
        (lambda index: index.search_batch(bytearray(b"oak"), scope=JANE), "texts: expected a sequence of str"),
        (lambda index: index.search_batch(["a", "b"], scope=[JANE, "x"]), r"scope\[1\]: expected a scrubjay.Scope"),
        (lambda index: index.search_batch(["oak"], scope="acme"), "scope: expected a scrubjay.Scope, got str"),
        (lambda index: index.search_batch([], scope=""), "scope: expected a scrubjay.Scope, got str"),
        (
            lambda index: index.search("oak", scope=JANE, filter={"kind": {"$in": bytearray(b"tree")}}),
            r"kind.\$in: expected a list of values, got bytearray",
        ),
    ],
)  # fmt: skip
def test_what_is_refused_in_the_same_words(targets: list[Any], call: Call, message: str) -> None:
    (said,) = refusals(call, targets)
    assert re.match(message, said.partition(": ")[2]), said

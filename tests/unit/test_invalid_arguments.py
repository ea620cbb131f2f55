"""Senseless arguments are refused where they are given, with our own errors."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scrubjay
from scrubjay import Index, Scope
from scrubjay.embedders import Function

ACME = Scope("acme")


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda: scrubjay.Relevance(low=(1,)),
            ValueError,
            r"low: expected \(similarity, coverage\), got \(1",
        ),
        (
            lambda: scrubjay.Retriever(Index(), cache=5),
            TypeError,
            "cache: expected a ResultCache, a bool or None, got int",
        ),
        (
            lambda: scrubjay.Retriever(Index(), deadline_s=-1),
            ValueError,
            "deadline_s: expected a number > 0 or None, got -1",
        ),
        (lambda: Function(len, dim=2, name=""), ValueError, "name: expected a name"),
        (
            lambda: Index().count([ACME, ACME]),
            TypeError,
            "scope: expected one scrubjay.Scope, got a list of 2; searches",
        ),
        (
            lambda: Index().list([ACME]),
            TypeError,
            "scope: expected one scrubjay.Scope, got a list of 1; searches",
        ),
    ],
)
def test_a_senseless_argument_is_refused(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.parametrize("opened", [Index.open, scrubjay.Memory.open])
@pytest.mark.parametrize(
    ("place", "kind", "message"),
    [
        (None, TypeError, "^path: expected a str or a path, got NoneType$"),
        (7, TypeError, "^path: expected a str or a path, got int$"),
        (b"m.scrubjay", TypeError, "^path: expected a str or a path, got bytes$"),
        ("", ValueError, "^path: expected a file, got ''$"),
        (":memory:", ValueError, r"^path: expected a file, got ':memory:'; Index\(\) is an index in memory$"),
        ("file::memory:?cache=shared", ValueError, "^path: expected a file"),
        ("mysql://localhost/x", ValueError, "^path: expected a file or postgresql://..., got 'mysql://"),
        ("a\0b.scrubjay", ValueError, "^path: expected no null character"),
        ("\ud800.scrubjay", ValueError, "^path: expected text that UTF-8 can encode"),
    ],
)
def test_a_place_that_no_index_can_have(
    opened: Any, place: Any, kind: type[Exception], message: str, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind, match=message):
        opened(place)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("option", "kind", "message"),
    [
        ({"read_only": "no"}, TypeError, "^read_only: expected a bool, got str 'no'$"),
        ({"query_cache": -1}, ValueError, "^query_cache: expected 0 or more, got -1$"),
        ({"query_cache": "x"}, TypeError, "^query_cache: expected an int, got str$"),
        ({"k1": "x"}, TypeError, "^k1: expected a number or None, got str$"),
        ({"b": "x"}, TypeError, "^b: expected a number or None, got str$"),
        ({"analyzer": 7}, TypeError, "^analyzer: expected a str, got int 7$"),
    ],
)
def test_an_option_of_a_file_is_refused_before_there_is_one(
    option: dict[str, Any], kind: type[Exception], message: str, tmp_path: Path
) -> None:
    with pytest.raises(kind, match=message):
        Index.open(tmp_path / "m.scrubjay", **option)
    assert list(tmp_path.iterdir()) == []


def test_a_file_name_that_is_not_utf_8(tmp_path: Path) -> None:
    """The result of `os.fsdecode` for such a name can be opened."""
    with Index.open(tmp_path / "a\udcff.scrubjay") as index:
        index.upsert("m1", "Prefers trains.", scope=ACME)
    with Index.open(str(tmp_path / "a\udcff.scrubjay")) as index:
        assert len(index) == 1


@pytest.mark.parametrize("place", ["a file", "postgresql://localhost/x"])
@pytest.mark.parametrize(
    ("option", "given", "kind"),
    [
        ("max_stale", -1, ValueError),
        ("max_stale", True, ValueError),
        ("max_stale", "1", ValueError),
        ("max_stale", float("nan"), ValueError),
        ("shared_feed", 1, TypeError),
        ("shared_feed", None, TypeError),
        ("user_homes", -1, ValueError),
        ("objects", "", ValueError),
    ],
)
def test_an_option_of_a_database_is_checked_over_a_file_too(
    tmp_path: Path, place: str, option: str, given: Any, kind: type[Exception]
) -> None:
    """A program that may open either sees its mistake on the first day; no file is created."""
    if place.startswith("postgresql:"):
        pytest.importorskip("psycopg")
    else:
        place = str(tmp_path / "m.scrubjay")
    for open_it in (Index.open, scrubjay.Memory.open):
        with pytest.raises(kind, match=f"^{option}: expected "):
            open_it(place, **{option: given})
    assert not list(tmp_path.iterdir())


def test_a_file_accepts_options_that_it_fulfils_anyway(tmp_path: Path) -> None:
    """A file is never stale and has no feed; options of databases are refused."""
    with Index.open(tmp_path / "m.scrubjay", max_stale=0, shared_feed=False) as index:
        index.upsert("m1", "oak", scope=ACME)
    for option, given in (("user_homes", 4), ("user_homes", 0), ("objects", "file:///images")):
        with pytest.raises(ValueError, match=f"^{option}: expected None for an index in a file, got"):
            Index.open(tmp_path / "m.scrubjay", **{option: given})


def test_a_number_beyond_float32_is_an_error_and_no_warning() -> None:
    index = Index(dim=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for vector in ([1e39, 1.0], [[1.0, 0.0], [0.0, -1e300]]):
            with pytest.raises(ValueError, match="vector: expected numbers that a float32 holds, got 1e"):
                index.upsert("a", "x", scope=ACME, vector=vector)
        index.upsert("a", "x", scope=ACME, vector=[1e30, 1.0])


def test_a_column_is_no_table() -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    with pytest.raises(
        TypeError, match="records: expected a table with columns id and text, or records, got Series"
    ):
        Index().upsert_many(pandas.Series(["a", "b"]), scope=ACME)


@pytest.mark.parametrize("vector", [[1e300, 0.0], np.array([1e300, 0.0]), np.array([1e300, 0.0], ">f8")])
def test_a_number_beyond_every_float32_is_said_as_it_was_given(vector: Any) -> None:
    """NumPy would convert it to infinity, with a warning."""
    index = Index(dim=2)
    index.upsert("m1", "Prefers trains.", scope=ACME, vector=[1.0, 0.0])
    message = "vector: expected numbers that a float32 holds, got 1e\\+300"
    calls: list[Any] = [
        lambda: index.upsert("m2", "text", scope=ACME, vector=vector),
        lambda: index.search("trains", scope=ACME, vector=vector),
        lambda: index.search(None, scope=ACME, vector=vector, query=scrubjay.Query(mode="vector")),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for call in calls:
            with pytest.raises(ValueError, match=f"^{message}$"):
                call()
        with pytest.raises(ValueError, match=r"^vectors\[0\]: expected numbers that a float32 holds"):
            index.search_batch([None], scope=ACME, vectors=[vector])
        assert len(index.search(None, scope=ACME, vector=np.array([1.0, 1e-300]))) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_under_a_mask_are_not_taken_for_a_vector(dtype: Any) -> None:
    index, engine = Index(dim=2), scrubjay.Engine(2)
    index.upsert("m1", "Prefers trains.", scope=ACME, vector=[1.0, 0.0])
    masked = np.ma.array(np.array([1, 2], dtype), mask=[False, True])
    rows = np.ma.array(np.ones((2, 2), dtype), mask=[[False, False], [True, False]])
    spans = np.array([[0, 3], [4, 8]])
    calls: dict[str, Any] = {
        "vector": [
            lambda: index.search("trains", scope=ACME, vector=masked),
            lambda: index.search(scope=ACME, vector=masked, query=scrubjay.Query(mode="vector")),
            lambda: index.upsert("m2", "some text", scope=ACME, vector=masked),
            lambda: index.upsert("m2", "some text", scope=ACME, vector=rows),
            lambda: index.upsert("m2", "some text", scope=ACME, vector=scrubjay.PassageVectors(rows, spans)),
            lambda: index.patch("m1", scope=ACME, vector=masked),
            lambda: engine.upsert("m2", "some text", scope=ACME, vector=masked),
        ],
        r"vectors": [
            lambda: index.search_batch(scope=ACME, vectors=rows),
            lambda: engine.upsert_many(["a", "b"], ["one", "two"], scope=ACME, vectors=rows),
        ],
        r"records\[0\]: vector": [
            lambda: index.upsert_many([{"id": "a", "text": "b", "vector": masked}], scope=ACME)
        ],
    }
    for name, several in calls.items():
        for call in several:
            with pytest.raises(
                ValueError, match=rf"^{name}(\[\d\])?: expected .*, got MaskedArray with 1 masked$"
            ):
                call()
    assert len(index) == 1 and len(engine) == 0
    whole = np.ma.array(np.array([1, 2], dtype), mask=[False, False])
    index.upsert("m2", "some text", scope=ACME, vector=whole)
    assert index.search(scope=ACME, vector=whole)[0].id == "m2"


DAY = np.timedelta64(1, "D")  # a signed integer by its class


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Index(metric=3), "metric: expected 'cosine', 'ip' or 'l2', got int 3"),
        (lambda: Index(metric=None), "metric: expected 'cosine', 'ip' or 'l2', got NoneType None"),
        (lambda: Index(dtype=np.float32), "dtype: expected 'f16', 'f32' or 'i8', got type"),
        (lambda: Index(analyzer="\ud800"), "analyzer: expected a str, got str '"),
        (lambda: Index(k1=True), "k1: expected a number or None, got bool"),
        (lambda: Index(b=DAY), "b: expected a number or None, got timedelta64"),
        (lambda: Index(on_embedder_error=np.ones(2)), "on_embedder_error: expected 'pending' or 'raise', got"),
        (lambda: scrubjay.Query(coverage=DAY), "coverage: expected a number, got timedelta64"),
        (lambda: scrubjay.Query(relevance="\ud800"), "relevance: expected text that UTF-8 can encode"),
        (lambda: scrubjay.Relevance(None), "at_least: expected a str, got NoneType None"),
        (lambda: scrubjay.RRF(DAY), "k: expected a number, got timedelta64"),
        (lambda: scrubjay.RRF(weights=[1]), r"weights: expected \(lexical, vector, ...\), got 1$"),
        (lambda: scrubjay.Weighted(np.ones((1, 2))), r"weights: expected a sequence of numbers, got shape \(1, 2\)"),
        (lambda: scrubjay.Weighted(bytearray(2)), "weights: expected a sequence of numbers, got bytearray"),
        (lambda: scrubjay.Weighted(normalise=None), "normalise: expected a str, got NoneType None"),
        (lambda: scrubjay.Boost(normalise=np.ones(2)), "normalise: expected 'max' or 'logistic', got"),
        (lambda: scrubjay.Entities(field="\ud800"), "field: expected text that UTF-8 can encode"),
        (lambda: scrubjay.Prior(field="\ud800"), "field: expected text that UTF-8 can encode"),
        (lambda: scrubjay.Links(7), "centres: expected ids .*, got int"),
        (lambda: scrubjay.Links({"m1": 1}), "centres: expected ids .*, got dict"),
        (lambda: scrubjay.Links(["m1"], field="\ud800"), "field: expected the name of a metadata field, got"),
    ],
)  # fmt: skip
def test_options_of_another_type_are_named(call: Any, message: str) -> None:
    """Without the signatures of native constructors."""
    with pytest.raises((TypeError, ValueError), match=f"^{message}"):
        call()


@pytest.mark.parametrize(
    "option", [{"metric": 0}, {"dtype": []}, {"analyzer": False}, {"busy_timeout": True}]
)
def test_a_false_option_of_a_file_is_no_default(option: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{next(iter(option))}: expected "):
        Index.open(tmp_path / "m.scrubjay", **option)
    assert list(tmp_path.iterdir()) == []


def test_weights_may_be_numpys() -> None:
    assert scrubjay.RRF(weights=np.array([1, 2])) == scrubjay.RRF(weights=[1, 2])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: scrubjay.Stamp.read(3), "text: expected a str, got int"),
        (lambda: scrubjay.filters.visible_to({"jane": 1}), "user: expected a str or several, got dict"),
        (lambda: scrubjay.filters.visible_to("jane", owner=3), "owner: expected the name of a field, got int 3"),
        (lambda: scrubjay.fusion.load(3), "path: expected a str or a path, got int"),
        (lambda: scrubjay.fusion.load(""), "path: expected a path, got ''"),
        (lambda: scrubjay.fusion.save(scrubjay.Query(), 3), "path: expected a str or a path, got int"),
        (lambda: Scope("acme") < 7, "'<' not supported between instances of 'scrubjay._native.Scope' and 'int'"),
    ],
)  # fmt: skip
def test_parts_beside_an_index_name_what_was_given(call: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{message}"):
        call()


def test_one_name_is_not_searched_letter_by_letter(tmp_path: Path) -> None:
    with Index.open(tmp_path / "m.scrubjay") as index:
        with pytest.raises(TypeError, match=r"^names: expected a sequence of str, got one str$"):
            index.admin.verify_erased(names="jane")
        assert index.admin.verify_erased(names=["jane"]).clean


@pytest.mark.parametrize("budget", [True, 1.5, "1GB", -1])
def test_a_memory_budget_is_a_number_of_bytes(tmp_path: Path, budget: Any) -> None:
    with pytest.raises(ValueError, match=r"^memory_budget: expected bytes or None, got"):
        Index.open(tmp_path / "m.scrubjay", memory_budget=budget)
    Index.open(tmp_path / "m.scrubjay", memory_budget=np.int64(10**9)).close()

"""What makes no sense is refused where it is given, in our words."""

from __future__ import annotations

import warnings
from typing import Any

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
def test_it_is_refused(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


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

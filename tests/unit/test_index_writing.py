"""Inputs of an Index: fields, records, validation before any write."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrubjay import Index, Record, Scope
from scrubjay.embedders import Function

ACME = Scope("acme")
JANE = Scope("acme", user="jane")


def letters(texts: list[str]) -> list[list[float]]:
    return [[text.count("a"), text.count("b"), text.count("c")] for text in texts]


def abc() -> Function:
    return Function(letters, dim=3, name="abc")


def test_get_returns_every_field_as_written() -> None:
    index = Index(dtype="f32")
    at = datetime(2026, 3, 1, 9, 30, 15, 123456, tzinfo=timezone(timedelta(hours=1)))
    metadata = {"category": "keys", "nested": {"list": [1, 2.5, None, True]}, "ünïcode": "\U0001f426"}
    index.upsert("m1", "Prefix sk-stg-0041.", scope=JANE, vector=[1.0, 2.0], metadata=metadata, created_at=at)
    record = index.get("m1", scope=JANE)
    assert record is not None
    assert (record.id, record.text, record.scope, record.metadata) == (
        "m1",
        "Prefix sk-stg-0041.",
        JANE,
        metadata,
    )
    assert record.created_at == at
    assert isinstance(record.created_at, datetime)
    assert record.created_at.tzinfo is timezone.utc
    np.testing.assert_array_equal(np.asarray(record.vector), np.float32([1, 2]))
    assert index.get("m2", scope=JANE) is None


def test_a_record_can_be_written_again_as_it_came() -> None:
    index = Index(abc())
    index.upsert("m1", "abba", scope=JANE, metadata={"a": 1}, created_at="2026-03-01")
    record = index.get("m1", scope=JANE)
    other = Index(abc())
    other.upsert_many([record])
    assert other.get("m1", scope=JANE) == record


def test_an_upsert_replaces_text_metadata_and_vector() -> None:
    index = Index(abc())
    index.upsert("m1", "aaa", scope=JANE, metadata={"a": 1}, created_at=0)
    index.upsert("m1", "bbb", scope=JANE)
    record = index.get("m1", scope=JANE)
    assert record is not None
    assert (record.text, record.metadata, record.created_at, len(index)) == ("bbb", {}, None, 1)
    assert np.argmax(np.asarray(record.vector)) == 1


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (datetime(2026, 3, 1, 12), "2026-03-01T12:00:00+00:00"),
        (datetime(2026, 3, 1, 12, tzinfo=timezone(timedelta(hours=-5))), "2026-03-01T17:00:00+00:00"),
        ("2026-03-01", "2026-03-01T00:00:00+00:00"),
        ("2026-03-01T12:00:00Z", "2026-03-01T12:00:00+00:00"),
        ("2026-03-01T12:00:00.250000+02:00", "2026-03-01T10:00:00.250000+00:00"),
        # Postgres, nanoseconds, the basic form, 24:00: the parsers of some Pythons refuse them.
        ("2026-03-01 12:00:00.12345+00", "2026-03-01T12:00:00.123450+00:00"),
        ("2026-03-01T12:00:00.123456789Z", "2026-03-01T12:00:00.123456+00:00"),
        ("20260301T120000-0530", "2026-03-01T17:30:00+00:00"),
        ("2026-02-28T24:00", "2026-03-01T00:00:00+00:00"),
        (0, "1970-01-01T00:00:00+00:00"),
        (1.5, "1970-01-01T00:00:01.500000+00:00"),
        (-1, "1969-12-31T23:59:59+00:00"),
    ],
)
def test_created_at_is_utc(given: Any, expected: str) -> None:
    index = Index()
    index.upsert("m", "text", scope=ACME, created_at=given)
    hit = index.search("text", scope=ACME)[0]
    assert hit.created_at is not None
    assert hit.created_at.isoformat() == expected


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"id": 1.5}, TypeError, "id: expected a str or an int, got float"),
        ({"id": True}, TypeError, "id: expected a str or an int, got bool"),
        ({"text": 7}, TypeError, "text: expected str or bytes, got int"),
        ({"scope": "acme"}, TypeError, "scope: expected a scrubjay.Scope, got str"),
        ({"scope": {"user": "jane"}}, ValueError, "tenant is required"),
        ({"scope": {"tenant": "acme", "team": "x"}}, ValueError, "scope: expected the keys"),
        ({"metadata": [1]}, TypeError, "metadata: expected a mapping"),
        (
            {"metadata": {"a": {"b": [0, {1}]}}},
            TypeError,
            r"metadata\['a'\]\['b'\]\[1\]: expected a JSON value",
        ),
        (
            {"metadata": {"a": float("nan")}},
            ValueError,
            r"metadata\['a'\]: expected a finite number, got nan",
        ),
        ({"metadata": {"a": {1: 2}}}, TypeError, r"metadata\['a'\]: expected str keys, got 1"),
        ({"metadata": {"at": timedelta(1)}}, TypeError, r"metadata\['at'\].*timedelta"),
        ({"created_at": "yesterday"}, ValueError, "created_at: expected an ISO 8601 time, got 'yesterday'"),
        ({"created_at": 1e300}, ValueError, "created_at: expected seconds"),
        ({"created_at": float("nan")}, ValueError, "created_at: expected seconds"),
        ({"created_at": True}, TypeError, "created_at: expected a datetime.*got bool"),
        ({"created_at": "0001-01-01T00:00:00+23:00"}, ValueError, "created_at: expected a time between"),
        ({"vector": "abc"}, TypeError, "vector: expected numbers"),
        ({"vector": [1.0, 2.0]}, ValueError, r"vector: expected shape \(3,\), got \(2,\)"),
        ({"vector": [[[1.0, 2.0, 3.0]]]}, ValueError, r"vector: expected shape \(3,\), got \(1, 1, 3\)"),
        ({"vector": [0.0, 0.0, 0.0]}, ValueError, "vector: expected a direction"),
        ({"vector": [1.0, float("inf"), 0.0]}, ValueError, "vector: expected finite numbers"),
    ],
)
def test_a_bad_field_is_named_and_nothing_is_written(
    fields: dict[str, Any], error: type[Exception], message: str
) -> None:
    index = Index(abc())
    good = {"id": "m1", "text": "abc", "scope": ACME}
    bad = {**good, **fields}
    with pytest.raises(error, match=f"^{message}" if not message.startswith("tenant") else message):
        index.upsert(bad.pop("id"), bad.pop("text"), **bad)
    with pytest.raises(error, match=rf"^records\[2\]: .*{message}"):
        index.upsert_many([{**good, "id": "m8"}, {**good, "id": "m9"}, {**good, **fields}])
    assert len(index) == 0


def test_metadata_that_holds_itself_is_refused() -> None:
    loop: dict[str, Any] = {}
    loop["loop"] = loop
    with pytest.raises(ValueError, match="levels of nesting"):
        Index().upsert("m", "text", scope=ACME, metadata=loop)


@pytest.mark.parametrize(
    ("record", "error", "message"),
    [
        ({"text": "no id", "scope": ACME}, ValueError, "id: expected a value, it is missing"),
        ({"id": 1, "scope": ACME}, ValueError, "text: expected a value, it is missing"),
        ({"id": 1, "text": "x"}, ValueError, "scope: expected a scrubjay.Scope, it is missing"),
        (
            {"id": 1, "text": "x", "scope": ACME, "meta": {}},
            ValueError,
            "meta: unknown field, expected id, text",
        ),
        ((1, "x"), TypeError, "expected a mapping or a dataclass instance, got tuple"),
        (Record, TypeError, "expected a mapping or a dataclass instance, got type"),
    ],
)
def test_a_bad_record_is_named(record: Any, error: type[Exception], message: str) -> None:
    index = Index()
    with pytest.raises(error, match=rf"^records\[1\]: {message}"):
        index.upsert_many([{"id": 0, "text": "good", "scope": ACME}, record])
    assert len(index) == 0


def test_upsert_many_takes_mappings_records_and_any_dataclass() -> None:
    @dataclass
    class Note:
        id: str
        text: str
        author: str

    index = Index()
    n = index.upsert_many(
        (
            {"id": "a", "text": "one", "scope": {"tenant": "acme", "user": "jane"}},
            Record("b", "two", ACME, created_at=1),
            Note("c", "three", "somebody"),
        ),
        scope=Scope("acme", agent="coder"),
    )
    assert n == 3
    everything = Scope("acme", user="jane", agent="coder")
    scopes = [
        record.scope for record in index.get_many("a b c".split(), scope=everything) if record is not None
    ]
    assert scopes == [JANE, ACME, Scope("acme", agent="coder")]


def test_upsert_many_of_nothing_writes_nothing() -> None:
    assert Index(abc()).upsert_many([]) == 0


def test_of_several_records_with_one_id_the_last_counts() -> None:
    index = Index()
    assert (
        index.upsert_many([Record("a", "one", ACME), Record("b", "two", ACME), Record("a", "three", ACME)])
        == 2
    )
    record = index.get("a", scope=ACME)
    assert record is not None
    assert record.text == "three"
    both = [Record("a", "four", ACME), Record("a", "jane's", JANE), Record("a", "five", ACME)]
    assert index.upsert_many(both) == 2
    assert [record.text for record in index.list(JANE)] == ["five", "jane's", "two"]


@pytest.mark.parametrize("records", ["text", {"id": 1, "text": "x"}, 7])
def test_records_must_be_a_sequence_of_records(records: Any) -> None:
    with pytest.raises(TypeError, match=r"^records: expected an iterable"):
        Index().upsert_many(records, scope=ACME)


def test_an_id_in_another_scope_is_another_memory() -> None:
    index = Index()
    index.upsert("m1", "jane's", scope=JANE)
    index.upsert("m1", "everybody's", scope=ACME)
    assert index.upsert_many([Record("m2", "new", ACME), Record("m1", "theirs", Scope("globex"))]) == 2
    assert len(index) == 4
    for scope, text in ((JANE, "jane's"), (ACME, "everybody's"), (Scope("globex"), "theirs")):
        record = index.get("m1", scope=scope)
        assert record is not None
        assert (record.text, record.scope) == (text, scope)


def test_delete_erase_count() -> None:
    index = Index()
    index.upsert_many(
        [Record(1, "shared", ACME), Record(2, "own", JANE), Record(3, "other", Scope("globex"))]
    )
    assert (index.count(), index.count(ACME), index.count(JANE), index.count(Scope("nobody"))) == (3, 1, 2, 0)
    with pytest.raises(TypeError):
        2 in index  # type: ignore[operator] # noqa: B015 - in which scope?
    assert not index.delete(1, scope=JANE)  # it is shared with her
    assert index.delete(2, scope=JANE)
    assert not index.delete(2, scope=JANE)
    index.upsert(2, "own", scope=JANE)
    assert index.erase(ACME, exact=True) == 1
    assert index.erase(ACME) == 1
    assert len(index) == 1


def test_the_progress_bar_counts_texts_and_is_absent_without_a_terminal(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def slow(texts: list[str]) -> list[list[float]]:
        time.sleep(0.15)
        return letters(texts)

    records = [Record(i, "abc", ACME) for i in range(5)]
    Index(Function(slow, dim=3, name="slow")).upsert_many(records, batch_size=2)
    assert capfd.readouterr().err == ""
    Index(Function(slow, dim=3, name="slow")).upsert_many(records, progress=True, batch_size=2)
    shown = capfd.readouterr().err
    assert "embedding" in shown
    assert "4/5" in shown


@pytest.mark.parametrize("is_durable", [True, False])
def test_many_are_deleted_at_once_or_not_at_all(tmp_path: Path, is_durable: bool) -> None:
    index = Index.open(tmp_path / "x") if is_durable else Index()
    scope = Scope("acme")
    index.upsert_many([{"id": f"m{i}", "text": "oak", "scope": scope} for i in range(10)], progress=False)
    for wrong in ("m1", b"m1", 5):
        with pytest.raises(TypeError):
            index.delete_many(wrong, scope=scope)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        index.delete_many(["m1", 2.5], scope=scope)  # type: ignore[list-item]
    with pytest.raises(TypeError, match="scope"):
        index.delete_many(["m1"])  # type: ignore[call-arg]
    assert index.delete_many(["m1", "m2"], scope=JANE) == 0
    assert index.count(scope) == 10
    assert index.delete_many([], scope=scope) == 0
    assert index.delete_many(["m0", "m1", "none"], scope=scope, reason="tidy") == 2
    assert [record.id for record in index.list(scope, order="oldest")] == [f"m{i}" for i in range(2, 10)]
    if is_durable:
        assert index.admin.events()[-1].reason == "tidy"
    index.close()

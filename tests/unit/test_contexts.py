"""A context is embedded and indexed with a text, but not part of it: found, not shown, not counted in its length."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrubjay import Index, Query, Scope, StoreFormatError, VersionConflictError
from scrubjay.documents.payload import context_of, encode
from scrubjay.embedders import Function
from scrubjay.store.sqlite import schema
from tests.data import strategies as draw
from tests.data.engines import Kit
from tests.data.keys import provider
from tests.data.postgres import cluster, new_url
from tests.data.replay import Pair
from tests.reference import contexts, judge

JANE = Scope("acme", user="jane")
LEXICAL = Query(mode="lexical", spelling=False)
KINDS = ("memory", "file", "sealed", "postgres")


class Texts:
    """An embedder that records its inputs, and can fail."""

    def __init__(self, name: str = "texts") -> None:
        self.seen: list[str] = []
        self.is_up = True
        self.embedder = Function(self._embed, dim=2, name=name)

    def _embed(self, texts: Sequence[str]) -> Any:
        if not self.is_up:
            raise ConnectionError("away")
        self.seen += texts
        return [[1.0, len(text)] for text in texts]


def opened(kind: str, folder: Path, **options: Any) -> Index:
    if kind == "memory":
        return Index(**options)
    if kind.endswith("postgres"):
        if isinstance(why := cluster(), str):
            pytest.skip(why)
        return Index.open(new_url(), keys=provider if kind.startswith("sealed") else None, **options)
    return Index.open(folder / "i.scrubjay", keys=provider if kind == "sealed" else None, **options)


def title(number: int) -> str:
    """A distinct word."""
    return "q" + "".join("bcdfghjlmn"[int(digit)] + "a" for digit in f"{number:03}")


def found(index: Index, text: str) -> list[Any]:
    return index.search(text, scope=JANE, query=LEXICAL).ids.tolist()


@given(draw.texts, draw.texts, st.integers(0, 3))
@example('a "b"\\c\n\x01 d', "b", 0)
@example("\b\f\r\t/ \u2028 é 😀", "x", 1)
def test_the_engine_reads_what_python_writes(kit: Kit, context: str, text: str, shared: int) -> None:
    """Engine and oracle: the same documents with the same scores, also after replacements and deletions."""
    pair = Pair(kit, 2)
    scope = pair.scope(("acme", "jane", None))
    payload = encode(None, None, context=context or None)
    rows = [(0, text, payload), (1, text, None), (2, f"{text} {context}", None), (shared, context, None)]
    for id, own, own_payload in (*rows, (3, text, payload)):
        pair.both(lambda e: e.upsert(id, own, scope=scope, payload=own_payload))  # noqa: B023
    pair.both(lambda e: e.delete(3, scope=scope))
    for query in (context, text):
        given_result, expected = (
            engine.search(query, scope=scope, k=9, query=LEXICAL, explain=True)
            for engine in (pair.engine, pair.model)
        )
        judge.same_result(given_result, expected, explain=True)
    assert context_of(payload) == (context or None) and contexts.context_of(payload) == context


@pytest.mark.parametrize("kind", KINDS)
def test_a_context_is_found_and_not_shown(kind: str, tmp_path: Path) -> None:
    texts = Texts()
    with opened(kind, tmp_path, embedder=texts.embedder) as index:
        index.upsert("a", "She took the train.", scope=JANE, context="Trip to Riga, 2026")
        index.upsert("b", "She took the train.", scope=JANE)
        assert texts.seen == ["Trip to Riga, 2026\n\nShe took the train.", "She took the train."]
        assert found(index, "riga") == ["a"]
        hits = index.search("riga train", scope=JANE, explain=True, query=LEXICAL)
        assert hits[0].text == "She took the train." and "Riga" not in str(hits.to_dicts())
        assert hits[0].matched_terms == ["riga", "train"]
        # The same length: words that both hold weigh the same in both.
        both = index.search("train", scope=JANE, query=LEXICAL)
        assert both.scores[0] == both.scores[1]
        record = index.get("a", scope=JANE)
        assert record is not None and (record.context, record.text) == (
            "Trip to Riga, 2026",
            "She took the train.",
        )
        assert index.count(JANE, filter={"context": {"$exists": True}}) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_patched_context_is_embedded_again(kind: str, tmp_path: Path) -> None:
    texts = Texts()
    with opened(kind, tmp_path, embedder=texts.embedder) as index:
        index.upsert("a", "By train.", scope=JANE, metadata={"n": 1}, context="Riga")
        texts.seen.clear()
        before = index.get("a", scope=JANE)
        assert before is not None
        version = index.patch("a", scope=JANE, context='Oslo "north"', metadata={"n": 2})
        record = index.get("a", scope=JANE)
        assert record is not None and record.version == version and version > (before.version or 0)
        assert (record.context, record.metadata, texts.seen) == (
            'Oslo "north"',
            {"n": 2},
            ['Oslo "north"\n\nBy train.'],
        )
        assert not np.array_equal(np.asarray(record.vector), np.asarray(before.vector))
        assert (found(index, "riga"), found(index, "oslo north"), found(index, "train")) == ([], ["a"], ["a"])
        index.patch("a", scope=JANE, metadata={"n": 3})
        assert found(index, "oslo") == ["a"] and len(texts.seen) == 1
        with pytest.raises(VersionConflictError):
            index.patch("a", scope=JANE, context="Bergen", version=version)
        assert index.patch("a", scope=JANE, context=None, vector=[3.0, 4.0]) is not None
        record = index.get("a", scope=JANE)
        assert record is not None and record.context is None and found(index, "oslo") == []
        assert texts.seen == ['Oslo "north"\n\nBy train.'] or texts.seen[1:] == ["Bergen\n\nBy train."]
        assert index.patch("none", scope=JANE, context="x") is None


@pytest.mark.parametrize("kind", KINDS)
def test_pending_documents_are_embedded_with_their_context(kind: str, tmp_path: Path) -> None:
    texts = Texts()
    with opened(kind, tmp_path, embedder=texts.embedder) as index:
        index.upsert("b", "By ship.", scope=JANE)
        texts.is_up = False
        index.upsert("a", "By train.", scope=JANE, context="Riga")
        index.patch("b", scope=JANE, context="Oslo")
        record = index.get("b", scope=JANE)
        assert record is not None and record.pending and record.vector is not None
        assert found(index, "riga") == ["a"] and found(index, "oslo") == ["b"]
        texts.is_up = True
        texts.seen.clear()
        index.admin.backfill()
        assert {"Riga\n\nBy train.", "Oslo\n\nBy ship."} <= set(texts.seen)
        assert all(not record.pending for record in index.scroll(scope=JANE))


@pytest.mark.parametrize("kind", ["file", "sealed"])
def test_a_file_keeps_contexts(kind: str, tmp_path: Path) -> None:
    texts, other = Texts(), Texts("other")
    with opened(kind, tmp_path, embedder=texts.embedder) as index:
        index.upsert_many(
            [{"id": i, "text": f"text {i}", "context": f"{title(i)} shared"} for i in range(300)], scope=JANE
        )
        index.delete(7, scope=JANE)
        index.admin.compact()
        scores = index.search(f"shared text {title(9)}", scope=JANE, query=LEXICAL, k=400)
    with opened(kind, tmp_path, embedder=texts.embedder) as index:
        again = index.search(f"shared text {title(9)}", scope=JANE, query=LEXICAL, k=400)
        assert again.ids.tolist() == scores.ids.tolist() and again.scores.tolist() == scores.scores.tolist()
        assert found(index, title(7)) == [] and found(index, title(8)) == [8]
        index.upsert(8, "text 8", scope=JANE)  # its old words are removed
        index.delete(9, scope=JANE)
        assert found(index, title(8)) == [] and found(index, title(9)) == []
        index.admin.reembed(other.embedder)
        assert f"{title(10)} shared\n\ntext 10" in other.seen
        index.admin.export(tmp_path / "e.jsonl")
        index.admin.backup(tmp_path / "b.scrubjay")
        assert index.admin.check().problems == []
    for place in ("e.jsonl", "b.scrubjay"):
        keys = provider if kind == "sealed" else None
        if place.endswith("jsonl"):
            with Index.open(tmp_path / "new.scrubjay", keys=keys, embedder=other.embedder) as index:
                index.admin.import_(tmp_path / place)
                assert found(index, title(10)) == [10]
        else:
            with Index.open(tmp_path / place, keys=keys, embedder=other.embedder) as index:
                assert found(index, title(10)) == [10]


def test_a_file_with_contexts_says_so_and_one_without_does_not(tmp_path: Path) -> None:
    path = tmp_path / "i.scrubjay"

    def version() -> int:
        with closing(sqlite3.connect(path)) as connection:
            return int(connection.execute("PRAGMA user_version").fetchone()[0])

    with Index.open(path) as index:
        index.upsert("a", "text", scope=JANE, metadata={"context": "no"})
        assert version() == schema.FORMAT
        index.upsert("b", "text", scope=JANE, context="yes")
        assert version() == schema.FORMAT | schema.CONTEXTS
    with Index.open(path) as index:
        assert found(index, "yes") == ["b"]
    report = index.admin.repair(path)
    assert version() == schema.FORMAT | schema.CONTEXTS and not report.left_out
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {schema.FORMAT | 2 * schema.IMAGE_PIECES}")
    with pytest.raises(StoreFormatError, match="newer Scrubjay"):
        Index.open(path)


def test_records_go_round() -> None:
    index, other = Index(dim=2), Index(dim=2)
    index.upsert("a", "text", scope=JANE, context="Riga", vector=[1, 0])
    other.upsert_many(index.scroll(scope=JANE))
    record = other.get("a", scope=JANE)
    assert record == index.get("a", scope=JANE) and record is not None and record.context == "Riga"
    third = Index(dim=2)
    third.upsert_many(index.scroll(scope=JANE).to_pandas() if _has_pandas() else [record])
    assert found(third, "riga") == ["a"]


def _has_pandas() -> bool:
    try:
        import pandas  # noqa: F401
    except ImportError:
        return False
    return True


@pytest.mark.parametrize(
    ("context", "error"),
    [(7, TypeError), (b"Riga", TypeError), ("x" * 65_537, ValueError), ("é" * 32_769, ValueError)],
)
def test_a_bad_context_is_an_error_and_writes_nothing(context: Any, error: type[Exception]) -> None:
    index = Index()
    with pytest.raises(error, match=r"^context: expected .* got"):
        index.upsert("a", "text", scope=JANE, context=context)
    with pytest.raises(error, match=r"^records\[0\]: context: expected .* got"):
        index.upsert_many([{"id": "a", "text": "text", "context": context}], scope=JANE)
    index.upsert("b", "text", scope=JANE)
    with pytest.raises(error, match=r"^context: expected .* got"):
        index.patch("b", scope=JANE, context=context)
    assert index.get("b", scope=JANE).context is None and len(index) == 1  # type: ignore[union-attr]


@pytest.mark.parametrize("context", ["", " \n\u3000"])
def test_a_blank_context_is_stored_as_none(context: str) -> None:
    index = Index()
    index.upsert("a", "text", scope=JANE, context=context)
    record = index.get("a", scope=JANE)
    assert record is not None and record.context is None


@pytest.mark.parametrize("given", ["a \ud800 b", "\udfff", "\ud800\udc00 and \udc00\ud800"])
def test_lone_surrogates_are_replaced_in_a_context_as_in_a_text(given: str) -> None:
    index = Index()
    index.upsert("m", given, scope=JANE, context=given)
    record = index.get("m", scope=JANE)
    assert record is not None and record.context == record.text
    assert record.context.encode()

"""Changing the model: old vectors serve until all new ones exist, and a killed change resumes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scrubjay
from scrubjay import Index, Query, Scope
from scrubjay.embedders import Function
from tests.data.postgres import new_url

JANE = Scope("acme", user="jane")


@pytest.fixture(params=["file", "postgres"])
def path(request: pytest.FixtureRequest, tmp_path: Any) -> Any:
    return tmp_path / "memories.scrubjay" if request.param == "file" else new_url()


def opened(path: Any, embedder: Function) -> Index:
    """Open an index; over PostgreSQL one that sees other processes' writes at once, as in a file."""
    return Index.open(path, embedder, **({} if isinstance(path, Path) else {"max_stale": 0}))


def old() -> Function:
    return Function(lambda texts: [[t.count("a") + 1, t.count("b")] for t in texts], dim=2, name="old")


class New(Function):
    """Counts what it embeds, and fails after `n_good` texts."""

    def __init__(self, n_good: int = 10**9) -> None:
        self.n_good = n_good
        self.n_embedded = 0
        super().__init__(self._embed, dim=3, name="new")

    def _embed(self, texts: list[str]) -> list[list[float]]:
        self.n_embedded += len(texts)
        if self.n_embedded > self.n_good:
            raise RuntimeError("out of coffee")
        return [[t.count("b") + 1, t.count("c"), t.count("a")] for t in texts]


def texts(n: int) -> list[dict[str, object]]:
    return [{"id": i, "text": "abc"[i % 3] * (i % 5 + 1), "scope": JANE} for i in range(n)]


def test_the_model_changes_and_everything_is_as_if_written_with_it(path: Any) -> None:
    with opened(path, old()) as index:
        index.upsert_many(texts(50))
        assert index.search("bbb", scope=JANE).mode == "hybrid"
        index.delete(7, scope=JANE)
        assert index.admin.reembed(New(), progress=False) == 49
        assert index.embedder is not None
        assert index.embedder.name == "new"
        assert index.admin.stats()["dim"] == 3
        given = [(hit.id, hit.score) for hit in index.search("bbc", scope=JANE, k=50)]
        assert index.admin.check().problems == []
        index.upsert(100, "cccc", scope=JANE)
    expected = Index(New())
    for record in texts(50):
        if record["id"] != 7:
            expected.upsert(**record)  # type: ignore[arg-type]
    assert given == [(hit.id, hit.score) for hit in expected.search("bbc", scope=JANE, k=50)]
    with opened(path, New()) as index:
        assert len(index) == 50
        record = index.get(100, scope=JANE)
        assert record is not None
        np.testing.assert_array_equal(np.asarray(record.vector), [1, 4, 0])
    with pytest.raises(scrubjay.EmbedderMismatchError):
        opened(path, old())


def test_a_change_that_failed_goes_on_where_it_stopped(path: Any) -> None:
    with opened(path, old()) as index:
        index.upsert_many(texts(40))
        with pytest.raises(scrubjay.EmbedderError, match="coffee"):
            index.admin.reembed(New(n_good=25), batch_size=10, progress=False)
        # the old model still serves
        assert index.search("bbb", scope=JANE).mode == "hybrid"
        assert index.admin.stats()["dim"] == 2
        index.upsert(200, "written meanwhile", scope=JANE)
        index.upsert(3, "replaced meanwhile", scope=JANE)
        index.delete(4, scope=JANE)
    with opened(path, old()) as index:
        new = New()
        # twenty were kept; 3 and 4 of them are deleted
        assert index.admin.reembed(new, batch_size=10, progress=False) == 40 + 1 - 1 - 18
        assert new.n_embedded == 22
        assert index.admin.check().problems == []
        assert index.admin.reembed(New(), progress=False) == 40


def test_a_batch_in_another_process_is_answered_by_keywords(path: Any) -> None:
    with opened(path, old()) as one, opened(path, old()) as two:
        one.upsert_many(texts(10))
        assert [hits.mode for hits in two.search_batch(["bbb", "a"], scope=JANE)] == ["hybrid"] * 2
        one.admin.reembed(New(), progress=False)
        assert [hits.mode for hits in two.search_batch(["bbb", "a"], scope=JANE)] == ["lexical"] * 2


def test_another_process_answers_by_keywords_until_it_has_the_model(path: Any) -> None:
    with opened(path, old()) as one, opened(path, old()) as two:
        one.upsert_many(texts(10))
        assert two.search("bbb", scope=JANE).mode == "hybrid"
        one.admin.reembed(New(), progress=False)
        hits = two.search("bbb", scope=JANE)
        assert hits.mode == "lexical"
        assert hits.degraded[0].startswith("embedder_mismatch")
        assert len(two.search(vector=[1.0, 2.0, 3.0], scope=JANE, query=Query(mode="vector"))) == 10
        with pytest.raises((scrubjay.EmbedderMismatchError, ValueError)):
            two.upsert(77, "abc", scope=JANE)
        assert len(one) == len(two) == 10
        assert one.admin.check().problems == two.admin.check().problems == []

"""DataFrames and Arrow tables as input and output, pickles, notebooks, NumPy's scalars and DLPack."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from datetime import date, datetime, timezone
from typing import Any

import numpy as np
import pytest

from scrubjay import Hits, Index, MissingExtraError, Query, Scope

ACME = Scope("acme")
JANE = Scope("acme", user="jane")


@pytest.fixture
def index() -> Index:
    index = Index("default")
    index.upsert(
        "m1", "Prefers <b>trains</b> to planes.", scope=JANE, metadata={"stars": 5}, created_at="2026-03-01"
    )
    index.upsert("m2", "Invoices go out on Mondays.", scope=ACME)
    index.upsert("m3", "A train to Riga.", scope=JANE, metadata={"stars": 3, "tags": ["trip"]})
    return index


# -------------------------------------------------------------------- pickles


@pytest.mark.parametrize("explain", [False, True])
@pytest.mark.parametrize("mode", ["hybrid", "lexical", "vector"])
def test_hits_survive_a_pickle(index: Index, explain: bool, mode: Any) -> None:
    hits = index.search("trains or planes", scope=JANE, explain=explain, query=Query(mode=mode))
    copy: Hits = pickle.loads(pickle.dumps(hits))
    assert len(copy) == len(hits) > 0
    assert copy.to_dicts() == hits.to_dicts() and repr(copy) == repr(hits)
    assert copy.keys == hits.keys and copy.mode == hits.mode and copy.degraded == hits.degraded
    assert copy.corrections == hits.corrections and copy.vector_work == hits.vector_work
    assert copy.lexical_share == hits.lexical_share
    assert np.array_equal(copy.scores, hits.scores) and copy.texts == hits.texts == [hit.text for hit in hits]
    hit = pickle.loads(pickle.dumps(hits[-1]))
    assert hit.to_dict() == hits[-1].to_dict()
    if explain:
        assert copy.relevance == hits.relevance and copy[0].parts == hits[0].parts
    else:
        with pytest.raises(ValueError, match="explain=True"):
            copy[0].matched_terms  # noqa: B018
    assert pickle.loads(pickle.dumps(copy)).to_dicts() == hits.to_dicts()


def test_a_pickle_of_hits_is_small_and_outlives_the_index(index: Index) -> None:
    for i in range(500):
        index.upsert(f"n{i}", "Another note about nothing in particular.", scope=JANE)
    data = pickle.dumps(index.search("trains", scope=JANE, k=2))
    index.close()
    assert len(data) < 4000 and len(pickle.loads(data)) == 2


# -------------------------------------------------------------------- notebooks


def test_html_shows_memories_as_text(index: Index) -> None:
    shown = index.search("trains", scope=JANE)._repr_html_()
    assert "Prefers &lt;b&gt;trains&lt;/b&gt; to planes." in shown and "<b>" not in shown
    assert shown.startswith("<table>") and shown.count("<tr>") == 4
    page = index.scroll(scope=JANE, limit=2)
    assert "2 memories, more to come" in page._repr_html_() and "<b>" not in page._repr_html_()
    record = index.get("m1", scope=JANE)
    assert record is not None and "&lt;b&gt;" in record._repr_html_() and "<b>" not in record._repr_html_()
    assert page.texts == [record.text for record in page]
    assert "degraded" not in shown and "no_embedder" in Index().search("x", scope=JANE)._repr_html_()


# -------------------------------------------------------------------- tables


@pytest.mark.parametrize("kind", ["pandas", "arrow"])
def test_hits_and_pages_as_tables(index: Index, kind: str) -> None:
    pytest.importorskip("pandas" if kind == "pandas" else "pyarrow")
    hits = index.search("trains", scope=JANE, explain=True)
    page = index.scroll(scope=JANE)
    tables = [hits.to_pandas(), page.to_pandas()] if kind == "pandas" else [hits.to_arrow(), page.to_arrow()]
    found = [table.to_dict("list") if kind == "pandas" else table.to_pydict() for table in tables]
    assert found[0]["id"] == hits.ids.tolist() and found[0]["score"] == pytest.approx(hits.scores)
    assert found[0]["matched_terms"] == [hit.matched_terms for hit in hits]
    assert "bm25" not in index.search("trains", scope=JANE).to_pandas().columns if kind == "pandas" else True
    assert found[1]["text"] == page.texts and found[1]["tenant"] == ["acme"] * 3
    if kind == "arrow":
        assert found[1]["metadata"][0] == '{"stars": 5}'
        assert str(tables[1].schema.field("created_at").type) == "timestamp[us, tz=UTC]"
        empty = index.search("x", scope=Scope("globex")).to_arrow()
        assert empty.num_rows == 0 and str(empty.schema.field("id").type) == "string"
    # and back: what a page wrote is the same memories
    other = Index("default")
    assert other.upsert_many(tables[1]) == 3
    for record in page:
        assert other.get(record.id, scope=record.scope) == record


def test_a_data_frame_is_written(index: Index) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "id": [1, 2, 3],
            "text": ["oak", "elm", "ash"],
            "user": ["jane", None, "joe"],
            "tenant": ["acme", "acme", "acme"],
            "stars": [5.0, None, 3.0],
            "when": pandas.to_datetime(["2026-01-01", None, "2026-01-03"]),
            "created_at": pandas.to_datetime(["2026-02-01T10:00Z", None, "2026-02-03T10:00Z"]),
            "flag": pandas.array([True, None, False], dtype="boolean"),
            "vector": [np.ones(3), [1.0, 0.0, 0.0], (0.0, 1.0, 0.0)],
        }
    )
    other = Index()
    assert other.upsert_many(frame) == 3
    one, two = other.get(1, scope=JANE), other.get(2, scope=ACME)
    assert one is not None and two is not None
    assert one.metadata == {"stars": 5.0, "when": "2026-01-01T00:00:00+00:00", "flag": True}
    assert one.created_at == datetime(2026, 2, 1, 10, tzinfo=timezone.utc)
    assert two.metadata in (None, {}) and two.created_at is None and np.allclose(two.vector, [1, 0, 0])
    assert other.upsert_many(frame.drop(columns=["tenant", "user"]), scope=Scope("globex")) == 3
    with pytest.raises(ValueError, match="expected a column 'text', got id, body"):
        other.upsert_many(pandas.DataFrame({"id": [1], "body": ["x"]}), scope=ACME)
    with pytest.raises(ValueError, match=r"records\[1\]: text: expected a value"):
        other.upsert_many(pandas.DataFrame({"id": [7, 8], "text": ["x", None]}), scope=ACME)
    assert len(other) == 6
    view = other.scope("initech")
    assert view.upsert_many(frame.drop(columns=["tenant", "user"])) == view.count() == 3


def test_arrow_tables_and_batches_are_written() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(
        {"id": ["a", "b"], "text": ["oak", "elm"], "vector": [[1.0, 0.0], None], "n": [1, None]}
    )
    for given in (
        table,
        table.to_batches()[0],
        pyarrow.RecordBatchReader.from_batches(table.schema, table.to_batches()),
    ):
        index = Index()
        assert index.upsert_many(given, scope=ACME) == 2
        record = index.get("a", scope=ACME)
        assert record is not None and record.metadata == {"n": 1} and np.allclose(record.vector, [1, 0])


def test_frames_with_iter_rows_are_written() -> None:
    class Frame:
        columns = ("id", "text", "metadata")

        def iter_rows(self) -> Iterator[tuple[Any, ...]]:
            yield "a", "oak", '{"n": 1}'
            yield "b", "elm", {"n": 2}

    index = Index()
    assert index.upsert_many(Frame(), scope=ACME) == 2  # type: ignore[arg-type]
    assert [record.metadata for record in index.list(ACME, order="oldest")] == [{"n": 1}, {"n": 2}]


def test_iterators_of_dicts_are_written() -> None:
    index = Index()
    assert index.upsert_many(({"id": i, "text": f"note {i}"} for i in range(5)), scope=ACME) == 5


def test_without_the_libraries_the_extra_is_named(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    hits = index.search("trains", scope=JANE)
    for convert in (hits.to_pandas, hits.to_arrow, index.scroll(scope=JANE).to_arrow):
        with pytest.raises(MissingExtraError, match=r'pip install "scrubjay\[tables\]"'):
            convert()


# -------------------------------------------------------------------- times of pandas and NumPy


def test_times_of_pandas_are_read_back(index: Index) -> None:
    pandas = pytest.importorskip("pandas")
    precise = pandas.Timestamp("2026-01-02T03:04:05.123456789", tz="Europe/Berlin")
    microseconds = datetime(2026, 1, 2, 2, 4, 5, 123456, tzinfo=timezone.utc)
    index.upsert("m1", "oak", scope=ACME, created_at=precise, metadata={"seen": precise})
    record = index.get("m1", scope=ACME)
    assert record is not None and record.created_at == microseconds
    assert record.metadata == {"seen": microseconds.isoformat()}  # not every Python reads nanoseconds
    index.upsert("m1", "oak", scope=ACME, ttl=pandas.Timedelta("1h1ns"))
    assert type(index.get("m1", scope=ACME).expires_at) is datetime  # type: ignore[union-attr]


def test_no_time_of_pandas_is_no_time(index: Index) -> None:
    nothing = pytest.importorskip("pandas").NaT
    index.upsert("m1", "oak", scope=ACME, created_at=nothing, expires_at=nothing, metadata={"seen": nothing})
    record = index.get("m1", scope=ACME)
    assert record is not None and (record.created_at, record.expires_at) == (None, None)
    assert record.metadata == {"seen": None}
    index.patch("m1", scope=ACME, created_at="2026-01-02")
    index.patch("m1", scope=ACME, created_at=nothing)
    assert index.get("m1", scope=ACME).created_at is None  # type: ignore[union-attr]


@pytest.mark.parametrize("field", ["created_at", "seen"])
@pytest.mark.parametrize("operator", ["$eq", "$ne", "$gte", "$lt"])
def test_no_time_of_pandas_is_no_operand(index: Index, field: str, operator: str) -> None:
    nothing = pytest.importorskip("pandas").NaT  # as a datetime it is of the year 1
    with pytest.raises(TypeError, match=r"expected a .*, got NaTType NaT"):
        index.count(JANE, filter={field: {operator: nothing}})
    with pytest.raises(TypeError, match=r"expected a .*, got NaTType NaT"):
        index.count(JANE, filter={field: {"$in": [nothing]}})


@pytest.mark.parametrize("far", ["10000-01-01", "0000-12-31", "1000000-01-01"])
def test_times_outside_the_calendar_are_refused(index: Index, far: str) -> None:
    with pytest.raises(ValueError, match="created_at: expected a time between the years 1 and 9999"):
        index.upsert("m1", "oak", scope=ACME, created_at=np.datetime64(far))


def test_a_duration_is_no_time(index: Index) -> None:
    with pytest.raises(TypeError, match=r"created_at: expected a datetime, .* got timedelta64"):
        index.upsert("m1", "oak", scope=ACME, created_at=np.timedelta64(5, "D"))
    with pytest.raises(TypeError, match="ttl: expected a timedelta or seconds, got timedelta64"):
        index.upsert("m1", "oak", scope=ACME, ttl=np.timedelta64(5, "D"))


# -------------------------------------------------------------------- questions in a table


def test_a_column_of_questions_is_read_by_place() -> None:
    pandas = pytest.importorskip("pandas")
    index = Index()
    index.upsert("m1", "oak", scope=ACME, vector=[1, 0, 0])
    index.upsert("m2", "elm", scope=ACME, vector=[0, 1, 0])
    column = pandas.Series(["elm", "oak"], index=[1, 0])  # as after sorting
    assert [hits[0].id for hits in index.search_batch(column, scope=ACME)] == ["m2", "m1"]
    vectors = pandas.DataFrame([[0, 1, 0], [1, 0, 0]], index=[7, 9])
    assert [hits[0].id for hits in index.search_batch(vectors=vectors, scope=ACME)] == ["m2", "m1"]


# -------------------------------------------------------------------- NumPy and DLPack


def test_numpy_scalars_and_dates_are_metadata() -> None:
    index = Index()
    given = {
        "i": np.int64(3), "f": np.float32(0.5), "b": np.bool_(True), "s": np.str_("x"), "a": np.arange(2),
        "day": date(2026, 1, 2), "moment": np.datetime64("2026-01-02T03:04:05"), "nat": np.datetime64("NaT"),
    }  # fmt: skip
    index.upsert("m1", "oak", scope=ACME, metadata=given, created_at=np.datetime64("2026-01-02"))
    record = index.get("m1", scope=ACME)
    assert record is not None and record.metadata == {
        "i": 3, "f": 0.5, "b": True, "s": "x", "a": [0, 1],
        "day": "2026-01-02", "moment": "2026-01-02T03:04:05+00:00", "nat": None,
    }  # fmt: skip
    assert record.created_at == datetime(2026, 1, 2, tzinfo=timezone.utc)
    index.upsert("m1", "oak", scope=ACME, created_at=date(2026, 3, 4))
    assert index.get("m1", scope=ACME).created_at == datetime(2026, 3, 4, tzinfo=timezone.utc)  # type: ignore[union-attr]
    wide = {"one": np.longdouble(0.5), "many": np.array([1, 2], np.longdouble)}
    index.upsert("m1", "oak", scope=ACME, metadata=wide, ttl=np.int32(60))
    assert index.get("m1", scope=ACME).metadata == {"one": 0.5, "many": [1, 2]}  # type: ignore[union-attr]
    with pytest.raises(ValueError, match=r"metadata\['f'\]: expected a finite number"):
        index.upsert("m1", "oak", scope=ACME, metadata={"f": np.float32("nan")})
    with pytest.raises(TypeError, match=r"metadata\['c'\]: expected a JSON value"):
        index.upsert("m1", "oak", scope=ACME, metadata={"c": np.complex64(1)})


class Tensor:
    """Provides its data only by DLPack, like tensors of some libraries."""

    def __init__(self, values: Any) -> None:
        self._array = np.asarray(values, np.float32)

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()


class OnGpu(Tensor):
    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("cannot be exported to the CPU")


def test_vectors_come_by_dlpack() -> None:
    index = Index(dim=2)
    index.upsert("a", "oak", scope=ACME, vector=Tensor([1, 0]))  # type: ignore[arg-type]
    index.upsert_many([{"id": "b", "text": "elm", "vector": Tensor([0, 1])}], scope=ACME)
    hits = index.search(vector=Tensor([0.1, 0.9]), scope=ACME, k=1)  # type: ignore[arg-type]
    assert hits.ids.tolist() == ["b"]
    with pytest.raises(ValueError, match=r"vector: expected shape \(2,\), got \(3,\)"):
        index.upsert("c", "ash", scope=ACME, vector=Tensor([1, 2, 3]))  # type: ignore[arg-type]
    with pytest.raises(
        TypeError, match=r"vector: expected numbers that NumPy can read, got OnGpu: .*copy it to the CPU"
    ):
        index.upsert("c", "ash", scope=ACME, vector=OnGpu([1, 0]))  # type: ignore[arg-type]


def test_a_table_has_a_lifetime_and_passages_for_each_row() -> None:
    pandas = pytest.importorskip("pandas")
    index = Index(dim=2)
    index.upsert_many(
        pandas.DataFrame(
            {
                "id": ["m1", "m2", "m3"],
                "text": ["oak and elm", "oak", "elm"],
                "ttl": pandas.to_timedelta(["1D", None, "2h"]),
                "passages": [[(0, 3), (8, 11)], False, None],
                "vector": [np.eye(2), [1.0, 0.0], None],
            }
        ),
        scope=ACME,
    )
    records = {record.id: record for record in index.list(ACME)}
    assert [records[id].expires_at is None for id in ("m1", "m2", "m3")] == [False, True, False]
    assert [records[id].passages for id in ("m1", "m2", "m3")] == [[(0, 3), (8, 11)], False, None]
    assert all(record.metadata == {} for record in records.values())


def test_a_table_whose_columns_have_one_name() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame([["m1", "oak", "elm"]], columns=["id", "text", "text"])
    with pytest.raises(
        ValueError, match=r"^records: expected columns of different names, got 'text' 2 times$"
    ):
        Index().upsert_many(table, scope=ACME)


def test_a_wrong_cell_is_named_with_its_row() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"id": ["m1", "m2"], "text": ["oak", "elm"], "metadata": ["{}", "[1]"]})
    with pytest.raises(
        TypeError, match=r"^records\[1\]: metadata: expected a mapping or its JSON, got list$"
    ):
        Index().upsert_many(table, scope=ACME)


def test_one_column_of_arrow_is_no_table() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    for column in (pyarrow.array(["m1"]), pyarrow.chunked_array([["m1"]])):
        with pytest.raises(
            TypeError, match=r"^records: expected a table with columns id and text, or records, got"
        ):
            Index().upsert_many(column, scope=ACME)

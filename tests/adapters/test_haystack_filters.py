"""Haystack's filters admit the same documents as Haystack's own evaluation, natively or tested in Python."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

pytest.importorskip("haystack")

from haystack import Document
from haystack.dataclasses import ByteStream
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.errors import FilterError
from hypothesis import example, given
from hypothesis import strategies as st

from scrubjay.adapters.haystack import ScrubjayDocumentStore
from scrubjay.adapters.haystack.filters import translate
from scrubjay.backend.conditions import native_part
from scrubjay.documents.records import Record

# Each field has values of one type or none, since Haystack fails for an order of mixed types. All times are without a
# zone and numbers fit into 64 bits: there the semantics agree (see the module's docstring).
NUMBERS = (
    st.integers(-3, 3)
    | st.sampled_from([0.5, -0.0, 1.0, 2**63 - 1, -(2**63), 1e300, 2**53 + 1])
    | st.booleans()
)
DATES = st.sampled_from(
    [
        "1969-07-21",
        "1969-07-21T00:00:00",
        "1969-07-21T20:17:40",
        "1972-12-11T19:54:58.500000",
        "2026-03-01 09:30:00",
    ]
)
WORDS = st.sampled_from(
    ["", "a", "A", "b", "a.b", "%", "\0", "1", "True", "None", "1969-07", "é", "e\u0301", "x" * 300]
)
LISTS = st.lists(WORDS | st.integers(0, 2), max_size=2)
KINDS = {"number": NUMBERS, "date": DATES, "word": WORDS, "list": LISTS, "created_at": WORDS, "$odd": NUMBERS}


def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values


METAS = st.fixed_dictionaries(
    {},
    optional={
        **{name: maybe(values) for name, values in KINDS.items()},
        "deep": maybe(
            st.fixed_dictionaries(
                {},
                optional={
                    "number": maybe(NUMBERS),
                    "date": maybe(DATES),
                    "er": st.dictionaries(st.just("word"), WORDS),
                },
            )
        ),
    },
)
DOCUMENTS = st.lists(
    st.builds(
        Document,
        id=st.sampled_from("abcdef"),
        content=maybe(WORDS),
        meta=METAS,
        score=maybe(st.floats(0, 1)),
        blob=maybe(st.just(ByteStream(b"x"))),
    ),
    max_size=5,
    unique_by=lambda document: document.id,
)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    **{f"meta.{name}": values for name, values in KINDS.items()},
    "number": NUMBERS,  # fields of old filters, without "meta."
    "meta.deep.number": NUMBERS,
    "meta.deep.date": DATES,
    "meta.deep.er.word": WORDS,
    "meta.deep.er": st.dictionaries(st.just("word"), WORDS),
    "meta.deep": st.just({}),
    "meta.nowhere": WORDS,
    "meta.word.below": WORDS,
    "content": WORDS,
    "id": st.sampled_from(["a", "b", "z"]),
    "score": st.floats(0, 1),
    "blob": st.just(1),
    "meta": st.just({}),
    "content.length": WORDS,
    "elsewhere.x": WORDS,
}
ORDERED = (
    "meta.number",
    "number",
    "meta.$odd",
    "meta.date",
    "meta.deep.number",
    "meta.deep.date",
    "score",
    "meta.nowhere",
)


@st.composite
def comparisons(draw: st.DrawFn) -> dict[str, Any]:
    field = draw(st.sampled_from(sorted(FIELDS)))
    values = maybe(FIELDS[field])
    op = draw(
        st.sampled_from(["==", "!=", "in", "not in", *([">", ">=", "<", "<="] if field in ORDERED else [])])
    )
    if op in ("in", "not in"):
        return {"field": field, "operator": op, "value": draw(st.lists(values, max_size=3))}
    if op in ("==", "!="):  # equality applies to any value
        values |= NUMBERS | WORDS | LISTS
    elif field == "meta.nowhere":
        values = NUMBERS
    return {"field": field, "operator": op, "value": draw(values)}


FILTERS = st.recursive(
    comparisons(),
    lambda inner: st.fixed_dictionaries(
        {"operator": st.sampled_from(["AND", "OR", "NOT"]), "conditions": st.lists(inner, max_size=3)}
    ),
    max_leaves=5,
)


@given(documents=DOCUMENTS, filters=FILTERS)
@example(
    documents=[Document(id="a", meta={"number": True}), Document(id="b", meta={"number": 1.0})],
    filters={"field": "meta.number", "operator": "==", "value": 1},
)
@example(
    documents=[Document(id="a", meta={"number": False}), Document(id="b")],
    filters={"field": "meta.number", "operator": "<", "value": 1},
)
@example(
    documents=[Document(id="a", meta={"list": ["a"]}), Document(id="b", meta={"list": []}), Document(id="c")],
    filters={
        "operator": "NOT",
        "conditions": [{"field": "meta.list", "operator": "in", "value": [["a"], None]}],
    },
)
@example(
    documents=[Document(id="a"), Document(id="b", meta={"number": 1}), Document(id="c")],
    filters={
        "operator": "OR",
        "conditions": [
            {"field": "id", "operator": "==", "value": "a"},
            {"field": "meta.number", "operator": "==", "value": 1},
        ],
    },
)
def test_filters_admit_what_haystack_admits(documents: list[Document], filters: dict[str, Any]) -> None:
    theirs, ours = InMemoryDocumentStore(shared=False), ScrubjayDocumentStore()
    theirs.write_documents(documents)
    ours.write_documents(documents)
    if "field" in filters:  # their store requires an operator at the top
        expected = theirs.filter_documents({"operator": "AND", "conditions": [filters]})
    else:
        expected = theirs.filter_documents(filters)
    assert ours.filter_documents(filters) == expected
    assert ours.count_documents_by_filter(filters) == len(expected)
    ids = [document.id for document in expected]
    found = ours.hybrid_retrieval("a b 1", filters=filters, top_k=100)
    assert {document.id for document in found} <= set(ids)
    assert ours.delete_by_filter(filters) == len(expected)
    assert [document.id for document in ours.filter_documents()] == [
        document.id for document in documents if document.id not in ids
    ]


@given(documents=DOCUMENTS, filters=FILTERS)
def test_updates_by_filter_are_those_of_haystack(documents: list[Document], filters: dict[str, Any]) -> None:
    theirs, ours = InMemoryDocumentStore(shared=False), ScrubjayDocumentStore()
    ours.write_documents(documents)
    theirs.write_documents(documents)
    changes = {"number": 7, "new": ["x"], "created_at": "now"}
    both = {"operator": "AND", "conditions": [filters]}
    assert ours.update_by_filter(both, changes) == theirs.update_by_filter(both, changes)

    def by_id(store: Any) -> list[Document]:
        return sorted(store.filter_documents(), key=lambda document: document.id)

    assert by_id(ours) == by_id(theirs)


METADATA_QUERIES = ["number", "meta.number", "date", "word", "list", "deep", "created_at", "nowhere"]


@given(documents=DOCUMENTS, field=st.sampled_from(METADATA_QUERIES), term=maybe(WORDS))
def test_questions_about_metadata_are_answered_as_by_haystack(
    documents: list[Document], field: str, term: str | None
) -> None:
    theirs, ours = InMemoryDocumentStore(shared=False), ScrubjayDocumentStore()
    theirs.write_documents(documents)
    ours.write_documents(documents)
    fields = METADATA_QUERIES[1:]
    # Their count of unique values treats 1, 1.0 and True as one; their list of them, and ours, does not.
    unique = theirs.get_metadata_field_unique_values(field, size=100)[1]
    assert ours.count_unique_metadata_by_filter({}, fields)[field.removeprefix("meta.")] == unique
    assert ours.get_metadata_field_unique_values(
        field, term, 1, 2
    ) == theirs.get_metadata_field_unique_values(field, term, 1, 2)
    assert ours.get_metadata_field_min_max(field) == theirs.get_metadata_field_min_max(field)
    assert ours.get_metadata_fields_info() == theirs.get_metadata_fields_info()


@pytest.mark.parametrize(
    ("filters", "complaint"),
    [
        ("meta.x == 1", "expected a dict, got str"),
        ([], "expected a dict, got list"),
        ({"meta.x": 1}, "expected the key 'operator'"),
        ({"operator": "AND"}, "expected the key 'conditions'"),
        ({"conditions": []}, "expected the key 'operator'"),
        ({"operator": "XOR", "conditions": []}, "expected one of AND, OR, NOT, got 'XOR'"),
        ({"operator": ["AND"], "conditions": []}, "expected one of AND, OR, NOT"),
        ({"operator": "AND", "conditions": {}}, "conditions: expected a list, got dict"),
        ({"operator": "AND", "conditions": [1]}, "expected a dict, got int"),
        ({"field": "meta.x", "operator": "=="}, "expected the key 'value'"),
        ({"field": "meta.x", "value": 1}, "expected the key 'operator'"),
        ({"field": 1, "operator": "==", "value": 1}, "field: expected a str, got int"),
        ({"field": "meta.x", "operator": "like", "value": 1}, "meta.x: expected one of ==, !=, .*got 'like'"),
        ({"field": "meta.x", "operator": {}, "value": 1}, "meta.x: expected one of"),
        ({"field": "meta.x", "operator": "in", "value": (1,)}, "meta.x: expected a list for 'in', got tuple"),
        (
            {"field": "meta.x", "operator": "not in", "value": "ab"},
            "meta.x: expected a list for 'not in', got str",
        ),
        (
            {"field": "meta.x", "operator": ">", "value": "1"},
            "expected a number or an ISO 8601 time for '>', got '1'",
        ),
        (
            {"field": "meta.x", "operator": "<=", "value": [1]},
            "expected a number or an ISO 8601 time for '<=', got list",
        ),
        ({"field": "meta.x", "operator": "<=", "value": {"a": 1}}, "got dict"),
    ],
)
def test_malformed_filters(filters: Any, complaint: str) -> None:
    store = ScrubjayDocumentStore()
    store.write_documents([Document(id="1", content="x", meta={"x": 1})])
    with pytest.raises(FilterError, match=complaint):
        store.filter_documents(filters)
    if filters:  # a retriever's policy ignores an empty one of any type
        for call in (store.count_documents_by_filter, store.delete_by_filter):
            with pytest.raises(FilterError, match=complaint):
                call(filters)
        with pytest.raises(FilterError, match=complaint):
            store.bm25_retrieval("x", filters)
        with pytest.raises(FilterError, match=complaint):
            store.embedding_retrieval([1.0], filters)
    assert store.count_documents() == 1


def documents_of(record: Record, embedded: bool) -> Document:
    raise AssertionError("no document is asked for")


def is_native(filters: dict[str, Any]) -> bool:
    node = translate(filters, documents_of)
    return node is not None and native_part(node) is not None


def test_filters_nested_too_deeply() -> None:
    filters: dict[str, Any] = {"field": "meta.x", "operator": "==", "value": 1}
    for depth in range(2000):
        filters = {"operator": ["AND", "OR", "NOT"][depth % 3], "conditions": [filters]}
    with pytest.raises(FilterError, match="levels of nesting"):
        translate(filters, documents_of)
    circle: dict[str, Any] = {"operator": "NOT"}
    circle["conditions"] = [circle]
    with pytest.raises(FilterError, match="levels of nesting"):
        translate(circle, documents_of)
    store = ScrubjayDocumentStore()
    documents = [Document(id="1", meta={"x": 1}), Document(id="2")]
    store.write_documents(documents)
    for level in range(90):  # too deep for the index, so Haystack's own rules decide
        filters = {"field": "meta.x", "operator": "==", "value": 1}
        for _ in range(level):
            filters = {"operator": "NOT", "conditions": [filters]}
        assert store.filter_documents(filters) == [documents[level % 2]]
        assert is_native(filters) == (level <= 15)


@pytest.mark.parametrize(
    "filters",
    [
        {"field": "meta.number", "operator": ">", "value": 1},
        {"field": "meta.date", "operator": ">=", "value": "2026-03-01"},
        {"field": "meta.word", "operator": "in", "value": ["a", None, 1, True]},
        {"field": "meta.deep.er.word", "operator": "!=", "value": "a"},
        {"field": "content", "operator": "!=", "value": None},
        {"field": "created_at", "operator": "==", "value": "x"},
    ],
)
def test_filters_are_compiled_natively_without_a_python_pass(filters: dict[str, Any]) -> None:
    """No document is read in Python to find the matches."""
    assert is_native({"operator": "NOT", "conditions": [filters, filters]})


def test_a_text_is_not_the_list_that_holds_it() -> None:
    store = ScrubjayDocumentStore()
    store.write_documents([Document(id="1", meta={"tag": ["a"]}), Document(id="2", meta={"tag": "a"})])
    for op, value in (("==", "a"), ("in", ["a", "b"])):
        found = store.filter_documents({"field": "meta.tag", "operator": op, "value": value})
        assert [one.id for one in found] == ["2"]


def test_ids_are_looked_up_and_not_searched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    store = ScrubjayDocumentStore()
    store.write_documents([Document(id=str(n), content="x") for n in range(3)])
    monkeypatch.setattr(store, "_document", None)  # no document is read to test it
    by_id = {"field": "id", "operator": "in", "value": ["2", "0", 7, None]}
    assert store.count_documents_by_filter(by_id) == 2
    assert store.count_documents_by_filter({"operator": "NOT", "conditions": [by_id]}) == 1
    assert store.delete_by_filter(by_id) == 2 and store.count_documents() == 1


def test_times_with_and_without_a_zone() -> None:
    """Unlike in Haystack's store, a time without a zone is in UTC, so that times have one order."""
    store = ScrubjayDocumentStore()
    times = [
        "2026-03-01T09:30:00+01:00",
        "2026-03-01T08:30:00Z",
        "2026-03-01T08:30:00",
        "2026-03-01T09:30:00",
    ]
    store.write_documents([Document(id=str(n), content="x", meta={"at": at}) for n, at in enumerate(times)])

    def found(op: str, value: Any) -> list[str]:
        return [
            one.id for one in store.filter_documents({"field": "meta.at", "operator": op, "value": value})
        ]

    assert found("==", times[0]) == found("==", times[2]) == ["0", "1", "2"]
    assert found(">", times[0]) == found(">", datetime(2026, 3, 1, 8, 30, tzinfo=timezone.utc)) == ["3"]
    assert found("in", [datetime(2026, 3, 1, 8, 30)]) == ["0", "1", "2"]
    assert found("<", "2026-03-02") == ["0", "1", "2", "3"]


def test_a_value_that_has_no_order_does_not_match() -> None:
    """Unlike in Haystack's store, where one such document makes every query fail."""
    store = ScrubjayDocumentStore()
    store.write_documents([Document(id="1", meta={"n": "many"}), Document(id="2", meta={"n": 5})])
    assert [one.id for one in store.filter_documents({"field": "meta.n", "operator": ">", "value": 2})] == [
        "2"
    ]


def test_integers_beyond_64_bits() -> None:
    store = ScrubjayDocumentStore()
    store.write_documents([Document(id="1", meta={"n": 2**64}), Document(id="2", meta={"n": 5})])

    def found(op: str, value: Any) -> list[str]:
        return [one.id for one in store.filter_documents({"field": "meta.n", "operator": op, "value": value})]

    assert (
        found("==", 2**64) == ["1"] and found("!=", 2**64) == ["2"] and found("in", [2**64, 5]) == ["1", "2"]
    )
    assert found("<", 2**64) == ["2"] and found(">", -(2**64)) == ["2"] and found(">", 2**64) == []

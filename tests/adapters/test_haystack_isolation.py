"""Isolation of the document store: no access to documents of another scope, and no trace of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("haystack")

from haystack import Document
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError
from hypothesis import given
from hypothesis import strategies as st

import scrubjay
from scrubjay.adapters.haystack import ScrubjayDocumentStore
from tests.adapters.hostile import NAMES, TWINS, VALUES

SECRET = "The launch code is zx-9981."


@pytest.fixture(params=["memory", "file"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "memory":
        yield scrubjay.Index()
    else:
        with scrubjay.Index.open(tmp_path / "documents.scrubjay") as index:
            yield index


def everything(store: ScrubjayDocumentStore) -> list[Document]:
    return [
        *store.filter_documents(),
        *store.bm25_retrieval(SECRET),
        *store.embedding_retrieval([1.0, 0.0]),
        *store.hybrid_retrieval(SECRET, [1.0, 0.0]),
    ]


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_no_name_of_a_tenant_or_user_reaches_anothers(index: scrubjay.Index, name: str) -> None:
    others = [ScrubjayDocumentStore(index=index, tenant=twin) for twin in TWINS(name)]
    others += [ScrubjayDocumentStore(index=index, tenant="acme", user=twin) for twin in TWINS(name)]
    others += [ScrubjayDocumentStore(index=index, tenant="acme", agent=twin) for twin in TWINS(name)]
    for store in others:
        store.write_documents([Document(id="1", content=SECRET, embedding=[1.0, 0.0])])
    for mine in (
        ScrubjayDocumentStore(index=index, tenant=name),
        ScrubjayDocumentStore(index=index, tenant="acme", user=name),
        ScrubjayDocumentStore(index=index, tenant="acme", agent=name),
    ):
        assert everything(mine) == [] and mine.count_documents() == 0
        # The id is not taken, and the content's hash is unknown.
        assert mine.write_documents([Document(id="1", content="Mine.", embedding=[0.0, 1.0])]) == 1
        assert {document.content for document in everything(mine)} == {"Mine."}
        mine.delete_all_documents()
    assert all(store.count_documents() == 1 for store in others)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:40])
def test_no_id_filter_or_text_reaches_another_scope(index: scrubjay.Index, value: Any) -> None:
    theirs = ScrubjayDocumentStore(index=index, tenant="globex")
    theirs.write_documents(
        [Document(id="secret", content=SECRET, embedding=[1.0, 0.0], meta={"owner": "globex"})]
    )
    mine = ScrubjayDocumentStore(index=index, tenant="acme")
    mine.write_documents([Document(id="own", content="Mine.", embedding=[0.0, 1.0])])
    stored = index.list(theirs.scope)[0].id
    for id in (value, stored, "secret", f"globex/{value}", f"{stored}:{value}"):
        mine.delete_documents([id])
        for filters in (
            {"field": "id", "operator": "==", "value": id},
            {"field": "id", "operator": "in", "value": [id, "secret", stored]},
            {"field": f"meta.{id}", "operator": "!=", "value": id},
            {"field": str(id), "operator": "==", "value": None},
            {"operator": "OR", "conditions": [{"field": "meta.owner", "operator": "==", "value": "globex"}]},
            {"operator": "NOT", "conditions": [{"field": "meta.owner", "operator": "==", "value": id}]},
        ):
            assert {found.id for found in mine.filter_documents(filters)} <= {"own"}
            assert {found.id for found in mine.hybrid_retrieval("launch code", [1.0, 0.0], filters)} <= {
                "own"
            }
            assert mine.update_by_filter(filters, {"seen": True}) <= 1
        if isinstance(id, str) and id:
            assert {found.id for found in mine.bm25_retrieval(id)} <= {"own"}
            try:
                mine.write_documents([Document(id=id, content="Overwritten?")], DuplicatePolicy.OVERWRITE)
            except (TypeError, ValueError):
                continue
            mine.delete_documents([id])
    mine.delete_by_filter({"operator": "AND", "conditions": []})
    mine.delete_all_documents()
    (left,) = theirs.filter_documents()
    assert left.content == SECRET and left.meta == {"owner": "globex"} and left.embedding == [1.0, 0.0]


@given(
    filters=st.recursive(
        st.none()
        | st.integers()
        | st.text(max_size=3)
        | st.sampled_from(["field", "AND", "meta.x", ">", "in"]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["field", "operator", "value", "conditions", "$or", "x"]), inner, max_size=4
            )
        ),
    )
)
def test_any_malformed_filter_raises_filter_error(filters: Any) -> None:
    index = scrubjay.Index()
    ScrubjayDocumentStore(index=index, tenant="globex").write_documents([Document(content=SECRET)])
    mine = ScrubjayDocumentStore(index=index, tenant="acme")
    mine.write_documents([Document(id="own", content="Mine.", meta={"x": "text"})])
    try:
        found = mine.filter_documents(filters)
    except FilterError:
        return
    assert {one.id for one in found} <= {"own"}


def test_scores_do_not_tell_of_others(index: scrubjay.Index) -> None:
    """No bit of a score changes with the contents of other scopes."""
    mine = ScrubjayDocumentStore(index=index, tenant="acme", user="jane")
    mine.write_documents([Document(content=f"launch window {n}", embedding=[1.0, n]) for n in range(5)])
    before = everything(mine)
    for tenant, user in (("globex", None), ("acme", "joe"), ("acme", "jane2"), ("acmee", "jane")):
        others = ScrubjayDocumentStore(index=index, tenant=tenant, user=user)
        others.write_documents(
            [Document(content=f"launch code {n}", embedding=[1.0, n / 7]) for n in range(50)]
        )
    assert everything(mine) == before


def test_shared_documents_are_read_only(index: scrubjay.Index) -> None:
    shared = ScrubjayDocumentStore(index=index, tenant="acme")
    jane = ScrubjayDocumentStore(index=index, tenant="acme", user="jane")
    shared.write_documents([Document(id="1", content="Invoices go out on Mondays.", meta={"n": 1})])
    assert [found.id for found in jane.filter_documents()] == ["1"]
    everything_there = {"operator": "AND", "conditions": []}
    assert jane.update_by_filter(everything_there, {"n": 2}) == jane.delete_by_filter(everything_there) == 0
    jane.delete_documents(["1"])
    jane.delete_all_documents()
    assert jane.write_documents([Document(id="1", content="Jane's own.")]) == 1  # ids belong to a scope
    assert [
        found.content for found in jane.filter_documents({"field": "id", "operator": "==", "value": "1"})
    ] == [
        "Invoices go out on Mondays.",
        "Jane's own.",
    ]
    for chosen in (
        "Invoices go out on Mondays.",
        "Jane's own.",
    ):  # tested by Haystack, document by document
        one = {"field": "content", "operator": "==", "value": chosen}
        assert [found.content for found in jane.bm25_retrieval("own invoices", one, top_k=1)] == [chosen]
        assert [found.content for found in jane.filter_documents(one)] == [chosen]
    assert len(jane.bm25_retrieval("own invoices")) == 2
    jane.delete_documents(["1"])
    assert [found.meta for found in shared.filter_documents()] == [{"n": 1}]
    jane.write_documents([Document(id="2", content="Jane's own.")])
    shared.delete_all_documents()  # the shared documents, not those of its users
    assert [found.id for found in jane.filter_documents()] == ["2"]

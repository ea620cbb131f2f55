"""Isolation of the vector store: no access to documents of another scope, and no trace of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_core")

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding

import scrubjay
from scrubjay import Query, Scope
from scrubjay.adapters.langchain import ScrubjayRetriever, ScrubjayVectorStore
from tests.adapters.hostile import NAMES, TWINS, VALUES

SECRET = "The launch code is zx-9981."
EMBEDDINGS = DeterministicFakeEmbedding(size=6)


@pytest.fixture(params=["memory", "file"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "memory":
        yield scrubjay.Index()
    else:
        with scrubjay.Index.open(tmp_path / "documents.scrubjay") as index:
            yield index


def open_store(index: scrubjay.Index, *scope: str | None) -> ScrubjayVectorStore:
    return ScrubjayVectorStore(EMBEDDINGS, index=index, scope=Scope(*scope))


def in_mode(mode: Any, options: dict[str, Any]) -> dict[str, Any]:
    return {**options, "scrubjay_query": options.get("scrubjay_query", Query()).replace(mode=mode)}


def everything(store: ScrubjayVectorStore, **options: Any) -> list[tuple[Document, float]]:
    return [
        *store.similarity_search_with_score(SECRET, k=100, **options),
        *store.similarity_search_with_score(SECRET, k=100, **in_mode("vector", options)),
        *store.similarity_search_with_score(SECRET, k=100, **in_mode("lexical", options)),
        *store.similarity_search_with_relevance_scores(SECRET, k=100, **options),
        *((document, 0.0) for document in store.max_marginal_relevance_search(SECRET, k=100, **options)),
        *(
            (document, 0.0)
            for document in ScrubjayRetriever(vectorstore=store, k=100).invoke(SECRET, **options)
        ),
    ]


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_no_name_of_a_tenant_or_user_reaches_anothers(index: scrubjay.Index, name: str) -> None:
    others = [open_store(index, twin) for twin in TWINS(name)]
    others += [open_store(index, "acme", twin) for twin in TWINS(name)]
    others += [open_store(index, "acme", None, twin) for twin in TWINS(name)]
    for store in others:
        store.add_texts([SECRET], ids=["1"])
    for mine in (
        open_store(index, name),
        open_store(index, "acme", name),
        open_store(index, "acme", None, name),
    ):
        assert everything(mine) == [] and mine.get_by_ids(["1"]) == []
        assert mine.add_texts(["Mine."], ids=["1"]) == ["1"]  # the id is not taken
        assert {document.page_content for document, _ in everything(mine)} == {"Mine."}
        mine.delete()
    assert all(store.get_by_ids(["1"])[0].page_content == SECRET for store in others)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:40])
def test_no_id_filter_or_text_reaches_another_scope(index: scrubjay.Index, value: Any) -> None:
    theirs = open_store(index, "globex")
    theirs.add_texts([SECRET], [{"owner": "globex"}], ids=["secret"])
    mine = open_store(index, "acme")
    mine.add_texts(["Mine."], ids=["own"])
    stored = index.list(theirs.scope)[0].id
    for id in (value, stored, "secret", f"globex/{value}", f"{stored}:{value}"):
        assert mine.get_by_ids([id]) == []
        mine.delete([id])
        asked: list[dict[str, Any]] = []
        for name, given in (
            ("ids", [id, "secret", stored]),
            ("exclude", [id, "own"]),
            ("rankings", [[id, "secret", stored]]),
            ("rankings", [[(theirs.scope, id), (theirs.scope, "secret")]]),
        ):
            try:
                asked.append({"scrubjay_query": Query(**{name: given})})
            except (TypeError, ValueError):  # an invalid id
                continue
        for options in (
            {"filter": {"owner": id}},
            {"filter": {"$or": [{"owner": "globex"}, {"owner": {"$ne": id}}]}},
            {"filter": {str(id): {"$exists": False}}},
            {"filter": lambda document: True},
            {"filter": id} if not callable(id) else {},
            *asked,
        ):
            try:
                found = everything(mine, **options)
            except (TypeError, ValueError):  # an invalid filter
                continue
            assert {document.id for document, _ in found} <= {"own"}
        if isinstance(id, str) and id:
            try:
                mine.add_texts(["Overwritten?"], [{"owner": id}], ids=[id])
            except (TypeError, ValueError):
                continue
            mine.delete([id])
    mine.delete()
    (left,) = theirs.get_by_ids(["secret"])
    assert left == Document(SECRET, id="secret", metadata={"owner": "globex"})


@pytest.mark.parametrize("option", ["scope", "vector", "k", "text", "explain", "query"])
def test_options_do_not_reach_what_the_store_decides(index: scrubjay.Index, option: str) -> None:
    open_store(index, "globex").add_texts([SECRET])
    mine = open_store(index, "acme")
    given = {
        "scope": Scope("globex"),
        "vector": [1.0] * 6,
        "k": 5,
        "text": SECRET,
        "explain": True,
        "query": Query(),
    }[option]
    try:
        assert mine.similarity_search(SECRET, **{option: given}) == []
    except TypeError:
        pass
    try:
        assert ScrubjayRetriever(vectorstore=mine).invoke(SECRET, **{option: given}) == []
    except TypeError:
        pass


def test_scores_do_not_tell_of_others(index: scrubjay.Index) -> None:
    """No bit of a score changes with the contents of other scopes."""
    mine = open_store(index, "acme", "jane")
    mine.add_texts([f"launch window {n}" for n in range(5)])
    before = everything(mine)
    for scope in (
        ("globex",),
        ("acme", "joe"),
        ("acme", "jane2"),
        ("acmee", "jane"),
        ("acme", "joe", "jane"),
    ):
        open_store(index, *scope).add_texts([f"launch code {n}" for n in range(50)])
    assert everything(mine) == before


def test_shared_documents_are_read_only(index: scrubjay.Index) -> None:
    shared, jane = open_store(index, "acme"), open_store(index, "acme", "jane")
    shared.add_texts(["Invoices go out on Mondays."], ids=["1"])
    assert jane.get_by_ids(["1"])[0].page_content == "Invoices go out on Mondays."
    jane.delete(["1"])
    jane.delete()
    jane.add_texts(["Jane's own."], ids=["1"])  # for equal ids, the own document wins
    assert jane.get_by_ids(["1"])[0].page_content == "Jane's own."
    assert {document.page_content for document, _ in everything(jane)} == {
        "Jane's own.",
        "Invoices go out on Mondays.",
    }
    assert shared.get_by_ids(["1"])[0].page_content == "Invoices go out on Mondays."
    # A function chooses between the two with one id.
    for chosen in ("Jane's own.", "Invoices go out on Mondays."):
        for k in (1, 100):
            found = jane.similarity_search(
                "own invoices", k=k, filter=lambda document, wanted=chosen: document.page_content == wanted
            )
            assert [document.page_content for document in found] == [chosen]
    shared.delete()  # the shared documents, not those of its users
    assert [document.page_content for document in jane.similarity_search("own invoices")] == ["Jane's own."]

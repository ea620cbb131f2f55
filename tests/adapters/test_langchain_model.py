"""Random operations on the vector store, compared with LangChain's in-memory store where the semantics agree.

That is mode "vector". Equal similarities may come in another order, and both skip unknown ids.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_core")

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore

from scrubjay import Query, Scope
from scrubjay.adapters.langchain import ScrubjayVectorStore

IDS = st.sampled_from(["a", "b", "c", "d", "ab", "a\0", "%", "é", "a:b"])
TEXTS = st.sampled_from(["one", "two", "three", "", "sk-stg-0041", "one two", "\0", "éa"])
METADATAS = st.fixed_dictionaries({}, optional={"n": st.integers(0, 3), "tag": st.sampled_from(["x", "y"])})
FILTERS: dict[str, tuple[dict[str, Any], Any]] = {
    "n > 1": ({"n": {"$gt": 1}}, lambda document: document.metadata.get("n", 0) > 1),
    "tag is x": ({"tag": "x"}, lambda document: document.metadata.get("tag") == "x"),
    "no tag": ({"tag": {"$exists": False}}, lambda document: "tag" not in document.metadata),
    "n not 2": ({"n": {"$ne": 2}}, lambda document: document.metadata.get("n") != 2),
}
USERS = st.sampled_from(["jane", "joe"])


class Stores(RuleBasedStateMachine):
    """Two users of one file, each with a separate LangChain store for comparison."""

    @initialize(in_file=st.booleans())
    def open(self, in_file: bool) -> None:
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "documents.scrubjay" if in_file else None
        self.embeddings = DeterministicFakeEmbedding(size=6)
        first = ScrubjayVectorStore(
            self.embeddings,
            path=path,
            query=Query(mode="vector"),
            dtype="f32",
            scope=Scope("acme", user="jane"),
            **({"durability": "normal"} if in_file else {}),
        )
        second = ScrubjayVectorStore(
            self.embeddings, index=first.index, query=Query(mode="vector"), scope=Scope("acme", user="joe")
        )
        self.ours = {"jane": first, "joe": second}
        self.theirs = {user: InMemoryVectorStore(self.embeddings) for user in self.ours}

    def teardown(self) -> None:
        if hasattr(self, "ours"):
            for store in self.ours.values():
                store.close()
            self.folder.cleanup()

    @rule(user=USERS, batch=st.lists(st.tuples(IDS, TEXTS, METADATAS), max_size=4))
    def add(self, user: str, batch: list[tuple[str, str, dict[str, Any]]]) -> None:
        documents = [Document(text, id=id, metadata=metadata) for id, text, metadata in batch]
        assert self.ours[user].add_documents(documents) == self.theirs[user].add_documents(documents)

    @rule(user=USERS, ids=st.lists(IDS, max_size=3))
    def delete(self, user: str, ids: list[str]) -> None:
        self.ours[user].delete(ids)
        self.theirs[user].delete(ids)

    @rule(user=USERS, ids=st.lists(IDS, max_size=5))
    def get(self, user: str, ids: list[str]) -> None:
        assert self.ours[user].get_by_ids(ids) == self.theirs[user].get_by_ids(ids)

    @rule(
        user=USERS,
        query=TEXTS,
        k=st.integers(1, 12),
        name=st.none() | st.sampled_from(sorted(FILTERS)),
        native=st.booleans(),
    )
    def search(self, user: str, query: str, k: int, name: str | None, native: bool) -> None:
        filter, function = (None, None) if name is None else FILTERS[name]
        expected = self.theirs[user].similarity_search_with_score(query, k, filter=function)
        all_of_them = {
            document.id: (document, score)
            for document, score in self.theirs[user].similarity_search_with_score(query, 100, filter=function)
        }
        found = self.ours[user].similarity_search_with_score(query, k, filter=filter if native else function)
        assert [score for _, score in found] == pytest.approx([score for _, score in expected], abs=1e-5)
        for document, score in found:
            assert document == all_of_them[document.id][0]
            assert score == pytest.approx(all_of_them[document.id][1], abs=1e-5)

    @rule(user=USERS, query=TEXTS, k=st.integers(1, 12))
    def diversify(self, user: str, query: str, k: int) -> None:
        """Relevance is scaled differently here, so only the sets of candidates are compared."""
        ours = self.ours[user].max_marginal_relevance_search(query, k, fetch_k=12)
        theirs = self.theirs[user].max_marginal_relevance_search(query, k, fetch_k=12)
        assert len(ours) == len(theirs) == len({document.id for document in ours})
        if k == 12:
            assert {document.id for document in ours} == {document.id for document in theirs}
        if ours:
            best = self.theirs[user].similarity_search_with_score(query, 12)
            assert {one.id: score for one, score in best}[ours[0].id] == pytest.approx(best[0][1], abs=1e-5)

    @invariant()
    def the_same_number(self) -> None:
        if hasattr(self, "ours"):
            for user, store in self.ours.items():
                assert store.index.count(store.scope) == len(self.theirs[user].store)


TestStores = Stores.TestCase

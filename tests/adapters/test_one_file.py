"""Do adapters of several frameworks work on one file at once, without seeing each other's memories?"""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("mem0")
pytest.importorskip("llama_index.core")

from llama_index.core.schema import TextNode
from llama_index.core.vector_stores.types import VectorStoreQuery, VectorStoreQueryMode

import scrubjay.adapters.llama_index as llama_index
import scrubjay.adapters.mem0 as mem0
from scrubjay import Index, Scope


def test_two_frameworks_and_the_index_itself(tmp_path: Path) -> None:
    path = tmp_path / "agent.scrubjay"
    memories = mem0.ScrubjayVectorStore("mem0", str(path), embedding_model_dims=2, tenant="acme")
    nodes = llama_index.ScrubjayVectorStore(path, tenant="acme", user="jane", dim=3)
    memories.insert([[1.0, 0.0]], [{"data": "a memory of tea", "user_id": "jane"}], ["one"])
    nodes.add([TextNode(id_="one", text="a node about tea", embedding=[1.0, 0.0, 0.0])])
    with Index.open(path) as index:  # a second opening of the same file, by its owner
        index.upsert("one", "a note on tea", scope=Scope("acme", user="jane"))
        assert index.collections() == ["llama_index", "mem0"]
        found = index.collection("mem0").search("tea", scope=Scope("acme", user="jane"))
        assert [hit.text for hit in found] == ["a memory of tea"]
    assert [hit.payload["data"] for hit in memories.keyword_search("tea")] == ["a memory of tea"]
    query = VectorStoreQuery(query_str="tea", similarity_top_k=5, mode=VectorStoreQueryMode.SPARSE)
    assert [node.get_content() for node in nodes.query(query).nodes or []] == ["a node about tea"]
    memories.reset()
    assert len(nodes.get_nodes()) == 1
    nodes.clear()
    memories.close()
    nodes.add([TextNode(id_="two", text="still open", embedding=[1.0, 0.0, 0.0])])
    nodes.close()
    with Index.open(path) as index:
        assert len(index) == 1 and len(index.collection("llama_index")) == 1

"""Arguments that Index accepts as an embedder, errors for others; the embedder that a file needs."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrubjay import Index, Memory, Scope
from scrubjay.embedders import Function, OpenAIClient, OpenAICompatible, as_embedder
from scrubjay.embedders.static import PACKAGED_NAME

JANE = Scope("acme", user="jane")


def letters(texts: list[str]) -> list[list[float]]:
    return [[text.count("a") + 1.0, text.count("b") + 1.0, 1.0] for text in texts]


class LangChainLike:
    """Has the interface of langchain_core.embeddings.Embeddings."""

    model = "org/letters-1"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return letters(texts)

    def embed_query(self, text: str) -> list[float]:
        return letters([text + "b"])[0]


class SentenceTransformerLike:
    class model_card_data:  # noqa: N801 - as the library has it
        base_model = "sentence-transformers/all-MiniLM-L6-v2"

    def encode(self, texts: list[str], **_: Any) -> Any:
        return np.array(letters(texts))

    def get_sentence_embedding_dimension(self) -> int:
        return 3


class StaticModelLike:
    base_model_name = "minishlab/potion-base-8M"
    dim = 3

    def encode(self, texts: list[str]) -> Any:
        return np.array(letters(texts))


class TextEmbeddingLike:
    model_name = "BAAI/bge-small-en-v1.5"

    def embed(self, texts: list[str], batch_size: int = 1) -> Any:
        return iter(np.array(letters(texts)))

    query_embed = embed


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (letters, f"{__name__}.letters"),
        (LangChainLike(), "tests/letters-1"),
        (SentenceTransformerLike(), "sentence-transformers/all-MiniLM-L6-v2"),
        (StaticModelLike(), "model2vec/potion-base-8M"),
        (TextEmbeddingLike(), "fastembed/bge-small-en-v1.5"),
        (Function(letters, dim=3, name="mine"), "mine"),
    ],
)
def test_an_index_takes_objects_of_other_libraries(given: Any, name: str) -> None:
    index = Index(given)
    assert index.embedder is not None and (index.embedder.name, index.embedder.dim) == (name, 3)
    index.upsert_many([{"id": "a", "text": "aaaa"}, {"id": "b", "text": "bbbb"}], scope=JANE)
    hits = index.search("bb", scope=JANE)
    assert (hits.mode, hits[0].id) == ("hybrid", "b")


def test_langchains_own_class() -> None:
    embeddings = pytest.importorskip("langchain_core.embeddings")
    index = Index(embeddings.DeterministicFakeEmbedding(size=8))
    assert index.embedder is not None and index.embedder.name == "langchain_core/DeterministicFakeEmbedding"
    assert index.embedder.dim == 8


def test_embedder_names_open_their_embedders() -> None:
    assert as_embedder(None) is None and as_embedder("none") is None
    index = Index("default")
    assert index.embedder is not None and index.embedder.dim == 256
    ollama = as_embedder("ollama:nomic-embed-text")
    assert isinstance(ollama, OpenAICompatible) and ollama.name == "ollama/nomic-embed-text"
    assert "http://127.0.0.1:11434/v1/embeddings" in repr(ollama)
    assert "//box:11434/v1/e" in repr(as_embedder("ollama:x@http://box:11434/v1"))


class Answer:
    def __init__(self, data: list[Any]) -> None:
        self.data = data


class Item:
    def __init__(self, index: int, embedding: list[float]) -> None:
        self.index, self.embedding = index, embedding


class Client:
    """Has the interface of openai.OpenAI; answers in the wrong order, as the protocol allows."""

    def __init__(self) -> None:
        self.embeddings = self
        self.asked: list[dict[str, Any]] = []

    def create(self, **request: Any) -> Answer:
        self.asked.append(request)
        rows = letters(request["input"])
        return Answer([Item(i, row) for i, row in enumerate(rows)][::-1])


class AsyncClient(Client):
    pass


def test_a_client_of_openai() -> None:
    client = Client()
    embedder = OpenAIClient(client, "text-embedding-3-small", batch_size=2)
    index = Index(embedder)
    index.upsert_many([{"id": i, "text": "b" * i} for i in range(5)], scope=JANE)
    assert embedder.name == "openai/text-embedding-3-small" and embedder.dim == 3
    assert np.allclose(index.get(4, scope=JANE).vector, [1, 5, 1])  # type: ignore[union-attr]
    assert {request["model"] for request in client.asked} == {"text-embedding-3-small"}
    assert max(len(request["input"]) for request in client.asked) == 2
    assert OpenAIClient(client, "m", dimensions=3).embed_documents([]).shape == (0, 3)
    with pytest.raises(TypeError, match=r'OpenAIClient\(client, "text-embedding-3-small"\)'):
        Index(client)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not asynchronous"):
        OpenAIClient(AsyncClient(), "m")
    with pytest.raises(TypeError, match=r"embeddings\.create"):
        OpenAIClient(object(), "m")
    with pytest.raises(ValueError, match="batch_size"):
        OpenAIClient(client, "m", batch_size=0)


def test_invalid_embedders_are_refused_with_a_reason() -> None:
    with pytest.raises(ValueError, match="a function with a name"):
        Index(lambda texts: letters(texts))
    with pytest.raises(ValueError, match=r"to return \(n, dim\) numbers"):
        Index(len)
    with pytest.raises(TypeError, match="the class LangChainLike: call it first"):
        Index(LangChainLike)
    with pytest.raises(TypeError, match="embedder: expected an object"):
        Index(7)  # type: ignore[arg-type]
    nameless = StaticModelLike()
    nameless.base_model_name = ""
    with pytest.raises(ValueError, match="knows its name"):
        Index(nameless)  # type: ignore[arg-type]


# -------------------------------------------------------------------- requirements of files


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.scrubjay"


def test_auto_loads_the_model_of_the_file(path: Path) -> None:
    with Index.open(path, "default") as index:
        index.upsert("m1", "Prefers trains to planes.", scope=JANE)
    with Index.open(path, "auto") as index:
        assert index.embedder is not None and index.embedder.name == "wordllama/l2_supercat-256"
        assert index.search("railway", scope=JANE).mode == "hybrid"
    with Index.open(path) as index:
        (reason,) = index.search("trains", scope=JANE).degraded
        assert "'wordllama/l2_supercat-256'" in reason and 'Index.open(path, "auto")' in reason


def test_auto_names_a_model_that_it_cannot_load(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Index.open(path, Function(letters, dim=3, name="mine")) as index:
        index.upsert("m1", "bbb", scope=JANE)
    with caplog.at_level(logging.WARNING, "scrubjay"), Index.open(path, "auto") as index:
        assert index.embedder is None
        assert "'mine'" in index.search("bbb", scope=JANE).degraded[0]
    assert [record.name for record in caplog.records] == ["scrubjay.embedders"]
    assert "'mine'" in caplog.text


def test_auto_leaves_vectors_of_the_caller_alone(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Index.open(path) as index:
        index.upsert("m1", "bbb", scope=JANE, vector=np.ones(256))
    with Index.open(path, "auto") as index:
        assert index.embedder is None
    assert caplog.records == []
    assert Index("auto", dim=3).embedder is None


def test_auto_in_a_new_file_is_the_default_or_that_of_the_package(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with Index.open(path, "auto") as index:
        assert index.embedder is not None and index.embedder.dim == 256
    monkeypatch.setattr("scrubjay.embedders.wordllama.find_spec", lambda name: None)
    monkeypatch.setattr("scrubjay.embedders.wordllama.default", __import__("scrubjay").embedders.WordLlama)
    assert caplog.records == []
    with Index.open(path.with_name("n.scrubjay"), "auto") as index:
        assert index.embedder is not None and index.embedder.name == PACKAGED_NAME
        index.upsert("m1", "Prefers trains to planes.", scope=JANE)
    assert 'pip install "scrubjay[wordllama]"' in caplog.text and PACKAGED_NAME in caplog.text
    monkeypatch.undo()
    with Index.open(path.with_name("n.scrubjay"), "auto") as index:  # a file keeps its model
        assert index.embedder is not None and index.embedder.name == PACKAGED_NAME
    assert Index("auto", dim=3).embedder is None


@pytest.mark.parametrize("name", ["default", "static"])
def test_auto_in_a_file_of_a_memory_is_the_model_of_its_facts(path: Path, name: str) -> None:
    """The documents beside a memory have no vectors as long as there are none."""
    with Memory.open(path, name) as memory:
        memory.propose("Jane lives in Oslo.", scope=JANE, source="run-1")
        made = memory.index.embedder
        assert made is not None
    with Memory.open(path, "auto") as memory:
        assert memory.documents.embedder is not None and memory.documents.embedder.name == made.name
        assert memory.index.embedder is not None and memory.index.embedder.name == made.name
        assert memory.recall("where?", JANE).degraded == ()
    with Memory.open(path) as memory:  # none was given
        assert memory.documents.embedder is None

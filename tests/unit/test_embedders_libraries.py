"""Libraries are called correctly. With stand-ins for models, since real ones have to be downloaded."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from scrubjay.embedders import FastEmbed, Model2Vec, SentenceTransformers


def test_model2vec(monkeypatch: pytest.MonkeyPatch) -> None:
    class StaticModel:
        dim = 3
        loaded: list[str] = []  # noqa: RUF012

        @classmethod
        def from_pretrained(cls, name: str) -> StaticModel:
            cls.loaded.append(name)
            return cls()

        def encode(self, texts: list[str]) -> Any:
            return np.array([[len(text), 0, 1] for text in texts], dtype=np.float64)

    module = ModuleType("model2vec")
    module.StaticModel = StaticModel  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "model2vec", module)
    embedder = Model2Vec("models/potion")
    assert (embedder.name, embedder.dim, StaticModel.loaded) == ("model2vec/potion", 3, ["models/potion"])
    assert embedder.embed_documents(["a", "bb"]).tolist() == [[1, 0, 1], [2, 0, 1]]
    assert embedder.embed_query("ccc").tolist() == [3, 0, 1]
    assert embedder.embed_documents([]).shape == (0, 3)


class Transformer:
    """A stand-in for sentence_transformers.SentenceTransformer."""

    def __init__(self, prompts: dict[str, str] | None = None) -> None:
        self.prompts = prompts or {}
        self.calls: list[tuple[list[str], dict[str, Any]]] = []

    def get_sentence_embedding_dimension(self) -> int:
        return 2

    def encode(self, texts: list[str], **options: Any) -> Any:
        self.calls.append((texts, options))
        return np.ones((len(texts), 2), dtype=np.float16)


def test_sentence_transformers_with_prefixes() -> None:
    model = Transformer({"query": "unused: "})
    embedder = SentenceTransformers(
        model, name="e5", query_prefix="query: ", document_prefix="passage: ", batch_size=8
    )
    assert embedder.embed_documents(["a"]).dtype == np.float32
    assert embedder.embed_query("b").shape == (2,)
    assert [texts for texts, _ in model.calls] == [["passage: a"], ["query: b"]]
    assert all("prompt_name" not in options and options["batch_size"] == 8 for _, options in model.calls)


def test_sentence_transformers_with_prompts_of_the_model() -> None:
    model = Transformer({"query": "find: ", "document": ""})
    embedder = SentenceTransformers(model, name="prompted")
    embedder.embed_documents(["a"])
    embedder.embed_query("b")
    assert [options.get("prompt_name") for _, options in model.calls] == [None, "query"]


def test_fastembed(monkeypatch: pytest.MonkeyPatch) -> None:
    class TextEmbedding:
        def __init__(self, model_name: str, **options: Any) -> None:
            self.options = options

        def embed(self, texts: list[str], **_: Any) -> Any:
            return (np.float32([1, len(text)]) for text in texts)

        def query_embed(self, texts: list[str]) -> Any:
            return (np.float32([2, len(text)]) for text in texts)

    module = ModuleType("fastembed")
    module.TextEmbedding = TextEmbedding  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "fastembed", module)
    embedder = FastEmbed("BAAI/bge-small-en-v1.5", threads=1)
    assert (embedder.name, embedder.dim) == ("fastembed/bge-small-en-v1.5", 2)
    assert embedder.embed_documents(["a", "bb"]).tolist() == [[1, 1], [1, 2]]
    assert embedder.embed_query("ccc").tolist() == [2, 3]


@pytest.mark.parametrize("kind", [Model2Vec, SentenceTransformers, FastEmbed])
def test_a_model_object_needs_a_name(kind: Any) -> None:
    with pytest.raises(ValueError, match=r"^name: expected the model's name"):
        kind(Transformer())

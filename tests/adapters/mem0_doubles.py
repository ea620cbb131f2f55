"""A scripted embedder and language model for mem0, without a network."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import mem0
from mem0.configs.llms.base import BaseLlmConfig
from mem0.utils.factory import EmbedderFactory, LlmFactory

import scrubjay.adapters.mem0

DIM = 8


class Embedder:
    """Maps texts to the directions in `topics`; a text without a listed topic is far from everything."""

    topics: ClassVar[dict[str, int]] = {}

    def __init__(self, config: Any) -> None:
        self.config = config

    def embed(self, text: str, action: str | None = None) -> list[float]:
        vector = [0.0] * DIM
        for word, axis in self.topics.items():
            if word in text.lower():
                vector[axis] = 1.0
        if not any(vector):
            vector[DIM - 1] = 1.0
        length = math.hypot(*vector)
        return [number / length for number in vector]

    def embed_batch(self, texts: Iterable[str], action: str = "add") -> list[list[float]]:
        return [self.embed(text, action) for text in texts]


class LanguageModel:
    """Extracts each line of the user's message as a memory."""

    def __init__(self, config: Any) -> None:
        self.config = config

    def generate_response(self, messages: list[dict[str, str]], **options: Any) -> str:
        said = messages[-1]["content"].rpartition("REMEMBER:")[2].partition("END")[0]
        lines = [line.strip() for line in said.replace("\\n", "\n").splitlines()]
        return json.dumps({"memory": [{"text": line} for line in lines if line]})


def remember(*lines: str) -> str:
    """Return a message from which each line becomes a memory."""
    return "REMEMBER:\n" + "\n".join(lines) + "\nEND"


@contextmanager
def scripted(topics: dict[str, int]) -> Iterator[None]:
    """Have mem0 use the doubles within the block."""
    scrubjay.adapters.mem0.register()
    embedder, llm = EmbedderFactory.provider_to_class["openai"], LlmFactory.provider_to_class["openai"]
    Embedder.topics = topics
    EmbedderFactory.provider_to_class["openai"] = f"{__name__}.Embedder"
    LlmFactory.provider_to_class["openai"] = (f"{__name__}.LanguageModel", BaseLlmConfig)
    try:
        yield
    finally:
        EmbedderFactory.provider_to_class["openai"] = embedder
        LlmFactory.provider_to_class["openai"] = llm


def config(provider: str, folder: Path, **options: Any) -> dict[str, Any]:
    """Return a configuration of mem0 with the doubles and this vector store."""
    place = {"path": str(folder / f"{provider}.store"), "embedding_model_dims": DIM, **options}
    return {
        "vector_store": {"provider": provider, "config": place},
        "embedder": {"provider": "openai", "config": {}},
        "llm": {"provider": "openai", "config": {}},
        "history_db_path": str(folder / "history.db"),
    }


def memory(provider: str, folder: Path, **options: Any) -> Any:
    """Return a :class:`mem0.Memory` with the doubles and this vector store."""
    return mem0.Memory.from_config(config(provider, folder, **options))

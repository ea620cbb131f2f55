"""Embedders specified by a string: the address to which their texts are sent."""

from __future__ import annotations

import logging

import pytest

from scrubjay.embedders.accepted import embedder_of_model
from scrubjay.embedders.http import OpenAICompatible
from scrubjay.embedders.spec import from_spec

OPENAI = "https://api.openai.com/v1/embeddings"


@pytest.mark.parametrize(
    ("spec", "name", "url"),
    [
        ("openai:nomic", "openai/nomic", OPENAI),
        ("openai:nomic@https://h.example/v1", "openai/nomic", "https://h.example/v1/embeddings"),
        ("openai:nomic@HTTP://h.example/v1", "openai/nomic", "http://h.example/v1/embeddings"),
        ("openai:nomic@localhost:1234/v1", "openai/nomic", "http://localhost:1234/v1/embeddings"),
        ("openai:nomic@LOCALHOST:1234/v1/", "openai/nomic", "http://LOCALHOST:1234/v1/embeddings"),
        ("openai:nomic@127.0.0.1:9/v1", "openai/nomic", "http://127.0.0.1:9/v1/embeddings"),
        ("openai:nomic@[::1]:9/v1", "openai/nomic", "http://[::1]:9/v1/embeddings"),
        ("openai:gecko@003@https://h.example/v1", "openai/gecko@003", "https://h.example/v1/embeddings"),
        ("ollama:nomic", "ollama/nomic", "http://127.0.0.1:11434/v1/embeddings"),
        ("ollama:nomic:v1.5@myhost:1234", "ollama/nomic:v1.5", "http://myhost:1234/v1/embeddings"),
        ("ollama:nomic@myhost", "ollama/nomic", "http://myhost:11434/v1/embeddings"),
        ("ollama:nomic@10.0.0.7:11434/v1/", "ollama/nomic", "http://10.0.0.7:11434/v1/embeddings"),
        ("ollama:nomic@HTTPS://myhost/v1", "ollama/nomic", "https://myhost/v1/embeddings"),
    ],
)
def test_texts_go_to_the_address_that_is_named(spec: str, name: str, url: str) -> None:
    embedder = from_spec(spec)
    assert isinstance(embedder, OpenAICompatible)
    assert repr(embedder) == f"<scrubjay.embedders.OpenAICompatible {name!r} at {url!r}>"


@pytest.mark.parametrize("kind", ["openai", "ollama"])
@pytest.mark.parametrize(
    "address", ["ftp://h", "file:///etc", "https//h", "h:port/v1", "", "http://", "u:p@h", "a b"]
)
def test_an_invalid_address_is_refused(kind: str, address: str) -> None:
    with pytest.raises(ValueError, match=r"expected http:// or https:// .*"):
        from_spec(f"{kind}:nomic@{address}")


@pytest.mark.parametrize("address", ["h.example/v1", "h.example:8000", "myhost", "003", "10.0.0.7:1234/v1"])
def test_another_machine_needs_a_scheme(address: str) -> None:
    with pytest.raises(ValueError, match=r"expected http:// or https:// and a host after the '@', got"):
        from_spec(f"openai:nomic@{address}")


def test_a_model_is_named() -> None:
    with pytest.raises(ValueError, match="expected openai:MODEL@URL"):
        from_spec("openai:@localhost:1234")


@pytest.mark.parametrize("model", ["ollama/nomic@http://h.example", "ollama/nomic@h.example"])
def test_a_file_names_no_address(model: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert embedder_of_model(model, None) is None
    assert "give that embedder" in caplog.text

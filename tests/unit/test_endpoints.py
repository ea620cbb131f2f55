"""The address to which each key is sent, and places where keys must not appear."""

from __future__ import annotations

import pytest

from scrubjay.base.endpoints import Endpoint
from scrubjay.base.errors import EmbedderError
from scrubjay.embedders import OpenAICompatible
from scrubjay.memory.intake.extractors import OpenAIExtractor
from scrubjay.retrieval import HttpReranker, OpenAIRewriter

KEYS = ("OPENAI_API_KEY", "CO_API_KEY", "COHERE_API_KEY", "JINA_API_KEY", "VOYAGE_API_KEY", "MISTRAL_API_KEY")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS:
        monkeypatch.setenv(name, f"of-{name.lower()}")
    monkeypatch.setenv("SCRUBJAY_RERANK_API_KEY", "of-nobody")


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://api.openai.com/v1/embeddings", "openai"),
        ("https://API.OpenAI.com:443/v1", "openai"),
        ("https://api.cohere.com/v2/rerank", "co"),
        ("https://api.jina.ai/v1/rerank", "jina"),
        ("https://api.voyageai.com/v1/rerank", "voyage"),
        ("https://api.mistral.ai/v1", "mistral"),
        ("https://api.openai.com.evil.example/v1", None),
        ("https://evil.example/api.openai.com/v1", None),
        ("https://evil.example/?https://api.openai.com", None),
        ("https://evil.example/#@api.openai.com", None),
        ("https://api.openai.com./v1", None),
        ("https://openai.com/v1", None),
        ("https://eu.api.openai.com/v1", None),
        ("http://127.0.0.1:11434/v1", None),
        ("http://localhost/v1", None),
    ],
)
def test_a_key_of_the_environment_goes_to_its_providers_host_alone(url: str, key: str | None) -> None:
    sent = Endpoint("url", url).headers().get("Authorization")
    assert sent == (None if key is None else f"Bearer of-{key}_api_key")
    assert Endpoint("url", url, "mine").headers()["Authorization"] == "Bearer mine"
    assert "Authorization" not in Endpoint("url", url, "").headers()


@pytest.mark.parametrize(
    "url", ["http://api.openai.com/v1", "http://api.jina.ai:80/v1/rerank", "https://api.openai.com:8443/v1"]
)
def test_a_key_of_the_environment_does_not_go_in_the_clear_or_to_another_port(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match=r"url: expected https://"):
        Endpoint("url", url)
    assert Endpoint("url", url, "mine").headers()["Authorization"] == "Bearer mine"
    for name in KEYS:
        monkeypatch.delenv(name)
    assert "Authorization" not in Endpoint("url", url).headers()


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example\\@api.openai.com/v1",
        "https://api.openai.com\\.evil.example/v1",
        "https://user:secret@api.openai.com/v1",
        "https://api.openai.com@evil.example/v1",
        "https://api.openai.com /v1",
        "https://api.openai.com\n.evil.example/v1",
        "https:///v1",
        "https://host:port/v1",
        "ftp://api.openai.com/v1",
        "api.openai.com/v1",
        "",
    ],
)
def test_an_address_that_may_be_read_in_two_ways_is_refused(url: str) -> None:
    """One parser's host may be another parser's password."""
    for make in (
        lambda: OpenAICompatible("m", base_url=url),
        lambda: HttpReranker("m", url=url),
        lambda: OpenAIRewriter("m", base_url=url),
        lambda: OpenAIExtractor("m", base_url=url),
    ):
        with pytest.raises(ValueError, match="url: expected") as caught:
            make()
        assert "secret" not in str(caught.value)


def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """http.client would include the whole header in its message."""
    for key in ("sec\nret", "secr\u00e9t", "sec\x00ret"):
        with pytest.raises(ValueError, match="api_key: expected printable ASCII") as caught:
            Endpoint("url", "https://models.example", key)
        assert key not in str(caught.value)
    with pytest.raises(ValueError, match="headers: X-Key") as caught:
        Endpoint("url", "https://models.example", headers={"X-Key": "sec\nret"})
    assert "ret" not in str(caught.value)
    monkeypatch.setenv("OPENAI_API_KEY", " of-a-file\n")  # `$(cat file)` strips it, a Dockerfile does not
    assert Endpoint("url", "https://api.openai.com/v1").headers()["Authorization"] == "Bearer of-a-file"


def test_secrets_in_an_address_are_not_shown() -> None:
    reranker = HttpReranker("m", url="https://models.example/rerank?key=secret", timeout_s=0.01)
    endpoint = Endpoint("url", "https://models.example/rerank?key=secret", "hush")
    assert "secret" not in reranker.name + repr(endpoint) + endpoint.shown + endpoint.name
    assert endpoint.name != Endpoint("url", "https://models.example/rerank?key=other").name
    assert "hush" not in repr(endpoint) + repr(vars(OpenAIRewriter("m"))["_endpoint"])


def test_a_provider_is_not_asked_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(EmbedderError, match=r"set OPENAI_API_KEY, or give api_key="):
        OpenAICompatible("m").embed_query("a")  # at once: no attempt is made

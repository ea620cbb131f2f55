"""CrewAI's storage, through its external memory."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("CREWAI_DISABLE_TELEMETRY", "true")
os.environ.setdefault("OTEL_SDK_DISABLED", "true")
pytest.importorskip("crewai.memory.storage.interface")

from crewai.memory.external.external_memory import ExternalMemory

from scrubjay import Index, Scope
from scrubjay.adapters.crewai import ScrubjayStorage
from scrubjay.embedders import Function

JANE = Scope("acme", user="jane")


def test_external_memory_saves_finds_and_resets(tmp_path: Path) -> None:
    memory = ExternalMemory(storage=ScrubjayStorage(tmp_path / "a", scope=JANE))
    memory.save("The staging key prefix is sk-stg-0041.", {"category": "keys", "at": date(2026, 3, 1)})
    memory.storage.save({"travels": "by train"})
    found = memory.search("sk-stg-0041")
    assert [one["content"] for one in found] == ["The staging key prefix is sk-stg-0041."]
    assert found[0]["metadata"] == {"category": "keys", "at": "2026-03-01"}
    assert found[0]["score"] == 1.0
    assert memory.search("train")[0]["content"] == '{"travels": "by train"}'
    assert memory.search("does she travel by aeroplane") == []
    memory.reset()
    assert memory.search("sk-stg-0041") == memory.search(" ") == []


def test_words_pass_the_threshold_that_a_model_would_not_let_them(tmp_path: Path) -> None:
    def sevens(texts: list[str]) -> list[list[float]]:
        return [[1.0, 0.0] if "key" in text else [0.0, 1.0] for text in texts]

    storage = ScrubjayStorage(scope=JANE, embedder=Function(sevens, dim=2, name="sevens"))
    storage.save("The key prefix is sk-stg-0041.", {})
    storage.save("A bicycle", {})
    assert storage.search("sk-stg-0041")[0]["content"] == "The key prefix is sk-stg-0041."
    assert [one["content"] for one in storage.search("the keys")] == ["The key prefix is sk-stg-0041."]


def test_scopes_are_apart() -> None:
    index = Index()
    scopes = [
        JANE,
        Scope("acme", user="jane1"),
        Scope("acme1", user="jane"),
        Scope("acme", user="%"),
        Scope("acme", user="j\0"),
    ]
    storages = [ScrubjayStorage(index, scope=scope) for scope in scopes]
    for number, storage in enumerate(storages):
        storage.save("secret", {"of": number})
    for number, storage in enumerate(storages):
        assert [one["metadata"]["of"] for one in storage.search("secret", limit=50)] == [number]
        assert storage.search("secret", filter={"of": number + 1}) == []
    storages[0].reset()
    assert len(storages[1].search("secret")) == 1


@pytest.mark.parametrize("scope", ["acme", None])
def test_a_scope_is_required(scope: Any) -> None:
    with pytest.raises(TypeError, match="scope"):
        ScrubjayStorage(scope=scope)


def test_its_repr_says_whose_and_where(tmp_path: Path) -> None:
    storage = ScrubjayStorage(tmp_path / "a", scope=JANE)
    said = f"ScrubjayStorage Scope('acme', user='jane'): 'crewai' of {tmp_path / 'a'}, by words"
    assert repr(storage) == f"<scrubjay.adapters.crewai.{said}>"
    storage.close()
    assert repr(storage) == f"<scrubjay.adapters.crewai.{said}, closed>"

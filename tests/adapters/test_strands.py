"""Strands' memory store, through its own manager."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("strands.memory")

from strands.memory import MemoryManager
from strands.vended_memory_stores.test_memory_store import TestMemoryStore

from scrubjay import Index, Scope
from scrubjay.adapters.strands import SCORE, ScrubjayMemoryStore

JANE = Scope("acme", user="jane")


def test_a_manager_writes_and_finds(tmp_path: Path) -> None:
    store = ScrubjayMemoryStore("notes", tmp_path / "a", scope=JANE, description="what was noted")
    manager = MemoryManager(stores=[store], add_tool_config=True)

    async def use() -> list[Any]:
        await manager.add("The staging key prefix is sk-stg-0041.", {"metadata": {"category": "keys"}})
        await manager.add("Prefers trains to planes.")
        return await manager.search("sk-stg-0041", {"max_search_results": 1})

    (entry,) = asyncio.run(use())
    assert (entry.content, entry.store_name) == ("The staging key prefix is sk-stg-0041.", "notes")
    assert entry.metadata["category"] == "keys"
    assert entry.metadata[SCORE] > 0
    store.close()
    again = ScrubjayMemoryStore("notes", tmp_path / "a", scope=JANE)
    assert asyncio.run(again.search("train"))[0].content == "Prefers trains to planes."
    again.close()


def test_the_same_text_is_one_memory_as_in_strands_own_store() -> None:
    texts = ["alpha beta", "alpha beta ", "alpha", "beta gamma"]

    async def use(store: Any) -> list[str]:
        for text in texts:
            await store.add(text, {"of": text})
            await store.add(text)
        return sorted((entry.content, entry.metadata["of"]) for entry in await store.search("alpha"))

    stock = TestMemoryStore(name="notes", persist=False)
    store = ScrubjayMemoryStore("notes", scope=JANE)
    assert asyncio.run(use(store)) == asyncio.run(use(stock))
    assert asyncio.run(store.search("?!")) == asyncio.run(store.search(" ")) == []


def test_scopes_are_apart() -> None:
    index = Index()
    scopes = [
        JANE,
        Scope("acme", user="jane1"),
        Scope("acme1", user="jane"),
        Scope("acme", user="%"),
        Scope("acme", user="j\0"),
    ]
    stores = [ScrubjayMemoryStore("notes", index, scope=scope) for scope in scopes]
    shared = ScrubjayMemoryStore("shared", index, scope=Scope("acme"))
    for number, store in enumerate(stores):
        asyncio.run(store.add("secret", {"of": number}))
    asyncio.run(shared.add("secret of all"))
    for number, store in enumerate(stores):
        seen = [entry.metadata.get("of") for entry in asyncio.run(store.search("secret"))]
        assert sorted(seen, key=str) == sorted([number] if number == 2 else [number, None], key=str)
    assert [entry.content for entry in asyncio.run(shared.search("secret"))] == ["secret of all"]


def test_invalid_arguments_are_named() -> None:
    for options in ({"name": " "}, {"max_search_results": 0}, {"scope": "acme"}):
        with pytest.raises((TypeError, ValueError)):
            ScrubjayMemoryStore(**{"name": "notes", "scope": JANE, **options})  # type: ignore[arg-type]
    store = ScrubjayMemoryStore("notes", scope=JANE, writable=False)
    with pytest.raises(ValueError, match="writable"):
        asyncio.run(store.add("text"))
    with pytest.raises(ValueError, match="max_search_results"):
        asyncio.run(store.search("text", {"max_search_results": 0}))
    with pytest.raises(ValueError, match="content"):
        asyncio.run(ScrubjayMemoryStore("notes", scope=JANE).add(" "))


def test_repr_names_scope_and_file() -> None:
    store = ScrubjayMemoryStore("notes", Index(), scope=JANE, collection="a b")
    said = "ScrubjayMemoryStore 'notes' of Scope('acme', user='jane'): 'a b' in memory, by words"
    assert repr(store) == f"<scrubjay.adapters.strands.{said}>"

"""Google ADK's memory service: sessions stored and found, compared with the in-memory service; isolation of users."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("google.adk")

from google.adk.events import Event
from google.adk.memory import InMemoryMemoryService
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions import Session
from google.genai import types
from hypothesis import given, settings
from hypothesis import strategies as st

from scrubjay import Scope
from scrubjay.adapters.google_adk import ScrubjayMemoryService
from scrubjay.documents.turns import FIELDS
from scrubjay.embedders import Function


def event(text: str | None, id: str, author: str = "user") -> Event:
    content = None if text is None else types.Content(role=author, parts=[types.Part(text=text)])
    return Event(id=id, author=author, content=content, timestamp=1_700_000_000.25)


def session(*events: Event, id: str = "s1", app: str = "app", user: str = "jane") -> Session:
    return Session(id=id, app_name=app, user_id=user, events=list(events))


def found(service: Any, query: str, app: str = "app", user: str = "jane") -> list[str]:
    response = asyncio.run(service.search_memory(app_name=app, user_id=user, query=query))
    return [memory.id for memory in response.memories]


def test_a_session_is_found_again_another_day(tmp_path: Path) -> None:
    service = ScrubjayMemoryService(tmp_path / "a")
    said = [
        event("The staging key prefix is sk-stg-0041.", "e1"),
        event("Noted.", "e2", "agent"),
        event(None, "e3"),
    ]
    asyncio.run(service.add_session_to_memory(session(*said)))
    service.close()
    service = ScrubjayMemoryService(tmp_path / "a")
    response = asyncio.run(
        service.search_memory(app_name="app", user_id="jane", query="which keys for staging?")
    )
    (memory,) = response.memories
    stock = InMemoryMemoryService()
    asyncio.run(stock.add_session_to_memory(session(*said)))
    assert (
        memory
        == asyncio.run(stock.search_memory(app_name="app", user_id="jane", query="staging")).memories[0]
    )
    assert found(service, "") == found(service, "?!") == []
    service.close()


def test_a_session_that_is_added_again_replaces_itself() -> None:
    service = ScrubjayMemoryService()
    asyncio.run(service.add_session_to_memory(session(event("alpha one", "e1"), event("alpha two", "e2"))))
    asyncio.run(service.add_session_to_memory(session(event("alpha two", "e2"), event("alpha three", "e3"))))
    asyncio.run(service.add_session_to_memory(session(event("alpha four", "e1"), id="s2")))
    assert sorted(found(service, "alpha")) == ["e1", "e2", "e3"]


def turns(service: ScrubjayMemoryService, user: str = "jane") -> dict[str, Any]:
    """Return the turn of each memory by its id."""
    there = service._documents.index.list(Scope("app", user), limit=None)
    return {str(record.id): tuple((record.metadata or {}).get(name) for name in FIELDS) for record in there}


def test_events_say_which_turns_of_their_session_they_are() -> None:
    service = ScrubjayMemoryService()
    first = [event("Which mug is yours?", "e1", "agent"), event(None, "e2"), event("The blue one.", "e3")]
    asyncio.run(service.add_session_to_memory(session(*first)))
    assert turns(service) == {"e1": ("s1", 0, "agent"), "e3": ("s1", 1, "user")}
    later = [event("The blue one.", "e3"), event("Noted.", "e4", "agent"), event("Thanks.", "e5")]
    options: dict[str, Any] = {"app_name": "app", "user_id": "jane"}
    asyncio.run(service.add_events_to_memory(events=later, session_id="s1", **options))
    expected = {
        "e1": ("s1", 0, "agent"),
        "e3": ("s1", 1, "user"),
        "e4": ("s1", 2, "agent"),
        "e5": ("s1", 3, "user"),
    }
    assert turns(service) == expected
    versions = {r.id: r.version for r in service._documents.index.list(Scope("app", "jane"))}
    asyncio.run(service.add_session_to_memory(session(*first, *later[1:])))
    assert turns(service) == expected
    assert versions == {
        r.id: r.version for r in service._documents.index.list(Scope("app", "jane"))
    }  # nothing new
    asyncio.run(service.add_session_to_memory(session(*later)))
    assert turns(service) == {"e3": ("s1", 0, "user"), "e4": ("s1", 1, "agent"), "e5": ("s1", 2, "user")}
    asyncio.run(service.add_events_to_memory(events=[event("Alone.", "e6")], **options))
    asyncio.run(
        service.add_memory(memories=[MemoryEntry(content=event("By hand.", "e7").content)], **options)
    )
    assert [turn for turn in turns(service).values() if turn[0] is None] == [(None, None, None)] * 2


def test_an_answer_is_found_by_its_question() -> None:
    service = ScrubjayMemoryService(max_results=2)
    others = [event(text, f"o{n}") for n, text in enumerate(["A red mug.", "A grey mug.", "A big mug."] * 5)]
    for number, other in enumerate(others):
        asyncio.run(service.add_session_to_memory(session(other, id=f"t{number}")))
    said = [event("Which coffee mug is yours?", "e1", "agent"), event("A blue mug.", "e2")]
    asyncio.run(service.add_session_to_memory(session(*said)))
    assert found(service, "which coffee mug is Jane's?") == ["e1", "e2"]


def test_a_deleted_memory_does_not_come_back() -> None:
    service = ScrubjayMemoryService()
    asyncio.run(service.add_session_to_memory(session(event("alpha", "e1"), event("alpha", "e2"))))
    asyncio.run(service.delete_memory(app_name="app", user_id="joe", memory_id="e1"))
    asyncio.run(service.delete_memory(app_name="app", user_id="jane", memory_id=None))
    assert sorted(found(service, "alpha")) == ["e1", "e2"]
    asyncio.run(service.delete_memory(app_name="app", user_id="jane", memory_id="e1"))
    asyncio.run(service.add_session_to_memory(session(event("alpha", "e1"), event("alpha", "e2"))))
    asyncio.run(service.add_session_to_memory(session(event("alpha", "e1"), user="joe")))
    assert found(service, "alpha") == ["e2"]
    assert found(service, "alpha", user="joe") == ["e1"]


def test_memories_are_added_as_they_are() -> None:
    service = ScrubjayMemoryService()
    content = types.Content(
        parts=[types.Part(text="alpha"), types.Part(inline_data=types.Blob(data=b"\xff\0", mime_type="x/y"))]
    )
    memory = MemoryEntry(
        content=content, id="m1", author="jane", timestamp="yesterday", custom_metadata={"a": [1]}
    )
    asyncio.run(
        service.add_memory(
            app_name="app",
            user_id="jane",
            memories=[memory, MemoryEntry(content=content)],
            custom_metadata={"b": 2},
        )
    )
    response = asyncio.run(service.search_memory(app_name="app", user_id="jane", query="alpha"))
    back = {entry.id: entry for entry in response.memories}
    assert len(back) == 2
    assert back["m1"] == memory.model_copy(update={"custom_metadata": {"a": [1], "b": 2}})


def test_users_and_applications_are_apart() -> None:
    service = ScrubjayMemoryService()
    names = [("app", "jane"), ("app", "jane1"), ("app1", "jane"), ("App", "jane"), ("app", "*"), ("app", "%"),
             ("app", "'; --"), ("app", "j\0"), ("app", "j" * 9000)]  # fmt: skip
    for app, user in names:
        asyncio.run(
            service.add_session_to_memory(session(event("secret alpha", f"{app}/{user}"), app=app, user=user))
        )
    for app, user in names:
        assert found(service, "secret", app, user) == [f"{app}/{user}"]
    for app, user in [("", "jane"), ("app", "")]:
        with pytest.raises(ValueError, match="expected"):
            found(service, "secret", app, user)


WORDS = st.lists(st.sampled_from(["alpha", "beta", "gamma", "delta"]), max_size=3).map(" ".join)
ADDED = st.lists(st.tuples(st.sampled_from(["s1", "s2"]), st.booleans(), st.lists(st.tuples(WORDS, st.integers(0, 4)), max_size=3, unique_by=lambda pair: pair[1])), max_size=5)  # fmt: skip # noqa: E501


@given(added=ADDED, deleted=st.lists(st.integers(0, 4), max_size=2))
@settings(max_examples=40, deadline=None)
def test_the_same_memories_are_found_as_by_the_service_in_memory(
    added: list[tuple[str, bool, list[tuple[str, int]]]], deleted: list[int]
) -> None:
    """The memories that contain a word; their order is the index's."""
    stock, service = InMemoryMemoryService(), ScrubjayMemoryService(max_results=100)
    texts: dict[tuple[str, int], str] = {}
    for one in (stock, service):
        texts.clear()
        for id, whole, said in added:
            # Events are immutable, so a number always means the same text.
            events = [event(texts.setdefault((id, n), text), f"{id}-{n}") for text, n in said]
            if whole:
                asyncio.run(one.add_session_to_memory(session(*events, id=id)))
            else:
                asyncio.run(
                    one.add_events_to_memory(app_name="app", user_id="jane", events=events, session_id=id)
                )
        for n in deleted:
            asyncio.run(one.delete_memory(app_name="app", user_id="jane", memory_id=f"s1-{n}"))
    for word in ("alpha", "beta", "delta"):
        expected = found(stock, word)
        if len(expected) < 10:  # the maximum that it returns
            assert sorted(found(service, word)) == sorted(expected)


def test_its_repr_says_where_and_by_what(tmp_path: Path) -> None:
    service = ScrubjayMemoryService(
        tmp_path / "a", embedder=Function(lambda texts: [[1.0]] * len(texts), dim=1, name="ones")
    )
    said = f"ScrubjayMemoryService 'google-adk' of {tmp_path / 'a'}, by words and ones, 10 at most"
    assert repr(service) == f"<scrubjay.adapters.google_adk.{said}>"
    service.close()
    assert "closed" in repr(service)

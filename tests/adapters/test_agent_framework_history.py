"""Microsoft Agent Framework's history provider, compared with the framework's own in files and in the session."""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agent_framework")

from agent_framework import AgentSession, Content, FileHistoryProvider, InMemoryHistoryProvider, Message
from hypothesis import given, settings
from hypothesis import strategies as st

from scrubjay import ClosedError, Index, Scope
from scrubjay.adapters.agent_framework import ScrubjayContextProvider, ScrubjayHistoryProvider
from tests.adapters.agent_framework_doubles import Model, agent_of
from tests.adapters.hostile import NAMES, TWINS
from tests.adapters.killed_writer import acknowledged_writes

JANE = Scope("acme", user="jane")


def save(history: Any, messages: Sequence[Message], session: str | None = "s1") -> None:
    asyncio.run(history.save_messages(session, messages))


def texts(history: Any, session: str | None = "s1") -> list[str]:
    return [message.text for message in asyncio.run(history.get_messages(session))]


def messages(*lines: str, role: str = "user") -> list[Message]:
    return [Message(role, [line]) for line in lines]


MESSAGES = {
    "text": Message("user", ["The key is sk-stg-0041."]),
    "author and id": Message("assistant", ["Noted."], author_name="helper", message_id="m-1"),
    "two texts": Message("user", ["one", "two"]),
    "image": Message("user", [Content.from_uri("data:image/png;base64,iVBORw0KGgo=", media_type="image/png")]),
    "call": Message("assistant", [Content.from_function_call("c1", "look_up", arguments={"of": ["é", 1.5, None]})]),
    "result": Message("tool", [Content.from_function_result("c1", result={"n": 2**60})]),
    "properties": Message("user", ["x"], additional_properties={"_excluded": True, "deep": {"$ne": [1, "a.b"]}}),
    "empty": Message("user", []),
    "odd": Message("user", ["a\0b \U0001f469\u200d\U0001f680 \ud83d"]),
    "no number": Message("user", ["x"], additional_properties={"score": float("inf")}),
}  # fmt: skip


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_comes_back_as_it_was(name: str) -> None:
    history = ScrubjayHistoryProvider(scope=JANE)
    message = MESSAGES[name]
    save(history, [message])
    (back,) = asyncio.run(history.get_messages("s1"))
    assert back.to_dict() == message.to_dict()


def test_an_agent_goes_on_with_a_session_in_another_process(tmp_path: Path) -> None:
    heard = []
    for question in ("My code is sk-stg-0041.", "What is my code?"):
        model, history = Model(), ScrubjayHistoryProvider(tmp_path / "a", scope=JANE)
        agent = agent_of(model, history)
        asyncio.run(agent.run(question, session=AgentSession(session_id="s1")))
        heard = [(message.role, message.text) for message in model.sent[0]]
        history.close()  # the next turn opens the file again
    assert heard == [
        ("user", "My code is sk-stg-0041."),
        ("assistant", "Noted."),
        ("user", "What is my code?"),
    ]


def test_both_providers_serve_one_agent_from_one_file(tmp_path: Path) -> None:
    history = ScrubjayHistoryProvider(tmp_path / "a", scope=JANE)
    memory = ScrubjayContextProvider(tmp_path / "a", scope=JANE)

    async def talk() -> list[str]:
        model = Model()
        agent = agent_of(model, history, memory)
        await agent.run("My code is sk-stg-0041.", session=AgentSession(session_id="s1"))
        await agent.run("What is my code sk-stg-0041?", session=AgentSession(session_id="s2"))
        return [message.text for message in model.sent[1]]

    memories, question = asyncio.run(talk())
    assert "sk-stg-0041. (said" in memories and question == "What is my code sk-stg-0041?"
    assert texts(history, "s2") == [
        "What is my code sk-stg-0041?",
        "Noted.",
    ]  # supplied context is not part of it
    history.close()
    memory.close()


ROLES = st.sampled_from(["user", "assistant"])
BATCHES = st.lists(
    st.lists(
        st.tuples(ROLES, st.sampled_from("ab"), st.sampled_from([None, None, "m1", "m2"])),
        min_size=1,
        max_size=4,
    ),
    max_size=6,
)


@given(batches=BATCHES, replay=st.booleans())
@settings(max_examples=150, deadline=None)
def test_replayed_messages_are_stored_like_in_the_stock_provider(batches: Any, replay: bool) -> None:
    """Replays of the whole conversation, of its end, and repeated questions."""
    history, state, stock = ScrubjayHistoryProvider(scope=JANE), {}, InMemoryHistoryProvider()  # type: ignore[var-annotated]
    whole: list[Message] = []
    for batch in batches:
        new = [Message(role, [text], message_id=id) for role, text, id in batch]
        whole += new
        given = whole if replay else new
        save(history, given)
        asyncio.run(stock.save_messages("s1", given, state=state))
        kept = asyncio.run(stock.get_messages("s1", state=state))
        back = asyncio.run(history.get_messages("s1"))
        assert [one.to_dict() for one in back] == [one.to_dict() for one in kept]


@pytest.mark.parametrize("session", ["s1", None, "", "CON", "a/../b", "é", "x" * 100])
def test_overlapping_saves_match_the_stock_file_provider(tmp_path: Path, session: str | None) -> None:
    stock, history = FileHistoryProvider(tmp_path), ScrubjayHistoryProvider(scope=JANE)
    for batch in (["one", "two"], ["two", "three"], ["one", "two", "three", "four"]):
        for one in (stock, history):
            save(one, messages(*batch, role="assistant"), session)
    assert texts(history, session) == texts(stock, session) == ["one", "two", "three", "four"]


def test_sessions_of_any_name(tmp_path: Path) -> None:
    """The stock file provider cannot name a file for it."""
    long, history = "x" * 3000, ScrubjayHistoryProvider(scope=JANE)
    with pytest.raises(OSError, match="too long"):
        save(FileHistoryProvider(tmp_path), messages("one"), long)
    save(history, messages("one"), long)
    assert (texts(history, long), texts(history, long + "x")) == (["one"], [])


def test_long_sessions_are_read_from_their_end() -> None:
    """The number of messages read by a save does not grow with the session."""
    history = ScrubjayHistoryProvider(scope=JANE, limit=3)
    save(history, messages(*(f"line {n}" for n in range(500))))
    read: list[int | None] = []
    documents = history._documents
    whole = documents.list

    def counting(*, limit: int | None = None, **options: Any) -> Any:
        read.append(limit)
        return whole(limit=limit, **options)

    documents.list = counting  # type: ignore[method-assign]
    save(history, messages("line 498", "line 499", "line 500"))
    assert texts(history) == ["line 498", "line 499", "line 500"]
    assert read == [4, 3]


def test_messages_that_were_excluded() -> None:
    kept = [*messages("kept"), Message("user", ["gone"], additional_properties={"_excluded": True})]
    for skip, expected in ((False, ["kept", "gone"]), (True, ["kept"])):
        history = ScrubjayHistoryProvider(scope=JANE, skip_excluded=skip)
        save(history, kept)
        assert texts(history) == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["question", "answer"]),
        ({"store_inputs": False}, ["answer"]),
        ({"store_outputs": False}, ["question"]),
        ({"load_messages": False}, ["question", "answer"]),
    ],
)
def test_store_options_of_the_framework_select_the_stored_messages(
    options: dict[str, bool], expected: list[str]
) -> None:
    history = ScrubjayHistoryProvider(scope=JANE, **options)
    asyncio.run(agent_of(Model("answer"), history).run("question", session=AgentSession(session_id="s1")))
    assert texts(history) == expected


def test_a_message_is_found_by_its_identifier() -> None:
    history = ScrubjayHistoryProvider(scope=JANE)
    chooser = random.Random(3)
    names = [f"{chooser.choice(['sk', 'inv'])}-{chooser.choice(['stg', 'prd'])}-{n:04d}" for n in range(200)]
    save(history, messages(*(f"The ticket of the billing service is {name}." for name in names)))

    async def ask() -> list[str]:
        return [(await history.search(f"what is {name}?", "s1", 1))[0].text for name in names]

    assert [
        name for name, text in zip(names, asyncio.run(ask()), strict=True) if f" {name}." not in text
    ] == []
    assert asyncio.run(history.search("ticket", "s2")) == []


# ------------------------------------------------------------------ scopes


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_look_alikes_are_apart(name: str) -> None:
    index = Index()

    def of(scope: Scope) -> ScrubjayHistoryProvider:
        return ScrubjayHistoryProvider(index, scope=scope)

    mine = of(Scope("acme", user=name))
    save(mine, messages("secret"), name)
    for other in TWINS(name):
        assert texts(mine, other) == []
        for scope in (Scope("acme", user=other), Scope(other, user=name), Scope("acme"), Scope(name)):
            assert texts(of(scope), name) == []
            asyncio.run(of(scope).delete_session(name))
        asyncio.run(mine.delete_session(other))
        asyncio.run(of(Scope(other)).delete_sessions(Scope(other)))
        asyncio.run(of(Scope(other)).delete_sessions(Scope("acme", user=other)))
    assert texts(mine, name) == ["secret"]


def test_a_scope_without_user_is_apart_from_every_user() -> None:
    index = Index()
    nobody, jane = (
        ScrubjayHistoryProvider(index, scope=Scope("acme")),
        ScrubjayHistoryProvider(index, scope=JANE),
    )
    save(nobody, messages("of nobody"))
    save(jane, messages("of jane"))
    assert (texts(nobody), texts(jane)) == (["of nobody"], ["of jane"])
    assert asyncio.run(jane.delete_sessions(JANE)) == 1
    assert (texts(nobody), texts(jane)) == (["of nobody"], [])


def test_a_scope_function_maps_sessions_to_users() -> None:
    index = Index()
    history = ScrubjayHistoryProvider(index, scope=lambda id: Scope("acme", user=id.partition(":")[0]))
    save(history, messages("of jane"), "jane:1")
    save(history, messages("of joe"), "joe:1")
    assert texts(ScrubjayHistoryProvider(index, scope=JANE), "jane:1") == ["of jane"]
    asyncio.run(history.delete_sessions(JANE))
    assert (texts(history, "jane:1"), texts(history, "joe:1")) == ([], ["of joe"])


def test_deleting_a_session_leaves_the_others() -> None:
    history = ScrubjayHistoryProvider(scope=JANE)
    for session in ("s1", "s10", "S1", "s1 "):
        save(history, messages("one", "two"), session)
    assert asyncio.run(history.delete_session("s1")) == 2
    assert [texts(history, session) for session in ("s1", "s10", "S1", "s1 ")] == [[]] + [["one", "two"]] * 3
    assert asyncio.run(history.search("one", "s1")) == []
    save(history, messages("one"), "s1")
    assert texts(history, "s1") == ["one"]


def test_turns_of_one_session_at_once_are_each_kept_once() -> None:
    history = ScrubjayHistoryProvider(scope=JANE)

    async def talk() -> None:
        batches = [messages(f"question {n}") + messages(f"answer {n}", role="assistant") for n in range(30)]
        await asyncio.gather(*(history.save_messages("s1", batch) for batch in batches))

    asyncio.run(talk())
    kept = texts(history)
    assert sorted(kept) == sorted(f"{what} {n}" for n in range(30) for what in ("question", "answer"))
    assert all(kept[n].replace("question", "answer") == kept[n + 1] for n in range(0, 60, 2))


# ------------------------------------------------------------------ files, errors

KILLED = """
import asyncio, itertools, sys
from agent_framework import Message
from scrubjay import Scope
from scrubjay.adapters.agent_framework import ScrubjayHistoryProvider

async def main():
    history = ScrubjayHistoryProvider(sys.argv[1], scope=Scope("acme", user="jane"))
    for n in itertools.count():
        await history.save_messages("s1", [Message("user", [f"q {n}"]), Message("assistant", [f"a {n}"])])
        print(n)

asyncio.run(main())
"""


def test_acknowledged_writes_survive_a_kill(tmp_path: Path) -> None:
    n = len(acknowledged_writes(KILLED, tmp_path / "a", after=50))
    history = ScrubjayHistoryProvider(tmp_path / "a", scope=JANE)
    expected = [f"{who} {i}" for i in range(n) for who in "qa"]
    found = texts(history)
    assert found[: 2 * n] == expected and len(found) in (2 * n, 2 * n + 2)  # whole turns
    history.close()


def test_foreign_documents_in_the_collection_are_not_messages() -> None:
    index = Index()
    history = ScrubjayHistoryProvider(index, scope=JANE)
    save(history, messages("one"))
    index.collection("agent-framework").upsert("x", "foreign", scope=Scope("acme", "jane", "s1"))
    save(history, messages("two"))
    assert texts(history) == ["one", "two"]
    assert [one.text for one in asyncio.run(history.search("foreign", "s1"))] == []


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"scope": "acme"}, "scope"),
        ({"scope": Scope("acme", "jane", "a")}, "scope"),
        ({"scope": Scope("acme", user=".")}, "scope"),
        ({"limit": 0}, "limit"),
        ({"limit": True}, "limit"),
        ({"query": 3}, "query"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], named: str) -> None:
    with pytest.raises((TypeError, ValueError), match=named):
        ScrubjayHistoryProvider(**{"scope": JANE, **arguments})


def test_an_invalid_message_is_named_and_stores_nothing() -> None:
    history = ScrubjayHistoryProvider(scope=JANE)
    with pytest.raises(TypeError, match=r"messages\[1\]: expected a Message, got str"):
        save(history, [*messages("one"), "text"])  # type: ignore[list-item]
    assert texts(history) == []


def test_a_closed_provider_raises_closed_error() -> None:
    with tempfile.TemporaryDirectory() as folder:
        history = ScrubjayHistoryProvider(folder + "/a", scope=JANE)
        assert "of Scope('acme', user='jane'): 'agent-framework' of" in repr(history)
        history.close()
        assert "closed" in repr(history)
        with pytest.raises(ClosedError):
            save(history, messages("one"))

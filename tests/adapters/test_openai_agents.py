"""The OpenAI Agents SDK's session: random operations compared with its own, a run, isolation from other sessions."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agents")

from agents import Agent, Runner, SessionSettings, SQLiteSession, set_tracing_disabled
from agents.items import ModelResponse
from agents.memory import Session
from agents.models.interface import Model
from agents.usage import Usage
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from scrubjay import Index
from scrubjay.adapters.openai_agents import ScrubjaySession
from scrubjay.documents.turns import FIELDS

ITEMS = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "assistant"]),
        "content": st.one_of(st.text(max_size=5), st.lists(st.none())),
    }
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add_items"), st.lists(ITEMS, max_size=3)),
        st.tuples(st.just("get_items"), st.one_of(st.none(), st.integers(-1, 4))),
        st.tuples(st.just("pop_item")),
        st.tuples(st.just("clear_session")),
    ),
    max_size=12,
)


@given(steps=STEPS)
@settings(max_examples=40, deadline=None)
def test_operations_agree_with_the_sdks_own_session(steps: list[Any]) -> None:
    async def play() -> None:
        stock, session = SQLiteSession("chat"), ScrubjaySession("chat")
        for name, *arguments in [*steps, ("get_items", None)]:
            expected = await getattr(stock, name)(*arguments)
            assert await getattr(session, name)(*arguments) == expected
        stock.close()

    asyncio.run(play())


def test_messages_say_which_turns_of_the_session_they_are(tmp_path: Path) -> None:
    def turns(session: ScrubjaySession) -> list[Any]:
        there = reversed(session._documents.list(scope=session._scope, exact=True, limit=None))
        return [tuple((record.metadata or {}).get(name) for name in FIELDS) for record in there]

    async def play(session: ScrubjaySession) -> None:
        mug = {"role": "user", "content": "Which mug is mine?"}
        call = {"type": "function_call", "name": "find", "arguments": '{"what": "mug"}', "call_id": "c1"}
        output = {"type": "function_call_output", "call_id": "c1", "output": "blue"}
        answer = {"role": "assistant", "content": [{"type": "output_text", "text": "The blue one."}]}
        await session.add_items([{"role": "system", "content": "Be kind."}, mug, call])
        await session.add_items([output, answer])
        none = (None, None, None)
        expected = [none, ("chat", 0, "user"), none, none, ("chat", 1, "assistant")]
        assert turns(session) == expected
        assert await session.pop_item() == answer
        await session.add_items(
            [answer, {"role": "user", "content": ""}, {"role": "user", "content": "Thanks"}]
        )
        assert turns(session) == [*expected, none, ("chat", 2, "user")]
        assert len(await session.get_items()) == 7 and (await session.get_items())[1] == mug
        await session.clear_session()
        await session.add_items([mug])
        assert turns(session) == [("chat", 0, "user")]

    with_file = ScrubjaySession("chat", tmp_path / "a.scrubjay")
    for session in (ScrubjaySession("chat"), with_file):
        asyncio.run(play(session))
        session.close()


def test_an_answer_is_found_by_its_question() -> None:
    async def play() -> list[Any]:
        session = ScrubjaySession("chat")
        for text in ["A red mug.", "A grey mug.", "A big mug."] * 5:
            await session.add_items([{"role": "user", "content": text}])
        for text in ("Fine, thanks.", "Which coffee mug is yours?"):
            await session.add_items([{"role": "assistant", "content": text}])
        await session.add_items([{"role": "user", "content": "A blue mug."}])
        return [item["content"] for item in await session.search("which coffee mug is Jane's?", 2)]

    assert asyncio.run(play()) == ["Which coffee mug is yours?", "A blue mug."]


class Echo(Model):
    """Answers with the number of its input items."""

    async def get_response(self, *arguments: Any, **options: Any) -> ModelResponse:
        given = options.get("input", arguments[1] if len(arguments) > 1 else None)
        text = ResponseOutputText(text=f"seen {len(given)}", type="output_text", annotations=[])
        message = ResponseOutputMessage(
            id="1", content=[text], role="assistant", status="completed", type="message"
        )
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *arguments: Any, **options: Any) -> Any:
        raise NotImplementedError


def test_an_agent_remembers_its_conversation_another_day(tmp_path: Path) -> None:
    set_tracing_disabled(True)
    agent = Agent(name="jay", model=Echo())

    async def ask(question: str) -> str:
        session = ScrubjaySession("chat", tmp_path / "a")
        assert isinstance(session, Session)
        try:
            return str((await Runner.run(agent, question, session=session)).final_output)
        finally:
            session.close()

    assert asyncio.run(ask("The key is sk-stg-0041.")) == "seen 1"
    assert asyncio.run(ask("And what is it?")) == "seen 3"
    session = ScrubjaySession("chat", tmp_path / "a", session_settings=SessionSettings(limit=1))
    assert len(asyncio.run(session.get_items())) == 1
    assert asyncio.run(session.search("sk-stg-0041", limit=1))[0]["content"] == "The key is sk-stg-0041."
    assert [item["role"] for item in asyncio.run(session.search("seen"))] == ["assistant", "assistant"]


def test_sessions_see_nothing_of_each_other() -> None:
    index = Index()
    names: list[dict[str, Any]] = [
        {"session_id": id} for id in ("chat", "chat1", "Chat", "%", "*", "'; --", "c\0", "x" * 9000)
    ]
    names += [{"session_id": "chat", "user": "jane"}, {"session_id": "chat", "tenant": "acme"}]
    sessions = [ScrubjaySession(where=index, **name) for name in names]

    async def use() -> None:
        for number, session in enumerate(sessions):
            await session.add_items([{"role": "user", "content": f"secret {number}"}])
        for number, session in enumerate(sessions):
            own = [{"role": "user", "content": f"secret {number}"}]
            assert await session.get_items() == await session.search("secret") == own
        await sessions[0].clear_session()
        assert await sessions[0].pop_item() is None
        assert all([await session.get_items() for session in sessions[1:]])

    asyncio.run(use())


@pytest.mark.parametrize("wrong", [{"session_id": ""}, {"session_id": 7}, {"session_id": "a", "user": "."}])
def test_wrong_names_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        ScrubjaySession(**wrong)


def test_items_that_json_cannot_express_are_refused_as_a_batch() -> None:
    session = ScrubjaySession("chat")
    with pytest.raises(TypeError, match=r"records\[1\]"):
        asyncio.run(session.add_items([{"role": "user"}, {"role": object()}]))
    assert asyncio.run(session.get_items()) == []


def test_each_item_is_popped_once() -> None:
    session = ScrubjaySession("chat")

    async def use() -> list[Any]:
        await session.add_items([{"n": n} for n in range(30)])
        return await asyncio.gather(*(session.pop_item() for _ in range(40)))

    popped = asyncio.run(use())
    assert sorted(item["n"] for item in popped if item is not None) == list(range(30))


def test_repr_names_scope_and_file(tmp_path: Path) -> None:
    said = "ScrubjaySession 'chat' of nobody of 'openai-agents': 'openai-agents' in memory, by words"
    assert repr(ScrubjaySession("chat")) == f"<scrubjay.adapters.openai_agents.{said}>"
    session = ScrubjaySession("chat", tmp_path / "a", tenant="acme", user="jane", collection=None)
    assert f"'chat' of user 'jane' of 'acme': of {tmp_path / 'a'}, by words>" in repr(session)
    session.close()
    assert "closed" in repr(session)

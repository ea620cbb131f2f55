"""The tools for PydanticAI and smolagents, called by their own agents, whose models are stand-ins."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Memory, Scope
from scrubjay.adapters._remembering import Remembering
from scrubjay.embedders import default
from scrubjay.memory import FactCandidate
from tests.adapters.hostile import NAMES, TWINS
from tests.adapters.killing import acknowledged

JANE = Scope("acme", user="jane")
KEY = "The staging key prefix is sk-stg-0041."
Call = tuple[str, dict[str, str]]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "agent.scrubjay", default()) as memory:
        yield memory


# ---------------------------------------------------------------------- each framework's agent, given what to call


def by_pydantic_ai(memory: Memory, scope: Any, calls: list[Call], **options: Any) -> list[str]:
    """Run an agent whose model makes these calls one after another; return what the tools answered it."""
    pytest.importorskip("pydantic_ai")
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    from scrubjay.adapters.pydantic_ai import memory_toolset

    left, answers = list(calls), list[str]()

    def model(messages: list[Any], info: AgentInfo) -> ModelResponse:
        assert [tool.name for tool in info.function_tools] == ["remember", "recall", "forget"]
        for part in messages[-1].parts:
            if isinstance(part, ToolReturnPart):
                answers.append(str(part.content))
            elif isinstance(part, RetryPromptPart):
                answers.append(f"error: {part.content}")
        if not left:
            return ModelResponse(parts=[TextPart("done")])
        name, arguments = left.pop(0)
        return ModelResponse(parts=[ToolCallPart(name, arguments)])

    agent = Agent(FunctionModel(model), toolsets=[memory_toolset(memory, scope=scope, **options)])
    assert agent.run_sync("Go on.").output == "done"
    return answers


def by_smolagents(memory: Memory, scope: Scope, calls: list[Call], **options: Any) -> list[str]:
    """The same with smolagents' agent that calls tools."""
    pytest.importorskip("smolagents")
    from smolagents import ToolCallingAgent
    from smolagents.models import (
        ChatMessage,
        ChatMessageToolCall,
        ChatMessageToolCallFunction,
        MessageRole,
        Model,
    )

    from scrubjay.adapters.smolagents import memory_tools

    left = [*calls, ("final_answer", {"answer": "done"})]

    class Scripted(Model):
        def generate(self, messages: Any, **options: Any) -> ChatMessage:
            name, arguments = left.pop(0)
            function = ChatMessageToolCallFunction(name=name, arguments=arguments)
            call = ChatMessageToolCall(id=f"c{len(left)}", type="function", function=function)
            return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call])

    agent = ToolCallingAgent(memory_tools(memory, scope=scope, **options), Scripted(), verbosity_level=0)
    assert agent.run("Go on.", max_steps=len(calls) + 2) == "done"
    answers = []
    for step in agent.memory.steps:
        if getattr(step, "error", None) is not None:
            answers.append(f"error: {step.error}")
        elif getattr(step, "observations", None) is not None and not step.is_final_answer:
            answers.append(str(step.observations).removeprefix("Observation:").strip())
    return answers


Run = Callable[..., list[str]]
runs = pytest.mark.parametrize("run", [by_pydantic_ai, by_smolagents])


def id_in(answer: str) -> str:
    (found,) = re.findall(r"\[([^\]]+)\]", answer)
    return str(found)


# ---------------------------------------------------------------------- both


@runs
def test_what_one_run_remembers_the_next_recalls_and_forgets(memory: Memory, run: Run) -> None:
    (said,) = run(memory, JANE, [("remember", {"content": KEY})], run="chat-1")
    assert said == f"Remembered [{id_in(said)}]."
    again, found = run(memory, JANE, [("remember", {"content": KEY}), ("recall", {"query": "sk-stg-0041"})])
    assert again == f"Already known [{id_in(said)}]." and found == f"- {KEY} [{id_in(said)}]"
    record = memory.get(id_in(said), scope=JANE)
    assert record is not None and record.provenance.run == "chat-1"  # type: ignore[union-attr]
    calls: list[Call] = [
        ("forget", {"id": f"[{id_in(said)}]"}),
        ("forget", {"id": id_in(said)}),
        ("recall", {"query": "sk-stg-0041"}),
    ]
    forgotten, gone, nothing = run(memory, JANE, calls)
    assert (forgotten, nothing) == ("Forgotten.", "Nothing is known.")
    assert gone == f"There is no memory [{id_in(said)}] that may be forgotten."


@runs
def test_it_is_found_by_meaning_and_identifiers_come_first(memory: Memory, run: Run) -> None:
    made = [f"The key prefix of the gateway is sk-{'stg' if n % 2 else 'prd'}-{n:04d}." for n in range(200)]
    memory.propose_all([(text, JANE, "import") for text in made])
    memory.propose("Lies awake after espresso.", scope=JANE, source="import")
    calls: list[Call] = [("recall", {"query": "trouble sleeping"})]
    calls += [("recall", {"query": f"what is {made[n].split()[-1][:-1]}?"}) for n in range(0, 200, 20)]
    slept, *found = run(memory, JANE, calls, k=3)
    assert slept.startswith("- Lies awake after espresso. [")
    assert [one.split("\n")[0].split(" [")[0] for one in found] == [f"- {made[n]}" for n in range(0, 200, 20)]
    assert all(one.count("\n") <= 2 for one in found)


@runs
def test_what_a_tool_cannot_take_is_told_to_the_model(memory: Memory, run: Run) -> None:
    calls: list[Call] = [
        ("remember", {"content": " "}),
        ("recall", {"query": " "}),
        ("forget", {"id": " "}),
        ("forget", {"id": "' OR 1=1 --"}),
        ("remember", {"content": KEY}),
    ]
    empty, nothing, none, hostile, kept = run(memory, JANE, calls)
    assert "content: expected a text that is not empty" in empty
    assert nothing == "Nothing is known." and none == "There is no memory [] that may be forgotten."
    assert hostile.startswith("There is no memory [' OR 1=1 --]") and kept.startswith("Remembered [")


@runs
def test_what_is_shared_is_recalled_and_stays(memory: Memory, run: Run) -> None:
    fact = FactCandidate("Acme closes on Mondays.", "acme", "closes on")
    shared = memory.propose(fact, scope=Scope("acme"), source="docs")
    memory.confirm(str(shared.id), by="ann", scope=Scope("acme"))
    memory.index.upsert("note", "The gate opens at six.", scope=JANE)
    calls: list[Call] = [
        ("recall", {"query": "mondays"}),
        ("forget", {"id": str(shared.id)}),
        ("recall", {"query": "gate"}),
        ("forget", {"id": "note"}),
    ]
    found, kept, note, kept_too = run(memory, JANE, calls)
    assert found == f"- Acme closes on Mondays. [{shared.id}]" and note == "- The gate opens at six."
    assert kept.startswith("There is no memory") and kept_too.startswith("There is no memory")
    assert memory.get(str(shared.id), scope=Scope("acme")) is not None and len(memory.index) == 1


@runs
@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_no_name_reaches_anothers(tmp_path: Path, run: Run, name: str) -> None:
    with Memory.open(tmp_path / "agent.scrubjay") as memory:
        mine = Scope("acme", user=name)
        own = memory.propose("The launch code is zx-9981.", scope=mine, source="docs")
        calls: list[Call] = [("recall", {"query": "zx-9981"}), ("forget", {"id": str(own.id)})]
        for twin in TWINS(name)[:4]:
            for scope in (Scope("acme", user=twin), Scope(twin, user=name)):
                nothing, kept = run(memory, scope, calls)
                assert nothing == "Nothing is known." and kept.startswith("There is no memory")
        assert run(memory, mine, calls) == [f"- The launch code is zx-9981. [{own.id}]", "Forgotten."]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"memory": "agent.scrubjay"}, "memory"),
        ({"scope": "acme"}, "scope"),
        ({"k": 0}, "k"),
        ({"k": True}, "k"),
        ({"run": " "}, "run"),
    ],
)
def test_what_is_wrong_is_said(memory: Memory, options: dict[str, Any], named: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{named}: "):
        Remembering(**{"memory": memory, "scope": JANE, **options})
    for module, make in (("pydantic_ai", "memory_toolset"), ("smolagents", "memory_tools")):
        pytest.importorskip(module)
        function = getattr(pytest.importorskip(f"scrubjay.adapters.{module}"), make)
        given = {"memory": memory, "scope": JANE, **options}
        with pytest.raises((TypeError, ValueError), match=f"^{named}: "):
            function(given.pop("memory"), **given)


# ---------------------------------------------------------------------- PydanticAI


def test_one_agent_serves_all_users_and_says_what_they_prefer(memory: Memory) -> None:
    pytest.importorskip("pydantic_ai")
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    from scrubjay.adapters.pydantic_ai import memory_toolset

    memory.policy("refunds", "Never promise refunds.", tenant="acme", by="legal")
    memory.prefer("tone", "Answer briefly.", scope=JANE)
    for user in ("jane", "joe"):
        memory.propose(f"The secret of {user}.", scope=Scope("acme", user=user), source="docs")
    told = list[str]()

    def model(messages: list[Any], info: AgentInfo) -> ModelResponse:
        if len(messages) == 1:
            told.append(info.instructions or "")
            return ModelResponse(parts=[ToolCallPart("recall", {"query": "secret"})])
        return ModelResponse(parts=[TextPart(messages[-1].parts[0].content)])

    toolset = memory_toolset(memory, scope=lambda context: Scope("acme", user=context.deps))
    agent = Agent(FunctionModel(model), deps_type=str, toolsets=[toolset])

    async def both() -> list[str]:
        answers = await asyncio.gather(*(agent.run("?", deps=user) for user in ("jane", "joe")))
        return [answer.output.split(" [")[0] for answer in answers]

    assert asyncio.run(both()) == ["- The secret of jane.", "- The secret of joe."]
    rules = "Rules:\n- Never promise refunds."
    assert sorted(told) == sorted([f"{rules}\nWhat the user prefers:\n- Answer briefly.", rules])
    silent = Agent(FunctionModel(model), toolsets=[memory_toolset(memory, scope=JANE, known=False)])
    silent.run_sync("?")
    assert told[-1] == ""


# ---------------------------------------------------------------------- smolagents


def test_the_tools_of_an_agent_that_writes_code(memory: Memory) -> None:
    pytest.importorskip("smolagents")
    from smolagents import CodeAgent
    from smolagents.models import ChatMessage, MessageRole, Model

    from scrubjay.adapters.smolagents import memory_tools

    class Scripted(Model):
        def generate(self, messages: Any, **options: Any) -> ChatMessage:
            code = f'remember(content="{KEY}")\nfinal_answer(recall(query="what is sk-stg-0041?"))'
            return ChatMessage(role=MessageRole.ASSISTANT, content=f"Thought: so.\n<code>\n{code}\n</code>")

    agent = CodeAgent(memory_tools(memory, scope=JANE), Scripted(), verbosity_level=0)
    assert str(agent.run("Go on.")).startswith(f"- {KEY} [")


# ---------------------------------------------------------------------- kills


def test_what_the_model_was_told_is_remembered_survives_a_kill(tmp_path: Path) -> None:
    said = acknowledged(
        """
import sys
from scrubjay import Memory, Scope
from scrubjay.adapters._remembering import Remembering
tools = Remembering(Memory.open(sys.argv[1]), Scope("acme", user="jane"))
n = 0
while True:
    assert tools.remember(f"Ticket number tk-{n:05d} is closed.").startswith("Remembered")
    print("wrote", f"tk-{n:05d}")
    n += 1
""",
        tmp_path / "a",
        25,
    )
    with Memory.open(tmp_path / "a") as memory:
        tools = Remembering(memory, JANE, k=1)
        assert all(f"- Ticket number {one} is closed." in tools.recall(one) for one in said)

"""The toolset for PydanticAI, called by its own agents with scripted models."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai")

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from scrubjay import Memory, Scope
from scrubjay.adapters.pydantic_ai import memory_toolset
from tests.adapters.tool_tests import JANE, Call, ToolTests


class TestPydanticAi(ToolTests):
    make = staticmethod(memory_toolset)

    def run(self, memory: Memory, scope: Any, calls: list[Call], **options: Any) -> list[str]:
        """Run an agent whose model makes these calls one after another; return the answers of the tools."""

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


def test_one_agent_serves_all_users_with_their_preferences(tmp_path: Path) -> None:
    memory = Memory.open(tmp_path / "agent.scrubjay")

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
    memory.close()

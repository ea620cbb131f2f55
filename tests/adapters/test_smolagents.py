"""The tools for smolagents, called by its own agents with scripted models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("smolagents")

from smolagents import CodeAgent, ToolCallingAgent
from smolagents.models import (
    ChatMessage,
    ChatMessageToolCall,
    ChatMessageToolCallFunction,
    MessageRole,
    Model,
)

from scrubjay import Memory
from scrubjay.adapters.smolagents import memory_tools
from tests.adapters.tool_tests import JANE, KEY, Call, ToolTests


class TestSmolagents(ToolTests):
    make = staticmethod(memory_tools)

    def run(self, memory: Memory, scope: Any, calls: list[Call], **options: Any) -> list[str]:
        """Run an agent whose model makes these calls one after another; return the answers of the tools."""

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


def test_the_tools_of_an_agent_that_writes_code(tmp_path: Path) -> None:
    memory = Memory.open(tmp_path / "agent.scrubjay")

    class Scripted(Model):
        def generate(self, messages: Any, **options: Any) -> ChatMessage:
            code = f'remember(content="{KEY}")\nfinal_answer(recall(query="what is sk-stg-0041?"))'
            return ChatMessage(role=MessageRole.ASSISTANT, content=f"Thought: so.\n<code>\n{code}\n</code>")

    agent = CodeAgent(memory_tools(memory, scope=JANE), Scripted(), verbosity_level=0)
    assert str(agent.run("Go on.")).startswith(f"- {KEY} [")
    memory.close()

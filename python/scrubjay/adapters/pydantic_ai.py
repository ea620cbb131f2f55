"""A toolset for PydanticAI agents: remember, recall and forget over a memory in one scope.

>>> import tempfile
>>> from pydantic_ai import Agent
>>> from pydantic_ai.models.test import TestModel
>>> from scrubjay import Memory, Scope
>>> folder = tempfile.TemporaryDirectory()
>>> with Memory.open(folder.name + "/agent.scrubjay") as memory:
...     toolset = memory_toolset(memory, scope=Scope("acme", user="jane"))
...     agent = Agent(TestModel(call_tools=["remember"]), toolsets=[toolset])
...     answer = agent.run_sync("The staging key prefix is sk-stg-0041.").output
>>> answer.startswith('{"remember":"Remembered [')
True
>>> folder.cleanup()
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from scrubjay._native import Scope
from scrubjay.adapters._memory_tools import FORGET, RECALL, REMEMBER, MemoryTools
from scrubjay.base.errors import MissingExtraError
from scrubjay.memory import Memory

try:
    from pydantic_ai import ModelRetry, RunContext
    from pydantic_ai.toolsets import FunctionToolset
except ImportError:
    raise MissingExtraError("scrubjay.adapters.pydantic_ai", "pydantic-ai", "pydantic-ai") from None

__all__ = ["memory_toolset"]


def memory_toolset(
    memory: Memory,
    *,
    scope: Scope | Callable[[Any], Scope],
    k: int = 10,
    run: str = "agent",
    known: bool = True,
    id: str | None = "scrubjay-memory",
) -> Any:
    """Return a `FunctionToolset` for `Agent(toolsets=[...])`.

    Args:
        memory: an open memory, which stays open.
        scope: the scope of the memories, out of the model's reach; or a function that returns it for PydanticAI's
            RunContext, so that one agent serves all users: ``lambda context: Scope("acme", user=context.deps.user)``.
        k: the maximum number of memories that a search shows.
        run: recorded as the source of what is remembered.
        known: whether the instructions of each run include the policies and preferences in force.
        id: the toolset's id, which durable execution needs.

    Invalid arguments of a tool (a blank text) are reported to the model, which may try again.

    Raises:
        TypeError, ValueError: an argument is invalid.
    """
    fixed = None if callable(scope) else MemoryTools(memory, scope, k, run)
    if fixed is None:
        MemoryTools(memory, Scope("any"), k, run)  # report other invalid arguments now

    def tools_of(context: RunContext[Any]) -> MemoryTools:
        return fixed or MemoryTools(memory, scope(context), k, run)  # type: ignore[operator]

    async def answered(verb: Callable[[str], str], given: str) -> str:
        try:
            return await asyncio.to_thread(verb, given)
        except (TypeError, ValueError) as error:
            raise ModelRetry(str(error)) from error

    async def remember(context: RunContext[Any], content: str) -> str:
        return await answered(tools_of(context).remember, content)

    async def recall(context: RunContext[Any], query: str) -> str:
        return await answered(tools_of(context).recall, query)

    async def forget(context: RunContext[Any], id: str) -> str:
        return await answered(tools_of(context).forget, id)

    async def instructions(context: RunContext[Any]) -> str:
        return await asyncio.to_thread(tools_of(context).known)

    toolset = FunctionToolset(id=id, instructions=instructions if known else None)
    for function, description in ((remember, REMEMBER), (recall, RECALL), (forget, FORGET)):
        toolset.add_function(function, takes_ctx=True, description=description)
    return toolset

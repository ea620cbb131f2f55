"""Tools for smolagents: remember, recall and forget over a memory in one scope.

>>> import tempfile
>>> from scrubjay import Memory, Scope
>>> folder = tempfile.TemporaryDirectory()
>>> with Memory.open(folder.name + "/agent.scrubjay") as memory:
...     remember, recall, forget = memory_tools(memory, scope=Scope("acme", user="jane"))
...     said = remember("The staging key prefix is sk-stg-0041.")
...     found = recall("what is sk-stg-0041?")
>>> found.startswith("- The staging key prefix is sk-stg-0041. [")
True
>>> folder.cleanup()
"""

from __future__ import annotations

from typing import Any

from scrubjay._native import Scope
from scrubjay.adapters._memory_tools import FORGET, RECALL, REMEMBER, MemoryTools
from scrubjay.base.errors import MissingExtraError
from scrubjay.memory import Memory

try:
    from smolagents import Tool
except ImportError:
    raise MissingExtraError("scrubjay.adapters.smolagents", "smolagents", "smolagents") from None

__all__ = ["ForgetTool", "RecallTool", "RememberTool", "memory_tools"]


def memory_tools(memory: Memory, *, scope: Scope, k: int = 10, run: str = "agent") -> list[Any]:
    """Return the three tools for `ToolCallingAgent(tools=[...])` or `CodeAgent(tools=[...])`.

    Args:
        memory: an open memory, which stays open.
        scope: the scope of the memories, out of the model's reach.
        k: the maximum number of memories that a search shows.
        run: recorded as the source of what is remembered.

    Invalid arguments of a tool (a blank text) raise ValueError, which smolagents reports to the model.

    Raises:
        TypeError, ValueError: an argument is invalid.
    """
    remembering = MemoryTools(memory, scope, k, run)
    return [RememberTool(remembering), RecallTool(remembering), ForgetTool(remembering)]


class RememberTool(Tool):
    """Remembers a fact; made by :func:`memory_tools`.

    Args:
        remembering: the memory and scope behind the tool.
    """

    name = "remember"
    description = REMEMBER
    inputs = {"content": {"type": "string", "description": "One statement that will still be true later."}}  # noqa: RUF012
    output_type = "string"

    def __init__(self, remembering: MemoryTools) -> None:
        super().__init__()
        self._remembering = remembering

    def forward(self, content: str) -> str:
        """Remember the fact `content` and return the outcome."""
        return self._remembering.remember(content)


class RecallTool(Tool):
    """Searches the memory; made by :func:`memory_tools`.

    Args:
        remembering: the memory and scope behind the tool.
    """

    name = "recall"
    description = RECALL
    inputs = {"query": {"type": "string", "description": "Words, names or identifiers to look for."}}  # noqa: RUF012
    output_type = "string"

    def __init__(self, remembering: MemoryTools) -> None:
        super().__init__()
        self._remembering = remembering

    def forward(self, query: str) -> str:
        """Return the memories relevant to the question `query`, one a line."""
        return self._remembering.recall(query)


class ForgetTool(Tool):
    """Forgets a memory; made by :func:`memory_tools`.

    Args:
        remembering: the memory and scope behind the tool.
    """

    name = "forget"
    description = FORGET
    inputs = {"id": {"type": "string", "description": "The id in brackets."}}  # noqa: RUF012
    output_type = "string"

    def __init__(self, remembering: MemoryTools) -> None:
        super().__init__()
        self._remembering = remembering

    def forward(self, id: str) -> str:
        """Forget the memory `id` and report it."""
        return self._remembering.forget(id)

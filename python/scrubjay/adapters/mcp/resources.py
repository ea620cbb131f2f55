"""Resources and prompts of the MCP server, which a client reads without calling a tool."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote

from mcp import types
from mcp.shared.exceptions import MCPError

from scrubjay._native import Scope
from scrubjay.adapters._typed import LazyMemory
from scrubjay.adapters.mcp.tools import ListMemories, OneMemory

KNOWN, MEMORIES = "scrubjay://known", "scrubjay://memories"
_JSON = "application/json"
_TEMPLATE = MEMORIES + "/{id}"
_BUDGET_TOKENS = 2000
_PROMPT = "with_memory"

Call = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Runs a tool, given its name and arguments."""


class Resources:
    """The policies, preferences and memories of one scope as JSON resources; memories are listed in pages.

    Args:
        call: runs a tool of the server.
        tools: the names of the available tools.
    """

    def __init__(self, call: Call, tools: set[str]) -> None:
        self._call = call
        self._has_known = "get_policies_and_preferences" in tools

    def listed(self, cursor: str | None) -> tuple[list[types.Resource], str | None]:
        """Return a page of the resources and the next cursor: the rules and all memories, then each memory."""
        resources = []
        if cursor is None:
            resources.append(_resource(MEMORIES, "memories", "The first page of the memories, newest last."))
            if self._has_known:
                resources.append(_resource(KNOWN, "known", "Policies in force and the user's preferences."))
        arguments = ListMemories() if cursor is None else ListMemories(cursor=cursor)
        page = self._call("list_memories", arguments.model_dump(exclude_none=True))
        for memory in page["memories"]:
            resources.append(
                _resource(f"{MEMORIES}/{quote(memory['id'], safe='')}", memory["id"], memory["text"][:200])
            )
        return resources, page["next_cursor"]

    @staticmethod
    def templates() -> list[types.ResourceTemplate]:
        """Return the templates of resource addresses."""
        described = "One memory, by its id (percent-encoded)."
        return [
            types.ResourceTemplate(
                name="memory", uri_template=_TEMPLATE, description=described, mime_type=_JSON
            )
        ]

    def read(self, uri: str) -> types.TextResourceContents:
        """Return the content of a resource.

        Raises:
            MCPError: the address is unknown.
        """
        if uri == KNOWN and self._has_known:
            content = self._call("get_policies_and_preferences", {})
        elif uri == MEMORIES:
            content = self._call("list_memories", {})
        elif uri.startswith(MEMORIES + "/"):
            id = unquote(uri[len(MEMORIES) + 1 :])
            content = self._call("get_memory", OneMemory(id=id).model_dump())
        else:
            raise MCPError(types.INVALID_PARAMS, f"uri: expected {KNOWN}, {MEMORIES} or {_TEMPLATE}")
        return types.TextResourceContents(
            uri=uri, mime_type=_JSON, text=json.dumps(content, ensure_ascii=False)
        )


class Prompts:
    """The prompt for a question, assembled by :meth:`scrubjay.Memory.assemble`.

    Args:
        memory: the memory in the served file.
        scope: the scope of the server.
    """

    def __init__(self, memory: LazyMemory, scope: Scope) -> None:
        self._memory, self._scope = memory, scope

    @staticmethod
    def listed() -> list[types.Prompt]:
        """Return the prompts."""
        question = types.PromptArgument(name="question", description="what is asked", required=True)
        budget = types.PromptArgument(
            name="budget_tokens", description=f"of the prompt; {_BUDGET_TOKENS} if left out", required=False
        )
        return [
            types.Prompt(
                name=_PROMPT,
                title="Ask with memory",
                description="A question with the policies, preferences and memories that it needs.",
                arguments=[question, budget],
            )
        ]

    def get(self, name: str, arguments: dict[str, str]) -> list[types.PromptMessage]:
        """Return the messages of a prompt.

        Raises:
            MCPError: the prompt is unknown, or an argument is invalid.
        """
        if name != _PROMPT:
            raise MCPError(types.INVALID_PARAMS, f"name: expected {_PROMPT!r}")
        unknown = sorted(set(arguments) - {"question", "budget_tokens"})
        if unknown or not arguments.get("question"):
            problem = f"{unknown[0][:80]}: unknown argument" if unknown else "question: expected some text"
            raise MCPError(types.INVALID_PARAMS, problem)
        budget = arguments.get("budget_tokens", str(_BUDGET_TOKENS))
        if not budget.isascii() or not budget.isdigit() or not int(budget[:9]) >= 1 or len(budget) > 7:
            raise MCPError(types.INVALID_PARAMS, f"budget_tokens: expected 1 to 9999999, got {budget[:80]!r}")
        question = arguments["question"]
        memory = self._memory.find()
        text = "" if memory is None else memory.assemble(question, self._scope, int(budget)).text
        prompt = f"{text}# Question\n{question}\n" if text else question
        return [types.PromptMessage(role="user", content=types.TextContent(text=prompt))]


def _resource(uri: str, name: str, description: str) -> types.Resource:
    return types.Resource(uri=uri, name=name[:200], description=description, mime_type=_JSON)

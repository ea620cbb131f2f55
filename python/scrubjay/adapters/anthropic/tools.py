"""The memory tool for the SDK's runners, synchronous and asynchronous."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError

from scrubjay._native import Scope
from scrubjay.adapters.anthropic.files import FoundFile, MemoryFiles
from scrubjay.adapters.anthropic.paths import MemoryFileError
from scrubjay.backend import ErrorMap
from scrubjay.index import Index

_ERRORS = ErrorMap({MemoryFileError: lambda error: ToolError(str(error))})

_FIELDS = {
    "view": ("path", "view_range"),
    "create": ("path", "file_text"),
    "str_replace": ("path", "old_str", "new_str"),
    "insert": ("path", "insert_line", "insert_text"),
    "delete": ("path",),
    "rename": ("old_path", "new_path"),
}
_OPTIONAL = {"view_range": None, "new_str": ""}


class _OverFiles:
    """The common part of both tools, placed before the SDK's class in the MRO."""

    def __init__(
        self,
        where: str | os.PathLike[str] | Index | None = None,
        *,
        scope: Scope,
        cache_control: Any = None,
        **options: Any,
    ) -> None:
        tool: Any = super()  # the class of the SDK
        tool.__init__(cache_control=cache_control)
        self.files = MemoryFiles(where, scope=scope, **options)

    def close(self) -> None:
        """Release the file; it closes with the last adapter that uses it."""
        self.files.close()

    def __repr__(self) -> str:
        return f"<scrubjay.adapters.anthropic.{type(self).__name__} over {self.files!r}>"


class ScrubjayMemoryTool(_OverFiles, BetaAbstractMemoryTool):
    """Claude's memory tool over the files of one scope.

    Args:
        where, scope, options: as for :class:`MemoryFiles`.
        cache_control: for the tool's definition, as in the SDK.

    A command that fails raises the SDK's `ToolError`, which its runners report to the model.
    """

    def execute(self, command: Any) -> str:
        """Execute a command and return the message for the model."""
        return _executed(self.files, command)

    # The SDK has a method for each command.
    view = create = str_replace = insert = delete = rename = execute

    def clear_all_memory(self) -> str:
        """Delete all files of the scope."""
        return self.files.clear()

    def search(self, text: str, k: int = 5) -> list[FoundFile]:
        """Return the files that fit a question, best first: for a prompt, not for the model.

        Args:
            text: the question.
            k: the maximum number of files.
        """
        return self.files.search(text, k)


class AsyncScrubjayMemoryTool(_OverFiles, BetaAsyncAbstractMemoryTool):
    """The same tool for the SDK's asynchronous runners; it does not block the event loop.

    Args:
        where, scope, cache_control, options: as for :class:`ScrubjayMemoryTool`.
    """

    async def execute(self, command: Any) -> str:
        """Execute a command and return the message for the model."""
        return await asyncio.to_thread(_executed, self.files, command)

    view = create = str_replace = insert = delete = rename = execute

    async def clear_all_memory(self) -> str:
        """Delete all files of the scope."""
        return await asyncio.to_thread(self.files.clear)

    async def search(self, text: str, k: int = 5) -> list[FoundFile]:
        """Return the files that fit a question, best first: for a prompt, not for the model.

        Args:
            text: the question.
            k: the maximum number of files.
        """
        return await asyncio.to_thread(self.files.search, text, k)


def _executed(files: MemoryFiles, command: Any) -> str:
    name = getattr(command, "command", None)
    with _ERRORS:
        if name not in _FIELDS:
            raise MemoryFileError(f"Unknown command: {name}")
        arguments = {}
        for field in _FIELDS[name]:
            value = getattr(command, field, None)
            if value is None and field not in _OPTIONAL:
                raise MemoryFileError(f"{field}: expected by the command {name}, it is missing")
            arguments[field] = _OPTIONAL[field] if value is None else value
        carry_out: Any = getattr(files, name)
        message: str = carry_out(**arguments)
        return message

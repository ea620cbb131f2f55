"""A handler for Claude's memory tool: the files under /memories are documents of a scope.

>>> from scrubjay import Scope
>>> tool = ScrubjayMemoryTool(scope=Scope("acme", user="jane"))
>>> tool.call({"command": "create", "path": "/memories/keys.md", "file_text": "The staging key is sk-stg-0041."})
'File created successfully at: /memories/keys.md'
>>> [(found.path, found.text) for found in tool.search("what is sk-stg-0041?")]
[('/memories/keys.md', 'The staging key is sk-stg-0041.')]

Pass the tool to the SDK's runner, `client.beta.messages.tool_runner(tools=[tool], ...)`, or the input of a `tool_use`
block to :meth:`~ScrubjayMemoryTool.call`. Put the results of :meth:`~ScrubjayMemoryTool.search` into a prompt, so that
the model need not read every file to know what it has.
"""

from __future__ import annotations

from scrubjay.base.errors import MissingExtraError

try:
    from anthropic.lib.tools import BetaAbstractMemoryTool  # noqa: F401
except ImportError:
    raise MissingExtraError("scrubjay.adapters.anthropic", "anthropic", "anthropic 2 or newer") from None

from scrubjay.adapters.anthropic.files import FoundFile, MemoryFiles
from scrubjay.adapters.anthropic.paths import MemoryFileError
from scrubjay.adapters.anthropic.tools import AsyncScrubjayMemoryTool, ScrubjayMemoryTool

__all__ = ["AsyncScrubjayMemoryTool", "FoundFile", "MemoryFileError", "MemoryFiles", "ScrubjayMemoryTool"]

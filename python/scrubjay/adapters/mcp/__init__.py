"""A memory for any MCP client, over standard input and output: what `scrubjay mcp` runs.

The scope is the operator's, fixed when the server starts. No tool has an argument for it, unknown arguments are
refused, and an id of another scope is one that does not exist. Memories that the tenant shares with the scope are
found and shown, and cannot be changed.

Where the index has a file, `get_policies_and_preferences` gives all policies in force for the tenant and all
preferences of the user, as :class:`scrubjay.Memory` keeps them in that file. Where the scope has a user,
`set_preference` and `delete_preference` change that user's preferences. No tool writes a policy. `remember`, `forget`
and `why` are for the facts and episodes of that memory, which searches and listings have beside the notes of the index.
With `--read-only` there are the tools that change nothing, and nothing is written for Memory to the file.

In a client's configuration::

    {"mcpServers": {"memory": {"command": "scrubjay", "args": ["mcp", "memories.scrubjay", "--user", "jane"]}}}
"""

from __future__ import annotations

from scrubjay.errors import MissingExtraError

try:
    from mcp.shared.exceptions import MCPError  # noqa: F401 - mcp 1 has none
except ImportError:
    raise MissingExtraError("scrubjay.adapters.mcp", "mcp", "mcp 2 or newer") from None

from scrubjay.adapters.mcp.server import MemoryServer, serve_stdio

__all__ = ["MemoryServer", "serve_stdio"]

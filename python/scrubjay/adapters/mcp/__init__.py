"""An MCP server for a memory over standard input and output; run by `scrubjay mcp`.

The operator fixes the scope when the server starts. No tool has an argument for it, unknown arguments are rejected, and
ids of other scopes do not exist. Memories that the tenant shares with the scope are found and shown, but cannot be
changed.

If the index has a file, `get_policies_and_preferences` returns all policies in force for the tenant and all preferences
of the user, which :class:`scrubjay.Memory` stores in that file. If the scope has a user, `set_preference` and
`delete_preference` change that user's preferences. No tool writes a policy. `remember`, `forget` and `why` are for the
facts and episodes of that memory; searches and listings return these beside the notes of the index. `--read-only`
offers only the tools that change nothing, and nothing is written for Memory to the file.

In a client's configuration::

    {"mcpServers": {"memory": {"command": "scrubjay", "args": ["mcp", "memories.scrubjay", "--user", "jane"]}}}
"""

from __future__ import annotations

from scrubjay.base.errors import MissingExtraError

try:
    from mcp.shared.exceptions import MCPError  # noqa: F401 - mcp 1 has none
except ImportError:
    raise MissingExtraError("scrubjay.adapters.mcp", "mcp", "mcp 2 or newer") from None

from scrubjay.adapters.mcp.server import MemoryServer, serve_stdio

__all__ = ["MemoryServer", "serve_stdio"]

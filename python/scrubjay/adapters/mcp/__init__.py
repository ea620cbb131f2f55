"""A memory for any MCP client, over standard input and output: what `scrubjay mcp` runs.

The scope is the operator's, fixed when the server starts. No tool has an argument for it, unknown arguments are
refused, and an id of another scope is one that does not exist. Memories that the tenant shares with the scope are
found and shown, and cannot be changed.

In a client's configuration::

    {"mcpServers": {"memory": {"command": "scrubjay", "args": ["mcp", "memories.scrubjay", "--user", "jane"]}}}
"""

from __future__ import annotations

from scrubjay.errors import MissingExtraError

try:
    import mcp.server.lowlevel  # noqa: F401
except ImportError:
    raise MissingExtraError("scrubjay.adapters.mcp", "mcp", "mcp") from None

from scrubjay.adapters.mcp.server import MemoryServer, serve_stdio

__all__ = ["MemoryServer", "serve_stdio"]

"""Microsoft Agent Framework: what an agent remembers, and the history of its sessions, in a Scrubjay file.

:class:`ScrubjayContextProvider` is long-term memory, over a :class:`scrubjay.Memory`: before a run the agent is told
policies, preferences and the memories that fit what was asked; afterwards the turn is kept.
:class:`ScrubjayHistoryProvider` keeps the messages of sessions as they are. Both may be given to one agent, with one
file.
"""

from __future__ import annotations

from scrubjay.errors import MissingExtraError

try:
    import agent_framework
except ImportError:
    raise MissingExtraError(
        "scrubjay.adapters.agent_framework", "agent-framework", "agent-framework-core"
    ) from None

from scrubjay.adapters.agent_framework.context import ScrubjayContextProvider
from scrubjay.adapters.agent_framework.history import ScrubjayHistoryProvider

del agent_framework

__all__ = ["ScrubjayContextProvider", "ScrubjayHistoryProvider"]

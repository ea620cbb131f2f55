"""Microsoft Agent Framework: an agent's long-term memory and the history of its sessions, in a Scrubjay file.

:class:`ScrubjayContextProvider` is long-term memory over a :class:`scrubjay.Memory`: before a run it adds policies,
preferences and relevant memories to the context; afterwards it records the turn. :class:`ScrubjayHistoryProvider`
stores the messages of sessions verbatim. One agent may use both, with one file.
"""

from __future__ import annotations

from scrubjay.base.errors import MissingExtraError

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

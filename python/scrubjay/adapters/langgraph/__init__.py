"""LangGraph's `BaseStore` over a Scrubjay index: :class:`ScrubjayStore`.

>>> store = ScrubjayStore()
>>> store.put(("memories", "jane"), "m1", {"text": "The staging API key prefix is sk-stg-0041."})
>>> store.search(("memories", "jane"), query="sk-stg-0041", limit=1)[0].key
'm1'
"""

from __future__ import annotations

from scrubjay.base.errors import MissingExtraError

try:
    import langgraph.store.base  # noqa: F401
except ImportError:
    raise MissingExtraError("scrubjay.adapters.langgraph", "langgraph", "langgraph") from None

from scrubjay.adapters.langgraph.store import ScrubjayStore

__all__ = ["ScrubjayStore"]

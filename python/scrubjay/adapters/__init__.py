"""Scrubjay behind the interfaces of other projects: one module each, an optional extra, imported only when used.

An adapter translates and decides nothing. ``import scrubjay.adapters.langgraph`` without LangGraph raises
:class:`scrubjay.MissingExtraError`, which names the extra to install.
"""

from __future__ import annotations

__all__: list[str] = []

"""Scrubjay behind the interfaces of other projects: one module each, an optional extra, imported only when used.

An adapter translates and decides nothing. A framework's id is the document's id in the framework's scope: adapters
that share a collection share its memories, and an id in another scope is another document. Reading sees what the scope
sees, writing changes only what is exactly the scope's. ``import scrubjay.adapters.langgraph`` without LangGraph raises
:class:`scrubjay.MissingExtraError`, which names the extra to install.
"""

from __future__ import annotations

__all__: list[str] = []

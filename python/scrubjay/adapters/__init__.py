"""Adapters: Scrubjay behind the interfaces of other projects.

Each module is an optional extra and is imported only when used. An adapter translates and decides nothing. A
framework's id is the document's id in the framework's scope: adapters that share a collection share its memories, and
the same id in another scope is another document. Reads return what the scope sees; writes change only documents of
exactly that scope. ``import scrubjay.adapters.langgraph`` without LangGraph raises
:class:`scrubjay.MissingExtraError`, which names the extra to install.
"""

from __future__ import annotations

__all__: list[str] = []

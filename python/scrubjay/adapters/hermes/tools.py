"""The tools of Hermes' model."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from scrubjay._native import Scope
from scrubjay.memory import FactCandidate, Memory

_MAX = 50

SCHEMAS: list[dict[str, Any]] = [
    {
        "name": "scrubjay_search",
        "description": "Search the memories of earlier sessions: facts and messages. Finds "
        "identifiers (ticket numbers, keys, file names) verbatim.",
        "parameters": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "Words, names or identifiers."},
                "limit": {"type": "integer", "description": f"How many, 1 to {_MAX}; 10 by default."},
            },
            "required": ["query"],
        },
    },
    {
        "name": "scrubjay_remember",
        "description": "Remember a fact for later sessions. Facts that it contradicts end; others stay in force.",
        "parameters": {
            "type": "object",
            "properties": {
                "content": {"type": "string", "description": "One statement that will still be true later."},
                "subject": {"type": "string", "description": "The subject of the statement."},
                "predicate": {
                    "type": "string",
                    "description": "What it says about the subject, such as 'lives in'.",
                },
            },
            "required": ["content"],
        },
    },
    {
        "name": "scrubjay_forget",
        "description": "Delete one memory for good, by its id from scrubjay_search.",
        "parameters": {
            "type": "object",
            "properties": {"id": {"type": "string", "description": "The id."}},
            "required": ["id"],
        },
    },
]


class Tools:
    """The tools of one user; the scope is fixed, out of the model's reach."""

    def __init__(self, memory: Memory, scope: Scope) -> None:
        self._memory, self._scope = memory, scope

    def call(self, name: str, arguments: Mapping[str, Any], run_id: str) -> str:
        """Run a tool; return JSON: its result, or {"error": ...} with the name of the argument."""
        run = _RUN.get(name)
        if run is None:
            return json.dumps({"error": f"tool: expected one of {', '.join(_RUN)}, got {name!r}"})
        try:
            return json.dumps(run(self, arguments, run_id), ensure_ascii=False)
        except (TypeError, ValueError) as error:
            return json.dumps({"error": str(error)})

    def _search(self, arguments: Mapping[str, Any], run_id: str) -> dict[str, Any]:
        limit = arguments.get("limit", 10)
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= _MAX:
            raise ValueError(f"limit: expected 1 to {_MAX}, got {limit!r}")
        hits = self._memory.recall(_text(arguments, "query"), self._scope, k=limit)
        memories = [
            {"id": hit.id, "kind": hit.kind, "text": hit.text, "relevance": hit.relevance} for hit in hits
        ]
        return {"memories": memories, "relevance": hits.relevance}

    def _remember(self, arguments: Mapping[str, Any], run_id: str) -> dict[str, Any]:
        about: dict[str, Any] = {
            name: _text(arguments, name) for name in ("subject", "predicate") if arguments.get(name)
        }
        candidate = FactCandidate(_text(arguments, "content"), **about)
        done = self._memory.propose(candidate, scope=self._scope, source=run_id)
        return {
            "status": done.status,
            **({"id": done.id} if done.id else {}),
            **({"reason": done.reason} if done.reason else {}),
        }

    def _forget(self, arguments: Mapping[str, Any], run_id: str) -> dict[str, Any]:
        id = _text(arguments, "id")
        deleted = self._memory.index.delete(id, scope=self._scope, reason="scrubjay_forget")
        deleted = deleted or self._memory.delete(id, scope=self._scope, reason="scrubjay_forget")
        return {"deleted": bool(deleted)}


_RUN: dict[str, Callable[[Tools, Mapping[str, Any], str], dict[str, Any]]] = {
    "scrubjay_search": Tools._search,
    "scrubjay_remember": Tools._remember,
    "scrubjay_forget": Tools._forget,
}


def _text(arguments: Mapping[str, Any], name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{name}: expected a text that is not empty, got {value!r}")
    return value

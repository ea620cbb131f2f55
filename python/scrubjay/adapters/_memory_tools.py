"""The memory tools of a model (remember, recall, forget), and the rules in force as text for its prompt.

The scope is fixed by the caller, out of the model's reach. Answers are texts for a model.
"""

from __future__ import annotations

from scrubjay._native import Scope
from scrubjay.memory import Memory

REMEMBER = "Remember a fact about the user or the task for later conversations."
RECALL = "Search memories of earlier conversations. A memory that can be forgotten has an id in brackets."
FORGET = "Forget a memory for good, by its id in brackets from a search."


class MemoryTools:
    """The tools over one scope of a memory. Thread-safe.

    Args:
        memory: an open memory, which stays open.
        scope: the scope of the memories; a search also sees what is shared with it, which no tool changes.
        k: the maximum number of memories that a search shows.
        run: the run, conversation or job recorded as the source of what is remembered.

    Raises:
        TypeError, ValueError: an argument is invalid.
    """

    def __init__(self, memory: Memory, scope: Scope, k: int = 10, run: str = "agent") -> None:
        if not isinstance(memory, Memory):
            raise TypeError(f"memory: expected a scrubjay.Memory, got {type(memory).__name__}")
        if not isinstance(scope, Scope):
            raise TypeError(f"scope: expected a scrubjay.Scope, got {type(scope).__name__}")
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise ValueError(f"k: expected 1 or more, got {k!r}")
        if not isinstance(run, str) or not run.strip():
            raise ValueError(f"run: expected a str that is not empty, got {run!r}")
        self._memory, self._scope, self._k, self._run = memory, scope, k, run

    def remember(self, content: str) -> str:
        """Propose a fact and return the outcome.

        Raises:
            TypeError, ValueError: `content` is not a str, or is blank.
        """
        if not isinstance(content, str):
            raise TypeError(f"content: expected a str, got {type(content).__name__}")
        if not content.strip():
            raise ValueError("content: expected a text that is not empty")
        outcome = self._memory.propose(content, scope=self._scope, source=self._run)
        if outcome.id is None:
            return f"Not remembered: {outcome.reason}"
        verb = "Already known" if outcome.status == "deduplicated" else "Remembered"
        return f"{verb} [{outcome.id}]."

    def recall(self, query: str) -> str:
        """Return the relevant memories, one a line, each with the id that :meth:`forget` takes.

        Raises:
            TypeError: `query` is not a str.
        """
        if not isinstance(query, str):
            raise TypeError(f"query: expected a str, got {type(query).__name__}")
        hits = self._memory.recall(query, self._scope, k=self._k) if query.strip() else ()
        lines = [
            f"- {hit.text}" if hit.kind == "note" else f"- {hit.text} [{hit.id}]"
            for hit in hits
            if hit.relevance != "none"
        ]
        return "\n".join(lines) or "Nothing is known."

    def forget(self, id: str) -> str:
        """Delete a memory of the scope and report whether it existed.

        Raises:
            TypeError: `id` is not a str.
        """
        if not isinstance(id, str):
            raise TypeError(f"id: expected a str, got {type(id).__name__}")
        key = id.strip().removeprefix("[").removesuffix("]")
        if key and self._memory.delete(key, scope=self._scope, by=self._run):
            return "Forgotten."
        return f"There is no memory [{key[:80]}] that may be forgotten."

    def known(self) -> str:
        """Return the policies and preferences in force, one a line; empty if there are none."""
        rules_in_force = self._memory.known(self._scope)
        rules = [f"- {policy.text}" for policy in rules_in_force.policies]
        wishes = [f"- {preference.text}" for preference in rules_in_force.preferences]
        parts = [("Rules:", rules), ("What the user prefers:", wishes)]
        return "\n".join("\n".join([title, *lines]) for title, lines in parts if lines)

"""An agent's memory in one file: policies, preferences and facts, a prompt made of them, and a second run.

Run: python examples/agent_memory.py [FILE]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import scrubjay
from scrubjay import FactCandidate, Memory, Scope

JANE = Scope("acme", user="jane")


def first_run(file: Path) -> None:
    """Write a policy of the company, a preference of the user, and two facts; the second supersedes the first."""
    with Memory.open(file, embedder=scrubjay.embedders.default()) as memory:
        memory.policy("refunds", "Never promise refunds.", tenant="acme", by="legal")
        memory.prefer("tone", "Answer briefly.", scope=JANE)
        for city, run in (("Berlin", "run-1"), ("Oslo", "run-2")):
            fact = FactCandidate(f"Jane lives in {city}", subject="Jane", predicate="lives in")
            outcome = memory.propose(fact, scope=JANE, source=run)
            print(f"{outcome.status}: {fact.content}")


def second_run(file: Path) -> None:
    """Assemble a prompt in a later process: it holds the policy, the preference and the fact in force."""
    with Memory.open(file, embedder=scrubjay.embedders.default()) as memory:
        with memory.session(JANE, "chat-1") as session:
            session.user("Where does Jane live?")
            prompt = session.assemble(budget_tokens=500)
            session.model("To Oslo.")  # your model's answer to `prompt.text`
        print(prompt.text)
        assert "Never promise refunds." in prompt.text
        assert "Oslo" in prompt.text and "Berlin" not in prompt.text


if __name__ == "__main__":
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp()) / "agent.scrubjay"
    first_run(path)
    second_run(path)

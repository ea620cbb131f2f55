"""Writes the golden memory of the current format: python -m tests.data.golden.make_memory TARGET [encrypted].

Run once for each format of memory's tables; the file is then committed and never written again.
"""

from __future__ import annotations

import sys
from pathlib import Path

from scrubjay import EpisodeCandidate, FactCandidate, Memory, Scope
from tests.data.keys import provider

JANE = Scope("acme", user="jane")
DAY_US = 86_400_000_000


def main(target: Path, *, encrypted: bool) -> None:
    days = iter(range(1, 1000))

    def clock() -> int:
        return 1_767_225_600_000_000 + now * DAY_US

    now = 0
    with Memory.open(target, clock=clock, keys=provider if encrypted else None) as memory:

        def fact(content: str, predicate: str, scope: Scope = JANE, subject: str = "Jane") -> str:
            nonlocal now
            now = next(days)
            return str(
                memory.propose(
                    FactCandidate(content, subject, predicate), scope=scope, source=f"run-{now}"
                ).id
            )

        fact("Jane lives in Berlin", "lives in")
        fact("Jane is allergic to nuts", "allergic to")
        fact("Jane is allergic to penicillin", "allergic to")
        fact("Jane lives in Oslo", "lives in")
        revoked = fact("Jane owns a cello", "owns")
        memory.revoke(revoked, reason="sold", scope=JANE)
        fact("acme closes at six", "opening hours", Scope("acme"), "acme")
        memory.confirm(
            fact("acme pays in euros", "currency", Scope("acme"), "acme"), by="cfo", scope=Scope("acme")
        )
        memory.propose(
            EpisodeCandidate(
                "Booked the night train to Riga", "success", "travel", ["search", "pay"], ["ticket.pdf"]
            ),
            scope=JANE,
            source="run-9",
        )
        memory.prefer("tone", "Answer at length.", scope=JANE)
        memory.prefer("tone", "Answer briefly.", scope=JANE)
        memory.policy("refunds", "Refund nothing.", tenant="acme", by="legal")
        memory.policy("refunds", "Never promise refunds.", tenant="acme", by="legal")
        with memory.session(JANE, "chat-7") as session:
            session.user("Where should the parcel go?")
            session.assemble(budget_tokens=500)
            session.model("To Oslo.")
        memory.admin.hold(Scope("globex"), reason="case 17", by="legal")


if __name__ == "__main__":
    main(Path(sys.argv[1]), encrypted="encrypted" in sys.argv[2:])

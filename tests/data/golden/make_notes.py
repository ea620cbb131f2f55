"""Writes a golden index with feedback and a collection: python -m tests.data.golden.make_notes TARGET [encrypted].

Run once, with format 3, where a note of feedback named its document by the id alone; the files are never written again.
"""

from __future__ import annotations

import sys
from pathlib import Path

from scrubjay import Index, Scope
from tests.data.keys import provider

ACME, JANE, JOE = Scope("acme"), Scope("acme", user="jane"), Scope("acme", user="joe")


def main(target: Path, *, encrypted: bool) -> None:
    with Index.open(target, dim=2, keys=provider if encrypted else None) as index:
        side = index.collection("side")
        for one, word in ((index, "oak"), (side, "beech")):
            for i, scope in enumerate((ACME, JANE, JOE) * 3):
                one.upsert(f"m{i}", f"{word} {i}", scope=scope, vector=[1.0, float(i)], metadata={"n": i})
            one.upsert("soon", f"{word} soon over", scope=JANE, expires_at="2999-01-01")
            one.feedback("m0", query="asked by jane", scope=JANE)
            one.feedback("m1", False, "asked by jane", scope=JANE)
            one.feedback("m0", query="asked by joe", scope=JOE)
            one.feedback("m2", scope=JOE)
        index.upsert("g", "oak of globex", scope=Scope("globex"))
        index.feedback("g", query="asked by globex", scope=Scope("globex"))


if __name__ == "__main__":
    main(Path(sys.argv[1]), encrypted="encrypted" in sys.argv[2:])

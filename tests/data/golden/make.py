"""Writes the golden index of the current format: python -m tests.data.golden.make TARGET [encrypted].

Run once for each format; the file is then committed and never written again.
"""

from __future__ import annotations

import sys
from pathlib import Path

from scrubjay import Index, Scope
from tests.data.keys import provider

JANE = Scope("acme", user="jane")


def main(target: Path, *, encrypted: bool) -> None:
    with Index.open(target, dim=4, keys=provider if encrypted else None) as index:
        side = index.collection("side")  # since format 4
        for scope in (Scope("acme"), JANE, Scope("globex")):
            side.upsert("m1", f"the jay of {scope!r}", scope=scope)
        side.feedback("m1", query="whose?", scope=JANE)
        side.admin.compact()
        for i in range(12):
            index.upsert(
                f"m{i}",
                f"memory {i}: the {['oak', 'jay', 'acorn'][i % 3]} of sk-stg-{i:04}, naïve 鸟",
                scope=JANE if i % 2 else Scope("acme"),
                vector=None if i == 5 else [1.0, float(i), -0.5, 1e-3],
                metadata={"n": i, "nested": {"list": [1, 2.5, None]}},
                created_at=i * 86400,
                expires_at="2999-12-31T23:59:59.999999+00:00" if i == 7 else None,
            )
        index.admin.compact()
        index.delete("m3", scope=JANE)  # a tombstone that the image does not know
        index.upsert("m1", "memory 1 again: oak", scope=JANE, vector=[4.0, 3.0, 2.0, 1.0])
        index.erase(Scope("globex"))
        side.delete("m1", scope=Scope("acme"))


if __name__ == "__main__":
    main(Path(sys.argv[1]), encrypted="encrypted" in sys.argv[2:])

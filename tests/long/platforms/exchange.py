"""Checks that a file of one platform gives the same answers on another one, bit for bit.

    python -m tests.long.platforms.exchange make FILE      writes an index and a memory
    python -m tests.long.platforms.exchange ask FILE       prints the answers of searches as JSON
    python -m tests.long.platforms.exchange ask FILE --write     also writes to it, and searches again

Equal output of two platforms means equal ids and equal bits of every score, of words, vectors and both. Texts come from
a fixed generator, and vectors from integers, so that the written data does not depend on libraries of the platform.
"""

from __future__ import annotations

import argparse
import json
import random
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np

from scrubjay import FactCandidate, Index, Memory, Query, Recency, Scope

WORDS = "staging key train Oslo invoice 周末 Straße café TS-999 sk-stg-0041 deploy rollback jane@example.com".split()
DIM, N = 64, 3000
ACME, JANE = Scope("acme"), Scope("acme", user="jane")
NOW = 1_700_000_000.0


def vector(seed: int) -> np.ndarray:
    """Return a vector of small integers divided by 64, which are exact in float32 and float16."""
    numbers = random.Random(seed)
    return np.array([numbers.randint(-64, 64) / 64 for _ in range(DIM)], np.float32)


def records(first: int, n: int) -> list[dict[str, Any]]:
    """Return documents `first` to `first + n` (exclusive) of two scopes."""
    made = []
    for i in range(first, first + n):
        numbers = random.Random(i)
        words = [numbers.choice(WORDS) for _ in range(numbers.randint(3, 30))]
        made.append(
            {
                "id": i,
                "text": " ".join([*words, f"note{i % 97}"]),
                "scope": JANE if i % 3 else ACME,
                "vector": vector(i),
                "metadata": {"stars": i % 5, "kind": words[0]},
                "created_at": NOW - 3600 * i,
            }
        )
    return made


def make(path: Path) -> None:
    """Write the file."""
    with Index.open(path, dim=DIM) as index:
        index.upsert_many(records(0, N))
        index.delete_many(list(range(0, N, 7)), scope=JANE)
        index.admin.compact()
    with Memory.open(path) as memory:
        for city in ("Berlin", "Oslo"):
            candidate = FactCandidate(f"Jane lives in {city}", "Jane", "lives in")
            memory.propose(candidate, scope=JANE, source="exchange")


def _bits(score: float) -> str:
    return struct.pack(">d", score).hex()


def answers(path: Path, *, write: bool) -> dict[str, Any]:
    """Return the answers of the file, after writing to it if `write`."""
    found: dict[str, Any] = {}
    with Index.open(path) as index:
        if write:
            index.upsert_many(records(N, 500))
            index.delete_many(list(range(1, N, 11)), scope=JANE)
        for mode in ("lexical", "vector", "hybrid"):
            for i, text in enumerate(("staging key", "周末 Oslo", "TS999", "cafe strasse", "note41 invoice")):
                query = Query(mode=mode) if i % 2 else Query(mode=mode, recency=Recency(now=NOW))
                hits = index.search(
                    text, vector=vector(-i - 1), scope=JANE, query=query, k=20, filter={"stars": {"$gte": 1}}
                )
                found[f"{mode}: {text}"] = [[hit.id, _bits(hit.score)] for hit in hits]
        found["listed"] = [record.id for record in index.list(JANE, limit=50)]
        found["problems"] = [str(problem) for problem in index.admin.check().problems]
    with Memory.open(path) as memory:
        found["memory"] = memory.recall("where does Jane live?", JANE).texts
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["make", "ask"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    if arguments.what == "make":
        make(arguments.file)
    else:
        json.dump(
            answers(arguments.file, write=arguments.write),
            sys.stdout,
            indent=1,
            ensure_ascii=True,
            sort_keys=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())

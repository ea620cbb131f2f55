"""The data of the framework comparisons: notes of two users, many of them alike except for an identifier.

Shared by the comparisons of this folder, together with the measurement and the table.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

__all__ = ["K", "Note", "Row", "arguments_of", "measure", "notes", "print_rows", "questions"]

K = 4
_THINGS = "API key prefix, database password hint, ticket, invoice number, build, certificate serial".split(
    ", "
)
_WHERE = "staging, production, the Berlin office, the billing service, the gateway, the data warehouse".split(
    ", "
)


@dataclass(frozen=True)
class Note:
    """One text of one user."""

    id: str
    text: str
    user: str
    identifier: str


@dataclass(frozen=True)
class Row:
    """The result of one way of searching over all questions."""

    store: str
    found_first: float
    found: float
    foreign: int
    p50_us: float
    p95_us: float


def notes(n: int, seed: int = 1) -> list[Note]:
    """Return n notes, alternately jane's and joe's."""
    chooser = random.Random(seed)
    made = []
    for number in range(n):
        identifier = (
            f"{chooser.choice(['sk', 'inv', 'tk'])}-{chooser.choice(['stg', 'prd', 'dev'])}-{number:04d}"
        )
        text = f"The {chooser.choice(_THINGS)} of {chooser.choice(_WHERE)} is {identifier}."
        made.append(Note(str(number), text, "jane" if number % 2 == 0 else "joe", identifier))
    return made


def questions(made: Sequence[Note], n: int, seed: int = 2) -> list[Note]:
    """Return a sample of jane's notes, to be asked for by their identifiers."""
    return random.Random(seed).sample([note for note in made if note.user == "jane"], n)


def measure(store: str, asked: Sequence[Note], search: Callable[[str], list[tuple[str, str]]]) -> Row:
    """Ask for every identifier, as jane; `search` returns (id, user) of at most four documents, best first."""
    for note in asked[:20]:
        search(f"what is {note.identifier}?")
    samples, first, found, foreign = [], 0, 0, 0
    for note in asked:
        question = f"what is {note.identifier}?"
        start = time.perf_counter_ns()
        answer = search(question)
        samples.append((time.perf_counter_ns() - start) / 1e3)
        ids = [id for id, _ in answer]
        first += ids[:1] == [note.id]
        found += note.id in ids
        foreign += sum(user != "jane" for _, user in answer)
    p50, p95 = np.percentile(samples, [50, 95])
    return Row(
        store, first / len(asked), found / len(asked), foreign, round(float(p50), 1), round(float(p95), 1)
    )


def arguments_of(description: str | None, argv: Sequence[str] | None) -> Any:
    """Parse the options of the comparisons."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--notes", type=int, default=2_000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--json", action="store_true", help="print one JSON list instead of a table")
    return parser.parse_args(argv)


def print_rows(rows: Sequence[Row], as_json: bool) -> None:
    """Print a Markdown table, or one line of JSON."""
    if as_json:
        print(json.dumps([asdict(row) for row in rows]))
        return
    print(f"| store | found first | found in {K} | of another user | p50 / p95 us |")
    print("| --- | --- | --- | --- | --- |")
    for row in rows:
        shares = f"{row.found_first:.0%} | {row.found:.0%} | {row.foreign}"
        print(f"| {row.store} | {shares} | {row.p50_us:,.0f} / {row.p95_us:,.0f} |")

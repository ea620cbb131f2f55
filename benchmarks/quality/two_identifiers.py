"""Whether the document with both identifiers of a question comes first.

    python -m benchmarks.quality.two_identifiers [--data DIR] [--questions N]

Questions consist of two identifiers from one memory of a judged set, alone and in sentences; the first hit of the
default search, with stored vectors of other queries, must contain both verbatim. Quantities (measures, years, ranges)
are not identifiers. Exit code 1 if a question fails.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.reference.identifiers import is_quantity

from benchmarks.quality.identifiers import SETS, holds_verbatim, identifiers
from benchmarks.quality.judged import VECTOR_SETS, JudgedSet, data_folder, judged_sets
from benchmarks.quality.rankers import native_engine, native_scope

TEMPLATES = (
    "{} {}",
    "what was said of {} and {}?",
    "{} on {}, who changed the settings last week",
    "where do we use {} together with {}",
)


def pairs(judged: JudgedSet, n_questions: int) -> Iterator[tuple[str, str, str]]:
    """Yield scope and two identifiers of a memory, neither containing the other; the same in every run."""
    draw = random.Random(judged.name)
    memories = list(judged.memories)
    draw.shuffle(memories)
    n = 0
    for memory in memories:
        found = [one for one in dict.fromkeys(identifiers(memory.text)) if is_identifier(one)]
        free = [
            (one, other)
            for one, other in itertools.combinations(found, 2)
            if one.lower() not in other.lower() and other.lower() not in one.lower()
        ]
        if free and n < n_questions:
            n += 1
            yield memory.scope, *draw.choice(free)


def is_identifier(run: str) -> bool:
    """Return whether a run has letters and digits, and is neither a quantity nor an expression."""
    has_both = any(character.isdigit() for character in run) and any(map(str.isalpha, run))
    return has_both and "=" not in run and not is_quantity(run.lower())


def missed(judged: JudgedSet, model: str, n_questions: int) -> tuple[int, list[str]]:
    """Return the number of questions, and those whose first hit does not contain both identifiers."""
    engine, vectors = native_engine(judged, model), judged.query_vectors(model)
    found, n = [], 0
    for n, (scope, one, other) in enumerate(pairs(judged, n_questions), start=1):
        text = TEMPLATES[n % len(TEMPLATES)].format(one, other)
        hits = engine.search(text, vector=vectors[n % len(vectors)], scope=native_scope(scope), k=1)
        if not all(holds_verbatim(hits.text(0), each) for each in (one, other)):
            found.append(f"{text!r}: {hits.text(0)[:100]!r}")
    return n, found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.two_identifiers", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of the judged sets")
    parser.add_argument("--questions", type=int, default=500, help="at most so many of a set")
    options = parser.parse_args(arguments)
    sets = judged_sets(data_folder(options.data), (*SETS, "scifact_dev"))
    n_missed = 0
    for judged in sets:
        for model in VECTOR_SETS:
            n, found = missed(judged, model, options.questions)
            n_missed += len(found)
            print(f"{judged.name}, {model}: {n - len(found)} of {n} first", *found[:5], sep="\n  ")
    return 1 if n_missed or not sets else 0


if __name__ == "__main__":
    sys.exit(main())

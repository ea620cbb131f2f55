"""What two typing errors in one long word of a question cost.

    python -m benchmarks.quality.two_edits [--data DIR] [--set NAME ...] [--json]

In each question the word of eight letters or more that fewest memories of its scope hold gets two random edits (a
letter too many, too few or wrong, or two neighbours exchanged; never the first letter), the same in every run. Memories
and questions are embedded by the package's static table, questions as corrected. nDCG@10 of the questions without
errors, of the damaged ones with `spelling=False`, and of the damaged ones; and how many damaged words were read as a
word with the stem of the original, as another word, and not at all.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from string import ascii_lowercase

from tests.reference.analyzer import stem_english
from tests.reference.spelling import edits

from benchmarks.quality import metrics
from benchmarks.quality.judged import JudgedSet, data_folder, judged_sets

SETS = ("locomo_dev", "realtalk_dev", "beam_dev", "scifact_dev", "lme_user_dev")
LONG_WORD = re.compile(r"(?<![\w'-])[a-z]{8,24}(?![\w'-])")


def damaged(word: str, draw: random.Random) -> str:
    """Return a word at two random edits from this one that is not at one edit from it."""
    while True:
        other = word
        for _ in range(2):
            at = draw.randrange(1, len(other))
            letter = draw.choice(ascii_lowercase)
            other = draw.choice(
                (
                    other[:at] + letter + other[at:],
                    other[:at] + other[at + 1 :],
                    other[:at] + letter + other[at + 1 :],
                    other[:at] + other[at : at + 2][::-1] + other[at + 2 :],
                )
            )
        if other != word and other not in edits(word):
            return other


def questions(judged: JudgedSet) -> Iterator[tuple[int, str, str]]:
    """Yield the row of a question among those of the set, its rarest long word as written, and the word with errors."""
    words_of: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))  # scope -> stem -> memories
    for memory in judged.memories:
        for stem in {stem_english(word) for word in re.findall("[a-z]+", memory.text.lower())}:
            words_of[memory.scope][stem] += 1
    draw = random.Random(judged.name)
    for row, question in enumerate(judged.queries):
        n_memories = words_of[question.scope]
        long_words = [
            word for word in LONG_WORD.findall(question.text) if n_memories.get(stem_english(word), 0)
        ]
        if long_words:
            rarest = min(long_words, key=lambda word: n_memories[stem_english(word)])
            yield row, rarest, damaged(rarest, draw)


def figures(judged: JudgedSet) -> dict[str, float]:
    """Return the number of damaged questions, the three means of nDCG@10, and how many words were read how."""
    import scrubjay

    index = scrubjay.Index(scrubjay.embedders.Static())
    index.upsert_many(
        [
            {"id": memory.id, "text": memory.text, "scope": scrubjay.Scope("judged", user=memory.scope)}
            for memory in judged.memories
        ]
    )
    sums = dict.fromkeys(
        ("questions", "without errors", "spelling off", "default", "right", "wrong", "not read"), 0.0
    )
    for row, word, other in questions(judged):
        question = judged.queries[row]
        scope = scrubjay.Scope("judged", user=question.scope)
        text = re.sub(rf"(?<![\w'-]){word}(?![\w'-])", other, question.text)
        hits = index.search(text, scope=scope, k=10)
        answers = {
            "without errors": index.search(question.text, scope=scope, k=10),
            "spelling off": index.search(text, scope=scope, k=10, query=scrubjay.Query(spelling=False)),
            "default": hits,
        }
        for name, answer in answers.items():
            sums[name] += metrics.ndcg([hit.id for hit in answer], question.relevant)
        read = hits.corrections.get(other)
        is_right = read is not None and stem_english(read) == stem_english(word)
        sums["not read" if read is None else "right" if is_right else "wrong"] += 1
        sums["questions"] += 1
    for name in ("without errors", "spelling off", "default"):
        sums[name] /= max(1.0, sums["questions"])
    return sums


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.two_edits", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of the judged sets")
    parser.add_argument("--set", action="append", help="only this set; may be repeated")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    options = parser.parse_args(arguments)
    report = {
        judged.name: figures(judged) for judged in judged_sets(data_folder(options.data), options.set or SETS)
    }
    if options.json:
        print(json.dumps(report, indent=1))
        return 0
    print(f"{'set':14} questions  without errors  spelling off  default  right  wrong  not read")
    for name, found in report.items():
        print(
            f"{name:14} {found['questions']:9.0f} {found['without errors']:15.3f} {found['spelling off']:13.3f} "
            f"{found['default']:8.3f} {found['right']:6.0f} {found['wrong']:6.0f} {found['not read']:9.0f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""WordNet's files (Debian's `wordnet-base`): glosses, examples, and nouns by category."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

_NOUNS = (
    "act", "animal", "artifact", "attribute", "body", "cognition", "communication", "event", "feeling", "food",
    "group", "location", "motive", "object", "person", "phenomenon", "plant", "possession", "process", "quantity",
    "relation", "shape", "state", "substance", "time",
)  # fmt: skip
_FIRST_NOUN = 4
"""The number of the first of these among WordNet's lexicographer files ("noun.act")."""


@dataclass
class WordNet:
    """The parts of WordNet that are used."""

    glosses: list[tuple[int, str, str, str]] = field(default_factory=list)
    """Frequency of the words, category, words, definition."""
    examples: list[str] = field(default_factory=list)
    words: dict[str, list[str]] = field(default_factory=dict)
    """Words of a category ("food"), and of "verb" and "adj", most frequent first."""


def read(folder: Path) -> WordNet:
    """Read `usr/share/wordnet` of the package unpacked at `folder`."""
    data = folder / "usr" / "share" / "wordnet"
    counts: Counter[str] = Counter()
    for line in (data / "cntlist.rev").read_text().splitlines():
        key, _, count = line.split()
        counts[key.split("%")[0]] += int(count)
    found = WordNet()
    by_category: dict[str, Counter[str]] = {}
    for part in ("noun", "verb", "adj", "adv"):
        for line in (data / f"data.{part}").read_text(encoding="latin-1").splitlines():
            if line.startswith(" "):
                continue
            head, gloss = line.rstrip().split(" | ", 1)
            fields = head.split()
            words = [fields[4 + 2 * i].split("(")[0] for i in range(int(fields[3], 16))]
            number = int(fields[1])
            category = part
            if part == "noun" and number >= _FIRST_NOUN:
                category = _NOUNS[number - _FIRST_NOUN]
            found.examples += re.findall(r'"([^"]{8,300})"', gloss)
            definition = re.sub(r';?\s*"[^"]*"[^;]*', "", gloss).strip("; ")
            frequency = sum(counts[word.lower()] for word in words)
            spoken = ", ".join(word.replace("_", " ") for word in words[:3])
            found.glosses.append((frequency, category, spoken, definition))
            bucket = by_category.setdefault(category, Counter())
            for word in words:
                if word.islower():
                    bucket[word.replace("_", " ")] = max(bucket[word.replace("_", " ")], counts[word])
    found.words = {
        category: sorted(bucket, key=lambda word: (-bucket[word], word))
        for category, bucket in by_category.items()
    }
    return found

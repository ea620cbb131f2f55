"""Texts that are identical on every machine, with the frequencies of natural language.

Words are drawn by Zipf's law from a made-up vocabulary, so that no system text is needed and instruction counts can be
compared between machines and years.
"""

from __future__ import annotations

import random
from functools import lru_cache
from itertools import accumulate

N_WORDS = 30_000
MIN_WORDS, MAX_WORDS = 20, 40
ONSETS = "b c d f g h j k l m n p r s t v w z br ch cl dr fl gr pl pr sh sl st th tr".split()
VOWELS = "a e i o u ai ea ou".split()
CODAS = ["", "", "", "l", "m", "n", "r", "s", "t", "nd", "rk", "st"]


@lru_cache(maxsize=1)
def vocabulary() -> list[str]:
    """Return the words, most frequent first; the same for every seed."""
    numbers = random.Random("vocabulary")
    words: dict[str, None] = {}
    while len(words) < N_WORDS:
        n_syllables = 1 + (len(words) > 60) + (len(words) > 4_000)
        parts = (numbers.choice(letters) for _ in range(n_syllables) for letters in (ONSETS, VOWELS, CODAS))
        words["".join(parts)] = None
    return list(words)


class ZipfTexts:
    """A seeded source of texts and queries; word number r is drawn with a weight of 1 / (r + 3)."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)
        self.words = vocabulary()
        self._weights = list(accumulate(1.0 / (rank + 3) for rank in range(N_WORDS)))

    def text(self, n_words: int) -> str:
        return " ".join(self._random.choices(self.words, cum_weights=self._weights, k=n_words))

    def texts(self, n: int) -> list[str]:
        return [self.text(self._random.randint(MIN_WORDS, MAX_WORDS)) for _ in range(n)]

    def keywords(self, n_words: int) -> str:
        """Return words from the middle of the vocabulary, which few texts contain."""
        return " ".join(self._random.sample(self.words[200:5_000], n_words))

    def stop_words(self, n_words: int) -> str:
        return " ".join(self._random.sample(self.words[:20], n_words))


def fixed_queries(seed: int = 7) -> dict[str, str]:
    """Return ten queries, which never change: renaming one would orphan its history."""
    texts = ZipfTexts(seed)
    return {
        "one rare word": texts.keywords(1),
        "two keywords": texts.keywords(2),
        "three keywords": texts.keywords(3),
        "four keywords": texts.keywords(4),
        "six words": texts.text(6),
        "nine words": texts.text(9),
        "twelve words": texts.text(12),
        "stop words": texts.stop_words(4),
        "thirty words": texts.text(30),
        "sixty words": texts.text(60),
    }

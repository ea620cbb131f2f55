"""The documents and queries of a comparison, and their terms.

`documents(n)` are real passages, in a seeded order; beyond them texts are stitched from real phrases, some with an
identifier. `terms_of` runs Scrubjay's own analyzer once over all of them, so that every engine indexes the same terms;
peers get them as plain ASCII words. Queries come from passages that no index contains.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from benchmarks.compare.texts import MAX_WORDS, Source, cache_folder
from benchmarks.corpus import IDENTIFIER_SHARE, Corpus

HELD_OUT_SHARE = 0.1
MAX_HELD_OUT = 10_000
MIN_WORDS_STITCHED = 20
BOUNDARY = "zzscrubjayboundaryzz"
BLOCK = 500
N_STOP_WORDS = 150
"""The number of most frequent terms that are not used as keywords."""

NUMBERS_OF_WORDS = (1, 6, 30, 100, 200)
"""Lengths of the questions for times by length: an agent sends paragraphs."""

QUERY_KINDS = {
    "nat": "6 to 12 consecutive words of a held-out passage, stop words and all",
    "kw": "2 to 4 of a held-out passage's words, none among the 150 most frequent",
    "stop": "3 to 6 of the 40 most frequent words",
    "long": "60 consecutive words of held-out passages",
    **{f"w{n}": f"{n} consecutive words of held-out passages" for n in NUMBERS_OF_WORDS},
}


def shuffled(source: Source, seed: int) -> tuple[list[str], list[str]]:
    """Return the passages to index and the held-out ones for queries."""
    passages = list(source.passages)
    random.Random(seed).shuffle(passages)
    n_held_out = min(MAX_HELD_OUT, int(len(passages) * HELD_OUT_SHARE))
    return passages[n_held_out:], passages[:n_held_out]


def documents(source: Source, n: int, seed: int = 0) -> list[str]:
    """Return n texts: real passages, then stitched ones. Smaller collections are prefixes of larger ones."""
    real, _ = shuffled(source, seed)
    if n <= len(real):
        return real[:n]
    return real + list(stitched(real, n - len(real), seed))


def stitched(real: Sequence[str], n: int, seed: int) -> Iterator[str]:
    """Yield n texts of 20 to 40 words from runs of 3 to 12 words of real passages, some with identifiers."""
    numbers = random.Random(seed + 1)
    identifiers = Corpus(seed + 2, use_system=False)
    passages = [passage.split() for passage in real]
    for _ in range(n):
        length = numbers.randint(MIN_WORDS_STITCHED, MAX_WORDS)
        words: list[str] = []
        while len(words) < length:
            passage = passages[int(numbers.random() * len(passages))]
            start = int(numbers.random() * len(passage))
            words += passage[start : start + numbers.randint(3, 12)]
        words = words[:length]
        if numbers.random() < IDENTIFIER_SHARE:
            words[int(numbers.random() * length)] = identifiers.identifier()
        yield " ".join(words)


@dataclass(frozen=True)
class Terms:
    """The terms of n texts: ids (all tokens in order), starts (n + 1) and lengths (n, counting tokens only)."""

    vocabulary: list[str]
    ids: NDArray[np.int32]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def head(self, n: int) -> Terms:
        """Return the first n texts."""
        return Terms(self.vocabulary, self.ids[: self.starts[n]], self.starts[: n + 1], self.lengths[:n])

    def part(self, first: int, last: int) -> Terms:
        """Return the texts first..last-1, with the vocabulary of all."""
        begin, end = self.starts[first], self.starts[last]
        return Terms(
            self.vocabulary,
            self.ids[begin:end],
            self.starts[first : last + 1] - begin,
            self.lengths[first:last],
        )

    @cached_property
    def number_of(self) -> dict[str, int]:
        """The number of each term."""
        return {term: number for number, term in enumerate(self.vocabulary)}

    def of(self, text: int) -> NDArray[np.int32]:
        return self.ids[self.starts[text] : self.starts[text + 1]]

    @cached_property
    def words(self) -> list[str]:
        """The vocabulary as ASCII words without punctuation, one for one, which whitespace tokenizers keep whole."""
        plain = re.compile(r"[a-z0-9]{1,30}")
        return [
            term if plain.fullmatch(term) and not term.startswith("zq") else f"zq{i}"
            for i, term in enumerate(self.vocabulary)
        ]

    @cached_property
    def postings(self) -> NDArray[np.int64]:
        """The document frequency of each term, shape (len(vocabulary),)."""
        rows = np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.starts))
        pairs = np.unique(rows * len(self.vocabulary) + self.ids)
        return np.bincount(pairs % len(self.vocabulary), minlength=len(self.vocabulary))

    def line(self, text: int) -> str:
        """Return a text as its words, for engines that take strings."""
        words = self.words
        return " ".join([words[term] for term in self.of(text).tolist()])


def analyzed(texts: Sequence[str]) -> Iterator[list[tuple[str, str]]]:
    """Yield (term, kind) of each text. Texts are batched, because each call creates an analyzer with its caches."""
    import scrubjay

    for start in range(0, len(texts), BLOCK):
        block = texts[start : start + BLOCK]
        tokens: list[tuple[str, str]] = []
        n_out = 0
        for term, kind in scrubjay.analyze(f"\n{BOUNDARY}\n".join((*block, ""))):
            if term == BOUNDARY:
                yield tokens
                tokens, n_out = [], n_out + 1
            else:
                tokens.append((term, kind))
        if n_out != len(block):
            raise RuntimeError(
                f"a text of this block holds the boundary word: expected {len(block)} texts, got {n_out}"
            )


def terms_of(texts: Sequence[str], *, cache_name: str | None = None) -> Terms:
    """Return the terms of texts by Scrubjay's default analyzer; cached under `cache_name`."""
    path = cache_folder() / f"terms-{cache_name}-{len(texts)}.npz" if cache_name else None
    if path and path.is_file():
        with np.load(path) as stored:
            vocabulary = stored["vocabulary"].tobytes().decode().split("\n")
            return Terms(vocabulary, stored["ids"], stored["starts"], stored["lengths"])
    number_of: dict[str, int] = {}
    ids: list[NDArray[np.int32]] = []
    lengths = np.zeros(len(texts), dtype=np.int32)
    starts = np.zeros(len(texts) + 1, dtype=np.int64)
    for place, tokens in enumerate(analyzed(texts)):
        ids.append(
            np.array([number_of.setdefault(term, len(number_of)) for term, _ in tokens], dtype=np.int32)
        )
        lengths[place] = sum(kind in {"word", "part"} for _, kind in tokens)
        starts[place + 1] = starts[place] + len(tokens)
    terms = Terms(list(number_of), np.concatenate(ids) if ids else np.zeros(0, np.int32), starts, lengths)
    if path:
        flat = np.frombuffer("\n".join(terms.vocabulary).encode(), dtype=np.uint8)
        np.savez(path, vocabulary=flat, ids=terms.ids, starts=starts, lengths=lengths)
    return terms


@dataclass(frozen=True)
class Query:
    """A query as a user types it, and its terms that occur in the largest collection, as ids and as words.

    A repeated term is listed repeatedly: it counts that often for every engine.
    """

    text: str
    terms: tuple[int, ...]
    words: tuple[str, ...]

    @property
    def distinct(self) -> list[int]:
        return list(dict.fromkeys(self.terms))


def queries(kind: str, n: int, held_out: Sequence[str], terms: Terms, seed: int = 0) -> list[Query]:
    """Return n queries of a kind (see QUERY_KINDS), each with two known terms (one for one-word queries)."""
    numbers = random.Random(f"{kind}-{seed}")
    common = frequent_words(held_out)
    least = 1 if kind == "w1" else 2
    found: list[Query] = []
    while len(found) < n:
        texts = [
            query_text(kind, numbers, held_out, common) for _ in range(min(BLOCK, 2 * (n - len(found)) + 8))
        ]
        found += [query for query in as_queries(texts, terms) if len(query.distinct) >= least]
    return found[:n]


def as_queries(texts: Sequence[str], terms: Terms) -> list[Query]:
    """Return a query of the known terms of each text."""
    found = []
    for text, tokens in zip(texts, analyzed(texts), strict=True):
        known = tuple(terms.number_of[term] for term, _ in tokens if term in terms.number_of)
        found.append(Query(text, known, tuple(terms.words[term] for term in known)))
    return found


def frequent_words(passages: Sequence[str]) -> list[str]:
    """Return lower-cased words, most frequent first."""
    counts = Counter(word for passage in passages for word in re.findall(r"[a-z]+", passage.lower()))
    return [word for word, _ in counts.most_common(N_STOP_WORDS)]


def query_text(kind: str, numbers: random.Random, held_out: Sequence[str], common: Sequence[str]) -> str:
    if kind == "stop":
        return " ".join(numbers.sample(common[:40], numbers.randint(3, 6)))
    passage = numbers.choice(held_out).split()
    if kind == "kw":
        rare = [
            word
            for word in dict.fromkeys(passage)
            if re.sub(r"\W", "", word.lower()) not in common and len(word) > 2
        ]
        return " ".join(numbers.sample(rare, min(len(rare), numbers.randint(2, 4))))
    n_words = 60 if kind == "long" else int(kind[1:]) if kind[1:].isdigit() else 0
    if n_words:
        start = numbers.randrange(max(1, len(passage) - n_words + 1))
        passage = passage[start:]
        while len(passage) < n_words:
            passage += numbers.choice(held_out).split()
        return " ".join(passage[:n_words])
    length = min(len(passage), numbers.randint(6, 12))
    start = numbers.randrange(len(passage) - length + 1)
    return " ".join(passage[start : start + length])

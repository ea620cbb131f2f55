"""Strategies for the property tests: small worlds with many ties, repeats, identifiers and neighbours.

Texts come from few words, so that queries match often and scores tie; scopes from few names, so that partitions share
tenants, users and agents; ids from few, so that documents are replaced in their scope and most ids live in several
scopes at once; vectors either from few that are exact in every stored type (rankings must be equal) or from
all finite floats of a moderate size (equal within the documented bound).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

DIM = 4

WORDS = "jay jay jay acorn acorn oak cache cached caching the the of and a key keys staging prefix running runs".split()
IDENTIFIERS = [
    "sk-stg-0041", "SK-STG-0041", "sk-stg-0042", "stg", "0041", "skstg0041", "TS-999", "ts999", "jane@acme.com",
    "v2.1.3", "10.0.0.1", "snake_case", "camelCase", "src/api/chat.ts", "#4711", "E0308", "C++", "C#", "well-known",
]  # fmt: skip
OTHERS = [
    "Straße",
    "STRASSE",
    "naïve",
    "naive",
    "café",
    "東京都",
    "京都",
    "привет",
    "ﬁle",
    "e\u0301",
    "🙂",
    "it's",
    "\x00",
    "—",
]


@st.composite
def weighted(draw: st.DrawFn, *branches: tuple[int, st.SearchStrategy[Any]]) -> Any:
    """Draw from one of the branches by weight. (st.one_of merges equal branches, so repeating them has no effect.)"""
    places = [place for place, (weight, _) in enumerate(branches) for _ in range(weight)]
    return draw(branches[places[draw(st.integers(0, len(places) - 1))]][1])


words = weighted((4, st.sampled_from(WORDS)), (2, st.sampled_from(IDENTIFIERS)), (1, st.sampled_from(OTHERS)))
joined_words = st.lists(words, min_size=1, max_size=12).map(" ".join)


@st.composite
def repeated_words(draw: st.DrawFn) -> str:
    """Draw texts that repeat words: term frequencies around and above the saturation at 31."""
    counts = draw(st.dictionaries(st.sampled_from(WORDS + IDENTIFIERS), st.integers(1, 70), max_size=3))
    return " ".join(word for word, count in counts.items() for _ in range(count))


@st.composite
def long_texts(draw: st.DrawFn) -> str:
    """Lengths around the borders of the length codes: exact to 1,024, then in steps of 8, 16, 32, ..."""
    length = draw(st.one_of(st.integers(1000, 1100), st.integers(2040, 2070), st.integers(1000, 9000)))
    return draw(joined_words) + " filler" * length


unicode_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
short_texts = st.lists(st.sampled_from(["jay", "oak", "acorn", "TS-999"]), min_size=1, max_size=3).map(
    " ".join
)
texts = weighted(
    (6, short_texts), (6, joined_words), (2, repeated_words()), (1, unicode_texts), (1, st.just(""))
)
"""Short texts: of few words (so that scores tie), many words, repeats, arbitrary Unicode, or empty."""

queries = weighted((6, short_texts), (6, joined_words), (2, repeated_words()), (1, unicode_texts))
long_queries = st.lists(words, min_size=30, max_size=150).map(" ".join)

str_ids = weighted(
    (3, st.sampled_from(["m0", "m1", "m2", "m3", "m4", "m5"])),
    (1, st.sampled_from([*(f"m{n}" for n in range(24)), "é", "id with spaces", "9", "10", "\x00", "m1\x00"])),
)
int_ids = weighted(
    (3, st.integers(0, 5)),
    (1, st.sampled_from([*range(-3, 20), 2**63 - 1, -(2**63), 2**32, 2**32 + 1, 4711])),
)
"""Mostly a few ids, each of them in several scopes."""

_shared_with_jane = st.sampled_from([("acme", None, None), ("acme", "jane", None), ("acme", "jane", "coder")])
_any_scope = st.tuples(
    st.sampled_from(["acme", "globex", "a"]),
    st.sampled_from([None, "jane", "joe", "a"]),
    st.sampled_from([None, "coder", "jane", "a"]),
)
scope_keys = weighted((6, _shared_with_jane), (1, st.just(("acme", None, "coder"))), (2, _any_scope))
"""Mostly scopes that acme's jane and her coder see, sometimes others."""


def exact_vector(signs: Sequence[int], n_entries: int, scale: float) -> NDArray[np.float32]:
    """Return a vector of +-scale in the first n entries, and zero in the others; its norm is scale * sqrt(n)."""
    vector = np.zeros(len(signs), dtype=np.float32)
    vector[:n_entries] = np.array(signs[:n_entries], dtype=np.float32) * scale
    return vector


_signs = st.lists(st.sampled_from([-1, 1]), min_size=DIM, max_size=DIM)
_scales = st.sampled_from([0.5, 1.0, 2.0])
exact_vectors = st.builds(
    lambda signs, n_entries, scale, shift: np.roll(exact_vector(signs, n_entries, scale), shift),
    _signs,
    st.sampled_from([1, 4]),
    _scales,
    st.integers(0, DIM - 1),
)
"""Vectors with one or four nonzero entries, equal but for the sign, all powers of two, so that the norm is one as well:
such vectors, and their products and sums, are exact in every stored type, also as direction and norm. Rankings are
compared without tolerance."""


def _with_direction(vector: NDArray[np.float32]) -> bool:
    return float(np.linalg.norm(vector)) > 0.01


finite_vectors = (
    st.lists(st.floats(-8, 8, width=32), min_size=DIM, max_size=DIM)
    .map(lambda v: np.array(v, dtype=np.float32))
    .filter(_with_direction)
)

no_vectors = st.none()


@st.composite
def passages_of(draw: st.DrawFn, vectors: st.SearchStrategy[Any]) -> tuple[Any, Any]:
    """Draw the vectors of one to five passages, and their spans in some text, or None."""
    rows = draw(st.lists(vectors, min_size=1, max_size=5))
    starts = draw(st.lists(st.integers(0, 90), min_size=len(rows), max_size=len(rows)))
    spans = np.array([(start, start + 1 + 7 * i) for i, start in enumerate(starts)], np.uint32)
    return np.stack(rows), draw(st.sampled_from([spans, None]))


some_vectors = weighted((1, st.none()), (3, finite_vectors), (1, passages_of(finite_vectors)))
some_exact_vectors = weighted((1, st.none()), (3, exact_vectors), (1, passages_of(exact_vectors)))

chunk_sizes = st.sampled_from([None, None, 1, 3, 16])
k_values = st.one_of(st.integers(1, 12), st.sampled_from([100, 10_000, 2**31, 2**62]))
candidate_values = st.one_of(st.none(), st.integers(1, 6), st.sampled_from([100, 2**40]))
weight_values = st.one_of(st.none(), st.tuples(st.floats(0, 4), st.floats(0, 4)))
rrf_k_values = st.one_of(st.just(60.0), st.floats(0.0, 1000.0))


@dataclass(frozen=True)
class Put:
    id: Any
    text: str
    scope: tuple[str, str | None, str | None]
    vector: NDArray[np.float32] | None


@dataclass(frozen=True)
class Delete:
    id: Any
    scope: tuple[str, str | None, str | None]


@dataclass(frozen=True)
class Erase:
    scope: tuple[str, str | None, str | None]
    exact: bool


@dataclass(frozen=True)
class Compact:
    pass


Step = Put | Delete | Erase | Compact


@st.composite
def histories(
    draw: st.DrawFn,
    texts: st.SearchStrategy[str] = texts,
    vectors: st.SearchStrategy[Any] = no_vectors,
    max_size: int = 30,
) -> list[Step]:
    """Draw writes of one id type, mostly upserts, of few ids in all kinds of scopes."""
    ids: st.SearchStrategy[Any] = draw(st.sampled_from([str_ids, int_ids]))
    step = weighted(
        (20, st.builds(Put, ids, texts, scope_keys, vectors)),
        (3, st.builds(Delete, ids, scope_keys)),
        (1, st.builds(Erase, scope_keys, st.booleans())),
        (1, st.builds(Compact)),
    )
    # Hypothesis prefers short lists; with a uniform length more searches find something.
    n_steps = draw(st.integers(1, max_size))
    return draw(st.lists(step, min_size=n_steps, max_size=n_steps))


picks = st.lists(st.tuples(st.integers(0, 14), st.booleans()), max_size=8)
"""Entries of a caller's ranking: places in a list of documents, each by its id or as a pair (see `Pair.entries`)."""

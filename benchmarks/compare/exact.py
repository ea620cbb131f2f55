"""Exact answers, and lower bounds of the time to compute them.

`Exhaustive` evaluates the documented BM25 formula over every document, with the arithmetic of the reference
(`tests/reference/bm25.py`), from the terms alone: it uses nothing of the native index.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from copy import copy
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from tests.reference import bm25

from benchmarks.compare.workload import Query, Terms

NS_A_POSTING = 0.45
NS_A_DENSE_DOCUMENT = 0.05
NS_A_DOCUMENT = 0.05
NS_A_TERM = 60.0
NS_A_CALL = 2_500.0


class Exhaustive:
    """BM25 of a query against all documents of a collection.

    The length of a document counts only counting tokens; `of_peers` counts all tokens, because peers get all of them as
    plain words.
    """

    def __init__(self, terms: Terms, k1: float = 1.2, b: float = 0.75) -> None:
        n_terms = len(terms.vocabulary)
        rows = np.repeat(np.arange(len(terms), dtype=np.int64), np.diff(terms.starts))
        pairs, counts = np.unique(terms.ids.astype(np.int64) * len(terms) + rows, return_counts=True)
        self._documents = (pairs % len(terms)).astype(np.int32)
        self._frequencies = np.minimum(counts, bm25.MAX_TF).astype(np.int8)
        self._starts = np.searchsorted(pairs, np.arange(n_terms + 1, dtype=np.int64) * len(terms))
        self._parameters = k1, b
        self.n_documents = len(terms)
        self._norms = self._norms_of(terms.lengths)

    def _norms_of(self, lengths: NDArray[np.int32]) -> NDArray[np.float32]:
        longest = int(lengths.max(initial=0))
        decoded = np.array(
            [bm25.decoded_length(bm25.length_code(n)) for n in range(longest + 1)], dtype=np.int64
        )
        average = int(decoded[lengths].sum()) / len(lengths)
        norms = np.array(
            [bm25.length_norm(int(n), average, *self._parameters) for n in decoded], dtype=np.float32
        )
        return norms[lengths]

    def of_peers(self, terms: Terms) -> Exhaustive:
        peers = copy(self)
        peers._norms = self._norms_of(np.diff(terms.starts).astype(np.int32))
        return peers

    @cached_property
    def postings(self) -> NDArray[np.int64]:
        """The document frequency of each term."""
        return np.diff(self._starts)

    def scores(self, query: Query) -> NDArray[np.float64]:
        """Return the scores that the engine reports, shape (n_documents,)."""
        times = Counter(term for term in query.terms if self.postings[term])
        idf_of = {term: bm25.idf(self.n_documents, int(self.postings[term])) for term in times}
        bits = bm25.fraction_bits(idf_of, times)  # type: ignore[arg-type]  # terms are numbers here
        total = np.zeros(self.n_documents, dtype=np.int64)
        for term, n_times in times.items():
            run = slice(self._starts[term], self._starts[term + 1])
            documents = self._documents[run]
            shares = bm25.contributions(
                bm25.weight(idf_of[term], bits), self._frequencies[run], self._norms[documents]
            )
            total[documents] += n_times * np.maximum(shares, 1)
        return np.ldexp(total.astype(np.float64), -bits)

    def contributions(self) -> Iterator[tuple[int, NDArray[np.int32], NDArray[np.float64]]]:
        """Yield for each term that occurs its number, its documents, and its contribution to the score of each."""
        for term in np.flatnonzero(self.postings).tolist():
            run = slice(self._starts[term], self._starts[term + 1])
            documents = self._documents[run]
            weight = bm25.idf(self.n_documents, int(self.postings[term]))
            frequencies = self._frequencies[run].astype(np.float64)
            yield term, documents, weight * frequencies / (frequencies + self._norms[documents])

    def floor_ns(self, query: Query) -> float:
        """T_min: 0.45 ns a posting (dense terms 0.05 ns a document), 0.05 ns a document, 60 ns a term, 2.5 us."""
        counts = self.postings[query.distinct]
        lists = np.minimum(NS_A_POSTING * counts, NS_A_DENSE_DOCUMENT * self.n_documents).sum()
        return float(lists + NS_A_DOCUMENT * self.n_documents + NS_A_TERM * len(query.distinct) + NS_A_CALL)

    def n_postings(self, query: Query) -> int:
        return int(self.postings[query.distinct].sum())


def best(scores: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Return the k best matching documents: higher score first, then lower number."""
    matching = np.flatnonzero(scores > 0)
    if len(matching) > k:
        bar = np.partition(scores[matching], len(matching) - k)[len(matching) - k]
        matching = matching[scores[matching] >= bar]
    return matching[np.lexsort((matching, -scores[matching]))][:k]


def recall(found: Sequence[int], scores: NDArray[np.float64], k: int) -> float:
    """Return the fraction of the k best that was found; ties with the last of them count as found."""
    right = best(scores, k)
    if not len(right):
        return 1.0
    bar = scores[right[-1]]
    return float(sum(scores[list(found)] >= bar)) / len(right) if len(found) else 0.0

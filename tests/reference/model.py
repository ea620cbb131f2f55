"""The reference engine: a dict of documents and the formulas, with the native engine's interface.

`ModelEngine` is slow and obvious: a search visits every visible document. The native engine must give the same
documents in the same order, lexical scores bit for bit, similarities within `vectors.bound`, and the same types of
errors. The key of a document is (exact scope, id): writers state it, readers find the documents visible to their
scope.
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial, wraps
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from scrubjay.base.errors import VersionConflictError
from tests.reference import (
    arguments,
    bm25,
    compounds,
    filters,
    fusion,
    neighbours,
    passages,
    ranking,
    scopes,
    spelling,
    vectors,
)
from tests.reference import links as links_module
from tests.reference.analyzer import analyze as analyze_text
from tests.reference.analyzer import stem_english
from tests.reference.contexts import context_of
from tests.reference.dates import Dates, find_dates
from tests.reference.foreign_form_groups import GROUPS as FOREIGN_FORMS
from tests.reference.function_words import WORDS, marked
from tests.reference.identifiers import MOST_READ, is_of_another
from tests.reference.query import Asked, asked
from tests.reference.results import Document, Hit, Result
from tests.reference.scopes import AnyScope, DocumentKey
from tests.reference.word_forms import StandsFor, cannot_meant, with_forms

COUNTING = ("word", "part")
DEFAULT_CANDIDATES = 100
GUESSED_SHARE = 0.5

Analysis = list[tuple[str, str]]
Call = TypeVar("Call", bound=Callable[..., Any])


def in_order(numbers: Iterable[float]) -> float:
    """Return the sum from left to right, each step rounded."""
    total = 0.0
    for number in numbers:
        total += number
    return total


def share_of(said: Mapping[str, float], terms: Iterable[str], guessed: Collection[str] = ()) -> float:
    """Return the share of a query's information in these terms; terms only from corrections count half; NaN if the
    query has none."""
    if not said:
        return math.nan
    total, terms = in_order(said.values()), set(terms)
    found = in_order(
        GUESSED_SHARE * nats if term in guessed else nats for term, nats in said.items() if term in terms
    )
    return found / total if total > 0 else math.nan


def alone(call: Call) -> Call:
    """Serialise calls: the simplest way to be consistent under threads."""

    @wraps(call)
    def locked(self: ModelEngine, *args: Any, **kwargs: Any) -> Any:
        with self._lock:
            return call(self, *args, **kwargs)

    return locked  # type: ignore[return-value]


KNOWN_ANALYZERS = {"english", "plain", "arabic", *compounds.LANGUAGES, *FOREIGN_FORMS}
"""Analyzers that the model constructs by name."""


@lru_cache(maxsize=50_000)
def analyze_english(text: str) -> tuple[tuple[str, str], ...]:
    from tests.reference.analyzer import analyze

    return tuple((term, kind) for term, kind in analyze(text))


@dataclass(frozen=True)
class Row:
    """A live document: the caller's values, those derived from them, and its serial number."""

    document: Document
    frequencies: Counter[str]
    length: int
    vector: passages.Several | None
    serial: int


@dataclass(frozen=True)
class Write:
    """One validated upsert."""

    id: str | int
    text: str
    scope: AnyScope
    vector: passages.Several | None
    payload: bytes | None
    expected: int | None = None
    """The version that it may replace; 0: no document may exist; None: any."""

    @property
    def key(self) -> DocumentKey:
        return scopes.key(self.scope), self.id


class ModelEngine:
    """The engine as a dict; see the module's docstring. (Mutants override the class attributes.)"""

    formulas: Any = bm25
    counting_kinds: tuple[str, ...] = COUNTING

    def __init__(
        self,
        dim: int | None = None,
        metric: str = "cosine",
        *,
        dtype: str = "f16",
        analyzer: str = "english",
        stemmer: Callable[[str], str] | None = None,
        k1: float | None = None,
        b: float | None = None,
        analyze: Callable[[str], Iterable[tuple[str, str]]] | None = None,
    ) -> None:
        if dim is not None and arguments.positive(dim, "dim") < 1:
            raise ValueError
        if metric not in vectors.METRICS:
            raise ValueError(f"metric: expected one of {vectors.METRICS}, got {metric!r}")
        if dtype not in vectors.RELATIVE_BOUND:
            raise ValueError(f"dtype: expected f16, f32 or i8, got {dtype!r}")
        if k1 is not None and not (math.isfinite(k1) and k1 >= 0):
            raise ValueError(f"k1: expected a finite number >= 0, got {k1}")
        if b is not None and not 0 <= b <= 1:
            raise ValueError(f"b: expected a number from 0 to 1, got {b}")
        self.dim, self.metric, self.dtype, self.k1, self.b = dim, metric, dtype, k1, b
        self.analyzer = analyzer
        if analyze is None and analyzer in KNOWN_ANALYZERS and analyzer != "english":
            analyze = partial(analyze_text, name=analyzer)
        self._analyze = analyze or analyze_english
        self._rows: dict[DocumentKey, Row] = {}
        self._id_type: type | None = None
        self._n_writes = 0
        self._lock = threading.RLock()

    # -- writes -------------------------------------------------------------------------------------------------------

    @alone
    def upsert(
        self, id: Any, text: Any, *, scope: AnyScope, vector: Any = None, payload: bytes | None = None
    ) -> None:
        checked = None if vector is None else arguments.several(vector, self.dim)
        write = Write(
            arguments.document_id(id, self._id_type),
            arguments.text(text),
            arguments.scope(scope),
            checked,
            arguments.payload(payload),
        )
        self._write(write)

    @alone
    def upsert_many(
        self, ids: Any, texts: Any, *, scope: Any, vectors: Any = None, payloads: Any = None
    ) -> int:
        """As if each row were upserted in turn, but nothing is written unless every row is valid."""
        return len(
            self.upsert_versioned(ids, texts, scope=scope, versions=None, vectors=vectors, payloads=payloads)
        )

    @alone
    def upsert_versioned(
        self, ids: Any, texts: Any, *, scope: Any, versions: Any, vectors: Any = None, payloads: Any = None
    ) -> list[int]:
        """Upsert rows if each document that counts has its expected version; return the new versions."""
        given_ids = arguments.sequence(ids, "ids")
        n_rows = len(given_ids)
        given_texts = arguments.same_length(arguments.sequence(texts, "texts"), n_rows, "texts")
        given_scopes = arguments.scopes_of(scope, n_rows)
        checked_vectors = arguments.vectors(vectors, n_rows, self.dim)
        given_payloads = [None] * n_rows if payloads is None else arguments.sequence(payloads, "payloads")
        arguments.same_length(given_payloads, n_rows, "payloads")
        given_versions = [None] * n_rows if versions is None else arguments.sequence(versions, "versions")
        arguments.same_length(given_versions, n_rows, "versions")
        settled = self._id_type
        writes = []
        for index in range(n_rows):
            id = arguments.document_id(given_ids[index], settled, f"ids[{index}]")
            settled = type(id)
            writes.append(
                Write(
                    id,
                    arguments.text(given_texts[index], f"texts[{index}]"),
                    arguments.scope(given_scopes[index]),
                    checked_vectors[index],
                    arguments.payload(given_payloads[index], f"payloads[{index}]"),
                    given_versions[index],
                )
            )
        last = {write.key: write for write in writes}
        for write in writes:
            found = self._version_of(write.key)
            if last[write.key] is write and write.expected not in (None, found):
                raise VersionConflictError(write.id, write.expected or 0, found)
        for write in writes:
            self._write(write)
        return [self._rows[write.key].serial for write in writes if last[write.key] is write]

    def _version_of(self, key: DocumentKey) -> int:
        return self._rows[key].serial if key in self._rows else 0

    def _write(self, write: Write) -> None:
        tokens = list(self._analyze(write.text))
        n_counting = sum(kind in self.counting_kinds for _, kind in tokens)
        if context := context_of(write.payload):  # searchable, but does not count in the length
            tokens += self._analyze(context)
        stored: Any = None
        vector = write.vector
        if isinstance(vector, passages.Passages):
            if self.dtype == "i8":
                vector = passages.Passages(
                    np.array([vectors.in_bytes(row) for row in vector.rows]), vector.spans
                )
            stored = vector.stored()
            self.dim = vector.dim
        elif vector is not None:
            if self.dtype == "i8":
                vector = vectors.in_bytes(vector)
            stored = vector.astype(np.float32)
            stored.setflags(write=False)
            self.dim = vector.shape[0]
        self._id_type = type(write.id)
        self._n_writes += 1
        self._rows[write.key] = Row(
            Document(write.id, write.text, write.scope, write.payload, stored, self._n_writes),
            Counter(term for term, _ in tokens),
            self.formulas.decoded_length(self.formulas.length_code(n_counting)),
            vector,
            self._n_writes,
        )

    @alone
    def delete(self, id: Any, *, scope: AnyScope) -> bool:
        home = scopes.key(arguments.scope(scope))
        return self._rows.pop((home, arguments.document_id(id, self._id_type)), None) is not None

    @alone
    def delete_many(self, ids: Any, *, scope: Any, versions: Any = None) -> int:
        given_ids = arguments.sequence(ids, "ids")
        given_scopes = arguments.scopes_of(scope, len(given_ids))
        checked = [
            (arguments.document_id(id, self._id_type, f"ids[{index}]"), arguments.scope(own_scope))
            for index, (id, own_scope) in enumerate(zip(given_ids, given_scopes, strict=True))
        ]
        wanted = [None] * len(checked) if versions is None else arguments.sequence(versions, "versions")
        arguments.same_length(wanted, len(checked), "versions")
        return sum(
            version in (None, self._version_of((scopes.key(own_scope), id)))
            and self.delete(id, scope=own_scope)
            for (id, own_scope), version in zip(checked, wanted, strict=True)
        )

    @alone
    def erase(self, scope: AnyScope, *, exact: bool = False) -> int:
        arguments.scope(scope)
        erased = [(home, id) for home, id in self._rows if scopes.erased_by(scope, home, exact=exact)]
        for key in erased:
            del self._rows[key]
        return len(erased)

    def compact(self) -> int:
        return 0

    # -- reads --------------------------------------------------------------------------------------------------------

    @alone
    def count(
        self, scope: AnyScope | None = None, *, filter: Any = None, ids: Any = None, exclude: Any = None
    ) -> int:
        if scope is None:
            if not (filter is None and ids is None and exclude is None):
                raise TypeError("scope: expected a Scope with a filter")
            return len(self._rows)
        return len(self._admitted(self._visible(arguments.scope(scope)), filter, ids, exclude))

    @alone
    def get(self, id: Any, *, scope: AnyScope) -> Document | None:
        """Return the most specific of the documents with this id that are visible to `scope`."""
        row = self._named(self._rows, arguments.document_id(id, self._id_type), arguments.scope(scope))
        return None if row is None else row.document

    # Methods for tests, which the engine does not have.

    def live_keys(self) -> list[DocumentKey]:
        """Return the keys of all live documents, in the order of their first writing."""
        return list(self._rows)

    def stored(self, key: DocumentKey) -> Document:
        """Return the document with exactly this key."""
        return self._rows[key].document

    def visible_keys(self, scope: AnyScope) -> list[DocumentKey]:
        """Return the keys visible to a search from `scope`, in the order in which ties are broken."""
        return [row.document.key for row in self._visible(scope)]

    def __len__(self) -> int:
        return len(self._rows)

    def stats(self, scope: AnyScope | None = None) -> dict[str, int | float | str]:
        rows = list(self._rows.values()) if scope is None else self._visible(scope)
        return {"documents": len(rows), "vectors": sum(row.vector is not None for row in rows)}

    @alone
    def search(
        self,
        text: Any = None,
        *,
        vector: Any = None,
        scope: AnyScope | Sequence[AnyScope],
        k: int = 10,
        filter: Any = None,
        query: Any = None,
        explain: bool = False,
        entities: Sequence[str] | None = None,
    ) -> Result:
        """Search; several scopes are searched as one scope that sees everything visible to any of them."""
        wanted = asked(query)
        k = arguments.positive(k, "k")
        n_lexical, n_nearest = (
            max(DEFAULT_CANDIDATES, k) if depth is None else arguments.positive(depth, "candidates")
            for depth in wanted.depths
        )
        options, rankings = wanted.ranking, wanted.rankings
        entities = wanted.entities if entities is None else entities
        text = text if wanted.keywords is None else wanted.keywords
        ran = arguments.mode(
            wanted.mode,
            has_text=text is not None,
            has_vector=vector is not None,
            has_rankings=bool(rankings) or bool(wanted.links and wanted.links.centres),
        )
        named = [
            [
                arguments.ranking_entry(entry, self._id_type, f"rankings[{index}]")
                for index, entry in enumerate(listed)
            ]
            for listed in rankings or []
        ]
        seen = arguments.several_scopes(scope)
        rows = self._visible(seen)
        tokens = list(self._analyze(arguments.text(text))) if text is not None else []
        direction = None if vector is None else arguments.vector(vector, self.dim)

        fused = ran == "hybrid" or bool(rankings) or wanted.links is not None
        dates = self._dates(text, wanted)
        turns = wanted.mode == "hybrid" and options.neighbours != 0
        if turns and len(rows) <= neighbours.MOST_DOCUMENTS:
            admitted = self._admitted(rows, filter, wanted.ids, wanted.exclude)
            turns = neighbours.has_turns(filters.attributes_of(row.document.payload) for row in admitted)
        else:
            turns = False
        ranked = fused or options.adjusts or dates is not None or turns
        n_lexical, n_nearest = (n_lexical, n_nearest) if ranked else (k, k)
        depth = max(n_lexical, n_nearest)
        read: list[spelling.Correction] = []
        if options.spelling and text is not None and ran in ("hybrid", "lexical"):
            tokens, read, stands_for, meant, guessed = self._reworded(rows, arguments.text(text), tokens)
        else:
            stands_for, meant, guessed = {}, set(), set()
        bm25_of = self._bm25(rows, tokens, text, meant, stands_for) if text is not None else {}
        similarity_of = self._similarities(rows, direction) if direction is not None else {}
        spread = self._spread(rows, similarity_of, vectors.MOST_SAMPLED)
        visible = rows
        said: dict[str, float] = {}
        if explain and ran in ("hybrid", "lexical"):
            said = self._information(rows, tokens, text, meant) if rows else {}
        attributes_of = {row.serial: filters.attributes_of(row.document.payload) for row in rows}
        frequencies_of = {row.serial: set(row.frequencies) for row in rows}
        # Filters remove documents from the rankings, not from the statistics above.
        rows = self._admitted(rows, filter, wanted.ids, wanted.exclude)
        lexical = self._ranking(rows, bm25_of, n_lexical) if ran in ("hybrid", "lexical") else []
        nearest = self._ranking(rows, similarity_of, n_nearest) if ran in ("hybrid", "vector") else []
        extra = [self._visible_ranking(rows, listed, scope)[:depth] for listed in named]
        if wanted.links is not None:
            listed = [*lexical, *nearest, *(serial for ranked in extra for serial in ranked)]
            extra += self._linked(rows, attributes_of, wanted.links, scope, depth, listed)
        row_of = {row.serial: row for row in rows}
        if ranked:
            with_words, with_vector = ran in ("hybrid", "lexical"), ran in ("hybrid", "vector")
            evidence = ranking.Evidence(
                [row.serial for row in rows],
                tokens if with_words else [],
                frequencies_of.__getitem__,
                bm25_of if with_words else {},
                similarity_of if with_vector else {},
                lambda a, b: self._cosine(row_of[a], row_of[b], direction if with_vector else None),
                lambda serial: attributes_of[serial],
                [] if entities is None else list(entities),
                self._spread_fused(visible, similarity_of, nearest),
                self._function_words(text, tokens, meant),
                list(frequencies_of),
                dates,
                lambda serial: row_of[serial].document.key[0],
                turns,
                stands_for,
            )
            hits, share = self._rank(
                evidence, lexical, nearest, extra, options, fused=fused, k=k, depth=max(k, depth)
            )
        else:
            scores = similarity_of if ran == "vector" else bm25_of
            arm = "meaning" if ran == "vector" else "words"
            hits = [
                ranking.Ranked(serial, scores[serial], False, ranking.alone(scores[serial], arm))
                for serial in self._ranking(rows, scores, k)
            ]
            share = math.nan
        # Without `explain` a retriever gives evidence only for the documents it returned; with it, for every hit.
        known_bm25 = bm25_of if explain else {serial: bm25_of[serial] for serial in lexical}
        known_similarity = similarity_of if explain else {serial: similarity_of[serial] for serial in nearest}
        lexical_ranks = {serial: rank for rank, serial in enumerate(lexical, start=1)}
        vector_ranks = {serial: rank for rank, serial in enumerate(nearest, start=1)}
        found = [
            Hit(
                row_of[serial].document,
                float(score),
                lexical_ranks.get(serial, 0),
                vector_ranks.get(serial, 0),
                known_bm25.get(serial, math.nan),
                known_similarity.get(serial, math.nan),
                self._coverage(row_of[serial], tokens) if explain else math.nan,
                self._matched_terms(row_of[serial], tokens) if explain else (),
                hit.identifier,
                hit.parts if explain else {},
                share_of(said, frequencies_of[serial], guessed),
                self._passage(row_of[serial], direction if ran in ("hybrid", "vector") else None),
                explain
                and ran in ("hybrid", "lexical")
                and is_of_another(tokens, frequencies_of[serial], self._wholes(row_of[serial].document)),
            )
            for hit, serial, score in ((hit, hit.document, hit.score) for hit in hits)
        ]
        corrections = [(typed, word) for typed, _, word, _ in read]
        total = in_order(said.values()) if explain and ran in ("hybrid", "lexical") else math.nan
        asked_spread = (wanted.spread or explain) and ran in ("hybrid", "vector")
        return Result(found, ran, share, spread if asked_spread else (math.nan, math.nan), total, corrections)

    def search_batch(
        self,
        texts: Any,
        *,
        vectors: Any = None,
        scope: Any,
        k: int = 10,
        filter: Any = None,
        query: Any = None,
        explain: bool = False,
        threads: int | None = None,
        entities: Sequence[Sequence[str]] | None = None,
    ) -> list[Result]:
        """As if each query were a search of its own."""
        if threads is not None:
            arguments.positive(threads, "threads")
        if texts is None and vectors is None:
            raise ValueError("texts, vectors: expected at least one of them, got neither")
        n_queries = len(arguments.sequence(texts, "texts")) if texts is not None else len(vectors)
        checked = arguments.vectors(vectors, n_queries, self.dim)
        given_texts = [None] * n_queries if texts is None else arguments.sequence(texts, "texts")
        given_scopes = arguments.scopes_of(scope, n_queries)
        queries = list(query) if isinstance(query, (list, tuple)) else [query] * n_queries
        if len(queries) != n_queries:
            raise ValueError(f"query: expected {n_queries}, got {len(queries)}")
        return [
            self.search(
                given_texts[index],
                vector=checked[index],
                scope=given_scopes[index],
                k=k,
                filter=filter,
                query=queries[index],
                explain=explain,
                entities=None if entities is None else entities[index],
            )
            for index in range(n_queries)
        ]

    # -- the definitions ----------------------------------------------------------------------------------------------

    def _visible(self, scope: AnyScope | Sequence[AnyScope]) -> list[Row]:
        """Return the documents visible from one or several scopes, in the order in which ties are broken."""
        seen = scopes.visible_together(arguments.several_scopes(scope))
        order = {partition: place for place, partition in enumerate(seen)}
        rows = [row for (home, _), row in self._rows.items() if home in order]
        return sorted(rows, key=lambda row: (order[row.document.key[0]], row.serial))

    def _named(
        self, row_of: Mapping[DocumentKey, Row], id: str | int, scope: AnyScope | Sequence[AnyScope]
    ) -> Row | None:
        """Return the document with an id: the most specific one that is visible from one or several scopes."""
        for home in scopes.most_specific_together(arguments.several_scopes(scope)):
            if (home, id) in row_of:
                return row_of[home, id]
        return None

    def _admitted(self, rows: Sequence[Row], filter: Any, ids: Any, exclude: Any) -> list[Row]:
        """Return the rows that pass the filter, are named by `ids` and not by `exclude`."""
        filters.admits({} if filter is None else filter, {})  # an invalid one raises even without documents
        wanted = None if ids is None else arguments.named(ids, self._id_type, "ids")
        unwanted = arguments.named(() if exclude is None else exclude, self._id_type, "exclude")
        return [
            row
            for row in rows
            if (filter is None or filters.admits(filter, filters.attributes_of(row.document.payload)))
            and (wanted is None or not {(None, row.document.id), row.document.key}.isdisjoint(wanted))
            and {(None, row.document.id), row.document.key}.isdisjoint(unwanted)
        ]

    def _n_documents(self, rows: Sequence[Row]) -> int:
        return len(rows)

    def _average_length(self, rows: Sequence[Row]) -> float:
        return sum(row.length for row in rows) / len(rows)

    def _reworded(
        self, rows: Sequence[Row], text: str, tokens: Analysis
    ) -> tuple[Analysis, list[spelling.Correction], dict[str, StandsFor], set[str], set[str]]:
        """Reword a query: replace its unknown words by corrections, and add other forms, compounds and parts. Return
        the tokens; the corrections; the term for which each added form, compound or part stands; corrected function
        words; and the terms that come only from corrections."""
        if len(text.encode("utf-8", "replace")) > spelling.MOST_BYTES:
            return tokens, [], {}, set(), set()
        df = Counter(term for row in rows for term in row.frequencies)
        becomes, further, form_of = self._forms(text, tokens, df)
        others = [(term, kind) for term, kind in tokens if term not in becomes]
        read = self._corrections(rows, df, text, others)
        if self.analyzer.split("-")[0] == "english":
            becomes |= spelling.other_spellings(text, others, df, self._term_of)
        becomes.update((term, known) for _, term, _, known in read)
        present = {becomes.get(term, term) for term, _ in tokens}
        further = [(term, kind) for term, kind in further if term not in present]
        meant = {known for _, _, word, known in read if word in WORDS}
        meant |= cannot_meant(tokens, becomes, further)
        name = self.analyzer.split("-")[0]
        words = self._stemmed_words(text) if name in compounds.LANGUAGES else {}
        compounded = compounds.others(tokens, df, name, becomes, words)
        reworded = [(becomes.get(term, term), kind) for term, kind in tokens] + further
        present = {term for term, _ in reworded}
        parts = [other for other in compounded if other not in present]
        reworded += [(other, "joined") for other in parts for _ in range(compounded[other][1])]
        stands_for = {
            other: StandsFor(becomes.get(form_of[other], form_of[other]))
            for other, _ in further
            if other in form_of
        }
        stands_for |= {other: StandsFor(compounded[other][0], compounds.WORTH) for other in parts}
        misspelt = {term for _, term, _, _ in read}
        said = {becomes.get(term, term) for term, _ in tokens if term not in misspelt}
        return reworded, read, stands_for, meant, {known for _, _, _, known in read} - said

    def _forms(
        self, text: str, tokens: Analysis, df: Mapping[str, int]
    ) -> tuple[dict[str, str], Analysis, dict[str, str]]:
        name = self.analyzer.split("-")[0]
        return with_forms(text, tokens, df, name) if name in KNOWN_ANALYZERS else ({}, [], {})

    def _stemmed_words(self, text: str) -> dict[str, list[str]]:
        """The first words of a query that begin with their terms and go on, by term."""
        pairs = (
            (self._term_of(word), word)
            for word in dict.fromkeys(spelling.surface_words(text))
            if compounds.may_be_in_compound(word)
        )
        found: dict[str, list[str]] = {}
        longer = ((term, word) for term, word in pairs if word.startswith(term) and word != term)
        for term, word in itertools.islice(longer, compounds.MOST_OTHERS):
            found.setdefault(term, []).append(word)
        return found

    def _term_of(self, word: str) -> str:
        return next((term for term, _ in self._analyze(word)), word)

    def _corrections(
        self, rows: Sequence[Row], df: Mapping[str, int], text: str, tokens: Analysis
    ) -> list[spelling.Correction]:
        """Return the corrections of the query's words that occur in no visible document."""
        stems = {"english": stem_english, "plain": lambda word: word}
        return spelling.corrections(
            text,
            tokens,
            df,
            self._term_of,
            stems.get(self.analyzer.split("-")[0]),
            lambda term: (
                (row.document.text, context_of(row.document.payload) or "")
                for row in rows
                if term in row.frequencies
            ),
        )

    def _bm25(
        self,
        rows: Sequence[Row],
        tokens: Analysis,
        text: str,
        meant: Collection[str] = (),
        stands_for: Mapping[str, StandsFor] | None = None,
    ) -> dict[int, float]:
        """Return the score of every document with a term of the query; statistics are those of `rows` alone."""
        count_in_query = Counter(term for term, _ in tokens)  # in the order of first appearance
        holders = {term: [row for row in rows if term in row.frequencies] for term in count_in_query}
        idf_of = {
            term: self.formulas.idf(self._n_documents(rows), len(found))
            for term, found in holders.items()
            if found
        }
        if not idf_of:
            return {}
        bits = self.formulas.fraction_bits(idf_of, count_in_query)
        average = self._average_length(rows)
        k1, b = self.formulas.parameters(average, self.k1, self.b)
        little = self._function_words(text, tokens, meant)
        total: dict[int, int] = {}
        for term, idf in idf_of.items():
            worth = idf
            if term in little:
                worth = min(idf, little[term])
            elif stands_for and term in stands_for:
                worth = stands_for[term].worth(idf, idf_of.get(stands_for[term].term))
            norms = np.array([self.formulas.length_norm(row.length, average, k1, b) for row in holders[term]])
            frequencies = [row.frequencies[term] for row in holders[term]]
            gains = self.formulas.contributions(self.formulas.weight(worth, bits), frequencies, norms)
            for row, gain in zip(holders[term], gains.tolist(), strict=True):
                total[row.serial] = total.get(row.serial, 0) + count_in_query[term] * gain
        return {serial: self.formulas.reported_score(score, bits) for serial, score in total.items()}

    def _function_words(
        self, text: Any, tokens: Analysis, meant: Collection[str] = ()
    ) -> Mapping[str, float]:
        """Return the query's terms that weigh little, with the maximum idf of each; `meant` are misspelt function
        words."""
        english = self.analyzer.split("-")[0] == "english"
        textbook = self.k1 is not None and self.b is not None
        if text is None or not english or textbook:
            return {}
        return marked(arguments.text(text), [term for term, _ in tokens], meant)

    def _spread(self, rows: Sequence[Row], similarity_of: dict[int, float], most: int) -> tuple[float, float]:
        sampled = [rows[place].serial for place in vectors.sampled_places(len(rows), most)]
        return vectors.spread([similarity_of[one] for one in sampled if one in similarity_of])

    def _spread_fused(
        self, rows: Sequence[Row], similarity_of: dict[int, float], nearest: Sequence[int]
    ) -> tuple[float, float]:
        """Return mean and deviation for the automatic fusion: of the vector ranking if most of the sample lack a
        vector."""
        sampled = [rows[place].serial for place in vectors.sampled_places(len(rows), vectors.MOST_FUSED)]
        known = [one for one in sampled if one in similarity_of]
        few = 2 * len(known) < vectors.n_blocks(len(rows), vectors.MOST_FUSED)
        return vectors.spread([similarity_of[one] for one in (nearest if few else known)])

    def _similarities(self, rows: Sequence[Row], query: NDArray[np.float64]) -> dict[int, float]:
        return {row.serial: self._nearest(row.vector, query)[1] for row in rows if row.vector is not None}

    def _ranking(self, rows: Sequence[Row], score_of: dict[int, float], depth: int) -> list[int]:
        """Return the best `depth` documents: score descending, then the order of `rows`."""
        scored = [row.serial for row in rows if row.serial in score_of]
        return sorted(scored, key=lambda serial: -score_of[serial])[:depth]  # stable

    def _visible_ranking(
        self,
        rows: Sequence[Row],
        entries: Sequence[tuple[scopes.Key | None, str | int]],
        scope: AnyScope | Sequence[AnyScope],
    ) -> list[int]:
        """Return a caller's ranking, restricted to the documents in `rows`; of repeated ones the first counts."""
        row_of = {row.document.key: row for row in rows}
        named = [
            self._named(row_of, id, scope) if home is None else row_of.get((home, id)) for home, id in entries
        ]
        return list(dict.fromkeys(row.serial for row in named if row is not None))

    def _linked(
        self,
        rows: Sequence[Row],
        attributes_of: Mapping[int, filters.Attributes],
        wanted: Any,
        scope: AnyScope,
        depth: int,
        listed: Sequence[int],
    ) -> list[list[int]]:
        """Return the rankings by links, restricted to the documents in `rows`; `listed`: the documents of other
        rankings."""
        row_of = {row.document.key: row for row in rows}

        def named(id: str | int) -> int | None:
            row = self._named(row_of, id, scope)
            return None if row is None else row.serial

        links = links_module.edges(
            {row.serial: attributes_of[row.serial].get(wanted.field) for row in rows}, named
        )
        place = {row.serial: index for index, row in enumerate(rows)}
        found = []
        if wanted.centres:
            entries = [arguments.ranking_entry(one, self._id_type, "links.centres") for one in wanted.centres]
            centres = self._visible_ranking(rows, entries, scope)
            found.append(
                links_module.by_distance(links, centres, place, wanted.hops, wanted.direction)[:depth]
            )
            listed = [*listed, *found[0]]
        if wanted.mentions:
            found.append(links_module.by_mentions(links, listed, place))
        return found

    @staticmethod
    def _dates(text: Any, wanted: Asked) -> Dates | None:
        """Return the dates in a question; None: there are none, or they are switched off."""
        if text is None or wanted.mode != "hybrid" or wanted.ranking.dates == 0:
            return None
        now_us = wanted.ranking.dates_now_us
        dates = find_dates(arguments.text(text), int(time.time() * 1e6) if now_us is None else now_us)
        return dates if dates.windows or dates.latest else None

    def _rank(self, *args: Any, **kwargs: Any) -> tuple[list[ranking.Ranked[int]], float]:
        return ranking.rank(*args, fuse=self._fuse, **kwargs)

    def _fuse(
        self, options: fusion.Options, found: fusion.Found[int]
    ) -> tuple[dict[int, float], set[int], float]:
        return fusion.fused_scores(options, found)

    def _nearest(self, vector: passages.Several, query: NDArray[np.float64]) -> tuple[int, float]:
        return passages.nearest(self.metric, query, vector)

    def _cosine(self, a: Row, b: Row, query: NDArray[np.float64] | None) -> float:
        if a.vector is None or b.vector is None:
            return 0.0
        one, other = (
            passages.direction(self.metric, query, row.vector) for row in (a, b) if row.vector is not None
        )
        return vectors.similarity("cosine", one, other)

    def _passage(self, row: Row, query: NDArray[np.float64] | None) -> tuple[int, int] | None:
        """Return the span of a document's nearest passage."""
        if query is None or not isinstance(row.vector, passages.Passages):
            return None
        start, end = row.vector.spans[self._nearest(row.vector, query)[0]]
        return (start, end) if end else None

    def _wholes(self, document: Document) -> Iterator[str]:
        for text in (document.text, context_of(document.payload) or ""):
            begin = text.encode()[:MOST_READ].decode(errors="ignore")
            yield from (term for term, kind in self._analyze(begin) if kind == "whole")

    def _matched_terms(self, row: Row, tokens: Analysis) -> list[str]:
        return list(dict.fromkeys(term for term, _ in tokens if term in row.frequencies))

    def _information(
        self, rows: Sequence[Row], tokens: Analysis, text: str, meant: Collection[str] = ()
    ) -> dict[str, float]:
        """Return the information of each distinct term of a query, in nats; in query order."""
        terms = dict.fromkeys(term for term, _ in tokens)
        counting = {term for term, kind in tokens if kind in COUNTING}
        leaves_out = self.analyzer.split("-")[0] == "english" and (self.k1 is None or self.b is None)
        silent = marked(text, terms, meant) if leaves_out else {}
        return {
            term: bm25.idf(len(rows), sum(term in row.frequencies for row in rows))
            for term in terms
            if term in counting and term not in silent
        }

    def _coverage(self, row: Row, tokens: Analysis) -> float:
        terms = {term for term, kind in tokens if kind in COUNTING}
        return sum(term in row.frequencies for term in terms) / len(terms) if terms else math.nan

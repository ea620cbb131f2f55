"""Mutants of the model with one seeded bug each; `test_mutants.py` requires that the tests catch every one.

Each bug is one that a native engine could have. `CAUGHT_BY` names the tests that must fail for it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np

from tests.reference import arguments, bm25, fusion, scopes, spelling
from tests.reference.fusion import reciprocal_rank_scores
from tests.reference.model import ModelEngine, Row
from tests.reference.query import asked
from tests.reference.results import Result
from tests.reference.vectors import spread

MUTANTS: dict[str, type[ModelEngine]] = {}
CAUGHT_BY: dict[str, str] = {}

LEXICAL = "tests/properties/test_lexical.py"
SPELLING = "tests/properties/test_spelling.py"
VECTOR = "tests/properties/test_vector.py"
HYBRID = "tests/properties/test_hybrid.py"
RANKING = "tests/properties/test_ranking.py"
GUARANTEE = "tests/properties/test_guarantee.py"
MACHINE = "tests/stateful/test_machine.py"
BASICS = "tests/unit/test_engine_basics.py"
ERRORS = "tests/unit/test_errors_engine.py"
SCOPES = "tests/unit/test_scope_rules.py"
ISOLATION = "tests/unit/test_scope_isolation.py"
THREADS = "tests/unit/test_threads_engine.py"
KEYS = "tests/unit/test_keys.py"
FILTERS = "tests/properties/test_filters.py"


def caught_by(*tests: str) -> Callable[[type[ModelEngine]], type[ModelEngine]]:
    def register(mutant: type[ModelEngine]) -> type[ModelEngine]:
        for test in tests:
            name = f"{mutant.__name__}@{test.rsplit('/', 1)[1].removesuffix('.py')}"
            MUTANTS[mutant.__name__] = mutant
            CAUGHT_BY[name] = test
        return mutant

    return register


def formulas(**changed: Any) -> Any:
    return SimpleNamespace(**{**vars(bm25), **changed})


# -- BM25 -----------------------------------------------------------------------------------------------------------


@caught_by(LEXICAL)
class DoubleContributions(ModelEngine):
    formulas = formulas(
        contributions=lambda weight, tfs, norms: np.rint(
            np.float64(weight)
            * np.minimum(list(tfs), 31)
            / (np.minimum(list(tfs), 31) + norms.astype(np.float64))
        ).astype(np.int64)
    )


@caught_by(LEXICAL)
class ContractedMultiplyAdd(ModelEngine):
    """The norm in single precision, as contraction by a compiler or a float formula would compute it."""

    formulas = formulas(
        length_norm=lambda length, average, k1, b: (
            np.float32(k1)
            * (np.float32(1 - b) + np.float32(b) * np.float32(length / average if average else 0))
        )
    )


@caught_by(LEXICAL)
class RoundsHalfUp(ModelEngine):
    formulas = formulas(
        contributions=lambda weight, tfs, norms: np.floor(
            weight * np.minimum(list(tfs), 31).astype(np.float32)
            / (np.minimum(list(tfs), 31).astype(np.float32) + norms) + np.float32(0.5)
        ).astype(np.int64)
    )  # fmt: skip


@caught_by(LEXICAL)
class UnboundedFrequencies(ModelEngine):
    formulas = formulas(
        contributions=lambda weight, tfs, norms: np.rint(
            weight * np.array(list(tfs), np.float32) / (np.array(list(tfs), np.float32) + norms)
        ).astype(np.int64)
    )


@caught_by(LEXICAL)
class ExactLengths(ModelEngine):
    formulas = formulas(length_code=lambda length: length, decoded_length=lambda code: code)


@caught_by(LEXICAL)
class LengthStepOffByOne(ModelEngine):
    formulas = formulas(decoded_length=lambda code: bm25.decoded_length(code) + (8 if code > 1024 else 0))


@caught_by(LEXICAL)
class AlwaysTwentyBits(ModelEngine):
    formulas = formulas(fraction_bits=lambda idfs, counts: 20)


@caught_by(LEXICAL)
class BitsIgnoreRepeats(ModelEngine):
    formulas = formulas(fraction_bits=lambda idfs, counts: bm25.fraction_bits(idfs, dict.fromkeys(idfs, 1)))


@caught_by(LEXICAL, BASICS)
class AllTokensCount(ModelEngine):
    counting_kinds = ("word", "part", "whole", "joined", "none")

    def _write(self, write: Any) -> None:
        super()._write(replace(write, text=write.text))
        row = self._rows[write.key]
        self._rows[write.key] = replace(row, length=row.length + (1 if "oak" in write.text else 0))


@caught_by(LEXICAL)
class RepeatedTermsOnce(ModelEngine):
    def _bm25(
        self, rows: Any, tokens: Any, text: str, meant: Any = (), stands_for: Any = None
    ) -> dict[int, float]:
        return super()._bm25(
            rows, list({term: (term, kind) for term, kind in tokens}.values()), text, meant, stands_for
        )


@caught_by(LEXICAL)
class FunctionWordsInFull(ModelEngine):
    def _bm25(
        self, rows: Any, tokens: Any, text: str, meant: Any = (), stands_for: Any = None
    ) -> dict[int, float]:
        return super()._bm25(rows, tokens, "", (), stands_for)


@caught_by(LEXICAL)
class NamesAreFunctionWords(ModelEngine):
    def _bm25(
        self, rows: Any, tokens: Any, text: str, meant: Any = (), stands_for: Any = None
    ) -> dict[int, float]:
        return super()._bm25(rows, tokens, text.lower(), meant, stands_for)


@caught_by(SPELLING)
class NothingIsMisspelt(ModelEngine):
    def _corrections(self, rows: Any, df: Any, text: str, tokens: Any) -> Any:
        return []


@caught_by(SPELLING)
class SpellingOfOneDocument(ModelEngine):
    """Corrections follow the frequencies in a part of the scope."""

    def _reworded(self, rows: Any, text: str, tokens: Any) -> Any:
        return super()._reworded(rows[:1], text, tokens)


@caught_by(SPELLING)
class QuotesAreCorrected(ModelEngine):
    def _corrections(self, rows: Any, df: Any, text: str, tokens: Any) -> Any:
        return super()._corrections(rows, df, text.replace('"', " "), tokens)


@caught_by(SPELLING)
class CapitalsAreCorrected(ModelEngine):
    def _corrections(self, rows: Any, df: Any, text: str, tokens: Any) -> Any:
        return super()._corrections(rows, df, text.lower(), tokens)


@caught_by(SPELLING)
class KnownWordsAreCorrected(ModelEngine):
    def _corrections(self, rows: Any, df: Any, text: str, tokens: Any) -> Any:
        with mock.patch.object(spelling, "known_words", frozenset):
            return super()._corrections(rows, df, text, tokens)


@caught_by(SPELLING)
class StemsAreWords(ModelEngine):
    """A word with the term of a known word is taken for it, even if it occurs in no document."""

    def _corrections(self, rows: Any, df: Any, text: str, tokens: Any) -> Any:
        with mock.patch.object(spelling, "standing_word", lambda texts, meant: max(meant.__self__)):
            return super()._corrections(rows, df, text, tokens)


@caught_by(SPELLING)
class GuessesInFull(ModelEngine):
    def _reworded(self, rows: Any, text: str, tokens: Any) -> Any:
        return (*super()._reworded(rows, text, tokens)[:4], set())


@caught_by(SPELLING)
class OneFormOnly(ModelEngine):
    def _forms(self, tokens: Any, df: Any) -> Any:
        return super()._forms(tokens, df)[0], [], {}


@caught_by(SPELLING)
class FormsInFull(ModelEngine):
    """A further form counts by its own idf, even if the word itself is used much more often."""

    def _forms(self, tokens: Any, df: Any) -> Any:
        return *super()._forms(tokens, df)[:2], {}


@caught_by(SPELLING)
class MeantFunctionWordsInFull(ModelEngine):
    def _bm25(
        self, rows: Any, tokens: Any, text: str, meant: Any = (), stands_for: Any = None
    ) -> dict[int, float]:
        return super()._bm25(rows, tokens, text, (), stands_for)


@caught_by(SPELLING)
class PartsInFull(ModelEngine):
    def _bm25(
        self, rows: Any, tokens: Any, text: str, meant: Any = (), stands_for: Any = None
    ) -> dict[int, float]:
        return super()._bm25(rows, tokens, text, meant)


@caught_by(LEXICAL)
class ParametersOfLongTexts(ModelEngine):
    formulas = formulas(
        parameters=lambda average, k1, b: (1.2 if k1 is None else k1, 0.75 if b is None else b)
    )


@caught_by(LEXICAL, ISOLATION, SCOPES)
class GlobalDocumentCount(ModelEngine):
    def _n_documents(self, rows: Any) -> int:
        return len(self._rows)


@caught_by(LEXICAL, ISOLATION)
class GlobalAverageLength(ModelEngine):
    def _average_length(self, rows: Any) -> float:
        return super()._average_length(list(self._rows.values()))


@caught_by(LEXICAL, MACHINE)
class DeletedDocumentsStillCount(ModelEngine):
    n_deleted = 0

    def delete(self, id: Any, *, scope: Any) -> bool:
        found = super().delete(id, scope=scope)
        self.n_deleted += found
        return found

    def compact(self) -> int:
        self.n_deleted = 0
        return 0

    def _n_documents(self, rows: Any) -> int:
        return len(rows) + self.n_deleted


# -- order, k, updates ------------------------------------------------------------------------------------------------


@caught_by(LEXICAL, BASICS, MACHINE)
class TiesById(ModelEngine):
    def _visible(self, scope: Any) -> list[Row]:
        return sorted(super()._visible(scope), key=lambda row: (row.document.id, row.serial))


@caught_by(LEXICAL, SCOPES)
class TiesByWritingOnly(ModelEngine):
    """Ties are broken by serial number across partitions, too."""

    def _visible(self, scope: Any) -> list[Row]:
        return sorted(super()._visible(scope), key=lambda row: row.serial)


@caught_by(LEXICAL, BASICS)
class UpdateKeepsItsPlace(ModelEngine):
    def _write(self, write: Any) -> None:
        old = self._rows.get(write.key)
        super()._write(write)
        if old is not None:
            self._rows[write.key] = replace(self._rows[write.key], serial=old.serial)


@caught_by(LEXICAL, BASICS)
class CompactionReorders(ModelEngine):
    def compact(self) -> int:
        for serial, key in enumerate(reversed(list(self._rows)), start=1):
            self._rows[key] = replace(self._rows[key], serial=serial)
        return 0


@caught_by(LEXICAL, VECTOR, HYBRID, BASICS)
class OneTooFew(ModelEngine):
    def _ranking(self, rows: Any, score_of: dict[int, float], depth: int) -> list[int]:
        return super()._ranking(rows, score_of, depth)[: max(1, len(score_of) - 1)]


@caught_by(LEXICAL)
class BestOfManyIsLost(ModelEngine):
    """A pruning bug: the sixth best is missing if there are many."""

    def _ranking(self, rows: Any, score_of: dict[int, float], depth: int) -> list[int]:
        ranking = super()._ranking(rows, score_of, depth + 1)
        return (ranking[:5] + ranking[6:] if len(score_of) > 40 else ranking)[:depth]


@caught_by(LEXICAL)
class BatchMixesQueries(ModelEngine):
    def search_batch(self, texts: Any, **options: Any) -> list[Result]:
        return super().search_batch(texts if texts is None else [texts[0]] * len(texts), **options)


# -- scopes -----------------------------------------------------------------------------------------------------------


class Visibility(ModelEngine):
    """Base of mutants with another visibility rule."""

    def sees(self, scope: Any, partition: scopes.Key) -> bool:
        raise NotImplementedError

    def _visible(self, scope: Any) -> list[Row]:
        rows = [row for row in self._rows.values() if self.sees(scope, scopes.key(row.document.scope))]
        order = {partition: place for place, partition in enumerate(scopes.visible_partitions(scope))}
        return sorted(rows, key=lambda row: (order.get(scopes.key(row.document.scope), 9), row.serial))


@caught_by(SCOPES, LEXICAL, MACHINE)
class SeesAllAgentsOfTheUser(Visibility):
    def sees(self, scope: Any, partition: scopes.Key) -> bool:
        return partition[0] == scope.tenant and partition[1] in (None, scope.user)


@caught_by(SCOPES, LEXICAL, MACHINE)
class SeesOnlyItsOwn(Visibility):
    def sees(self, scope: Any, partition: scopes.Key) -> bool:
        return partition == scopes.key(scope)


@caught_by(SCOPES, LEXICAL)
class JoinsNames(Visibility):
    """The key of a partition is its names joined, so that different scopes may share one."""

    def sees(self, scope: Any, partition: scopes.Key) -> bool:
        joined = ["".join(name or "" for name in seen) for seen in scopes.visible_partitions(scope)]
        return "".join(name or "" for name in partition) in joined


@caught_by(SCOPES)
class NamesEndAtNul(Visibility):
    def sees(self, scope: Any, partition: scopes.Key) -> bool:
        def cut(names: scopes.Key) -> list[str | None]:
            return [None if name is None else name.split("\0")[0] for name in names]

        return cut(partition) in [cut(seen) for seen in scopes.visible_partitions(scope)]


@caught_by(ISOLATION)
class LeaksOneIdAtTimes(ModelEngine):
    """One search in a few hundred sees a neighbour's document."""

    n_searches = 0

    def _visible(self, scope: Any) -> list[Row]:
        self.n_searches += 1
        rows = super()._visible(scope)
        return rows + list(self._rows.values())[:1] if self.n_searches % 97 == 0 else rows


@caught_by(SCOPES, MACHINE)
class EraseIsAlwaysExact(ModelEngine):
    def erase(self, scope: Any, *, exact: bool = False) -> int:
        return super().erase(scope, exact=True)


@caught_by(SCOPES, MACHINE, LEXICAL)
class EraseTakesTheTenant(ModelEngine):
    def erase(self, scope: Any, *, exact: bool = False) -> int:
        return super().erase(scopes.Scope(scope.tenant), exact=exact)


# -- keys -------------------------------------------------------------------------------------------------------------


@caught_by(KEYS, MACHINE, LEXICAL)
class IdsMoveBetweenScopes(ModelEngine):
    """One document per id, whatever its scope."""

    def _write(self, write: Any) -> None:
        for key in [key for key in self._rows if key[1] == write.id]:
            del self._rows[key]
        super()._write(write)


@caught_by(KEYS, MACHINE, LEXICAL)
class RefusesIdsOfOthers(ModelEngine):
    """Reveals to a tenant that another one has an id."""

    def _write(self, write: Any) -> None:
        if any(id == write.id and home != scopes.key(write.scope) for home, id in self._rows):
            raise ValueError(f"id: {write.id!r} exists in another scope")
        super()._write(write)


@caught_by(KEYS, MACHINE)
class GetsTheLeastSpecific(ModelEngine):
    def _named(self, row_of: Any, id: Any, scope: Any) -> Row | None:
        homes = reversed(scopes.most_specific_first(scope))
        return next((row_of[home, id] for home in homes if (home, id) in row_of), None)


@caught_by(KEYS, MACHINE)
class GetsTheAgentsBeforeTheUsers(ModelEngine):
    def _named(self, row_of: Any, id: Any, scope: Any) -> Row | None:
        homes = reversed(scopes.visible_partitions(scope))
        return next((row_of[home, id] for home in homes if (home, id) in row_of), None)


@caught_by(KEYS, MACHINE)
class GetsOnlyTheExact(ModelEngine):
    def get(self, id: Any, *, scope: Any) -> Any:
        found = super().get(id, scope=scope)
        return found if found is not None and scopes.key(found.scope) == scopes.key(scope) else None


@caught_by(KEYS, MACHINE)
class DeletesWhatIsSeen(ModelEngine):
    """Deletes the document that get() finds, which may be a shared one."""

    def delete(self, id: Any, *, scope: Any) -> bool:
        found = self.get(id, scope=scope)
        return found is not None and super().delete(id, scope=found.scope)


@caught_by(KEYS, MACHINE)
class DeletesEveryScopes(ModelEngine):
    def delete(self, id: Any, *, scope: Any) -> bool:
        found = super().delete(id, scope=scope)
        for key in [key for key in self._rows if key[1] == id and found]:
            del self._rows[key]
        return found


@caught_by(KEYS, FILTERS)
class IdSetsNameOneDocument(ModelEngine):
    """Admits only the most specific document with an id, not every visible one."""

    def _admitted(self, rows: Any, filter: Any, ids: Any, exclude: Any) -> list[Row]:
        admitted = super()._admitted(rows, filter, ids, exclude)
        last = {row.document.id: row for row in admitted}
        return admitted if ids is None else [row for row in admitted if last[row.document.id] is row]


@caught_by(KEYS, HYBRID)
class RankedIdsNameTheLeastSpecific(ModelEngine):
    def _visible_ranking(self, rows: Any, entries: Any, scope: Any) -> list[int]:
        first = {row.document.id: row.document.key for row in reversed(rows)}
        pairs = [entry if entry[0] is not None else first.get(entry[1], entry) for entry in entries]
        return super()._visible_ranking(rows, pairs, scope)


@caught_by(KEYS, HYBRID)
class RankedPairsNameTheMostSpecific(ModelEngine):
    """Ignores the scope of a pair (scope, id)."""

    def _visible_ranking(self, rows: Any, entries: Any, scope: Any) -> list[int]:
        return super()._visible_ranking(rows, [(None, id) for _, id in entries], scope)


# -- vectors ----------------------------------------------------------------------------------------------------------


@caught_by(VECTOR)
class CosineWithoutNorms(ModelEngine):
    def _similarities(self, rows: Any, query: Any) -> dict[int, float]:
        return {row.serial: float(query @ row.vector) for row in rows if row.vector is not None}


@caught_by(VECTOR, BASICS)
class StoresEightBits(ModelEngine):
    """Ranks by codes without rescoring."""

    def _similarities(self, rows: Any, query: Any) -> dict[int, float]:
        def coded(row: Row) -> Row:
            assert row.vector is not None
            step = float(np.abs(row.vector).max()) / 100 or 1.0
            return replace(row, vector=np.rint(row.vector / step) * step)

        return super()._similarities([coded(row) for row in rows if row.vector is not None], query)


@caught_by(VECTOR, BASICS, HYBRID)
class NoVectorIsZero(ModelEngine):
    def _similarities(self, rows: Any, query: Any) -> dict[int, float]:
        found = super()._similarities(rows, query)
        return {row.serial: found.get(row.serial, 0.0) for row in rows}


@caught_by(VECTOR, MACHINE)
class UpdateKeepsTheVector(ModelEngine):
    def _write(self, write: Any) -> None:
        old = self._rows.get(write.key)
        super()._write(write)
        if old is not None and old.vector is not None:
            self._rows[write.key] = replace(self._rows[write.key], vector=old.vector)


@caught_by(VECTOR)
class SumsPastTheWidth(ModelEngine):
    """Drops a SIMD tail: the last dimension does not count if the width is odd."""

    def _similarities(self, rows: Any, query: Any) -> dict[int, float]:
        keep = len(query) - len(query) % 2 if len(query) > 2 else len(query)
        cut = [replace(row, vector=row.vector[:keep]) for row in rows if row.vector is not None]
        return super()._similarities(cut, query[:keep])


@caught_by(VECTOR)
class HalfPrecisionUnderflows(ModelEngine):
    def _similarities(self, rows: Any, query: Any) -> dict[int, float]:
        halves = [
            replace(row, vector=row.vector.astype(np.float16).astype(np.float64))
            for row in rows
            if row.vector is not None
        ]
        with np.errstate(all="ignore"):
            return super()._similarities(halves, query)


# -- fusion -----------------------------------------------------------------------------------------------------------


@caught_by(HYBRID, BASICS)
class RanksFromZero(ModelEngine):
    def _fuse(self, options: Any, found: Any) -> Any:
        return super()._fuse(replace(options, rrf_k=options.rrf_k - 1), found)


@caught_by(HYBRID, BASICS)
class SwappedWeights(ModelEngine):
    def _fuse(self, options: Any, found: Any) -> Any:
        lexical, vector, *others = options.weights
        return super()._fuse(replace(options, weights=(vector, lexical, *others)), found)


@caught_by(HYBRID)
class AddsInAnotherOrder(ModelEngine):
    def _fuse(self, options: Any, found: Any) -> Any:
        scores, refused, share = super()._fuse(options, found)
        if options.method == "rrf":
            weights = [*options.weights, *([1.0] * len(found.rankings))]
            rankings = [found.lexical, found.nearest, *found.rankings]
            scores = reciprocal_rank_scores(rankings[::-1], weights[::-1], options.rrf_k)
        return scores, refused, share


@caught_by(HYBRID)
class SinglePrecisionFusion(ModelEngine):
    def _fuse(self, options: Any, found: Any) -> Any:
        scores, refused, share = super()._fuse(options, found)
        return {serial: float(np.float32(score)) for serial, score in scores.items()}, refused, share


@caught_by(HYBRID)
class CandidatesAreIgnored(ModelEngine):
    def search(self, text: Any = None, *, query: Any = None, **options: Any) -> Result:
        wanted = asked(query)
        everything = replace(wanted, candidates=10**6 if wanted.candidates else None)
        return super().search(text, query=everything, **options)


@caught_by(HYBRID)
class ForeignIdsTakeRanks(ModelEngine):
    def _visible_ranking(self, rows: Any, entries: Any, scope: Any) -> list[int]:
        places = enumerate(dict.fromkeys(entries))
        found = [super(ForeignIdsTakeRanks, self)._visible_ranking(rows, [one], scope) or [-1 - place]
                 for place, one in places]  # fmt: skip
        return list(dict.fromkeys(serial for [serial] in found))


@caught_by(HYBRID)
class HybridDropsLexicalOnly(ModelEngine):
    def _fuse(self, options: Any, found: Any) -> Any:
        scores, refused, share = super()._fuse(options, found)
        return {serial: score for serial, score in scores.items() if serial in found.nearest}, refused, share


# -- ranking ----------------------------------------------------------------------------------------------------------


@caught_by(GUARANTEE)
class NothingIsGuaranteed(ModelEngine):
    def _rank(self, evidence: Any, *rankings: Any, **kwargs: Any) -> Any:
        *rankings, options = rankings
        return super()._rank(evidence, *rankings, replace(options, guarantee=False), **kwargs)


@caught_by(GUARANTEE)
class TheNearestAreGuaranteedHoweverNear(ModelEngine):
    def _rank(self, *args: Any, **kwargs: Any) -> Any:
        with mock.patch.object(fusion, "FAR_OUT", 0.0):
            return super()._rank(*args, **kwargs)


@caught_by(GUARANTEE)
class NinePlaces(ModelEngine):
    def _rank(self, *args: Any, **kwargs: Any) -> Any:
        with mock.patch.object(fusion, "PLACES", 9):
            return super()._rank(*args, **kwargs)


@caught_by(RANKING)
class IdentifiersAreNothingSpecial(ModelEngine):
    def _rank(self, evidence: Any, *rankings: Any, **kwargs: Any) -> Any:
        *rankings, options = rankings
        return super()._rank(evidence, *rankings, replace(options, identifier_tier=False), **kwargs)


@caught_by(RANKING)
class MissingWordsCountAsTheLeastFound(ModelEngine):
    """A document without a lexical rank gets the ranking's least score, not zero."""

    def _fuse(self, options: Any, found: Any) -> Any:
        least = min((found.bm25[document] for document in found.lexical), default=0.0)
        found.bm25 = {document: found.bm25.get(document, least) for document in found.documents}
        return super()._fuse(options, found)


@caught_by(RANKING)
class AgreementIsIgnored(ModelEngine):
    def _fuse(self, options: Any, found: Any) -> Any:
        if options.method == "auto":
            scores, refused, _ = super()._fuse(replace(options, method="weighted", weights=(0.5, 0.5)), found)
            return scores, refused, 0.5
        return super()._fuse(options, found)


@caught_by(RANKING)
class PlacesAreIgnored(ModelEngine):
    """The automatic fusion uses scores only."""

    def _fuse(self, options: Any, found: Any) -> Any:
        scores, refused, share = super()._fuse(options, found)
        if options.method == "auto":
            for ranking, known, near in (
                (found.lexical, found.bm25, 0.0),
                (found.nearest, found.similarity, fusion.NEAR),
            ):
                for document, place in fusion.places(ranking, known).items():
                    scores[document] -= fusion.FIRST / (fusion.FIRST_K + place)
                    scores[document] -= near / (fusion.NEAR_K + place)
        return scores, refused, share


@caught_by(RANKING)
class EqualScoresHaveDifferentPlaces(ModelEngine):
    """Of documents with the same words the one written first gets the better place."""

    def _fuse(self, options: Any, found: Any) -> Any:
        scores, refused, share = super()._fuse(options, found)
        if options.method == "auto":
            place = fusion.places(found.lexical, found.bm25)
            for rank, document in enumerate(found.lexical, start=1):
                if rank == place[document]:
                    continue  # leaves the bits of correct scores unchanged
                scores[document] += fusion.FIRST / (fusion.FIRST_K + rank)
                scores[document] -= fusion.FIRST / (fusion.FIRST_K + place[document])
        return scores, refused, share


@caught_by(RANKING)
class OneArmDoesNotKnowWhatTheOtherFound(ModelEngine):
    def _fuse(self, options: Any, found: Any) -> Any:
        if options.method == "auto":
            ranked, near = {*found.lexical, *found.holders}, set(found.nearest)
            found.bm25 = {d: score if d in ranked else 0.0 for d, score in found.bm25.items()}
            found.similarity = {d: score for d, score in found.similarity.items() if d in near}
        return super()._fuse(options, found)


@caught_by(RANKING)
class SpreadOfTheRankingAlone(ModelEngine):
    """The automatic fusion uses the similarities of the ranking, not those of the scope."""

    def _fuse(self, options: Any, found: Any) -> Any:
        mean, deviation = spread([found.similarity[d] for d in found.nearest])
        if found.nearest:
            found.scale = (found.scale[0], mean, deviation)
        return super()._fuse(options, found)


@caught_by(RANKING)
class OneIdentifierIsAsGoodAsTwo(ModelEngine):
    def _fuse(self, options: Any, found: Any) -> Any:
        found.holders = dict.fromkeys(found.holders, 1)
        return super()._fuse(options, found)


@caught_by(RANKING)
class DiversityAgainstTheLastOnly(ModelEngine):
    """Marginal relevance compares with the last document taken, not with all."""

    def _rank(self, evidence: Any, *rankings: Any, **kwargs: Any) -> Any:
        taken: list[Any] = []
        cosine = evidence.cosine

        def with_last(a: Any, b: Any) -> float:
            if b not in taken:
                taken.append(b)
            return cosine(a, b) if b == taken[-1] else 0.0

        return super()._rank(replace(evidence, cosine=with_last), *rankings, **kwargs)


@caught_by(RANKING)
class UnknownTermsAreCovered(ModelEngine):
    """Coverage counts only known terms, so that nonsense with one common word is covered."""

    def _rank(self, evidence: Any, *rankings: Any, **kwargs: Any) -> Any:
        known = {term for document in evidence.counted for term in evidence.terms_of(document)}
        tokens = [token for token in evidence.tokens if token[0] in known]
        return super()._rank(replace(evidence, tokens=tokens), *rankings, **kwargs)


# -- stored values, evidence ------------------------------------------------------------------------------------------


@caught_by(BASICS, MACHINE)
class LosesPayloads(ModelEngine):
    def _write(self, write: Any) -> None:
        super()._write(replace(write, payload=None))


@caught_by(BASICS, MACHINE)
class FirstDuplicateWins(ModelEngine):
    def upsert_many(self, ids: Any, texts: Any, **options: Any) -> int:
        if isinstance(options.get("scope"), (list, tuple)) or options.get("payloads") is not None:
            return super().upsert_many(ids, texts, **options)
        last = list(reversed(range(len(ids))))
        return super().upsert_many([ids[i] for i in last], [texts[i] for i in last], **options)

    def _write(self, write: Any) -> None:
        if write.key in self._rows and self._rows[write.key].document.text < write.text:
            return
        super()._write(write)


@caught_by(BASICS, LEXICAL)
class CoverageCountsAllKinds(ModelEngine):
    def _coverage(self, row: Row, tokens: Any) -> float:
        return super()._coverage(row, [(term, "word") for term, _ in tokens] + [("never", "word")])


@caught_by(LEXICAL)
class MatchedTermsAreSorted(ModelEngine):
    def _matched_terms(self, row: Row, tokens: Any) -> list[str]:
        return sorted(super()._matched_terms(row, tokens))


# -- errors -----------------------------------------------------------------------------------------------------------


@caught_by(ERRORS)
class WritesBeforeItChecks(ModelEngine):
    def upsert(self, id: Any, text: Any, *, scope: Any, vector: Any = None, payload: Any = None) -> None:
        super().upsert(id, text, scope=scope)
        super().upsert(id, text, scope=scope, vector=vector, payload=payload)


@caught_by(ERRORS)
class WritesRowByRow(ModelEngine):
    def upsert_many(
        self, ids: Any, texts: Any, *, scope: Any, vectors: Any = None, payloads: Any = None
    ) -> int:
        for index, id in enumerate(ids):
            vector = None if vectors is None else vectors[index]
            own_scope = scope[index] if isinstance(scope, (list, tuple)) else scope
            super().upsert(id, texts[index], scope=own_scope, vector=vector)
        return len(ids)


@caught_by(ERRORS)
class BadRequestSettlesTheDimension(ModelEngine):
    def search(self, text: Any = None, *, vector: Any = None, **options: Any) -> Result:
        if vector is not None and self.dim is None:
            self.dim = len(vector)
        return super().search(text, vector=vector, **options)


@caught_by(ERRORS)
class TakesAnyId(ModelEngine):
    def upsert(self, id: Any, text: Any, **options: Any) -> None:
        super().upsert(id if isinstance(id, str) else str(id), text, **options)


@caught_by(ERRORS, BASICS)
class EncodesStrictly(ModelEngine):
    """Wrong error for empty batches; and lone surrogates raise."""

    def upsert(self, id: Any, text: Any, **options: Any) -> None:
        if isinstance(text, str):
            text.encode()
        super().upsert(id, str(text), **options)


# -- threads ----------------------------------------------------------------------------------------------------------


@caught_by(THREADS)
class UpdateIsDeleteThenInsert(ModelEngine):
    """For a moment neither version is visible."""

    def upsert(self, id: Any, text: Any, **options: Any) -> None:
        key = scopes.key(options["scope"]), id
        if key in self._rows:
            old = self._rows.pop(key)
            time.sleep(0)
            self._rows[key] = old
        super().upsert(id, text, **options)


@caught_by(THREADS)
class WritesBecomeVisibleLater(ModelEngine):
    """Writes become visible a millisecond after the call returned (a background refresh)."""

    def _visible(self, scope: Any) -> list[Row]:
        now = time.monotonic()
        return [row for row in super()._visible(scope) if now - self.born.get(row.serial, 0) > 1e-3]

    def _write(self, write: Any) -> None:
        if not hasattr(self, "born"):
            self.born: Counter[int] = Counter()
        super()._write(write)
        self.born[self._n_writes] = time.monotonic()  # type: ignore[assignment]


@caught_by(THREADS)
class TextsAreLookedUpLater(ModelEngine):
    """A result reads texts on access, by row instead of from its snapshot: an update in between shows through."""

    def search(self, text: Any = None, **options: Any) -> Result:
        result = super().search(text, **options)
        engine = self

        class Late(Result):
            def text(self, index: int) -> str:
                time.sleep(0)
                row = engine._rows.get(self._hits[index].document.key)
                return row.document.text if row is not None else ""

        return Late(result._hits, result.mode)


__all__ = ["CAUGHT_BY", "MUTANTS", "arguments"]

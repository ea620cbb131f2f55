"""Relevance: the evidence for a hit in absolute terms, so that a search can report that nothing fits.

Scores order the hits of one search and mean nothing beyond it: a nonsense question has a best hit, too. Three kinds of
evidence are absolute. Information: the share of the question's information that the hit holds, by idf in the visible
documents, without function words; a word that no document holds carries most, and is never found. Nearness: for the
static embedders of this package, the cosine, whose range is known; for others, the standing: the number of standard
deviations by which the similarity exceeds the mean of all similarities in the scope, which means little in a scope of a
few documents. The best of many documents is near by chance, so the number of documents counts against it. Identifiers:
a hit that holds a rare identifier of the question is probably meant; if the question names some and the hit holds none,
it is about another one, and "low" at most, however near TS-998 is to TS-999. A hit that
holds a longer one counts: sk-stg-0041 for stg-0041.

The weights were fitted by logistic regression on judged questions, with questions of other scopes and random words as
negatives (benchmarks/quality/relevance.py, which also reports precision and recall of each tier).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from scrubjay._native import Result
from scrubjay.index.frozen import FrozenResult

TIERS = ("none", "low", "standard", "high")
BOUNDS = {"low": 0.4, "standard": 0.6, "high": 0.95}
"""The minimum probability of a tier."""
_DOWNWARDS: tuple[tuple[str, float], ...] = tuple((tier, BOUNDS[tier]) for tier in reversed(TIERS[1:]))
_MOST_OF_ANOTHER = 0.5  # "low"
_SUBSTRING = BOUNDS["low"]  # the question occurs in the text, as a part of other words


class Weights(NamedTuple):
    """The weight of each kind of evidence in the log-odds."""

    constant: float
    information: float
    found: float
    standing: float
    cosine: float
    documents: float
    identifier: float


# With both rankings, with words alone, with vectors alone; and the same with cosines of a static embedder.
BOTH = Weights(-0.344, 9.381, 1.145, 0.847, 0.0, -0.806, 3.079)
WORDS = Weights(-0.379, 9.88, 1.352, 0.0, 0.0, -0.54, 2.218)
VECTORS = Weights(-0.305, 0.0, 0.0, 1.119, 0.0, -0.399, 0.0)
BOTH_STATIC = Weights(-2.309, 6.135, 0.784, 0.0, 13.831, -0.74, 6.575)
VECTORS_STATIC = Weights(-2.503, 0.0, 0.0, 0.0, 15.509, -0.396, 0.0)


@dataclass(frozen=True)
class RelevanceParts:
    """The evidence for one hit.

    Attributes:
        information: the share, 0 to 1, of the question's information that the hit holds; None without words.
        found: the same in units of the information of one unknown word, at most 3: half of ten words is more than half
            of two.
        standing: standard deviations of its similarity above the scope's mean; None without vectors, and with `cosine`.
        cosine: its cosine to the question, by a static embedder; None with any other.
        n_documents: the number of documents that could have been found.
        identifier: whether it holds a rare identifier of the question.
        another: whether the question names identifiers with a digit, and it holds none of them, nor a longer one.
        probability: of a hit with such evidence belonging to a question that the scope answers, 0 to 1.
        tier: "high", "standard", "low" or "none".
    """

    information: float | None
    found: float | None
    standing: float | None
    cosine: float | None
    n_documents: int
    identifier: bool
    another: bool
    probability: float
    tier: str


def probability(
    information: float | None,
    found: float,
    standing: float | None,
    n_documents: int,
    identifier: bool,
    cosine: float | None = None,
) -> float:
    """Return the probability for the evidence of a hit; 0 without any.

    >>> round(probability(0.8, 1.9, 3.0, 1000, False), 3), round(probability(0.0, 0.0, 3.0, 1000, False), 3)
    (0.998, 0.033)
    """
    return _weighed(information, found, standing, cosine, math.log(max(n_documents, 2)), identifier)


def _weighed(
    information: float | None,
    found: float,
    standing: float | None,
    cosine: float | None,
    log_documents: float,
    identifier: bool,
) -> float:
    if cosine is not None:
        weights = VECTORS_STATIC if information is None else BOTH_STATIC
    elif information is None and standing is None:
        return 0.0
    else:
        weights = VECTORS if information is None else WORDS if standing is None else BOTH
    constant, of_information, of_found, of_standing, of_cosine, of_documents, of_identifier = weights
    odds = constant + of_documents * log_documents + of_identifier * identifier
    odds += of_information * (information or 0.0) + of_found * found
    odds += of_standing * (standing or 0.0) + of_cosine * (cosine or 0.0)
    return 1.0 / (1.0 + math.exp(-max(-40.0, min(40.0, odds))))


def tier_of(probability: float) -> str:
    """Return the highest tier that a probability reaches."""
    for tier, bound in _DOWNWARDS:
        if probability >= bound:
            return tier
    return "none"


def reaches(tier: str, least: str) -> bool:
    """Whether a tier is `least` or higher."""
    return TIERS.index(tier) >= TIERS.index(least)


def checked_tier(tier: str, name: str) -> str:
    """Return the name of a tier.

    Raises:
        TypeError, ValueError: not a tier; the message names the argument `name`.
    """
    if not isinstance(tier, str):
        raise TypeError(f"{name}: expected a str, got {type(tier).__name__}")
    if tier not in TIERS:
        raise ValueError(f"{name}: expected one of {', '.join(TIERS)}, got {tier!r}")
    return tier


def best_of(tiers: Iterable[str]) -> str:
    """Return the highest of the tiers; "none" if there are none."""
    return max(tiers, key=TIERS.index, default="none")


def evidence(result: Result | FrozenResult) -> list[RelevanceParts]:
    """Return the evidence for each hit of a search with explain=True."""
    n_documents: int = result.admitted
    mean, deviation = result.similarity_spread
    static_cosines = result.static_cosines
    if result.mode == "substring":
        tier = tier_of(_SUBSTRING)
        return [RelevanceParts(None, None, None, None, n_documents, False, False, _SUBSTRING, tier)] * len(
            result
        )
    unknown = math.log(1.0 + (n_documents + 0.5) / 0.5)
    said = result.query_information / unknown
    columns = (
        result.information.tolist(),
        result.similarities.tolist(),
        result.identifiers.tolist(),
        result.another.tolist(),
    )
    log_documents = math.log(max(n_documents, 2))
    parts = []
    for share, similarity, identifier, another in zip(*columns, strict=True):
        information = None if math.isnan(share) else share
        weight = 0.0 if information is None else min(3.0, share * said)
        standing = cosine = None
        if math.isnan(similarity):
            pass
        elif static_cosines:
            cosine = similarity
        elif not math.isnan(mean):
            standing = (similarity - mean) / deviation if deviation > 0.0 else 0.0
        weighed = _weighed(information, weight, standing, cosine, log_documents, identifier)
        if another:
            weighed = min(weighed, _MOST_OF_ANOTHER)
        parts_of_hit = object.__new__(
            RelevanceParts
        )  # its constructor would take as long as the rest of the loop
        object.__setattr__(
            parts_of_hit,
            "__dict__",
            {
                "information": information,
                "found": None if information is None else weight,
                "standing": standing,
                "cosine": cosine,
                "n_documents": n_documents,
                "identifier": identifier,
                "another": another,
                "probability": weighed,
                "tier": tier_of(weighed),
            },
        )
        parts.append(parts_of_hit)
    return parts

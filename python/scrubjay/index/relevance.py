"""Relevance: how much speaks for a hit in absolute terms, so that a search can say that nothing fits.

Scores order the hits of one search and mean nothing beyond it: a nonsense question has a best hit, too. Three kinds of
evidence are absolute. Information: the share of what the question says that the hit says, by idf in the visible
documents, function words left out; a word that no document holds says most, and is never found. Nearness: of the static
embedders that the package has, the cosine, whose range is known; of others, whose range is not, the standing: how many
deviations the similarity lies above the mean of all similarities in the scope, which says little of a scope of a few
documents. The best of many is near by chance, so the number of documents counts against it. And identifiers: a hit that
holds a rare one of the question's is likely meant; if the question names some and it holds none, it is of another one,
and "low" at most, however near TS-998 is to TS-999. One that holds a longer one, sk-stg-0041 for stg-0041, is not.

They are weighed by logistic regression on judged questions, and questions of other scopes and random words as those
that nothing answers (benchmarks/quality/relevance.py, which also gives precision and recall of each tier).
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
"""The least probability of a tier."""
_DOWNWARDS: tuple[tuple[str, float], ...] = tuple((tier, BOUNDS[tier]) for tier in reversed(TIERS[1:]))
_MOST_OF_ANOTHER = 0.5  # "low"
_SUBSTRING = BOUNDS["low"]  # the question stands in the text, as a part of other words


class Weights(NamedTuple):
    """Of each kind of evidence in the log-odds."""

    constant: float
    information: float
    found: float
    standing: float
    cosine: float
    documents: float
    identifier: float


# With both arms, with words alone, with vectors alone; and where the cosines are those of a static embedder.
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
        found: the same in units of what one unknown word says, at most 3: half of ten words is more than half of two.
        standing: deviations of its similarity above the scope's mean; None without vectors, and with `cosine`.
        cosine: to the question, by a static embedder that the search was given; None without.
        n_documents: how many could have been found.
        identifier: whether it holds a rare identifier of the question.
        another: whether the question names identifiers with a digit, and it holds none of them, nor a longer one.
        probability: that a hit with such evidence belongs to a question that the scope answers, 0 to 1.
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
    """Weigh the evidence for a hit; without any the answer is 0.

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
        TypeError, ValueError: it is not one; the message names the argument `name`.
    """
    if not isinstance(tier, str):
        raise TypeError(f"{name}: expected a str, got {type(tier).__name__}")
    if tier not in TIERS:
        raise ValueError(f"{name}: expected one of {', '.join(TIERS)}, got {tier!r}")
    return tier


def best_of(tiers: Iterable[str]) -> str:
    """Return the highest of some tiers, "none" of none."""
    return max(tiers, key=TIERS.index, default="none")


def evidence(result: Result | FrozenResult) -> list[RelevanceParts]:
    """Return the evidence for each hit of a search that explained."""
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
        found = 0.0 if information is None else min(3.0, share * said)
        standing = cosine = None
        if math.isnan(similarity):
            pass
        elif static_cosines:
            cosine = similarity
        elif not math.isnan(mean):
            standing = (similarity - mean) / deviation if deviation > 0.0 else 0.0
        weighed = _weighed(information, found, standing, cosine, log_documents, identifier)
        if another:
            weighed = min(weighed, _MOST_OF_ANOTHER)
        one = object.__new__(RelevanceParts)  # its constructor would take as long as all else here
        object.__setattr__(
            one,
            "__dict__",
            {
                "information": information,
                "found": None if information is None else found,
                "standing": standing,
                "cosine": cosine,
                "n_documents": n_documents,
                "identifier": identifier,
                "another": another,
                "probability": weighed,
                "tier": tier_of(weighed),
            },
        )
        parts.append(one)
    return parts

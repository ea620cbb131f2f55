"""How are the documents that a search found to be ranked?

Plain, frozen descriptions: made once, compared, hashed, and turned into the engine's own form the first time they are
used. What each number does is decided in native code (`cpp/src/fusion`, `cpp/src/engine/ranking.hpp`).
"""

from __future__ import annotations

from scrubjay.fusion.methods import RRF, Auto, Boost, Fusion, Production, Weighted
from scrubjay.fusion.ranking import Ranking, as_ranking, load, save, weighs_entities
from scrubjay.fusion.signals import Entities, Prior, Recency, Relevance

__all__ = [
    "RRF",
    "Auto",
    "Boost",
    "Entities",
    "Fusion",
    "Prior",
    "Production",
    "Ranking",
    "Recency",
    "Relevance",
    "Weighted",
    "as_ranking",
    "load",
    "save",
    "weighs_entities",
]

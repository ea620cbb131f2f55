"""Query and its parts: fusions and signals.

Plain, frozen descriptions that can be compared and hashed, and are compiled to the engine's form on first use. Native
code decides what each number does (`cpp/src/fusion`, `cpp/src/engine/ranking.hpp`).
"""

from __future__ import annotations

from scrubjay.base.initialised import guard_exports
from scrubjay.fusion.links import Direction, Entry, Links
from scrubjay.fusion.methods import RRF, Auto, Boost, Fusion, Production, Weighted
from scrubjay.fusion.query import Query, load, save
from scrubjay.fusion.signals import Dates, Entities, Neighbours, Prior, Recency, Relevance

__all__ = [
    "RRF",
    "Auto",
    "Boost",
    "Dates",
    "Direction",
    "Entities",
    "Entry",
    "Fusion",
    "Links",
    "Neighbours",
    "Prior",
    "Production",
    "Query",
    "Recency",
    "Relevance",
    "Weighted",
    "load",
    "save",
]

guard_exports(__name__)

"""Types of the names that callers pass: type checkers find misspellings, and editors complete them."""

from __future__ import annotations

from typing import Literal, TypeAlias

RecordKind: TypeAlias = Literal["policy", "preference", "fact", "episode"]
"""A kind of record."""

RECORD_KINDS: tuple[RecordKind, ...] = ("policy", "preference", "fact", "episode")

RecalledKind: TypeAlias = Literal["fact", "episode", "note"]
"""Kinds that are searched; policies and preferences are looked up by key."""

Relation: TypeAlias = Literal["asserts", "ends", "corrects", "plans"]
"""The effect of a statement: something holds, it ends, it was never true, it will be true."""

RECALLED_KINDS: tuple[RecalledKind, ...] = ("fact", "episode", "note")

RELATIONS: tuple[Relation, ...] = ("asserts", "ends", "corrects", "plans")

Retention: TypeAlias = Literal["short", "standard", "long", "permanent"]
"""Retention class of an event of a run: kept for 7, 90 or 365 days, or until it is erased."""

Floor: TypeAlias = Literal["none", "low", "standard", "high"]
"""The relevance that the best record needs for anything to be added to a prompt."""

MIN_FACT_CONFIDENCE = 0.7
MIN_PREFERENCE_CONFIDENCE = 0.5
"""Minimum confidence of a candidate for becoming a record; the tables have the same constraint."""

"""The names that callers give, as types: so a type checker finds one that is misspelt, and an editor offers them."""

from __future__ import annotations

from typing import Literal, TypeAlias

RecordKind: TypeAlias = Literal["policy", "preference", "fact", "episode"]
"""A kind of record."""

RECORD_KINDS: tuple[RecordKind, ...] = ("policy", "preference", "fact", "episode")

RecalledKind: TypeAlias = Literal["fact", "episode", "note"]
"""What is searched; policies and preferences are looked up by key."""

Relation: TypeAlias = Literal["asserts", "ends", "corrects", "plans"]
"""What a statement does: says that something holds, that it ends, that it was never so, that it will be so."""

RECALLED_KINDS: tuple[RecalledKind, ...] = ("fact", "episode", "note")

RELATIONS: tuple[Relation, ...] = ("asserts", "ends", "corrects", "plans")

Retention: TypeAlias = Literal["short", "standard", "long", "permanent"]
"""How long an event of a run is kept: 7, 90 or 365 days, or until it is erased."""

Floor: TypeAlias = Literal["none", "low", "standard", "high"]
"""How relevant the best record has to be for anything to go into a prompt."""

MIN_FACT_CONFIDENCE = 0.7
MIN_PREFERENCE_CONFIDENCE = 0.5
"""How sure a candidate has to be to become a record; the tables demand it, too."""

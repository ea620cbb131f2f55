"""Level truth: statements of one subject and predicate, and the times at which each holds."""

from __future__ import annotations

from memory_store_conformance.context import JANE, JOE, Context
from memory_store_conformance.registry import check, require

_NEEDS = {"state", "held"}


@check("truth.additive", needs=_NEEDS, why="'Allergic to nuts' must not erase 'allergic to penicillin'.")
def additive(ctx: Context) -> None:
    """For a predicate with many values, a new one leaves the old ones in force."""
    store = ctx.open()
    for allergen in ("penicillin", "nuts", "pollen"):
        store.state(JANE, "Jane", "is allergic to", allergen, single=False)
    got = sorted(store.held(JANE, "Jane", "is allergic to"))
    require(got == ["nuts", "penicillin", "pollen"], f"stated penicillin, nuts and pollen, held are {got}")


@check("truth.single", needs=_NEEDS, why="An agent that believes both addresses writes to the wrong one.")
def single(ctx: Context) -> None:
    """For a predicate with one value at a time, only the new one is in force."""
    store = ctx.open()
    for city in ("Berlin", "Oslo", "Riga"):
        store.state(JANE, "Jane", "lives in", city, single=True)
    got = store.held(JANE, "Jane", "lives in")
    require(list(got) == ["Riga"], f"stated Berlin, Oslo, Riga in turn, held are {got}")


@check("truth.past", needs=_NEEDS, why="'Where did she live in 2022?' has an answer.")
def past(ctx: Context) -> None:
    """A superseded statement is still known to have held in its time."""
    store = ctx.open()
    store.state(JANE, "Jane", "lives in", "Berlin", single=True, since="2021-01-01")
    store.state(JANE, "Jane", "lives in", "Oslo", single=True, since="2024-01-01")
    for at, expected in (("2020-06-01", []), ("2022-06-01", ["Berlin"]), ("2025-06-01", ["Oslo"])):
        got = list(store.held(JANE, "Jane", "lives in", at=at))
        require(
            got == expected,
            f"Berlin since 2021, Oslo since 2024: at {at} held are {got}, expected {expected}",
        )


@check("truth.late", needs=_NEEDS, why="An import of old mails must not move people back to old addresses.")
def late(ctx: Context) -> None:
    """A statement that arrives late is ordered by its date, not by its arrival."""
    store = ctx.open()
    store.state(JANE, "Jane", "lives in", "Oslo", single=True, since="2024-01-01")
    store.state(JANE, "Jane", "lives in", "Berlin", single=True, since="2021-01-01")
    for at, expected in (("2022-06-01", ["Berlin"]), ("2025-06-01", ["Oslo"])):
        got = list(store.held(JANE, "Jane", "lives in", at=at))
        require(
            got == expected,
            f"Oslo since 2024, then Berlin since 2021: at {at} held are {got}, expected {expected}",
        )


@check("truth.until", needs=_NEEDS, why="A discount that ended in March is promised in June.")
def until(ctx: Context) -> None:
    """A statement with an end holds until then and not after."""
    store = ctx.open()
    store.state(JANE, "Jane", "works for", "Initech", single=False, since="2020-01-01", until="2023-01-01")
    for at, expected in (("2019-06-01", []), ("2022-12-31", ["Initech"]), ("2023-06-01", [])):
        got = list(store.held(JANE, "Jane", "works for", at=at))
        require(got == expected, f"from 2020 until 2023: at {at} held are {got}, expected {expected}")


@check(
    "truth.apart", needs=_NEEDS, why="A move of Jane's must not move Joe, nor change what she is allergic to."
)
def apart(ctx: Context) -> None:
    """A statement ends none of another subject, predicate or scope."""
    store = ctx.open()
    store.state(JANE, "Jane", "lives in", "Berlin", single=True)
    store.state(JANE, "Jane's mother", "lives in", "Bern", single=True)
    store.state(JANE, "Jane", "was born in", "Leeds", single=True)
    store.state(JOE, "Jane", "lives in", "Turin", single=True)
    store.state(JANE, "Jane", "lives in", "Oslo", single=True)
    questions = (
        (JANE, "Jane's mother", "lives in", "Bern"),
        (JANE, "Jane", "was born in", "Leeds"),
        (JOE, "Jane", "lives in", "Turin"),
    )
    for scope, subject, predicate, expected in questions:
        got = list(store.held(scope, subject, predicate))
        require(got == [expected], f"{scope} {subject} {predicate}: held are {got}, expected [{expected!r}]")

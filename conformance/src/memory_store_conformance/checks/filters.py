"""Level filters: a filter admits exactly what it says. The language is that of :data:`~.contract.OPERATORS`."""

from __future__ import annotations

from typing import Any

from memory_store_conformance.context import JANE, Context, ids_of
from memory_store_conformance.contract import Item
from memory_store_conformance.registry import check, require

_WIDE = "A filter that admits too much puts the wrong memories into a prompt; one that admits too little loses them."

_ITEMS: dict[str, dict[str, Any]] = {
    "a": {"kind": "fact", "n": 1, "done": True, "city": "Oslo"},
    "b": {"kind": "fact", "n": 2, "done": False, "city": "Köln"},
    "c": {"kind": "wish", "n": 3, "done": True, "city": "oslo"},
    "d": {"kind": "wish", "n": 10, "done": False, "city": "Oslo "},
}


def _expect(ctx: Context, items: dict[str, dict[str, Any]], cases: list[tuple[dict[str, Any], str]]) -> None:
    """Require that each filter admits exactly the items whose ids are the letters beside it."""
    store = ctx.open()
    store.put(JANE, [Item(id, f"a note called {id}", metadata) for id, metadata in items.items()])
    for condition, expected in cases:
        got = "".join(sorted(ids_of(store.search(JANE, "a note called", 50, condition))))
        require(
            got == expected,
            f"{condition} admits {got or 'nothing'!r}, expected {expected or 'nothing'!r} of {items}",
        )


@check("filters.equal", needs={"search", "filter $eq"}, why=_WIDE)
def equal(ctx: Context) -> None:
    """Equality admits equal texts, numbers and truth values, case-sensitively, and nothing else."""
    cases: list[tuple[dict[str, Any], str]] = [
        ({"kind": "fact"}, "ab"),
        ({"n": 10}, "d"),
        ({"done": True}, "ac"),
        ({"city": "Oslo"}, "a"),
    ]
    _expect(ctx, _ITEMS, [*cases, ({"city": "Köln"}, "b"), ({"kind": "fac"}, "")])


@check("filters.and", needs={"search", "filter $and"}, why=_WIDE)
def several(ctx: Context) -> None:
    """Several fields must all be equal."""
    _expect(ctx, _ITEMS, [({"kind": "fact", "done": True}, "a"), ({"kind": "wish", "n": 2}, "")])


@check("filters.not-equal", needs={"search", "filter $ne"}, why=_WIDE)
def not_equal(ctx: Context) -> None:
    """Not-equal admits every other value."""
    _expect(ctx, _ITEMS, [({"kind": {"$ne": "fact"}}, "cd"), ({"n": {"$ne": 2}}, "acd")])


@check(
    "filters.compare",
    needs={"search", "filter $gt"},
    why="'10' < '9' as text: limits and dates go wrong at ten.",
)
def compare(ctx: Context) -> None:
    """Numbers are compared as numbers, with the bound included or excluded as written."""
    cases: list[tuple[dict[str, Any], str]] = [({"n": {"$gt": 2}}, "cd"), ({"n": {"$gte": 2}}, "bcd")]
    _expect(
        ctx,
        _ITEMS,
        [*cases, ({"n": {"$lt": 3}}, "ab"), ({"n": {"$lte": 3}}, "abc"), ({"n": {"$gt": 9.5}}, "d")],
    )


@check("filters.in", needs={"search", "filter $in"}, why=_WIDE)
def one_of(ctx: Context) -> None:
    """In admits the values of the list; an empty list admits nothing."""
    _expect(ctx, _ITEMS, [({"n": {"$in": [1, 10, 77]}}, "ad"), ({"city": {"$in": ["Riga", "Köln"]}}, "b")])


@check("filters.or", needs={"search", "filter $or"}, why=_WIDE)
def either(ctx: Context) -> None:
    """Or admits items that either side admits."""
    _expect(ctx, _ITEMS, [({"$or": [{"kind": "wish"}, {"n": 1}]}, "acd")])


@check("filters.not", needs={"search", "filter $not"}, why=_WIDE)
def negation(ctx: Context) -> None:
    """Not admits items that its filter does not."""
    _expect(ctx, _ITEMS, [({"$not": {"kind": "wish"}}, "ab")])


@check(
    "filters.types",
    needs={"search", "filter $eq"},
    why="Order '1' is not quantity 1, and 'True' is not true.",
)
def types(ctx: Context) -> None:
    """A number does not equal its text, nor a truth value its name; 1 equals 1.0."""
    items: dict[str, dict[str, Any]] = {
        "a": {"v": 1},
        "b": {"v": "1"},
        "c": {"v": True},
        "d": {"v": "True"},
        "e": {"v": "true"},
    }
    store = ctx.open()
    store.put(JANE, [Item(id, f"a note called {id}", metadata) for id, metadata in items.items()])
    for value, needed, excluded in (
        (1, "a", "bde"),
        ("1", "b", "acde"),
        ("True", "d", "abce"),
        (True, "c", "bde"),
        (1.0, "a", "bde"),
    ):
        got = set(ids_of(store.search(JANE, "a note called", 50, {"v": value})))
        wrong = sorted(got & set(excluded))
        require(
            needed in got and not wrong,
            f"{{'v': {value!r}}} admits {sorted(got)}, expected {needed!r}, not {wrong}",
        )


@check(
    "filters.null",
    needs={"search", "filter null"},
    why="'Has no end date' is how one asks for what still holds.",
)
def null(ctx: Context) -> None:
    """Null equals null, and no other value."""
    items: dict[str, dict[str, Any]] = {
        "a": {"until": None},
        "b": {"until": "2026-01-01"},
        "c": {"until": 0},
        "d": {"until": ""},
    }
    _expect(ctx, items, [({"until": None}, "a")])


@check("filters.missing", needs={"search", "filter $eq"}, why="Old memories lack the fields of new ones.")
def missing(ctx: Context) -> None:
    """An item without the field equals no value, and a field that no item has admits nothing, or is refused."""
    items: dict[str, dict[str, Any]] = {"a": {"kind": "fact"}, "b": {"other": 1}, "c": {}}
    store = ctx.open()
    store.put(JANE, [Item(id, f"a note called {id}", metadata) for id, metadata in items.items()])
    got = ids_of(store.search(JANE, "a note called", 50, {"kind": "fact"}))
    require(got == ["a"], f"{{'kind': 'fact'}} admits {got}, expected ['a']")
    try:
        ids = ids_of(store.search(JANE, "a note called", 50, {"nowhere": "x"}))
    except Exception:  # noqa: BLE001 - a refusal
        return
    require(not ids, f"{{'nowhere': 'x'}} admits {ids}")


@check(
    "filters.nested",
    needs={"search", "filter nested"},
    why="A path that silently matches nothing looks like 'no memories'.",
)
def nested(ctx: Context) -> None:
    """A path reaches into objects, not beside them."""
    items: dict[str, dict[str, Any]] = {
        "a": {"source": {"run": "r1"}},
        "b": {"source": {"run": "r2"}},
        "c": {"run": "r1"},
        "d": {"source": {"deeper": {"run": "r1"}}},
    }
    _expect(ctx, items, [({"source.run": "r1"}, "a")])


@check(
    "filters.unknown",
    needs={"search", "filter unknown"},
    why="A misspelt operator that is passed over returns everything.",
)
def unknown(ctx: Context) -> None:
    """An unknown operator raises."""
    store = ctx.open()
    store.put(JANE, [Item(id, f"a note called {id}", metadata) for id, metadata in _ITEMS.items()])
    try:
        ids = ids_of(store.search(JANE, "a note called", 50, {"n": {"$frobnicate": 1}}))
    except Exception:  # noqa: BLE001 - as promised
        return
    require(False, f"{{'n': {{'$frobnicate': 1}}}} raises nothing, and admits {ids or 'nothing'}")


@check(
    "filters.hostile",
    needs={"search", "filter $eq"},
    why="A value that a user typed must not become a query.",
)
def hostile(ctx: Context) -> None:
    """Quotes, wildcards and comments in a value match only themselves."""
    values = [
        "O'Brien",
        '"quoted"',
        "100%",
        "a_c",
        "abc",
        "x' OR '1'='1",
        "-- ; DROP TABLE",
        "*",
        "back\\slash",
        "new\nline",
    ]
    store = ctx.open()
    store.put(
        JANE,
        [
            Item(f"m{number}", f"a note, number {number}", {"name": value})
            for number, value in enumerate(values)
        ],
    )
    for number, value in enumerate(values):
        got = ids_of(store.search(JANE, "a note", 50, {"name": value}))
        require(got == [f"m{number}"], f"{{'name': {value!r}}} admits {got}, expected ['m{number}']")

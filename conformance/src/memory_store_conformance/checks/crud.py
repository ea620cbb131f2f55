"""Level crud: what is written comes back, in order."""

from __future__ import annotations

from memory_store_conformance.context import JANE, Context, ids_of, plain
from memory_store_conformance.contract import Item
from memory_store_conformance.registry import check, require

_TEXTS = [
    "plain words",
    "Grüße aus Köln, naïve café, e\u0301 and é",
    "我在北京工作 · ユニコード · עברית · 🦜🏽",
    "two\nlines\tand 'quotes' \"double\" \\ % _ ; -- $x {y}",
    "  spaces around  ",
    "x" * 20_000,
]


@check("crud.round-trip", why="An agent that reads back another text than it wrote acts on the wrong words.")
def round_trip(ctx: Context) -> None:
    """Text of any script, length and punctuation comes back unchanged."""
    store = ctx.open()
    items = [Item(f"m{number}", text) for number, text in enumerate(_TEXTS)]
    store.put(JANE, items)
    for item in items:
        found = store.get(JANE, item.id)
        require(found is not None, f"wrote {item.text[:40]!r}, got nothing")
        require(found.text == item.text, f"wrote {item.text[:40]!r}, got {found.text[:40]!r}")


@check("crud.metadata", why="Filters and prompts rest on metadata; a value of another type matches nothing.")
def metadata(ctx: Context) -> None:
    """Metadata come back with their values and types."""
    store = ctx.open()
    written = {"kind": "ключ", "n": 7, "share": 0.25, "done": True, "open": False, "empty": ""}
    store.put(JANE, [Item("m1", "a note", written)])
    item = store.get(JANE, "m1")
    require(item is not None, "got nothing")
    got = dict(item.metadata)
    require(got == written, f"wrote {written}, got {got}")
    types = {name: type(value).__name__ for name, value in got.items()}
    expected = {name: type(value).__name__ for name, value in written.items()}
    require(types == expected, f"wrote types {expected}, got {types}")


@check("crud.metadata-nested", why="Provenance and tags are lists and objects.")
def metadata_nested(ctx: Context) -> None:
    """Lists, objects and nulls in metadata come back unchanged."""
    store = ctx.open()
    written = {"tags": ["a", "b"], "source": {"run": "r1", "turn": 3}, "until": None}
    store.put(JANE, [Item("m1", "a note", written)])
    got = dict(store.get(JANE, "m1").metadata)
    require(got == written, f"wrote {written}, got {got}")


@check("crud.missing", why="Code that asks whether something is known must be able to tell.")
def missing(ctx: Context) -> None:
    """An id that was never written gives nothing, before the first write and after it."""
    store = ctx.open()
    require(store.get(JANE, "absent") is None, "an empty store returned an item")
    store.put(JANE, [Item("m1", "a note")])
    require(store.get(JANE, "absent") is None, "a store with another item returned one")


@check("crud.replace", why="A correction that leaves the old metadata behind is half a correction.")
def replace(ctx: Context) -> None:
    """A put of an id that exists replaces text and metadata as a whole."""
    store = ctx.open()
    store.put(JANE, [Item("m1", "lives in Berlin", {"city": "Berlin", "old": 1})])
    store.put(JANE, [Item("m1", "lives in Oslo", {"city": "Oslo"})])
    got = plain(store.get(JANE, "m1"))
    expected = ("m1", "lives in Oslo", {"city": "Oslo"})
    require(got == expected, f"expected {expected}, got {got}")


@check(
    "crud.replace-search", needs={"search"}, why="The old words of a corrected memory must not bring it back."
)
def replace_search(ctx: Context) -> None:
    """A search finds a replaced item once, with its new text."""
    store = ctx.open()
    store.put(JANE, [Item("m1", "the door code is 4711")])
    store.put(JANE, [Item("m1", "the garden is watered on Mondays")])
    for question in ("door code 4711", "garden watered"):
        hits = store.search(JANE, question, 10)
        require(len(hits) <= 1, f"{question!r} found {len(hits)} items of one id")
        texts = [hit.item.text for hit in hits]
        require("the door code is 4711" not in texts, f"{question!r} found the old text")
    require(ids_of(store.search(JANE, "garden watered", 10)) == ["m1"], "the new text was not found")


@check("crud.batch-same-id", why="The later statement of a conversation is the one that counts.")
def batch_same_id(ctx: Context) -> None:
    """The last of several items with one id in one put wins."""
    store = ctx.open()
    store.put(JANE, [Item("m1", "first"), Item("m2", "between"), Item("m1", "last")])
    item = store.get(JANE, "m1")
    require(item is not None and item.text == "last", f"expected 'last', got {item and item.text!r}")


@check(
    "crud.batch-order", needs={"get_many"}, why="Answers that change places are given to the wrong question."
)
def batch_order(ctx: Context) -> None:
    """Several ids read at once come back in the order of the request, with a gap for an absent one."""
    store = ctx.open()
    store.put(JANE, [Item(f"m{number}", f"note {number}") for number in range(20)])
    ids = ["m13", "m2", "absent", "m19", "m0", "m7"]
    got = [None if item is None else item.id for item in store.get_many(JANE, ids)]
    expected = [None if id == "absent" else id for id in ids]
    require(got == expected, f"asked for {ids}, got {got}")


@check("crud.batch-large", why="An import of a user's history is one batch.")
def batch_large(ctx: Context) -> None:
    """A put of 1,000 items writes every one of them."""
    store = ctx.open()
    store.put(JANE, [Item(f"m{number}", f"note number {number}") for number in range(1000)])
    absent = [number for number in range(0, 1000, 37) if store.get(JANE, f"m{number}") is None]
    require(not absent, f"{len(absent)} of 28 looked up are absent, first m{absent[0] if absent else ''}")


@check("crud.batch-empty", why="A turn in which nothing was worth keeping is the usual one.")
def batch_empty(ctx: Context) -> None:
    """A put of no items is harmless."""
    store = ctx.open()
    store.put(JANE, [Item("m1", "a note")])
    store.put(JANE, [])
    require(store.get(JANE, "m1") is not None, "an empty put lost an item")


@check("crud.same-text", why="'Yes' is said more than once in a conversation.")
def same_text(ctx: Context) -> None:
    """Items of one put may have the same text."""
    store = ctx.open()
    store.put(JANE, [Item(f"m{number}", "yes") for number in range(3)])
    absent = [f"m{number}" for number in range(3) if store.get(JANE, f"m{number}") is None]
    require(not absent, f"of 3 items with one text {absent} are absent")


@check("crud.odd-ids", needs={"caller ids"}, why="Ids are made from file names, addresses and titles.")
def odd_ids(ctx: Context) -> None:
    """Ids with separators, quotes, spaces and letters of any script are kept apart, or refused."""
    store = ctx.open()
    written = {}
    for number, id in enumerate(
        ["a/b", "a.b", "a b", "a%b", "a_b", "a'b", 'a"b', "é", "e\u0301", "Ä", "ä", "名", "A", "a"]
    ):
        try:
            store.put(JANE, [Item(id, f"note {number}")])
        except Exception:  # noqa: BLE001 - a refusal
            continue
        written[id] = f"note {number}"
    require(written, "every one of 14 ids was refused")
    for id, text in written.items():
        item = store.get(JANE, id)
        require(item is not None and item.text == text, f"{id!r}: wrote {text!r}, got {item and item.text!r}")


@check(
    "crud.no-alias", why="A prompt builder that shortens a list in place must not change what is remembered."
)
def no_alias(ctx: Context) -> None:
    """Changing an object passed to the store, or returned by it, does not change the stored item."""
    store = ctx.open()
    written = {"tags": ["a"], "n": 1}
    store.put(JANE, [Item("m1", "a note", written)])
    written["n"] = 2
    written["tags"].append("of the caller")  # type: ignore[attr-defined]
    item = store.get(JANE, "m1")
    require(
        dict(item.metadata) == {"tags": ["a"], "n": 1}, f"a change of what was given shows: {item.metadata}"
    )
    try:
        item.metadata["tags"].append("of the reader")
    except (TypeError, AttributeError):
        return  # returned as an immutable object
    again = store.get(JANE, "m1").metadata
    require(again["tags"] == ["a"], f"a change of what was read shows: {again}")


@check("crud.list", needs={"list"}, why="'What do you know about me?' must be answered in full.")
def list_all(ctx: Context) -> None:
    """A listing contains every item of the scope once, with its text."""
    store = ctx.open()
    expected = {f"m{number}": f"note {number}" for number in range(30)}
    store.put(JANE, [Item(id, text) for id, text in expected.items()])
    listed = store.list(JANE, 100)
    require(len(listed) == 30, f"expected 30 items, got {len(listed)}")
    got = {item.id: item.text for item in listed}
    require(got == expected, f"expected m0 ... m29, got {sorted(got)[:5]} ...")


@check("crud.count", needs={"count"}, why="Quotas and pages are computed from it.")
def count(ctx: Context) -> None:
    """The count is the number of items: replacing one does not raise it."""
    store = ctx.open()
    store.put(JANE, [Item(f"m{number}", f"note {number}") for number in range(12)])
    store.put(JANE, [Item("m3", "another note")])
    require(store.count(JANE) == 12, f"expected 12, got {store.count(JANE)}")

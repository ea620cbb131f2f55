"""Level deletion: deleted items are gone from every way of reading, and from the files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memory_store_conformance.context import JANE, JOE, Context, ids_of
from memory_store_conformance.contract import Item
from memory_store_conformance.outcomes import NotOffered
from memory_store_conformance.registry import check, require

_FORGOTTEN = "A memory that a user had deleted turns up in a prompt."
_SECRET = "zq7731-kumquat-ledger"


def _filled(ctx: Context) -> Any:
    """Return a store with ten notes of jane, of which m3 and m7 were deleted."""
    store = ctx.open()
    store.put(JANE, [Item(f"m{number}", f"the secret number {number} of jane") for number in range(10)])
    store.delete(JANE, ["m3", "m7"])
    return store


@check("deletion.get", needs={"delete"}, why=_FORGOTTEN)
def by_get(ctx: Context) -> None:
    """A deleted id returns nothing, and the other items stay."""
    store = _filled(ctx)
    present = [id for id in ("m3", "m7") if store.get(JANE, id) is not None]
    require(not present, f"deleted m3 and m7, still read: {present}")
    absent = [f"m{number}" for number in (0, 1, 2, 4, 5, 6, 8, 9) if store.get(JANE, f"m{number}") is None]
    require(not absent, f"deleted m3 and m7, also gone: {absent}")


@check("deletion.search", needs={"delete", "search"}, why=_FORGOTTEN)
def by_search(ctx: Context) -> None:
    """A search by the words of a deleted item does not find it."""
    store = _filled(ctx)
    for question in ("the secret number 3 of jane", "secret number 7"):
        ids = ids_of(store.search(JANE, question, 10))
        require(not {"m3", "m7"} & set(ids), f"deleted m3 and m7, {question!r} found {ids}")
        require(len(ids) == 8, f"deleted 2 of 10, a search for 10 found {len(ids)}")


@check("deletion.vector", needs={"delete", "search_vector"}, why=_FORGOTTEN)
def by_vector(ctx: Context) -> None:
    """A search by the vector of a deleted item does not find it."""
    store = _filled(ctx)
    vector = ctx.embedder.embed_query("the secret number 3 of jane")
    ids = ids_of(store.search_vector(JANE, vector, 10))
    require(ids and not {"m3", "m7"} & set(ids), f"deleted m3 and m7, its vector found {ids}")


@check("deletion.list", needs={"delete", "list"}, why=_FORGOTTEN)
def by_list(ctx: Context) -> None:
    """A listing does not contain a deleted item."""
    got = set(ids_of(_filled(ctx).list(JANE, 100)))
    require(
        got == {f"m{number}" for number in range(10)} - {"m3", "m7"},
        f"deleted m3 and m7, listed {sorted(got)}",
    )


@check(
    "deletion.count",
    needs={"delete", "count"},
    why="A count that does not fall says that deletion did not happen.",
)
def by_count(ctx: Context) -> None:
    """A count falls by the number of deleted items."""
    got = _filled(ctx).count(JANE)
    require(got == 8, f"deleted 2 of 10, counted {got}")


@check("deletion.absent", needs={"delete"}, why="A retry of a deletion must not fail for having succeeded.")
def absent(ctx: Context) -> None:
    """Deleting an absent id is harmless, and so is deleting twice."""
    store = ctx.open()
    store.put(JANE, [Item("m1", "a note"), Item("m2", "another note")])
    store.delete(JANE, ["never-written"])
    store.delete(JANE, ["m1"])
    store.delete(JANE, ["m1"])
    require(store.get(JANE, "m1") is None and store.get(JANE, "m2") is not None, "m1 is there, or m2 is gone")


@check(
    "deletion.again", needs={"delete", "search"}, why="A tombstone that outlives its item hides the next one."
)
def again(ctx: Context) -> None:
    """An id can be written again after its deletion, and only the new text is found."""
    store = ctx.open()
    store.put(JANE, [Item("m1", "the old note about ships")])
    store.delete(JANE, ["m1"])
    store.put(JANE, [Item("m1", "the new note about trains")])
    texts = [hit.item.text for hit in store.search(JANE, "the old note about ships", 10)]
    require(texts == ["the new note about trains"], f"expected the new text alone, found {texts}")


@check(
    "deletion.reopened", needs={"delete", "search", "durable"}, why="A restart brings back what was deleted."
)
def reopened(ctx: Context) -> None:
    """A deleted item is still gone after the store was closed and opened again."""
    directory = ctx.directory()
    store = ctx.open(directory)
    store.put(JANE, [Item(f"m{number}", f"the secret number {number}") for number in range(10)])
    store.delete(JANE, ["m3"])
    ctx.close(store)
    store = ctx.open(directory)
    ids = ids_of(store.search(JANE, "the secret number 3", 20))
    require("m3" not in ids and len(ids) == 9, f"deleted 1 of 10, after reopening found {ids}")
    require(store.get(JANE, "m3") is None, "after reopening the deleted id is read")


@check(
    "deletion.scope",
    needs={"delete_scope", "search"},
    why="A user's right to be forgotten covers everything.",
)
def whole_scope(ctx: Context) -> None:
    """Deleting everything of a user leaves nothing of that user, regardless of the amount."""
    store = ctx.open()
    store.put(JANE, [Item(f"m{number}", f"note {number} of jane") for number in range(1500)])
    store.delete_scope(JANE)
    ids = ids_of(store.search(JANE, "note of jane", 50))
    require(not ids, f"deleted 1,500 items, a search found {len(ids)}, such as {ids[:3]}")
    present = [number for number in range(0, 1500, 50) if store.get(JANE, f"m{number}") is not None]
    require(not present, f"{len(present)} of 30 looked up are still read")


@check(
    "deletion.bytes", needs={"delete", "durable"}, why="A copied disk still has what the law says is erased."
)
def bytes_on_disk(ctx: Context) -> None:
    """After deletion, the store's purge if any, and closing, no file contains the words."""
    directory = ctx.directory()
    store = ctx.open(directory)
    store.put(JANE, [Item("m1", f"the code is {_SECRET}"), Item("m2", "another note")])
    store.put(JOE, [Item(f"j{number}", f"note {number} of joe") for number in range(20)])
    ctx.close(store)
    if not _files_with(directory, _SECRET):
        raise NotOffered("the files do not hold the text in the clear, so their bytes say nothing")
    store = ctx.open(directory)
    store.delete(JANE, ["m1"])
    if hasattr(store, "purge"):
        store.purge()
    ctx.close(store)
    files = _files_with(directory, _SECRET)
    require(not files, f"the deleted words are still in {files}")


def _files_with(directory: Path, text: str) -> list[str]:
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    forms = [text.encode(), text.encode("utf-16-le")]
    return [
        str(path.relative_to(directory)) for path in files if any(form in path.read_bytes() for form in forms)
    ]


@check(
    "deletion.killed",
    needs={"delete", "batch delete", "durable"},
    why="Half a document stays, and searches still return it.",
)
def killed(ctx: Context) -> None:
    """A process killed while it deletes many items in one call leaves all of them or none."""
    n = 400
    names = [f"m{number}" for number in range(n)]
    seconds = 0.0
    for share in (2.0, 0.5, 0.15, 0.85):  # the first one is not killed and measures the time
        directory = ctx.directory()
        store = ctx.open(directory)
        store.put(JANE, [Item(name, f"part {name} of a document") for name in names])
        ctx.close(store)
        child = ctx.child(directory, "delete", ids=names)
        require(
            child.line(timeout=180) == "open", f"a process could not open the store: {child.last_error()}"
        )
        child.say("go")
        require(child.line() == "deleting", "a process ended before it deleted")
        if share > 1:
            answer = child.line()
            require(
                answer is not None and answer.startswith("deleted"), f"deleting failed: {child.last_error()}"
            )
            seconds = float(str(answer).split()[1])
            child.kill()
            continue
        try:
            child.line(timeout=max(0.001, seconds * share))
        except TimeoutError:
            pass
        child.kill()
        store = ctx.open(directory)
        n_left = sum(store.get(JANE, name) is not None for name in names)
        ctx.close(store)
        require(
            n_left in (0, n),
            f"killed {share:.0%} into a deletion of {n} items that takes {seconds:.3f} s: {n_left} are left",
        )

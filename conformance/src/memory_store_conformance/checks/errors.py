"""Level errors: bad input raises an exception that can be caught, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memory_store_conformance.context import JANE, Context, ids_of, plain
from memory_store_conformance.contract import Item
from memory_store_conformance.registry import check, require

_INTERNAL = (
    AttributeError,
    AssertionError,
    NameError,
    IndexError,
    UnboundLocalError,
    RecursionError,
    ZeroDivisionError,
)


def _raised(call: Callable[[], Any]) -> BaseException | None:
    try:
        call()
    except Exception as error:  # noqa: BLE001 - judged by the caller
        return error
    return None


@check(
    "errors.vector-length",
    needs={"put_vectors"},
    why="A changed embedding model fills the store with vectors that match nothing.",
)
def vector_length(ctx: Context) -> None:
    """A vector of another length raises a typed error, and its item is not written."""
    store = ctx.open()
    store.put(JANE, [Item("m1", "a note")])
    short = ctx.embedder.embed_documents(["x"])[:, : ctx.embedder.dim // 2]
    error = _raised(lambda: store.put_vectors(JANE, [Item("m2", "a short vector")], short))
    require(error is not None, f"a vector of {short.shape[1]} in place of {ctx.embedder.dim} is taken")
    require(not isinstance(error, _INTERNAL), f"a bare {type(error).__name__}: {error}")
    require(store.get(JANE, "m2") is None, f"refused with {type(error).__name__}, and written all the same")


@check(
    "errors.vector-nan",
    needs={"put_vectors", "search"},
    why="One NaN in an index spoils every ranking that meets it.",
)
def vector_nan(ctx: Context) -> None:
    """A NaN vector is rejected, or spoils no other item's ranking."""
    store = ctx.open()
    store.put(JANE, [Item(f"m{number}", f"note {number} about trains") for number in range(10)])
    expected = ids_of(store.search(JANE, "note 3 about trains", 5))
    vectors = ctx.embedder.embed_documents(["x"])
    vectors[:] = float("nan")
    if _raised(lambda: store.put_vectors(JANE, [Item("nan", "not a number")], vectors)) is None:
        got = [id for id in ids_of(store.search(JANE, "note 3 about trains", 6)) if id != "nan"][:5]
        require(got == expected, f"before a vector of NaN {expected}, after it {got}")


@check("errors.metadata", why="A batch of which half was written cannot be repeated.")
def unserialisable(ctx: Context) -> None:
    """Metadata that cannot be stored are rejected with nothing written, or come back unchanged."""
    store = ctx.open()
    strange = object()
    items = [Item("m1", "a note"), Item("m2", "another", {"x": strange}), Item("m3", "a third")]
    error = _raised(lambda: store.put(JANE, items))
    present = [id for id in ("m1", "m2", "m3") if store.get(JANE, id) is not None]
    if error is not None:
        require(not present, f"refused with {type(error).__name__}, and {present} of 3 are written")
    else:
        item = store.get(JANE, "m2")
        require(item is not None and item.metadata["x"] is strange, f"taken, and read back as {plain(item)}")


@check("errors.k", needs={"search"}, why="k comes from a model's tool call.")
def wrong_k(ctx: Context) -> None:
    """A k that is negative or not a number raises a typed error, or finds nothing."""
    store = ctx.open()
    store.put(JANE, [Item(f"m{number}", f"a note, number {number}") for number in range(5)])
    for k in (-1, "three"):
        found: list[Any] = []

        def call(k: Any = k, found: list[Any] = found) -> None:
            found += store.search(JANE, "a note", k)

        error = _raised(call)
        if error is None:
            require(not found, f"k={k!r} is taken, and returns {len(found)} results")
        else:
            require(not isinstance(error, _INTERNAL), f"k={k!r}: a bare {type(error).__name__}: {error}")


@check(
    "errors.text", needs={"texts"}, why="A tool call without its text must not become a memory of nothing."
)
def wrong_text(ctx: Context) -> None:
    """A text that is not a string raises a typed error, and nothing is written."""
    store = ctx.open()
    store.put(JANE, [Item("m1", "a note")])
    for text in (None, 7, ["a", "list"]):
        error = _raised(lambda text=text: store.put(JANE, [Item("m2", text)]))  # type: ignore[misc]
        require(
            error is not None, f"a text of {text!r} is taken, and read back as {plain(store.get(JANE, 'm2'))}"
        )
        require(not isinstance(error, _INTERNAL), f"text={text!r}: a bare {type(error).__name__}: {error}")
        require(store.get(JANE, "m2") is None, f"text={text!r}: refused, and written all the same")


@check("errors.question", needs={"search"}, why="Users send empty messages, emoji and a whole book.")
def odd_questions(ctx: Context) -> None:
    """No question breaks a search: it is answered or rejected, and the next one is answered."""
    store = ctx.open()
    store.put(JANE, [Item("m1", "a note about trains")])
    questions = [
        "",
        " ",
        "?",
        "🦜",
        "\x00",
        "a" * 50_000,
        "'\"`;--%_*",
        "AND OR NOT (",
        "field:value^3 ~ [a TO b]",
        "\ud800",
    ]
    for question in questions:
        error = _raised(lambda question=question: store.search(JANE, question, 5))  # type: ignore[misc]
        require(
            not isinstance(error, _INTERNAL), f"{question[:20]!r}: a bare {type(error).__name__}: {error}"
        )
        ids = ids_of(store.search(JANE, "a note about trains", 5))
        require(ids == ["m1"], f"after the question {question[:20]!r} the usual one finds {ids}")


@check("errors.closed", why="A write to a closed store that says nothing is a lost memory.")
def closed(ctx: Context) -> None:
    """A put to a closed store raises, or the item is stored."""
    directory = ctx.directory()
    store = ctx.open(directory)
    store.put(JANE, [Item("m1", "a note")])
    ctx.close(store)
    error = _raised(lambda: store.put(JANE, [Item("m2", "written after closing")]))
    if error is None:
        require(
            store.get(JANE, "m2") is not None, "a put after closing raises nothing, and nothing was written"
        )
    again = _raised(store.close)
    require(again is None, f"closing twice raises {type(again).__name__}: {again}")

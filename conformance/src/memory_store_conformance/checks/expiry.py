"""Level expiry: expired items are gone, and nothing else. Lifetimes are in seconds."""

from __future__ import annotations

import time

from memory_store_conformance.context import JANE, Context, ids_of
from memory_store_conformance.contract import Item
from memory_store_conformance.registry import check, require

_LIFE_SECONDS = 1.0
_LATE = "A door code that was given for an hour is still told the day after."


def _wait(seconds: float = _LIFE_SECONDS) -> None:
    time.sleep(seconds + 1.2)  # some stores count whole seconds


@check("expiry.get", needs={"expiry"}, why=_LATE)
def not_read(ctx: Context) -> None:
    """An item is readable before its expiry and not after it."""
    store = ctx.open()
    store.put(JANE, [Item("code", "the door code is 4711")], expires_in=3600)
    store.put(JANE, [Item("short", "the wifi code is 1234")], expires_in=_LIFE_SECONDS)
    require(store.get(JANE, "code") is not None, "an item of one hour is not there at once")
    _wait()
    if hasattr(store, "sweep"):
        store.sweep()
    require(store.get(JANE, "short") is None, f"an item of {_LIFE_SECONDS} s is read after its time")
    require(store.get(JANE, "code") is not None, "an item of one hour is gone, too")


@check("expiry.search", needs={"expiry", "search"}, why=_LATE)
def not_found(ctx: Context) -> None:
    """An expired item is not found, whether or not the store was swept."""
    store = ctx.open()
    store.put(JANE, [Item("short", "the door code is 4711")], expires_in=_LIFE_SECONDS)
    store.put(JANE, [Item("long", "the garden code is 1147")])
    _wait()
    ids = ids_of(store.search(JANE, "the door code is 4711", 5))
    require(ids == ["long"], f"expected ['long'], found {ids}")


@check("expiry.list", needs={"expiry", "list"}, why=_LATE)
def not_listed(ctx: Context) -> None:
    """An expired item is not listed, whether or not the store was swept."""
    store = ctx.open()
    store.put(JANE, [Item("short", "the door code")], expires_in=_LIFE_SECONDS)
    store.put(JANE, [Item("long", "the garden code")])
    _wait()
    got = ids_of(store.list(JANE, 10))
    require(got == ["long"], f"expected ['long'], listed {got}")


@check("expiry.replaced", needs={"expiry"}, why="A memory that was renewed for good disappears all the same.")
def replaced(ctx: Context) -> None:
    """An item that is written again without a lifetime does not expire."""
    store = ctx.open()
    store.put(JANE, [Item("m1", "valid for now")], expires_in=_LIFE_SECONDS)
    store.put(JANE, [Item("m1", "valid for good")])
    _wait()
    if hasattr(store, "sweep"):
        store.sweep()
    item = store.get(JANE, "m1")
    require(
        item is not None and item.text == "valid for good",
        f"expected 'valid for good', got {item and item.text!r}",
    )

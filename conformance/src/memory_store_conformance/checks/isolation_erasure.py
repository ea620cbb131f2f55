"""Level isolation: deletions in one scope do not affect another."""

from __future__ import annotations

from memory_store_conformance.context import JANE, JOE, Context
from memory_store_conformance.contract import Item, Scope
from memory_store_conformance.registry import check, require

_NEIGHBOURS: tuple[Scope, ...] = (
    ("acme", "joe"),
    ("acme", "jane2"),
    ("acme", "jan"),
    ("acme2", "jane"),
    ("globex", "jane"),
)


@check(
    "isolation.delete", needs={"delete", "scoped ids", "caller ids"}, why="Anyone who knows an id erases it."
)
def delete_other(ctx: Context) -> None:
    """Deleting an id of another scope leaves that scope's item."""
    store = ctx.open()
    store.put(JANE, [Item("m1", "the note of jane")])
    try:
        store.delete(JOE, ["m1"])
    except Exception:  # noqa: BLE001 - rejecting is correct, too
        pass
    require(store.get(JANE, "m1") is not None, f"{JOE} deleted an item of {JANE}")


@check(
    "isolation.delete-scope", needs={"delete_scope"}, why="One user's wish to be forgotten erases the others."
)
def delete_scope_other(ctx: Context) -> None:
    """Deleting everything of one user leaves every other user's items."""
    store = ctx.open()
    for scope in (JANE, *_NEIGHBOURS):
        store.put(
            scope,
            [Item(f"{scope[0]} {scope[1]} {number}", f"a note, number {number}") for number in range(3)],
        )
    store.delete_scope(JANE)
    for scope in _NEIGHBOURS:
        absent = [
            number for number in range(3) if store.get(scope, f"{scope[0]} {scope[1]} {number}") is None
        ]
        require(not absent, f"deleting {JANE} erased {len(absent)} of 3 items of {scope}")


@check("isolation.reset", needs={"reset"}, why="One customer's reset erases all customers.")
def reset_other(ctx: Context) -> None:
    """A tenant's reset erases that tenant, and leaves every other tenant's items."""
    store = ctx.open()
    for tenant in ("acme", "acme2", "globex"):
        store.put((tenant, "jane"), [Item(f"{tenant} note", "a note")])
    store.reset("acme")
    require(store.get(("acme", "jane"), "acme note") is None, "the tenant's own item is still there")
    for tenant in ("acme2", "globex"):
        require(
            store.get((tenant, "jane"), f"{tenant} note") is not None, f"the reset of acme erased {tenant}"
        )


@check(
    "isolation.replace", needs={"search", "caller ids"}, why="One user's correction changes another's memory."
)
def replace_other(ctx: Context) -> None:
    """Replacing an item leaves the search results of other scopes unchanged."""
    store = ctx.open()
    store.put(JANE, [Item("m1", "prefers trains")])
    store.put(JOE, [Item("m2", "prefers trains")])
    store.put(JOE, [Item("m2", "prefers ships")])
    texts = [hit.item.text for hit in store.search(JANE, "prefers trains", 5)]
    require(texts == ["prefers trains"], f"after joe's correction jane's search found {texts}")

"""Level isolation: nothing of one scope reaches another by reads, searches, listings, counts or scores."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from memory_store_conformance.context import JANE, JOE, Context, ids_of, plain
from memory_store_conformance.contract import Item, Scope
from memory_store_conformance.outcomes import NotOffered
from memory_store_conformance.registry import check, require

_LEAK = "What one customer told an agent is read out to another."


def _kept_apart(ctx: Context, scopes: Sequence[Scope]) -> None:
    """Write a note to each scope; each must see only its own. A store may reject a scope on write."""
    store = ctx.open()
    written: list[tuple[int, Scope]] = []
    for number, scope in enumerate(scopes):
        try:
            store.put(scope, [Item(f"m{number}", f"a private note of owner number {number}")])
        except Exception:  # noqa: BLE001 - a refusal
            continue
        written.append((number, scope))
    if len(written) < 2:
        raise NotOffered(f"all but {len(written)} of the scopes are refused")
    for number, scope in written:
        texts = {hit.item.text for hit in store.search(scope, "a private note of owner number", 50)}
        expected = {f"a private note of owner number {number}"}
        require(texts == expected, f"a search of {scope} expects {sorted(expected)}, found {sorted(texts)}")


@check("isolation.users", needs={"search"}, why=_LEAK)
def users(ctx: Context) -> None:
    """A search of one user finds nothing of another user of the tenant."""
    _kept_apart(ctx, [("acme", "jane"), ("acme", "omar")])


@check("isolation.tenants", needs={"search"}, why=_LEAK)
def tenants(ctx: Context) -> None:
    """A search of one tenant's user finds nothing of the other tenant's user of the same name."""
    _kept_apart(ctx, [("acme", "jane"), ("globex", "jane")])


@check("isolation.look-alikes", needs={"search"}, why="User 1 reads the memories of users 10 to 19.")
def look_alikes(ctx: Context) -> None:
    """Users whose names begin or end alike are different users."""
    _kept_apart(
        ctx, [("acme", name) for name in ("user1", "user10", "user", "1", "xuser1", "user1 ", " user1")]
    )


@check("isolation.separators", needs={"search"}, why="Joined names collide: a.b + c is a + b.c.")
def separators(ctx: Context) -> None:
    """Names with separators in them are kept apart from other splits of the same letters, or refused."""
    for mark in "./:|-,#":
        _kept_apart_or_refused(ctx, [(f"a{mark}b", "c"), ("a", f"b{mark}c")])


def _kept_apart_or_refused(ctx: Context, scopes: Sequence[Scope]) -> None:
    try:
        _kept_apart(ctx, scopes)
    except NotOffered:
        pass  # refusing such names keeps them apart, too


@check("isolation.wildcards", needs={"search"}, why="A user who calls himself % reads everything.")
def wildcards(ctx: Context) -> None:
    """Names that are wildcards of SQL, globs or regular expressions match only themselves."""
    _kept_apart(
        ctx,
        [("acme", name) for name in ("jane", "%", "j%", "jan_", "_", "*", "j*", ".*", "jan?", "[a-z]ane")],
    )


@check(
    "isolation.quotes", needs={"search"}, why="A name that ends a query string reads or erases the database."
)
def quotes(ctx: Context) -> None:
    """Names with quotes and comments of query languages match only themselves."""
    names = [
        "jane",
        "' OR '1'='1",
        "jane' --",
        '" OR ""="',
        "jane'); DROP TABLE x; --",
        "jane\\",
        '{"$ne": null}',
    ]
    _kept_apart(ctx, [("acme", name) for name in names])


@check(
    "isolation.unicode",
    needs={"search"},
    why="Two people whose names differ in an accent's encoding share a memory.",
)
def unicode_names(ctx: Context) -> None:
    """Names that differ in case, accents, width or normal form are different names, or rejected."""
    names = [
        "josé",
        unicodedata.normalize("NFD", "josé"),
        "jose",
        "JOSÉ",
        "ｊｏｓé",
        "straße",
        "strasse",
        "ﬁn",
        "fin",
    ]
    _kept_apart(ctx, [("acme", name) for name in names])


@check("isolation.empty-parts", needs={"search"}, why="A forgotten user id must not mean every user.")
def empty_parts(ctx: Context) -> None:
    """A scope with an empty name is rejected, or sees nothing of a named one."""
    store = ctx.open()
    store.put(JANE, [Item("m1", "a private note of jane")])
    for scope in (("acme", ""), ("", "jane"), ("", "")):
        try:
            hits = store.search(scope, "a private note of jane", 10)
        except Exception:  # noqa: BLE001 - a refusal
            continue
        require(not hits, f"a search of {scope} found {ids_of(hits)} of {JANE}")


@check(
    "isolation.same-id",
    needs={"caller ids"},
    why="The second user who imports a document overwrites the first one's.",
)
def same_id(ctx: Context) -> None:
    """The same id in two scopes names two items, or the second is rejected; it never overwrites the first."""
    store = ctx.open()
    store.put(JANE, [Item("m1", "the note of jane")])
    expected_texts = {JANE: "the note of jane", JOE: "the note of joe"}
    try:
        store.put(JOE, [Item("m1", "the note of joe")])
    except Exception:  # noqa: BLE001 - isolation.oracle judges what a refusal discloses
        del expected_texts[JOE]
    for scope, expected in expected_texts.items():
        item = store.get(scope, "m1")
        require(
            item is not None and item.text == expected,
            f"{scope}: expected {expected!r}, got {plain(item)}",
        )


@check(
    "isolation.get",
    needs={"scoped ids", "caller ids"},
    why="An id from a log or a link opens another user's memory.",
)
def get_other(ctx: Context) -> None:
    """An id of another scope cannot be read."""
    store = ctx.open()
    store.put(JANE, [Item("m1", "the note of jane")])
    item = store.get(JOE, "m1")
    require(item is None, f"{JOE} read {plain(item)} of {JANE}")


@check(
    "isolation.oracle",
    needs={"caller ids"},
    why="An error that says 'taken' tells one tenant what another has.",
)
def oracle(ctx: Context) -> None:
    """Writing an id that another scope has has the same outcome as writing a new one."""
    store = ctx.open()
    store.put(JANE, [Item("taken", "the note of jane")])
    answers = {}
    for id in ("taken", "free"):
        try:
            store.put(JOE, [Item(id, "a note of joe")])
            answers[id] = "accepted"
        except Exception as error:  # noqa: BLE001 - compared below
            answers[id] = f"{type(error).__name__}: {error}"
    require(
        answers["taken"] == answers["free"],
        f"an id that {JANE} has: {answers['taken']}; a free one: {answers['free']}",
    )


@check("isolation.list", needs={"list"}, why=_LEAK)
def list_others(ctx: Context) -> None:
    """A listing contains nothing of another scope."""
    store = ctx.open()
    store.put(JANE, [Item("m1", "the note of jane")])
    store.put(("acme", "jane2"), [Item("m2", "the note of jane2")])
    store.put(("globex", "jane"), [Item("m3", "the note of globex")])
    got = ids_of(store.list(JANE, 10))
    require(got == ["m1"], f"expected ['m1'], got {got}")


@check(
    "isolation.count",
    needs={"count"},
    why="A number that moves with a neighbour tells what the neighbour does.",
)
def count_others(ctx: Context) -> None:
    """A count does not change with what other scopes write."""
    store = ctx.open()
    store.put(JANE, [Item("m1", "the note of jane")])
    before = store.count(JANE)
    store.put(JOE, [Item(f"j{number}", f"note {number} of joe") for number in range(5)])
    require(store.count(JANE) == before, f"{before} before, {store.count(JANE)} after joe wrote 5 items")


@check("isolation.crowding", needs={"search"}, why="A busy neighbour empties one's own results.")
def crowding(ctx: Context) -> None:
    """Better matches in other scopes take no place in the results: the scope applies before ranking."""
    store = ctx.open()
    store.put(
        JOE,
        [Item(f"joe{number}", f"the quarterly invoice of the customer {number}") for number in range(300)],
    )
    store.put(JANE, [Item(f"jane{number}", f"invoice {number} and other things") for number in range(5)])
    got = sorted(ids_of(store.search(JANE, "the quarterly invoice of the customer", 5)))
    require(got == [f"jane{number}" for number in range(5)], f"expected jane0 ... jane4, got {got}")


@check(
    "isolation.statistics",
    needs={"search"},
    why="Scores that move with a neighbour's words tell what the neighbour wrote.",
)
def statistics(ctx: Context) -> None:
    """Scores and their order do not change with what other scopes write."""
    store = ctx.open()
    texts = [
        "merger with initech",
        "merger talks and lunch",
        "lunch with the initech team",
        "a walk in the park",
    ]
    store.put(JANE, [Item(f"m{number}", text) for number, text in enumerate(texts)])

    def answer() -> list[tuple[str, float | None]]:
        hits = store.search(JANE, "initech merger lunch", 4)
        return [(hit.id, None if hit.score is None else round(hit.score, 5)) for hit in hits]

    before = answer()
    store.put(JOE, [Item(f"j{number}", f"merger merger of the initech {number}") for number in range(200)])
    after = answer()
    require(before == after, f"before {before}, after a neighbour wrote {after}")


@check(
    "isolation.metadata",
    needs={"search", "filter $eq"},
    why="What a model writes into metadata must not move a memory.",
)
def metadata_injection(ctx: Context) -> None:
    """Metadata named like parts of a scope are rejected, or the item stays in its scope."""
    store = ctx.open()
    store.put(JANE, [Item("jane's", "a private note of jane")])
    names = ("user_id", "user", "agent_id", "tenant", "scope", "namespace", "prefix", "collection_name")
    try:
        store.put(JOE, [Item("joe's", "a private note of joe", dict.fromkeys(names, "jane"))])
    except Exception:  # noqa: BLE001 - a refusal
        pass
    else:
        own = {hit.item.text for hit in store.search(JOE, "a private note", 10)}
        require(
            own == {"a private note of joe"}, f"joe's item with such metadata: a search of joe found {own}"
        )
    texts = {hit.item.text for hit in store.search(JANE, "a private note", 10)}
    require(texts == {"a private note of jane"}, f"a search of jane found {texts}")


@check(
    "isolation.filter",
    needs={"search", "filter $eq"},
    why="A filter that a model wrote must not widen the scope.",
)
def filter_injection(ctx: Context) -> None:
    """A filter that names another user finds nothing of that user."""
    store = ctx.open()
    store.put(JANE, [Item("m1", "a private note of jane")])
    store.put(JOE, [Item("m2", "a private note of joe")])
    for field in ("user_id", "user", "agent_id", "tenant", "scope", "namespace", "prefix", "collection_name"):
        try:
            hits = store.search(JOE, "a private note of jane", 10, {field: "jane"})
        except Exception:  # noqa: BLE001 - a refusal
            continue
        others = [hit.item.text for hit in hits if hit.item.text != "a private note of joe"]
        require(not others, f"joe's search with the filter {{{field!r}: 'jane'}} found {others}")


@check("isolation.prefix", needs={"search", "prefixes"}, why="The administrator of acme reads acme2.")
def prefix(ctx: Context) -> None:
    """A search of a whole tenant finds everything below it, and nothing of a tenant with a similar name."""
    store = ctx.open()
    owners = [("acme", "jane"), ("acme", "joe"), ("acme2", "jane"), ("acm", "jane"), ("Acme", "jane")]
    for number, scope in enumerate(owners):
        store.put(scope, [Item(f"m{number}", "a private note")])
    got = sorted(ids_of(store.search(("acme",), "a private note", 20)))
    require(got == ["m0", "m1"], f"expected ['m0', 'm1'] of ('acme',), got {got}")


@check("isolation.scopes", needs={"scopes"}, why="A list of scopes is a list of customers.")
def scopes_below(ctx: Context) -> None:
    """The scopes listed below a tenant are that tenant's, regardless of the names of others."""
    store = ctx.open()
    for number, scope in enumerate((("acme", "jane"), ("acme2", "joe"), ("globex", "acme"))):
        store.put(scope, [Item(f"m{number}", "a note")])
    got = sorted(store.scopes(("acme",)))
    require(got == [("acme", "jane")], f"expected [('acme', 'jane')], got {got}")

"""Every verb of an index accepts the same scopes, and reports invalid ones with the same errors."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from scrubjay import Index, Scope, ScopeView

JANE = {"tenant": "acme", "user": "jane"}
VERBS: dict[str, Callable[[Index, Any], Any]] = {
    "asearch": lambda index, scope: asyncio.run(index.asearch("train", scope=scope)).ids,
    "count": lambda index, scope: index.count(scope),
    "delete": lambda index, scope: index.delete("m9", scope=scope),
    "delete_many": lambda index, scope: index.delete_many(["m9"], scope=scope),
    "erase": lambda index, scope: index.erase(scope),
    "feedback": lambda index, scope: index.feedback("m1", query="train", scope=scope),
    "feedbacks": lambda index, scope: index.admin.feedbacks(scope),
    "find": lambda index, scope: [record.id for record in index.find("m1", within=scope)],
    "get": lambda index, scope: index.get("m1", scope=scope).text,  # type: ignore[union-attr]
    "get_many": lambda index, scope: index.get_many(["m1"], scope=scope)[0].text,  # type: ignore[union-attr]
    "list": lambda index, scope: [record.id for record in index.list(scope)],
    "patch": lambda index, scope: index.patch("m9", scope=scope, metadata={"stars": 1}),
    "scopes": lambda index, scope: index.scopes(scope),
    "scroll": lambda index, scope: [record.id for record in index.scroll(scope=scope)],
    "search": lambda index, scope: index.search("train", scope=scope).ids,
    "search_batch": lambda index, scope: [hits.ids for hits in index.search_batch(["train"], scope=scope)],
    "search_batch, one each": lambda index, scope: index.search_batch(["train"], scope=[scope])[0].ids,
    "stamp": lambda index, scope: index.admin.stamp(scope).scope,
    "sweep": lambda index, scope: index.admin.sweep(scope),
    "upsert": lambda index, scope: index.upsert("m2", "Planes", scope=scope),
    "upsert_many": lambda index, scope: index.upsert_many([{"id": "m3", "text": "Ships"}], scope=scope),
    "values": lambda index, scope: index.values("kind", scope=scope),
    "warm": lambda index, scope: index.admin.warm(scope),
    "warm, several": lambda index, scope: index.admin.warm([scope, scope]),
}


@pytest.fixture
def make(tmp_path: Any) -> Callable[[bool], Index]:
    """An index with one memory of Jane's and one of Joe's, in memory or in a file."""

    def open_index(in_file: bool) -> Index:
        index = Index.open(tmp_path / f"{len(list(tmp_path.iterdir()))}.scrubjay") if in_file else Index()
        index.upsert("m1", "Prefers trains.", scope=Scope("acme", "jane"), metadata={"kind": "travel"})
        index.upsert("m1", "Prefers trains, too.", scope=Scope("acme", "joe"), metadata={"kind": "joe's"})
        return index

    return open_index


@pytest.mark.parametrize("in_file", [False, True], ids=["memory", "file"])
@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_takes_a_scope_or_its_names(
    make: Callable[[bool], Index], verb: str, in_file: bool
) -> None:
    call = VERBS[verb]
    with make(in_file) as one, make(in_file) as other:
        expected, got = call(one, Scope(**JANE)), call(other, JANE)
        if verb != "feedbacks":  # which contain the time
            assert got == expected
        assert len(one) == len(other)
        for wrong in ({"user": "jane"}, {"tenant": "acme", "session": "x"}):
            with pytest.raises(
                ValueError, match=r"(scope|within)(\[0\])?: expected the keys tenant, user, agent"
            ):
                call(other, wrong)
        with pytest.raises((TypeError, ValueError), match=r"expected"):
            call(other, 7)


@pytest.mark.parametrize(
    ("arguments", "named", "message"),
    [
        ((), {}, "tenant: expected a str, it is missing"),
        ((), {"user": "jane"}, "tenant: expected a str, it is missing"),
        (("acme",), {"session": "x"}, "session: unknown argument of Scope, expected tenant, user, agent"),
        (("acme", None, None, "x"), {}, "Scope: expected tenant, user, agent, got 4 positional arguments"),
        (("acme",), {"tenant": "globex"}, "tenant: expected once, it was given by position and by name"),
        ((1,), {}, "tenant: expected a str, got int"),
        (("acme",), {"user": 1}, "user: expected a str"),
    ],
)
def test_errors_about_a_scope_name_scrubjays_types(
    arguments: tuple[Any, ...], named: dict[str, Any], message: str
) -> None:
    with pytest.raises(TypeError) as error:
        Scope(*arguments, **named)
    assert str(error.value).startswith(message) and "incompatible" not in str(error.value)


def test_a_forgotten_scope_names_the_public_method() -> None:
    with pytest.raises(TypeError, match=r"Index\.search\(\) missing .* 'scope'"):
        Index().search("train")  # type: ignore[call-arg]


def test_a_subclass_of_scope_has_its_own_arguments() -> None:
    class Home(Scope):
        def __init__(self, city: str) -> None:
            super().__init__(tenant=city)

    assert Home(city="Oslo").tenant == "Oslo"


@pytest.mark.parametrize(
    "verb", [name for name in vars(ScopeView) if not name.startswith("_") and hasattr(Index, name)]
)
def test_a_view_takes_what_the_index_takes_but_the_scope(verb: str) -> None:
    if verb == "index":
        return
    of_index = dict(inspect.signature(getattr(Index, verb)).parameters)
    del of_index["scope"]
    assert dict(inspect.signature(getattr(ScopeView, verb)).parameters) == of_index

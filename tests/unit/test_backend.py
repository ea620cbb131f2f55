"""`scrubjay.backend`: building blocks of adapters. (tests/adapters has tests of leases, conditions and queries.)"""

from __future__ import annotations

import ast
import asyncio
import inspect
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scrubjay
from scrubjay import ClosedError, CursorError, Index, Query, Scope, StoreError, backend
from scrubjay.backend import (
    EVERYTHING,
    All,
    AsyncDocuments,
    Documents,
    Either,
    ErrorMap,
    Native,
    Not,
    ScopeMap,
    Test,
    awaited,
    is_text,
    joined,
    parted,
    path_or_index,
    search_together,
)
from tests.data import markdown

JANE, JOE, ACME = Scope("acme", user="jane"), Scope("acme", user="joe"), Scope("acme")
EVEN = Test(is_text("word"), lambda record: int((record.metadata or {})["word"]) % 2 == 0)


@pytest.fixture(params=["memory", "file"])
def documents(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Documents]:
    where = None if request.param == "memory" else tmp_path / "a.scrubjay"
    with Documents(where, collection="notes") as opened:
        yield opened


def fill(documents: Documents, n: int, scope: Scope = JANE) -> None:
    documents.upsert_many(
        [{"id": f"m{i}", "text": f"note {i}", "metadata": {"word": str(i), "n": i}} for i in range(n)],
        scope=scope,
    )


# ---------------------------------------------------------------------- a listing


def test_a_listing_takes_conditions_and_ids(documents: Documents) -> None:
    fill(documents, 6)
    fill(documents, 2, ACME)
    ids = [record.id for record in documents.list(scope=JANE, filter=EVEN, exact=True, order="oldest")]
    assert ids == ["m0", "m2", "m4"]
    found = documents.list(scope=JANE, filter=EVEN, ids=["m4", None, "m3", "m0", "gone"], exact=True)
    assert [record.id for record in found] == ["m4", "m0"]
    assert documents.list(scope=JANE, ids=[]) == [] == documents.list(scope=JOE, exact=True)
    assert [record.id for record in documents.list(scope=JANE, ids=["m1"], exact=True, limit=1)] == ["m1"]
    assert len(documents.list(scope=JANE, ids=["m1"])) == 2  # the scope's own, and the shared one
    assert asyncio.run(AsyncDocuments(documents).list(scope=JOE)) == documents.list(scope=JOE)


def test_a_listing_of_a_shared_id_has_those_that_meet_the_conditions(documents: Documents) -> None:
    for scope, word in ((JANE, "1"), (ACME, "2")):
        documents.upsert_many([{"id": "m", "text": "x", "metadata": {"word": word}}], scope=scope)
    assert [record.scope for record in documents.list(scope=JANE, filter=EVEN, limit=1)] == [ACME]


# ---------------------------------------------------------------------- async methods of an adapter


class Adapter:
    """Has a method and the async twin derived from it."""

    def search(self, query: str, k: int = 3) -> tuple[str, int, bool]:
        return query, k, threading.current_thread() is threading.main_thread()

    asearch = awaited(search, "asearch")


class Louder(Adapter):
    def search(self, query: str, k: int = 3) -> tuple[str, int, bool]:
        return super().search(query.upper(), k)


def test_the_async_method_of_a_method_runs_on_another_thread_and_is_like_it() -> None:
    assert asyncio.run(Adapter().asearch("train", k=2)) == ("train", 2, False)
    assert asyncio.run(Louder().asearch("train")) == ("TRAIN", 3, False)
    assert inspect.signature(Adapter.asearch) == inspect.signature(Adapter.search)
    assert Adapter.asearch.__name__ == "asearch" and inspect.iscoroutinefunction(Adapter.asearch)
    with pytest.raises(TypeError, match="unexpected"):
        asyncio.run(Adapter().asearch("train", unexpected=1))


def test_a_place_is_a_path_or_an_index() -> None:
    index = Index()
    assert path_or_index("a", None) == "a" and path_or_index(None, index) is index
    assert path_or_index(None, None) is None
    with pytest.raises(ValueError, match="expected either path or index, got both"):
        path_or_index("a", index)


# ---------------------------------------------------------------------- the how-to


def test_the_how_to_uses_the_public_api_alone_in_less_than_100_lines() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "backends.md"
    adapter = markdown.python_groups(page.read_text(encoding="utf-8"))[""][0]
    assert "class ScrubjayMemoryStore" in adapter and len(adapter.splitlines()) < 100
    for node in ast.walk(ast.parse(adapter)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("scrubjay"):
            assert node.module == "scrubjay.backend"
            assert {alias.name for alias in node.names} <= set(backend.__all__)
        if isinstance(node, ast.Attribute):
            assert not node.attr.startswith("_") or (
                isinstance(node.value, ast.Name) and node.value.id == "self"
            )


def test_every_public_name_is_there_and_documented() -> None:
    for name in backend.__all__:
        assert getattr(backend, name) is not None
        value = getattr(backend, name)
        assert not callable(value) or value.__doc__


def test_adapters_use_public_names_alone() -> None:
    adapters = Path(scrubjay.__file__).parent / "adapters"
    for path in adapters.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("scrubjay.backend"):
                assert node.module == "scrubjay.backend", path
                assert {alias.name for alias in node.names} <= set(backend.__all__), path


# ---------------------------------------------------------------------- documents


def test_deletion_by_conditions_is_one_commit(tmp_path: Path) -> None:
    with Documents(tmp_path / "a", collection="notes") as documents:
        fill(documents, 500)
        before = len(documents.index.admin.events())
        assert documents.delete_many([f"m{i}" for i in range(500)], scope=JANE) == 500
        assert len(documents.index.admin.events()) == before + 1
        fill(documents, 500)
        assert documents.delete_many(scope=JANE, filter=EVEN) == 250
        assert documents.delete_many(scope=JANE, filter={"n": {"$lt": 100}}) == 50
        assert len(documents.index.admin.events()) == before + 3
        assert documents.count(JANE) == 200


def test_deletion_takes_what_both_ids_and_conditions_name(documents: Documents) -> None:
    fill(documents, 10)
    fill(documents, 10, JOE)
    fill(documents, 3, ACME)
    assert documents.delete_many(["m0", "m1", "m2", None, 7, "", "m99"], scope=JANE, filter=EVEN) == 2
    assert documents.delete_many(["m3", "m4"], scope=JANE, filter={"n": 3}) == 1
    assert documents.delete_many([], scope=JANE, filter=EVEN) == 0
    assert documents.delete_many(scope=JANE, filter=Either([])) == 0
    assert documents.delete_many(["m5", "m99"], scope=JANE, filter=All([All([])])) == 1
    assert documents.delete_many(scope=JANE, filter=EVERYTHING) == 6
    assert documents.delete_many([None, "", 7], scope=JANE) == 0
    assert documents.count(JOE) == 13 and documents.count(ACME) == 3
    with pytest.raises(ValueError, match="ids, filter"):
        documents.delete_many(scope=JOE)


def test_ids_come_back_in_their_order(documents: Documents) -> None:
    fill(documents, 3)
    fill(documents, 1, ACME)
    found = documents.get_many(["m2", None, "m0", "\ud800", 1, "m2"], scope=JANE)
    assert [None if record is None else record.id for record in found] == ["m2", None, "m0", None, None, "m2"]
    assert documents.get_many(["m0"], scope=JOE)[0].scope == ACME  # type: ignore[union-attr]
    assert documents.get_many(["m0"], scope=JOE, exact=True) == [None]


def test_conditions_narrow_before_anything_is_ranked(documents: Documents) -> None:
    fill(documents, 60)
    odd = Not(EVEN)
    assert [hit.metadata["n"] % 2 for hit in documents.search("note", scope=JANE, k=20, filter=odd)] == [
        1
    ] * 20
    assert documents.count(JANE, filter=All([EVEN, Native({"n": {"$gte": 50}})])) == 5
    assert documents.count(JANE, filter=Either([EVEN, Native({"n": 1})])) == 31
    whole = [hit.id for hit in documents.search("note", scope=JANE, k=40)]
    assert [hit.id for hit in documents.search("note", scope=JANE, k=10, offset=30)] == whole[30:]


@given(n=st.integers(0, 40), limit=st.integers(1, 9), modulus=st.integers(1, 7))
@settings(max_examples=40, deadline=None)
def test_cursor_pages_concatenate_to_the_listing(n: int, limit: int, modulus: int) -> None:
    documents = Documents(None, collection="notes")
    fill(documents, n)
    some = Test(is_text("word"), lambda record: int((record.metadata or {})["word"]) % modulus == 0)
    ids: list[Any] = []
    cursor = None
    while True:
        page = documents.scroll(scope=JANE, limit=limit, cursor=cursor, filter=some)
        assert len(page) == limit or page.cursor is None
        ids += [record.id for record in page]
        cursor = page.cursor
        if cursor is None:
            break
    assert ids == [f"m{i}" for i in range(n) if i % modulus == 0]
    assert [record.id for record in documents.every(scope=JANE, filter=some)] == ids


def test_a_cursor_of_another_scope_is_refused(documents: Documents) -> None:
    fill(documents, 5)
    cursor = documents.scroll(scope=JANE, limit=2, filter=EVEN).cursor
    with pytest.raises(CursorError):
        documents.scroll(scope=JOE, limit=2, filter=EVEN, cursor=cursor)


def test_late_pages_read_no_more_than_early_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Documents(tmp_path / "a", collection="notes") as documents:
        fill(documents, 3000)
        read: list[int] = []
        real = Index.scroll

        def counted(self: Index, **options: Any) -> Any:
            page = real(self, **options)
            read.append(len(page))
            return page

        monkeypatch.setattr(Index, "scroll", counted)
        cursor, costs = None, []
        while True:
            read.clear()
            page = documents.scroll(scope=JANE, limit=100, cursor=cursor, filter=EVEN)
            costs.append(sum(read))
            cursor = page.cursor
            if cursor is None:
                break
        assert len(costs) == 15 and max(costs) <= 2 * 256


def test_a_file_is_shared_and_the_last_one_closes_it(tmp_path: Path) -> None:
    one, other = (Documents(tmp_path / "a", collection="notes") for _ in range(2))
    fill(one, 1)
    one.close()
    assert other.count(JANE) == 1
    with pytest.raises(ClosedError):
        one.count(JANE)
    assert "closed" in repr(one) and "notes" in repr(other)
    other.close()


def test_async_twins_do_the_same(tmp_path: Path) -> None:
    async def run() -> list[Any]:
        async with await AsyncDocuments.open(tmp_path / "a", collection="notes") as documents:
            await documents.upsert_many(
                [{"id": "m1", "text": "a note", "metadata": {"word": "2"}}], scope=JANE
            )
            page = await documents.scroll(scope=JANE, filter=EVEN)
            await documents.patch("m1", scope=JANE, metadata={"word": "3"})
            hits = await documents.search("note", scope=[JANE, JOE])
            return [len(page), hits[0].metadata, await documents.count(JANE, filter=EVEN),
                    await documents.delete_many(["m1"], scope=JANE)]  # fmt: skip

    assert asyncio.run(run()) == [1, {"word": "3"}, 0, 1]


def test_async_calls_leave_the_loop_alone(documents: Documents) -> None:
    async def run() -> bool:
        seen = threading.current_thread()
        slow = Test(is_text("word"), lambda record: threading.current_thread() is not seen)
        await AsyncDocuments(documents).upsert_many(
            [{"id": "m1", "text": "a", "metadata": {"word": "1"}}], scope=JANE
        )
        return await AsyncDocuments(documents).count(JANE, filter=slow) == 1

    assert asyncio.run(run())


# ---------------------------------------------------------------------- several scopes


def embedded(texts: list[str]) -> Any:
    return np.asarray(
        [[text.count("a") + 0.1, text.count("b") + 0.2, text.count("c") + 0.3] for text in texts]
    )


@given(
    notes=st.lists(st.tuples(st.integers(0, 3), st.text("abc ", min_size=1, max_size=8)), max_size=25),
    query=st.text("abc", min_size=1, max_size=4),
)
@settings(max_examples=60, deadline=None)
def test_by_vectors_several_scopes_rank_like_one(notes: list[tuple[int, str]], query: str) -> None:
    many, one = Index(dim=3), Index(dim=3)
    for i, (user, text) in enumerate(notes):
        (vector,) = embedded([text])
        many.upsert(f"m{i}", text, scope=Scope("acme", user=f"u{user}"), vector=vector)
        one.upsert(f"m{i}", text, scope=ACME, vector=vector)
    scopes = [Scope("acme", user=f"u{user}") for user in range(4)]
    (vector,) = embedded([query])
    found = search_together(many, scopes, vector=vector, k=7, query=Query(mode="vector"))
    expected = one.search(vector=vector, scope=ACME, k=7, query=Query(mode="vector"))
    assert [hit.score for hit in found] == pytest.approx([hit.score for hit in expected], rel=1e-6)
    assert len({(hit.scope, hit.id) for hit in found}) == len(found)
    for hit in found:
        assert many.get(hit.id, scope=hit.scope).text == hit.text  # type: ignore[union-attr]


def test_an_identifier_is_found_in_the_smallest_scope(documents: Documents) -> None:
    scopes = [Scope("acme", user=f"u{i}") for i in range(40)]
    for i, scope in enumerate(scopes):
        documents.upsert_many(
            [{"id": f"m{j}", "text": f"the key of note {j}"} for j in range(1 if i == 7 else 30)], scope=scope
        )
    documents.upsert_many([{"id": "it", "text": "the key is sk-stg-0041"}], scope=scopes[7])
    best = documents.search("what is the key sk-stg-0041", scope=scopes, k=3)
    assert (best[0].id, best[0].scope) == ("it", scopes[7])
    assert documents.search("key", scope=[]) == []
    shared = documents.search("sk-stg-0041", scope=[scopes[7], scopes[7]], k=5)
    assert [hit.id for hit in shared if hit.id == "it"] == ["it"]


def test_more_scopes_than_one_call_takes_are_searched_in_groups(
    documents: Documents, monkeypatch: pytest.MonkeyPatch
) -> None:
    scopes = [Scope("acme", user=f"u{i}") for i in range(7)]
    for i, scope in enumerate(scopes):
        documents.upsert_many([{"id": "m", "text": f"the oak of sk-stg-00{i}"}], scope=scope)
    fill(documents, 1, ACME)
    whole = documents.search("oak sk-stg-005 note", scope=scopes, k=20)
    monkeypatch.setattr("scrubjay.backend.joint_ranking._AT_ONCE", 3)
    found = documents.search("oak sk-stg-005 note", scope=scopes, k=20)
    assert [(hit.scope, hit.id) for hit in found] == [(hit.scope, hit.id) for hit in whole]
    assert [hit.score for hit in found] == [hit.score for hit in whole]


def test_conditions_of_python_hold_in_each_scope(documents: Documents) -> None:
    """Even if the scopes share their ids, and only one of the documents matches."""
    scopes = [Scope("acme", user=f"u{i}") for i in range(30)]
    for i, scope in enumerate(scopes):
        documents.upsert_many([{"id": "m", "text": "oak", "metadata": {"city": f"York {i}"}}], scope=scope)
    last = Test(is_text("city"), lambda record: record.metadata["city"].endswith("29"))
    assert [hit.scope for hit in documents.search("oak", scope=scopes, k=1, filter=last)] == [scopes[29]]
    assert documents.search("oak", scope=scopes[:29], filter=last) == []
    others = documents.search("oak", scope=scopes, k=40, filter=Not(last))
    assert [hit.scope for hit in others] == scopes[:29]


def test_several_scopes_find_shared_documents_once_and_no_unnamed_user(documents: Documents) -> None:
    fill(documents, 1, ACME)
    fill(documents, 1, JANE)
    fill(documents, 1, Scope("acme", user="eve"))
    found = documents.search("note", scope=[JANE, JOE])
    assert sorted((hit.scope, hit.id) for hit in found) == [(ACME, "m0"), (JANE, "m0")]
    assert len(documents.search("note", scope=[JANE, JOE], filter=EVEN)) == 2


# ---------------------------------------------------------------------- names, errors


@given(st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=4))
def test_joined_parts_split_into_the_same_parts(parts: list[str]) -> None:
    assert parted(joined(parts)) == tuple(parts)


@given(*(st.lists(st.sampled_from(["a", "a/b", "b", "%", "%2F", "/", "a%"]), min_size=1, max_size=3),) * 2)
def test_different_parts_are_different_texts(one: list[str], other: list[str]) -> None:
    assert (joined(one) == joined(other)) == (one == other)


def test_a_missing_user_is_an_error_and_not_the_whole_tenant() -> None:
    names = ScopeMap("acme", user="user_id", agent=("agent_id", "run_id"))
    with pytest.raises(ValueError, match="run_id"):
        names.scope(user_id="jane", agent_id="a")
    for wrong in (None, ""):
        with pytest.raises(ValueError, match="user_id"):
            names.scope(user_id=wrong, agent_id="a", run_id="r")
    with pytest.raises(TypeError, match="user_id"):
        names.scope(user_id=7, agent_id="a", run_id="r")
    nobody = ScopeMap("acme", user="user_id", absent="nobody")
    assert nobody.scope() == Scope("acme", user=".") and nobody.names(nobody.scope()) == {}
    with pytest.raises(ValueError, match="user_id"):
        nobody.scope(user_id=".")  # nobody else's
    assert ScopeMap("acme", user="user_id", absent="shared").scope() == ACME
    of_app = ScopeMap("none", tenant_of="app", user="user")
    assert of_app.scope({"app": "notes", "user": "jane", "other": 7}) == Scope("notes", user="jane")
    with pytest.raises(ValueError, match="app"):
        of_app.scope(user="jane")
    with pytest.raises(ValueError, match="absent"):
        ScopeMap("acme", absent="everybody")  # type: ignore[arg-type]


@given(
    st.dictionaries(
        st.sampled_from(["user_id", "agent_id", "run_id"]),
        st.text(min_size=1, max_size=4).filter(lambda t: t != "." and "\0" not in t and t.isprintable()),
    )
)
def test_names_come_back_from_a_scope(given: dict[str, str]) -> None:
    names = ScopeMap("acme", user="user_id", agent=("agent_id", "run_id"), absent="nobody")
    assert names.names(names.scope(given)) == given


def test_errors_become_the_frameworks() -> None:
    class RefusedError(Exception): ...

    class BrokenError(Exception): ...

    errors = ErrorMap(
        {(TypeError, ValueError): lambda e: RefusedError(str(e)), StoreError: lambda e: BrokenError(str(e))}
    )
    documents = Documents(None, collection="notes", errors=errors)
    with pytest.raises(RefusedError, match="scope") as refused:
        documents.search("x", scope="acme")  # type: ignore[arg-type]
    assert isinstance(refused.value.__cause__, TypeError)
    with pytest.raises(RefusedError, match="limit"):
        documents.scroll(scope=JANE, limit=0)
    with pytest.raises(RefusedError, match="like"):
        documents.search("x", scope=JANE, filter={"n": {"$like": 1}})
    with pytest.raises(ZeroDivisionError), errors:
        raise ZeroDivisionError
    with pytest.raises(BrokenError) as broken, errors, errors:  # nested: translated once
        raise StoreError("the disk is full")
    assert isinstance(broken.value.__cause__, StoreError)
    assert errors.wraps(len)([1]) == 1
    with pytest.raises(TypeError, match="rules"):
        ErrorMap({"StoreError": BrokenError})  # type: ignore[dict-item]


# ---------------------------------------------------------------------- vectors of documents


@pytest.mark.parametrize("wrong", [["a"], [[]], [np.array(["a"])]], ids=["str", "list", "array"])
def test_payloads_are_bytes(wrong: list[Any]) -> None:
    with Index(embedder=embedded) as index:
        with pytest.raises(TypeError, match=r"payloads\[0\]: expected bytes or None, got "):
            backend.Backend.of(index).embed(["a"], wrong)
        with pytest.raises(TypeError, match=r"payloads\[0\]: expected bytes or None, got "):
            backend.Backend.of(index).embed_or_mark(["a"], wrong)

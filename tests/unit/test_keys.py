"""The key of a document is (exact scope, id): the same id in another scope is another document.

READS take a scope as searches do and find what it sees, the most specific first; WRITES act on exactly the scope that
they name. Statements about the engine hold for the reference model as well; statements about the index hold in memory
and over a file.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrubjay import RRF, Index, Query, Record, Scope, ScopeView
from scrubjay.backend import Backend
from tests.data.engines import Kit
from tests.data.replay import outcome
from tests.reference import judge
from tests.reference.scopes import key, most_specific_first, visible_partitions

SHARED, USERS, AGENTS, OWN = ("t", None, None), ("t", "u", None), ("t", None, "a"), ("t", "u", "a")
EVERY = (SHARED, USERS, AGENTS, OWN)
MOST_SPECIFIC_FIRST = (OWN, USERS, AGENTS, SHARED)
FOREIGN = ("other", "u", "a")

# -- the engine -------------------------------------------------------------------------------------------------------


def engine_with_one_id(kit: Kit, keys: Any = (*EVERY, FOREIGN), **options: Any) -> Any:
    """One id in several scopes; text and payload name the scope."""
    engine = kit.Engine(dim=2, metric="ip", **options)
    engine.upsert_many(
        ["m"] * len(keys),
        [f"jay {home!r}" for home in keys],
        scope=[kit.Scope(*home) for home in keys],
        vectors=[[1.0, number + 1.0] for number in range(len(keys))],
        payloads=[repr(home).encode() for home in keys],
    )
    return engine


def seen(engine: Any, kit: Kit, home: tuple) -> Any:
    """Return the exact scope of the document that a reader of the id gets."""
    document = engine.get("m", scope=kit.Scope(*home))
    return None if document is None else key(document.scope)


def found(result: Any) -> list[Any]:
    return [home for home, _ in judge.keys(result)]


def test_the_same_id_in_two_tenants_is_two_documents(kit: Kit) -> None:
    engine, acme, globex = kit.Engine(), kit.Scope("acme"), kit.Scope("globex")
    engine.upsert("m", "jay of acme", scope=acme)
    engine.upsert("m", "jay of globex", scope=globex)
    assert len(engine) == 2
    for scope, text in ((acme, "jay of acme"), (globex, "jay of globex")):
        document = engine.get("m", scope=scope)
        assert (document.text, document.scope) == (text, scope)
        result = engine.search("jay", scope=scope)
        assert [result.text(index) for index in range(len(result))] == [text]


def test_the_same_id_of_a_user_and_of_the_tenant_are_both_found(kit: Kit) -> None:
    engine = engine_with_one_id(kit)
    assert len(engine) == 5
    for mode in ("lexical", "vector", "hybrid"):
        result = engine.search("jay", vector=[1.0, 0.0], scope=kit.Scope(*OWN), query=Query(mode=mode))
        assert found(result) == list(EVERY), mode
        assert set(result.ids) == {"m"}
        for index, home in enumerate(EVERY):
            assert result.payload(index) == repr(home).encode()
            assert result.text(index) == f"jay {home!r}"
    assert found(engine.search("jay", scope=kit.Scope(*USERS))) == [SHARED, USERS]
    assert engine.count(kit.Scope(*OWN)) == 4


@pytest.mark.parametrize("n_there", range(5))
def test_get_finds_the_most_specific_that_is_there(kit: Kit, n_there: int) -> None:
    """(t, u, a) before (t, u) before (t, a) before (t), for every subset of them."""
    for there in itertools.combinations(EVERY, n_there):
        engine = engine_with_one_id(kit, (*there, FOREIGN))
        for reader in EVERY:
            visible = visible_partitions(kit.Scope(*reader))
            expected = next((home for home in MOST_SPECIFIC_FIRST if home in there and home in visible), None)
            assert seen(engine, kit, reader) == expected, (there, reader)
        assert seen(engine, kit, ("t", "someone else", None)) == (SHARED if SHARED in there else None)
        assert seen(engine, kit, ("nobody", "u", "a")) is None


def test_readers_see_the_next_once_the_most_specific_is_gone(kit: Kit) -> None:
    engine = engine_with_one_id(kit)
    for home, left in zip(MOST_SPECIFIC_FIRST, (*MOST_SPECIFIC_FIRST[1:], None), strict=True):
        assert seen(engine, kit, OWN) == home
        assert engine.delete("m", scope=kit.Scope(*home)) is True
        assert seen(engine, kit, OWN) == left
    assert seen(engine, kit, FOREIGN) == FOREIGN


@pytest.mark.parametrize("home", EVERY, ids=repr)
def test_delete_is_exact(kit: Kit, home: tuple) -> None:
    """A scope cannot delete a document that it sees, but that belongs to another scope."""
    others = [other for other in (*EVERY, FOREIGN) if other != home]
    engine = engine_with_one_id(kit, others)
    assert engine.delete("m", scope=kit.Scope(*home)) is False
    assert engine.delete_many(["m", "m"], scope=kit.Scope(*home)) == 0
    assert len(engine) == 4
    engine = engine_with_one_id(kit)
    assert engine.delete("m", scope=kit.Scope(*home)) is True
    assert engine.delete("m", scope=kit.Scope(*home)) is False
    for other in others:
        assert engine.get("m", scope=kit.Scope(*other)).payload == repr(other).encode()


def test_delete_many_takes_one_scope_or_one_for_each_id(kit: Kit) -> None:
    engine = engine_with_one_id(kit)
    homes = [kit.Scope(*home) for home in (USERS, AGENTS, USERS, ("nobody", None, None))]
    assert engine.delete_many(["m"] * 4, scope=homes) == 2
    assert found(engine.search("jay", scope=kit.Scope(*OWN))) == [SHARED, OWN]
    assert engine.delete_many(("m", "unknown"), scope=tuple(homes[:2])) == 0
    assert engine.delete_many(["unknown", "m", "m"], scope=kit.Scope(*OWN)) == 1
    assert engine.delete_many([], scope=[]) == engine.delete_many([], scope=kit.Scope(*OWN)) == 0
    assert len(engine) == 2
    engine = kit.Engine()
    engine.upsert_many([1, 1], ["jay", "jay"], scope=[kit.Scope("a"), kit.Scope("b")])
    assert engine.delete_many(np.array([1]), scope=[kit.Scope("b")]) == 1
    assert engine.get(1, scope=kit.Scope("a")) is not None


def test_delete_many_is_checked_as_a_whole(kit: Kit) -> None:
    engine = engine_with_one_id(kit)
    own = kit.Scope(*OWN)
    for ids, scope, error in (
        (["m", 7], own, TypeError), (["m", ""], own, ValueError), (["m", "m"], [own], ValueError),
        (["m", "m"], [own, "t"], TypeError), (["m"], [own, own], ValueError), ("m", own, TypeError),
    ):  # fmt: skip
        with pytest.raises(error):
            engine.delete_many(ids, scope=scope)
    assert len(engine) == 5


def test_an_upsert_replaces_only_in_its_scope(kit: Kit) -> None:
    engine = engine_with_one_id(kit)
    engine.upsert("m", "acorn", scope=kit.Scope(*AGENTS), vector=[5.0, 5.0])
    assert len(engine) == 5
    assert found(engine.search("jay", scope=kit.Scope(*OWN))) == [SHARED, USERS, OWN]
    assert found(engine.search("acorn", scope=kit.Scope(*OWN))) == [AGENTS]
    for home in (SHARED, USERS, OWN, FOREIGN):
        document = engine.get("m", scope=kit.Scope(*home))
        assert (document.text, document.payload) == (f"jay {home!r}", repr(home).encode())
    document = engine.get("m", scope=kit.Scope(*AGENTS))
    assert (document.text, document.payload, document.vector.tolist()) == ("acorn", None, [5.0, 5.0])


def test_within_a_batch_the_last_of_each_key_counts(kit: Kit) -> None:
    engine = kit.Engine()
    u, t = kit.Scope("t", "u"), kit.Scope("t")
    texts = ["one", "two", "three", "four", "five"]
    assert engine.upsert_many(["m", "m", "n", "m", "m"], texts, scope=[u, t, t, u, t]) == 3
    assert [engine.get("m", scope=u).text, engine.get("m", scope=t).text] == ["four", "five"]
    assert len(engine) == 3
    if kit.is_native:
        prepared = engine.prepare(["m", "m", "m"], ["six", "seven", "eight"], scope=[u, t, u])
        assert engine.apply(prepared) == 2
        assert [engine.get("m", scope=u).text, engine.get("m", scope=t).text] == ["eight", "seven"]


@pytest.mark.parametrize("exact", [False, True])
def test_erase_of_one_scope_leaves_the_others(kit: Kit, exact: bool) -> None:
    engine = engine_with_one_id(kit)
    assert engine.erase(kit.Scope("t", "u"), exact=exact) == (1 if exact else 2)
    left = [SHARED, AGENTS, *([OWN] if exact else [])]
    assert found(engine.search("jay", scope=kit.Scope(*OWN))) == left
    assert seen(engine, kit, USERS) == SHARED
    assert seen(engine, kit, FOREIGN) == FOREIGN
    assert engine.erase(kit.Scope("t")) == len(left)
    assert seen(engine, kit, OWN) is None
    assert seen(engine, kit, FOREIGN) == FOREIGN


def test_ids_name_every_visible_document(kit: Kit) -> None:
    engine, own = engine_with_one_id(kit), kit.Scope(*OWN)
    engine.upsert("n", "jay n", scope=kit.Scope(*USERS), vector=[1.0, 1.0])
    for mode in ("lexical", "vector", "hybrid"):
        options: dict[str, Any] = {"vector": [1.0, 0.5], "scope": own, "k": 50}
        assert sorted(
            map(repr, found(engine.search("jay", query=Query(mode=mode, ids=["m"]), **options)))
        ) == sorted(map(repr, EVERY))
        assert judge.keys(engine.search("jay", query=Query(mode=mode, exclude=["m"]), **options)) == [
            (USERS, "n")
        ]
        assert judge.keys(engine.search("jay", query=Query(mode=mode, ids=["n", "unknown"]), **options)) == [
            (USERS, "n")
        ]
        assert (
            len(engine.search("jay", query=Query(mode=mode, ids=["m", "n"], exclude=["n"]), **options)) == 4
        )
    assert engine.count(own, ids=["m"]) == 4
    assert engine.count(own, exclude=["m"]) == 1
    assert engine.count(kit.Scope(*USERS), ids={"m", "n"}) == 3


@pytest.mark.parametrize("n_documents", [1, 500])
def test_ids_among_many_documents(kit: Kit, n_documents: int) -> None:
    """Looked up one by one, or by a scan of all: the same."""
    engine = kit.Engine()
    homes = [kit.Scope(*home) for home in EVERY]
    for scope in homes:
        engine.upsert_many(list(range(n_documents)), ["jay"] * n_documents, scope=scope)
    engine.delete_many([0] * 2, scope=homes[1:3])
    for wanted in ([0], [0, 1, 2], list(range(0, n_documents, 2)), list(range(-5, n_documents + 5))):
        n_wanted = len([id for id in wanted if 0 <= id < n_documents])
        n_found = 4 * n_wanted - 2
        result = engine.search("jay", scope=homes[3], query=Query(ids=wanted), k=10_000)
        assert len(set(judge.keys(result))) == len(result) == n_found
        assert engine.count(homes[3], ids=wanted) == n_found
        assert engine.count(homes[3], exclude=wanted) == 4 * n_documents - 2 - n_found


def ranked(
    engine: Any, kit: Kit, entries: list[Any], reader: tuple = OWN, filter: Any = None, **options: Any
) -> list[Any]:
    """The hits of a caller's ranking alone, in its order."""
    query = in_order(entries, **options)
    return found(engine.search("", scope=kit.Scope(*reader), query=query, k=50, filter=filter))


def in_order(entries: list[Any], **options: Any) -> Query:
    """The caller's order, with other options."""
    return Query(RRF(1.0), identifier_tier=False, rankings=[entries], **options)


def test_an_id_in_a_ranking_names_the_most_specific(kit: Kit) -> None:
    engine = engine_with_one_id(kit)
    for home in MOST_SPECIFIC_FIRST:
        assert ranked(engine, kit, ["m"]) == [home]
        assert ranked(engine, kit, ["unknown", "m", "m"]) == [home]
        engine.delete("m", scope=kit.Scope(*home))
    assert ranked(engine, kit, ["m"]) == []


def test_a_pair_in_a_ranking_names_exactly_one(kit: Kit) -> None:
    engine = engine_with_one_id(kit)
    for order in itertools.permutations(EVERY):
        pairs: list[Any] = [(kit.Scope(*home), "m") for home in order]
        assert ranked(engine, kit, pairs) == list(order)
    one = [(kit.Scope(*SHARED), "m")]
    assert ranked(engine, kit, [*one, "m", *one, (kit.Scope(*OWN), "m")]) == [SHARED, OWN]
    assert ranked(engine, kit, ["m", (kit.Scope(*AGENTS), "m"), (kit.Scope(*AGENTS), "n")]) == [OWN, AGENTS]


def test_invisible_documents_in_a_ranking_are_skipped(kit: Kit) -> None:
    engine = engine_with_one_id(kit)
    pairs: list[Any] = [(kit.Scope(*home), "m") for home in (FOREIGN, OWN, AGENTS, USERS, SHARED)]
    assert ranked(engine, kit, pairs, USERS) == [USERS, SHARED]
    assert ranked(engine, kit, pairs, ("nobody", None, None)) == []
    assert ranked(engine, kit, pairs, candidates=1) == [OWN]
    missing: list[Any] = [(kit.Scope("never", "written"), "m"), (kit.Scope(*OWN), "n")]
    assert ranked(engine, kit, [*missing, *pairs], USERS) == [USERS, SHARED]


def test_a_filtered_ranking_finds_what_is_left(kit: Kit) -> None:
    engine = engine_with_one_id(kit)
    engine.upsert("m", "jay", scope=kit.Scope(*OWN), payload=b'{"metadata": {"n": 1}}')
    engine.upsert("m", "jay", scope=kit.Scope(*SHARED), payload=b'{"metadata": {"n": 2}}')
    assert ranked(engine, kit, ["m"], filter={"n": 2}) == [SHARED]
    assert ranked(engine, kit, [(kit.Scope(*OWN), "m")], filter={"n": 2}) == []
    assert ranked(engine, kit, ["m"], exclude=["m"]) == []


def test_a_graph_a_compaction_and_images_keep_keys_apart(kit: Kit) -> None:
    if not kit.is_native:
        pytest.skip("the model has neither")
    engine = kit.Engine(dim=8, chunk_docs=16, vector_plan="graph")
    homes = [kit.Scope(*home) for home in (*EVERY, FOREIGN)]
    rows = np.random.default_rng(1).normal(size=(60, 8)).astype(np.float32)
    ids = list(range(60))
    for number, scope in enumerate(homes):
        engine.upsert_many(ids, [f"jay {number} {id}" for id in ids], scope=scope, vectors=rows + number)
    assert engine.build_graphs(1) == 5
    for number, scope in enumerate(homes):
        engine.delete_many(ids[number::7], scope=scope)
    engine.compact()
    for scope in homes:
        n_documents = engine.digest(scope)["n_documents"]
        images = engine.save_partition(scope)
        assert engine.erase(scope, exact=True) == n_documents > 50
        assert engine.load_partition(scope, images) == n_documents
    for number, scope in enumerate(homes):
        for id in ids:
            document = engine.get(id, scope=scope)
            if id % 7 == number:
                assert document is None or document.scope != scope
                continue
            assert (document.text, document.scope) == (f"jay {number} {id}", scope)
            hits = engine.search(vector=rows[id] + number, scope=scope, k=8)
            assert (key(scope), id) in judge.keys(hits)
        assert engine.digest(scope)["miscounted"] == 0


def test_lookup_of_an_id_in_thousands_of_scopes_scans_nothing(kit: Kit) -> None:
    """The index of keys uses scope and id: no look-up scans all documents with the id."""
    n = 3000 if kit.is_native else 50
    engine = kit.Engine()
    homes = [kit.Scope("t", f"u{number}") for number in range(n)]
    engine.upsert_many(["m"] * n, [f"jay {number}" for number in range(n)], scope=homes)
    assert len(engine) == n
    for number in range(0, n, 7):
        assert engine.get("m", scope=homes[number]).text == f"jay {number}"
    assert engine.delete_many(["m"] * len(homes[::2]), scope=homes[::2]) == len(homes[::2])
    for number in range(0, n, 7):
        assert (engine.get("m", scope=homes[number]) is None) == (number % 2 == 0)


# -- nothing tells that others have an id --------------------------------------------------------------------------


def calls(kit: Kit, scope: Any, id: str) -> list[Any]:
    """Return everything that a tenant can do with an id."""
    vector = [1.0, 0.5]
    return [
        lambda e: e.get(id, scope=scope),
        lambda e: e.count(scope),
        lambda e: e.count(scope, ids=[id]),
        lambda e: e.count(scope, exclude=[id]),
        lambda e: judge.keys(e.search("jay", scope=scope, query=Query(ids=[id]))),
        lambda e: judge.keys(e.search("jay", scope=scope, query=Query(exclude=[id]))),
        lambda e: judge.keys(e.search("jay", vector=vector, scope=scope, query=Query(rankings=[[id, (scope, id)]]))),
        lambda e: judge.keys(e.search("jay", scope=scope, query=Query(rankings=[[(kit.Scope("other"), id)]]))),
        lambda e: e.delete(id, scope=scope),
        lambda e: e.delete_many([id, id], scope=scope),
        lambda e: e.delete_many([id], scope=[scope]),
        lambda e: e.upsert(id, "jay", scope=scope, vector=[1.0]),  # refused
        lambda e: e.upsert(id, None, scope=scope),  # refused
        lambda e: e.upsert_many([id, id], ["jay", "oak"], scope=scope),
        lambda e: e.search("oak", scope=scope).scores.tobytes(),
        lambda e: e.get(id, scope=scope).text,
        lambda e: e.delete(id, scope=scope),
        lambda e: e.upsert(id, "jay", scope=scope, vector=vector),
        lambda e: e.upsert(id, "jay jay", scope=scope),
        lambda e: e.erase(scope, exact=True),
        lambda e: e.get(id, scope=scope),
    ]  # fmt: skip


@pytest.mark.parametrize("reader", EVERY, ids=repr)
def test_no_answer_and_no_error_tells_that_another_tenant_has_an_id(kit: Kit, reader: tuple) -> None:
    """Each call has the same outcome, including the message, whether other tenants have the id, had it, or never
    had."""

    def told(others: list[tuple]) -> list[Any]:
        engine = kit.Engine(dim=2, metric="ip")
        for other in others:
            engine.upsert("m", "jay of others", scope=kit.Scope(*other), vector=[9.0, 9.0])
        engine.upsert("mine", "jay", scope=kit.Scope(*reader), vector=[1.0, 1.0])
        outcomes = []
        for call in calls(kit, kit.Scope(*reader), "m"):
            try:
                outcomes.append(call(engine))
            except (TypeError, ValueError, AttributeError) as error:
                outcomes.append((type(error), str(error)))
        assert len(engine) == len(others)
        return outcomes

    alone = told([])
    assert told([FOREIGN]) == alone
    assert told([("other", None, None), FOREIGN, ("u", "t", None), ("T", None, None)]) == alone
    assert told([("t", "someone else", None), ("t", "someone else", "a")]) == alone


def test_a_read_without_a_scope_is_a_type_error_whether_the_id_is_there_or_not(kit: Kit) -> None:
    engine = engine_with_one_id(kit)
    for id in ("m", "unknown"):
        for call in (
            lambda e, id=id: e.get(id), lambda e, id=id: e.delete(id), lambda e, id=id: e.delete_many([id]),
            lambda e, id=id: e.get(id, scope=None), lambda e, id=id: e.delete(id, scope=None),
        ):  # fmt: skip
            assert outcome(call, engine) == ("raised", "TypeError")
    with pytest.raises(TypeError):
        "m" in engine  # noqa: B015 - in which scope?
    assert len(engine) == 5


def test_the_cost_of_a_lookup_does_not_depend_on_other_tenants(kit: Kit) -> None:
    """Ids are hashed with their scope, so that look-ups do not pass other tenants' copies of an id.

    The measure needs no clock: every foreign document is in another bucket of the index, so a scope finds its document
    among 2,000 with the same id as fast as among 2,000 with other ids.
    """
    if not kit.is_native:
        pytest.skip("the model is a dict")

    def cpu_seconds(ids: list[str]) -> float:
        engine = kit.Engine()
        scopes = [kit.Scope(f"tenant{number}") for number in range(len(ids))]
        engine.upsert_many(ids, ["jay"] * len(ids), scope=scopes)
        mine, nobody = scopes[0], kit.Scope("nobody")
        best = float("inf")
        for _ in range(5):
            begin = time.thread_time()
            for _ in range(3000):
                engine.get("m", scope=mine)
                engine.get("m", scope=nobody)
            best = min(best, time.thread_time() - begin)
        return best

    same = cpu_seconds(["m"] * 2000)
    different = cpu_seconds(["m", *(f"n{number}" for number in range(1999))])
    assert same < 3 * different, (same, different)  # a scan of all would be a hundred times as slow


# -- scopes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("home", EVERY, ids=repr)
def test_visible_scopes_in_rank_order(kit: Kit, home: tuple) -> None:
    if not kit.is_native:
        pytest.skip("of the native scope")
    scope = Scope(*home)
    assert scope.visible() == [Scope(*one) for one in visible_partitions(scope)]
    assert [key(one) for one in scope.visible()] == [one for one in EVERY if one in visible_partitions(scope)]
    assert set(map(key, scope.visible())) == set(most_specific_first(scope))


# -- the index --------------------------------------------------------------------------------------------------------

ACME, JANE, JOE = Scope("acme"), Scope("acme", user="jane"), Scope("acme", user="joe")
BOT, BOTH, GLOBEX = Scope("acme", agent="bot"), Scope("acme", "jane", "bot"), Scope("globex")
SCOPES = [ACME, JANE, JOE, BOT, BOTH, GLOBEX]


@pytest.fixture(params=["memory", "file"])
def index(request: pytest.FixtureRequest, kit: Kit, tmp_path: Path) -> Iterator[Index]:
    """One id in six scopes."""
    if not kit.is_native:
        pytest.skip("of the index")
    made = Index() if request.param == "memory" else Index.open(tmp_path / "a.scrubjay", durability="normal")
    with made:
        made.upsert_many(
            [{"id": "m", "text": f"train of {s!r}", "scope": s, "metadata": {"of": repr(s)}} for s in SCOPES],
            progress=False,
        )
        made.upsert("ours", "train of all", scope=ACME)
        yield made


def scopes_of(records: Any) -> list[Scope]:
    return [record.scope for record in records]


def test_an_index_gets_the_most_specific(index: Index) -> None:
    assert len(index) == 7
    for scope in SCOPES:
        record = index.get("m", scope=scope)
        assert record is not None
        assert (record.id, record.scope, record.text) == ("m", scope, f"train of {scope!r}")
        assert record.metadata == {"of": repr(scope)}
    for scope, next_one in ((BOTH, JANE), (JANE, BOT), (BOT, ACME)):
        assert index.delete("m", scope=scope)
        assert scopes_of([index.get("m", scope=BOTH)]) == [next_one]
    assert index.get("m", scope=Scope("acme", "mary")).scope == ACME  # type: ignore[union-attr]
    assert index.get("m", scope=Scope("initech")) is None
    assert index.get("no such", scope=JANE) is None


def test_get_many_is_in_the_order_of_the_ids(index: Index) -> None:
    records = index.get_many(["no such", "m", "ours", "m"], scope=JANE)
    assert [record and (record.id, record.scope) for record in records] == [
        None, ("m", JANE), ("ours", ACME), ("m", JANE)
    ]  # fmt: skip
    assert index.get_many(iter(["m"]), scope=GLOBEX)[0].scope == GLOBEX  # type: ignore[union-attr]
    assert index.get_many([], scope=JANE) == []
    for wrong in ("m", b"m"):
        with pytest.raises(TypeError, match="ids"):
            index.get_many(wrong, scope=JANE)  # type: ignore[arg-type]


def test_an_index_deletes_exactly(index: Index) -> None:
    assert not index.delete("ours", scope=JANE)
    assert index.delete_many(["m", "ours", "no such"], scope=JANE) == 1
    assert not index.delete("m", scope=JANE)
    left = [scope for scope in SCOPES if scope != JANE]
    assert scopes_of(index.find("m", within=ACME)) == sorted(s for s in left if s.tenant == "acme")
    assert index.delete("m", scope=GLOBEX, reason="tidy")
    assert index.get("m", scope=GLOBEX) is None
    assert len(index) == 5


def test_reads_and_writes_need_a_scope(index: Index) -> None:
    """A missing scope is Python's own TypeError; a wrong one names the argument."""
    calls: list[Any] = [
        lambda **scope: index.get("m", **scope),
        lambda **scope: index.get_many(["m"], **scope),
        lambda **scope: index.delete("m", **scope),
        lambda **scope: index.delete_many(["m"], **scope),
    ]
    for call in calls:
        with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'scope'"):
            call()
        for wrong in (None, "acme", ("acme", "jane", None)):
            with pytest.raises(TypeError, match="scope"):
                call(scope=wrong)
        with pytest.raises(ValueError, match="scope: expected the keys"):
            call(scope={"user": "jane"})
    with pytest.raises(TypeError):
        index.get("m", JANE)  # type: ignore[misc]
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'within'"):
        index.find("m")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="within"):
        index.find("m", within="acme")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        "m" in index  # type: ignore[operator] # noqa: B015 - in which scope?
    assert len(index) == 7


def test_find_is_for_the_operator(index: Index) -> None:
    """Every memory with an id in the scopes that agree with `within`, in order of scope, without vectors."""
    assert scopes_of(index.find("m", within=ACME)) == sorted([ACME, JANE, JOE, BOT, BOTH])
    assert scopes_of(index.find("m", within=JANE)) == [JANE, BOTH]
    assert scopes_of(index.find("m", within=BOTH)) == [BOTH]
    assert scopes_of(index.find("m", within=GLOBEX)) == [GLOBEX]
    assert index.find("m", within=Scope("initech")) == index.find("no such", within=ACME) == []
    assert scopes_of(index.find("ours", within=ACME)) == [ACME]
    for record in index.find("m", within=ACME):
        assert isinstance(record, Record)
        assert (record.id, record.text) == ("m", f"train of {record.scope!r}")
        assert record.metadata == {"of": repr(record.scope)}
    assert (
        index.find("ours", within=JANE) == []
    )  # it is the tenant's: get() from jane finds it, this does not


def test_found_memories_have_no_vectors(kit: Kit, tmp_path: Path) -> None:
    """In memory as over a file."""
    if not kit.is_native:
        pytest.skip("of the index")
    for made in (Index(), Index.open(tmp_path / "a.scrubjay", durability="normal")):
        with made as index:
            index.upsert("m", "train", scope=JANE, vector=[1.0, 2.0])
            [record] = index.find("m", within=ACME)
            assert record.vector is None
            assert index.get("m", scope=JANE).vector is not None  # type: ignore[union-attr]


def test_an_index_searches_by_ids_and_rankings(index: Index) -> None:
    hits = index.search("train", scope=JANE, query=Query(ids=["m"]))
    assert {(hit.scope, hit.id) for hit in hits} == {(ACME, "m"), (JANE, "m")}
    assert [hit.id for hit in index.search("train", scope=JANE, query=Query(exclude=["m"]))] == ["ours"]
    assert index.count(JANE, ids=["m"]) == 2
    assert {record.scope for record in index.list(BOTH, ids=["m"])} == {ACME, JANE, BOT, BOTH}
    pairs = [(ACME, "m"), (JANE, "m"), (ACME, "ours")]
    for order in itertools.permutations(pairs):
        hits = index.search("", scope=JANE, query=in_order(list(order)))
        assert [(hit.scope, hit.id) for hit in hits] == list(order)
    hits = index.search(
        "",
        scope=JANE,
        query=Query(RRF(1.0), identifier_tier=False, rankings=[["m", (GLOBEX, "m"), (JOE, "m"), "ours"]]),
    )
    assert [(hit.scope, hit.id) for hit in hits] == [(JANE, "m"), (ACME, "ours")]


def test_hits_of_keys(index: Index) -> None:
    keys = [(ACME, "ours"), (JANE, "m"), (ACME, "m")]
    for order in itertools.permutations(keys):
        hits = Backend.of(index).hits_of(list(order), JANE)
        assert hits is not None
        assert [(hit.scope, hit.id) for hit in hits] == list(order)
        assert [hit.text for hit in hits] == [index.get(id, scope=s).text for s, id in order]  # type: ignore[union-attr]
    assert Backend.of(index).hits_of([*keys, (JOE, "m")], JANE) is None
    assert Backend.of(index).hits_of([(GLOBEX, "m")], JANE) is None
    assert Backend.of(index).hits_of([(JANE, "ours")], JANE) is None
    assert Backend.of(index).hits_of([], JANE) is None
    index.delete("m", scope=JANE)
    assert Backend.of(index).hits_of(keys, JANE) is None  # not the tenant's instead


def test_feedback_says_whose_memory_it_was(index: Index) -> None:
    hit = next(hit for hit in index.search("train", scope=JANE) if hit.id == "m" and hit.scope == ACME)
    assert index.feedback(hit, query="a hit", scope=JANE)
    assert index.feedback(hit, query="nobody said who")
    assert index.feedback("m", query="an id", scope=JANE)
    assert index.feedback("m", query="an id", scope=Scope("acme", "mary"))
    assert not index.feedback("m", query="an id", scope=Scope("initech"))
    assert not index.feedback(hit, query="a hit", scope=GLOBEX)
    notes = [(note.id, note.query, note.scope, note.document_scope) for note in index.admin.feedbacks()]
    assert notes == [
        ("m", "a hit", JANE, ACME), ("m", "nobody said who", ACME, ACME), ("m", "an id", JANE, JANE),
        ("m", "an id", Scope("acme", "mary"), ACME),
    ]  # fmt: skip
    with pytest.raises(TypeError, match="scope"):
        index.feedback("m", query="whose?")
    index.delete("m", scope=ACME)
    assert [note.document_scope for note in index.admin.feedbacks()] == [JANE]


def test_an_erased_scope_takes_only_its_own(index: Index) -> None:
    for scope in (JANE, JOE, GLOBEX):
        assert index.feedback("m", query="q", scope=scope)
    assert index.erase(JANE) == 2
    assert scopes_of(index.find("m", within=ACME)) == sorted([ACME, JOE, BOT])
    assert [note.scope for note in index.admin.feedbacks()] == [JOE, GLOBEX]
    assert index.get("m", scope=JANE).scope == ACME  # type: ignore[union-attr]
    assert index.erase(ACME) == 4
    assert scopes_of(index.find("m", within=GLOBEX)) == [GLOBEX]
    assert len(index) == 1


def test_expiry_leaves_documents_of_the_same_id_in_other_scopes(kit: Kit, tmp_path: Path) -> None:
    if not kit.is_native:
        pytest.skip("of the index")
    for made in (Index(), Index.open(tmp_path / "a.scrubjay", durability="normal")):
        with made as index:
            index.upsert("m", "short", scope=JANE, ttl=0.000_001)
            index.upsert("m", "long", scope=ACME)
            index.upsert("m", "also short", scope=GLOBEX, ttl=0.000_001)
            index.upsert("m", "written anew", scope=GLOBEX)
            assert [record.text for record in index.get_many(["m"], scope=JANE) if record] == ["long"]
            assert index.get("m", scope=GLOBEX).text == "written anew"  # type: ignore[union-attr]
            assert [hit.text for hit in index.search("short long", scope=JANE)] == ["long"]
            assert len(index) == 2


def test_an_export_and_its_import_keep_keys_apart(index: Index, tmp_path: Path) -> None:
    if index.path is None:
        pytest.skip("an index in memory is not exported")
    before = [
        (record.scope, record.id, record.text) for scope in SCOPES for record in index.list(scope, exact=True)
    ]
    index.admin.export(tmp_path / "a.jsonl")
    with Index.open(tmp_path / "other.scrubjay", durability="normal") as other:
        assert other.admin.import_(tmp_path / "a.jsonl", progress=False) == 7
        after = [(r.scope, r.id, r.text) for scope in SCOPES for r in other.list(scope, exact=True)]
        assert after == before


# -- the view ---------------------------------------------------------------------------------------------------------


def test_a_view_says_the_scope_once(index: Index) -> None:
    jane, acme, globex = index.scope("acme", user="jane"), index.scope(ACME), index.scope("globex")
    assert isinstance(jane, ScopeView)
    assert jane.exact_scope == JANE and index.scope("acme", user="jane", agent="bot").exact_scope == BOTH
    assert index.scope("acme", agent="bot").exact_scope == BOT
    assert jane.get("m") == index.get("m", scope=JANE)
    assert jane.get_many(["ours", "no such", "m"]) == index.get_many(["ours", "no such", "m"], scope=JANE)
    assert ("m" in jane, "ours" in jane, "no such" in jane, None in jane) == (True, True, False, False)
    assert ("ours" in globex, "m" in index.scope("initech")) == (False, False)
    assert len(jane) == jane.count() == index.count(JANE) == 3
    assert jane.count(ids=["m"]) == 2
    assert jane.list() == index.list(JANE) and jane.list(exact=True) == index.list(JANE, exact=True)
    found = [(hit.scope, hit.id, hit.score) for hit in index.search("train", scope=JANE)]
    assert [(hit.scope, hit.id, hit.score) for hit in jane.search("train")] == found
    [batch] = jane.search_batch(["train"])
    assert [(hit.scope, hit.id, hit.score) for hit in batch] == found
    jane.upsert("new", "a bus", metadata={"n": 1})
    assert (
        jane.upsert_many([{"id": "m", "text": "jane's anew"}, {"id": "n2", "text": "a tram", "scope": JANE}])
        == 2
    )
    assert [index.get(id, scope=JANE).scope for id in ("new", "n2", "m")] == [JANE] * 3  # type: ignore[union-attr]
    assert index.get("m", scope=ACME).text == f"train of {ACME!r}"  # type: ignore[union-attr]
    assert not jane.delete("ours")
    assert jane.delete_many(["new", "n2", "ours"], reason="tidy") == 2
    assert jane.delete("m") and jane.get("m").scope == ACME  # type: ignore[union-attr]
    assert jane.feedback("m", query="q") and jane.feedback(jane.search("train")[0], True, "q")
    assert {note.scope for note in index.admin.feedbacks()} == {JANE}
    assert acme.erase(exact=True) == 2
    assert jane.erase() == 1  # with her agents
    assert (len(jane), len(globex)) == (0, 1)


def test_a_view_refuses_other_scopes(index: Index) -> None:
    jane = index.scope(JANE)
    for wrong in (ACME, GLOBEX, BOTH, {"tenant": "acme"}):
        with pytest.raises(ValueError, match=r"records\[1\].*scope"):
            jane.upsert_many([{"id": "x", "text": "x"}, {"id": "y", "text": "y", "scope": wrong}])
    with pytest.raises(ValueError, match=r"records\[0\].*scope"):
        jane.upsert_many([Record("y", "y", ACME)])
    calls: list[Any] = [
        lambda: jane.search("train", scope=GLOBEX), lambda: jane.get("m", scope=GLOBEX),
        lambda: jane.delete("m", scope=GLOBEX), lambda: jane.upsert("m", "text", scope=GLOBEX),
        lambda: jane.list(scope=GLOBEX), lambda: jane.count(scope=GLOBEX), lambda: jane.erase(scope=GLOBEX),
        lambda: jane.feedback("m", scope=GLOBEX), lambda: index.scope(JANE, user="joe"),
        lambda: index.scope(JANE, agent="x"), lambda: index.scope(None), lambda: index.scope(7),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(TypeError):
            call()
    with pytest.raises(ValueError, match="tenant"):
        index.scope("")
    assert len(index) == 7


def test_a_view_takes_records_that_say_its_scope_as_a_mapping(index: Index) -> None:
    said = {"tenant": "acme", "user": "jane"}
    assert index.scope(JANE).upsert_many([{"id": "x", "text": "x", "scope": said}]) == 1
    assert index.get("x", scope=JANE).scope == JANE  # type: ignore[union-attr]
    with pytest.raises(ValueError, match=r"^records\[1\]: scope: expected the keys"):
        index.scope(JANE).upsert_many(
            [{"id": "x", "text": "x"}, {"id": "y", "text": "y", "scope": {"user": "jane"}}]
        )


def test_a_view_names_itself(index: Index) -> None:
    assert repr(index.scope(JANE)) == "<scrubjay.ScopeView of Scope('acme', user='jane'), 3 memories visible>"
    assert repr(index.scope("initech")).endswith("0 memories visible>")


# -- nothing tells that others have an id, in an index -------------------------------------------------------------


def test_no_answer_of_an_index_tells_that_another_tenant_has_an_id(kit: Kit, tmp_path: Path) -> None:
    if not kit.is_native:
        pytest.skip("of the index")
    numbers = itertools.count()

    def told(in_file: bool, others: list[Scope]) -> list[Any]:
        path = tmp_path / f"{next(numbers)}.scrubjay"
        with Index.open(path, durability="normal") if in_file else Index() as index:
            for other in others:
                index.upsert("m", "train of others", scope=other)
            index.upsert("mine", "train", scope=JANE)
            view = index.scope(JANE)
            calls: list[Any] = [
                lambda: view.get("m"), lambda: view.get_many(["m", "mine"]), lambda: "m" in view,
                lambda: view.delete("m"), lambda: view.delete_many(["m"]), lambda: view.feedback("m", query="q"),
                lambda: index.find("m", within=JANE), lambda: Backend.of(index).hits_of([(GLOBEX, "m")], JANE),
                lambda: Backend.of(index).hits_of([(JANE, "m")], JANE),
                lambda: [hit.id for hit in view.search("train", query=Query(ids=["m"]))],
                lambda: [hit.score for hit in view.search("train", query=Query(rankings=[["m", (GLOBEX, "m")]]))],
                lambda: view.upsert("m", None),  # type: ignore[arg-type]
                lambda: view.upsert("m", "train", vector=[float("nan")]),
                lambda: view.upsert("m", "train"), lambda: [hit.score for hit in view.search("train")],
                lambda: view.count(), lambda: view.list(), lambda: view.delete("m"), lambda: view.delete("m"),
                lambda: view.erase(), lambda: repr(view),
            ]  # fmt: skip
            outcomes = []
            for call in calls:
                try:
                    outcomes.append(call())
                except (TypeError, ValueError) as error:
                    outcomes.append((type(error), str(error)))
            assert len(index) == len(others)
            return outcomes

    for in_file in (False, True):
        alone = told(in_file, [])
        assert told(in_file, [GLOBEX]) == alone
        assert told(in_file, [GLOBEX, JOE, Scope("globex", "jane"), BOT]) == alone


@pytest.mark.parametrize("in_file", [False, True], ids=["memory", "file"])
def test_a_missing_scope_is_an_error_even_for_nothing(tmp_path: Path, in_file: bool) -> None:
    index = Index.open(tmp_path / "x") if in_file else Index()
    index.upsert("m", "train", scope=JANE)
    for wrong in (None, "acme", [JANE]):
        for call in (
            lambda wrong=wrong: index.get("m", scope=wrong),
            lambda wrong=wrong: index.get_many([], scope=wrong),
            lambda wrong=wrong: index.delete("m", scope=wrong),
            lambda wrong=wrong: index.delete_many([], scope=wrong),
            lambda wrong=wrong: index.delete_many(["m"], scope=wrong),
            lambda wrong=wrong: index.search("train", scope=[JANE, wrong]),  # search accepts a list of scopes
        ):
            with pytest.raises(TypeError, match=r"scope(\[1\])?: expected"):
                call()
        with pytest.raises(TypeError, match="within: expected"):
            index.find("m", within=wrong)
    for wrong in (None, "m", 3):
        for several in (index.get_many, index.delete_many):
            with pytest.raises(TypeError, match="ids: expected several"):
                several(wrong, scope=JANE)
    with pytest.raises(TypeError, match="id: expected"):
        Index().find(None, within=JANE)  # type: ignore[arg-type]
    assert index.get("m", scope=JANE) is not None
    index.close()

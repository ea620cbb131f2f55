"""The memory store for Haystack's experimental agent: its protocol, and the agent itself."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("haystack")

from haystack import component
from haystack.dataclasses import ChatMessage
from haystack.errors import FilterError

from scrubjay import Index, Scope
from scrubjay.adapters.haystack import ScrubjayMemoryStore
from scrubjay.documents.turns import FIELDS
from tests.adapters.hostile import NAMES, TWINS
from tests.adapters.killed_writer import acknowledged_writes

JANE = {"user_id": "jane"}


@pytest.fixture
def store() -> Iterator[ScrubjayMemoryStore]:
    store = ScrubjayMemoryStore(tenant="acme")
    yield store
    store.close()


def add(
    store: ScrubjayMemoryStore, *texts: str, meta: dict[str, Any] | None = None, **whose: Any
) -> list[str]:
    messages = [ChatMessage.from_user(text, meta=meta) for text in texts]
    return [one["memory_id"] for one in store.add_memories(messages=messages, **(whose or JANE))]


def found(store: ScrubjayMemoryStore, query: str | None = None, **options: Any) -> list[str | None]:
    return [one.text for one in store.search_memories(query=query, **{**JANE, **options})]


def test_a_misspelt_owner_is_no_owner(store: ScrubjayMemoryStore) -> None:
    (id,) = add(store, "The key is sk-stg-0041.", **JANE, run_id="r1")
    for call, given in (
        (store.add_memories, {"messages": []}),
        (store.search_memories, {"query": "key"}),
        (store.delete_all_memories, {}),
    ):
        with pytest.raises(TypeError, match="run: unexpected keyword argument"):
            call(**given, **JANE, run="r2")
    with pytest.raises(TypeError, match="user: unexpected keyword argument"):
        store.delete_memory(id, user="joe")
    with pytest.raises(TypeError, match="filters: unexpected keyword argument"):
        store.delete_all_memories(**JANE, filters={"field": "role", "operator": "==", "value": "system"})
    assert found(store) == ["The key is sk-stg-0041."]
    agents = {**JANE, "top_k": 3, "include_memory_metadata": True}  # an agent's for all methods
    assert (
        store.add_memories(messages=[], **agents) == []
        and len(store.search_memories(query="key", **agents)) == 1
    )


def test_search_criteria_are_those_of_a_search(store: ScrubjayMemoryStore) -> None:
    add(store, "The key is sk-stg-0041.", "The key is in the safe.")
    agents = {**JANE, "search_criteria": {"query": "safe", "top_k": 1, "include_memory_metadata": True}}
    assert store.add_memories(messages=[], **agents) == []
    (message,) = store.search_memories(query="sk-stg-0041", **agents)
    assert message.text == "The key is in the safe." and "retrieved_memory_metadata" in message.meta
    with pytest.raises(TypeError, match="limit: unexpected keyword argument"):
        store.search_memories(query="key", **JANE, search_criteria={"limit": 1})


def test_memories_come_back_as_messages_of_the_system(store: ScrubjayMemoryStore) -> None:
    add(store, "The key is sk-stg-0041.", meta={"kind": "key", "n": 1})
    (message,) = store.search_memories(query="sk-stg-0041", **JANE)
    assert (message.role.value, message.text) == ("system", "The key is sk-stg-0041.")
    assert message.meta == {"kind": "key", "n": 1}
    (message,) = store.search_memories(query="sk-stg-0041", include_memory_metadata=True, **JANE)
    about = message.meta["retrieved_memory_metadata"]
    assert about["role"] == "user" and about["score"] > 0 and about["memory_id"]


def turns(store: ScrubjayMemoryStore) -> list[Any]:
    """Return the turns of Jane's memories, in the order of writing."""
    there = reversed(store._documents.list(scope=Scope("acme", "jane"), exact=True, limit=None))
    return [tuple((record.metadata or {}).get(name) for name in FIELDS) for record in there]


def test_messages_of_a_run_say_which_turns_they_are(store: ScrubjayMemoryStore) -> None:
    run: dict[str, Any] = {**JANE, "run_id": "r1"}
    said = [
        ChatMessage.from_system("Be kind."),
        ChatMessage.from_assistant("Which mug is yours?"),
        ChatMessage.from_user("The blue one.", name="Jane"),
    ]
    store.add_memories(messages=said, **run)
    first = [(None, None, None), ("r1", 0, "assistant"), ("r1", 1, "Jane")]
    assert turns(store) == first
    said += [ChatMessage.from_user("Mine.", meta={"run": "r1", "position": "seat 7"})]
    store.add_memories(messages=said, **run)  # the agent adds the conversation again
    store.add_memories(messages=[*said, ChatMessage.from_assistant("Noted.")], **run)
    mine, noted = turns(store)[3:]
    assert turns(store)[:3] == first and mine == ("r1", "seat 7", None) and noted[2] == "assistant"
    (message,) = store.search_memories(query="mine", **run, top_k=1)
    assert message.meta == {"run": "r1", "position": "seat 7"}
    store.add_memories(messages=[ChatMessage.from_user("Without a run.")], **JANE)
    assert turns(store)[-1] == (None, None, None)


def test_an_answer_is_found_by_its_question(store: ScrubjayMemoryStore) -> None:
    for number, text in enumerate(["A red mug.", "A grey mug.", "A big mug."] * 5):
        store.add_memories(messages=[ChatMessage.from_user(text)], **JANE, run_id=f"t{number}")
    said = [ChatMessage.from_assistant("Which coffee mug is yours?"), ChatMessage.from_user("A blue mug.")]
    store.add_memories(messages=said, **JANE, run_id="r1")
    assert found(store, "which coffee mug is Jane's?", top_k=2) == [message.text for message in said]


def test_200_identifiers_are_each_first(store: ScrubjayMemoryStore) -> None:
    chooser = random.Random(3)
    names = [f"{chooser.choice(['sk', 'inv'])}-{chooser.choice(['stg', 'prd'])}-{n:04d}" for n in range(200)]
    add(store, *(f"The ticket of billing is {name}." for name in names))
    firsts = [found(store, f"what is {name}?", top_k=1)[0] or "" for name in names]
    assert [name for name, text in zip(names, firsts, strict=True) if f" {name}." not in text] == []


def test_a_conversation_that_is_added_again_is_kept_once(store: ScrubjayMemoryStore) -> None:
    first = add(store, "alpha", "beta")
    assert add(store, "alpha", "beta", "gamma")[:2] == first
    assert found(store, top_k=10) == ["gamma", "beta", "alpha"]
    store.add_memories(messages=[ChatMessage.from_assistant("alpha"), ChatMessage.from_user("")], **JANE)
    assert sorted(str(text) for text in found(store, top_k=10)) == ["alpha", "alpha", "beta", "gamma"]


@pytest.mark.parametrize(("top_k", "n"), [(0, 0), (2, 2), (9, 3)])
@pytest.mark.parametrize("query", ["oak", None, " "])
def test_top_k_bounds_the_results(store: ScrubjayMemoryStore, query: str | None, top_k: int, n: int) -> None:
    add(store, "oak one", "oak two", "oak three")
    assert len(found(store, query, top_k=top_k)) == n


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"field": "meta.kind", "operator": "==", "value": "a"}, ["one"]),
        ({"field": "meta.n", "operator": ">", "value": 1}, ["three", "two"]),
        ({"field": "meta.kind", "operator": "not in", "value": ["a", "b"]}, ["three"]),
        (
            {"operator": "NOT", "conditions": [{"field": "meta.kind", "operator": "==", "value": "a"}]},
            ["three", "two"],
        ),
        ({"field": "role", "operator": "==", "value": "assistant"}, []),
        ({"field": "content", "operator": "==", "value": "two"}, ["two"]),
    ],
)
@pytest.mark.parametrize("query", ["one two three", None])
def test_filters_of_haystack(
    store: ScrubjayMemoryStore, query: str | None, filters: dict[str, Any], expected: list[str]
) -> None:
    for n, (text, kind) in enumerate((("one", "a"), ("two", "b"), ("three", "c")), 1):
        add(store, text, meta={"kind": kind, "n": n})
    assert sorted(str(text) for text in found(store, query, filters=filters)) == expected


def test_agents_and_runs_narrow(store: ScrubjayMemoryStore) -> None:
    add(store, "alpha one", user_id="jane", agent_id="a", run_id="r1")
    add(store, "alpha two", user_id="jane", agent_id="b", run_id="r1")
    add(store, "alpha three", agent_id="a")
    assert sorted(map(str, found(store, "alpha"))) == ["alpha one", "alpha two"]
    assert found(store, "alpha", agent_id="a") == ["alpha one"] and found(store, "alpha", run_id="r2") == []
    assert found(store, "alpha", user_id=None, agent_id="a") == ["alpha three"]
    store.delete_all_memories(user_id="jane", agent_id="a")
    assert found(store, "alpha") == ["alpha two"]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_look_alikes_are_apart(name: str) -> None:
    index = Index()
    mine = ScrubjayMemoryStore(tenant="acme", index=index)
    (id,) = add(mine, "the secret", user_id=name)
    for other in TWINS(name):
        for theirs, user in ((mine, other), (ScrubjayMemoryStore(tenant=other, index=index), name)):
            assert found(theirs, "secret", user_id=user) == found(theirs, user_id=user) == []
            (copy,) = add(theirs, "the secret", user_id=user)
            assert copy != id or theirs is not mine
            theirs.delete_memory(id, user_id=user)
            theirs.delete_memory(copy)
            theirs.delete_all_memories(user_id=user)
    assert found(mine, "secret", user_id=name) == ["the secret"]


def test_deleting_one_memory_leaves_the_others(store: ScrubjayMemoryStore) -> None:
    one, two = add(store, "alpha", "beta")
    store.delete_memory(one)
    for unknown in (one, "", "\ud800", "none"):
        store.delete_memory(unknown)
    assert found(store, top_k=9) == ["beta"] and found(store, "alpha") == []
    store.delete_memory(two, **JANE)
    assert found(store) == []
    add(store, "alpha")
    assert found(store, "alpha") == ["alpha"]


def test_a_serialised_memory_store_names_its_file(tmp_path: Path) -> None:
    store = ScrubjayMemoryStore(str(tmp_path / "m"), tenant="acme")
    add(store, "The key is sk-stg-0041.")
    again = ScrubjayMemoryStore.from_dict(store.to_dict())
    store.close()
    assert found(again, "sk-stg-0041") == ["The key is sk-stg-0041."]
    again.close()
    with pytest.raises(ValueError, match="index: a store over an index in memory"):
        ScrubjayMemoryStore(index=Index()).to_dict()


KILLED = """
import itertools, sys
from haystack.dataclasses import ChatMessage
from scrubjay.adapters.haystack import ScrubjayMemoryStore
store = ScrubjayMemoryStore(sys.argv[1])
for n in itertools.count():
    store.add_memories(messages=[ChatMessage.from_user(f"q {n}"), ChatMessage.from_assistant(f"a {n}")], user_id="jane")
    print(n)
"""


def test_acknowledged_writes_survive_a_kill(tmp_path: Path) -> None:
    n = len(acknowledged_writes(KILLED, tmp_path / "m", after=40))
    store = ScrubjayMemoryStore(str(tmp_path / "m"))
    there = {str(text) for text in found(store, top_k=10_000)}
    assert {f"{who} {i}" for i in range(n) for who in "qa"} <= there and len(there) in (2 * n, 2 * n + 2)
    store.close()


def test_wrong_arguments_are_named(store: ScrubjayMemoryStore) -> None:
    for call in (store.search_memories, store.delete_all_memories):
        with pytest.raises(ValueError, match="user_id, agent_id, run_id: expected one"):
            call()  # type: ignore[operator]
    with pytest.raises(ValueError, match="user_id: expected another name"):
        found(store, user_id=".")
    with pytest.raises(ValueError, match="user_id: expected a name, got ''; leave it out"):
        found(store, user_id="", agent_id="coder")
    with pytest.raises(ValueError, match="top_k"):
        found(store, top_k=-1)
    with pytest.raises(FilterError, match="expected"):
        found(store, filters={"field": "meta.kind", "operator": "~", "value": "a"})
    with pytest.raises(TypeError, match=r"messages\[0\]: expected a ChatMessage, got str"):
        store.add_memories(messages=["x"], **JANE)  # type: ignore[list-item]
    with pytest.raises(TypeError, match="memory_id"):
        store.delete_memory(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="either path or index"):
        ScrubjayMemoryStore("x", index=Index())
    assert found(store) == []


@component
class Model:
    """A chat generator that records what it was sent."""

    def __init__(self) -> None:
        self.sent: list[list[ChatMessage]] = []

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: Any = None, **_: Any) -> dict[str, Any]:
        self.sent.append(messages)
        return {"replies": [ChatMessage.from_assistant("Noted.")]}


def test_the_experimental_agent_remembers(store: ScrubjayMemoryStore) -> None:
    """haystack-experimental 0.19 names a class that haystack-ai 3.4 lacks; with 2.x its agent can be imported."""
    agents = pytest.importorskip("haystack_experimental.components.agents.agent", exc_type=ImportError)
    model = Model()
    agent = agents.Agent(chat_generator=model, memory_store=store, system_prompt="Be brief.")
    said = ["My code is sk-stg-0041.", "What is my code sk-stg-0041?", "What is sk-stg-0041?"]
    for user, text in zip(["jane", "joe", "jane"], said, strict=True):
        agent.run([ChatMessage.from_user(text)], memory_store_kwargs={"user_id": user})
    last, before = model.sent[-1], model.sent[-2]
    assert "My code is sk-stg-0041." in " ".join(message.text or "" for message in last)
    assert "My code is sk-stg-0041." not in " ".join(message.text or "" for message in before)
    assert "joe" not in " ".join(message.text or "" for message in last)

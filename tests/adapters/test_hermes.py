"""Hermes Agent's memory provider, under Hermes' own manager if it is installed, and under a double by its contract."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scrubjay import ClosedError, FactCandidate, Memory, Scope
from scrubjay.adapters.hermes import ScrubjayMemoryProvider, install
from scrubjay.adapters.hermes.settings import SCHEMA, settings_of
from scrubjay.backend import NOBODY
from tests.adapters.hermes_doubles import MANAGERS, manager_of
from tests.adapters.hostile import NAMES, TWINS
from tests.adapters.killed_writer import acknowledged_writes

LOCAL = Scope("hermes", NOBODY, NOBODY)
BY_WORDS = {"embedder": ""}


class Agent:
    """An agent of Hermes: a manager with our provider, and turns."""

    def __init__(self, kind: str, home: Path, session: str = "s1", **given: Any) -> None:
        self.provider = ScrubjayMemoryProvider(settings={**BY_WORDS, **given.pop("settings", {})})
        self.manager = manager_of(kind)
        self.manager.add_provider(self.provider)
        self.manager.initialize_all(session, **{"hermes_home": str(home), "platform": "cli", **given})
        self.session = session

    def turn(self, said: str, answer: str = "Noted.", **more: Any) -> str:
        told = self.manager.prefetch_all(said, session_id=self.session)
        self.manager.sync_all(said, answer, session_id=self.session, **more)
        self.manager.flush_pending(timeout=20)
        return str(told)

    def switch(self, session: str, **given: Any) -> None:
        self.manager.on_session_switch(session, **given)
        self.session = session

    def tool(self, name: str, **arguments: Any) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self.manager.handle_tool_call(name, arguments))
        return answer

    @property
    def memory(self) -> Memory:
        return self.provider.memory


@pytest.fixture(params=MANAGERS)
def kind(request: pytest.FixtureRequest) -> str:
    if request.param == "of Hermes":
        pytest.importorskip("agent.memory_manager")
    return str(request.param)


@pytest.fixture
def start(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Agent]]:
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    agents: list[Agent] = []

    def make(session: str = "s1", **given: Any) -> Agent:
        agents.append(Agent(kind, tmp_path, session, **given))
        return agents[-1]

    yield make
    for one in agents:
        one.manager.shutdown_all()


# ------------------------------------------------------------------ turns


def test_turns_are_recalled_in_the_next_session(start: Callable[..., Agent]) -> None:
    agent = start()
    assert agent.turn("The staging key prefix is sk-stg-0041.") == ""
    assert agent.turn("What is sk-stg-0041?") == ""  # this session is part of the conversation
    agent.switch("s2", reset=True)
    told = agent.turn("What is sk-stg-0041?")
    assert told.startswith("- The staging key prefix is sk-stg-0041. (said by user on ")


def test_a_question_is_not_recalled_in_place_of_the_answer(start: Callable[..., Agent]) -> None:
    agent = start(settings={"noted": "user"})
    agent.turn("What is sk-stg-0041?")
    agent.turn("It is the staging key prefix. Is sk-stg-0041 in the vault?")
    agent.switch("s2")
    assert "It is the staging key" in agent.turn("What is sk-stg-0041?").split("\n")[0]
    kept = [event.content for event in agent.memory.session(LOCAL, "s1").events() if event.kind == "user"]
    assert kept[0] == "What is sk-stg-0041?"  # the trace has it


def test_turns_are_recalled_in_the_next_process(start: Callable[..., Agent]) -> None:
    first = start()
    first.turn("The staging key prefix is sk-stg-0041.")
    first.manager.shutdown_all()
    assert "sk-stg-0041." in start("s2").turn("What is sk-stg-0041?")


def test_after_a_compression_the_beginning_is_recalled(start: Callable[..., Agent]) -> None:
    agent = start()
    agent.turn("The staging key prefix is sk-stg-0041.")
    assert agent.manager.on_pre_compress([{"role": "user", "content": "..."}]) == ""
    agent.switch("s1-compressed", parent_session_id="s1")
    assert "sk-stg-0041." in agent.turn("What is sk-stg-0041?")


@pytest.mark.parametrize("question", ["zebra ballet quantum", "?!", " ", "", "x" * 50_000])
def test_memories_that_do_not_fit_are_left_out_of_the_prompt(
    start: Callable[..., Agent], question: str
) -> None:
    agent = start()
    agent.memory.propose("Jane lives in Oslo", scope=LOCAL, source="docs")
    assert agent.manager.prefetch_all(question, session_id="s1") == ""
    assert agent.provider.recall_status() is None


def test_recall_status_counts_the_memories_in_the_prompt(start: Callable[..., Agent]) -> None:
    agent = start()
    for town in ("Oslo", "Bergen"):
        agent.memory.propose(f"Jane has a house in {town}", scope=LOCAL, source="docs")
    agent.turn("Where has Jane a house?")
    status = agent.provider.recall_status()
    assert status is not None and (status.provider_label, status.count) == ("Scrubjay", 2)
    agent.turn("zebra ballet quantum")
    assert agent.provider.recall_status() is None


def test_200_identifiers_are_each_the_first_memory(start: Callable[..., Agent]) -> None:
    chooser = random.Random(7)
    names = [f"{chooser.choice(['sk', 'inv'])}-{chooser.choice(['stg', 'prd'])}-{n:04d}" for n in range(200)]
    agent = start(settings={"noted": "user"})
    for name in names:
        agent.provider.sync_turn(f"The ticket of the billing service is {name}.", "Noted.", session_id="s1")
    agent.switch("s2")
    firsts = [
        agent.manager.prefetch_all(f"what is {name}?", session_id="s2").split("\n")[0] for name in names
    ]
    assert [name for name, line in zip(names, firsts, strict=True) if f" {name}." not in line] == []


def test_a_turn_is_in_the_trace_with_its_prompt(start: Callable[..., Agent]) -> None:
    agent = start()
    agent.memory.propose("Jane lives in Oslo", scope=LOCAL, source="docs")
    agent.turn("Where does Jane live?", "In Oslo.")
    replay = agent.memory.replay("s1", LOCAL)
    said = [(event.kind, event.content) for event in replay.events if event.kind != "prompt"]
    assert said == [("user", "Where does Jane live?"), ("model", "In Oslo.")]
    (prompt,) = replay.prompts()
    assert prompt.faithful and "Jane lives in Oslo" in prompt.assembled.text


@pytest.mark.parametrize(("noted", "n"), [("both", 2), ("user", 1), ("none", 0)])
def test_noted_option_selects_the_speakers_whose_messages_become_notes(
    start: Callable[..., Agent], noted: str, n: int
) -> None:
    agent = start(settings={"noted": noted})
    agent.turn("alpha", "beta")
    assert len(agent.memory.index.list(LOCAL)) == n


def test_messages_and_authors_of_a_group_chat(tmp_path: Path) -> None:
    """The calls of Hermes' newest sources."""
    agent = Agent("of the contract", tmp_path)
    agent.turn("My code is sk-stg-0041.", messages=[{"role": "user"}], turn_author={"name": "jane"})
    agent.switch("s2")
    assert "(said by jane on" in agent.turn("Whose code is sk-stg-0041?")
    assert agent.manager.failures == []
    agent.manager.shutdown_all()


@pytest.mark.parametrize("context", ["subagent", "cron", "flush"])
def test_contexts_that_are_not_the_users_write_nothing(start: Callable[..., Agent], context: str) -> None:
    start().turn("The staging key prefix is sk-stg-0041.")
    agent = start("s2", agent_context=context)
    assert "sk-stg-0041." in agent.turn("What is sk-stg-0041?")
    agent.manager.on_memory_write("add", "memory", "Jane lives in Oslo")
    agent.manager.on_delegation("task", "result")
    assert "error" in agent.tool("scrubjay_remember", content="Jane lives in Oslo")
    assert agent.memory.runs(LOCAL) == ["s1"] and agent.memory.list(LOCAL, kinds=["fact"]) == []


def test_half_a_character_costs_no_turn(start: Callable[..., Agent]) -> None:
    agent = start()
    agent.turn("The key is sk-stg-0041 \ud83d")
    agent.switch("s2")
    assert "sk-stg-0041 \ufffd" in agent.turn("What is sk-stg-0041 \ud83d")


# ------------------------------------------------------------------ prompts, tools, hooks


def test_policies_and_preferences_are_in_the_system_prompt(start: Callable[..., Agent]) -> None:
    agent = start()
    agent.memory.policy("refunds", "Never promise refunds.", tenant="hermes", by="legal")
    agent.memory.prefer("tone", "Answer in verse.", scope=LOCAL)
    prompt = agent.manager.build_system_prompt()
    assert "Never promise refunds." in prompt and "Answer in verse." in prompt and "scrubjay_search" in prompt
    agent.memory.propose("Jane lives in Oslo", scope=LOCAL, source="docs")
    assert "Never" not in agent.turn("Where does Jane live?")  # repeated only once


def test_tools_remember_search_and_forget(start: Callable[..., Agent]) -> None:
    agent = start()
    done = agent.tool(
        "scrubjay_remember", content="Jane lives in Berlin", subject="Jane", predicate="lives in"
    )
    assert done["status"] == "written"
    done = agent.tool("scrubjay_remember", content="Jane lives in Oslo", subject="Jane", predicate="lives in")
    assert done["status"] == "superseded"
    agent.turn("The staging key is sk-stg-0041.")
    found = agent.tool("scrubjay_search", query="where does Jane live?")
    assert found["memories"][0]["text"] == "Jane lives in Oslo" and found["relevance"] == "high"
    (noted, *_) = agent.tool("scrubjay_search", query="sk-stg-0041", limit=1)["memories"]
    assert noted["kind"] == "note"
    for id in (noted["id"], done["id"]):
        assert agent.tool("scrubjay_forget", id=id) == {"deleted": True}
        assert agent.tool("scrubjay_forget", id=id) == {"deleted": False}
    left = [one["text"] for one in agent.tool("scrubjay_search", query="Oslo sk-stg-0041")["memories"]]
    assert "Jane lives in Oslo" not in left and "The staging key is sk-stg-0041." not in left


@pytest.mark.parametrize(
    ("tool", "arguments", "named"),
    [
        ("scrubjay_search", {}, "query"),
        ("scrubjay_search", {"query": "x", "limit": 0}, "limit"),
        ("scrubjay_search", {"query": "x", "limit": True}, "limit"),
        ("scrubjay_remember", {"content": ""}, "content"),
        ("scrubjay_remember", {"content": "x", "subject": 3}, "subject"),
        ("scrubjay_forget", {"id": None}, "id"),
    ],
)
def test_wrong_arguments_of_tools_are_named(
    start: Callable[..., Agent], tool: str, arguments: dict[str, Any], named: str
) -> None:
    assert start().tool(tool, **arguments)["error"].startswith(f"{named}: expected")


def test_writes_of_hermes_memory_tool_are_mirrored(start: Callable[..., Agent]) -> None:
    agent = start()

    def facts() -> list[str]:
        return sorted(fact.text for fact in agent.memory.list(LOCAL, kinds=["fact"]))

    agent.manager.on_memory_write("add", "user", "Likes tea.", {"write_origin": "tool"})
    agent.manager.on_memory_write("add", "memory", "The server is in Bergen.")
    assert facts() == ["Likes tea.", "The server is in Bergen."]
    agent.manager.on_memory_write("replace", "user", "Likes coffee.", {"previous_content": "Likes tea."})
    assert facts() == ["Likes coffee.", "The server is in Bergen."]
    agent.manager.on_memory_write("remove", "memory", "", {"previous_content": "The server is in Bergen."})
    assert facts() == ["Likes coffee."]


def test_the_answer_of_a_subagent_is_in_the_trace(start: Callable[..., Agent]) -> None:
    agent = start()
    agent.turn("Find the flight.")
    agent.manager.on_delegation("Search flights", "SK 4035 at nine", child_session_id="child")
    (event,) = [one for one in agent.memory.session(LOCAL, "s1").events() if one.kind == "tool"]
    assert (event.content, event.data["session"]) == ("SK 4035 at nine", "child")


def test_the_other_hooks_change_nothing(start: Callable[..., Agent]) -> None:
    agent = start()
    agent.manager.on_turn_start(1, "Hello", remaining_tokens=1000, model="m", platform="cli")
    agent.manager.prefetch_all("Hello", session_id="s1")
    agent.manager.on_session_end([{"role": "user", "content": "Hello"}])
    assert agent.memory.index.list(LOCAL) == []


def test_an_extractor_makes_facts_of_turns(tmp_path: Path) -> None:
    def extract(transcript: Any) -> list[FactCandidate]:
        return [FactCandidate("Jane lives in Oslo", "Jane", "lives in")] if "Oslo" in transcript.text else []

    provider = ScrubjayMemoryProvider(
        tmp_path / "m", extractor=extract, settings={**BY_WORDS, "noted": "none"}
    )
    provider.initialize("s1", hermes_home=str(tmp_path), platform="cli")
    provider.sync_turn("I moved to Oslo.", "Noted.")
    provider.memory.distil_later("s1", extract, scope=LOCAL).result()
    assert provider.prefetch("where does Jane live?", session_id="s2").startswith("- Jane lives in Oslo")
    provider.shutdown()


# ------------------------------------------------------------------ scopes


@pytest.mark.parametrize(
    "name", [name for name in NAMES if len(name) < 1000], ids=lambda name: ascii(name)[:20]
)
def test_look_alikes_see_nothing(tmp_path: Path, name: str) -> None:
    def told(question: str, session: str, **given: Any) -> str:
        agent = Agent("of the contract", tmp_path, session, **given)
        try:
            return agent.turn(question)
        finally:
            agent.manager.shutdown_all()
            assert agent.manager.failures == []

    mine = {"platform": "telegram", "user_id": name}
    told("The secret is sk-stg-0041.", "a", **mine)
    for other in TWINS(name):
        for theirs in (
            {**mine, "user_id": other},
            {**mine, "agent_identity": other},
            {**mine, "agent_workspace": other},
        ):
            assert "The secret" not in told("sk-stg-0041?", "b", **theirs)
    for theirs in (
        {"platform": "discord", "user_id": name},
        {"platform": "telegram"},
        {"user_id": f"telegram/{name}"},
    ):
        assert "The secret" not in told("sk-stg-0041?", "c", **theirs)
    assert "The secret" in told("sk-stg-0041?", "d", **mine)


def test_forgetting_a_user_leaves_the_others(start: Callable[..., Agent]) -> None:
    jane, joe = (start(f"s-{user}", platform="telegram", user_id=user) for user in ("jane", "joe"))
    for agent in (jane, joe):
        agent.turn("The secret is sk-stg-0041.")
    jane.memory.forget(user="telegram/jane", tenant="hermes")
    for agent, is_told in ((jane, False), (joe, True)):
        agent.switch("later")
        assert ("The secret" in agent.turn("sk-stg-0041?")) == is_told


def test_a_user_cannot_forget_a_memory_of_another_user(start: Callable[..., Agent]) -> None:
    jane, joe = (start(f"s-{user}", platform="telegram", user_id=user) for user in ("jane", "joe"))
    id = jane.tool("scrubjay_remember", content="Jane lives in Oslo")["id"]
    assert joe.tool("scrubjay_search", query="Oslo")["memories"] == []
    assert joe.tool("scrubjay_forget", id=id) == {"deleted": False}
    assert jane.tool("scrubjay_search", query="Oslo")["memories"][0]["id"] == id


# ------------------------------------------------------------------ files, settings


KILLED = """
import itertools, sys
from scrubjay.adapters.hermes import ScrubjayMemoryProvider
provider = ScrubjayMemoryProvider(settings={"embedder": ""})
provider.initialize("s1", hermes_home=sys.argv[1], platform="cli")
for n in itertools.count():
    provider.prefetch(f"turn {n}", session_id="s1")
    provider.sync_turn(f"turn {n} said", "Noted.", session_id="s1")
    print(n)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_acknowledged_writes_survive_a_kill(tmp_path: Path) -> None:
    n = len(acknowledged_writes(KILLED, tmp_path, after=30))
    with Memory.open(tmp_path / "scrubjay" / "memory.scrubjay") as memory:
        said = [event.content for event in memory.session(LOCAL, "s1").events() if event.kind == "user"]
        assert said[:n] == [f"turn {i} said" for i in range(n)] and len(said) <= n + 1
        assert {f"turn {i} said" for i in range(n)} <= {record.text for record in memory.index.list(LOCAL)}


def test_settings_are_saved_where_hermes_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "home"))
    provider = ScrubjayMemoryProvider()
    assert provider.get_config_schema() == SCHEMA and provider.backup_paths() == []
    outside = tmp_path / "elsewhere" / "m"
    provider.save_config({"path": str(outside), "embedder": "", "api_key": "x"}, str(tmp_path / "home"))
    assert settings_of(tmp_path / "home") == {
        **{field["key"]: field["default"] for field in SCHEMA},
        "path": str(outside),
        "embedder": "",
    }
    assert provider.backup_paths() == [str(outside)]
    provider.initialize("s1", platform="cli")
    assert outside.is_file() and str(outside) in repr(provider)
    provider.shutdown()


@pytest.mark.parametrize("text", ["[1]", "{", '{"pathh": "x"}', '{"noted": "all", "embedder": ""}'])
def test_wrong_settings_are_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "scrubjay.json").write_text(text)
    with pytest.raises(ValueError, match="expected"):
        ScrubjayMemoryProvider().initialize("s1", hermes_home=str(tmp_path), platform="cli")


def test_calls_before_initialize_and_after_shutdown_are_harmless(tmp_path: Path) -> None:
    provider = ScrubjayMemoryProvider(settings=BY_WORDS)
    assert provider.is_available() and provider.unavailable_reason() == "" and provider.name == "scrubjay"
    provider.initialize_for_inspection("s1", hermes_home=str(tmp_path))
    assert "scrubjay_search" in provider.system_prompt_block() and len(provider.get_tool_schemas()) == 3
    assert provider.prefetch("x") == "" and not (tmp_path / "scrubjay").exists()
    provider.sync_turn("x", "y")
    provider.queue_prefetch("x")
    with pytest.raises(ClosedError):
        _ = provider.memory
    provider.initialize("s1", hermes_home=str(tmp_path), platform="cli")
    provider.shutdown()
    provider.shutdown()
    assert provider.prefetch("x") == "" and "not initialised" in repr(provider)


def test_the_folder_that_install_writes_registers_it(tmp_path: Path) -> None:
    folder = install(tmp_path)
    assert folder == install(tmp_path) == tmp_path / "plugins" / "scrubjay"
    spec = importlib.util.spec_from_file_location("_hermes_user_memory.scrubjay", folder / "__init__.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    given: list[Any] = []

    class Context:
        def register_memory_provider(self, provider: Any) -> None:
            given.append(provider)

    module.register(Context())
    assert [type(one) for one in given] == [ScrubjayMemoryProvider]


def test_hermes_finds_the_installed_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("agent.memory_manager")
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    install(tmp_path)
    from plugins.memory import discover_memory_providers, load_memory_provider

    assert ("scrubjay", True) in [(name, available) for name, _, available in discover_memory_providers()]
    provider = load_memory_provider("scrubjay")
    assert isinstance(provider, ScrubjayMemoryProvider)


def test_the_provider_has_every_method_of_hermes_interface() -> None:
    """With the names of Hermes' parameters."""
    import inspect

    interface = pytest.importorskip("agent.memory_provider").MemoryProvider
    for name, method in inspect.getmembers(interface, inspect.isfunction):
        if name.startswith("_"):
            continue
        ours = inspect.signature(getattr(ScrubjayMemoryProvider, name)).parameters
        for parameter in inspect.signature(method).parameters.values():
            if parameter.kind is not parameter.VAR_KEYWORD:
                assert parameter.name in ours, f"{name}({parameter.name})"
    assert os.environ.get("HERMES_HOME") != "/"

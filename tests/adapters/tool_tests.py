"""Tests of the tools of every framework: remember, recall and forget over a memory.

A framework's tests derive from :class:`ToolTests` and implement how its agent runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Memory, Scope
from scrubjay.embedders import default
from scrubjay.memory import FactCandidate
from tests.adapters.hostile import NAMES, TWINS
from tests.adapters.killed_writer import acknowledged_writes

__all__ = ["JANE", "KEY", "Call", "ToolTests"]

JANE = Scope("acme", user="jane")
KEY = "The staging key prefix is sk-stg-0041."
Call = tuple[str, dict[str, str]]


def id_in(answer: str) -> str:
    (found,) = re.findall(r"\[([^\]]+)\]", answer)
    return str(found)


class ToolTests:
    """The tests; frameworks implement `run` and `make`."""

    def run(self, memory: Memory, scope: Any, calls: list[Call], **options: Any) -> list[str]:
        """Run an agent whose model makes these calls one after another; return the answers of the tools."""
        raise NotImplementedError

    def make(self, memory: Any, **options: Any) -> Any:
        """Create the tools."""
        raise NotImplementedError

    @pytest.fixture
    def memory(self, tmp_path: Path) -> Iterator[Memory]:
        with Memory.open(tmp_path / "agent.scrubjay", default()) as memory:
            yield memory

    def test_memories_of_one_run_are_recalled_and_forgotten_in_the_next(self, memory: Memory) -> None:
        (said,) = self.run(memory, JANE, [("remember", {"content": KEY})], run="chat-1")
        assert said == f"Remembered [{id_in(said)}]."
        again, found = self.run(
            memory, JANE, [("remember", {"content": KEY}), ("recall", {"query": "sk-stg-0041"})]
        )
        assert again == f"Already known [{id_in(said)}]." and found == f"- {KEY} [{id_in(said)}]"
        record = memory.get(id_in(said), scope=JANE)
        assert record is not None and record.provenance.run == "chat-1"  # type: ignore[union-attr]
        calls: list[Call] = [
            ("forget", {"id": f"[{id_in(said)}]"}),
            ("forget", {"id": id_in(said)}),
            ("recall", {"query": "sk-stg-0041"}),
        ]
        forgotten, gone, nothing = self.run(memory, JANE, calls)
        assert (forgotten, nothing) == ("Forgotten.", "Nothing is known.")
        assert gone == f"There is no memory [{id_in(said)}] that may be forgotten."

    def test_recall_finds_by_meaning_and_puts_identifiers_first(self, memory: Memory) -> None:
        made = [
            f"The key prefix of the gateway is sk-{'stg' if n % 2 else 'prd'}-{n:04d}." for n in range(200)
        ]
        memory.propose_all([(text, JANE, "import") for text in made])
        memory.propose("Lies awake after espresso.", scope=JANE, source="import")
        calls: list[Call] = [("recall", {"query": "trouble sleeping"})]
        calls += [("recall", {"query": f"what is {made[n].split()[-1][:-1]}?"}) for n in range(0, 200, 20)]
        slept, *found = self.run(memory, JANE, calls, k=3)
        assert slept.startswith("- Lies awake after espresso. [")
        assert [one.split("\n")[0].split(" [")[0] for one in found] == [
            f"- {made[n]}" for n in range(0, 200, 20)
        ]
        assert all(one.count("\n") <= 2 for one in found)

    def test_invalid_tool_arguments_are_reported_to_the_model(self, memory: Memory) -> None:
        calls: list[Call] = [
            ("remember", {"content": " "}),
            ("recall", {"query": " "}),
            ("forget", {"id": " "}),
            ("forget", {"id": "' OR 1=1 --"}),
            ("remember", {"content": KEY}),
        ]
        empty, nothing, none, hostile, kept = self.run(memory, JANE, calls)
        assert "content: expected a text that is not empty" in empty
        assert nothing == "Nothing is known." and none == "There is no memory [] that may be forgotten."
        assert hostile.startswith("There is no memory [' OR 1=1 --]") and kept.startswith("Remembered [")

    def test_tenant_wide_memories_are_recalled_but_not_forgotten_by_a_user(self, memory: Memory) -> None:
        fact = FactCandidate("Acme closes on Mondays.", "acme", "closes on")
        shared = memory.propose(fact, scope=Scope("acme"), source="docs")
        memory.confirm(str(shared.id), by="ann", scope=Scope("acme"))
        memory.index.upsert("note", "The gate opens at six.", scope=JANE)
        calls: list[Call] = [
            ("recall", {"query": "mondays"}),
            ("forget", {"id": str(shared.id)}),
            ("recall", {"query": "gate"}),
            ("forget", {"id": "note"}),
        ]
        found, kept, note, kept_too = self.run(memory, JANE, calls)
        assert found == f"- Acme closes on Mondays. [{shared.id}]" and note == "- The gate opens at six."
        assert kept.startswith("There is no memory") and kept_too.startswith("There is no memory")
        assert memory.get(str(shared.id), scope=Scope("acme")) is not None and len(memory.index) == 1

    @pytest.mark.parametrize("name", NAMES, ids=repr)
    def test_hostile_names_reach_no_other_scope(self, tmp_path: Path, name: str) -> None:
        with Memory.open(tmp_path / "agent.scrubjay") as memory:
            mine = Scope("acme", user=name)
            own = memory.propose("The launch code is zx-9981.", scope=mine, source="docs")
            calls: list[Call] = [("recall", {"query": "zx-9981"}), ("forget", {"id": str(own.id)})]
            for twin in TWINS(name)[:4]:
                for scope in (Scope("acme", user=twin), Scope(twin, user=name)):
                    nothing, kept = self.run(memory, scope, calls)
                    assert nothing == "Nothing is known." and kept.startswith("There is no memory")
            assert self.run(memory, mine, calls) == [
                f"- The launch code is zx-9981. [{own.id}]",
                "Forgotten.",
            ]

    @pytest.mark.parametrize(
        ("options", "named"),
        [
            ({"memory": "agent.scrubjay"}, "memory"),
            ({"scope": "acme"}, "scope"),
            ({"k": 0}, "k"),
            ({"k": True}, "k"),
            ({"run": " "}, "run"),
        ],
    )
    def test_invalid_arguments_are_named(self, memory: Memory, options: dict[str, Any], named: str) -> None:
        given = {"memory": memory, "scope": JANE, **options}
        with pytest.raises((TypeError, ValueError), match=f"^{named}: "):
            self.make(given.pop("memory"), **given)

    def test_memories_acknowledged_to_the_model_survive_a_kill(self, tmp_path: Path) -> None:
        said = acknowledged_writes(
            """
import sys
from scrubjay import Memory, Scope
from scrubjay.adapters._memory_tools import MemoryTools
tools = MemoryTools(Memory.open(sys.argv[1]), Scope("acme", user="jane"))
n = 0
while True:
    assert tools.remember(f"Ticket number tk-{n:05d} is closed.").startswith("Remembered")
    print("wrote", f"tk-{n:05d}")
    n += 1
""",
            tmp_path / "a",
            after=25,
            prefix="wrote ",
        )
        with Memory.open(tmp_path / "a") as memory:
            calls: list[Call] = [("recall", {"query": one}) for one in said]
            found = self.run(memory, JANE, calls, k=1)
        assert all(f"Ticket number {one} is" in text for one, text in zip(said, found, strict=True))

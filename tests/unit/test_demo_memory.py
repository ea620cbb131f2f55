"""The demo's memory has what its page shows: changes, corrections, plans, pending confirmations, a run to replay."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from scrubjay import Index, Memory, Scope, embedders
from scrubjay.demo.remembering import JANE, RUN, remember
from scrubjay.memory import Fact


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    path = tmp_path_factory.mktemp("demo") / "demo.scrubjay"
    with Index.open(path, embedders.default()) as index:
        remember(index)
        with Memory(index) as memory:
            yield memory


def texts(memory: Memory, **when: str) -> set[str]:
    return {record.text for record in memory.list(JANE, kinds=["fact"], **when)}  # type: ignore[arg-type]


def test_every_status_is_there(memory: Memory) -> None:
    found = {(record.kind, record.status) for record in memory.list(JANE, hidden=True)}
    assert found >= {
        ("fact", "active"), ("fact", "superseded"), ("fact", "ended"), ("fact", "revoked"), ("fact", "provisional"),
        ("policy", "active"), ("policy", "provisional"), ("preference", "active"), ("preference", "superseded"),
        ("episode", "active"),
    }  # fmt: skip
    assert [one.content for one in memory.rejections(JANE)] == ["Jane may be looking for another job"]
    assert memory.admin.check() == []


def test_known_at_and_as_of_give_different_facts(memory: Memory) -> None:
    milan, brno = "Before Lisbon Jane lived in Milan", "From 2018 to 2021 Jane lived in Brno, not in Milan"
    assert texts(memory, as_of="2020-01-01", known_at="2025-10-20") == {milan}
    assert texts(memory, as_of="2020-01-01") == {brno}
    assert texts(memory, as_of="2020-01-01", known_at="2025-09-20") == set()
    home = [fact for fact in memory.history("Jane", "lives in", JANE) if fact.holds]
    assert [fact.value for fact in home] == ["Brno", "Lisbon", "Porto"]
    assert "The staging gateway runs v3.14.2" in texts(memory, as_of="2025-10-01")
    known = memory.known(JANE, as_of="2025-12-24")
    assert (
        known.policy("code_freeze").text.startswith("No deployments") and known["summary_length"].value == 5
    )
    assert "code_freeze" not in memory.known(JANE, as_of="2025-12-10")


def test_the_run_is_replayed_with_something_dropped(memory: Memory) -> None:
    replay = memory.replay(RUN, JANE)
    assert all(prompt.faithful for prompt in replay.prompts()) and len(replay.prompts()) == 3
    envelopes = [event.data["envelope"] for event in replay.events if event.kind == "prompt"]
    reasons = {reason for envelope in envelopes for _, reason in envelope["dropped"]}
    assert reasons == {"below_floor", "over_budget"}


def test_the_demo_memory_is_deterministic_and_silent(
    memory: Memory, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        caplog.at_level(logging.WARNING),
        Index.open(tmp_path / "again.scrubjay", embedders.default()) as index,
    ):
        remember(index)
        with Memory(index) as again:
            for scope in (JANE, Scope("acme", user="marco"), Scope("acme")):
                told = [
                    sorted((one.kind, one.status, one.text, one.holds if isinstance(one, Fact) else ())
                           for one in of.list(scope, hidden=True))
                    for of in (memory, again)
                ]  # fmt: skip
                assert told[0] == told[1]
            assert memory.list(Scope("northwind", user="jane"), hidden=True) == []
    assert caplog.records == []

"""The calls of a memory, in a file, with the default embedder. Test names are permanent."""

from __future__ import annotations

from itertools import count

from benchmarks.micro.data import ZipfTexts
from benchmarks.micro.users import TENANT, Users
from scrubjay import Scope
from scrubjay.bench.pytest_plugin import EachCall
from scrubjay.memory import FactCandidate

SCOPE = Scope(TENANT, user="u0")


def asked() -> list[str]:
    texts = ZipfTexts(seed=9)
    return [texts.text(6) for _ in range(300)]


def test_recall(each_call: EachCall, users: Users) -> None:
    """Ten records of 1,000 facts, with their texts read."""
    memory = users.memory

    def recall(text: str) -> int:
        return len([hit.text for hit in memory.recall(text, SCOPE, k=10)])

    assert each_call(recall, asked()) == 10


def test_known(each_call: EachCall, users: Users) -> None:
    """Policies and preferences in force."""
    memory = users.memory
    assert each_call(lambda scope: memory.known(scope), [SCOPE], rounds=500) is not None


def test_assemble(each_call: EachCall, users: Users) -> None:
    """The prompt of a turn, with 2,000 tokens."""
    memory = users.memory
    assert "refunds" in each_call(lambda text: memory.assemble(text, SCOPE, 2_000).text, asked(), rounds=500)


def test_propose(each_call: EachCall, users: Users) -> None:
    """One fact through the gate."""
    memory, texts, number = users.memory, ZipfTexts(seed=12), count()
    scope = Scope(TENANT, user="writer")
    candidates = [FactCandidate(f"{texts.text(12)} {next(number)}") for _ in range(1_000)]
    assert (
        each_call(lambda one: memory.propose(one, scope=scope, source="micro"), candidates, rounds=300)
        is not None
    )

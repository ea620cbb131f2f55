"""Does the work of a call stay what it is when a scope grows?"""

from __future__ import annotations

from pathlib import Path

import pytest

from scrubjay.memory import Memory
from scrubjay.memory import facts as module
from tests.memory.setting import JANE, open_memory


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return open_memory(tmp_path / "m.scrubjay")


@pytest.mark.parametrize("kind", ["fact", "episode"])
def test_a_duplicate_is_found_by_its_hash(memory: Memory, kind: str) -> None:
    """Not by reading the scope: writing n facts one by one would cost n^2."""
    with memory.reading() as connection:
        plan = connection.execute(
            "EXPLAIN QUERY PLAN " + module._SAYS_SO[kind], ("acme", "jane", "", b"")
        ).fetchall()
    assert len(plan) == 1 and f"memory_{kind}_once" in plan[0][3] and "hash=?" in plan[0][3]


def test_a_duplicate_is_embedded_no_more(memory: Memory) -> None:
    embedded: list[str] = []
    original = memory._embed_texts
    memory._embed_texts = lambda texts: (embedded.extend(texts), original(texts))[1]  # type: ignore[method-assign]
    for _ in range(2):
        memory.propose("Jane sails.", scope=JANE, source="r")
    assert embedded == ["Jane sails."]

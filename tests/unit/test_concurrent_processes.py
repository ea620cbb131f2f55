"""A search that begins during a write of this process finds another process's earlier writes."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Index, Scope
from scrubjay.backend import Backend
from scrubjay.store.postgres import feed
from scrubjay.store.postgres.transaction import PostgresTransaction
from tests.data.postgres import new_url

JANE = Scope("acme", user="jane")


@pytest.fixture(params=["file", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return new_url() if request.param == "postgres" else str(tmp_path / "index.scrubjay")


def found_by_another_thread(index: Index) -> set[Any]:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.extend(index.search("oak", scope=JANE, k=50)))
    thread.start()
    thread.join()
    return {hit.id for hit in found}


@pytest.mark.parametrize("step", ["announce", "apply"])
def test_a_write_in_progress_hides_no_write_of_another_process(
    place: str, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`announce` runs just before the commit, `apply` just after it. The scope's version there is that of the write in
    progress; the previous one, of another process, has not been noticed yet."""
    options: Any = {"max_stale": 0} if place.startswith("postgresql") else {}
    with Index.open(place, **options) as index, Index.open(place, **options) as other:
        index.upsert("a", "oak", scope=JANE)
        assert found_by_another_thread(index) == {"a"}
        other.upsert("b", "oak", scope=JANE)
        residency: Any = Backend.of(index).engine.residency  # type: ignore[union-attr]
        original = getattr(residency, step)
        seen: list[set[Any]] = []

        def slowly(*arguments: Any) -> None:
            if step == "announce":
                original(*arguments)
            seen.append(found_by_another_thread(index))
            if step == "apply":
                original(*arguments)

        monkeypatch.setattr(residency, step, slowly)
        index.upsert("c", "oak", scope=JANE)
        assert len(seen) == 1 and seen[0] >= {"a", "b"}
        assert found_by_another_thread(index) == {"a", "b", "c"}


def test_a_long_erasure_is_announced_to_all_collections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other collections are written first: for the feed they must be as new as the commit."""
    monkeypatch.setattr(feed, "WINDOW_SECONDS", 0.2)
    url = new_url()
    with Index.open(url, max_stale=0) as index, Index.open(url) as eraser:
        index.collection("traces").upsert("m", "oak", scope=JANE)
        assert found_by_another_thread(index.collection("traces")) == {"m"}
        erase = PostgresTransaction.erase

        def slowly(self: PostgresTransaction, *arguments: Any, **options: Any) -> Any:
            written = erase(self, *arguments, **options)
            if self.elsewhere:  # the other collections are done: the rest takes longer than the window
                self.flush()
                threading.Event().wait(1)
                assert found_by_another_thread(index.collection("traces")) == {"m"}
            return written

        monkeypatch.setattr(PostgresTransaction, "erase", slowly)
        assert eraser.erase(JANE, everywhere=True) == 1
        assert found_by_another_thread(index.collection("traces")) == set()

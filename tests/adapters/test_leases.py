"""Adapters of one process share a file, and it closes with the last of them."""

from __future__ import annotations

import gc
import os
import threading
from pathlib import Path

import pytest

import scrubjay
from scrubjay import Index, Scope
from scrubjay.backend.leases import lease

ACME = Scope("acme")


def test_leases_on_one_path_share_one_index(tmp_path: Path) -> None:
    path = tmp_path / "agent.scrubjay"
    (tmp_path / "link").symlink_to(tmp_path)
    with (
        lease(path, collection="a") as a,
        lease(str(tmp_path / "link" / "agent.scrubjay"), collection="b") as b,
    ):
        assert a.root is b.root and a.turn is b.turn
        a.index.upsert("m1", "an oak", scope=ACME)
        b.index.upsert("m1", "a beech", scope=ACME)
        assert [one.index.list(ACME)[0].text for one in (a, b)] == ["an oak", "a beech"]
        with lease(path, collection="a") as again:
            assert again.index is a.index
        assert len(a.index) == 1  # still open
    with pytest.raises(scrubjay.ClosedError):
        _ = a.index


def test_the_last_one_closes_the_file(tmp_path: Path) -> None:
    path = tmp_path / "agent.scrubjay"
    one, other = lease(path, collection="a"), lease(path, collection="a")
    root, index = one.root, one.index
    one.close()
    one.close()
    assert root.admin.collections() == ["a"]
    other.close()
    with pytest.raises(scrubjay.ClosedError):
        root.admin.collections()
    with pytest.raises(scrubjay.ClosedError):
        index.upsert("m1", "an oak", scope=ACME)
    with lease(path, collection="a") as fresh:
        assert fresh.root is not root


def test_a_lease_that_is_dropped_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "agent.scrubjay"
    one, other = lease(path, collection="a"), lease(path, collection="a")
    root = one.root
    del other
    gc.collect()
    one.close()
    with pytest.raises(scrubjay.ClosedError):
        root.admin.collections()
    dropped = lease(path, collection="a")
    dropped.index.upsert("m1", "an oak", scope=ACME)
    del dropped, root, one
    gc.collect()
    with lease(path, collection="a") as fresh:
        assert len(fresh.index) == 1


def test_a_lease_reopens_an_index_that_was_closed_or_replaced(tmp_path: Path) -> None:
    path = tmp_path / "agent.scrubjay"
    one = lease(path, collection="a")
    one.index.upsert("m1", "an oak", scope=ACME)
    one.root.close()
    with lease(path, collection="a") as other:
        assert len(other.index) == 1
        for file in tmp_path.iterdir():
            file.unlink()
        with lease(path, collection="a") as third:
            assert len(third.index) == 0
            assert third.root is not other.root


def test_a_lease_with_options_other_than_the_open_files_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "agent.scrubjay"
    with lease(path, collection="a", durability="normal"):
        lease(path, collection="b", durability="normal").close()
        lease(path, collection="b").close()
        with pytest.raises(ValueError, match=r"durability.*'normal'.*'full'"):
            lease(path, collection="b", durability="full")
    with lease(path, collection="b", durability="full"), pytest.raises(ValueError, match="busy_timeout"):
        lease(path, collection="b", busy_timeout=1.0)


def test_a_collection_of_another_kind_is_refused_and_leaves_nothing_open(tmp_path: Path) -> None:
    path = tmp_path / "agent.scrubjay"
    lease(path, collection="a", dim=2, metric="l2").close()
    for asked in ({"dim": 3}, {"metric": "cosine"}):
        with pytest.raises(ValueError, match=next(iter(asked))):
            lease(path, collection="a", **asked)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="collection"):
        lease(path, collection="")
    with lease(path, collection="a", durability="normal") as reopened:  # so it was closed before
        assert (reopened.index.admin.stats()["dim"], reopened.index.admin.stats()["metric"]) == (2, "l2")


def test_an_index_that_is_given_stays_open(tmp_path: Path) -> None:
    with Index.open(tmp_path / "agent.scrubjay") as index:
        with lease(index, collection="a") as a, lease(index) as itself:
            assert a.index is index.collection("a") and itself.index is index
            assert a.turn is itself.turn
        assert index.admin.collections() == ["a"]
        with pytest.raises(ValueError, match="durability"):
            lease(index, collection="a", durability="full")
        with pytest.raises(ValueError, match="metric"):
            lease(index, metric="l2")


def test_leases_without_a_path_have_separate_indexes() -> None:
    with lease(None, collection="a") as one, lease(None, collection="a") as other:
        one.index.upsert("m1", "an oak", scope=ACME)
        assert (len(one.index), len(other.index)) == (1, 0)


def test_a_dropped_collection_is_made_again(tmp_path: Path) -> None:
    with lease(tmp_path / "x", collection="a", dim=2) as one, lease(tmp_path / "x", collection="a") as other:
        one.index.upsert("m1", "an oak", scope=ACME, vector=[1.0, 2.0])
        other.root.admin.drop_collection("a")
        assert (len(one.index), one.index.admin.stats()["dim"]) == (0, 2)


def test_many_threads_open_and_close(tmp_path: Path) -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(10):
                with lease(tmp_path / "x", collection=f"c{number % 3}") as held:
                    held.index.upsert(f"{number}.{turn}", "an oak", scope=ACME)
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with lease(tmp_path / "x", collection="c0") as held:
        assert [len(held.root.collection(f"c{i}")) for i in range(3)] == [20, 20, 20]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_opens_the_file_for_itself(tmp_path: Path) -> None:
    with lease(tmp_path / "x", collection="a") as held:
        held.index.upsert("m1", "an oak", scope=ACME)
        child = os.fork()
        if child == 0:  # pragma: no cover
            status = 1
            try:
                with lease(tmp_path / "x", collection="a") as own:
                    own.index.upsert("m2", "a beech", scope=ACME)
                    status = 0 if len(own.index) == 2 else 2
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert len(held.index) == 2


def test_the_index_of_a_lease_is_made_once(tmp_path: Path) -> None:
    one, other = Fixed("one"), Fixed("one")
    with lease(tmp_path / "a.scrubjay", collection="a", embedder=one) as held:
        index = held.index
        gc.collect()
        assert held.index is index and index.embedder is one
        with lease(tmp_path / "a.scrubjay", collection="a", embedder=other) as second:
            assert second.index.embedder is other
            assert held.index.embedder is one  # each lease keeps its own, also when they alternate


class Fixed:
    """An embedder whose vectors do not matter."""

    dim = 2

    def __init__(self, name: str) -> None:
        self.name = name

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, 0.0] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0, 0.0]

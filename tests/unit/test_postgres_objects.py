"""Large images of an index in PostgreSQL in an object store: a fault there costs no more than a rebuild from the
rows."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrubjay import Index, Memory, Objects, Query, Scope, StoreError, StoreUnavailableError
from scrubjay.backend import Backend
from scrubjay.embedders import Function
from scrubjay.store.objects import objects as module
from scrubjay.store.objects.objects import GRACE_SECONDS
from scrubjay.store.postgres import images, server
from tests.data.blobs import FaultyBlobs
from tests.data.keys import provider
from tests.data.postgres import new_url
from tests.data.stores import superuser_rows

psycopg = pytest.importorskip("psycopg")

JANE, JOE = Scope("acme", user="jane"), Scope("globex", user="joe")
SECRET = "The door code of the boathouse is 4711-XYZZY."
N, DIM, LEAST = 200, 16, 4000
VECTORS = np.random.default_rng(3).normal(size=(N, DIM)).astype(np.float32)


@pytest.fixture
def url() -> str:
    return new_url()


@pytest.fixture
def blobs() -> FaultyBlobs:
    return FaultyBlobs()


def opened(url: str, blobs: FaultyBlobs | None, cache: Path | None = None, **options: Any) -> Index:
    objects = None if blobs is None else Objects(blobs, cache=cache, least_bytes=LEAST)
    return Index.open(url, dim=options.pop("dim", DIM), objects=objects, **options)


def quiet(index: Index) -> Index:
    """Disable background writes of images."""
    residency: Any = Backend.of(index).engine.residency  # type: ignore[union-attr]
    residency.housekeeper.stop()
    return index


def fill(index: Index, scope: Scope = JANE, n: int = N) -> None:
    index.upsert_many(
        [{"id": f"m{i}", "text": f"{SECRET} Note {i}.", "vector": VECTORS[i]} for i in range(n)],
        scope=scope,
        progress=False,
    )


@pytest.fixture
def filled(url: str, blobs: FaultyBlobs) -> str:
    """An index with two scopes, whose images are objects."""
    with opened(url, blobs) as index:
        fill(index, JANE)
        fill(index, JOE)
        index.admin.compact()
    assert len(blobs.kept) == 2
    return url


def answers(index: Index, scope: Scope = JANE) -> list[tuple[str | int, float]]:
    found = index.search("boathouse note 7", scope=scope, vector=VECTORS[7], k=20)
    assert not found.degraded
    return [(hit.id, hit.score) for hit in found]


def stats(index: Index) -> dict[str, Any]:
    return dict(index.admin.stats())


def rows(url: str) -> list[tuple[Any, ...]]:
    return superuser_rows(
        url, "SELECT home, octet_length(data), n_bytes IS NOT NULL FROM sj_image ORDER BY home, ordinal"
    )


def forget_outage(index: Index) -> None:
    store: Any = Backend.of(index).engine.store  # type: ignore[union-attr]
    store.objects._away_until = 0


# ---------------------------------------------------------------------- location of images


def test_a_large_image_is_an_object_and_finds_what_its_rows_find(
    filled: str, blobs: FaultyBlobs, tmp_path: Path
) -> None:
    assert rows(filled) == [("acme", 2, True), ("globex", 2, True)]
    with opened(filled, None) as index:  # without the object store: from the rows
        expected = answers(index)
        assert stats(index)["loads_from_rows"] == 1 and "objects_read" not in stats(index)
    for read, cached in ((1, 0), (0, 1)):
        with opened(filled, blobs, tmp_path) as index:
            assert answers(index) == expected
            found = stats(index)
            assert (found["objects_read"], found["objects_cached"]) == (read, cached)
            assert found["loads_from_image"] == 1 and found["loads_from_rows"] == 0
    assert len(blobs.kept) == 2 and rows(filled) == [("acme", 2, True), ("globex", 2, True)]


def test_a_small_image_stays_in_the_database(url: str, blobs: FaultyBlobs) -> None:
    with opened(url, blobs) as index:
        fill(index, n=10)
        index.admin.compact()
    assert blobs.kept == {} and [row[2] for row in rows(url)] == [False]
    with opened(url, blobs) as index:
        assert len(answers(index)) == 10 and stats(index)["loads_from_image"] == 1


def test_a_newer_image_takes_the_place_of_the_object(filled: str, blobs: FaultyBlobs) -> None:
    before = set(blobs.kept)
    with opened(filled, blobs) as index:
        fill(index, JANE, 150)
        index.delete("m150", scope=JANE)
        index.admin.compact()
    assert len(blobs.kept) == 2 and len(before & set(blobs.kept)) == 1
    with opened(filled, blobs) as index:
        assert len(answers(index)) == 20 and stats(index)["loads_from_image"] == 1


# ---------------------------------------------------------------------- faults


@pytest.mark.parametrize("fault", ["missing", "half", "one bit", "empty", "swapped", "away", "delayed"])
def test_a_search_never_fails_by_the_object_store(filled: str, blobs: FaultyBlobs, fault: str) -> None:
    with opened(filled, None) as index:
        expected = answers(index)
    if fault == "swapped":
        blobs.swap()
    elif fault == "away":
        blobs.refuses = {"get", "put", "list", "delete"}
    elif fault == "delayed":
        blobs.delay = 0.2
    else:
        blobs.damage(fault)
    with opened(filled, blobs) as index:
        assert answers(index) == expected
        found = stats(index)
        lost = fault not in ("away", "delayed")
        assert (found["objects_lost"], found["objects_away"]) == (int(lost), int(fault == "away"))
        assert found["loads_from_rows"] == int(fault != "delayed")
    blobs.delay, blobs.refuses = 0.0, set()
    with opened(filled, blobs) as index:  # whole again
        index.admin.compact()
    with opened(filled, blobs) as index:
        assert answers(index) == expected
        assert stats(index)["loads_from_image"] == 1 and stats(index)["objects_lost"] == 0
        assert index.admin.check().problems == []
    assert [row[2] for row in rows(filled)] == [True, True]


def test_check_names_an_object_that_is_lost(filled: str, blobs: FaultyBlobs) -> None:
    blobs.damage("half")
    with opened(filled, blobs) as index:
        problems = index.admin.check().problems
        assert len(problems) == 2 and all("not what was put there" in problem for problem in problems)
        index.admin.compact()
        assert index.admin.check().problems == []


def test_a_malformed_object_name_costs_a_rebuild_only(filled: str, blobs: FaultyBlobs) -> None:
    for change in (
        "n_bytes = 1 << 40",
        "n_bytes = -1",
        "n_bytes = NULL",
        "object = '\\x00'",
        "n_bytes = n_bytes + 1",
    ):
        superuser_rows(
            filled, f"UPDATE sj_image SET {change} WHERE home = 'acme'".replace("1 << 40", "1099511627776")
        )
        with opened(filled, blobs) as index:
            assert len(answers(index)) == 20 and stats(index)["loads_from_rows"] == 1, change


def test_an_image_that_the_place_does_not_take_goes_into_the_database(url: str, blobs: FaultyBlobs) -> None:
    blobs.refuses = {"put"}
    with opened(url, blobs) as index:
        fill(index)
        index.admin.compact()
        assert stats(index)["objects_written"] == 0
    assert blobs.kept == {} and [row[2] for row in rows(url)] == [False]
    with opened(url, blobs) as index:
        assert len(answers(index)) == 20 and stats(index)["loads_from_image"] == 1


@pytest.mark.parametrize("without", ["place", "objects"])
def test_a_process_without_object_store_replaces_no_images(
    filled: str, blobs: FaultyBlobs, without: str
) -> None:
    """Every process that loads from rows would otherwise write its own image."""
    before = dict(blobs.kept)
    if without == "place":
        blobs.refuses = {"get", "put"}
    with opened(filled, blobs if without == "place" else None) as index:
        assert len(answers(index)) == 20
        residency: Any = Backend.of(index).engine.residency  # type: ignore[union-attr]
        partition = residency.partition(JANE)
        assert residency.is_dirty(partition) and residency.save(partition, wait=True)
    blobs.refuses = set()
    assert blobs.kept == before and rows(filled) == [("acme", 2, True), ("globex", 2, True)]
    with opened(filled, blobs) as index:
        assert len(answers(index)) == 20 and stats(index)["objects_read"] == 1


# ---------------------------------------------------------------------- removal of objects


def test_an_erasure_removes_objects_and_copies_at_once(
    filled: str, blobs: FaultyBlobs, tmp_path: Path
) -> None:
    with opened(filled, blobs, tmp_path) as index:
        for scope in (JANE, JOE):
            answers(index, scope)
        before = index.admin.verify_erased([SECRET])
        assert before.n_objects == 4 and len([1 for place, *_ in before.found if "/" in str(place)]) == 4
        index.erase(JANE)
        assert len(blobs.kept) == 1 and len(list(tmp_path.rglob("*/*"))) == 1
        index.erase(JOE)
        assert blobs.kept == {} and list(tmp_path.rglob("*/*")) == []
        index.admin.compact()
        report = index.admin.verify_erased([SECRET])
        assert report.clean and report.proof == "rows and objects" and report.n_objects == 0
        assert any("other machines" in where for where in report.not_covered)


def test_objects_that_could_not_be_deleted_are_reported_and_deleted_later(
    filled: str, blobs: FaultyBlobs
) -> None:
    with opened(filled, blobs) as index:
        blobs.refuses = {"delete"}
        index.erase(JANE)
        index.erase(JOE)
        assert len(blobs.kept) == 2
        found = index.admin.verify_erased([SECRET])
        assert {str(place).split("/")[0] for place, *_ in found.found} == {"memory of a test"}
        blobs.refuses = set()
        forget_outage(index)
        index.admin.compact()
        assert blobs.kept == {} and index.admin.verify_erased([SECRET]).clean


def test_objects_left_by_a_dead_process_are_swept(filled: str, blobs: FaultyBlobs) -> None:
    blobs.refuses = {"delete"}
    with opened(filled, blobs) as index:
        index.erase(JANE)
        index.erase(JOE)
    blobs.refuses = set()
    with opened(filled, blobs) as index:
        index.admin.compact()
        assert len(blobs.kept) == 2  # young: their rows may not be written yet
        blobs.grow_old(GRACE_SECONDS + 1)
        index.admin.compact()
        assert blobs.kept == {}


def test_a_proof_needs_the_objects(filled: str, blobs: FaultyBlobs) -> None:
    with opened(filled, None) as index, pytest.raises(StoreError, match="objects="):
        index.admin.verify_erased([SECRET])
    with opened(filled, blobs) as index:
        blobs.refuses = {"list"}
        with pytest.raises(StoreUnavailableError, match="memory of a test"):
            index.admin.verify_erased([SECRET])
        with pytest.raises(StoreUnavailableError, match="memory of a test"):
            index.admin.compact()


def test_copies_on_other_machines_are_forgotten(filled: str, blobs: FaultyBlobs, tmp_path: Path) -> None:
    with opened(filled, blobs, tmp_path / "one") as one, opened(filled, blobs, tmp_path / "two") as two:
        for index in (one, two):
            answers(index)
            answers(index, JOE)
        assert len(list((tmp_path / "two").rglob("*/*"))) == 2
        one.erase(JANE)
        store: Any = Backend.of(two).engine.store  # type: ignore[union-attr]
        store.objects._tidy_at = 0.0
        latest = time.monotonic() + 120
        while len(list((tmp_path / "two").rglob("*/*"))) == 2 and time.monotonic() < latest:
            time.sleep(0.05)  # the feed's thread comes to it
        (left,) = (tmp_path / "two").rglob("*/*")
        assert SECRET.encode() in left.read_bytes()
        assert len(answers(two, JOE)) == 20


def test_a_collection_that_is_dropped_takes_its_objects_along(filled: str, blobs: FaultyBlobs) -> None:
    with opened(filled, blobs) as index:
        side = index.collection("side", dim=DIM)
        fill(side)
        side.admin.compact()
        assert len(blobs.kept) == 3
        index.admin.drop_collection("side")
        assert len(blobs.kept) == 2


def test_another_model_drops_the_images_of_the_old_one(filled: str, blobs: FaultyBlobs) -> None:
    embedder = Function(lambda texts: [[1.0] * 8 for _ in texts], dim=8, name="eight")
    with opened(filled, blobs) as index:
        before = set(blobs.kept)
        index.admin.reembed(embedder, progress=False)
        index.admin.compact()
        assert not before & set(blobs.kept)


# ---------------------------------------------------------------------- writers that stop in the middle


def test_a_writer_that_dies_between_object_and_row_leaves_nothing_for_long(
    url: str, blobs: FaultyBlobs
) -> None:
    class Killed(BaseException):
        pass

    def die(name: str) -> None:
        raise Killed

    blobs.on_put = die
    with opened(url, blobs) as index:
        fill(quiet(index))
        with pytest.raises(Killed):
            index.admin.compact()
        blobs.refuses, blobs.on_put = {"put"}, lambda name: None
        residency: Any = Backend.of(index).engine.residency  # type: ignore[union-attr]
        residency.forget_tenant(None, wait=True)  # so that closing writes nothing
    blobs.refuses = set()
    orphans = set(blobs.kept)
    assert len(orphans) == 1 and rows(url) == []
    with opened(url, blobs) as index:
        index.upsert("one more", SECRET, scope=JANE, vector=VECTORS[0])
        index.admin.compact()
        assert orphans < set(blobs.kept)
        blobs.grow_old(GRACE_SECONDS + 1)
        index.admin.compact()
        assert not orphans & set(blobs.kept) and len(blobs.kept) == 1
        assert len(answers(index)) == 20


def test_a_writer_that_is_too_late_for_its_object_does_not_name_it(
    url: str, blobs: FaultyBlobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(url, blobs) as index:
        fill(quiet(index))
        now = [0.0]
        monkeypatch.setattr(images, "monotonic", lambda: now[0])

        def wait(name: str) -> None:
            now[0] += GRACE_SECONDS / 2 + 1

        blobs.on_put = wait
        index.admin.compact()
        assert rows(url) == []


def test_an_upload_may_take_longer_than_a_writer_may_be_silent(
    url: str, blobs: FaultyBlobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server ends a transaction that is idle for a minute."""
    monkeypatch.setattr(server, "IDLE_SECONDS", 1)
    blobs.on_put = lambda name: time.sleep(2.5)
    with opened(url, blobs) as index:
        fill(quiet(index))
        index.admin.compact()
    assert [row[2] for row in rows(url)] == [True] and len(blobs.kept) == 1


def test_an_erasure_while_an_object_is_on_its_way_wins(url: str, blobs: FaultyBlobs) -> None:
    with opened(url, blobs) as index, opened(url, blobs) as other:
        fill(quiet(index))
        blobs.on_put = lambda name: other.erase(JANE) and None
        index.admin.compact()
        assert rows(url) == [] and len(other.search("boathouse", scope=JANE)) == 0
        blobs.grow_old(GRACE_SECONDS + 1)
        other.admin.compact()
        assert blobs.kept == {} and other.admin.verify_erased([SECRET]).clean


def test_two_writers_of_the_same_image_leave_one_object(filled: str, blobs: FaultyBlobs) -> None:
    blobs.damage("missing")
    with opened(filled, blobs) as one, opened(filled, blobs) as two:
        for index in (one, two):
            answers(quiet(index))
        turns, saved = threading.Barrier(2, timeout=120), []
        blobs.on_put = lambda name: turns.wait() and None  # both have uploaded, neither has written its row

        def save(index: Index) -> None:
            residency: Any = Backend.of(index).engine.residency  # type: ignore[union-attr]
            saved.append(residency.save(residency.partition(JANE), wait=True))

        threads = [threading.Thread(target=save, args=(index,)) for index in (one, two)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        blobs.on_put = lambda name: None
        assert saved == [True, True]
    with opened(filled, blobs) as index:
        assert len(answers(index)) == 20
        assert stats(index)["objects_read"] == 1


def test_writers_of_the_scope_do_not_wait_for_the_object_store(url: str, blobs: FaultyBlobs) -> None:
    with opened(url, blobs, keys=provider) as index, opened(url, blobs, keys=provider) as other:
        fill(quiet(index))

        def write(name: str) -> None:
            blobs.on_put = lambda name: None
            other.upsert("meanwhile", "an oak", scope=JANE, vector=VECTORS[0])

        blobs.on_put = write
        index.admin.compact()
        assert index.search("oak", scope=JANE)[0].id == "meanwhile"
    with opened(url, blobs, keys=provider) as index:
        assert index.search("oak", scope=JANE)[0].id == "meanwhile"
        assert index.admin.check().problems == []


# ---------------------------------------------------------------------- encrypted tenants, and memory


@pytest.fixture
def sealed(url: str, blobs: FaultyBlobs) -> str:
    pytest.importorskip("cryptography")
    with opened(url, blobs, keys=provider) as index:
        fill(index)
        fill(index, Scope("acme", user="joe"))
        index.admin.compact()
    return url


def test_objects_of_encrypted_tenants_are_sealed_as_their_images_are(
    sealed: str, blobs: FaultyBlobs, tmp_path: Path
) -> None:
    assert len(blobs.kept) == 2
    for data, _ in blobs.kept.values():
        assert data[:2] == b"\xff\x01" and b"boathouse" not in data
    with opened(sealed, blobs, tmp_path, keys=provider) as index:
        assert len(answers(index)) == 20 and stats(index)["loads_from_image"] == 1
        assert index.admin.check().problems == []
        index.admin.encrypt("acme")  # safe to call again: nothing that is sealed goes
        assert len(rows(sealed)) == 2
    copies = [path.read_bytes() for path in tmp_path.rglob("*/*")]
    assert len(copies) == 2 and not any(b"boathouse" in copy for copy in copies)
    names = list(blobs.kept)
    superuser_rows(
        sealed, "UPDATE sj_image SET (object, n_bytes) = (SELECT object, n_bytes FROM sj_image LIMIT 1)"
    )
    with opened(sealed, blobs, keys=provider) as index:  # the object of another scope
        assert len(answers(index)) == 20 and len(answers(index, Scope("acme", user="joe"))) == 20
        assert stats(index)["loads_from_rows"] == 1 and len(names) == 2


def test_the_objects_from_before_a_tenant_was_encrypted_go(filled: str, blobs: FaultyBlobs) -> None:
    pytest.importorskip("cryptography")
    with opened(filled, blobs, keys={"acme": bytes(32)}.get) as index:
        index.admin.encrypt("acme")
        assert len(blobs.kept) == 1
        index.admin.compact()
        sealed = [data for data, _ in blobs.kept.values() if data[:2] == b"\xff\x01"]
        assert len(sealed) == 1 and len(blobs.kept) == 2


def test_forget_removes_the_objects_of_a_memory(url: str, blobs: FaultyBlobs) -> None:
    with Memory.open(url, objects=Objects(blobs, least_bytes=100)) as memory:
        memory.propose("Jane lives in Berlin", scope=JANE, source="run-1")
        memory.index.admin.compact()
        memory.documents.admin.compact()
        assert len(blobs.kept) >= 1
        assert memory.recall("Where does Jane live?", JANE).texts
        memory.forget(JANE)
        assert blobs.kept == {}


def test_maintenance_of_objects_keeps_its_interval(
    monkeypatch: pytest.MonkeyPatch, blobs: FaultyBlobs
) -> None:
    now = [0.0]
    monkeypatch.setattr(module, "monotonic", lambda: now[0])
    objects = module.ObjectStore(Objects(blobs), "0f" * 16, blobs)
    assert [objects.is_due(), objects.is_due()] == [True, False]
    now[0] = 301
    assert objects.is_due()


def test_objects_over_a_folder_and_a_query_of_another_process(url: str, tmp_path: Path) -> None:
    place = Objects((tmp_path / "objects").as_uri(), cache=tmp_path / "cache", least_bytes=LEAST)
    with Index.open(url, dim=DIM, objects=place) as index:
        fill(index)
        index.admin.compact()
    (made,) = [path for path in (tmp_path / "objects").rglob("*") if path.is_file()]
    with Index.open(url, dim=DIM, objects=(tmp_path / "objects").as_uri(), read_only=True) as reader:
        assert len(reader.search("boathouse", scope=JANE, query=Query(candidates=50))) == 10
        assert stats(reader)["objects_read"] == 1
    made.write_bytes(made.read_bytes()[:-9])
    with Index.open(url, dim=DIM, objects=(tmp_path / "objects").as_uri()) as index:
        assert len(answers(index)) == 20 and stats(index)["objects_lost"] == 1


def test_tables_of_version_4_are_migrated_and_their_images_used(url: str, blobs: FaultyBlobs) -> None:
    with opened(url, None) as index:
        fill(index)
        index.admin.compact()
    superuser_rows(url, "ALTER TABLE sj_image DROP object, DROP n_bytes")
    superuser_rows(url, "DROP TABLE sj_user_key")
    superuser_rows(url, "ALTER TABLE sj_schema DROP user_homes")
    superuser_rows(url, "DROP TABLE sj_cold")
    superuser_rows(url, "ALTER TABLE sj_scope DROP cold, DROP used")
    superuser_rows(url, "UPDATE sj_schema SET version = 4")
    with opened(url, blobs) as index:
        assert len(answers(index)) == 20 and stats(index)["loads_from_image"] == 1
        # The image that a process of the older version writes meanwhile, and what it makes of one that is an object.
        superuser_rows(
            url,
            "CREATE TABLE old AS SELECT home, collection, scope, ordinal, n_chunks, version, data FROM sj_image",
        )
        index.upsert("m0", SECRET, scope=JANE, vector=VECTORS[0])
        index.admin.compact()
        assert [row[2] for row in rows(url)] == [True] and len(blobs.kept) == 1
        superuser_rows(url, "DELETE FROM sj_image")
        superuser_rows(url, "INSERT INTO sj_image SELECT * FROM old")
    with opened(url, blobs) as index:
        assert len(answers(index)) == 20 and stats(index)["loads_from_image"] == 1
        blobs.grow_old(GRACE_SECONDS + 1)
        index.admin.compact()
        assert len(blobs.kept) == 1 and [row[2] for row in rows(url)] == [True]

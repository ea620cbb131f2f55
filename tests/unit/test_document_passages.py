"""Documents whose passages have vectors: one id, one document of words, the nearest passage counts."""

from __future__ import annotations

import json
import pickle
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrubjay import (
    EmbedderError,
    EmbedderMismatchError,
    Index,
    PassageVectors,
    Query,
    Scope,
    StoreFormatError,
    embedders,
)
from scrubjay.backend import Backend
from scrubjay.documents.payload import encode, is_pending
from scrubjay.embedders import Truncated, WordLlama
from scrubjay.store.sqlite import schema
from tests.data.keys import provider
from tests.data.postgres import new_url

JANE = Scope("acme", user="jane")
KINDS = ["memory", "file", "sealed", "postgres"]
VECTOR = Query(mode="vector")
MIDDLE = "If the nightly backups fail three times in a row, page Ada before touching the replica."
FILLER = [f"Section {i} is about the upkeep of pumps, valves and pipes in hall {i % 7}." for i in range(540)]
LONG = " ".join([*FILLER[:270], MIDDLE, *FILLER[270:]])
ASKED = "whom do we inform when saving our data goes wrong again and again?"

Open = Callable[..., Index]


@pytest.fixture(params=KINDS)
def open_index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    opened: list[Index] = []
    places: dict[str, Any] = {}

    def make(name: str = "one", **options: Any) -> Index:
        if request.param == "memory":
            index = Index(**options)
        else:
            place = places.get(name)
            if place is None:
                place = new_url() if request.param == "postgres" else tmp_path / f"{name}.scrubjay"
                places[name] = place
            keys = provider if request.param == "sealed" else None
            index = Index.open(place, keys=keys, durability="normal", **options)
        opened.append(index)
        return index

    make.kind = request.param  # type: ignore[attr-defined]
    yield make
    for index in opened:
        index.close()


class Toy:
    """Counts letters; texts longer than 60 characters are embedded in passages."""

    dim = 26

    def __init__(self, name: str = "letters", passage_chars: int | None = 60) -> None:
        self.name, self.passage_chars = name, passage_chars
        self.texts: list[str] = []
        self.fails = False

    def embed_documents(self, texts: list[str]) -> Any:
        if self.fails:
            raise OSError("down")
        self.texts += texts
        return np.array([[text.lower().count(chr(97 + i)) for i in range(26)] for text in texts], np.float32)

    def embed_query(self, text: str) -> Any:
        return np.array([text.lower().count(chr(97 + i)) for i in range(26)], np.float32)


TEXT = "aaaa aaaa aaaa aaaa aaaa aaaa. bbbb bbbb bbbb bbbb bbbb bbbb. cccc cccc cccc cccc cccc cccc."


def test_a_sentence_amid_36_kb_is_found_by_meaning_under_one_id(open_index: Open) -> None:
    index = open_index(embedder=embedders.default())
    assert len(LONG) > 36_000
    index.upsert("manual", LONG, scope=JANE)
    for number in range(40):
        index.upsert(
            f"note {number}", f"Note {number}: hall {number % 7} was swept, nothing else.", scope=JANE
        )
    index.upsert("whole", LONG.replace(MIDDLE, ""), scope=JANE)
    hits = index.search(ASKED, scope=JANE, query=VECTOR)
    assert hits[0].id == "manual" and len(index) == 42
    assert hits[0].passage is not None
    start, end = hits[0].passage
    assert end - start <= 700 and MIDDLE in LONG[start:end]
    assert "page Ada" in hits[0].snippet().text
    assert hits[0].snippet().start == LONG.index(hits[0].snippet().text)
    assert pickle.loads(pickle.dumps(hits))[0].passage == (start, end)
    shown = json.loads(json.dumps(hits.to_dicts(snippet=240)))
    assert shown[0]["passage"] == [start, end]
    assert "page Ada" in "".join(piece["text"] for piece in shown[0]["snippet"]["pieces"])
    assert [hit["id"] for hit in shown if "passage" in hit] == [
        hit.id for hit in hits if hit.passage is not None
    ]
    # one vector for the whole text: the meaning of the sentence is lost
    index.upsert("manual", LONG, scope=JANE, passages=False)
    blurred = index.search(ASKED, scope=JANE, query=VECTOR)
    assert blurred[0].id != "manual"
    assert next(hit for hit in blurred if hit.id == "manual").passage is None


def test_short_texts_are_embedded_as_before(open_index: Open) -> None:
    index = open_index(embedder=WordLlama())
    index.upsert("short", LONG[:16_000], scope=JANE)
    record = index.get("short", scope=JANE)
    assert record is not None and isinstance(record.vector, np.ndarray)
    plain = WordLlama().embed_documents([LONG[:16_000]])[0]
    np.testing.assert_allclose(record.vector, plain, atol=1e-3)
    (hit,) = index.search("pumps", scope=JANE)
    assert hit.passage is None


def test_passages_survive_reopening(open_index: Open) -> None:
    kind = open_index.kind  # type: ignore[attr-defined]
    toy = Toy()
    index = open_index(embedder=toy)
    index.upsert("a", TEXT, scope=JANE, context="zz")
    record = index.get("a", scope=JANE)
    assert record is not None and isinstance(record.vector, PassageVectors)
    spans = record.vector.spans.tolist()
    assert toy.texts == [f"zz\n\n{TEXT[start:end]}" for start, end in spans] and len(spans) == 3
    expected = [toy.embed_query(text).tolist() for text in toy.texts]
    np.testing.assert_allclose(record.vector.rows, expected, rtol=1e-3)
    for _ in range(3):  # from rows, then from images
        (hit,) = index.search("cc", scope=JANE, query=VECTOR)
        assert hit.passage == tuple(spans[2]) and hit.similarity == pytest.approx(
            24 / np.sqrt(24**2 + 4), rel=1e-3
        )
        again = index.get("a", scope=JANE)
        assert again is not None and again.vector[1].tolist() == spans
        assert [one.vector.spans.tolist() for one in index.scroll(scope=JANE, vectors=True)] == [spans]
        if kind != "memory":
            index.close()
            index = open_index(embedder=toy)
            assert index.admin.check().clean
    assert len(index) == 1


def test_vectors_and_spans_of_the_caller(open_index: Open) -> None:
    index = open_index(dim=2)
    index.upsert("both", "one two three", scope=JANE, vector=[[1, 0], [0, 1]], passages=[(0, 3), (4, 7)])
    index.upsert("vectors", "one two", scope=JANE, vector=np.eye(2)[::-1])
    index.upsert("pair", "one", scope=JANE, vector=PassageVectors(np.eye(2), np.array([[0, 1], [1, 3]])))
    index.upsert("single", "one", scope=JANE, vector=[0.6, 0.8])
    hits = index.search(vector=[1, 0.1], scope=JANE)
    assert [hit.id for hit in hits] == [
        "both",
        "vectors",
        "pair",
        "single",
    ]  # ties in the order of writing
    assert [hit.passage for hit in hits] == [(0, 3), None, (0, 1), None]
    read = index.get("both", scope=JANE)
    assert read is not None
    index.upsert_many([{**vars(read), "id": "copy"} | {"version": None}])
    copy = index.get("copy", scope=JANE)
    assert copy is not None and copy.vector[1].tolist() == [[0, 3], [4, 7]]
    index.patch("copy", scope=JANE, metadata={"a": 1})
    assert index.search(vector=[0, 1], scope=JANE, filter={"a": 1})[0].passage == (4, 7)
    index.patch("copy", scope=JANE, vector=[1, 1])
    assert index.search(vector=[0, 1], scope=JANE, filter={"a": 1})[0].passage is None
    index.patch("copy", scope=JANE, vector=[[1, 1], [2, 1]])
    assert index.search(vector=[2, 1], scope=JANE, filter={"a": 1})[0].similarity == pytest.approx(1)


def test_a_record_has_the_passages_of_its_writer(open_index: Open) -> None:
    """And is written again as it was read, also with a vector for only some of the passages."""
    toy, own = Toy(), [(0, 12), (14, 15), (31, 60)]  # the second one has no letters, and so no vector
    index = open_index(embedder=toy)
    index.upsert("own", TEXT, scope=JANE, passages=own)
    index.upsert("none", TEXT, scope=JANE, passages=False)
    index.upsert("open", TEXT, scope=JANE)
    expected = {"own": own, "none": False, "open": None}
    others: dict[str, Any] = {}
    for id in expected:
        others[id] = index.get(id, scope=JANE)
        assert index.upsert_many([others[id]], progress=False) == 1
    listed = [index.list(JANE), index.scroll(scope=JANE), index.get_many(list(expected), scope=JANE)]
    for records in (others.values(), *listed, index.find("own", within=JANE)):
        for record in records:
            assert record.passages == expected[record.id], record.id
    assert index.get("own", scope=JANE) == others["own"]
    spans = [
        record.vector.spans.tolist()
        for record in index.scroll(scope=JANE, vectors=True)
        if record.id == "own"
    ]
    assert spans == [[[0, 12], [31, 60]]]


def test_a_patched_vector_keeps_the_passages_that_fit(open_index: Open) -> None:
    index = open_index(dim=2)
    own = [(0, 3), (4, 7)]
    index.upsert("a", "one two three", scope=JANE, vector=[[1, 0], [0, 1]], passages=own)
    cases = [(None, own), ([[1, 1], [2, 1]], own), ([1, 1], None), ([[1, 1], [2, 1]], None)]
    for vector, passages in cases:
        index.patch("a", scope=JANE, vector=vector)
        record = index.get("a", scope=JANE)
        assert record is not None and record.passages == passages
        assert index.upsert_many([record]) == 1  # as it was read
        hits = index.search(vector=[2, 1], scope=JANE)
        assert [hit.passage for hit in hits] == ([] if vector is None else [own[1] if passages else None])


def test_spans_of_the_caller_are_embedded(open_index: Open) -> None:
    toy = Toy(passage_chars=None)
    index = open_index(embedder=toy)
    index.upsert("a", TEXT, scope=JANE, passages=[(0, 4), (31, 40)])
    index.upsert("b", TEXT, scope=JANE)
    assert toy.texts == [TEXT[:4], TEXT[31:40], TEXT]
    assert index.search("bbb", scope=JANE, query=VECTOR)[0].passage == (31, 40)
    index.patch("a", scope=JANE, context="x")
    assert toy.texts[3:] == [f"x\n\n{TEXT[:4]}", f"x\n\n{TEXT[31:40]}"]


def test_pending_documents_are_embedded_in_passages(open_index: Open) -> None:
    toy = Toy()
    index = open_index(embedder=toy)
    toy.fails = True
    index.upsert("auto", TEXT, scope=JANE)
    index.upsert("said", TEXT, scope=JANE, passages=[(0, 9)])
    index.upsert("none", TEXT, scope=JANE, passages=False)
    assert [hit.passage for hit in index.search("bbbb", scope=JANE)] == [None] * 3
    toy.fails = False
    assert index.admin.backfill().pending == 0
    records = index.get_many(["auto", "said", "none"], scope=JANE)
    shapes = [
        record.vector.rows.shape if isinstance(record.vector, PassageVectors) else record.vector.shape
        for record in records
    ]
    assert shapes == [(3, 26), (1, 26), (26,)]


def test_layers_above_embed_as_the_index_does(open_index: Open) -> None:
    toy = Toy()
    index = open_index(embedder=toy)
    backend = Backend.of(index)
    said = [{}, {"context": "zz"}, {"passages": [(0, 9), (31, 40)]}, {"passages": False}]
    payloads = [encode(None, None, **one) for one in said]
    for place, fields in enumerate(said):
        index.upsert(f"m{place}", TEXT, scope=JANE, **fields)
    texts, toy.texts = toy.texts, []
    whole = index.get_many([f"m{place}" for place in range(4)], scope=JANE)
    embedded = backend.embed([TEXT] * 4, payloads)
    assert toy.texts == texts and len(texts) == 3 + 3 + 2 + 1
    assert backend.embed(["1", TEXT])[0] is None  # no vector
    marked, payloads_after = backend.embed_or_mark([TEXT] * 4, payloads)
    assert payloads_after == payloads
    for record, *others in zip(whole, embedded, marked, strict=True):
        for other in others:
            assert type(other) is type(record.vector)
            if isinstance(other, PassageVectors):
                np.testing.assert_allclose(other.rows, record.vector.rows, rtol=1e-3)
                np.testing.assert_array_equal(other.spans, record.vector.spans)
    with pytest.raises(ValueError, match="zip"):
        backend.embed([TEXT], payloads)
    toy.fails = True
    nothing, pending = backend.embed_or_mark([TEXT], [None])
    assert nothing == [None] and is_pending(pending[0])
    with pytest.raises(EmbedderError):
        backend.embed([TEXT])


def test_another_model(open_index: Open) -> None:
    if open_index.kind in ("memory", "postgres"):  # type: ignore[attr-defined]
        pytest.skip("reembed is for files")
    index = open_index(embedder=Toy(passage_chars=None))
    index.upsert("auto", TEXT, scope=JANE)
    index.upsert("said", TEXT, scope=JANE, passages=[(0, 9), (31, 40)])
    other = Toy("other")
    assert index.admin.reembed(other, progress=False) == 2
    assert sorted(map(len, other.texts)) == sorted([4 + 5, 40 - 31, *(len(t) for t in other.texts[:3])])
    auto, said = index.get_many(["auto", "said"], scope=JANE)
    assert auto.vector.rows.shape == (3, 26) and said.vector.spans.tolist() == [[0, 9], [31, 40]]
    assert index.admin.check().clean


def test_stats_count_stored_documents_not_resident_ones(open_index: Open) -> None:
    kind = open_index.kind  # type: ignore[attr-defined]
    index = open_index(embedder=Toy())
    index.upsert("passages", TEXT, scope=JANE)
    index.upsert("whole", "aaa", scope=JANE)
    index.upsert("none", "123", scope=JANE)  # without a vector
    index.upsert("other", "bbb", scope=Scope("acme"))
    other = index.collection("more", embedder=Toy())
    other.upsert("x", "ccc", scope=JANE)
    assert index.admin.stats()["vectors"] == 3 and other.admin.stats()["vectors"] == 1
    if kind == "memory":
        return
    index.close()
    index = open_index(embedder=Toy())
    stats = index.admin.stats()
    assert (stats["documents"], stats["vectors"], stats["partitions"]) == (4, 3, 2)
    assert (stats["resident_documents"], stats["resident_vectors"], stats["resident_partitions"]) == (0, 0, 0)
    index.search("aa", scope=Scope("acme"))
    stats = index.admin.stats()
    assert (stats["vectors"], stats["resident_vectors"]) == (3, 1)
    index.delete("whole", scope=JANE)
    assert index.admin.stats()["vectors"] == 2
    Backend.of(index).use_clock(lambda: 4_000_000_000_000_000)
    assert index.admin.stats()["vectors"] == 2  # those that have not expired
    index.upsert("soon", "aaa", scope=JANE, expires_at=4_000_000_001)
    assert index.admin.stats()["vectors"] == 3
    Backend.of(index).use_clock(lambda: 4_000_000_002_000_000)
    assert (index.admin.stats()["documents"], index.admin.stats()["vectors"]) == (3, 2)


def test_export_and_copy(open_index: Open, tmp_path: Path) -> None:
    if open_index.kind == "memory":  # type: ignore[attr-defined]
        pytest.skip("an index in memory cannot be exported")
    index = open_index(embedder=Toy())
    index.upsert("a", TEXT, scope=JANE)
    index.upsert("b", "short", scope=JANE)
    index.admin.export(tmp_path / "all.jsonl", plaintext=True)
    other = open_index("other", embedder=Toy())
    assert other.admin.import_(tmp_path / "all.jsonl") == 2
    for id in "ab":
        one, two = index.get(id, scope=JANE), other.get(id, scope=JANE)
        assert one is not None and two is not None
        left, right = ([*v] if isinstance(v, PassageVectors) else [v] for v in (one.vector, two.vector))
        for mine, copied in zip(left, right, strict=True):
            np.testing.assert_array_equal(mine, copied)
    assert other.admin.check().clean


@pytest.mark.parametrize("embeds", [True, False])
def test_an_export_tells_no_vector_from_a_pending_one(open_index: Open, tmp_path: Path, embeds: bool) -> None:
    if open_index.kind == "memory":  # type: ignore[attr-defined]
        pytest.skip("an index in memory cannot be exported")
    toy = Toy()
    index = open_index(embedder=toy)
    for id in ("whole", "removed", "pending"):
        toy.fails = id == "pending"
        index.upsert(id, TEXT, scope=JANE)
    index.patch("removed", scope=JANE, vector=None)
    index.admin.export(tmp_path / "all.jsonl", plaintext=True)
    other = open_index("other", embedder=Toy() if embeds else None)
    assert other.admin.import_(tmp_path / "all.jsonl") == 3
    seen = {}
    for id in ("whole", "removed", "pending"):
        record = other.get(id, scope=JANE)
        assert record is not None
        seen[id] = (record.vector is not None, record.pending)
    assert seen == {"whole": (True, False), "removed": (False, False), "pending": (embeds, not embeds)}
    if not embeds:  # the embedder that comes later is that of the vectors
        with pytest.raises(EmbedderMismatchError):
            other.embedder = Toy("other letters")
        other.embedder = Toy()
        assert other.admin.backfill().embedded == 1
    other.admin.export(tmp_path / "again.jsonl", plaintext=True)
    lines = (tmp_path / "again.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["id"] for line in lines if '"vector": null' in line] == ["removed"]


def test_passages_of_the_writer_survive_an_export(open_index: Open, tmp_path: Path) -> None:
    if open_index.kind == "memory":  # type: ignore[attr-defined]
        pytest.skip("an index in memory cannot be exported")
    toy, own = Toy(), [(0, 12), (31, 60)]
    index = open_index(embedder=toy)
    index.upsert("own", TEXT, scope=JANE, passages=own)
    index.upsert("none", TEXT, scope=JANE, passages=False)
    index.upsert("patched", TEXT, scope=JANE, passages=own)
    index.patch("patched", scope=JANE, vector=toy.embed_query("a"))
    toy.fails = True
    index.upsert("own, pending", TEXT, scope=JANE, passages=own)
    index.upsert("none, pending", TEXT, scope=JANE, passages=False)
    index.admin.export(tmp_path / "all.jsonl", plaintext=True)
    other = open_index("other", embedder=Toy())
    assert other.admin.import_(tmp_path / "all.jsonl") == 5
    for again in (False, True):
        if again:
            other.admin.reembed(Toy("other letters"))
        for id in ("own", "none"):
            written, pending = (other.get(name, scope=JANE) for name in (id, f"{id}, pending"))
            assert written is not None and pending is not None
            for record in (written, pending):
                spans = record.vector.spans.tolist() if isinstance(record.vector, PassageVectors) else []
                assert spans == ([list(pair) for pair in own] if id == "own" else []), (record.id, again)


def test_older_versions_refuse_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "one.scrubjay"
    with Index.open(path, dim=2) as index:
        index.upsert("a", "one", scope=JANE, vector=[1, 0])

        def version() -> int:
            with sqlite3.connect(path) as connection:
                return int(connection.execute("PRAGMA user_version").fetchone()[0])

        assert version() == schema.FORMAT
        index.upsert("b", "one", scope=JANE, vector=[[1, 0]])
        assert version() == schema.FORMAT | 0x400
    monkeypatch.setattr(schema, "FLAGS", schema.ENCRYPTED | schema.CONTEXTS)  # as in earlier versions
    with pytest.raises(StoreFormatError, match="newer Scrubjay"):
        Index.open(path)


def test_shared_and_filtered_and_diverse(open_index: Open) -> None:
    index = open_index(dim=3)
    random = np.random.default_rng(4)
    made = {}
    for number in range(200):
        rows = random.normal(size=(1 + number % 4, 3))
        made[f"m{number}"] = rows
        scope = JANE if number % 3 else Scope("acme")
        index.upsert(f"m{number}", "t", scope=scope, vector=rows, metadata={"odd": number % 2})
    for number in range(0, 200, 5):
        index.delete(f"m{number}", scope=JANE)
        index.delete(f"m{number}", scope=Scope("acme"))
        del made[f"m{number}"]
    query = random.normal(size=3)

    def best(rows: Any) -> float:
        return float((rows @ query / np.linalg.norm(rows, axis=1) / np.linalg.norm(query)).max())

    for odd in (None, 0, 1):
        chosen = {id: best(rows) for id, rows in made.items() if odd is None or int(id[1:]) % 2 == odd}
        expected = sorted(chosen, key=lambda id: -chosen[id])[:10]
        filter = None if odd is None else {"odd": odd}
        hits = index.search(vector=query, scope=JANE, filter=filter)
        assert [round(hit.score, 2) for hit in hits] == [round(chosen[id], 2) for id in expected]
    diverse = index.search(vector=query, scope=JANE, query=Query(mode="vector", mmr=0.5))
    assert len(set(diverse.ids.tolist())) == 10


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"passages": True}, "^passages: expected pairs"),
        ({"passages": "ab"}, "^passages: expected pairs"),
        ({"passages": [(0, 1.5)]}, r"^passages\[0\]: expected \(start, end\)"),
        ({"passages": [(0, 1), (2, 2)]}, r"^passages\[1\]: expected 0 <= start < end <= 3, got 2, 2"),
        ({"passages": [(0, 4)]}, "got 0, 4"),
        ({"passages": []}, "^passages: expected 1 to 16384"),
        ({"passages": [(0, 1)], "vector": [1, 0]}, r"^vector: expected shape \(1, dim\) like the passages"),
        (
            {"passages": [(0, 1)], "vector": np.eye(2)},
            r"^vector: expected shape \(1, dim\) like the passages",
        ),
        ({"passages": False, "vector": np.eye(2)}, "^passages: expected those of the vectors, got False"),
        ({"vector": np.ones((2, 3))}, r"^vector: expected shape \(2,\), got \(2, 3\)"),
        ({"vector": np.array([[1, 0], [0, 0]])}, "^vector: expected a direction"),
        ({"vector": np.ones((2, 2, 2))}, "^vector: expected shape"),
        ({"vector": PassageVectors(np.eye(2), np.array([[0, 1]]))}, "^vector: expected spans of shape"),
        ({"vector": PassageVectors(np.eye(2), np.array([[0, 1], [3, 2]]))}, "end behind their start"),
    ],
)
def test_bad_arguments_are_named(fields: dict[str, Any], error: str) -> None:
    index = Index(dim=2)
    with pytest.raises((TypeError, ValueError), match=error):
        index.upsert("a", "one", scope=JANE, **fields)
    assert len(index) == 0


def test_embedders_declare_passage_and_whole_text_lengths() -> None:
    assert WordLlama().passage_chars == 700 and WordLlama(passage_chars=None).passage_chars is None
    short = Truncated(WordLlama(passage_chars=77, whole_chars=99), 64)
    assert (short.passage_chars, short.whole_chars) == (77, 99)
    index = Index(embedder=short)
    index.upsert("a", "Trains are slow. " * 6, scope=JANE)
    index.upsert("b", "Trains are slow. " * 5, scope=JANE)
    a, b = index.get_many(["a", "b"], scope=JANE)
    assert a.vector.rows.shape == (2, 64) and b.vector.shape == (64,)
    with pytest.raises(ValueError, match="passage_chars: expected 50 or more"):
        WordLlama(passage_chars=49)
    with pytest.raises(TypeError, match="passage_chars"):
        WordLlama(passage_chars=60.0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="whole_chars"):
        WordLlama(whole_chars=None)  # type: ignore[arg-type]
    index = Index(embedder=WordLlama(passage_chars=None))
    index.upsert("a", LONG, scope=JANE)
    record = index.get("a", scope=JANE)
    assert record is not None and np.asarray(record.vector).shape == (256,)


def test_a_text_of_headings_alone_and_one_without_words() -> None:
    toy = Toy()
    index = Index(embedder=toy)
    index.upsert("headings", "# Only a heading\n" * 9, scope=JANE)
    index.upsert("digits", "1234567. " * 30, scope=JANE)
    index.upsert("some", "1234567. " * 9 + "aaaa bbbb. " + "1234567. " * 9, scope=JANE)
    headings, digits, some = index.get_many(["headings", "digits", "some"], scope=JANE)
    assert headings.vector.shape == (26,) and digits.vector is None
    assert isinstance(some.vector, PassageVectors) and 1 <= len(some.vector.rows) <= 2

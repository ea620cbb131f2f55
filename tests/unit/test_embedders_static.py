"""Static embedders from a file."""

from __future__ import annotations

import re
import struct
import threading
from pathlib import Path

import numpy as np
import pytest

from scrubjay import CorruptIndexError, Index, Query, Scope, StaticEmbedder
from scrubjay.base.errors import EmbedderError
from scrubjay.embedders import Embedder, Static, as_embedder, from_spec
from scrubjay.embedders.static import PACKAGED_NAME
from tests.properties.test_word_piece import TABLE
from tests.reference import word_piece

ACME = Scope("acme")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with a tiny table."""
    file = tmp_path / "tiny.static"
    file.write_bytes(word_piece.write(TABLE, 8))
    return file


def test_static_implements_the_protocol(path: Path) -> None:
    embedder = Static(path)
    assert isinstance(embedder, Embedder)
    assert (embedder.dim, embedder.passage_chars, embedder.whole_chars) == (48, 700, 16_000)
    assert embedder.name.startswith("static/tiny-") and len(embedder.name) == len("static/tiny-") + 8
    assert repr(embedder) == f"<scrubjay.embedders.Static {embedder.name!r}, dim 48>"
    vectors = embedder.embed_documents(["the staging", "not"])
    assert vectors.dtype == np.float32 and vectors.shape == (2, 48)
    np.testing.assert_array_equal(embedder.embed_queries(["the staging", "not"]), vectors)
    np.testing.assert_array_equal(embedder.embed_query("not"), vectors[1])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert embedder.embed_documents([]).shape == (0, 48)
    assert not embedder.embed_query("").any()
    with pytest.raises(TypeError, match="one str"):
        embedder.embed_documents("a text")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="passage_chars: expected 50 or more, got 7"):
        Static(path, passage_chars=7)


def test_a_name_of_the_command_line_is_a_file(path: Path) -> None:
    named = from_spec(f"static:{path}")
    assert isinstance(named, Static) and named.name == Static(path).name
    assert isinstance(as_embedder(f"static:{path}"), Static)


def test_the_package_has_a_table_of_its_own(tmp_path: Path) -> None:
    embedder = from_spec("static")
    assert isinstance(embedder, Static)
    assert (embedder.name, embedder.dim) == (PACKAGED_NAME, 384)
    query, near, far = embedder.embed_documents(["travel by railway", "a train journey", "a raincoat"])
    assert query @ near > query @ far + 0.1
    with Index.open(tmp_path / "memories.scrubjay", "static") as index:
        index.upsert("a", "Prefers trains to planes.", scope=ACME)
        index.upsert("b", "Drinks green tea in the morning.", scope=ACME)
    with Index.open(tmp_path / "memories.scrubjay", "auto") as index:
        assert index.embedder is not None and index.embedder.name == PACKAGED_NAME
        assert index.search("railway", scope=ACME, query=Query(mode="vector"))[0].id == "a"


def test_the_package_says_whose_texts_its_table_was_made_of() -> None:
    from benchmarks.embedder import sources  # not available beside the tests of a wheel

    notice = (Path(__file__).resolve().parents[2] / "NOTICE").read_text(encoding="utf-8")
    carried = notice.partition("Not in the wheel")[0]
    for source in (*sources.DEBIAN, *sources.WHEELS, *sources.CATALOGUES):
        assert re.search(
            rf"(?m)^  {source.package} +{re.escape(source.version)} +{re.escape(source.licence)}$", carried
        )
    assert (
        "BAAI/bge-small-en-v1.5" in carried
        and "WordNet 3.0 Copyright 2006 by Princeton University" in carried
    )


def test_other_numbers_are_another_model(path: Path) -> None:
    name = Static(path).name
    changed = word_piece.Table(TABLE.name, TABLE.tokens, TABLE.factors, TABLE.rows[::-1])
    path.write_bytes(word_piece.write(changed, 8))
    assert Static(path).name != name


def test_an_index_searches_with_it(path: Path, tmp_path: Path) -> None:
    embedder = Static(path)
    with Index.open(tmp_path / "memories.scrubjay", embedder) as index:
        index.upsert("a", "the staging token", scope=ACME)
        index.upsert("b", "мир", scope=ACME)
        index.upsert("c", "", scope=ACME)
        hits = index.search("stagings", scope=ACME, query=Query(mode="vector"))
        assert hits[0].id == "a" and hits.mode == "vector"
        assert index.admin.stats()["query_cache_misses"] == 0  # embedded inside the search
    with Index.open(tmp_path / "memories.scrubjay") as index:  # the search names the one that is needed
        assert embedder.name in index.search("staging", scope=ACME).degraded[0]


def test_a_damaged_file_is_named(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data)
    with pytest.raises(EmbedderError, match=r"tiny\.static: static table: checksum mismatch"):
        Static(path)
    with pytest.raises(CorruptIndexError, match="static table: checksum mismatch"):
        StaticEmbedder.read(bytes(data))
    path.write_bytes(b"")
    with pytest.raises(EmbedderError, match="expected a file that begins with SJSTATIC, got 0 other bytes"):
        Static(path)
    with pytest.raises(FileNotFoundError):
        Static(path.with_name("absent"))


@pytest.mark.parametrize(
    ("at", "number", "message"),
    [
        (8, 2, "expected format 1, got 2"),
        (12, 20, "expected 16, 32, ... 4096 dimensions, got 20"),
        (16, 0, "expected 1 to 2097152 tokens, got 0"),
        (20, 5, "expected elements of 4 or 8 bits, got 5"),
        (24, 999, "expected a name of 1 to 200 bytes, got 999"),
        (28, 7, "expected .* bytes, got"),
    ],
)
def test_a_header_is_checked_number_by_number(at: int, number: int, message: str) -> None:
    data = bytearray(word_piece.write(TABLE, 4))
    struct.pack_into("<I", data, at, number)
    struct.pack_into("<Q", data, len(data) - 8, word_piece.hash64(bytes(data[:-8])))
    with pytest.raises(CorruptIndexError, match=message):
        StaticEmbedder.read(bytes(data))


def test_embedding_releases_the_gil_and_gives_equal_vectors_in_threads(path: Path) -> None:
    embedder, several = Static(path), ["the staging token " * 50, "мир", ""] * 200
    expected = embedder.embed_documents(several)
    found: list[bool] = []

    def embed() -> None:
        found.append(np.array_equal(embedder.embed_documents(several), expected))

    threads = [threading.Thread(target=embed) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 4

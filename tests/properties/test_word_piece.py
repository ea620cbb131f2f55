"""The native static embedder gives the tokens and vectors of plain Python and NumPy.

Code points are those of this Python's Unicode version: the oracle cannot judge what a newer version has added (see
`test_text_properties.py`).
"""

from __future__ import annotations

import hashlib
import random
import unicodedata

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from scrubjay import StaticEmbedder
from tests.properties.test_simd_levels import LEVELS, in_process, refusal
from tests.reference import word_piece as reference

WORDS = "the a an ing staging token re un do not 1 19 84 東 京 é e ο мир ’ – € . , ' - # @ / : < > ! ( ) ß ss".split()
WHOLE = [*WORDS, *"etaoinshrdlu", "ab", "éa"]
TOKENS = [*WHOLE, *(f"##{word}" for word in [*"etaoinshr019", "ing", "ab", "s", "ir", "é", "東"]), "##", "a"]


def made(dim: int = 48, seed: int = 7) -> reference.Table:
    numbers = np.random.default_rng(seed)
    factors = numbers.uniform(0.01, 2, len(TOKENS)).astype(np.float32)
    rows = numbers.integers(-8, 8, (len(TOKENS), dim)).astype(np.int8)
    return reference.Table("tiny", TOKENS, factors, rows)


TABLE = made()
IDS = TABLE.ids
NATIVE = StaticEmbedder.read(reference.write(TABLE, 4))
PIECES = [
    *WHOLE, " ", "  ", "\t", "\n", "\x00", "\x7f", "\u00a0", "\u3000", "\ufeff", "\u200d", "\u00ad",
    "The", "STAGING", "stagings", "tokeniser", "don't", "don’t", "İ", "ſ", "e\u0301", "É", "a\u0308", "²", "½", "…",
    "Ⅷ", "ﬃ", "Ω", "МИР", "東京", "へ", "ガ", "한국", "ไทย", "שָׁלוֹם", "हिन्दी", "🐦", "👩‍👩‍👧",
    "\U0010ffff", "\ufffd", "q" * 99, "é" * 60,
]  # fmt: skip
UNJUDGED = "Cn", "Co", "Cs"
texts = st.lists(
    st.one_of(
        st.sampled_from(PIECES),
        st.text(st.characters(exclude_categories=UNJUDGED), max_size=12),
        st.text(alphabet="etaoin .,", max_size=30),
        st.characters(categories=["Lo", "So", "Mn", "Cc", "Po", "Zs"]).map(lambda character: character * 3),
    ),
    max_size=40,
).map("".join)


@given(text=texts)
@example("")
@example("q" * 100 + "a")
@example("é" * 51)
@example("a" + "東" * 60)
@settings(max_examples=2_000, deadline=None)
def test_tokens_are_those_of_the_reference(text: str) -> None:
    assert NATIVE.tokenize(text) == reference.tokenize(text, IDS)


@given(text=texts)
@settings(max_examples=500, deadline=None)
def test_vectors_are_those_of_numpy(text: str) -> None:
    expected = reference.embed(reference.tokenize(text, IDS), TABLE)
    np.testing.assert_allclose(NATIVE.embed_query(text), expected, atol=2e-6)


@given(several=st.lists(texts, max_size=8))
@settings(deadline=None)
def test_a_batch_is_its_texts(several: list[str]) -> None:
    matrix = NATIVE.embed(several)
    assert matrix.shape == (len(several), NATIVE.dim)
    for row, text in zip(matrix, several, strict=True):
        assert row.tobytes() == NATIVE.embed_query(text).tobytes()


@given(data=st.binary(max_size=60))
@settings(deadline=None)
def test_bytes_are_read_as_python_reads_them(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    assume(all(unicodedata.category(character) not in UNJUDGED for character in text))
    assert NATIVE.tokenize(data) == reference.tokenize(text, IDS)


@pytest.mark.parametrize("piece", ["a", "word ", "東京", "é", "the.", "\x00", "q"])
def test_very_long_texts(piece: str) -> None:
    text = piece * (30_000 // len(piece))
    ids = reference.tokenize(text, IDS)
    assert NATIVE.tokenize(text) == ids
    np.testing.assert_allclose(NATIVE.embed_query(text), reference.embed(ids, TABLE), atol=2e-4)


@given(seed=st.integers(0, 1_000), dim=st.sampled_from([16, 48, 384]), bits=st.sampled_from([4, 8]))
@settings(max_examples=40, deadline=None)
def test_the_file_is_read_as_the_reference_reads_it(seed: int, dim: int, bits: int) -> None:
    data = reference.write(made(dim, seed), bits)
    table = reference.read(data)
    native = StaticEmbedder.read(data)
    assert native.dim == dim
    assert native.name == f"tiny-{int.from_bytes(data[-8:-4], 'little'):08x}"
    for token in ("staging", "the", "東"):
        expected = reference.embed(reference.tokenize(token, table.ids), table)
        np.testing.assert_allclose(native.embed_query(token), expected, atol=2e-6)


def vectors_digest() -> str:
    """Return the digest of all bits of a fixed set of vectors."""
    numbers = random.Random(5)
    several = ["".join(numbers.choices(PIECES, k=numbers.randint(0, 60))) for _ in range(300)]
    return hashlib.sha256(NATIVE.embed(several).tobytes()).hexdigest()


def test_all_levels_give_the_same_bits() -> None:
    code = "from tests.properties.test_word_piece import vectors_digest; print(vectors_digest())"
    digests = {}
    for level in LEVELS:
        if refusal(level) is None:
            finished = in_process(level, "-c", code)
            assert finished.returncode == 0, finished.stderr[-2000:]
            digests[level] = finished.stdout.split()[-1]
    assert len(set(digests.values())) == 1, digests

"""The native embedder gives the tokens of the `tokenizers` library and the vectors of NumPy."""

from __future__ import annotations

import hashlib
import random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scrubjay.embedders import default
from tests.properties.test_simd_levels import LEVELS, in_process, refusal
from tests.reference import static_embedder as reference

NATIVE = default().native
MARKER = "\u2581"
# Pieces at which tokenizers differ: words with and without their space, runs of spaces, markers, added tokens and
# similar texts, bytes that have tokens, composed and decomposed letters, scripts without spaces, emoji sequences.
PIECES = [
    *(
        " ",
        "  ",
        "   ",
        MARKER,
        MARKER * 2,
        "\t",
        "\n",
        "\r\n",
        "\x00",
        "\x1b",
        "\x7f",
        "\u00a0",
        "\u3000",
        "\ufeff",
    ),
    *(
        "the",
        " the",
        "The",
        "THE",
        "ing",
        " staging",
        "tokenization",
        "antidisestablishmentarianism",
        "sk-stg-0041",
    ),
    *(
        ".",
        ",",
        "...",
        "!?",
        "'s",
        "--",
        "://",
        "#",
        "@",
        "<",
        ">",
        "<s>",
        "</s>",
        "<unk>",
        "<s",
        "<0x0A>",
        "<0x",
    ),
    *(
        "é",
        "e\u0301",
        "ß",
        "ſ",
        "İ",
        "ﬁ",
        "Ω",
        "мир",
        " мир",
        "東京",
        "へ",
        "한국",
        "ไทย",
        "שלום",
        "\u200b",
        "\u200d",
    ),
    *("🐦", "👩‍👩‍👧", "🏳️‍🌈", "\U0010ffff", "\ufffd", "0", "1984", "3.14", "a", "b", "zzzzzzzz"),
]
texts = st.lists(
    st.one_of(
        st.sampled_from(PIECES),
        st.text(max_size=12),
        st.text(alphabet="etaoin .,", max_size=30),
        st.characters(categories=["Lo", "So", "Mn", "Cc"]).map(lambda character: character * 3),
    ),
    max_size=40,
).map("".join)


@given(text=texts)
@example("")
@example(" ")
@example(MARKER)
@example("<s>")
@example("a<s> b</s>  <unk>")
@example("<" * 100)
@example("a" * 33)
@example("ab" * 40)
@settings(max_examples=2_000, deadline=None)
def test_tokens_are_those_of_the_library(text: str) -> None:
    assert NATIVE.tokenize(text) == reference.tokenize(text)


@given(text=texts)
@example("")
@settings(max_examples=500, deadline=None)
def test_vectors_are_those_of_numpy(text: str) -> None:
    np.testing.assert_allclose(NATIVE.embed_query(text), reference.embed(text), atol=2e-7)


@given(several=st.lists(texts, max_size=8))
def test_a_batch_is_its_texts(several: list[str]) -> None:
    matrix = NATIVE.embed(several)
    assert matrix.shape == (len(several), NATIVE.dim)
    for row, text in zip(matrix, several, strict=True):
        assert row.tobytes() == NATIVE.embed_query(text).tobytes()


@given(data=st.binary(max_size=60))
def test_bytes_are_read_as_python_reads_them(data: bytes) -> None:
    assert NATIVE.tokenize(data) == reference.tokenize(data.decode("utf-8", "replace"))


@pytest.mark.parametrize("seed", range(4))
def test_thousands_of_mixed_texts(seed: int) -> None:
    numbers = random.Random(seed)
    for _ in range(2_000):
        text = "".join(numbers.choices(PIECES, k=numbers.choice([1, 2, 5, 20, 60])))
        assert NATIVE.tokenize(text) == reference.tokenize(text), text


@pytest.mark.parametrize("piece", ["a", "ab", " ", "word ", "東京", "<s>", "é", "antidisestablish", "\x00"])
def test_very_long_texts(piece: str) -> None:
    text = piece * (60_000 // len(piece))
    assert NATIVE.tokenize(text) == reference.tokenize(text)
    np.testing.assert_allclose(NATIVE.embed_query(text), reference.embed(text), atol=2e-4)


def vectors_digest() -> str:
    """Return the digest of all bits of a fixed set of vectors."""
    numbers = random.Random(5)
    several = ["".join(numbers.choices(PIECES, k=numbers.randint(0, 60))) for _ in range(300)]
    return hashlib.sha256(NATIVE.embed(several).tobytes()).hexdigest()


def test_all_levels_give_the_same_bits() -> None:
    code = "from tests.properties.test_static_embedder import vectors_digest; print(vectors_digest())"
    digests = {}
    for level in LEVELS:
        if refusal(level) is None:
            finished = in_process(level, "-c", code)
            assert finished.returncode == 0, finished.stderr[-2000:]
            digests[level] = finished.stdout.split()[-1]
    assert len(set(digests.values())) == 1, digests

"""The texts of the speed benchmarks are as documented: seeded, 20 to 40 words, some with identifiers."""

from __future__ import annotations

import pytest
from benchmarks.corpus import MAX_WORDS, MIN_WORDS, Corpus


@pytest.mark.parametrize("use_system", [False, True])
def test_texts_are_seeded(use_system: bool) -> None:
    assert Corpus(3, use_system=use_system).texts(50) == Corpus(3, use_system=use_system).texts(50)
    assert Corpus(3, use_system=use_system).texts(50) != Corpus(4, use_system=use_system).texts(50)


@pytest.mark.parametrize("use_system", [False, True])
def test_texts_have_the_promised_shape(use_system: bool) -> None:
    corpus = Corpus(5, use_system=use_system)
    texts = corpus.texts(500)
    assert all(MIN_WORDS <= len(text.split()) <= MAX_WORDS for text in texts)
    assert len(set(texts)) > 490
    for text in texts[:100]:
        query = corpus.query(text).split()
        assert 3 <= len(query) <= 8
        assert set(query) <= set(text.split())

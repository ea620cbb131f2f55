"""Truncated vectors: shapes, length, identity, and an index that answers with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scrubjay import Index, Scope, embedders
from scrubjay.embedders import Embedder, Function, Truncated


def ramps(texts: list[str]) -> Any:
    """A vector of 1, 2, 3, ... for each text; zeros for an empty one."""
    return np.array([[(i + 1) * bool(text) for i in range(8)] for text in texts], dtype=np.float32)


EIGHT = Function(ramps, dim=8, name="ramps")


def test_the_first_elements_at_length_one() -> None:
    short = Truncated(EIGHT, 2)
    assert isinstance(short, Embedder)
    assert (short.name, short.dim) == ("ramps[:2]", 2)
    expected = np.array([1.0, 2.0]) / np.sqrt(5)
    for vectors in (short.embed_documents(["a", "b"]), short.embed_queries(["a", "b"])):
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(vectors, [expected, expected], rtol=1e-6)
    np.testing.assert_allclose(short.embed_query("a"), expected, rtol=1e-6)
    assert repr(short).startswith("Truncated(")


def test_a_zero_vector_stays_zero_when_truncated() -> None:
    assert Truncated(EIGHT, 3).embed_documents(["", "a"])[0].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("dims", [0, -1, 9, True, 2.0, "2"])
def test_dims_out_of_range(dims: Any) -> None:
    with pytest.raises(ValueError, match="dims: expected an int from 1 to 8, got"):
        Truncated(EIGHT, dims)


def test_an_index_of_the_default_embedder_cut_in_half() -> None:
    jane = Scope("acme", user="jane")
    index = Index(embedder=Truncated(embedders.default(), 128))
    index.upsert("m1", "Drinks only decaf after lunch, otherwise she lies awake.", scope=jane)
    index.upsert("m2", "Invoices go out on the first Monday.", scope=jane)
    hits = index.search("trouble sleeping", scope=jane)
    assert hits.mode == "hybrid"
    assert hits[0].id == "m1"

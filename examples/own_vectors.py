"""Hybrid search with vectors of your own: no embedder, a filter, and the evidence for each hit.

Run: python examples/own_vectors.py
"""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

import scrubjay

NOTES = {
    "m1": ("The staging API key prefix is sk-stg-0041.", "keys"),
    "m2": ("Prefers trains to planes, window seat.", "travel"),
    "m3": ("The night train to Riga leaves at nine.", "travel"),
}


def embed(text: str) -> NDArray[np.float32]:
    """Return the sum of one random vector per word; stands for your model."""
    words = text.lower().strip(".?").split()
    rows = [np.random.default_rng(zlib.crc32(word.encode())).standard_normal(64) for word in words]
    return np.sum(rows, axis=0, dtype=np.float32)


def main() -> None:
    jane = scrubjay.Index(dim=64).scope("acme", user="jane")
    jane.upsert_many(
        {"id": id, "text": text, "vector": embed(text), "metadata": {"category": category}}
        for id, (text, category) in NOTES.items()
    )

    question = "which night train?"
    query = scrubjay.Query("rrf", candidates=50)  # made once, used for many searches
    hits = jane.search(
        question, vector=embed(question), k=2, filter={"category": "travel"}, query=query, explain=True
    )
    for hit in hits:
        print(
            f"{hit.id}  {hit.score:.4f}  bm25={hit.bm25}  cosine={hit.cosine}  {hit.matched_terms}  {hit.text}"
        )
    assert hits.mode == "hybrid" and hits[0].id == "m3"


if __name__ == "__main__":
    main()

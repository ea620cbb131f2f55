"""A small fixed workload that uses every kernel, at the level of SCRUBJAY_SIMD; prints the level and a digest.

`python -m tests.data.levels` imports only what it needs, since each level runs in its own process.
"""

from __future__ import annotations

import hashlib

import numpy as np

from scrubjay import Engine, Scope
from scrubjay._native import show_config_dict

__all__ = ["answers"]

WORDS = "oak jay acorn cache winter Trains, naïve ÉTUDE 鸟 sk-stg-0041 PG_PRD_01 v2.1.0 running ran".split()
N_TEXTS, N_QUERIES = 300, 8


def answers() -> str:
    """Return a digest of all bits of the answers: words, vectors of each metric and stored type, both fused."""
    random, digest = np.random.default_rng(7), hashlib.sha256()
    texts = [" ".join(random.choice(WORDS, size=random.integers(1, 30))) for _ in range(N_TEXTS)]
    scope = Scope("acme", user="jane")
    for dim in (3, 100, 257):  # less than one vector register; several and a remainder
        for metric in ("cosine", "ip", "l2"):
            for dtype in ("f16", "f32", "i8"):
                engine = Engine(dim, metric, dtype=dtype)
                vectors = random.normal(size=(N_TEXTS, dim)).astype(np.float32)
                engine.upsert_many(list(range(N_TEXTS)), texts, scope=scope, vectors=vectors)
                for _ in range(N_QUERIES):
                    text, vector = " ".join(random.choice(WORDS, size=4)), random.normal(size=dim)
                    for found in (
                        engine.search(text, scope=scope, k=40),
                        engine.search(vector=vector, scope=scope, k=40),
                        engine.search(text, vector=vector, scope=scope, k=40),
                    ):
                        assert len(found.ids) > 0
                        digest.update(repr(list(found.ids)).encode())
                        digest.update(found.scores.tobytes())
    return digest.hexdigest()


if __name__ == "__main__":
    print(show_config_dict()["simd_active"], answers())

"""Published figures for these sets (BENCHMARKS.md, "Quality": recall@10, nDCG@10)."""

from __future__ import annotations

Figures = tuple[float, float]

PUBLISHED: dict[str, dict[str, Figures]] = {
    "locomo_dev": {
        "lexical": (0.565, 0.427),
        "wordllama256 vector": (0.386, 0.276),
        "wordllama256 RRF(60)": (0.545, 0.392),
        "wordllama256 RRF(10)": (0.582, 0.407),
        "bge_small_int8 vector": (0.584, 0.407),
        "bge_small_int8 RRF(60)": (0.644, 0.479),
        "bge_small_int8 RRF(10)": (0.687, 0.497),
    },
    "lme_user_dev": {
        "lexical": (0.834, 0.720),
        "wordllama256 vector": (0.923, 0.790),
        "wordllama256 RRF(60)": (0.886, 0.769),
        "wordllama256 RRF(10)": (0.905, 0.785),
        "bge_small_int8 vector": (0.901, 0.756),
        "bge_small_int8 RRF(60)": (0.894, 0.791),
        "bge_small_int8 RRF(10)": (0.913, 0.796),
    },
    "ident_dev": {
        "lexical": (0.933, 0.927),
        "wordllama256 vector": (0.929, 0.842),
        "wordllama256 RRF(60)": (0.936, 0.910),
        "wordllama256 RRF(10)": (0.950, 0.916),
        "bge_small_int8 vector": (0.911, 0.852),
        "bge_small_int8 RRF(60)": (0.948, 0.913),
        "bge_small_int8 RRF(10)": (0.963, 0.930),
    },
    "techcodes": {
        "lexical": (1.000, 0.972),
        "wordllama256 vector": (0.336, 0.288),
        "wordllama256 RRF(60)": (0.686, 0.505),
        "wordllama256 RRF(10)": (0.977, 0.672),
        "bge_small_int8 vector": (0.438, 0.360),
        "bge_small_int8 RRF(60)": (0.774, 0.591),
        "bge_small_int8 RRF(10)": (0.982, 0.731),
    },
}

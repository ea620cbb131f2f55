"""How are hits shown to a person?"""

from __future__ import annotations

from scrubjay.cli.terminal import fit, render_table, terminal_width
from scrubjay.results import Hit, Hits

__all__ = ["evidence", "hits_table"]


def hits_table(hits: Hits, *, explained: bool) -> str:
    """Return a table of hits: rank, id, score, text and, if the search explained, why."""
    head = ["#", "id", "score", "text"]
    rows = [[str(i), str(hit.id), f"{hit.score:.4f}", hit.text] for i, hit in enumerate(hits, start=1)]
    if explained:
        head.append("why")
        for row, hit in zip(rows, hits, strict=True):
            row.append(fit(evidence(hit, hits.mode), terminal_width() * 2 // 5))
    return render_table(head, rows, stretch=3)


def evidence(hit: Hit, mode: str) -> str:
    """Say in a few words why `hit` is where it is; the search must have explained."""
    parts = []
    if mode == "hybrid":
        parts.append(f"lexical {_rank(hit.lexical_rank)}, vector {_rank(hit.vector_rank)}")
    if mode != "vector" and hit.bm25 is not None:
        parts.append(f"bm25 {hit.bm25:.2f}")
    if mode != "lexical" and hit.similarity is not None:
        parts.append(f"cosine {hit.similarity:.2f}")
    if mode != "vector" and hit.matched_terms:
        parts.append("terms " + " ".join(hit.matched_terms))
    return "; ".join(parts)


def _rank(rank: int | None) -> str:
    return "-" if rank is None else f"#{rank}"

"""Prints hits as text."""

from __future__ import annotations

from scrubjay._native import Scope
from scrubjay.cli.terminal import clean, dim, fit, render_table, terminal_width, width_of
from scrubjay.index import Hit, Hits

_LEAST_SNIPPET, _ELLIPSES = 24, 4


def hits_table(hits: Hits, *, explained: bool) -> str:
    """Return a table of hits: rank, id, scope (if there are several), score, text (of a long one its best snippet) and,
    if the search had explain=True, a line below each with the evidence."""
    head = ["#", "id", "scope", "score"]
    rows = [
        [str(i), str(hit.id), level(hit.scope), f"{hit.score:.4f}"] for i, hit in enumerate(hits, start=1)
    ]
    if len({row[2] for row in rows}) == 1:
        for cells in [head, *rows]:
            del cells[2]
    used = sum(max(width_of(clean(row[i])) for row in [head, *rows]) + 2 for i in range(len(head)))
    width = max(_LEAST_SNIPPET, terminal_width() - used - _ELLIPSES)
    head.append("text")
    for cells, hit in zip(rows, hits, strict=True):
        cells.append(str(hit.snippet(width)))
    lines = render_table(head, rows, stretch=len(head) - 1).split("\n")
    if explained:
        for row, hit in zip(range(len(rows), 0, -1), reversed(hits[:]), strict=True):
            lines.insert(row + 1, dim("   " + fit(clean(evidence(hit, hits.mode)), terminal_width() - 3)))
    return "\n".join(lines)


def level(scope: Scope) -> str:
    """Name the components of a scope, which identify it among the visible scopes.

    >>> level(Scope("acme")), level(Scope("acme", "jane")), level(Scope("acme", "jane", "coder"))
    ('tenant', 'user', 'user+agent')
    """
    return "+".join(name for name in ("user", "agent") if getattr(scope, name) is not None) or "tenant"


def evidence(hit: Hit, mode: str) -> str:
    """Describe briefly the evidence for the rank of `hit`; the search must have explain=True."""
    parts = [f"relevance {hit.relevance}"]
    if mode == "hybrid":
        parts.append(ranks(hit))
    if mode != "vector" and hit.bm25 is not None:
        parts.append(f"bm25 {hit.bm25:.2f}")
    if mode != "lexical" and hit.similarity is not None:
        parts.append(f"cosine {hit.similarity:.2f}")
    if mode != "vector" and hit.matched_terms:
        parts.append("terms " + " ".join(hit.matched_terms))
    return "; ".join(parts)


def way(work: dict[str, int]) -> str:
    """Describe briefly the work of the vector search; empty if there was none.

    >>> way({"codes": 0, "originals": 34, "in_graphs": 100_000, "in_view": 170, "graphs_given_up": 0})
    'a graph of 100,000 vectors, 170 in view; 34 originals'
    """
    parts = []
    if work["in_graphs"]:
        parts.append(f"a graph of {work['in_graphs']:,} vectors, {work['in_view']:,} in view")
    if work["graphs_given_up"]:
        parts.append("a graph, given up")
    if work["codes"]:
        parts.append(f"{work['codes']:,} codes")
    if work["originals"]:
        parts.append(f"{work['originals']:,} originals")
    return "; ".join(parts)


def ranks(hit: Hit) -> str:
    """Describe the ranks of `hit` in the two rankings."""
    return f"lexical {_rank(hit.lexical_rank)}, vector {_rank(hit.vector_rank)}"


def _rank(rank: int | None) -> str:
    return "-" if rank is None else f"#{rank}"

"""Prints hits for a person."""

from __future__ import annotations

from scrubjay._native import Scope
from scrubjay.cli.terminal import clean, dim, fit, render_table, terminal_width, width_of
from scrubjay.index import Hit, Hits

_LEAST_SNIPPET, _ELLIPSES = 24, 4


def hits_table(hits: Hits, *, explained: bool) -> str:
    """Return a table of hits: rank, id, scope (where there are several), score, text (of a long one the part that
    answers) and, if the search explained, a line below each that says why."""
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
    """Name the components of a scope, which say which one it is of those that a search sees.

    >>> level(Scope("acme")), level(Scope("acme", "jane")), level(Scope("acme", "jane", "coder"))
    ('tenant', 'user', 'user+agent')
    """
    return "+".join(name for name in ("user", "agent") if getattr(scope, name) is not None) or "tenant"


def evidence(hit: Hit, mode: str) -> str:
    """Say in a few words why `hit` is where it is; the search must have explained."""
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
    """Say in a few words what was looked at to find the nearest vectors; empty if nothing was.

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
    """Say where `hit` stands in the two rankings."""
    return f"lexical {_rank(hit.lexical_rank)}, vector {_rank(hit.vector_rank)}"


def _rank(rank: int | None) -> str:
    return "-" if rank is None else f"#{rank}"

"""The figures claimed in README.md and docs/benchmarks.md, and their measurements in a run.

Claims are read from the tables themselves, cell by cell, so that no second list can become outdated; :data:`TABLES`
tells for each table where a run has its figures. Sentences with figures are listed in :data:`SENTENCES`, verbatim. A
test checks that all tables are known and that all sentences occur in the text.

A run maps each part to its report, as written by `python -m benchmarks`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FILES = ("README.md", "docs/benchmarks.md")
WITHOUT_FIGURES = ("Where it has run",)
"""Headings of tables that no run measures."""

Run = Mapping[str, Any]
Figures = tuple[float, ...]
Resolver = Callable[[Run, str, str], "Figures | None"]
"""(run, label of the row, label of the column) -> the figures of the cell, in its order and units, or None."""

_NUMBER = re.compile(r"(?<![\w.])(\d{1,3}(?:,\d{3})+|\d+)?(\.\d+)?(?![\w%])")
_ENGINES = {
    "Scrubjay": "scrubjay",
    "Scrubjay 0.1, on a file": "scrubjay file",
    "NumPy": "numpy",
    "usearch + Tantivy": "usearch + tantivy",
    "usearch + bm25s": "usearch + bm25s",
    "Qdrant Edge": "qdrant-edge",
}
_LIBRARIES = {
    "Scrubjay": "scrubjay",
    "bm25s": "bm25s",
    "Tantivy": "tantivy",
    "hnswlib": "hnswlib",
    "faiss HNSW": "faiss HNSW",
    "faiss Flat": "faiss Flat",
    "usearch": "usearch f16",
}
_SETS = {
    "long conversations": "locomo_dev",
    "assistant histories": "lme_user_dev",
    "identifiers in filler": "ident_dev",
    "compiler diagnostics": "techcodes",
}
_ARMS = {
    "BM25": "lexical",
    "vectors": "vector",
    "RRF(60)": "RRF(60)",
    "RRF(10)": "RRF(10)",
    "default": "default",
}
_QUALITY_MODEL = "bge_small_int8"


@dataclass(frozen=True)
class Claim:
    """One cell or sentence. `measured` has the figures in the order of `stated`; None: not in this run."""

    file: str
    heading: str
    what: str
    stated: Figures
    shown: str
    measured: Figures | None
    kind: str
    """"time" (smaller is better, depends on the machine), "quality" (greater is better), "share" or "ratio"."""

    @property
    def ratio(self) -> float | None:
        """Return measured over stated for the last figure (p95, nDCG@10)."""
        if not self.measured or not self.stated or self.stated[-1] == 0:
            return None
        return self.measured[-1] / self.stated[-1]


@dataclass(frozen=True)
class Table:
    """One table of Markdown."""

    file: str
    heading: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def numbers(text: str) -> Figures:
    """Return the figures of a cell, without names and versions.

    >>> numbers("14 / 20"), numbers(".60 / .93 ms"), numbers("1,608 / 2,501"), numbers("at once, 12 us")
    ((14.0, 20.0), (0.6, 0.93), (1608.0, 2501.0), (12.0,))
    """
    found = []
    for match in _NUMBER.finditer(text):
        if match[1] or match[2]:
            found.append(float((match[1] or "0").replace(",", "") + (match[2] or "")))
    return tuple(found)


def tables(file: str) -> Iterator[Table]:
    """Yield the tables of a file that have figures, in order."""
    heading, lines = "", (ROOT / file).read_text(encoding="utf-8").splitlines()
    place = 0
    while place < len(lines):
        line = lines[place]
        if line.startswith("#"):
            heading = line.lstrip("# ")
        if line.startswith("|") and place + 1 < len(lines) and re.fullmatch(r"\|[ :|-]+\|", lines[place + 1]):
            end = place + 2
            while end < len(lines) and lines[end].startswith("|"):
                end += 1
            rows = tuple(_cells(row) for row in lines[place + 2 : end])
            if heading not in WITHOUT_FIGURES:
                yield Table(file, heading, _cells(line), rows)
            place = end
        place += 1


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in line.strip().strip("|").split("|"))


def _named(label: str, names: Mapping[str, str]) -> str | None:
    """Return the engine whose name is the longest prefix of a label."""
    return next(
        (names[name] for name in sorted(names, key=len, reverse=True) if label.startswith(name)), None
    )


def hybrid_cell(run: Run, row: str, column: str) -> Figures | None:
    """Rows are engines, columns are sizes."""
    report, engine = run.get("hybrid", {}), _named(row, _ENGINES)
    if column.startswith("a written document"):
        added = (report.get("additions") or {}).get(engine) or {}
        in_ms = engine == "usearch + tantivy"
        return (added["us"]["p50"] / (1e3 if in_ms else 1),) if added.get("us") else None
    for visible, workload in ((1_000, "user-1k"), (10_000, "user-10k")):
        measured = report.get("workloads", {}).get(workload)
        if measured and measured["visible"] == visible and column.startswith(f"{visible:,}"):
            by = {found["engine"]: found for found in measured["rows"]}
            return (by[engine]["p50"], by[engine]["p95"]) if engine in by else None
    return None


def latency_cell(run: Run, row: str, column: str) -> Figures | None:
    """Rows are workloads of `benchmarks.latency`."""
    rows = {
        "1,000 memories, in a store": ("user-1k", "hybrid", 1_000),
        "10,000 memories, the same": ("user-10k", "hybrid", 10_000),
        "one partition of 1,000,000": ("big", "recall=0.95", 1_000_000),
    }
    measured = {(one["workload"], one["how"]): one for one in run.get("latency", {}).get("rows", ())}
    for begins, (workload, how, visible) in rows.items():
        found = measured.get((workload, how))
        if row.startswith(begins) and found and found["visible"] == visible:
            scale = 1e-3 if visible == 1_000_000 else 1.0  # stated in milliseconds
            return found["p50"] * scale, found["p95"] * scale
    inside = measured.get(("text", "text, embedded inside"))
    given = measured.get(("text", "text and vector given"))
    if row.startswith("with the text embedded") and inside and given:
        return (inside["p50"] / given["p50"],)
    return None


def quality_cell(run: Run, row: str, column: str) -> Figures | None:
    """Rows are judged sets, columns are rankings: recall@10, nDCG@10."""
    rankings = run.get("quality", {}).get(f"{_SETS.get(row)}, {_QUALITY_MODEL}", {})
    figures = rankings.get(_ARMS.get(column, ""))
    return None if figures is None else (figures["recall@10"], figures["ndcg@10"])


def truth_cell(run: Run, row: str, column: str) -> Figures | None:
    """Rows are ways of asking; one column for what is true, one for what is not."""
    figures = run.get("truth-confirmed" if "--confirmed" in row else "truth", {}).get("all", {})
    when = {"at": "end", "as": "dates", "by": "recall", "the": "recall"}[row.partition(" ")[0]]
    share = figures.get(f"{when} {'wrong' if column.startswith('not') else 'kept'}")
    if share is None:
        return None
    return (1 - share,) if column.startswith("not") else (share,)


def keyword_cell(run: Run, row: str, column: str) -> Figures | None:
    """Rows are numbers of documents and kinds of question (joined by a space), columns are libraries."""
    engine = _named(column, _LIBRARIES)
    documents, _, kind = row.partition(" ")
    for size in run.get("lexical", {}).get("sizes", ()):
        for cell in size["cells"]:
            if f"{size['documents']:,}" == documents and cell["kind"] == kind and cell["k"] == 10:
                found = cell["engines"].get(engine)
                return None if found is None else (found["p50"], found["p95"])
    return None


def vector_cell(run: Run, row: str, column: str) -> Figures | None:
    """Rows are numbers of vectors and k (joined by a space), columns are libraries; real embeddings."""
    n, _, k = row.partition(" ")
    return _vectors(run, "real", n, k or "10", _named(column, _LIBRARIES), "default")


def graph_cell(run: Run, row: str, column: str) -> Figures | None:
    """Rows are sizes with a graph: times and recall, ours and hnswlib's."""
    n, setting = row.split(" ", 1)[0].rstrip(","), "recall=0.93" if "0.93" in row else "default"
    engine = "hnswlib" if "hnswlib" in column else "scrubjay"
    names = ("recall",) if column.rpartition(", ")[2] == "found" else ("p50", "p95")
    return _vectors(run, "clustered", n, "10", engine, setting, names)


def stored_cell(run: Run, row: str, column: str) -> Figures | None:
    """Rows are vectors and the type in which they are stored."""
    name, _, dtype = row.rpartition(" ")
    model, _, dim = name.partition(", ")
    names = {"WordLlama": "wordllama256", "bge-small": "bge_small_int8"}
    found = (
        run.get("stored types", {}).get(f"{names.get(model, model)}, {dim.replace(',', '')}", {}).get(dtype)
    )
    if found is None:
        return None
    of = {"bytes": ("bytes",), "bytes in the file": ("file bytes",), "found": ("recall",)}
    return tuple(float(found[key]) for key in of.get(column, ("p50", "p95")))


def _vectors(
    run: Run,
    data: str,
    n: str,
    k: str,
    engine: str | None,
    setting: str,
    names: Sequence[str] = ("p50", "p95"),
) -> Figures | None:
    for cell in run.get("vector", {}).get("cells", ()):
        if (cell["data"], f"{cell['n']:,}", str(cell["k"])) == (data, n, k) and cell["dim"] == 256:
            for found in cell["rows"]:
                own = found["engine"].startswith("scrubjay")
                if found["setting"] == setting if own and engine == "scrubjay" else found["engine"] == engine:
                    return tuple(float(found[name]) for name in names)
    return None


def elsewhere(run: Run, row: str, column: str) -> Figures | None:
    """Figures of other machines or times, which no run can repeat."""
    return None


TABLES: dict[tuple[str, str, str], tuple[str, int, Resolver]] = {
    # (file, heading, second column) -> kind, columns that label a row, where the figures are
    ("README.md", "Figures", "1,000 memories, p50 / p95 us"): ("time", 1, hybrid_cell),
    ("docs/benchmarks.md", "Scrubjay alone", "p50 / p95"): ("time", 1, latency_cell),
    ("docs/benchmarks.md", "Scrubjay alone", "1,000 memories"): ("time", 1, elsewhere),
    ("docs/benchmarks.md", "Quality", "BM25"): ("quality", 1, quality_cell),
    ("docs/benchmarks.md", "Known items", "WordLlama"): ("quality", 1, elsewhere),
    ("docs/benchmarks.md", "Spelling mistakes", "without errors"): ("quality", 1, elsewhere),
    ("docs/benchmarks.md", "Reranking", "its own order"): ("quality", 1, elsewhere),
    ("docs/benchmarks.md", "Truth", "true, and in force"): ("quality", 1, truth_cell),
    ("docs/benchmarks.md", "Keywords", "queries"): ("time", 2, keyword_cell),
    ("docs/benchmarks.md", "Long questions", "words of the question"): ("time", 2, elsewhere),
    ("docs/benchmarks.md", "Ten thousand memories", "p50 / p95"): ("time", 1, elsewhere),
    ("docs/benchmarks.md", "Many hits and filters", "filter"): ("time", 3, elsewhere),
    ("docs/benchmarks.md", "Vectors", "k"): ("time", 2, vector_cell),
    ("docs/benchmarks.md", "Graphs", "Scrubjay, p50 / p95"): ("time", 1, graph_cell),
    ("docs/benchmarks.md", "Stored types", "type"): ("time", 2, stored_cell),
    ("docs/benchmarks.md", "Filtered vectors", "p50 / p95"): ("time", 1, elsewhere),
}


def two_threads(run: Run) -> Figures | None:
    """Calls on two threads over calls on one, at both sizes."""
    report = run.get("hybrid", {}).get("workloads", {})
    found = [
        row["threads"]["ratio"]
        for workload, visible in (("user-1k", 1_000), ("user-10k", 10_000))
        if report.get(workload, {}).get("visible") == visible
        for row in report[workload]["rows"]
        if row["engine"] == "scrubjay's engine" and row.get("threads")
    ]
    return tuple(found) if len(found) == 2 else None


def unknown_word(run: Run) -> Figures | None:
    """Milliseconds that an unknown word adds to three keywords."""
    by = {one["name"]: one["extra_info"] for one in run.get("calls", {}).get("benchmarks", ())}
    name = "test_engine[lexical, three keywords, 1,000{}]"
    known, unknown = by.get(name.format("")), by.get(name.format(", one unknown"))
    return None if known is None or unknown is None else ((unknown["p50_us"] - known["p50_us"]) / 1e3,)


def graph_memory(run: Run) -> Figures | None:
    """Bytes of a vector and its graph over hnswlib's, 100,000 clustered vectors."""
    for cell in run.get("vector", {}).get("cells", ()):
        if (cell["data"], cell["n"], cell["k"], cell["dim"]) == ("clustered", 100_000, 10, 256):
            by = {row["engine"]: row["bytes_a_vector"] for row in cell["rows"] if row["bytes_a_vector"]}
            if "scrubjay" in by and "hnswlib" in by:
                return (by["scrubjay"] / by["hnswlib"],)
    return None


SENTENCES: list[tuple[str, str, str, Callable[[Run], Figures | None]]] = [
    # file, its words, kind, where the figures are
    ("README.md", "A word that the scope does not hold costs 0.01 ms more", "time", unknown_word),
    ("docs/benchmarks.md", "Two threads answer 1.9 and 2.1 times as much as one", "ratio", two_threads),
    ("docs/benchmarks.md", "of the 100,000 take .59 of hnswlib's memory", "share", graph_memory),
]


def claims(run: Run) -> list[Claim]:
    """Return every claim in order, with its measurement in the run."""
    found = [claim for file in FILES for table in tables(file) for claim in _of_table(table, run)]
    for file, words, kind, resolver in SENTENCES:
        stated = tuple(number for number in numbers(words) if number < 1_000)
        found.append(Claim(file, "sentences", words, stated, words, resolver(run), kind))
    return found


def _of_table(table: Table, run: Run) -> Iterator[Claim]:
    known = TABLES.get((table.file, table.heading, table.head[1]))
    if known is None:
        raise KeyError(f"{table.file}, {table.heading}: no entry in TABLES for the columns {table.head}")
    kind, n_labels, resolver = known
    columns = [  # a repeated column name belongs to the column before it
        f"{table.head[place - 1]}, {name}" if name in table.head[:place] else name
        for place, name in enumerate(table.head)
    ]
    for row in table.rows:
        label = " ".join(row[:n_labels])
        for column, cell in zip(columns[n_labels:], row[n_labels:], strict=True):
            stated = numbers(cell)
            if stated:
                measured = resolver(run, label, column)
                if measured is not None and len(measured) != len(stated):
                    measured = None  # a cell of another shape, such as times of two runs
                of_kind = (
                    "quality" if column.rpartition(", ")[2] == "found" else kind
                )  # a share that was found
                yield Claim(table.file, table.heading, f"{label}: {column}", stated, cell, measured, of_kind)


def against_own(found: Sequence[Claim]) -> dict[str, tuple[float, float]]:
    """Return the ratio of peers' times to ours at p95, stated and measured, by file and label."""
    times: dict[str, tuple[float, float]] = {}
    for claim in found:
        own = _own_of(claim, found)
        if own is not None and claim.measured and own.measured:
            stated = claim.stated[-1] / own.stated[-1]
            times[f"{claim.file} {claim.heading} {claim.what}"] = (
                stated,
                claim.measured[-1] / own.measured[-1],
            )
    return times


def _own_of(claim: Claim, found: Sequence[Claim]) -> Claim | None:
    """Return Scrubjay's cell in the same column (engines in rows) or the same row (engines in columns)."""
    if claim.kind != "time" or len(claim.stated) != 2:
        return None
    label, _, column = claim.what.rpartition(": ")
    for other in found:
        if (other.file, other.heading) != (claim.file, claim.heading) or other is claim:
            continue
        other_label, _, other_column = other.what.rpartition(": ")
        same_column = other_column == column and other_label.startswith("Scrubjay")
        same_row = other_label == label and other_column.startswith("Scrubjay")
        if same_column or same_row:
            return None if label.startswith("Scrubjay") or column.startswith("Scrubjay") else other
    return None

"""Markdown tables of a report: ratios first, then times beside their lower bound, then the rest."""

from __future__ import annotations

from typing import Any

from benchmarks.compare.lexical_engines import RIVALS

WANTED_P50, WANTED_P95 = 4.0, 2.5


def number(value: float) -> str:
    """Format a time with three significant digits."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def pair(facts: dict[str, Any]) -> str:
    return f"{number(facts['p50'])} / {number(facts['p95'])}"


def triple(facts: dict[str, Any], full: int) -> str:
    fewer = f" ({facts['queries']} queries)" if facts["queries"] < full else ""
    return f"{pair(facts)} / {number(facts['p99'])}{fewer}"


def row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def table(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join([row(head), row(["---"] * len(head)), *(row(one) for one in rows)])


def rival_of(engines: dict[str, Any], at: str) -> tuple[str, float] | None:
    """Return the better of the rivals at this percentile."""
    there = [(engines[name][at], name) for name in RIVALS if name in engines]
    return (min(there)[1], min(there)[0]) if there else None


def ratios(cell: dict[str, Any]) -> dict[str, float]:
    """Return the ratio of each engine's time to Scrubjay's, and of Scrubjay's to its lower bound."""
    engines = cell["engines"]
    if "scrubjay" not in engines:
        return {}
    mine = engines["scrubjay"]
    found = {}
    for at in ("p50", "p95"):
        rival = rival_of(engines, at)
        if rival:
            found[f"best_{at}"] = rival[1] / mine[at]
        for name, facts in engines.items():
            if name != "scrubjay":
                found[f"{name}_{at}"] = facts[at] / mine[at]
        found[f"floor_{at}"] = mine[at] / cell["floor_us"][at]
    return found


def cell_line(cell: dict[str, Any]) -> str:
    """Format one cell on one line, for watching a run."""
    times = "; ".join(f"{name} {pair(facts)}" for name, facts in cell["engines"].items())
    return f"{cell['kind']}, k={cell['k']}: {times}; floor {pair(cell['floor_us'])}"


def lexical_page(report: dict[str, Any]) -> str:
    parts = [
        machine_line(report["machine"]),
        corpus_line(report),
        "### Ratios: how many times faster Scrubjay is (p50 / p95), and measured time over T_min",
        ratio_table(report),
        "### Microseconds a call (p50 / p95 / p99; T_min: p50 / p95)",
        time_table(report),
        "### Results: share of the k best by the engine's own lengths / by Scrubjay's formula",
        check_table(report),
        "### Writing and memory",
        write_table(report),
    ]
    return "\n\n".join(parts) + "\n\n" + "\n".join(f"- {line}" for line in remarks(report))


def machine_line(about: dict[str, Any]) -> str:
    native = about["scrubjay"]
    where = f"{about['cpu']}, {about['cores']} cores, pinned to core {about['core']}, load {about['load']}"
    build = f"{native.get('simd_active')}, {native.get('compiler')}, {native.get('build_type')}"
    peers = ", ".join(f"{name} {version}" for name, version in about["peers"].items() if version)
    return f"{where}; Python {about['python']}; scrubjay {native.get('version')} ({build}); {peers}"


def corpus_line(report: dict[str, Any]) -> str:
    corpus = report["corpus"]
    source = f"Texts: {corpus['source']} ({corpus['real_passages']:,} passages, seed {corpus['seed']})."
    notes = [f"{name}: {note}." for name, note in report["engines"].items()]
    missing = [f"Not installed: {', '.join(report['missing'])}."] if report["missing"] else []
    return " ".join([source, *notes, *missing])


def each_cell(report: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return [(size, cell) for size in report["sizes"] for cell in size["cells"]]


def label(size: dict[str, Any], cell: dict[str, Any]) -> list[str]:
    return [f"{size['documents']:,}", cell["kind"], str(cell["k"])]


def engine_rows(report: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(name for _, cell in each_cell(report) for name in cell["engines"]))


def ratio_table(report: dict[str, Any]) -> str:
    names = [name for name in engine_rows(report) if name != "scrubjay"]
    rows = []
    for size, cell in each_cell(report):
        by = ratios(cell)
        if not by:
            continue

        def both(name: str, by: dict[str, float] = by) -> str:
            return (
                f"{number(by[f'{name}_p50'])} / {number(by[f'{name}_p95'])}" if f"{name}_p50" in by else "-"
            )

        rows.append([*label(size, cell), both("best"), both("floor"), *(both(name) for name in names)])
    return table(
        ["documents", "queries", "k", f"better of {' and '.join(RIVALS)}", "over T_min", *names], rows
    )


def time_table(report: dict[str, Any]) -> str:
    names = engine_rows(report)
    full = report["corpus"]["queries"]
    rows = [
        [
            *label(size, cell),
            f"{cell['terms']:.1f}",
            f"{cell['postings']:,.0f}",
            *(triple(cell["engines"][name], full) if name in cell["engines"] else "-" for name in names),
            pair(cell["floor_us"]),
        ]
        for size, cell in each_cell(report)
    ]
    return table(["documents", "queries", "k", "terms", "postings", *names, "T_min"], rows)


def check_table(report: dict[str, Any]) -> str:
    names = [
        name for name in engine_rows(report) if all(name in cell["check"] for _, cell in each_cell(report))
    ]
    rows = []
    for size, cell in each_cell(report):
        facts = cell["check"]
        mine = facts.get("scrubjay")
        exact = f"{mine['identical']} of {mine['queries']}" if mine else "-"
        shown = [f"{facts[name]['recall']:.3f} / {facts[name]['overlap']:.3f}" for name in names]
        rows.append([*label(size, cell), exact, *shown])
    return table(["documents", "queries", "k", "scrubjay equal to the last bit", *names], rows)


def write_table(report: dict[str, Any]) -> str:
    rows = []
    for size in report["sizes"]:
        for name, built in size["build"].items():
            written = size.get("writes", {}).get(name)
            added, deleted = "-", "-"
            if written:
                added, deleted = pair(written["add_us"]), pair(written["delete_us"])
            elif "writes" in size:
                added = f"{built['seconds'] * 1e6:,.0f} (a new index)"
            rate = f"{built['documents_per_second']:,.0f}"
            rows.append([f"{size['documents']:,}", name, rate, added, deleted])
    return table(["documents", "engine", "build, documents/s", "add one, us", "delete one, us"], rows)


def remarks(report: dict[str, Any]) -> list[str]:
    """Return remarks on memory and deletes, one a line."""
    lines = []
    for size in report["sizes"]:
        if memory := size.get("memory"):
            lines.append(
                f"{size['documents']:,} documents: {memory['postings']:,} postings, {memory['terms']:,} terms; "
                f"{memory['bytes_a_posting']:.2f} bytes a posting in all, "
                f"{memory['bytes_a_posting_beyond_terms']:.2f} beyond 45 bytes a term; "
                f"{memory['memory_bytes_a_document']:,.0f} bytes a document, "
                f"of which text {memory['text_bytes_a_document']:,.0f}."
            )
    for tiny in report["tiny_partitions"]:
        lines.append(
            f"A partition of {tiny['documents_each']} documents of {tiny['words']} words "
            f"({tiny['postings_each']:.0f} postings): {tiny['reported_bytes_each']:,.0f} bytes beyond its texts "
            f"as reported, {tiny['resident_bytes_each']:,.0f} by the resident set."
        )
    if deletes := report.get("deletes"):
        lines.append(
            f"{deletes['deletes']:,} deletes spread over {deletes['documents']:,} documents: "
            f"p50 x {deletes['ratio_p50']:.3f}, p95 x {deletes['ratio_p95']:.3f}, "
            f"median query x {deletes['ratio_of_queries_median']:.3f}."
        )
    return lines

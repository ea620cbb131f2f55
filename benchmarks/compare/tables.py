"""How does a report read? Markdown: ratios first, then times beside their floor, then the rest."""

from __future__ import annotations

from typing import Any

from benchmarks.compare.lexical_engines import RIVALS

WANTED_P50, WANTED_P95 = 4.0, 2.5


def number(value: float) -> str:
    """Three significant digits are enough for a time."""
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
    """The better of the rivals at this percentile."""
    there = [(engines[name][at], name) for name in RIVALS if name in engines]
    return (min(there)[1], min(there)[0]) if there else None


def ratios(cell: dict[str, Any]) -> dict[str, float]:
    """How many times faster Scrubjay is than each engine, and how far above its floor."""
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
    """One cell on one line, for a run that is being watched."""
    times = "; ".join(f"{name} {pair(facts)}" for name, facts in cell["engines"].items())
    return f"{cell['kind']}, k={cell['k']}: {times}; floor {pair(cell['floor_us'])}"


def lexical_page(report: dict[str, Any]) -> str:
    about = report["machine"]
    native = about["scrubjay"]
    parts = [
        f"{about['cpu']}, {about['cores']} cores, pinned to core {about['core']}, load {about['load']}, niceness {about['niceness']}; Python {about['python']}; "
        f"scrubjay {native.get('version')} ({native.get('simd_active')}, {native.get('compiler')}, {native.get('build_type')}); "
        + ", ".join(f"{name} {version}" for name, version in about["peers"].items() if version),
        f"Texts: {report['corpus']['source']} ({report['corpus']['real_passages']:,} passages, seed {report['corpus']['seed']}). "
        + " ".join(f"{name}: {note}." for name, note in report["engines"].items())
        + (f" Not installed: {', '.join(report['missing'])}." if report["missing"] else ""),
        "### Ratios: how many times faster Scrubjay is (p50 / p95), and measured time over T_min",
        ratio_table(report),
        "### Microseconds a call (p50 / p95 / p99; T_min: p50 / p95)",
        time_table(report),
        "### Results: share of the formula's k best that is returned / overlap with Scrubjay's formula",
        check_table(report),
        "### Writing and memory",
        write_table(report),
    ]
    parts += [f"- {line}" for line in remarks(report)]
    return "\n\n".join(parts)


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
            return f"{number(by[f'{name}_p50'])} / {number(by[f'{name}_p95'])}" if f"{name}_p50" in by else "-"

        rows.append([*label(size, cell), both("best"), both("floor"), *(both(name) for name in names)])
    return table(["documents", "queries", "k", f"better of {' and '.join(RIVALS)}", "over T_min", *names], rows)


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
    names = [name for name in engine_rows(report) if any(name in cell["check"] for _, cell in each_cell(report))]
    rows = []
    for size, cell in each_cell(report):
        facts = cell["check"]
        exact = f"{facts['scrubjay']['identical']} of {facts['scrubjay']['queries']}" if "scrubjay" in facts else "-"
        shown = [f"{facts[name]['recall']:.3f} / {facts[name]['overlap']:.3f}" if name in facts else "-" for name in names]
        rows.append([*label(size, cell), exact, *shown])
    return table(["documents", "queries", "k", "scrubjay equal to the last bit", *names], rows)


def write_table(report: dict[str, Any]) -> str:
    rows = []
    for size in report["sizes"]:
        for name, built in size["build"].items():
            written = size.get("writes", {}).get(name)
            rows.append(
                [
                    f"{size['documents']:,}",
                    name,
                    f"{built['documents_per_second']:,.0f}",
                    pair(written["add_us"]) if written else f"{built['seconds'] * 1e6:,.0f} (a new index)" if "writes" in size else "-",
                    pair(written["delete_us"]) if written else "-",
                ]
            )
    return table(["documents", "engine", "build, documents/s", "add one, us", "delete one, us"], rows)


def remarks(report: dict[str, Any]) -> list[str]:
    lines = []
    for size in report["sizes"]:
        if memory := size.get("memory"):
            lines.append(
                f"{size['documents']:,} documents: {memory['postings']:,} postings, {memory['terms']:,} terms, {memory['bytes_a_posting']:.2f} bytes a posting in all "
                f"({memory['bytes_a_posting_beyond_terms']:.2f} beyond 45 bytes a term); {memory['memory_bytes_a_document']:,.0f} bytes a document, of which text {memory['text_bytes_a_document']:,.0f}."
            )
    for tiny in report["tiny_partitions"]:
        lines.append(
            f"A partition of {tiny['documents_each']} documents of {tiny['words']} words: {tiny['reported_bytes_each']:,.0f} bytes beyond its texts as reported, "
            f"{tiny['resident_bytes_each']:,.0f} by the resident set ({tiny['postings_each']:.0f} postings)."
        )
    if deletes := report.get("deletes"):
        lines.append(
            f"{deletes['deletes']:,} deletes spread over {deletes['documents']:,} documents: p50 x {deletes['ratio_p50']:.3f}, p95 x {deletes['ratio_p95']:.3f}, "
            f"median query x {deletes['ratio_of_queries_median']:.3f}."
        )
    return lines

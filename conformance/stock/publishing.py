"""Generates docs/conformance.md from the reports in results/: no figure in it is written by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from conformance.stock.catalogue import STORES, Store
from conformance.stock.running import RESULTS, ROOT

from memory_store_conformance import LEVELS, Report, Result, all_checks

__all__ = ["PAGE", "page"]

PAGE = ROOT / "docs" / "conformance.md"
_HEAD = Path(__file__).with_name("page.md")
_EVIDENCE_LENGTH = 220


def page() -> str:
    """Return the text of the page."""
    reports = [(store, _report(store)) for store in STORES if (RESULTS / f"{store.name}.json").exists()]
    parts = [_HEAD.read_text(encoding="utf-8").rstrip(), "", "## Results", ""]
    parts += _table(reports)
    parts += ["", *_versions(reports), "", "## Costs", "", *_costs(reports), "", "## What failed", ""]
    for store, report in reports:
        parts += _failures(store, report)
    parts += ["## The checks", "", *_checks()]
    return "\n".join(parts).rstrip() + "\n"


def _report(store: Store) -> Report:
    return Report.from_json((RESULTS / f"{store.name}.json").read_text(encoding="utf-8"))


def _table(reports: Sequence[tuple[Store, Report]]) -> list[str]:
    levels = [level for level in LEVELS if level != "costs"]
    rows = [_row(["store", *levels]), _row(["---"] * (1 + len(levels)))]
    for store, report in reports:
        cells = []
        for level in levels:
            counts = report.counts(level)
            n_asked = counts["passed"] + counts["failed"]
            cells.append(f"{counts['passed']} / {n_asked}" if n_asked else "not offered")
        rows.append(_row([store.title, *cells]))
    return rows


def _versions(reports: Sequence[tuple[Store, Report]]) -> list[str]:
    lines = ["Each cell: checks passed / checks that the store can be asked.", ""]
    for store, report in reports:
        packages = report.about["packages"]
        versions = ", ".join(f"{name} {packages[name]}" for name in packages)
        n_missing = sum(result.outcome == "not offered" for result in report.results)
        note = f"; {store.note}" if store.note else ""
        lines.append(
            f"- {store.title}: {versions}, Python {report.about['python']}; {n_missing} checks not offered{note}"
        )
    return lines


def _costs(reports: Sequence[tuple[Store, Report]]) -> list[str]:
    names = ["bytes an item", "bytes written an item", "write calls an item", "put p50 ms", "put p95 ms"]
    names += [f"of {n} {share} ms" for n in (100, 1000, 4000) for share in ("p50", "p95")]
    rows = [_row(["store", *names]), _row(["---"] * (1 + len(names)))]
    for store, report in reports:
        figures = {name: value for result in report.results for name, value in (result.figures or {}).items()}
        rows.append(_row([store.title, *(_figure(figures.get(name)) for name in names)]))
    return rows


def _figure(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:,.3g}" if isinstance(value, float) and value < 100 else f"{float(str(value)):,.0f}"


def _failures(store: Store, report: Report) -> list[str]:
    if not report.failures:
        return [f"**{store.title}**: nothing.", ""]
    lines = [f"**{store.title}**", ""]
    return [*lines, *(f"- `{result.id}`: {_evidence(result)}" for result in report.failures), ""]


def _evidence(result: Result) -> str:
    text = " ".join(result.evidence.replace("`", "'").split())
    text = text if len(text) <= _EVIDENCE_LENGTH else text[: _EVIDENCE_LENGTH - 4] + " ..."
    return f"`{text}`"


def _checks() -> list[str]:
    lines = []
    for level, about in LEVELS.items():
        lines += [f"**{level}**: {about}", ""]
        lines += [f"- `{check.id}`: {check.promise} *{check.why}*" for check in all_checks([level])]
        lines.append("")
    return lines


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"

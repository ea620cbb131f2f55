"""The HTML page of a run: every claim beside its measurement, plots, the calls of the micro suite, a profile.

The page is a single file with embedded plots. Times depend on the machine, so only the ratio to peers in the same run
is judged, and quality, which is the same everywhere.
"""

from __future__ import annotations

import base64
import importlib
import importlib.util
import tempfile
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from benchmarks import plots
from benchmarks.claims import Claim, Run, against_own, claims
from benchmarks.compare.tables import machine_line

LOST = 0.8
"""Below this fraction of the stated ratio to a peer, a claim is marked as lost."""
WORSE = 0.0015
"""Quality is marked as lost if it is lower than stated (to three decimals) by more than this."""
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 62em; padding: 0 1em; color: #222 }
table { border-collapse: collapse; margin: 1em 0; font-size: 13px }
td, th { padding: .2em .8em; text-align: left; border-bottom: 1px solid #ddd }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums }
.lost { background: #fbe3d6 } .held { background: #e4f2e4 } .absent { color: #888 }
img { max-width: 100% }
"""


def verdict(claim: Claim, against: dict[str, tuple[float, float]]) -> str:
    """Return "held", "lost", "absent" (not measured), or "" if the figure depends on the machine."""
    if claim.measured is None:
        return "absent"
    if claim.kind == "quality":
        return (
            "lost"
            if any(m < s - WORSE for s, m in zip(claim.stated, claim.measured, strict=True))
            else "held"
        )
    if key_of(claim) in against:
        stated, measured = against[key_of(claim)]
        return "lost" if measured < LOST * stated else "held"
    return ""


def key_of(claim: Claim) -> str:
    return f"{claim.file} {claim.heading} {claim.what}"


def counts(run: Run) -> dict[str, int]:
    """Count the claims that held, were lost, are absent from the run, or are times of the machine."""
    found = claims(run)
    against = against_own(found)
    by = {"held": 0, "lost": 0, "absent": 0, "times": 0}
    for claim in found:
        by[verdict(claim, against) or "times"] += 1
    return by


def page(run: Run) -> str:
    """Return the page as HTML."""
    found = claims(run)
    against = against_own(found)
    by = counts(run)
    parts = [
        "<!doctype html><meta charset=utf-8><title>Scrubjay: claims and measurements</title>",
        f"<style>{STYLE}</style><h1>Claims and measurements</h1>",
        _machine(run),
        f"<p>{len(found)} claims: {by['held']} held, {by['lost']} lost, {by['times']} times without a peer in this "
        f"run, {by['absent']} not measured in it. A peer's time is held if it was at least {LOST:.0%} of as many "
        "times Scrubjay's as stated, at p95; quality if no figure is below the stated one.</p>",
    ]
    parts += [
        f"<h2>{escape(title)}</h2><img alt='{escape(title)}' src='{source}'>"
        for title, source in pictures(run, found)
    ]
    for file in dict.fromkeys(claim.file for claim in found):
        parts.append(f"<h2>{escape(file)}</h2>")
        for heading in dict.fromkeys(claim.heading for claim in found if claim.file == file):
            some = [claim for claim in found if (claim.file, claim.heading) == (file, heading)]
            parts += [f"<h3>{escape(heading)}</h3>", _claims_table(some, against)]
    parts += [_calls(run), _profile(run), _failures(run)]
    return "\n".join(part for part in parts if part) + "\n"


def _machine(run: Run) -> str:
    reports = [
        run[name] for name in ("latency", "hybrid", "lexical", "vector") if "machine" in run.get(name, {})
    ]
    return f"<p>{escape(machine_line(reports[0]['machine']))}</p>" if reports else ""


def _claims_table(some: Sequence[Claim], against: dict[str, tuple[float, float]]) -> str:
    rows = []
    for claim in some:
        state = verdict(claim, against)
        ratio = against.get(key_of(claim))
        cells = [
            escape(claim.what),
            escape(claim.shown),
            "not in this run" if claim.measured is None else " / ".join(map(_number, claim.measured)),
            "" if ratio is None else f"{ratio[0]:.1f} &rarr; {ratio[1]:.1f}",
        ]
        rows.append((state, cells))
    return _table(["claim", "stated", "measured", "times Scrubjay's p95, stated and measured"], rows)


def _calls(run: Run) -> str:
    benchmarks = run.get("calls", {}).get("benchmarks", ())
    if not benchmarks:
        return ""
    rows = [
        ("", [escape(one["name"]), *(_number(one["extra_info"][f"p{at}_us"]) for at in (50, 95, 99))])
        for one in benchmarks
        if "p50_us" in one["extra_info"]
    ]
    return "<h2>Calls, microseconds</h2>" + _table(["benchmark", "p50", "p95", "p99"], rows)


def _profile(run: Run) -> str:
    report = run.get("profile")
    if not report:
        return ""
    parts = ["<h2>Where one search goes</h2>", f"<p>{escape(report['note'])}</p>"]
    for name, call in report["calls"].items():
        rows = [
            ("", [escape(part), f"{share:.1%}", _number(share * call["p50_us"])])
            for part, share in call["shares"].items()
        ]
        parts += [f"<h3>{escape(name)}: {call['p50_us']:.1f} us, {call['instructions']:,} instructions</h3>"]
        parts += [_table(["part", "share", "us"], rows)]
    return "\n".join(parts)


def _failures(run: Run) -> str:
    failed = run.get("failed", {})
    if not failed:
        return ""
    items = "".join(f"<li>{escape(name)}: {escape(reason)}</li>" for name, reason in failed.items())
    return f"<h2>Not measured</h2><ul>{items}</ul>"


def _table(head: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]) -> str:
    lines = ["<table><tr>" + "".join(f"<th{_align(n)}>{cell}</th>" for n, cell in enumerate(head)) + "</tr>"]
    for state, cells in rows:
        shown = "".join(f"<td{_align(n)}>{cell}</td>" for n, cell in enumerate(cells))
        lines.append(f"<tr class='{state}'>{shown}</tr>" if state else f"<tr>{shown}</tr>")
    return "\n".join([*lines, "</table>"])


def _align(column: int) -> str:
    return " class=n" if column else ""


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.3g}"


def pictures(run: Run, found: Sequence[Claim]) -> list[tuple[str, str]]:
    """Return title and data URL of each plot; empty without matplotlib."""
    if importlib.util.find_spec("matplotlib") is None:
        return []
    reports = [run[name] for name in ("latency", "hybrid", "vector", "lexical") if name in run]
    with tempfile.TemporaryDirectory() as folder:
        drawn = plots.draw(reports, Path(folder))
        own = _ratios_plot(found, Path(folder) / "claims.png")
        named = [*([("Times Scrubjay's p95, stated and measured", "claims.png")] if own else [])]
        named += [(title, name) for name, title in drawn.items()]
        return [(title, _data_url(Path(folder) / name)) for title, name in named]


def _data_url(file: Path) -> str:
    return "data:image/png;base64," + base64.b64encode(file.read_bytes()).decode("ascii")


def _ratios_plot(found: Sequence[Claim], file: Path) -> bool:
    """Draw a line from the stated to the measured ratio of each peer's time."""
    ratios = against_own(found)
    if not ratios:
        return False
    pyplot: Any = importlib.import_module("matplotlib.pyplot")
    figure, axes = pyplot.subplots(figsize=(plots.SIZE[0], 1.5 + 0.28 * len(ratios)))
    for place, (stated, measured) in enumerate(reversed(ratios.values())):
        colour = "#c0562a" if measured < LOST * stated else plots.OWN_COLOUR
        axes.plot([stated, measured], [place, place], color=colour, linewidth=1)
        axes.plot(stated, place, "|", color="#666666", markersize=9)
        axes.plot(measured, place, "o", color=colour, markersize=5)
    labels = [
        name.removeprefix("docs/benchmarks.md ").removeprefix("README.md ") for name in reversed(ratios)
    ]
    axes.set_yticks(range(len(labels)), labels, fontsize=6)
    axes.set_xscale("log")
    axes.axvline(1, color="#aaaaaa", linewidth=0.8)
    axes.set_xlabel("times Scrubjay's p95: stated (bar), measured in this run (dot)")
    figure.tight_layout()
    figure.savefig(file, dpi=plots.DPI)
    pyplot.close(figure)
    return True

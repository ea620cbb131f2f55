"""The plots of docs/ that are drawn from recorded results: `python -m benchmarks.docs_plots` writes them.

They are plain SVG, byte for byte reproducible, and need no package, so that a test can detect an outdated one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS, IMAGES = ROOT / "conformance" / "stock" / "results", ROOT / "docs" / "images"
INSTRUCTIONS = ROOT / "benchmarks" / "micro" / "instructions.json"
SIZES = (100, 1000, 4000)
OWN, OTHERS, INK = "#1f5fa8", "#8a8a8a", "#333333"
WIDTH, LEFT, RIGHT, TOP, BOTTOM = 800, 70, 150, 20, 50


class Svg:
    """A drawing, built element by element."""

    def __init__(self, height: int) -> None:
        self.height = height
        self._parts = [f'<rect width="{WIDTH}" height="{height}" fill="white"/>']

    def line(
        self, points: Sequence[tuple[float, float]], colour: str, width: float, dashes: str = ""
    ) -> None:
        """Draw a line through points."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        style = f' stroke-dasharray="{dashes}"' if dashes else ""
        self._parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"{style}/>'
        )

    def dot(self, x: float, y: float, colour: str) -> None:
        """Draw a point."""
        self._parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>')

    def bar(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        """Draw a bar from its upper left corner."""
        self._parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}"/>'
        )

    def text(self, x: float, y: float, text: str, size: int = 11, anchor: str = "start") -> None:
        """Write a line of text at its baseline."""
        place = f'x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"'
        self._parts.append(f'<text {place} fill="{INK}">{escape(text)}</text>')

    def __str__(self) -> str:
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" font-family="sans-serif">'
        return "\n".join([head, *self._parts, "</svg>", ""])


def search_times() -> dict[str, list[tuple[int, float]]]:
    """Return for each store pairs (items, p50 of one user's search in ms), from the recorded conformance reports."""
    times = {}
    for path in sorted(RESULTS.glob("*.json")):
        report = json.loads(path.read_text(encoding="utf-8"))
        found = next((one["figures"] or {} for one in report["results"] if one["id"] == "costs.search"), {})
        points = [(size, found[f"of {size} p50 ms"]) for size in SIZES if f"of {size} p50 ms" in found]
        if len(points) == len(SIZES):
            times[path.stem] = points
    return times


def search_by_size() -> str:
    """Draw a line for each store, both axes logarithmic."""
    svg, times = Svg(480), search_times()
    below, above = 0.1, 1000.0
    across, up = WIDTH - LEFT - RIGHT, svg.height - TOP - BOTTOM

    def place(size: float, time: float) -> tuple[float, float]:
        x = LEFT + across * math.log(size / SIZES[0]) / math.log(SIZES[-1] / SIZES[0])
        y = TOP + up * (1 - math.log(time / below) / math.log(above / below))
        return x, y

    for exponent in range(-1, 4):
        y = place(SIZES[0], 10.0**exponent)[1]
        svg.line([(LEFT, y), (WIDTH - RIGHT, y)], "#dddddd", 1)
        svg.text(LEFT - 8, y + 4, f"{10.0**exponent:g}", anchor="end")
    for size in SIZES:
        svg.text(place(size, below)[0], svg.height - BOTTOM + 18, f"{size:,}", anchor="middle")
    svg.text(LEFT + across / 2, svg.height - 12, "items in the store", anchor="middle")
    svg.text(8, 14, "one user's search, p50, ms")
    labels: list[float] = []
    for name, points in sorted(times.items(), key=lambda item: -item[1][-1][1]):
        own = "scrubjay" in name
        spots = [place(size, time) for size, time in points]
        svg.line(spots, OWN if own else OTHERS, 2 if own else 1, "" if own else "4 3")
        for x, y in spots:
            svg.dot(x, y, OWN if own else OTHERS)
        at = max(spots[-1][1] + 4, labels[-1] + 12 if labels else 0.0)  # avoid overlapping labels
        labels.append(at)
        svg.text(spots[-1][0] + 8, at, name)
    return str(svg)


def instructions() -> str:
    """Draw a bar for each fixed call: its instructions in thousands."""
    baseline = json.loads(INSTRUCTIONS.read_text(encoding="utf-8"))["baselines"][0]
    counts: dict[str, int] = baseline["counts"]
    step, start = 22, 290
    svg = Svg(TOP + step * len(counts) + 30)
    widest = max(counts.values())
    for row, (name, n) in enumerate(counts.items()):
        y = TOP + step * row
        width = (WIDTH - start - 80) * n / widest
        svg.text(start - 8, y + 12, name, anchor="end")
        svg.bar(start, y, width, step - 8, OWN)
        svg.text(start + width + 6, y + 12, f"{n / 1000:,.0f}")
    told = (
        f"thousands of instructions, {baseline['simd']}, {baseline['compiler']}, Python {baseline['python']}"
    )
    svg.text(start, svg.height - 10, told)
    return str(svg)


PLOTS: dict[str, Callable[[], str]] = {"search-by-size.svg": search_by_size, "instructions.svg": instructions}


def main() -> None:
    """Write every plot."""
    IMAGES.mkdir(exist_ok=True)
    for name, drawn in PLOTS.items():
        (IMAGES / name).write_text(drawn(), encoding="utf-8")
        print(IMAGES / name)


if __name__ == "__main__":
    main()

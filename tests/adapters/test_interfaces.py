"""Each verb of the memory is available in HTTP, MCP and the command line, or has a documented reason why not.

The table of docs/service.md is compared with the methods of Memory and its parts, the routes, the tools and the
commands, in both directions.
"""

from __future__ import annotations

import argparse
import inspect
import re
from pathlib import Path
from typing import NamedTuple

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("mcp")

from scrubjay import Index
from scrubjay.adapters.mcp.offered import offered
from scrubjay.adapters.service import create_app
from scrubjay.cli.arguments import make_parser
from scrubjay.memory import Feed, Files, Memory, MemoryAdmin

PAGE = Path(__file__).parents[2] / "docs" / "service.md"
PARTS = {"": Memory, "feed.": Feed, "files.": Files, "admin.": MemoryAdmin}
NOT_VERBS = {"open", "close"}
BESIDE = {"http": {"/overview"}, "mcp": {"add_memory"}, "cli": set[str]()}
"""Entries without a verb of their own in Python, which are named below the table."""


class Row(NamedTuple):
    verb: str
    cells: dict[str, str]


def table(text: str) -> list[Row]:
    section = text.partition("\n## Verbs of the memory by interface\n")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| `")]
    return [Row(row[0].strip("`"), dict(zip(("http", "mcp", "cli"), row[1:], strict=True))) for row in rows]


def verbs() -> set[str]:
    return {
        prefix + name
        for prefix, part in PARTS.items()
        for name, member in inspect.getmembers(part, inspect.isroutine)
        if not name.startswith("_") and name not in NOT_VERBS
    }


def routes(tmp_path: Path) -> set[str]:
    with Index.open(tmp_path / "m.scrubjay") as index:
        paths = create_app(index).openapi()["paths"]
    return {path.removeprefix("/v1/memory") for path in paths if path.startswith("/v1/memory/")}


def commands() -> set[str]:
    def below(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
        actions = (one for one in parser._actions if isinstance(one, argparse._SubParsersAction))
        return dict(next(actions).choices)

    return set(below(below(make_parser())["memory"]))


def there(tmp_path: Path) -> dict[str, set[str]]:
    notes = {*offered(typed=False, user=True, read_only=False)}
    assert "add_memory" in notes
    return {
        "http": routes(tmp_path),
        "mcp": {*offered(typed=True, user=True, read_only=False, admin=True)},
        "cli": commands(),
    }


def faults(rows: list[Row], there: dict[str, set[str]]) -> list[str]:
    """Return verbs missing from the table, and names found only there."""
    said = [row.verb for row in rows]
    found = [f"{verb}: not in the table" for verb in verbs() - set(said)]
    found += [
        f"{verb}: no such method, or twice" for verb in said if verb not in verbs() or said.count(verb) > 1
    ]
    for where, names in there.items():
        named: set[str] = set()
        for row in rows:
            cell = row.cells[where]
            if cell.startswith("–"):
                if len(cell) < 12:
                    found.append(f"{row.verb}, {where}: expected a reason")
                continue
            given = re.findall(r"`([^`]+)`", cell)
            found += [f"{row.verb}, {where}: there is no {name}" for name in given if name not in names]
            found += [f"{row.verb}, {where}: expected a name or a reason"] * (not given)
            named |= set(given)
        found += [f"{where}: {name} is in no row" for name in names - named - BESIDE[where]]
    return found


def test_every_verb_is_everywhere_or_has_a_reason(tmp_path: Path) -> None:
    assert faults(table(PAGE.read_text()), there(tmp_path)) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("| `history` |", "| `herstory` |"),
        ("`list_changes`", "`list_charges`"),
        ("| `/history` |", "| – |"),
        ("| `/history` |", "| soon |"),
        ("| `holds` |\n", "| – not yet, or never |\n"),
    ],
)
def test_a_gap_is_noticed(tmp_path: Path, old: str, new: str) -> None:
    head, mark, rest = PAGE.read_text().partition("## Verbs of the memory by interface")
    assert old in rest
    assert faults(table(head + mark + rest.replace(old, new, 1)), there(tmp_path))

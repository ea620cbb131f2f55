"""A parser of Markdown for the tests of the documentation: blocks, headings, links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]

_FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PYTHON = {"python", "py", "pycon"}
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)


class Block(NamedTuple):
    """One fenced block. `extra` is the extra of pyproject.toml that it needs, or ""."""

    language: str
    extra: str
    code: str


def documents() -> list[Path]:
    """Return the Markdown files for readers: at the root, in docs, examples and benchmarks."""
    return sorted(
        path
        for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md", "benchmarks/*.md", "tests/*.md")
        for path in ROOT.glob(pattern)
    )


def blocks(text: str) -> Iterator[Block]:
    """Return the fenced blocks in order: ``` python, or ``` python extra=langchain, and the like."""
    for info, code in _FENCE.findall(text):
        language, *options = info.split() or [""]
        extras = [option.removeprefix("extra=") for option in options if option.startswith("extra=")]
        yield Block(language, extras[0] if extras else "", code)


def python_groups(text: str) -> dict[str, list[str]]:
    """Return the Python blocks by extra; those of a group run in order and share their names."""
    groups: dict[str, list[str]] = {}
    for block in blocks(text):
        if block.language in _PYTHON:
            groups.setdefault(block.extra, []).append(block.code)
    return groups


def links(text: str) -> list[str]:
    """Return the targets of all links and images outside of code."""
    return _LINK.findall(re.sub(r"`[^`\n]*`", "", _FENCE.sub("", text)))


def anchors(text: str) -> set[str]:
    """Return the anchors of the headings, as GitHub generates them."""
    slugs = set()
    for heading in _HEADING.findall(_FENCE.sub("", text)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slugs.add(re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"))
    return slugs

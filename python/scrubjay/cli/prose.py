"""Which passages are in a Markdown or text file? Sections, the long ones cut between paragraphs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from scrubjay._native import Scope

__all__ = ["read"]

_HEADING = re.compile(r"(#{1,6})\s+(.*?)(?:\s+#+)?\s*$")
_FENCE = re.compile(r"\s{0,3}(```|~~~)")
_MAX_CHARS = 1200


def read(content: str, name: str, scope: Scope) -> Iterator[dict[str, Any]]:
    """Yield one record a passage: its text under the headings above it, its id "file#number" (from 1)."""
    markdown = PurePosixPath(name).suffix.lower() != ".txt"
    number = 0
    for headings, body in _sections(content) if markdown else [([], content)]:
        for passage in _passages(body):
            number += 1
            metadata: dict[str, Any] = {"file": name}
            if headings:
                metadata["heading"] = headings[-1]
            yield {
                "id": f"{name}#{number}",
                "text": "\n".join(filter(None, [" > ".join(headings), passage])),
                "scope": scope,
                "metadata": metadata,
            }


def _sections(content: str) -> Iterator[tuple[list[str], str]]:
    """Yield (headings from the outermost in, body) of each section that has a body; front matter is left out."""
    lines = content.splitlines()
    if lines and lines[0].strip() == "---" and "---" in (closing := [line.strip() for line in lines[1:]]):
        lines = lines[closing.index("---") + 2 :]
    path: list[tuple[int, str]] = []
    body: list[str] = []
    fence: str | None = None
    for line in lines:
        opened = _FENCE.match(line)
        if opened:
            fence = opened[1] if fence is None else None if fence == opened[1] else fence
        heading = _HEADING.match(line) if fence is None else None  # a # inside of code is a comment
        if heading is None:
            body.append(line)
            continue
        if "".join(body).strip():
            yield [title for _, title in path], "\n".join(body)
        body = []
        level = len(heading[1])
        path = [*((depth, title) for depth, title in path if depth < level), (level, heading[2])]
    if "".join(body).strip():
        yield [title for _, title in path], "\n".join(body)


def _passages(body: str) -> Iterator[str]:
    """Join paragraphs while they fit into a passage; a longer paragraph is a passage of its own."""
    passage = ""
    for paragraph in re.split(r"\n\s*\n", body.strip()):
        if passage and len(passage) + len(paragraph) > _MAX_CHARS:
            yield passage
            passage = ""
        passage = f"{passage}\n\n{paragraph}" if passage else paragraph
    if passage.strip():
        yield passage

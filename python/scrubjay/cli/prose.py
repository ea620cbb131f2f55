"""Reads Markdown and text files: one record a passage."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from scrubjay._native import Scope
from scrubjay.memory.intake.passages import read_passages

__all__ = ["read"]


def read(content: str, name: str, scope: Scope) -> Iterator[dict[str, Any]]:
    """Yield one record a passage: its text under the headings above it, its id "file#number" (from 1)."""
    markdown = PurePosixPath(name).suffix.lower() != ".txt"
    for number, passage in enumerate(read_passages(content, markdown=markdown), 1):
        metadata: dict[str, Any] = {"file": name}
        if passage.headings:
            metadata["heading"] = passage.headings[-1]
        yield {"id": f"{name}#{number}", "text": passage.text, "scope": scope, "metadata": metadata}

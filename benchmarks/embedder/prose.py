"""Sentences and passages from documentation: docstrings, strings, HTML, plain text.

Markup is removed, and the rest must look like prose. A passage is contiguous text of 500 to 1,400 characters, which is
100 to 300 tokens: a model trained on single sentences only does not handle long texts.
"""

from __future__ import annotations

import ast
import html
import re
from collections.abc import Iterator

SHORTEST, LONGEST = 25, 400
PASSAGE_SHORTEST, PASSAGE_LONGEST = 500, 1_400

_BREAK = re.compile(r"(?<=[.!?])\s+(?=[\"'(A-Z0-9])")
_ROLE = re.compile(r":[\w:+-]+:`~?\.?([^`<]+?)(?:\s*<[^>]*>)?`")
_LINK = re.compile(r"`([^`<]+?)\s*<[^>]*>`_*|\[([^\]]+)\]\([^)]*\)")
_LITERAL = re.compile(r"`{1,2}([^`]*)`{1,2}_*|\*{1,2}([^*\s][^*]*)\*{1,2}|\|([^|]+)\||\[\d+\]_")
_UNWANTED = re.compile(
    r"^\s*(>>>|\.\.\.|\.\. |[-=~^#*`\"+.]{3,}|\.\. \[|:\w+[^:]*:|\[\d+\]|\|)|"
    r"(?i:copyright|all rights reserved|licen[sc]ed? under|redistribut)"
)


def plain(text: str) -> str:
    """Return text without the markup of reStructuredText and Markdown."""
    text = _ROLE.sub(lambda match: match[1], text)
    text = _LINK.sub(lambda match: match[1] or match[2], text)
    return _LITERAL.sub(lambda match: next((part for part in match.groups() if part), ""), text)


def paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs of a text that look like prose, each on one line."""
    lines: list[str] = []
    for line in [*plain(text).splitlines(), ""]:
        if line.strip() and not _UNWANTED.search(line):
            lines.append(line.strip())
            continue
        if lines:
            paragraph = re.sub(r"\s+", " ", " ".join(lines)).strip()
            if is_prose(paragraph):
                yield paragraph
        lines = []


def is_prose(text: str) -> bool:
    """Return whether a text is mostly letters, with words of usual length."""
    letters = sum(c.isalpha() or c == " " for c in text)
    words = text.split()
    return (
        len(text) >= SHORTEST
        and text.isprintable()
        and letters >= 0.85 * len(text)
        and len(words) >= 4
        and 3 <= len(text) / len(words) <= 10
    )


def sentences(paragraph: str) -> Iterator[str]:
    """Yield the sentences of a paragraph that are neither too short nor too long."""
    for sentence in _BREAK.split(paragraph):
        if SHORTEST <= len(sentence) <= LONGEST and is_prose(sentence):
            yield sentence.strip()


def passages(parts: list[str]) -> Iterator[str]:
    """Yield contiguous paragraphs joined up to the length of a passage; a longer one is cut at its sentences."""
    current = ""
    for part in parts:
        for sentence in _BREAK.split(part):
            if len(current) + len(sentence) > PASSAGE_LONGEST:
                if PASSAGE_SHORTEST <= len(current) <= PASSAGE_LONGEST:
                    yield current
                current = ""
            current = f"{current} {sentence}".strip()
        if len(current) >= 2 * PASSAGE_SHORTEST:
            yield current
            current = ""
    if PASSAGE_SHORTEST <= len(current) <= PASSAGE_LONGEST:
        yield current


def python_texts(source: str) -> Iterator[str]:
    """Yield the docstrings of a module, and its long strings of prose (messages of errors, descriptions of fields)."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) >= 40:
            yield node.value


def html_paragraphs(page: str) -> Iterator[str]:
    """Yield the paragraphs of an HTML page or fragment."""
    page = re.sub(r"(?s)<(script|style|pre).*?</\1>", " ", page)
    blocks = re.split(r"(?i)</?(?:p|li|dd|dt|h\d|div|td|ul|ol|table|section|br)\b[^>]*>", page)
    for block in blocks:
        text = html.unescape(re.sub(r"<[^>]+>", "", block)).replace("¶", "")
        text = re.sub(r"\s+", " ", text).strip()
        if is_prose(text) and not _UNWANTED.search(text):
            yield text

"""Reads Markdown, text and HTML: one record per passage."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

from scrubjay.cli.reader_state import Reading, decode
from scrubjay.cli.readers.sources import Source
from scrubjay.memory.intake.passages import read_pieces

_BLOCKS = frozenset(
    "address article aside blockquote br div dl dt dd figure footer header hr li main nav ol p pre section table tr"
    " ul".split()
)
_UNSEEN = frozenset(("script", "style", "head", "template", "noscript"))
_HEADING = re.compile(r"h([1-6])\Z")


def read_markdown(source: Source, reading: Reading) -> Iterator[dict[str, Any]]:
    """Yield the passages of a Markdown file."""
    yield from passages(decode(source.read(), source.name, reading.skips), source.name, reading)


def read_html(source: Source, reading: Reading) -> Iterator[dict[str, Any]]:
    """Yield the passages of an HTML file, cut at its headings."""
    yield from passages(plain_text(decode(source.read(), source.name, reading.skips)), source.name, reading)


def passages(content: str, name: str, reading: Reading, *, markdown: bool = True) -> Iterator[dict[str, Any]]:
    """Yield one record per passage: its text under the headings above it, with the id "file#number" (from 1)."""
    for number, passage in enumerate(read_pieces(content, markdown=markdown), 1):
        metadata: dict[str, Any] = {"file": name}
        if passage.headings:
            metadata["heading"] = passage.headings[-1]
        yield {"id": f"{name}#{number}", "text": passage.text, "scope": reading.scope, "metadata": metadata}


def plain_text(html: str) -> str:
    """Return the text of HTML, with headings in Markdown.

    >>> plain_text("<h2>Trips</h2><p>By <b>train</b>.</p><script>x</script>")
    '## Trips\\n\\nBy train.'
    """
    parser = _Text()
    parser.feed(html)
    parser.close()
    lines = (" ".join(line.split()) for line in "".join(parser.parts).split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


class _Text(HTMLParser):
    """Collects the visible text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._unseen = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a line at a block, and a heading with its # signs."""
        if tag in _UNSEEN:
            self._unseen += 1
        elif heading := _HEADING.match(tag):
            self.parts.append("\n\n" + "#" * int(heading[1]) + " ")
        elif tag in _BLOCKS:
            self.parts.append("\n" if tag in ("br", "li", "tr") else "\n\n")

    def handle_endtag(self, tag: str) -> None:
        """End the block."""
        if tag in _UNSEEN:
            self._unseen = max(0, self._unseen - 1)
        elif tag in _BLOCKS or _HEADING.match(tag):
            self.parts.append("\n" if tag in ("li", "tr") else "\n\n")
        elif tag in ("td", "th"):
            self.parts.append(" ")

    def handle_data(self, data: str) -> None:
        """Collect visible text, on one line."""
        if not self._unseen:
            self.parts.append(re.sub(r"\s+", " ", data))

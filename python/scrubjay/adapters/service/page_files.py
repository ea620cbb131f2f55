"""The files of the page, which a browser may read without a token."""

from __future__ import annotations

from importlib import resources
from typing import Any, NamedTuple

_KINDS = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}


class PageFile(NamedTuple):
    """One file: its content, read once, and its media type."""

    content: bytes
    kind: str


def _files(folder: Any, path: str) -> dict[str, PageFile]:
    """Return the files of a folder, recursively, by request path; unknown kinds of files are skipped."""
    files: dict[str, PageFile] = {}
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            files.update(_files(entry, f"{path}{entry.name}/"))
            continue
        stem, dot, ending = entry.name.rpartition(".")
        kind = _KINDS.get(dot + ending)
        if stem and kind is not None:
            files[path if entry.name == "index.html" else path + entry.name] = PageFile(
                entry.read_bytes(), kind
            )
    return files


PAGE_FILES = _files(resources.files("scrubjay.adapters.service") / "page", "/")
"""By path: "/" is index.html. Files of the folder `page` are served unchanged; there is no build step."""

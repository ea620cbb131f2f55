"""Chooses the reader of each file, and walks the files named on the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.errors import MissingExtraError
from scrubjay.cli.reader_state import InputError, Reading, decode
from scrubjay.cli.readers import jsons, mail, papers, prose, tables, whatsapp
from scrubjay.cli.readers.sources import Source, files_below, find


def _read_text(source: Source, reading: Reading) -> Iterator[dict[str, Any]]:
    content = decode(source.read(), source.name, reading.skips)
    if whatsapp.is_chat(content):
        yield from whatsapp.read(content, source.name, reading)
    else:
        yield from prose.passages(content, source.name, reading, markdown=False)


_READERS: Mapping[str, Callable[[Source, Reading], Iterator[dict[str, Any]]]] = {
    ".jsonl": jsons.read_lines,
    ".ndjson": jsons.read_lines,
    ".json": jsons.read_json,
    ".csv": tables.read_csv,
    ".tsv": tables.read_csv,
    ".parquet": tables.read_arrow,
    ".arrow": tables.read_arrow,
    ".feather": tables.read_arrow,
    ".md": prose.read_markdown,
    ".markdown": prose.read_markdown,
    ".txt": _read_text,
    ".html": prose.read_html,
    ".htm": prose.read_html,
    ".mbox": mail.read_mbox,
    ".eml": mail.read_eml,
    ".pdf": papers.read_pdf,
    ".docx": papers.read_docx,
}


def read_sources(
    names: list[str], reading: Reading, base: Path | None = None
) -> Iterator[tuple[Source, list[dict[str, Any]] | None]]:
    """Yield every file behind the arguments with its records; None if it could not be read, with the reason noted.

    Args:
        names: files, folders, zip archives; "-" is JSON Lines on standard input.
        reading: the scope of the memories, and the notes of skipped items.
        base: the folder to which names of files are relative; None: names as given.

    Raises:
        InputError: a named file is missing, or has another format than its name says.
        MissingExtraError: it needs a library that is not installed.
    """
    for name in names:
        if name == "-":
            source = Source("standard input", lambda: sys.stdin.read().encode("utf-8", "surrogatepass"))
            yield source, list(jsons.read_lines(source, reading))
            continue
        for source in find(Path(name), base, reading.skips):
            yield source, _records(source, reading)


def read_paths(paths: list[str], reading: Reading | Scope) -> Iterator[dict[str, Any]]:
    """Yield records for `Index.upsert_many` from files and folders, as :func:`read_sources` does.

    An `embedder` field of a record (`scrubjay index --out` writes it beside the vector) is kept.

    Raises:
        InputError: as for :func:`read_sources`; or a folder or archive has no readable file.
    """
    if isinstance(reading, Scope):
        reading = Reading(reading)
    for name in paths:
        n_read = 0
        for _, records in read_sources([name], reading):
            n_read += records is not None
            yield from records or ()
        if not n_read:
            raise InputError(f"{name}: expected {_kinds()} files in it, found none")


def paths_below(names: list[str]) -> Iterator[Path]:
    """Yield the files that :func:`read_paths` would read."""
    for name in names:
        path = Path(name)
        if path.is_dir():
            yield from files_below(path)
        elif name != "-":
            yield path


def is_export(path: Path) -> bool:
    """Whether a file was written by `Admin.export`, according to its first line."""
    try:
        with path.open("rb") as file:
            return b'"scrubjay_export"' in file.readline(1000)
    except OSError:
        return False


def header_of_export(path: Path) -> dict[str, Any]:
    """Return the properties of the vectors in an export, from its first line: metric, dtype, dim, embedder.

    Raises:
        InputError: the line is damaged.
    """
    try:
        with path.open("rb") as file:
            header = json.loads(file.readline(1000))
    except ValueError as error:
        raise InputError(f"{path}: line 1: expected the header of an export: {error}") from None
    return dict(header)


def _records(source: Source, reading: Reading) -> list[dict[str, Any]] | None:
    reader = _READERS.get(source.suffix)
    try:
        if reader is None:
            raise InputError(f"{source.name}: expected a folder or a {_kinds()} file")
        return list(reader(source, reading))
    except (InputError, MissingExtraError) as error:
        if not source.found:
            raise
        kind = source.suffix or "no suffix"
        why = f"not a kind of file that is read ({kind})" if reader is None else str(error)
        reading.skips.add(source.name, why.removeprefix(f"{source.name}: "))
        return None


def _kinds() -> str:
    kinds = [*_READERS, ".zip"]
    return f"{', '.join(kinds[:-1])} or {kinds[-1]}"

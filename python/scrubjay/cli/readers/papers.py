"""Reads PDF and docx (extra "readers"): one record per passage, with its page or heading."""

from __future__ import annotations

import io
import logging
import zipfile
from collections.abc import Iterator
from typing import Any

from scrubjay.base.errors import MissingExtraError
from scrubjay.cli.reader_state import InputError, Reading
from scrubjay.cli.readers.prose import passages
from scrubjay.cli.readers.sources import Source
from scrubjay.memory.intake.passages import read_pieces

_QUIET = logging.NullHandler()


def read_pdf(source: Source, reading: Reading) -> Iterator[dict[str, Any]]:
    """Yield the passages of a PDF file page by page; pages without text (scans) are skipped.

    Raises:
        MissingExtraError: pypdf is not installed.
        InputError: the file is damaged, or needs a password.
    """
    try:
        import pypdf
        from pypdf.errors import PyPdfError
    except ImportError:
        raise MissingExtraError(".pdf", "readers", "pypdf") from None

    name = source.name
    logging.getLogger("pypdf").addHandler(_QUIET)  # errors of a file are reported here, once
    try:
        document = pypdf.PdfReader(io.BytesIO(source.read()))
        if document.is_encrypted and not document.decrypt(""):
            raise InputError(f"{name}: expected a PDF without a password")
        pages = len(document.pages)
    except (PyPdfError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{name}: expected a PDF: {error}") from None
    for page in range(1, pages + 1):
        try:
            text = document.pages[page - 1].extract_text()
        except Exception as error:  # noqa: BLE001 - one damaged page must not lose the others
            reading.skips.add(name, f"page {page} cannot be read: {type(error).__name__}")
            continue
        if not text.strip():
            reading.skips.add(name, "a page without text (a scan, perhaps)")
        for number, passage in enumerate(read_pieces(text, markdown=False), start=1):
            yield {
                "id": f"{name}#p{page}.{number}",
                "text": passage.body,
                "scope": reading.scope,
                "metadata": {"file": name, "page": page},
            }


def read_docx(source: Source, reading: Reading) -> Iterator[dict[str, Any]]:
    """Yield the passages of a Word file, cut at its headings; rows of tables become lines.

    Raises:
        MissingExtraError: python-docx is not installed.
        InputError: the file is not a docx file.
    """
    try:
        import docx
        from docx.table import Table
    except ImportError:
        raise MissingExtraError(".docx", "readers", "python-docx") from None

    try:
        document = docx.Document(io.BytesIO(source.read()))
    except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{source.name}: expected a docx: {error}") from None
    blocks = []
    for block in document.iter_inner_content():
        if isinstance(block, Table):
            rows = [" | ".join(" ".join(cell.text.split()) for cell in row.cells) for row in block.rows]
            blocks.append("\n".join(rows))
            continue
        style = (block.style.name or "") if block.style is not None else ""
        level = style.rpartition(" ")[2] if style.startswith("Heading ") else "1" if style == "Title" else ""
        blocks.append(f"{'#' * min(6, int(level))} {block.text.strip()}" if level.isdecimal() else block.text)
    yield from passages("\n\n".join(blocks), source.name, reading)

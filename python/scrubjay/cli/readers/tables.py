"""Reads tables: CSV and TSV; Parquet, Arrow and Feather (extra "readers"). Rows are records, columns are fields."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from typing import Any

from scrubjay.base.errors import MissingExtraError
from scrubjay.cli.reader_state import InputError, Reading, decode
from scrubjay.cli.readers.records import ID_FIELDS, TEXT_FIELDS, TIME_FIELDS, read_object
from scrubjay.cli.readers.sources import Source

_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d+)?\Z")
_BATCH = 4096


def read_csv(source: Source, reading: Reading) -> Iterator[dict[str, Any]]:
    """Yield the rows of a CSV file with a header; a column in which all cells are numbers is numeric.

    The separator (comma, semicolon, tab, bar) is the one that is most frequent in the header.
    """
    name = source.name
    text = decode(source.read(), name, reading.skips)
    head = text.partition("\n")[0]
    separator = "\t" if source.suffix == ".tsv" else max(",;\t|", key=head.count)
    csv.field_size_limit(16 << 20)  # the maximum length of a text in an index
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    except csv.Error as error:
        raise InputError(f"{name}: expected CSV: {error}") from None
    if len(rows) < 2:
        reading.skips.add(name, "a table without rows")
    if not rows:
        return
    names = _known_columns(rows[0], reading)
    _check_columns(names, name)
    numeric = [
        bool(column := [row[i] for row in rows[1:] if i < len(row) and row[i]])
        and all(map(_NUMBER.match, column))
        for i in range(len(names))
    ]
    for number, row in enumerate(rows[1:], start=1):
        if not any(row):
            continue
        if len(row) != len(names):
            why = f"a row of another number of cells than the {len(names)} of the head"
            reading.skips.add(name, why, at=f"row {number}")
            continue
        cells: dict[str, Any] = {}
        for label, cell, is_number in zip(names, row, numeric, strict=True):
            if cell:
                is_text = label in (*TEXT_FIELDS, *ID_FIELDS, *TIME_FIELDS) or not is_number
                cells[label] = cell if is_text else float(cell) if "." in cell else int(cell)
        yield from _row(cells, number, name, reading)


def read_arrow(source: Source, reading: Reading) -> Iterator[dict[str, Any]]:
    """Yield the rows of a Parquet, Arrow IPC or Feather file.

    Raises:
        MissingExtraError: pyarrow is not installed.
    """
    try:
        import pyarrow
        from pyarrow import ipc, parquet
    except ImportError:
        raise MissingExtraError(f"{source.suffix}", "readers", "pyarrow") from None

    name = source.name
    data = pyarrow.BufferReader(source.read())
    try:
        if source.suffix == ".parquet":
            batches = parquet.ParquetFile(data).iter_batches(batch_size=_BATCH)
        else:
            try:
                batches = iter(ipc.open_file(data).read_all().to_batches())
            except pyarrow.ArrowInvalid:
                data.seek(0)
                batches = iter(ipc.open_stream(data).read_all().to_batches())
        number = 0
        for batch in batches:
            names = _known_columns(batch.schema.names, reading)
            _check_columns(names, name)
            for row in batch.rename_columns(names).to_pylist():
                number += 1
                cells = {column: cell for column, cell in row.items() if cell is not None}
                yield from _row(cells, number, name, reading)
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(f"{name}: expected {source.suffix.lstrip('.')}: {error}") from None


def _row(cells: Mapping[str, Any], number: int, name: str, reading: Reading) -> Iterator[dict[str, Any]]:
    if not any(isinstance(cells.get(field), str) and cells[field].strip() for field in TEXT_FIELDS):
        id = cells.get("id")
        reading.skips.add(
            name, "a row without a text", at=f"row {number}" + ("" if id is None else f" ({id})")
        )
        return
    plain = Reading(reading.scope, {}, reading.skips)  # the columns are renamed already
    yield from read_object(cells, f"{name}:{number}", f"{name}: row {number}", name, plain)


def _known_columns(names: list[str], reading: Reading) -> list[str]:
    """Return the names of columns: those named on the command line, and ours in any capitalisation."""
    fields = {column: field for field, column in reading.columns.items()}
    ours = (
        *TEXT_FIELDS,
        *ID_FIELDS,
        *TIME_FIELDS,
        "tenant",
        "user",
        "agent",
        "metadata",
        "vector",
        "embedding",
    )
    known = []
    for name in (str(column).strip() for column in names):
        if reading.columns.get(name) == "":
            known.append(f"{name}_")  # it must not be used
        elif name in fields:
            known.append(fields[name])
        elif name in reading.columns and name not in fields:
            known.append(f"{name}_")  # another column has this name
        else:
            known.append(name.lower() if name.lower() in ours and name.lower() not in names else name)
    return known


def _check_columns(names: list[str], name: str) -> None:
    if not set(names) & set(TEXT_FIELDS):
        raise InputError(
            f"{name}: expected a column {', '.join(TEXT_FIELDS)}, got {', '.join(names)}; name it with --text"
        )
    if len(set(names)) != len(names):
        raise InputError(f"{name}: expected columns of different names, got {', '.join(names)}")

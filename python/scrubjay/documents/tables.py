"""Tables as input and output: pandas and polars DataFrames, Arrow tables and batches; HTML for notebooks.

None of these libraries is imported before one of its tables is given or requested (extra "tables").
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from scrubjay.base.extras import imported

__all__ = ["as_html", "is_table", "rows_of", "to_arrow", "to_pandas"]

_FIELDS = (
    "id",
    "text",
    "vector",
    "created_at",
    "expires_at",
    "ttl",
    "entities",
    "scope",
    "context",
    "passages",
)
_SCOPE_FIELDS = ("tenant", "user", "agent")
_SHOWN_CHARS = 300


def is_table(value: Any) -> bool:
    """Whether `value` is a table: of pandas, polars, or any library that exports its columns to Arrow."""
    return (
        hasattr(value, "__dataframe__")
        or hasattr(value, "iter_rows")
        or hasattr(value, "__arrow_c_stream__")
        or hasattr(value, "__arrow_c_array__")
    ) and not isinstance(value, np.ndarray)


def rows_of(table: Any) -> Iterator[dict[str, Any]]:
    """Yield a mapping for each row, in the form that `Index.upsert_many` takes.

    Columns named like its fields are these fields; `tenant`, `user` and `agent` form the scope, `metadata` is a mapping
    or its JSON, every other column becomes a key of the metadata; `version` and `pending`, which :class:`scrubjay.Page`
    writes, are ignored. Missing values (None, NaN, NaT) are left out.

    Raises:
        ValueError: a column `id` or `text` is missing, or two have one name.
        MissingExtraError: reading the table needs pyarrow, which is not installed.
    """
    if hasattr(table, "iter_rows"):  # polars
        names, rows = list(table.columns), table.iter_rows()
    elif hasattr(table, "itertuples"):  # pandas
        names, rows = list(map(str, table.columns)), table.itertuples(index=False, name=None)
    else:
        names, rows = _arrow_rows(table)
    for required in ("id", "text"):
        if required not in names:
            raise ValueError(
                f"records: expected a column {required!r}, got {', '.join(names) or 'no column'}"
            )
    if len(set(names)) < len(names):  # the last one would win
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            f"records: expected columns of different names, got {twice!r} {names.count(twice)} times"
        )
    for place, row in enumerate(rows):
        try:
            record = _record({name: _plain(value) for name, value in zip(names, row, strict=True)})
        except (TypeError, ValueError) as error:
            raise type(error)(f"records[{place}]: {error}") from None
        yield record


def _arrow_rows(table: Any) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
    if not hasattr(table, "to_pylist") or not hasattr(table, "schema"):
        pyarrow = _pyarrow("a table that is neither of pandas nor of polars")
        try:
            table = pyarrow.table(table)
        except (pyarrow.ArrowException, TypeError, ValueError):  # a single column, for example
            raise TypeError(
                f"records: expected a table with columns id and text, or records, got {type(table).__name__}"
            ) from None
    names = list(table.schema.names)
    batches = table.to_batches() if hasattr(table, "to_batches") else [table]

    def rows() -> Iterator[tuple[Any, ...]]:
        for batch in batches:
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    return names, rows()


def _record(cells: Mapping[str, Any]) -> dict[str, Any]:
    record: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    scope: dict[str, Any] = {}
    for name, value in cells.items():
        if value is None:
            continue
        if name in _FIELDS:
            record[name] = value
        elif name in _SCOPE_FIELDS:
            scope[name] = value
        elif name in ("version", "pending"):
            continue
        elif name == "metadata":
            metadata = {**_metadata(value), **metadata}
        else:
            metadata[name] = value
    if scope and "scope" not in record:
        record["scope"] = scope
    if metadata:
        record["metadata"] = metadata
    return record


def _metadata(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise ValueError(f"metadata: expected a mapping or its JSON, got {value[:80]!r}") from None
    if not isinstance(value, Mapping):
        raise TypeError(f"metadata: expected a mapping or its JSON, got {type(value).__name__}")
    return dict(value)


def _plain(value: Any) -> Any:
    """Return a cell as a Python value; None if it is missing."""
    if value is None or isinstance(value, (str, bytes, bool, int)):
        return value
    if isinstance(value, np.ndarray):
        return value if value.dtype.kind in "fiu" else value.tolist()
    if isinstance(value, np.generic):
        value = value.item() if not isinstance(value, np.datetime64) else None if np.isnat(value) else value
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, float) and value != value:
        return None
    if isinstance(value, (datetime, timedelta)):  # of pandas, too
        return value
    return value.to_numpy() if hasattr(value, "to_numpy") and not isinstance(value, (list, dict)) else value


# -------------------------------------------------------------------- output


def to_pandas(rows: Sequence[Mapping[str, Any]], columns: Iterable[str]) -> Any:
    """Return rows as a pandas.DataFrame with these columns.

    Raises:
        MissingExtraError: pandas is not installed.
    """
    pandas = imported("pandas", "to_pandas()", "tables")
    return pandas.DataFrame({name: [row.get(name) for row in rows] for name in columns})


def to_arrow(rows: Sequence[Mapping[str, Any]], columns: Iterable[str]) -> Any:
    """Return rows as a pyarrow.Table with these columns; `metadata` is JSON, because its keys differ from row to row.

    Raises:
        MissingExtraError: pyarrow is not installed.
    """
    pyarrow = _pyarrow("to_arrow()")
    types = {
        "text": pyarrow.string(),
        "tenant": pyarrow.string(),
        "user": pyarrow.string(),
        "agent": pyarrow.string(),
        "metadata": pyarrow.string(),
        "score": pyarrow.float64(),
        "bm25": pyarrow.float64(),
        "similarity": pyarrow.float64(),
        "coverage": pyarrow.float64(),
        "relevance": pyarrow.string(),
        "lexical_rank": pyarrow.int32(),
        "vector_rank": pyarrow.int32(),
        "created_at": pyarrow.timestamp("us", tz="UTC"),
        "expires_at": pyarrow.timestamp("us", tz="UTC"),
        "version": pyarrow.int64(),
        "pending": pyarrow.bool_(),
        "context": pyarrow.string(),
        "matched_terms": pyarrow.list_(pyarrow.string()),
    }
    arrays = {}
    for name in columns:
        values = [row.get(name) for row in rows]
        if name == "metadata":
            texts = (json.dumps(value or {}, ensure_ascii=False) for value in values)
            # Arrow's texts are UTF-8, which cannot encode a lone surrogate; JSON has an escape for it.
            values = [text.encode("utf-8", "backslashreplace").decode() for text in texts]
        if name == "id" and not values:
            arrays[name] = pyarrow.array(values, pyarrow.string())
        else:
            arrays[name] = pyarrow.array(values, types.get(name))
    return pyarrow.table(arrays)


def as_html(caption: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return an HTML table for a notebook. The contents of memories are escaped.

    >>> as_html("1 hit", ["id"], [["<b>"]]).partition("<tbody>")[2]
    '<tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    import html  # importing it at the top would add a hundredth to the time of `import scrubjay`

    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(_cell(value))}</td>" for value in row) + "</tr>" for row in rows
    )
    top = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    return (
        f"<table><caption>{html.escape(caption)}</caption><thead><tr>{top}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4f}"
    text = str(value)
    return text if len(text) <= _SHOWN_CHARS else f"{text[: _SHOWN_CHARS - 3]}..."


def _pyarrow(what: str) -> Any:
    return imported("pyarrow", what, "tables")

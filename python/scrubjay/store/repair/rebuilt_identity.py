"""Recovering the identity of an index from a damaged file."""

from __future__ import annotations

from typing import Any

from scrubjay.store.repair.damaged_file import DamagedFile
from scrubjay.store.rows.identity import is_identity
from scrubjay.store.rows.sealed import OVERHEAD_BYTES, is_sealed
from scrubjay.store.rows.values import Identity
from scrubjay.store.rows.vectors import dim_of, fits
from scrubjay.store.sqlite.schema import Tables

_MISSING = object()
_DEFAULTS: dict[str, Any] = {
    "dim": None,
    "metric": "cosine",
    "dtype": "f16",
    "analyzer": "english",
    "model": None,
    "id_kind": None,
    "generation": 0,
}


def identity_of(damaged: DamagedFile, tables: Tables, mended: list[str]) -> Identity:
    """Return the identity of a collection: as stored, else as its rows suggest, else the defaults.

    Args:
        damaged: the damaged file.
        tables: of the collection.
        mended: receives a message for each guessed value.
    """
    meta = {
        row["name"]: row.get("value") for row in damaged.rows(tables.meta) if isinstance(row.get("name"), str)
    }
    values: dict[str, Any] = {}
    for name, otherwise in _DEFAULTS.items():
        if is_identity(name, meta.get(name, _MISSING)):
            values[name] = meta[name]
            continue
        values[name] = otherwise
        mended.append(f"{tables.meta}.{name} is lost; {otherwise!r} is assumed")
    _hold_to_rows(damaged, tables, values, mended)
    return Identity(**values)


def _hold_to_rows(damaged: DamagedFile, tables: Tables, values: dict[str, Any], mended: list[str]) -> None:
    """Correct dimension or kind of ids if they contradict most vectors or ids."""
    kinds = {"str": 0, "int": 0}
    for row in damaged.rows(tables.document):
        kinds["int" if row.get("id").__class__ is int else "str"] += 1
    kind = max(kinds, key=lambda one: kinds[one])
    if kinds[kind] and kinds.get(values["id_kind"], 0) * 2 < kinds[kind]:
        values["id_kind"] = kind
        mended.append(f"{tables.meta}.id_kind is {kind!r}, as the ids are")
    dim = _dim(damaged, tables, values["dtype"], values["dim"])
    if dim is not None and dim != values["dim"]:
        values["dim"] = dim
        mended.append(f"{tables.meta}.dim is {dim}, as the vectors are")


def _dim(damaged: DamagedFile, tables: Tables, dtype: str, known: int | None) -> int | None:
    """Return the dimension of most vectors; for sealed vectors the `known` one if their sizes match it."""
    sizes: dict[int, int] = {}
    for row in damaged.rows(tables.vector):
        data = row.get("data")
        if isinstance(data, bytes):
            sealed, size = is_sealed(data), len(data) - OVERHEAD_BYTES
            if sealed and known is not None and fits(size, known, dtype):
                dim = known
            else:
                dim = dim_of(bytes(max(size, 0)) if sealed else data, dtype)
            sizes[dim] = sizes.get(dim, 0) + 1
    dims = [dim for dim in sizes if is_identity("dim", dim)]
    return max(dims, key=lambda dim: sizes[dim], default=None)

"""Common deviations of newcomers in Python: the error suggests what was meant."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import Any, get_args

import pytest

import scrubjay
from scrubjay import Index, Memory, Scope

ACME = Scope("acme")


@pytest.mark.parametrize(
    "place", ["m.scrubjay", Path("m.scrubjay"), Path("notes"), "a.db", "a.sqlite3", "postgresql://db/x"]
)
def test_a_path_given_as_the_embedder_suggests_open(place: Any) -> None:
    with pytest.raises(
        TypeError, match=r"embedder: .* which looks like a file or a database.*Index\.open\(\)"
    ):
        Index(place)


@pytest.mark.parametrize("name", ["BAAI/bge-small-en-v1.5", "text-embedding-3.5", "notes"])
def test_an_embedder_name_without_its_kind_lists_the_kinds(name: str) -> None:
    with pytest.raises(ValueError, match="sentence-transformers:NAME, fastembed:NAME"):
        Index(name)


def test_a_number_given_as_the_embedder_suggests_dim() -> None:
    with pytest.raises(TypeError, match=r"embedder: .* got int; for vectors of your own give dim=256"):
        Index(256)  # type: ignore[arg-type]


def test_a_memory_is_made_by_open(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"got str; Memory\.open\(path\)"):
        Memory(str(tmp_path / "m.scrubjay"))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"got one in memory; Memory\.open\(path\)"):
        Memory(Index())


@pytest.mark.parametrize("records", [{"id": "a", "text": "oak"}, "oak", b"oak", 3])
def test_upsert_many_refuses_a_single_record(records: Any) -> None:
    index = Index()
    for target in (index, index.scope("acme")):
        with pytest.raises(TypeError, match="records: expected an iterable of mappings or dataclasses, got"):
            target.upsert_many(records)
    assert len(index) == 0


def test_names_of_types_can_be_used_in_annotations() -> None:
    """A type alias that is a str makes `Alias | None` an error where annotations are evaluated."""
    wrong = []
    for module in pkgutil.walk_packages(scrubjay.__path__, "scrubjay."):
        if any(part.startswith("_") for part in module.name.split(".")):
            continue
        try:
            names = importlib.import_module(module.name)
        except ImportError:  # an extra that is not installed
            continue
        for name in getattr(names, "__all__", ()):
            if name[:1].isupper() and not name.isupper() and isinstance(getattr(names, name, None), str):
                wrong.append(f"{module.name}.{name}")
    assert wrong == []
    assert scrubjay.backend.Native in get_args(scrubjay.backend.Node)

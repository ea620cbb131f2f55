"""Repair and salvage of damaged files, which must not be open anywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO
from urllib.parse import quote

from scrubjay.base.errors import StoreError, StoreFormatError
from scrubjay.base.progress import open_progress
from scrubjay.base.whole_files import whole_file
from scrubjay.index.collections import Collections
from scrubjay.index.open_collection import OpenCollection, asked_identity, file_options, open_root
from scrubjay.index.transfer import export_collection
from scrubjay.store.check import check_store
from scrubjay.store.jsonl import write_tables
from scrubjay.store.keys.encryption import KeyProvider
from scrubjay.store.repair.rebuilt_file import Rebuilt
from scrubjay.store.repair.repairing import (
    RepairReport,
    SalvageReport,
    repair_file,
    salvage_file,
    set_aside_forged,
)


def repair(path: Path, keys: KeyProvider | None, stemmer: Callable[[str], str] | None) -> RepairReport:
    """Make a damaged file sound again; see :meth:`scrubjay.Admin.repair`."""

    def check(file: Path) -> list[str]:
        problems: list[str] = []
        silent = open_progress(False, total=0, what="", unit="")
        try:
            with _open_members(file, keys, stemmer, for_rows=False) as members:
                for member in members:
                    report = check_store(member.durable("check"), silent)
                    problems += [f"collection {member.name!r}: {problem}" for problem in report.problems]
        except StoreFormatError as error:  # an analyzer without its stemmer: the rows are sound
            problems.append(str(error))
        return problems  # closing wrote the images of large partitions

    def authenticate(file: Path, aside: TextIO) -> list[str]:
        with _open_members(file, keys) as members:
            return [
                message
                for m in members
                for message in set_aside_forged(m.durable("repair").file("repair"), aside)
            ]

    return repair_file(path, check, None if keys is None else authenticate)


def salvage(
    path: Path, target: Path, keys: KeyProvider | None, plaintext: bool, replace: bool
) -> SalvageReport:
    """Write everything that can be read to new files; see :meth:`scrubjay.Admin.salvage`."""
    report = SalvageReport()

    def write(fresh: Path, rebuilt: Rebuilt) -> None:
        report.left_out += rebuilt.left_out
        with _open_members(fresh, keys) as members:
            for member in members:
                end = f".{quote(member.name, safe='')}" if member.name else ""
                file = _output_file(target.with_name(target.name + end), path)
                damaged: list[str] = []
                report.memories += export_collection(
                    member, file, plaintext=plaintext, replace=replace, progress=False, damaged=damaged
                )
                report.files.append(file)
                report.left_out += [
                    f"collection {member.name!r}: {loss}" if member.name else loss for loss in damaged
                ]
            file = _output_file(target.with_name(f"{target.name}.tables"), path)
            try:
                with whole_file(file, replace=replace) as out:
                    n_rows = write_tables(member.durable("salvage").file("salvage"), out)
            except OSError as error:
                raise StoreError(f"salvage: {error.strerror or error}: {file}") from error
            report.files.append(file)
            if n_rows == 0:
                file.unlink()
                report.files.remove(file)

    salvage_file(path, write)
    return report


def _output_file(file: Path, source: Path) -> Path:
    """Return a file to write to, after checking that it is not the source, also through a link."""
    if file.exists() and file.samefile(source):
        raise StoreError(f"salvage: expected another file than the one that is read: {file}")
    return file


@contextmanager
def _open_members(
    file: Path,
    keys: KeyProvider | None,
    stemmer: Callable[[str], str] | None = None,
    *,
    for_rows: bool = True,
) -> Iterator[list[OpenCollection]]:
    """Open all collections of a file. With `for_rows`, any analyzer is accepted, and unencrypted rows of a tenant with
    a key, unless all of the tenant was encrypted."""
    anything = asked_identity(None, None, None, None, None)
    encryption = "mixed" if for_rows else "sealed"
    options = file_options(stemmer, keys=keys, encryption=encryption, any_analyzer=for_rows)
    root = open_root(file, None, None, anything, 0, options)
    try:
        yield Collections(root).everyone()
    finally:
        root.close()

"""Export of a collection as JSON Lines, and import."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from scrubjay.base.errors import EmbedderMismatchError, StoreError, StoreFormatError
from scrubjay.base.progress import open_progress
from scrubjay.base.whole_files import whole_file
from scrubjay.index.open_collection import OpenCollection
from scrubjay.index.writer import Writer
from scrubjay.store.jsonl import read_export, write_export
from scrubjay.store.rows.listing import checked_count


def export_collection(
    collection: OpenCollection,
    path: Path,
    *,
    plaintext: bool,
    replace: bool = False,
    progress: bool | None,
    damaged: list[str] | None,
) -> int:
    """Export; see :meth:`Admin.export`. With `damaged`, unreadable memories are listed there, including those without a
    key."""
    engine = collection.durable("export")
    try:
        if any(file.exists() and path.exists() and file.samefile(path) for file in engine.store.files()):
            raise StoreError(f"export: expected another file than the index itself: {path}")
    except OSError as error:  # a name that is too long
        raise StoreError(f"export: {error.strerror or error}: {path}") from error
    bar = open_progress(progress, total=len(engine), what="exporting", unit="memories")
    try:
        with whole_file(path, replace=replace) as file:  # a partial export would look complete
            return write_export(engine, file, bar, plaintext=plaintext, damaged=damaged)
    except OSError as error:
        raise StoreError(f"export: {error.strerror or error}: {path}") from error
    finally:
        bar.close()


def import_collection(
    collection: OpenCollection, path: Path, *, progress: bool | None, batch_size: int
) -> int:
    """Import; see :meth:`Admin.import_`."""
    batch_size = checked_count(batch_size, "batch_size", at_least=1)
    lines = read_export(path, collection.family.options.get("ring"))
    try:
        header = next(lines, None)
        if header is None:
            raise StoreFormatError(f"{path}: expected an export of Scrubjay, got an empty file")
        made_by, model = header.get("embedder"), collection.semantics.model
        if made_by is not None and model is not None and made_by != model:
            raise EmbedderMismatchError(
                f"embedder: the export's vectors are of {made_by!r}, the index's of {model!r}"
            )
        is_new = made_by is not None and model is None and len(collection.engine) == 0
        if is_new:  # without an embedder: a later one must be that of the vectors, and embeds what is pending
            collection.semantics.restore(made_by)
        writer = Writer(collection)
        bar = open_progress(progress, total=None, what="importing", unit="memories")
        n_written = 0
        try:
            while batch := list(islice(lines, batch_size)):
                n_written += writer.upsert_many(batch, None, progress=False)
                bar.update(len(batch))
        finally:
            bar.close()
            if is_new and n_written == 0 and collection.semantics.embedder is None:
                collection.semantics.forget()
        return n_written
    except OSError as error:
        raise StoreError(f"import_: {error.strerror or error}: {path}") from error

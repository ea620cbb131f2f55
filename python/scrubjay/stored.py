"""What can be done with an index because it has a file: warming, sweeping, compacting, proving, copying.

A third of :class:`scrubjay.Index`, apart so that each can be read in one sitting. Without a file the same calls do
what makes sense in memory, or say that there is no file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from numpy.typing import ArrayLike

from scrubjay._native import Scope
from scrubjay.collected import CollectedIndex
from scrubjay.embedders.protocol import Embedder
from scrubjay.errors import EmbedderMismatchError, StoreError, StoreFormatError
from scrubjay.progress import open_progress
from scrubjay.semantic import Semantics
from scrubjay.store.check import CheckReport, check_store
from scrubjay.store.engine import DurableEngine
from scrubjay.store.files import ErasureReport, back_up, search_files, vector_needles
from scrubjay.store.jsonl import read_export, write_export
from scrubjay.store.protocol import Event
from scrubjay.store.reembedding import reembed_store
from scrubjay.store.rekeying import encrypt_tenant, encrypted_tenants, rotate_key
from scrubjay.store.together import Change

__all__ = ["StoredIndex"]


class StoredIndex(CollectedIndex):
    """The part of an index that knows of its file."""

    upsert_many: Callable[..., int]

    def warm(self, scope: Scope, *, pin: bool = False) -> int:
        """Read what a search from `scope` sees into memory; return how many memories that is.

        With `pin` its partitions stay in memory, whatever the budget.
        """
        if isinstance(self._engine, DurableEngine):
            self._engine.warm(scope, pin=pin)
        return self._engine.count(scope)

    def sweep(self, within: Scope | None = None) -> int:
        """Delete expired memories for good (searches do not see them anyway); return how many.

        Args:
            within: only in scopes that agree with every component this one names, as for :meth:`erase`; None: all. In
                memory all go in any case, also by themselves.
        """
        if within is not None and not isinstance(within, Scope):
            raise TypeError(f"within: expected a scrubjay.Scope, got {type(within).__name__}")
        if isinstance(self._engine, DurableEngine):
            return self._engine.sweep(within)
        return self._expiry.remove_due()

    @contextmanager
    def changing(self, doing: str) -> Iterator[Change]:
        """Write several things at once, all or nothing: documents, and rows of the caller's tables in the same file.

        Nobody sees anything of it before the block ends, and no search sees half of it. For what is built on an index;
        other writers wait, so texts are embedded before (:meth:`embed`).

        Args:
            doing: what is being done, for the message of an error.

        Raises:
            StoreBusyError: another thread or process wrote for longer than the index waits.
            StoreError: the index has no file, or the transaction could not be written; nothing of it was.

        >>> import tempfile
        >>> from scrubjay import Index
        >>> folder = tempfile.TemporaryDirectory()
        >>> with Index.open(folder.name + "/memories.scrubjay") as index:
        ...     index.upsert("old", "Lives in Berlin.", scope=Scope("acme"))
        ...     with index.changing("moving") as change:
        ...         n = change.delete(["old"], reason="superseded")
        ...         change.upsert(
        ...             ["new"], ["Lives in Oslo."], scopes=[Scope("acme")], vectors=[None], payloads=[None]
        ...         )
        ...     [hit.text for hit in index.search("where does she live?", scope=Scope("acme"))]
        ['Lives in Oslo.']
        >>> folder.cleanup()
        """
        with self._durable("changing").changing(doing) as change:
            yield change
        if change.embedded:
            self._semantics.wrote()

    def events(self) -> list[Event]:
        """Return what was deleted from the file, without its content: when, why, from which scope, how many."""
        return self._durable("events").store.events()

    def compact(self, *, progress: bool | None = False) -> int:
        """Give back memory, and make what was deleted or erased disappear from the files; return how many documents
        that were deleted were still in memory.

        Images are written for partitions that have none, so the next opening is fast. Takes time and, for a
        moment, disk space in proportion to the file; other writers wait.

        Raises:
            StoreBusyError: another process is using the index; call it again.
        """
        if not isinstance(self._engine, DurableEngine):
            return self._engine.compact()
        bar = open_progress(
            progress, total=len(self._engine.store.stale_scopes()), what="compacting", unit="partitions"
        )
        try:
            return self._engine.compact(bar)
        finally:
            bar.close()

    def verify_erased(
        self,
        texts: Iterable[str] = (),
        vectors: Iterable[ArrayLike] = (),
        sequences: Iterable[bytes] = (),
    ) -> ErasureReport:
        """Search the index's own files for what should be gone: texts, vectors, or any bytes.

        Run :meth:`compact` first. Of a long sequence its parts are looked for as well, so words that a memory
        shares with one that is still there are found, too: the report says where and which.

        >>> import tempfile
        >>> from scrubjay import Index
        >>> folder = tempfile.TemporaryDirectory()
        >>> with Index.open(folder.name + "/memories.scrubjay") as index:
        ...     index.upsert("m1", "The door code is 4711.", scope=Scope("acme"))
        ...     n = index.erase(Scope("acme"))
        ...     n = index.compact()
        ...     index.verify_erased(["The door code is 4711."]).clean
        True
        >>> folder.cleanup()
        """
        engine = self._durable("verify_erased")
        needles = [text.encode() for text in texts] + vector_needles(vectors) + list(sequences)
        if not needles or not all(needles):
            raise ValueError("texts, vectors, sequences: expected at least one, and none empty")
        return search_files(engine.store, needles)

    def check(self, *, progress: bool | None = False) -> CheckReport:
        """Compare rows, images and what the engine has of each partition; the report says what is wrong.

        Every partition is read in and built a second time from its rows.
        """
        engine = self._durable("check")
        bar = open_progress(progress, total=len(engine.store.scopes()), what="checking", unit="partitions")
        try:
            return check_store(engine, bar)
        finally:
            bar.close()

    def reembed(self, embedder: Embedder, *, progress: bool | None = None, batch_size: int = 256) -> int:
        """Change the model: give every memory a vector of `embedder`, then search with it; return how many
        were embedded.

        Searches go on with the old model until everything is embedded. If the process ends before, calling
        this again with the same embedder goes on where it stopped. Other processes that have the file open
        answer by keywords until they open it with the new embedder. Vectors that callers gave are replaced, too.
        Memories of a tenant whose key was destroyed have none from then on.

        Raises:
            EmbedderError: the embedder failed; the index is as it was.
            EncryptionError: a tenant's key cannot be had; what was embedded is kept for the next call.
        """
        engine = self._durable("reembed")
        fresh = Semantics(embedder, None, 0)
        silent = open_progress(False, total=0, what="", unit="")
        bar = open_progress(progress, total=len(engine), what="reembedding", unit="texts")
        try:
            n_embedded = reembed_store(
                engine,
                embedder.name,
                embedder.dim,
                lambda texts: fresh.documents(texts, batch_size, silent),
                bar,
                batch_size=batch_size,
            )
        finally:
            bar.close()
        self._semantics.replace(embedder)
        return n_embedded

    def encrypted_tenants(self) -> list[str]:
        """Return the tenants that have anything encrypted in the file, in alphabetical order."""
        return encrypted_tenants(self._durable("encrypted_tenants").store)

    def encrypt(self, tenant: str, *, progress: bool | None = False) -> int:
        """Encrypt what a tenant has in the clear, in every collection; return how many memories that were.

        For what was written before `keys` gave a key: what is written since is encrypted anyway. A call that was cut
        short can be repeated. From then on a row in the clear is refused. What stood in the clear leaves the files
        with :meth:`compact`; copies of the file are as they were.

        Raises:
            EncryptionError: `keys` give no key for the tenant.

        >>> import tempfile
        >>> from scrubjay import Index
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = folder.name + "/memories.scrubjay"
        >>> with Index.open(path) as index:
        ...     index.upsert("m1", "The door code is 4711.", scope=Scope("acme"))
        >>> with Index.open(path, keys={"acme": b"0123456789abcdef"}.get) as index:
        ...     index.encrypt("acme"), index.compact(), index.verify_erased(["The door code is 4711."]).clean
        (1, 0, True)
        >>> folder.cleanup()
        """
        engine = self._durable("encrypt")
        bar = open_progress(progress, total=engine.count(), what="encrypting", unit="memories")
        try:
            return encrypt_tenant(engine.store, Scope(tenant).tenant, bar)
        finally:
            bar.close()

    def rotate_key(self, tenant: str, old: bytes) -> None:
        """Change a tenant's key from `old` to the one that `keys` give now; all at once, for every collection.

        Memories are sealed with a key of their own, kept in the file and wrapped by yours: that alone is wrapped anew.
        So copies from before still need the old key, and who has both could open what is written later, too: then
        erase the tenant, and write the memories again. Calling it again does nothing.

        Raises:
            EncryptionError: the tenant is not encrypted, `old` is not its key, or `keys` give none.
        """
        rotate_key(self._durable("rotate_key").store, Scope(tenant).tenant, old)

    def forget_keys(self, tenant: str | None = None) -> None:
        """Take what is decrypted of a tenant (None: of all) out of this process's memory, and ask `keys` anew.

        For a key that was destroyed or changed just now: other processes notice it when they next use the tenant.
        """
        if tenant is not None:
            tenant = Scope(tenant).tenant
        for member in self._family.everyone():
            member._durable("forget_keys").forget_keys(tenant)

    def backup(self, path: str | Path, *, progress: bool | None = False) -> int:
        """Copy the index as of now into a new file while everybody goes on; return the copy's size in bytes.

        Raises:
            StoreError: the file exists, or cannot be written.
        """
        engine = self._durable("backup")
        total = engine.files()[0].stat().st_size // 4096
        bar = open_progress(progress, total=total, what="backing up", unit="pages")
        try:
            return back_up(engine.store, Path(path), bar)
        finally:
            bar.close()

    def export(self, path: str | Path, *, plaintext: bool = False, progress: bool | None = False) -> int:
        """Write every memory with its vector to a new JSON Lines file; return how many. :meth:`import_` reads it.

        Memories of encrypted tenants are sealed there, too, for an index whose `keys` give the same key; with
        `plaintext` they are not. Those of tenants whose keys were destroyed are left out.

        Raises:
            StoreError: the file exists, or cannot be written.
            EncryptionError: a tenant's key cannot be had.
            In each case there is no new file.
        """
        engine = self._durable("export")
        bar = open_progress(progress, total=len(engine), what="exporting", unit="memories")
        try:
            with Path(path).open("x", encoding="utf-8") as file:
                try:
                    return write_export(engine, file, bar, plaintext=plaintext)
                except BaseException:  # half an export would look like a whole one
                    Path(path).unlink()
                    raise
        except OSError as error:
            raise StoreError(f"export: {error.strerror or error}: {path}") from error
        finally:
            bar.close()

    def import_(self, path: str | Path, *, progress: bool | None = False, batch_size: int = 1000) -> int:
        """Write the memories of an export, in batches that are all or nothing each; return how many.

        Vectors are taken as they are; the index's embedder must be the one that made them. Memories with the
        same ids are replaced, so an import that was cut short can be repeated.

        Raises:
            StoreFormatError: the file is no export.
            EmbedderMismatchError: its vectors are of another model.
            EncryptionError: it has memories of an encrypted tenant, and `keys` do not give that key.
        """
        lines = read_export(Path(path), self._family.options.get("ring"))
        try:
            header = next(lines, None)
            if header is None:
                raise StoreFormatError(f"{path}: expected an export of Scrubjay, got an empty file")
            made_by, model = header.get("embedder"), self._semantics.model
            if made_by is not None and model is not None and made_by != model:
                raise EmbedderMismatchError(
                    f"embedder: the export's vectors are of {made_by!r}, the index's of {model!r}"
                )
            bar = open_progress(progress, total=1 << 40, what="importing", unit="memories")
            n_written = 0
            try:
                while batch := list(islice(lines, batch_size)):
                    n_written += self.upsert_many(batch, progress=False)
                    bar.update(len(batch))
            finally:
                bar.close()
            return n_written
        except OSError as error:
            raise StoreError(f"import_: {error.strerror or error}: {path}") from error

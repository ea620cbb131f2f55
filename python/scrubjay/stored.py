"""What can be done with an index because it has a file: warming, sweeping, compacting, proving, copying.

A third of :class:`scrubjay.Index`, apart so that each can be read in one sitting. Without a file the same calls do
what makes sense in memory, or say that there is no file.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TextIO
from urllib.parse import quote

from numpy.typing import ArrayLike

from scrubjay._native import Scope
from scrubjay.collected import CollectedIndex
from scrubjay.embedders.protocol import Embedder
from scrubjay.errors import EmbedderMismatchError, StoreError, StoreFormatError
from scrubjay.progress import open_progress
from scrubjay.semantic import Semantics, checked_embedder
from scrubjay.store.check import CheckReport, check_store
from scrubjay.store.encryption import KeyProvider
from scrubjay.store.engine import DurableEngine
from scrubjay.store.files import (
    ErasureReport,
    back_up,
    byte_needles,
    search_files,
    text_needles,
    vector_needles,
)
from scrubjay.store.jsonl import read_export, write_export, write_tables
from scrubjay.store.listing import checked_count
from scrubjay.store.protocol import Event
from scrubjay.store.rebuilding import Rebuilt
from scrubjay.store.reembedding import reembed_store
from scrubjay.store.rekeying import encrypt_tenant, encrypted_tenants, rotate_key
from scrubjay.store.repairing import RepairReport, SalvageReport, repair_file, salvage_file, set_aside_forged
from scrubjay.store.together import Change
from scrubjay.whole_files import whole_file

__all__ = ["StoredIndex"]


@contextmanager
def _new_file(path: Path, doing: str) -> Iterator[TextIO]:
    """Open a file that does not exist yet; it is gone again if what is written to it fails."""
    try:
        with path.open("x", encoding="utf-8") as file:
            try:
                yield file
            except BaseException:  # half an export would look like a whole one
                path.unlink()
                raise
    except OSError as error:
        raise StoreError(f"{doing}: {error.strerror or error}: {path}") from error


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
        self._check_open()
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
        ...         n = change.delete(["old"], scope=Scope("acme"), reason="superseded")
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
        names: Iterable[str] = (),
    ) -> ErasureReport:
        """Search the index's own files for what should be gone: texts, vectors, any bytes, or names.

        Names are looked for in UTF-8 and UTF-16, in upper and lower case, as hexadecimal digits and in base64; one of
        fewer than four letters may be found by chance.

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
        needles = [*text_needles(texts), *vector_needles(vectors), *byte_needles(sequences)]
        names = list(names)
        if not all(isinstance(name, str) for name in names):
            raise TypeError(f"names: expected texts, got {names!r}")
        if not (needles or names) or not all(needles) or not all(names):
            raise ValueError("texts, vectors, sequences, names: expected at least one, and none empty")
        return search_files(engine.store, needles, names)

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

    @classmethod
    def repair(
        cls,
        path: str | Path,
        *,
        keys: KeyProvider | None = None,
        stemmer: Callable[[str], str] | None = None,
    ) -> RepairReport:
        """Make a damaged file sound again; nobody may have it open. Nothing is lost by it that was still there.

        Everything that can be read is taken over into a new file: counts, indexes, rules and images are made anew,
        vectors without a memory are left out, and rows that cannot be read are set aside, each named in the report and
        kept with its values in `FILE.set-aside.jsonl`. The file as it was stays beside it as `FILE.damaged`. Erasures
        reach neither of the two, so delete them when they are of no use any more. A file with which nothing is wrong is
        not touched. Where rows of an encrypted tenant were set aside its digest says so (see `accept` of
        :meth:`encrypt`).
        What becomes of records of memory that were set aside, :meth:`Memory.reindex` puts right.

        Args:
            path: of the file.
            keys: as for :meth:`open`; with them sealed memories that are not authentic are set aside, too, without them
                what is sealed is taken over as it stands.
            stemmer: of an index with an analyzer of yours; without it the result is not checked (`problems` says so).

        Raises:
            StoreBusyError: the file is open somewhere.
            StoreError, CorruptIndexError: it cannot be written, or nothing of an index can be read in it. Then it is as
                it was.

        >>> import tempfile
        >>> from scrubjay import Index, Scope
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = folder.name + "/memories.scrubjay"
        >>> with Index.open(path) as index:
        ...     index.upsert("m1", "Prefers trains to planes.", scope=Scope("acme"))
        >>> Index.repair(path).changed
        False
        >>> folder.cleanup()
        """

        def check(file: Path) -> builtins.list[str]:
            problems: builtins.list[str] = []
            try:
                with cls.open(file, keys=keys, stemmer=stemmer) as index:
                    for member in (index, *(index.collection(name) for name in index.collections())):
                        report = member.check()
                        problems += [f"collection {member.name!r}: {one}" for one in report.problems]
            except StoreFormatError as error:  # an analyzer whose stemmer is not given: the rows are sound
                problems.append(str(error))
            return problems  # images of large partitions were written when it was closed

        def authenticate(file: Path, aside: TextIO) -> builtins.list[str]:
            with cls.open(file, keys=keys, stemmer=stemmer) as index:
                members = (index, *(index.collection(name) for name in index.collections()))
                return [one for m in members for one in set_aside_forged(m._durable("repair").store, aside)]

        return repair_file(Path(path), check, None if keys is None else authenticate)

    @classmethod
    def salvage(
        cls,
        path: str | Path,
        target: str | Path,
        *,
        keys: KeyProvider | None = None,
        plaintext: bool = False,
    ) -> SalvageReport:
        """Write everything that can be read in a file, however damaged, to new files; the file stays as it is.

        `target` becomes the export of the collection without a name (:meth:`import_` reads it), `target.NAME` that of
        the collection NAME, and `target.tables` has the rows of memory's tables and others, one JSON object a line.
        Nobody should write to the file meanwhile.

        Args:
            path: of the file.
            target: a file that does not exist yet.
            keys: of encrypted tenants, as for :meth:`open`; without a key theirs are left out.
            plaintext: as for :meth:`export`.

        Raises:
            StoreError: a file exists already, or cannot be written.
            CorruptIndexError: nothing of an index can be read in the file.
        """
        report = SalvageReport()
        target = Path(target)

        def write(fresh: Path, rebuilt: Rebuilt) -> None:
            report.left_out += rebuilt.left_out
            with cls.open(fresh, keys=keys) as index:
                names = index.collections()
                for member in (index, *(index.collection(name) for name in names)):
                    end = f".{quote(member.name, safe='')}" if member.name else ""
                    file = target.with_name(target.name + end)
                    damaged: list[str] = []
                    report.memories += member._export(
                        file, plaintext=plaintext, progress=False, damaged=damaged
                    )
                    report.files.append(file)
                    report.left_out += [
                        f"collection {member.name!r}: {one}" if member.name else one for one in damaged
                    ]
                file = target.with_name(f"{target.name}.tables")
                with _new_file(file, "salvage") as out:
                    n_rows = write_tables(member._durable("salvage").store, out)
                report.files.append(file)
                if n_rows == 0:
                    file.unlink()
                    report.files.remove(file)

        salvage_file(Path(path), write)
        return report

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
        checked_embedder(embedder)
        checked_count(batch_size, "batch_size", at_least=1)
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

    def encrypt(self, tenant: str, *, accept: bool = False, progress: bool | None = False) -> int:
        """Encrypt what a tenant has in the clear, in every collection; return how many memories that were.

        For what was written before `keys` gave a key: what is written since is encrypted anyway. Memory's tables and
        feedback are sealed as well, whether or not :mod:`scrubjay.memory` was imported: the file says what is sealed.
        Until this was called, a tenant for which `keys` give a key and who has rows in the clear is refused
        (`encryption="mixed"` at opening lets it be read). A call that was cut short can be repeated; other processes
        may write meanwhile. What stood in the clear leaves the files with :meth:`compact`; copies of the file are as
        they were.

        Afterwards plain rows, rows that were put back and rows that were taken out past Scrubjay are refused, by this
        method, too: it is safe to call at every start.

        Args:
            tenant: whose memories.
            accept: take what is there, although something else changed it since the tenant was encrypted: plain rows
                are sealed, and the digests become those of the rows as they are. For a file that was repaired by hand.
            progress: whether to show a progress bar; None: if the terminal can.

        Raises:
            EncryptionError: `keys` give no key for the tenant.
            CorruptIndexError: the tenant was encrypted, and something else changed its rows since.

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
            return encrypt_tenant(engine.store, Scope(tenant).tenant, bar, accept=accept)
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
        self._check_open()
        for member in self._family.everyone():
            member._durable("forget_keys").forget_keys(tenant)

    def backup(self, path: str | Path, *, replace: bool = False, progress: bool | None = False) -> int:
        """Copy the index as of now into a new file while everybody goes on; return the copy's size in bytes.

        The file appears when it is complete, for its owner's eyes (mode 0600). With `replace` it may take the place of
        another, whose mode it gets; never that of this index, or of one that is open.

        Raises:
            StoreError: the file exists, or cannot be written.
        """
        engine = self._durable("backup")
        total = engine.files()[0].stat().st_size // 4096
        bar = open_progress(progress, total=total, what="backing up", unit="pages")
        try:
            return back_up(engine.store, Path(path), bar, replace=replace)
        finally:
            bar.close()

    def export(
        self,
        path: str | Path,
        *,
        plaintext: bool = False,
        replace: bool = False,
        progress: bool | None = False,
    ) -> int:
        """Write every memory with its vector to a new JSON Lines file; return how many. :meth:`import_` reads it.

        The file appears when it is complete, for its owner's eyes (mode 0600). With `replace` it may take the place of
        another, whose mode it gets; never that of this index.

        Memories of encrypted tenants are sealed there, too, for an index whose `keys` give the same key; with
        `plaintext` they are not. Those of tenants whose keys were destroyed are left out. So are those that are damaged
        in the file, which a :class:`~scrubjay.CorruptDataWarning` names.

        Raises:
            StoreError: the file exists, or cannot be written.
            EncryptionError: a tenant's key cannot be had.
            In each case there is no new file, and one that was there is as it was.
        """
        return self._export(Path(path), plaintext=plaintext, replace=replace, progress=progress, damaged=None)

    def _export(
        self,
        path: Path,
        *,
        plaintext: bool,
        replace: bool = False,
        progress: bool | None,
        damaged: builtins.list[str] | None,
    ) -> int:
        """Export; with `damaged` what cannot be read is noted there, memories without a key included."""
        engine = self._durable("export")
        if any(file.exists() and Path(path).exists() and file.samefile(path) for file in engine.files()):
            raise StoreError(f"export: expected another file than the index itself: {path}")
        bar = open_progress(progress, total=len(engine), what="exporting", unit="memories")
        try:
            with whole_file(path, replace=replace) as file:  # half an export would look like a whole one
                return write_export(engine, file, bar, plaintext=plaintext, damaged=damaged)
        except OSError as error:
            raise StoreError(f"export: {error.strerror or error}: {path}") from error
        finally:
            bar.close()

    def import_(self, path: str | Path, *, progress: bool | None = False, batch_size: int = 1000) -> int:
        """Write the memories of an export, in batches that are all or nothing each; return how many.

        Each memory comes into the scope that it was exported from. One that has its id there is replaced, so an import
        that was cut short can be repeated. Vectors are taken as they are; the index's embedder must be the one that
        made them.

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

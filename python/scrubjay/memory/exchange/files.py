"""Import and export: lossless exports, and Markdown for editing by hand."""

from __future__ import annotations

import os
from collections.abc import Iterator

from scrubjay._native import Scope
from scrubjay.base.arguments import checked_path
from scrubjay.base.whole_files import in_utf8, whole_file
from scrubjay.memory.exchange.dump import Imported, read_lines, write_lines
from scrubjay.memory.exchange.importing import TakenOver, take_over
from scrubjay.memory.exchange.markdown import Edited, Verbs, as_markdown, take_edits
from scrubjay.memory.gate.gate import Gate
from scrubjay.memory.ledger.context import MemoryContext, checked_scope
from scrubjay.memory.ledger.slots import Slots
from scrubjay.memory.read.rules import Rules


class Files:
    """Files of a memory: :attr:`scrubjay.memory.Memory.files`. They are in the clear even where tenants are encrypted.

    >>> import tempfile
    >>> from scrubjay.memory import Memory
    >>> folder, jane = tempfile.TemporaryDirectory(), Scope("acme", user="jane")
    >>> with Memory.open(folder.name + "/memory.scrubjay") as memory:
    ...     outcome = memory.propose("Jane lives in Oslo", scope=jane, source="run-1")
    ...     memory.files.export(folder.name + "/jane.jsonl", scope=jane)
    3
    >>> with Memory.open(folder.name + "/other.scrubjay") as memory:
    ...     memory.files.import_(folder.name + "/jane.jsonl", scope=jane).written
    ...     memory.list(jane)[0].text
    {'fact': 1, 'log': 1}
    'Jane lives in Oslo'
    >>> folder.cleanup()
    """

    def __init__(
        self,
        context: MemoryContext,
        slots: Slots,
        gate: Gate,
        rules: Rules,
        verbs: Verbs,
    ) -> None:
        self._context = context
        self._slots = slots
        self._gate = gate
        self._rules = rules
        self._verbs = verbs

    def __repr__(self) -> str:
        return f"<scrubjay.memory.Files of {self._context.index.path}>"

    def lines(self, scope: Scope) -> Iterator[str]:
        """Yield the lines of an export of a scope and everything within it: its users, its agents.

        The first line states the format, every other line is a row as JSON: records of every kind and status with
        both times, values and provenance, their events, observations, rejections, deletion events, and runs with
        their events. Global policies belong to no scope. Notes are documents of the index, which
        :meth:`scrubjay.Admin.export` writes.

        Raises:
            EncryptionError: the tenant's key is unavailable.
        """
        self._context.store.check_open()
        return write_lines(self._context, checked_scope(scope))

    def export(self, path: str | os.PathLike[str], *, scope: Scope, replace: bool = False) -> int:
        """Write :meth:`lines` to a new file, readable by its owner only; return the number of lines.

        Args:
            path: the new file.
            scope: the scope to export, with everything within it.
            replace: whether an existing file may be replaced.

        Raises:
            FileExistsError: the file exists, and `replace` is false.
        """
        n = 0
        with whole_file(path, replace=replace) as file:
            for line in self.lines(scope):
                file.write(line)
                n += 1
        return n

    def import_(self, path: str | os.PathLike[str], *, scope: Scope) -> Imported:
        """Import an export into this memory, in one transaction and without loss; a repetition changes nothing.

        It restores rows, so it does not pass the gate: ids, times, statuses and histories come back as they were. A
        record whose id exists here in another state, or whose place is taken (an active preference with its key, the
        same living fact), is left out, and the result says so. If both memories have facts in one slot, the slot is
        projected again.

        Args:
            path: a file written by :meth:`export`.
            scope: the scope of the file; a line of another scope is an error.

        Raises:
            ValueError: a line does not belong to an export of this scope; nothing is written.
            EmbedderError, StoreError: nothing was written.
        """
        with in_utf8(path) as file:
            done = read_lines(self._context, self._slots, file, checked_scope(scope))
        self._rules.clear(scope.tenant)
        return done

    def export_markdown(self, path: str | os.PathLike[str], *, scope: Scope, replace: bool = False) -> int:
        """Write the records in force of exactly this scope as Markdown for reading and editing; return their number.

        Args:
            path: the new file.
            scope: the exact scope of the records.
            replace: whether an existing file may be replaced.

        Raises:
            FileExistsError: the file exists, and `replace` is false.
        """
        text, n = as_markdown(self._verbs, checked_scope(scope))
        with whole_file(path, replace=replace) as file:
            file.write(text)
        return n

    def import_markdown(
        self, path: str | os.PathLike[str], *, scope: Scope, by: str | None = None, dry_run: bool = False
    ) -> Edited:
        """Apply edits made by hand to a file that :meth:`export_markdown` wrote.

        An unchanged line changes nothing, whatever happened since. An edited line updates its record (for a policy it
        proposes the next version), a deleted line revokes it, a new line is proposed. A record that has been changed or
        deleted in the meantime is left alone, and the result says so.

        Args:
            path: the edited file.
            scope: the scope for which it was written.
            by: the name of the editor.
            dry_run: only report what would be done.

        Raises:
            ValueError: the file is not such a file, or belongs to another scope.
        """
        with in_utf8(path) as file:
            text = file.read()
        return take_edits(self._verbs, text, checked_scope(scope), by, dry_run=dry_run)

    def import_from(
        self,
        path: str | os.PathLike[str],
        kind: str,
        *,
        scope: Scope,
        as_notes: bool = False,
        dry_run: bool = False,
    ) -> TakenOver:
        """Import the statements of another memory system from its dump (JSON, or JSON on each line).

        Statements become facts, proposed to the gate in one transaction: said when the dump says, with its validity
        if it has one, its ids in metadata and provenance. A repetition deduplicates.

        Args:
            path: the dump.
            kind: "mem0", "letta", "zep", "langgraph", "chatgpt" or "claude"; the formats are documented in
                :mod:`scrubjay.memory.exchange.other_systems`.
            scope: the scope of the facts. If it names no user, the users (and agents) named in the dump become those of
                this tenant; if it does, statements of other users are left out.
            as_notes: write notes to the index instead, which do not pass the gate.
            dry_run: only count.

        Raises:
            ValueError: the kind is unknown, or the file is not such a dump.
        """
        return take_over(
            self._gate,
            self._context.index,
            checked_path(path, "path"),
            kind,
            checked_scope(scope),
            as_notes=as_notes,
            dry_run=dry_run,
        )

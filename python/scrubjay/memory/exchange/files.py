"""Memory in files: an export without loss, and Markdown that a person edits."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from scrubjay._native import Scope
from scrubjay.memory.exchange.dump import Imported, read_lines, write_lines
from scrubjay.memory.exchange.importing import TakenOver, take_over
from scrubjay.memory.exchange.markdown import Edited, Verbs, as_markdown, take_edits
from scrubjay.memory.gate.gate import Gate
from scrubjay.memory.ledger.context import MemoryContext, checked_scope
from scrubjay.memory.ledger.slots import Slots
from scrubjay.memory.read.rules import Rules
from scrubjay.whole_files import in_utf8, whole_file


class Files:
    """The files of a memory: :attr:`scrubjay.memory.Memory.files`. They are in the clear, whatever is encrypted.

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

        The first line names the format, each other one is a row, as JSON: records of every kind and status with both
        times, values and provenance, what happened to them, observations, rejections, deletion events, and runs with
        their events. Global policies are no scope's. Notes are documents of the index, which
        :meth:`scrubjay.Admin.export` writes.

        Raises:
            EncryptionError: the tenant's key is not available.
        """
        self._context.store.check_open()
        return write_lines(self._context, checked_scope(scope))

    def export(self, path: str | os.PathLike[str], *, scope: Scope, replace: bool = False) -> int:
        """Write :meth:`lines` to a new file, readable by its owner only; return how many.

        Args:
            path: the new file.
            scope: what is written, with everything within it.
            replace: whether it may take the place of a file that is there.

        Raises:
            FileExistsError: there is one of this name, and not `replace`.
        """
        n = 0
        with whole_file(path, replace=replace) as file:
            for line in self.lines(scope):
                file.write(line)
                n += 1
        return n

    def import_(self, path: str | os.PathLike[str], *, scope: Scope) -> Imported:
        """Read an export into this memory, in one transaction and without loss; a second time changes nothing.

        It restores what a memory said, so it asks no gate: ids, times, statuses and histories come back as they were. A
        record whose id is here in another state, or whose place is taken (a living preference of its key, the same
        living fact), is left out, and the result says so. Where facts of both memories are of one slot, what holds when
        is decided anew from all of them.

        Args:
            path: what :meth:`export` wrote.
            scope: whose file it is; a line of another scope is an error.

        Raises:
            ValueError: a line is not of an export of this scope; nothing is written.
            EmbedderError, StoreError: nothing was written.
        """
        with in_utf8(path) as file:
            done = read_lines(self._context, self._slots, file, checked_scope(scope))
        self._rules.clear(scope.tenant)
        return done

    def export_markdown(self, path: str | os.PathLike[str], *, scope: Scope, replace: bool = False) -> int:
        """Write what is in force of exactly this scope as Markdown for a person to read and edit; how many records.

        Args:
            path: the new file.
            scope: exactly this one's records.
            replace: whether it may take the place of a file that is there.

        Raises:
            FileExistsError: there is a file of this name, and not `replace`.
        """
        text, n = as_markdown(self._verbs, checked_scope(scope))
        with whole_file(path, replace=replace) as file:
            file.write(text)
        return n

    def import_markdown(
        self, path: str | os.PathLike[str], *, scope: Scope, by: str | None = None, dry_run: bool = False
    ) -> Edited:
        """Take the edits of a person: what :meth:`export_markdown` wrote, changed by hand.

        A line that is as it was changes nothing, whatever happened since. An edited one updates its record (of a policy
        it proposes the next version), a deleted one revokes it, a new one is proposed. A record that was changed or is
        gone meanwhile is left alone, and the result says so.

        Args:
            path: of the file.
            scope: that it was written for.
            by: who edited it.
            dry_run: only say what would be done.

        Raises:
            ValueError: it is not such a file, or of another scope.
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
        """Take over what another memory said, from its dump (JSON, or JSON on each line).

        Statements become facts, proposed to the gate in one transaction: said when the dump says, with its validity
        where it has one, its ids in metadata and provenance. Doing it again deduplicates.

        Args:
            path: of the dump.
            kind: "mem0", "letta", "zep", "langgraph", "chatgpt" or "claude"; :mod:`scrubjay.memory.exchange.foreign`
                has the shapes.
            scope: whose it becomes. If it names no user, the users (and agents) that the dump names are those of this
                tenant; if it does, what is of another one is left out.
            as_notes: write notes to the index instead, which pass no gate.
            dry_run: only count.

        Raises:
            ValueError: the kind is unknown, or the file is no dump of it.
        """
        return take_over(
            self._gate,
            self._context.index,
            Path(path),
            kind,
            checked_scope(scope),
            as_notes=as_notes,
            dry_run=dry_run,
        )

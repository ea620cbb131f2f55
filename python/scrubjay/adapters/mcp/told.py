"""The tools for a memory over time: the history of a subject, the feed of changes, exports."""

from __future__ import annotations

import secrets
import tempfile
from collections import OrderedDict
from collections.abc import Iterable
from typing import IO, Annotated, Any

from pydantic import BaseModel, Field

from scrubjay._native import Scope
from scrubjay.adapters._typed import LazyMemory
from scrubjay.adapters.mcp.tools import MAX_CURSOR, MAX_TEXT, Arguments, KnownAt
from scrubjay.base.errors import CursorError
from scrubjay.memory import Fact
from scrubjay.memory.exchange.json_types import plain

MAX_EVENTS = 500
_MAX_HELD = 4
_MAX_IN_MEMORY_BYTES = 4 << 20
_PAGE_BYTES = 64 << 10


class GetHistory(Arguments):
    """Arguments of get_history."""

    subject: Annotated[
        str, Field(min_length=1, max_length=MAX_TEXT, description='what facts are about, such as "Jane"')
    ]
    predicate: Annotated[
        str,
        Field(min_length=1, max_length=MAX_TEXT, description='what they say about it, such as "lives in"'),
    ]
    known_at: KnownAt = None


class ListChanges(Arguments):
    """Arguments of list_changes."""

    since: Annotated[
        int, Field(ge=0, le=2**62 - 1, description="the cursor of the previous answer; 0: from the beginning")
    ] = 0
    limit: Annotated[int, Field(ge=1, le=MAX_EVENTS, description="maximum number of changes")] = 100


class ExportMemories(Arguments):
    """Arguments of export_memories."""

    cursor: Annotated[
        str | None, Field(max_length=MAX_CURSOR, description="the next_cursor of the previous page")
    ] = None


class PastFact(BaseModel):
    """One statement of a history."""

    id: str
    text: str
    value: Annotated[Any, Field(description="its value for the subject, if it was stored separately")]
    status: Annotated[str, Field(description="active, planned, ended, superseded, provisional or revoked")]
    holds: Annotated[
        list[list[str | None]],
        Field(description="when it held, as [from, until]; until null: still; empty: never"),
    ]
    said_at: str | None
    recorded_at: Annotated[str | None, Field(description="when it was recorded")]
    superseded_by: Annotated[str | None, Field(description="id of the fact that superseded it")]


class History(BaseModel):
    """The result of get_history."""

    facts: Annotated[list[PastFact], Field(description="ordered by the times at which they begin")]


class Change(BaseModel):
    """One change of a memory, without its content."""

    cursor: int
    at: str
    action: Annotated[
        str, Field(description="proposed, superseded, revoked, updated, expired, forgotten, ...")
    ]
    kind: Annotated[str | None, Field(description="id of the record; null: all of yours")]
    id: str | None
    by: str | None
    detail: str | None
    shared: Annotated[bool, Field(description="whether the record is shared with you by others")]


class Changed(BaseModel):
    """The result of list_changes."""

    changes: list[Change]
    cursor: Annotated[int, Field(description="for the next call: `since`")]


class Exported(BaseModel):
    """The result of export_memories."""

    lines: Annotated[
        list[str], Field(description="one row each, as JSON; all of them in a file are an export")
    ]
    next_cursor: Annotated[str | None, Field(description="for the next page; null at the end")]


class ToldTools:
    """The history, changes and exports of one scope's memory, in the file of an index.

    Args:
        memory: the memory in that file.
        scope: the scope of the server.
    """

    def __init__(self, memory: LazyMemory, scope: Scope) -> None:
        self._memory, self._scope = memory, scope
        self._held = _HeldExports()

    def history(self, given: GetHistory) -> dict[str, Any]:
        """Return all statements of a subject and predicate, of any status."""
        memory = self._memory.find()
        facts = (
            []
            if memory is None
            else memory.history(given.subject, given.predicate, self._scope, known_at=given.known_at)
        )
        return {"facts": [_past(fact) for fact in facts]}

    def changes(self, given: ListChanges) -> dict[str, Any]:
        """Return the changes after a cursor, oldest first."""
        memory = self._memory.find()
        changes = (
            [] if memory is None else memory.feed.changes(given.since, scope=self._scope, limit=given.limit)
        )
        events = [
            {
                "cursor": event.cursor,
                "at": event.at.isoformat(),
                "action": event.action,
                "kind": event.kind,
                "id": event.record,
                "by": event.by,
                "detail": event.detail,
                "shared": event.scope != self._scope,
            }
            for event in changes
        ]
        return {"changes": events, "cursor": changes[-1].cursor if changes else given.since}

    def export(self, given: ExportMemories) -> dict[str, Any]:
        """Return a page of the lines of an export; all pages are from one snapshot of the file.

        Raises:
            CursorError: the cursor is invalid, or its export was discarded.
        """
        if given.cursor is not None:
            return self._held.page(given.cursor)
        memory = self._memory.find()
        return self._held.begin(() if memory is None else memory.files.lines(self._scope))


class _HeldExports:
    """Exports that are read page by page: only the latest few, so that one client cannot fill the disk."""

    def __init__(self) -> None:
        self._files: OrderedDict[str, IO[bytes]] = OrderedDict()

    def begin(self, lines: Iterable[str]) -> dict[str, Any]:
        """Store the lines of an export, and return its first page."""
        file = tempfile.SpooledTemporaryFile(_MAX_IN_MEMORY_BYTES)  # noqa: SIM115 - closed when it is given up
        try:
            for line in lines:
                file.write(line.encode())
        except BaseException:
            file.close()
            raise
        name = secrets.token_hex(8)
        self._files[name] = file
        while len(self._files) > _MAX_HELD:
            self._files.popitem(last=False)[1].close()
        return self._read(name, 0)

    def page(self, cursor: str) -> dict[str, Any]:
        """Return the page at a cursor; repeatable."""
        name, _, place = cursor.partition(".")
        if name not in self._files or not (place.isascii() and place.isdigit() and len(place) < 16):
            raise _no_cursor()
        return self._read(name, int(place))

    def _read(self, name: str, place: int) -> dict[str, Any]:
        file = self._files[name]
        size = file.seek(0, 2)
        if place > 0:
            file.seek(min(place, size) - 1)
            if place >= size or file.read(1) != b"\n":  # not at the beginning of a line
                raise _no_cursor()
        file.seek(place)
        lines: list[str] = []
        while place < size and (not lines or file.tell() - place < _PAGE_BYTES):
            line = file.readline()
            if not line:
                break
            lines.append(line.decode().removesuffix("\n"))
        end = file.tell()
        return {"lines": lines, "next_cursor": None if end >= size else f"{name}.{end}"}


def _no_cursor() -> CursorError:
    return CursorError("cursor: expected one that export_memories gave lately; begin again without one")


def _past(fact: Fact) -> dict[str, Any]:
    return {
        "id": fact.id,
        "text": fact.text,
        "value": plain(fact.value),
        "status": fact.status,
        "holds": [[plain(begin), plain(end)] for begin, end in fact.holds],
        "said_at": plain(fact.said_at),
        "recorded_at": plain(fact.recorded_at),
        "superseded_by": fact.superseded_by,
    }

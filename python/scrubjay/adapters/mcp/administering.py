"""The tools of an administrator, offered only at the operator's request: legal holds, imports."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

from scrubjay._native import Scope
from scrubjay.adapters._typed import LazyMemory
from scrubjay.adapters.mcp.tools import Arguments
from scrubjay.memory import Hold

MAX_LINES = 10_000
MAX_CHARACTERS = 4 << 20  # of all lines of an import; larger ones need the command line
_BY = "mcp"


class HoldMemories(Arguments):
    """Arguments of hold_memories."""

    reason: Annotated[str, Field(min_length=1, max_length=1000, description="shown in refusals")]
    name: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=1000,
            description="name of the hold, for its release; by default its reason",
        ),
    ] = None


class ReleaseMemories(Arguments):
    """Arguments of release_memories."""

    name: Annotated[
        str | None,
        Field(min_length=1, max_length=1000, description="name of the hold; optional if there is only one"),
    ] = None


class ListHolds(Arguments):
    """The (empty) arguments of list_holds."""


class ImportMemories(Arguments):
    """Arguments of import_memories."""

    lines: Annotated[
        list[str],
        Field(
            min_length=1,
            max_length=MAX_LINES,
            description="all lines of all pages of an export, in order",
        ),
    ]


class OneHold(BaseModel):
    """A legal hold."""

    scope: Annotated[
        dict[str, str | None], Field(description="scope of the hold, including everything within it")
    ]
    name: str
    reason: str
    by: str
    at: str


class Holds(BaseModel):
    """The result of list_holds and hold_memories."""

    holds: Annotated[
        list[OneHold], Field(description="holds on these memories, and on the scopes that contain them")
    ]


class Released(BaseModel):
    """The result of release_memories."""

    released: Annotated[bool, Field(description="whether there was a hold on exactly these memories")]


class Imported(BaseModel):
    """The result of import_memories: the number of rows of each table."""

    written: dict[str, int]
    same: Annotated[dict[str, int], Field(description="rows that existed already")]
    left_out: Annotated[dict[str, int], Field(description="rows that conflict with existing ones")]
    reasons: list[str]


class AdminTools:
    """The operator's tools for the memory of the scope, in the file of an index.

    Args:
        memory: the memory in that file.
        scope: the scope of the server.
    """

    def __init__(self, memory: LazyMemory, scope: Scope) -> None:
        self._memory, self._scope = memory, scope

    def hold(self, given: HoldMemories) -> dict[str, Any]:
        """Hold everything of the scope and within it until the hold is released."""
        self._memory.make().admin.hold(self._scope, reason=given.reason, by=_BY, name=given.name)
        return self.holds(ListHolds())

    def release(self, given: ReleaseMemories) -> dict[str, Any]:
        """Release a hold on exactly the scope; its other holds, and those on wider scopes, remain.

        Raises:
            ValueError: the name is missing, and there are several holds.
        """
        memory = self._memory.find()
        done = memory is not None and memory.admin.release(self._scope, by=_BY, name=given.name)
        return {"released": done}

    def holds(self, given: ListHolds) -> dict[str, Any]:
        """Return the holds on the scope and the scopes that contain it, not those on others of the tenant."""
        memory = self._memory.find()
        holds = [] if memory is None else memory.admin.holds(self._scope.tenant)
        return {"holds": [_shown(hold) for hold in holds if hold.scope in self._scope.visible()]}

    def take(self, given: ImportMemories) -> dict[str, Any]:
        """Import an export into the memory, in one transaction, bypassing the gate.

        Raises:
            ValueError: a line is not part of an export of this scope, or the lines are too long.
        """
        n_characters = sum(map(len, given.lines))
        if n_characters > MAX_CHARACTERS:
            raise ValueError(
                f"lines: expected at most {MAX_CHARACTERS:,} characters, got {n_characters:,}; "
                "`scrubjay memory import` takes files of any length"
            )
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "memory.jsonl")
            file.write_text("".join(f"{line}\n" for line in given.lines), encoding="utf-8")
            done = self._memory.make().files.import_(file, scope=self._scope)
        return {name: getattr(done, name) for name in Imported.model_fields}


def _shown(hold: Hold) -> dict[str, Any]:
    scope = hold.scope
    return {
        "scope": {"tenant": scope.tenant, "user": scope.user, "agent": scope.agent},
        "name": hold.name,
        "reason": hold.reason,
        "by": hold.by,
        "at": hold.at.isoformat(),
    }

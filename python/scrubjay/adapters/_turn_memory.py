"""A memory around the turns of an agent: context recalled before a turn, messages recorded after it.

Shared by adapters for frameworks that ask for context rather than for documents. It holds a :class:`scrubjay.Memory`:
messages go into the trace of their run, and as notes into the index, where later runs find them.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import Future
from datetime import datetime, timezone
from typing import Any, NamedTuple, TypeAlias

from scrubjay._native import Scope
from scrubjay.backend import lease
from scrubjay.documents.turns import as_turn
from scrubjay.embedders.protocol import Embedder
from scrubjay.index import Index
from scrubjay.memory import Memory, RecalledHit
from scrubjay.memory.intake.distillation import Distilled
from scrubjay.memory.intake.extractors import Extractor
from scrubjay.memory.intake.transcripts import Transcript
from scrubjay.memory.model.names import Floor
from scrubjay.memory.read.assembly_result import Assembled
from scrubjay.memory.read.prompt_lines import dated
from scrubjay.memory.runs.session import Session

Where: TypeAlias = "Memory | Index | str | os.PathLike[str]"
Extract: TypeAlias = "Extractor | Callable[[Transcript], Any]"

NOTED = ("user", "model")
"""Kinds of messages that are stored as notes by default."""
SESSION = "session_id"
"""The metadata field of a note that names its run."""
_SPEAKER = "speaker"

_SAYS = re.compile(r"[.!\u3002\uff01]\s|\n")

_HALF = re.compile("[\ud800-\udfff]")

_log = logging.getLogger(__name__)


class TurnMessage(NamedTuple):
    """One message of a turn: the kind of event ("user", "model", "tool"), its author and its text."""

    kind: str
    author: str
    text: str


class TurnMemory:
    """A memory and its budget for one turn. Thread-safe.

    Args:
        where: an open memory, which is never closed here; an open index with a file; or a path.
        embedder: for an index or a path, as in :meth:`Memory.open`.
        budget_tokens: the limit for policies, preferences and recalled records of one turn together.
        item_tokens: the limit for one recalled record; a longer one is cut to the part that answers.
        floor: the relevance that the best record needs for any to be included, as in :meth:`Memory.assemble`.
        noted: the kinds of messages that are stored as notes; () for none. A user message that only asks is not,
            because later it would be recalled in place of the answer.
        extractor: reads a run after each of its turns, on a background thread; its results pass the gate.
        options: of :meth:`Index.open`, for a path.
    """

    def __init__(
        self,
        where: Where,
        *,
        embedder: Embedder | None = None,
        budget_tokens: int = 2000,
        item_tokens: int = 500,
        floor: Floor = "standard",
        noted: Collection[str] = NOTED,
        extractor: Extract | None = None,
        **options: Any,
    ) -> None:
        unknown = sorted(set(noted) - {"user", "model", "tool"})
        if isinstance(noted, str) or unknown:
            raise ValueError(f"noted: expected kinds among user, model and tool, got {noted!r}")
        if isinstance(where, Memory):
            if embedder is not None or options:
                names = ", ".join(["embedder"] * (embedder is not None) + list(options))
                raise ValueError(f"{names}: expected none beside a memory that is open already")
            self._lease = None
            self.memory = where
        else:
            self._lease = lease(where, embedder=embedder, **options)
            try:
                self.memory = Memory(self._lease.root)
            except BaseException:
                self._lease.close()
                raise
        self._budget: dict[str, Any] = {"budget_tokens": budget_tokens, "item_tokens": item_tokens}
        self._floor, self._noted, self._extractor = floor, frozenset(noted), extractor

    def before(self, scope: Scope, run_id: str, question: str) -> tuple[Session, Assembled]:
        """Return the session of the run, and the context for the model before a turn. Writes nothing.

        Notes of this run are left out, since the framework sends the conversation itself; so are recent turns.
        """
        session = self.memory.session(scope, run_id)
        prompt = session.assemble(
            writable(question),
            turn_tokens=0,
            floor=self._floor,
            line=_line,
            filter={"$not": {SESSION: run_id}},
            **self._budget,
        )
        return session, prompt

    def known(self, scope: Scope) -> str:
        """Return the policies and preferences in force, formatted for a prompt; empty if there are none."""
        prompt = self.memory.assemble("", scope, floor=self._floor, **self._budget)
        return prompt.prefix.strip("\n")

    def after(self, session: Session, messages: Iterable[TurnMessage]) -> None:
        """Record a turn, durably, with the prompt that `session` assembled."""
        said = [TurnMessage(kind, author, writable(text)) for kind, author, text in messages if text.strip()]
        if not said:
            return
        drafts = [
            {"kind": message.kind, "author": message.author, "content": message.text} for message in said
        ]
        events = session.extend(drafts)
        now = datetime.now(timezone.utc)
        noted = [
            (one, event)
            for one, event in zip(said, events, strict=True)
            if one.kind in self._noted and not (one.kind == "user" and only_asks(one.text))
        ]
        notes = [
            {
                "id": f"{session.run_id}:{event.seq}",
                "text": one.text,
                "scope": session.scope,
                "metadata": {
                    SESSION: session.run_id,
                    **as_turn(session.run_id, session.position(event), one.author),
                },
                "created_at": now,
            }
            for one, event in noted
        ]
        if notes:
            self.memory.index.upsert_many(notes, progress=False)
        if self._extractor is not None:
            later = self.memory.distil_later(session.run_id, self._extractor, scope=session.scope)
            later.add_done_callback(_report)

    def close(self) -> None:
        """Release the file; a memory passed by the caller stays open."""
        if self._lease is not None:
            self.memory.close()
            self._lease.close()

    def place(self) -> str:
        """Return a description of the memory for an adapter's `repr`."""
        return repr(self.memory).strip("<>")


def block_of(made: Assembled, name: str = "memories") -> str:
    """Return the text of one block of a prompt without its title; empty if there is none."""
    text = next((block.text for block in made.blocks if block.name == name), "")
    return text.partition("\n")[2].strip("\n")


def only_asks(text: str) -> bool:
    """Return whether a text is a single question without any statement beside it.

    >>> [only_asks(text) for text in ("What is in setup.py?", "I moved to Oslo. Where is the office?", "Hello")]
    [True, False, False]
    """
    return text.rstrip().endswith(("?", "\uff1f", "\u061f")) and not _SAYS.search(text.strip())


def writable(text: str) -> str:
    """Return a text with lone surrogates, which no file can store, replaced by U+FFFD.

    >>> writable("caf\\u00e9 \\ud800") == "caf\\u00e9 \\ufffd"
    True
    """
    return _HALF.sub("\ufffd", text)


def origins_of(made: Assembled) -> Sequence[str]:
    """Return the runs of the notes in a prompt, without duplicates, best first."""
    inside = set(made.ids("memories"))
    runs = (hit.metadata.get(SESSION) for hit in made.trace.recalled or () if hit.id in inside)
    return list(dict.fromkeys(run for run in runs if isinstance(run, str)))


def _line(hit: RecalledHit) -> str:
    """Return a note with its speaker and time, and any other record as Memory shows it."""
    speaker = hit.metadata.get(_SPEAKER) if hit.kind == "note" else None
    if not isinstance(speaker, str):
        return dated(hit)
    at = hit.hit.created_at
    day = "" if at is None else f" on {at.date().isoformat()}"
    return f"{hit.text} (said by {speaker}{day}; {hit.relevance})"


def _report(done: Future[Distilled]) -> None:
    error = None if done.cancelled() else done.exception()
    if error is not None:
        _log.warning("the extractor failed, and will read this run again after its next turn: %s", error)

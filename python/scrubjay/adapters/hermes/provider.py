"""The provider: the methods of Hermes' `MemoryProvider`."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scrubjay._native import Scope
from scrubjay.adapters._turn_memory import Extract, TurnMemory, TurnMessage, block_of, writable
from scrubjay.adapters.hermes.settings import SCHEMA, home_of, saved, settings_of
from scrubjay.adapters.hermes.tools import SCHEMAS, Tools
from scrubjay.backend import NOBODY, joined
from scrubjay.base.errors import ClosedError, MissingExtraError
from scrubjay.embedders.protocol import Embedder
from scrubjay.embedders.spec import from_spec
from scrubjay.memory import FactCandidate, Memory
from scrubjay.memory.runs.session import Session

_log = logging.getLogger(__name__)

_NOTED = {"both": ("user", "model"), "user": ("user",), "none": ()}
_INTRODUCTION = (
    "# Scrubjay memory\n"
    "Relevant memories of earlier sessions come with each message. scrubjay_search looks for more, "
    "scrubjay_remember keeps a fact for later sessions, scrubjay_forget deletes one."
)


@dataclass(frozen=True)
class Recalled:
    """The result count of the last prefetch, for Hermes' indicator."""

    provider_label: str
    count: int
    glyph: str


class ScrubjayMemoryProvider:
    """An agent's memory of each of its users, in one file of Hermes' home.

    Before a turn Hermes receives the memories that fit the question, if any reaches the floor; policies and preferences
    are part of the system prompt. After a turn its messages are in the trace of the session, and stored as notes for
    other sessions. Writes of Hermes' own memory tool are mirrored as facts. A memory's scope is Hermes' workspace, the
    user (of a platform), and the profile: users of a gateway are isolated from each other.

    Args:
        path: the path of the file; None: that of the settings ("scrubjay/memory.scrubjay" in Hermes' home).
        extractor: of facts, as for :meth:`scrubjay.Memory.distil`; reads a session after each turn, in the background.
        settings: override those in Hermes' home ("scrubjay.json"); listed in
            :data:`scrubjay.adapters.hermes.settings.SCHEMA`.

    Subagents, cron jobs and flushes read but do not write.
    """

    pre_compress_checkpoint_api_version = 1

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        extractor: Extract | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self._path, self._extractor, self._settings = path, extractor, settings
        self._turns: TurnMemory | None = None
        self._scope = Scope("hermes", user=NOBODY)
        self._session_id = ""
        self._writes = True
        self._runs: dict[str, Session] = {}
        self._recalled = 0
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The name in `memory.provider`."""
        return "scrubjay"

    @property
    def memory(self) -> Memory:
        """The memory, for operations that Hermes lacks: policies, preferences, forgetting.

        Raises:
            ClosedError: the provider is not initialised, or was shut down.
        """
        if self._turns is None:
            raise ClosedError("the memory provider is not initialised")
        return self._turns.memory

    # ------------------------------------------------------------------ lifecycle

    def is_available(self) -> bool:
        """Return True: the provider needs nothing but this package."""
        return True

    def unavailable_reason(self) -> str:
        """Return an empty string: the provider is always available."""
        return ""

    def initialize(self, session_id: str, **given: Any) -> None:
        """Open the file for a session. Hermes passes its home, the platform, the user, the profile and the context.

        Args:
            session_id: the id of the session.
            given: Hermes' other arguments: `hermes_home`, `platform`, `user_id` and more.

        Raises:
            ValueError: a setting is invalid.
            StoreError, StoreFormatError, CorruptIndexError: the file cannot be opened.
        """
        self.shutdown()
        home = home_of(given.get("hermes_home"))
        settings = {**settings_of(home), **(self._settings or {})}
        if settings["noted"] not in _NOTED:
            raise ValueError(f"noted: expected one of {', '.join(_NOTED)}, got {settings['noted']!r}")
        path = self._place(settings, home)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._scope = _scope_of(given)
        self._session_id = session_id
        self._writes = given.get("agent_context", "primary") in ("primary", "", None)
        self._turns = TurnMemory(
            path,
            embedder=_embedder_of(settings["embedder"]),
            budget_tokens=int(settings["budget_tokens"]),
            floor=settings["floor"],
            noted=_NOTED[settings["noted"]],
            extractor=self._extractor,
        )

    def initialize_for_inspection(self, session_id: str, **given: Any) -> None:
        """Open nothing: tools and introduction do not depend on the memory.

        Args:
            session_id: the id of the session.
            given: ignored.
        """
        self._session_id = session_id

    def shutdown(self) -> None:
        """Record pending prompts and close the file."""
        turns, self._turns = self._turns, None
        with self._lock:
            runs, self._runs = list(self._runs.values()), {}
        if turns is not None:
            for run in runs if self._writes else ():
                run.flush()
            turns.close()

    # ------------------------------------------------------------------ a turn

    def system_prompt_block(self) -> str:
        """Return the introduction to the tools, and the policies and preferences in force."""
        if self._turns is None:
            return _INTRODUCTION
        rules = self._turns.known(self._scope)
        return f"{_INTRODUCTION}\n\n{rules}" if rules else _INTRODUCTION

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        """Return a list of the memories that fit the question; empty if none reaches the floor.

        Args:
            query: the question.
            session_id: the id of the session; "": the current one.
        """
        self._recalled = 0
        if self._turns is None or not query.strip():
            return ""
        id = session_id or self._session_id
        run, prompt = self._turns.before(self._scope, id, query)
        with self._lock:
            self._runs[id] = run
        self._recalled = len(prompt.ids("memories"))
        return block_of(prompt)

    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        """Do nothing: recall takes about a millisecond, so prefetching is not worth it.

        Args:
            query, session_id: ignored.
        """

    def recall_status(self) -> Recalled | None:
        """Return the number of memories of the last prefetch; None for zero."""
        return Recalled("Scrubjay", self._recalled, "\U0001f426") if self._recalled else None

    def sync_turn(
        self,
        user_content: str,
        assistant_content: str,
        *,
        session_id: str = "",
        messages: Sequence[Mapping[str, Any]] | None = None,
        turn_author: Mapping[str, Any] | None = None,
    ) -> None:
        """Record a turn durably.

        Args:
            user_content, assistant_content: the messages of the turn.
            session_id: the id of the session; "": the current one.
            messages: Hermes'; ignored.
            turn_author: the speaker, if several people take part.
        """
        if self._turns is None or not self._writes:
            return
        id = session_id or self._session_id
        with self._lock:
            run = self._runs.pop(id, None)
        author = str((turn_author or {}).get("name") or "user")[:500]
        said = [
            TurnMessage("user", writable(author), user_content),
            TurnMessage("model", "assistant", assistant_content),
        ]
        self._turns.after(run or self.memory.session(self._scope, id), said)

    # ------------------------------------------------------------------ tools

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """Return the tools: search, remember, forget; only search if the context is read-only."""
        return list(SCHEMAS) if self._writes else SCHEMAS[:1]

    def handle_tool_call(self, tool_name: str, args: Mapping[str, Any], **_: Any) -> str:
        """Run a tool; return JSON.

        Args:
            tool_name, args: from the model's call.
        """
        if tool_name not in {schema["name"] for schema in self.get_tool_schemas()}:
            tool_name = f"{tool_name} (not offered)"
        return Tools(self.memory, self._scope).call(tool_name, args, self._session_id)

    # ------------------------------------------------------------------ other events

    def on_turn_start(self, turn_number: int, message: str, **_: Any) -> None:
        """Do nothing.

        Args:
            turn_number, message: ignored.
        """

    def on_session_end(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """Record the prompt of an unfinished turn.

        Args:
            messages: of the session; ignored, because each was recorded after its turn.
        """
        with self._lock:
            run = self._runs.pop(self._session_id, None)
        if run is not None and self._writes:
            run.flush()

    def on_session_switch(
        self,
        new_session_id: str,
        *,
        parent_session_id: str = "",
        reset: bool = False,
        rewound: bool = False,
        **_: Any,
    ) -> None:
        """Switch to another session, in which messages of the previous one are recalled, also after a compression.

        Args:
            new_session_id: the id of the new session.
            parent_session_id, reset, rewound: Hermes'; ignored.
        """
        with self._lock:
            self._runs.pop(self._session_id, None)
        self._session_id = new_session_id

    def on_pre_compress(self, messages: Sequence[Mapping[str, Any]], **_: Any) -> str:
        """Add nothing: each turn was recorded already.

        Args:
            messages: the messages to compress; ignored.
        """
        return ""

    def on_delegation(self, task: str, result: str, *, child_session_id: str = "", **_: Any) -> None:
        """Record the answer of a subagent in the trace.

        Args:
            task, result: the task and its answer.
            child_session_id: the session of the subagent.
        """
        if self._turns is not None and self._writes and result.strip():
            run = self.memory.session(self._scope, self._session_id)
            run.tool(
                writable(result), author="delegation", data={"task": task[:2000], "session": child_session_id}
            )

    def on_memory_write(
        self, action: str, target: str, content: str, metadata: Mapping[str, Any] | None = None
    ) -> None:
        """Mirror a write of Hermes' own memory tool ("add", "replace", "remove") as facts.

        The replaced or removed fact is found by its whole text, which Hermes passes as `previous_content`. Without it a
        replacement is an addition, and a removal deletes the fact with the text `content`.

        Args:
            action: "add", "replace" or "remove".
            target: the file of Hermes': "user" or "memory".
            content: the text.
            metadata: further values of Hermes', such as `previous_content`.
        """
        if self._turns is None or not self._writes:
            return
        previous = str((metadata or {}).get("previous_content") or (content if action == "remove" else ""))
        if action in ("replace", "remove") and previous:
            for fact in self.memory.list(self._scope, kinds=["fact"]):
                if fact.text == previous and fact.scope == self._scope:
                    self.memory.revoke(fact.id, reason=f"memory tool: {action}", scope=self._scope)
        if action in ("add", "replace") and content.strip():
            candidate = FactCandidate(writable(content), subject="user" if target == "user" else "")
            self.memory.propose(candidate, scope=self._scope, source=self._session_id or "memory tool")

    # ------------------------------------------------------------------ settings

    def get_config_schema(self) -> list[dict[str, Any]]:
        """Return the questions of `hermes memory setup`; no answer is secret."""
        return [dict(field) for field in SCHEMA]

    def save_config(self, values: Mapping[str, Any], hermes_home: str) -> None:
        """Write settings to "scrubjay.json" in Hermes' home.

        Args:
            values: settings by name.
            hermes_home: the folder.
        """
        saved(values, home_of(hermes_home))

    def backup_paths(self) -> list[str]:
        """Return the file, unless it is in Hermes' home, which is backed up anyway."""
        home = home_of(None)
        path = self._place({**settings_of(home), **(self._settings or {})}, home)
        return [] if home in path.parents else [str(path)]

    def __repr__(self) -> str:
        place = "not initialised" if self._turns is None else f"of {self._scope}: {self._turns.place()}"
        return f"<scrubjay.adapters.hermes.ScrubjayMemoryProvider {place}>"

    def _place(self, settings: Mapping[str, Any], home: Path) -> Path:
        path = str(self._path or settings["path"])
        for variable in ("${HERMES_HOME}", "$HERMES_HOME"):
            path = path.replace(variable, str(home))
        return Path(path).expanduser()


def _embedder_of(spec: str) -> Embedder | None:
    """Return the embedder of a setting; None, for search by words, if the default one is not installed."""
    try:
        return from_spec(spec) if spec else None
    except MissingExtraError:
        if spec != "default":
            raise
        _log.warning("the default embedder is not installed, so memories are found by words alone")
        return None


def _scope_of(given: Mapping[str, Any]) -> Scope:
    """Return the scope: Hermes' workspace is the tenant, the user of a platform the user, its profile the agent."""
    user = given.get("user_id") or given.get("user_id_alt")
    platform = given.get("platform") or "cli"
    return Scope(
        str(given.get("agent_workspace") or "hermes"),
        NOBODY if not user else joined([str(platform), str(user)]),
        str(given.get("agent_identity") or NOBODY),
    )

"""The provider: Hermes' `MemoryProvider` by its methods."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scrubjay._native import Scope
from scrubjay.adapters._turns import Extract, Said, TurnMemory, block_of, writable
from scrubjay.adapters.hermes.settings import SCHEMA, home_of, saved, settings_of
from scrubjay.adapters.hermes.tools import SCHEMAS, Tools
from scrubjay.backend import NOBODY, joined
from scrubjay.embedders.protocol import Embedder
from scrubjay.embedders.spec import from_spec
from scrubjay.errors import ClosedError, MissingExtraError
from scrubjay.memory import FactCandidate, Memory
from scrubjay.memory.runs.session import Session

_log = logging.getLogger(__name__)

_NOTED = {"both": ("user", "model"), "user": ("user",), "none": ()}
_INTRODUCTION = (
    "# Scrubjay memory\n"
    "What is relevant of earlier sessions is given with each message. scrubjay_search looks for more, "
    "scrubjay_remember keeps a fact for later sessions, scrubjay_forget deletes one."
)


@dataclass(frozen=True)
class Recalled:
    """What the last prefetch put in, as Hermes' indicator reads it."""

    provider_label: str
    count: int
    glyph: str


class ScrubjayMemoryProvider:
    """What an agent remembers of each of its users, in one file of Hermes' home.

    Before a turn Hermes is given the memories that fit what was asked, if any reaches the floor; policies and
    preferences are part of the system prompt. After a turn the messages are in the trace of the session, and noted for
    other sessions. What Hermes' own memory tool writes is mirrored as facts. A memory's scope is Hermes' workspace, the
    user (of a platform), and the profile: no user of a gateway sees another's.

    Args:
        path: of the file; None: as the settings say ("scrubjay/memory.scrubjay" in Hermes' home).
        extractor: of facts, as for :meth:`scrubjay.Memory.distil`; reads a session after each turn, in the background.
        settings: in place of those in Hermes' home ("scrubjay.json"), which
            :data:`scrubjay.adapters.hermes.settings.SCHEMA` lists.

    Subagents, cron jobs and flushes read, and write nothing.
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
        """The memory, for what Hermes has no word for: policies, preferences, forgetting.

        Raises:
            ClosedError: the provider is not initialised, or was shut down.
        """
        if self._turns is None:
            raise ClosedError("the memory provider is not initialised")
        return self._turns.memory

    # ------------------------------------------------------------------ life

    def is_available(self) -> bool:
        """Whether it can be used: always, since it needs nothing but this package."""
        return True

    def unavailable_reason(self) -> str:
        """Return why not; never."""
        return ""

    def initialize(self, session_id: str, **given: Any) -> None:
        """Open the file for a session. Hermes says its home, the platform, the user, the profile and the context.

        Args:
            session_id: of the session.
            given: what else Hermes says: `hermes_home`, `platform`, `user_id` and more.

        Raises:
            ValueError: a setting is wrong.
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
        """Open nothing: tools and the introduction are the same for all.

        Args:
            session_id: of the session.
            given: not used.
        """
        self._session_id = session_id

    def shutdown(self) -> None:
        """Record what is pending and close the file."""
        turns, self._turns = self._turns, None
        with self._lock:
            runs, self._runs = list(self._runs.values()), {}
        if turns is not None:
            for run in runs if self._writes else ():
                run.flush()
            turns.close()

    # ------------------------------------------------------------------ a turn

    def system_prompt_block(self) -> str:
        """Return what the model should know of the tools, and the policies and preferences in force."""
        if self._turns is None:
            return _INTRODUCTION
        known = self._turns.known(self._scope)
        return f"{_INTRODUCTION}\n\n{known}" if known else _INTRODUCTION

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        """Return the memories that fit what was asked as a list; empty if none reaches the floor.

        Args:
            query: what was asked.
            session_id: of the session; "": the present one.
        """
        self._recalled = 0
        if self._turns is None or not query.strip():
            return ""
        id = session_id or self._session_id
        run, made = self._turns.before(self._scope, id, query)
        with self._lock:
            self._runs[id] = run
        self._recalled = len(made.ids("memories"))
        return block_of(made)

    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        """Do nothing: recall takes about a millisecond, so nothing is fetched ahead.

        Args:
            query, session_id: not used.
        """

    def recall_status(self) -> Recalled | None:
        """Return how many memories the last prefetch gave; None if none."""
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
        """Keep a turn; it is durable when this returns.

        Args:
            user_content, assistant_content: what was said by whom.
            session_id: of the session; "": the present one.
            messages: Hermes'; not used.
            turn_author: who spoke, where several people do.
        """
        if self._turns is None or not self._writes:
            return
        id = session_id or self._session_id
        with self._lock:
            run = self._runs.pop(id, None)
        author = str((turn_author or {}).get("name") or "user")[:500]
        said = [Said("user", writable(author), user_content), Said("model", "assistant", assistant_content)]
        self._turns.after(run or self.memory.session(self._scope, id), said)

    # ------------------------------------------------------------------ tools

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """Return the tools: search, remember, forget; where nothing may be written, search alone."""
        return list(SCHEMAS) if self._writes else SCHEMAS[:1]

    def handle_tool_call(self, tool_name: str, args: Mapping[str, Any], **_: Any) -> str:
        """Run a tool; return JSON.

        Args:
            tool_name, args: as the model asked for them.
        """
        if tool_name not in {schema["name"] for schema in self.get_tool_schemas()}:
            tool_name = f"{tool_name} (not offered)"
        return Tools(self.memory, self._scope).call(tool_name, args, self._session_id)

    # ------------------------------------------------------------------ what else happens

    def on_turn_start(self, turn_number: int, message: str, **_: Any) -> None:
        """Do nothing.

        Args:
            turn_number, message: not used.
        """

    def on_session_end(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """Record the prompt of a turn that was not finished.

        Args:
            messages: of the session; each was kept already.
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
        """Go on with another session. What the one before said is recalled there, also after a compression.

        Args:
            new_session_id: of the session that goes on.
            parent_session_id, reset, rewound: Hermes'; not used.
        """
        with self._lock:
            self._runs.pop(self._session_id, None)
        self._session_id = new_session_id

    def on_pre_compress(self, messages: Sequence[Mapping[str, Any]], **_: Any) -> str:
        """Add nothing: each turn was kept already.

        Args:
            messages: that Hermes is about to compress; not used.
        """
        return ""

    def on_delegation(self, task: str, result: str, *, child_session_id: str = "", **_: Any) -> None:
        """Keep what a subagent answered in the trace.

        Args:
            task, result: what was asked and answered.
            child_session_id: of the subagent.
        """
        if self._turns is not None and self._writes and result.strip():
            run = self.memory.session(self._scope, self._session_id)
            run.tool(
                writable(result), author="delegation", data={"task": task[:2000], "session": child_session_id}
            )

    def on_memory_write(
        self, action: str, target: str, content: str, metadata: Mapping[str, Any] | None = None
    ) -> None:
        """Mirror what Hermes' own memory tool wrote ("add", "replace", "remove") as facts.

        What is replaced or removed is found by its whole text, which Hermes gives as `previous_content`; without it a
        replacement is an addition, and a removal takes out what `content` says.

        Args:
            action: one of the three.
            target: which of Hermes' files: "user" or "memory".
            content: what it says.
            metadata: what else Hermes knows, such as `previous_content`.
        """
        if self._turns is None or not self._writes:
            return
        previous = str((metadata or {}).get("previous_content") or (content if action == "remove" else ""))
        if action in ("replace", "remove") and previous:
            for fact in self.memory.list(self._scope, kinds=["fact"]):
                if fact.text == previous and fact.scope == self._scope:
                    self.memory.revoke(fact.id, reason=f"memory tool: {action}", scope=self._scope)
        if action in ("add", "replace") and content.strip():
            said = FactCandidate(writable(content), subject="user" if target == "user" else "")
            self.memory.propose(said, scope=self._scope, source=self._session_id or "memory tool")

    # ------------------------------------------------------------------ settings

    def get_config_schema(self) -> list[dict[str, Any]]:
        """Return what `hermes memory setup` asks for; nothing of it is secret."""
        return [dict(field) for field in SCHEMA]

    def save_config(self, values: Mapping[str, Any], hermes_home: str) -> None:
        """Write settings to "scrubjay.json" in Hermes' home.

        Args:
            values: name -> setting.
            hermes_home: the folder.
        """
        saved(values, home_of(hermes_home))

    def backup_paths(self) -> list[str]:
        """Return the file, if it is not in Hermes' home, which is backed up anyway."""
        home = home_of(None)
        path = self._place({**settings_of(home), **(self._settings or {})}, home)
        return [] if home in path.parents else [str(path)]

    def __repr__(self) -> str:
        place = "not initialised" if self._turns is None else f"of {self._scope}: {self._turns.place()}"
        return f"<scrubjay.adapters.hermes.ScrubjayMemoryProvider {place}>"

    def _place(self, settings: Mapping[str, Any], home: Path) -> Path:
        said = str(self._path or settings["path"])
        for variable in ("${HERMES_HOME}", "$HERMES_HOME"):
            said = said.replace(variable, str(home))
        return Path(said).expanduser()


def _embedder_of(spec: str) -> Embedder | None:
    """Return the model that a setting names. The default one may not be installed: then memories are found by words."""
    try:
        return from_spec(spec) if spec else None
    except MissingExtraError:
        if spec != "default":
            raise
        _log.warning("the default embedder is not installed, so memories are found by words alone")
        return None


def _scope_of(given: Mapping[str, Any]) -> Scope:
    """Hermes' workspace is the tenant, a user of a platform the user, its profile the agent."""
    user = given.get("user_id") or given.get("user_id_alt")
    platform = given.get("platform") or "cli"
    return Scope(
        str(given.get("agent_workspace") or "hermes"),
        NOBODY if not user else joined([str(platform), str(user)]),
        str(given.get("agent_identity") or NOBODY),
    )

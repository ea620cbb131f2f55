"""The context provider: a :class:`scrubjay.Memory` that supplies context before a run and records the turn after it."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Collection, Iterator
from typing import Annotated, Any

from agent_framework import ContextProvider, FunctionTool, Message

from scrubjay._native import Scope
from scrubjay.adapters._turn_memory import (
    NOTED,
    Extract,
    TurnMemory,
    TurnMessage,
    Where,
    block_of,
    origins_of,
)
from scrubjay.embedders.protocol import Embedder
from scrubjay.memory.model.names import Floor
from scrubjay.memory.runs.session import Session

CONTEXT_PROMPT = "## Memories\nConsider the following memories when answering user questions:"
_KINDS = {"user": "user", "assistant": "model", "tool": "tool"}


class ScrubjayContextProvider(ContextProvider):
    """An agent's memory of a user, across sessions.

    Before a run, policies and preferences go into the instructions, and the records that fit the new messages into a
    user message, because statements of users are not instructions. Nothing below `floor` is added. After a run its
    messages are appended to the trace of the session and stored as notes, so that other sessions find them. Facts are
    added by an `extractor`, the tools, or `memory.propose`.

    Args:
        where: an open :class:`scrubjay.Memory`, an open index with a file, or the path of a file.
        scope: the owner of the memories; or a function from an AgentSession to a Scope, for an agent with many users.
        source_id: the id of this provider within the agent.
        context_prompt: the heading above the memories.
        tools: offer the model the tools `remember` and `search_memories`.
        budget_tokens: the limit for policies, preferences and memories of one run together.
        item_tokens: the limit for one memory; a longer one is cut to the part that answers.
        floor: the relevance that the best memory needs for any to be shown, as in :meth:`scrubjay.Memory.assemble`.
        noted: the kinds of messages stored as notes: "user", "model", "tool"; () for none. A user message that only
            asks is not stored.
        extractor: of facts, as for :meth:`scrubjay.Memory.distil`; reads the session after each run, in the background.
        embedder: for a path or an index; without one memories are found by words.
        options: of :meth:`scrubjay.Index.open`, for a path.

    Raises (while the agent runs):
        BudgetError: policies and preferences alone exceed the budget.
        TypeError: `scope` did not return a Scope.
        ValueError: the session id is not a valid run name (1 to 500 characters without surrounding space).

    >>> import asyncio, tempfile
    >>> from agent_framework import AgentSession, Message, SessionContext
    >>> folder, jane = tempfile.TemporaryDirectory(), Scope("acme", user="jane")
    >>> provider = ScrubjayContextProvider(folder.name + "/memory.scrubjay", scope=jane)
    >>> said = provider.memory.propose("The staging key prefix is sk-stg-0041.", scope=jane, source="docs")
    >>> context = SessionContext(input_messages=[Message("user", ["What is sk-stg-0041?"])])
    >>> asyncio.run(provider.before_run(agent=None, session=AgentSession(), context=context, state={}))
    >>> "sk-stg-0041." in context.get_messages()[0].text
    True
    >>> provider.close()
    >>> folder.cleanup()
    """

    def __init__(
        self,
        where: Where,
        *,
        scope: Scope | Callable[[Any], Scope],
        source_id: str = "scrubjay",
        context_prompt: str = CONTEXT_PROMPT,
        tools: bool = False,
        budget_tokens: int = 2000,
        item_tokens: int = 500,
        floor: Floor = "standard",
        noted: Collection[str] = NOTED,
        extractor: Extract | None = None,
        embedder: Embedder | None = None,
        **options: Any,
    ) -> None:
        if not isinstance(scope, Scope) and not callable(scope):
            raise TypeError(
                f"scope: expected a scrubjay.Scope or a function that returns one, got {type(scope).__name__}"
            )
        super().__init__(source_id)
        self._scope = scope
        self._context_prompt = context_prompt
        self._tools = tools
        self._turns = TurnMemory(
            where,
            embedder=embedder,
            budget_tokens=budget_tokens,
            item_tokens=item_tokens,
            floor=floor,
            noted=noted,
            extractor=extractor,
            **options,
        )
        self.memory = self._turns.memory
        """The memory, for operations that the framework lacks: policies, preferences, forgetting."""
        # The session of each context, with the prompt that is not recorded yet.
        self._runs: weakref.WeakKeyDictionary[Any, Session] = weakref.WeakKeyDictionary()

    async def before_run(self, *, agent: Any, session: Any, context: Any, state: dict[str, Any]) -> None:
        """Add the rules in force and the memories that fit the new messages to the context.

        Args:
            agent, session, state: of the run, passed by the framework.
            context: the context of the model, to which messages and instructions are added.
        """
        scope = self._scope_of(session)
        question = "\n".join(message.text for message in context.input_messages if message.text)
        run, prompt = await asyncio.to_thread(self._turns.before, scope, session.session_id, question)
        self._runs[context] = run
        if prompt.prefix:
            context.extend_instructions(self.source_id, prompt.prefix.rstrip("\n"))
        memories = block_of(prompt)
        if memories:
            shown = Message("user", [f"{self._context_prompt}\n{memories}"])
            context.extend_messages(self, [shown], origin_session_ids=origins_of(prompt))
        if self._tools:
            context.extend_tools(self.source_id, self._tools_for(scope, session.session_id))

    async def after_run(self, *, agent: Any, session: Any, context: Any, state: dict[str, Any]) -> None:
        """Record the new messages and the answer, durably.

        Args:
            agent, session, state: of the run, passed by the framework.
            context: with the messages and the answer of the run.
        """
        run = self._runs.pop(context, None)
        if run is None:  # the provider was added during the run
            run = self.memory.session(self._scope_of(session), session.session_id)
        answer = context.response.messages if context.response is not None else []
        said = [part for message in (*context.input_messages, *answer) for part in _said(message)]
        await asyncio.to_thread(self._turns.after, run, said)

    def close(self) -> None:
        """Release the file; a memory passed by the caller stays open."""
        self._turns.close()

    async def __aenter__(self) -> ScrubjayContextProvider:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)

    def __repr__(self) -> str:
        whose = self._scope if isinstance(self._scope, Scope) else "many scopes"
        return (
            f"<scrubjay.adapters.agent_framework.ScrubjayContextProvider of {whose}: {self._turns.place()}>"
        )

    def _scope_of(self, session: Any) -> Scope:
        if isinstance(self._scope, Scope):
            return self._scope
        scope = self._scope(session)
        if not isinstance(scope, Scope):
            raise TypeError(f"scope: expected a function that returns a scrubjay.Scope, got {scope!r}")
        return scope

    def _tools_for(self, scope: Scope, run_id: str) -> list[Any]:
        """The tools of one run; the scope is fixed here, out of the model's reach."""

        async def remember(content: Annotated[str, "One statement that will still be true later."]) -> str:
            done = await asyncio.to_thread(self.memory.propose, content, scope=scope, source=run_id)
            return f"{done.status}: {done.reason}" if done.reason else done.status

        async def search_memories(query: Annotated[str, "Words, names or identifiers to look for."]) -> str:
            recalled = await asyncio.to_thread(self.memory.recall, query, scope)
            return (
                "\n".join(f"- {hit.text}" for hit in recalled if hit.relevance != "none")
                or "Nothing is known."
            )

        return [
            FunctionTool(
                name="remember",
                description="Remember a fact about the user or the task for later conversations.",
                func=remember,
            ),
            FunctionTool(
                name="search_memories",
                description="Search the memories of earlier conversations.",
                func=search_memories,
            ),
        ]


def _said(message: Any) -> Iterator[TurnMessage]:
    """Yield the text of a message and the tool results in it; system messages are not part of a turn."""
    kind = _KINDS.get(str(message.role))
    if kind is None:
        return
    author = (message.author_name or str(message.role))[:500]
    if message.text:
        yield TurnMessage(kind, author, message.text)
    for content in message.contents:
        if content.type == "function_result" and content.result is not None:
            yield TurnMessage("tool", str(content.call_id or "tool")[:500], str(content.result))

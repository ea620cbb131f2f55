"""Microsoft Agent Framework's file history beside Scrubjay's: turns of many sessions, then questions about one.

    python -m benchmarks.adapters.agent_framework [--notes 2000] [--questions 200] [--json]

The first rows are turns: append a message to one of 48 sessions and load the session, as an agent does; "found first"
counts the message just appended, "of another user" messages of another session. Both providers read before they append,
to skip repeated messages: the stock provider the whole session, Scrubjay's as many messages as it is given.

The other rows ask for an identifier. `FileHistoryProvider` has no search; its user reads all messages of a session and
looks for the words, which is simulated here with the identifier already extracted from the question. `search` of our
history provider gets the question, and so does our context provider, as an agent runs it, about an earlier session.
Nothing is embedded. On files the stock provider leaves its writes to the operating system; each write of Scrubjay's is
on disk. Needs the extra `agent-framework`.
"""

from __future__ import annotations

import asyncio
import tempfile
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from agent_framework import AgentResponse, AgentSession, FileHistoryProvider, Message, SessionContext

from benchmarks.adapters.notes import K, Note, Row, arguments_of, measure, notes, print_rows, questions
from scrubjay import Scope
from scrubjay.adapters.agent_framework import ScrubjayContextProvider, ScrubjayHistoryProvider

__all__ = ["main", "run"]

_IDS = ["chat", "Chat", "chat ", "chat%", "chat_", "chat*", "%", "../chat"] + [f"chat{n}" for n in range(40)]
_SCOPES = {user: Scope("acme", user=user) for user in ("jane", "joe")}


def run(n_notes: int, n_questions: int) -> list[Row]:
    """Return the rows of the turns, then those of the questions."""
    made = notes(n_notes)
    asked = questions(made, n_questions)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        warnings.simplefilter("ignore")  # "the stock provider is experimental"
        loop = stack.enter_context(closing(asyncio.new_event_loop()))
        stock = FileHistoryProvider(Path(folder) / "stock")
        ours = stack.enter_context(
            closing(ScrubjayHistoryProvider(Path(folder) / "ours", scope=_SCOPES["jane"]))
        )
        rows = [
            _turns(f"{type(history).__name__} on files, a turn", history, asked, loop)
            for history in (stock, ours)
        ]
        for history in (stock, ours):
            for user in _SCOPES:
                said = [
                    Message("user", [note.text], message_id=note.id) for note in made if note.user == user
                ]
                loop.run_until_complete(history.save_messages(f"long {user}", said))
        note_of = {note.text: (note.id, note.user) for note in made}
        rows.append(measure("FileHistoryProvider, all looked through", asked, _looking(stock, note_of, loop)))
        rows.append(measure("ScrubjayHistoryProvider, searched", asked, _searching(ours, note_of, loop)))
        context = stack.enter_context(
            closing(
                ScrubjayContextProvider(
                    Path(folder) / "memory", scope=lambda session: _SCOPES[session.state["user"]]
                )
            )
        )
        name = "ScrubjayContextProvider, what an agent is told"
        return [*rows, measure(name, asked, _told(context, made, note_of, loop))]


def _turns(name: str, history: Any, asked: Sequence[Note], loop: asyncio.AbstractEventLoop) -> Row:
    id_of = {f"what is {note.identifier}?": note.id for note in asked}
    n = 0

    async def turn(session: str, text: str) -> list[Any]:
        message = Message("user", [text], additional_properties={"session": session})
        await history.save_messages(session, [message])
        return list(await history.get_messages(session))

    def search(text: str) -> list[tuple[str, str]]:
        nonlocal n
        session = _IDS[n % len(_IDS)]
        n += 1
        latest = loop.run_until_complete(turn(session, text))[-K:]
        owners = ["jane" if one.additional_properties["session"] == session else "joe" for one in latest]
        return [(id_of[one.text], owner) for one, owner in zip(latest, owners, strict=True)][::-1]

    return measure(name, asked, search)


def _looking(
    history: Any, note_of: dict[str, Any], loop: asyncio.AbstractEventLoop
) -> Callable[[str], list[tuple[str, str]]]:
    def look(text: str) -> list[tuple[str, str]]:
        identifier = text.removeprefix("what is ").removesuffix("?")
        messages = loop.run_until_complete(history.get_messages("long jane"))
        return [note_of[one.text] for one in reversed(messages) if identifier in one.text][:K]

    return look


def _searching(
    history: ScrubjayHistoryProvider, note_of: dict[str, Any], loop: asyncio.AbstractEventLoop
) -> Callable[[str], list[tuple[str, str]]]:
    def search(text: str) -> list[tuple[str, str]]:
        return [
            note_of[one.text] for one in loop.run_until_complete(history.search(text, "long jane", limit=K))
        ]

    return search


def _told(
    provider: ScrubjayContextProvider,
    made: Sequence[Note],
    note_of: dict[str, Any],
    loop: asyncio.AbstractEventLoop,
) -> Callable[[str], list[tuple[str, str]]]:
    """Record the notes in two earlier sessions, and return a function that asks in a third."""
    for user in _SCOPES:
        session = _session(user, "earlier")
        said = [Message("user", [note.text]) for note in made if note.user == user]
        context = SessionContext(session_id=session.session_id, input_messages=said)
        context._response = AgentResponse(messages=[])
        loop.run_until_complete(provider.after_run(agent=None, session=session, context=context, state={}))
    now = _session("jane", "now")

    def ask(text: str) -> list[tuple[str, str]]:
        context = SessionContext(session_id="now", input_messages=[Message("user", [text])])
        loop.run_until_complete(provider.before_run(agent=None, session=now, context=context, state={}))
        told = "\n".join(message.text for message in context.get_messages())
        lines = [line[2:].partition(" (said by")[0] for line in told.splitlines() if line.startswith("- ")]
        return [note_of[line] for line in lines[:K]]

    return ask


def _session(user: str, name: str) -> AgentSession:
    session = AgentSession(session_id=name)
    session.state["user"] = user
    return session


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison and print it."""
    arguments = arguments_of(__doc__, argv)
    print_rows(run(arguments.notes, arguments.questions), arguments.json)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

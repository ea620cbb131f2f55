"""The OpenAI Agents SDK's SQLite session beside Scrubjay's: turns of many sessions, then questions about one.

    python -m benchmarks.adapters.openai_agents [--notes 2000] [--questions 200] [--json]

The SDK's interface appends items and reads the latest, which both do alike. So the first rows are turns: append an item
to one of 48 sessions and read its last four; "found first" counts the item just appended, "of another user" items of
another session. The session ids are prefixes of each other, or hostile, and all sessions are open, as in a server.

The other rows ask one long session for an identifier. `SQLiteSession` has no search; its user reads the last items (the
limit of the settings) or all of them and looks for the words, which is simulated here with the identifier already
extracted from the question. `ScrubjaySession.search` gets the question. Nothing is embedded. The stock session loses
only items before its limit and leaks nothing: the difference is search. On files SQLite has the SDK's settings (WAL,
and Python's default for synchronous), Scrubjay its defaults (each write is on disk). Needs the extra `openai-agents`.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from agents import SQLiteSession

from benchmarks.adapters.notes import K, Note, Row, arguments_of, measure, notes, print_rows, questions
from scrubjay.adapters.openai_agents import ScrubjaySession

__all__ = ["main", "run"]

_LATEST = 100
_IDS = ["chat", "Chat", "chat ", "chat%", "chat_", "chat*", "%", "'; drop table agent_messages; --"] + [
    f"chat{number}" for number in range(40)
]


def run(n_notes: int, n_questions: int) -> list[Row]:
    """Return the rows of the turns, then those of the questions."""
    made = notes(n_notes)
    asked = questions(made, n_questions)
    with tempfile.TemporaryDirectory() as folder:
        kinds: dict[str, Callable[[str], Any]] = {
            "SQLiteSession": lambda id: SQLiteSession(id, Path(folder) / "stock.db"),
            "ScrubjaySession": lambda id: ScrubjaySession(id, Path(folder) / "ours"),
        }
        rows = [_turns(f"{kind} on a file, a turn", make, asked) for kind, make in kinds.items()]
        return rows + [row for kind, make in kinds.items() for row in _asked(kind, make, made, asked)]


def _turns(name: str, make: Callable[[str], Any], asked: Sequence[Note]) -> Row:
    id_of = {f"what is {note.identifier}?": note.id for note in asked}
    n = 0
    with ExitStack() as stack:
        loop = stack.enter_context(closing(asyncio.new_event_loop()))
        sessions = [stack.enter_context(closing(make(id))) for id in _IDS]

        async def turn(session: Any, item: dict[str, str]) -> list[Any]:
            await session.add_items([item])
            return list(await session.get_items(limit=K))

        def search(text: str) -> list[tuple[str, str]]:
            nonlocal n
            session = sessions[n % len(sessions)]
            n += 1
            # The item records its session, in a field that the SDK ignores, to detect items of other sessions.
            items = loop.run_until_complete(
                turn(session, {"role": "user", "content": text, "session": session.session_id})
            )
            owners = ["jane" if item["session"] == session.session_id else "joe" for item in items]
            return [(id_of[item["content"]], owner) for item, owner in zip(items, owners, strict=True)][::-1]

        return measure(name, asked, search)


def _asked(kind: str, make: Callable[[str], Any], made: Sequence[Note], asked: Sequence[Note]) -> list[Row]:
    """Measure questions to jane's session, whose id is a prefix of joe's."""
    note_of = {note.text: (note.id, note.user) for note in made}
    with ExitStack() as stack:
        loop = stack.enter_context(closing(asyncio.new_event_loop()))
        sessions = {user: stack.enter_context(closing(make(id))) for user, id in _LONG.items()}
        for user, session in sessions.items():
            said = [{"role": "user", "content": note.text} for note in made if note.user == user]
            loop.run_until_complete(session.add_items(said))
        janes = sessions["jane"]

        def search(text: str) -> list[tuple[str, str]]:
            return [note_of[item["content"]] for item in loop.run_until_complete(janes.search(text, limit=K))]

        def looking_through(limit: int | None) -> Callable[[str], list[tuple[str, str]]]:
            def look(text: str) -> list[tuple[str, str]]:
                identifier = text.removeprefix("what is ").removesuffix("?")
                items = loop.run_until_complete(janes.get_items(limit=limit))
                texts = [item["content"] for item in reversed(items)]
                return [note_of[content] for content in texts if identifier in content][:K]

            return look

        if hasattr(janes, "search"):
            return [measure(f"{kind} on a file, searched", asked, search)]
        return [
            measure(f"{kind} on a file, the last {_LATEST} looked through", asked, looking_through(_LATEST)),
            measure(f"{kind} on a file, all looked through", asked, looking_through(None)),
        ]


_LONG = {"jane": "long", "joe": "long2"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison and print it."""
    arguments = arguments_of(__doc__, argv)
    print_rows(run(arguments.notes, arguments.questions), arguments.json)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Google ADK's in-memory memory service beside Scrubjay's: identifiers found, and latency.

    python -m benchmarks.adapters.google_adk [--notes 2000] [--questions 200] [--json]

Notes of two users, as events of sessions of one application; jane asks for hers by identifier, once as written and once
joined ("skstg0041"). Both services search by words and need no model; the last row also embeds, within the measured
time. Each service has its defaults and returns ten memories, of which the first four count. The stock service finds
every identifier asked as written, and isolates users; the differences are that it reads all events of a user for each
question, and keeps nothing when the process ends. Needs the extra `google-adk`.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from google.adk.events import Event
from google.adk.memory import BaseMemoryService, InMemoryMemoryService
from google.adk.sessions import Session
from google.genai import types

from benchmarks.adapters.notes import K, Note, Row, arguments_of, measure, notes, print_rows, questions
from scrubjay.adapters.google_adk import ScrubjayMemoryService
from scrubjay.embedders import default

__all__ = ["main", "run"]

_NAMES = {"jane": "jane", "joe": "jane2"}  # one is a prefix of the other
_SAID_IN_A_SESSION = 50


def run(n_notes: int, n_questions: int) -> list[Row]:
    """Return two rows for each service."""
    made = notes(n_notes)
    asked = questions(made, n_questions)
    rows = _measured("InMemoryMemoryService", InMemoryMemoryService(), made, asked)
    with closing(ScrubjayMemoryService()) as service:
        rows += _measured("Scrubjay in memory", service, made, asked)
    with tempfile.TemporaryDirectory() as folder:
        with closing(ScrubjayMemoryService(Path(folder) / "words")) as service:
            rows += _measured("Scrubjay on a file", service, made, asked)
        with closing(ScrubjayMemoryService(Path(folder) / "both", embedder=default())) as service:
            rows += _measured("Scrubjay on a file, embedding", service, made, asked)
    return rows


def _measured(
    name: str, service: BaseMemoryService, made: Sequence[Note], asked: Sequence[Note]
) -> list[Row]:
    user = {note.id: note.user for note in made}
    with closing(asyncio.new_event_loop()) as loop:
        for session in _sessions(made):
            loop.run_until_complete(service.add_session_to_memory(session))

        def search(text: str) -> list[tuple[str, str]]:
            answer = service.search_memory(app_name="app", user_id=_NAMES["jane"], query=text)
            ids = [str(memory.id) for memory in loop.run_until_complete(answer).memories[:K]]
            return [(id, user[id]) for id in ids]

        def run_together(text: str) -> list[tuple[str, str]]:
            return search(text.replace("-", ""))

        return [measure(name, asked, search), measure(f"{name}, run together", asked, run_together)]


def _sessions(made: Sequence[Note]) -> list[Any]:
    sessions = []
    for owner, name in _NAMES.items():
        own = [note for note in made if note.user == owner]
        for start in range(0, len(own), _SAID_IN_A_SESSION):
            said = [_event(note) for note in own[start : start + _SAID_IN_A_SESSION]]
            sessions.append(Session(id=f"s{start}", app_name="app", user_id=name, events=said))
    return sessions


def _event(note: Note) -> Event:
    content = types.Content(role="user", parts=[types.Part(text=note.text)])
    return Event(id=note.id, author="user", content=content, timestamp=1_700_000_000.0 + int(note.id))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison and print it."""
    arguments = arguments_of(__doc__, argv)
    print_rows(run(arguments.notes, arguments.questions), arguments.json)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

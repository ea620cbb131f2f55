"""LongMemEval: questions to a chat assistant, each with its own history of dated sessions.

The format is that of `longmemeval_s.json`, `longmemeval_m.json` and `longmemeval_oracle.json` (xiaowu0162/LongMemEval;
Wu et al., ICLR 2025). One question with its history is in memory at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from scrubjay.base.datafiles import Row, json_items
from scrubjay.bench.datasets import Case, Document, Question
from scrubjay.bench.dates import longmemeval_time
from scrubjay.bench.locomo import json_files

ABSTENTION = "abstention"


class LongMemEval:
    """The questions of a LongMemEval file; one case per question.

    A document is a turn, relevant if it is marked `has_answer`, or a session, relevant if it is one of
    `answer_session_ids`. Abstention questions have the category "abstention" and no relevant documents, as the paper
    excludes them from retrieval.

    Args:
        path: the file, or a folder of files with different questions.
        granularity: "turn" or "session".
        roles: the speakers whose turns are documents, or part of the text of a session. The paper's retrieval uses only
            the user's: `("user",)`.
    """

    name = "longmemeval"

    def __init__(
        self,
        path: str | Path,
        *,
        granularity: Literal["turn", "session"] = "turn",
        roles: Sequence[str] = ("user", "assistant"),
    ) -> None:
        if granularity not in ("turn", "session"):
            raise ValueError(f"granularity: expected 'turn' or 'session', got {granularity!r}")
        if isinstance(roles, str) or not set(roles) <= {"user", "assistant"} or not roles:
            raise ValueError(f"roles: expected 'user', 'assistant' or both, got {roles!r}")
        self.path, self._granularity, self._roles = Path(path), granularity, frozenset(roles)

    def __iter__(self) -> Iterator[Case]:
        seen: set[str] = set()
        for file in json_files(self.path):
            for row in json_items(file):
                id = row.text("question_id")
                if id in seen:
                    raise row.error("question_id", "another one for each question", id)
                seen.add(id)
                yield self._case(id, row)

    def _case(self, id: str, row: Row) -> Case:
        names, dates = row.texts("haystack_session_ids"), row.items("haystack_dates")
        sessions = row.items("haystack_sessions")
        for field, items in (("haystack_dates", dates), ("haystack_sessions", sessions)):
            if len(items) != len(names):
                raise row.error(field, f"{len(names)} items, as haystack_session_ids has", f"{len(items)}")
        evidence = set(row.texts("answer_session_ids"))
        documents: list[Document] = []
        relevant: dict[str, float] = {}
        for number, name in enumerate(names):
            time = longmemeval_time(row, f"haystack_dates[{number}]", dates[number])
            turns = list(row.rows_of(f"haystack_sessions[{number}]", sessions[number]))
            pairs = self._documents(f"{number}:{name}", name in evidence, time, turns)
            for document, is_relevant in pairs:
                documents.append(document)
                if is_relevant:
                    relevant[document.id] = 1.0
        abstains = id.endswith("_abs")
        answer = row.value.get("answer")
        question = Question(
            id,
            row.text("question"),
            ABSTENTION if abstains else row.text("question_type"),
            {} if abstains else relevant,
            () if answer is None or abstains else (str(answer),),
            longmemeval_time(row, "question_date", row.value.get("question_date")),
        )
        return Case(id, documents, (question,))

    def _documents(
        self, session: str, is_evidence: bool, time: str, turns: list[Row]
    ) -> Iterator[tuple[Document, bool]]:
        """Yield the documents of one session, each with whether it is relevant; turns without text are skipped."""
        spoken = [
            (position, turn.text("role"), turn.text("content"), turn.value.get("has_answer") is True)
            for position, turn in enumerate(turns)
        ]
        spoken = [turn for turn in spoken if turn[1] in self._roles and turn[2].strip()]
        if self._granularity == "session":
            if spoken:
                text = "\n".join(f"{role}: {content}" for _, role, content, _ in spoken)
                yield Document(session, text, time, {"session": session}), is_evidence
            return
        for position, role, content, has_answer in spoken:
            turn = {"run": session, "position": position, "speaker": role}
            yield Document(f"{session}/{position}", content, time, turn), has_answer

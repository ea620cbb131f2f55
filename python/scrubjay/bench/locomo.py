"""LoCoMo: ten very long conversations of two people, and questions with the turns that answer them.

The format is that of `locomo10.json` (snap-research/locomo; Maharana et al., ACL 2024): an array of samples with
`sample_id`, `conversation` (`session_N`, `session_N_date_time`) and `qa`. Category numbers get the names of the paper.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from scrubjay.base.datafiles import Row, json_items
from scrubjay.base.errors import DatasetError
from scrubjay.bench.datasets import Case, Document, Question
from scrubjay.bench.dates import locomo_time

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_SESSION = re.compile(r"session_(\d+)")
_TURN = re.compile(r"D:?(\d+):(\d+)")


class LoCoMo:
    """The conversations of a LoCoMo file, or of all `.json` files of a folder; one case per conversation.

    A document is a turn.

    The text of a turn begins with its speaker; the caption of a picture that is shown follows in square brackets.
    Evidence of the published file that names no turn ("D", "D10:19" of a session without it) is ignored: such a
    question counts with the remaining evidence, or is not judged. An adversarial question has no answer.

    Args:
        path: the file or folder.
        captions: whether captions of pictures are part of the text.
    """

    name = "locomo"

    def __init__(self, path: str | Path, *, captions: bool = True) -> None:
        self.path, self._captions = Path(path), captions

    def __iter__(self) -> Iterator[Case]:
        seen: set[str] = set()
        for file in json_files(self.path):
            for row in json_items(file):
                case = self._case(row)
                if case.name in seen:
                    raise row.error("sample_id", "another one for each sample", case.name)
                seen.add(case.name)
                yield case

    def _case(self, row: Row) -> Case:
        name = row.text("sample_id")
        documents = list(self._documents(row.row("conversation")))
        turns = {document.id for document in documents}
        if len(turns) < len(documents):
            twice = next(
                document.id
                for at, document in enumerate(documents)
                if document.id in {d.id for d in documents[:at]}
            )
            raise row.error("conversation", "another dia_id for each turn", twice)
        questions = tuple(
            _question(f"{name}/q{number}", item, turns) for number, item in enumerate(row.rows("qa"))
        )
        return Case(name, documents, questions)

    def _documents(self, conversation: Row) -> Iterator[Document]:
        numbers = sorted(
            int(match[1]) for field in conversation.value if (match := _SESSION.fullmatch(field)) is not None
        )
        for number in numbers:
            session = f"session_{number}"
            turns = list(conversation.rows(session))
            time = locomo_time(conversation, f"{session}_date_time") if turns else None
            for position, turn in enumerate(turns):
                speaker = turn.text("speaker")
                text = f"{speaker}: {turn.text('text')}"
                if self._captions and (caption := turn.optional_text("blip_caption")):
                    text += f" [{caption}]"
                yield Document(
                    turn.text("dia_id"),
                    text,
                    time,
                    {"run": session, "position": position, "speaker": speaker},
                )


def _question(id: str, row: Row, turns: set[str]) -> Question:
    number = row.value.get("category")
    if number not in CATEGORIES:
        raise row.error("category", "1, 2, 3, 4 or 5", number)
    evidence = (
        f"D{int(session)}:{int(turn)}"
        for number_of, text in enumerate(row.optional_items("evidence"))
        for session, turn in _TURN.findall(_evidence(row, number_of, text))
    )
    answer = row.value.get("answer")
    return Question(
        id,
        row.text("question"),
        CATEGORIES[number],
        dict.fromkeys((turn for turn in evidence if turn in turns), 1.0),
        () if answer is None or number == 5 else (str(answer),),
    )


def _evidence(row: Row, number: int, text: object) -> str:
    if not isinstance(text, str):
        raise row.error(f"evidence[{number}]", 'a str such as "D1:3"', text)
    return text


def json_files(path: Path) -> list[Path]:
    """Return the file itself, or the .json files of a folder by name.

    Raises:
        DatasetError: the folder has no .json file.
        FileNotFoundError: the path does not exist.
    """
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.suffix == ".json")
    if not files:
        raise DatasetError("expected a folder with .json files, it has none", path)
    return files

"""MemoryAgentBench: long texts that an agent reads in pieces, and questions about them with accepted answers.

A row has `context`, `questions`, `answers` (one or several per question) and `metadata` (`source`, `qa_pair_ids`,
`question_types`), as in the data set of HUST-AI-HYZ/MemoryAgentBench (Hu et al., ICLR 2026): Parquet, or the same rows
as JSON or JSON Lines. No document is judged relevant; the runner reports how often a found text contains an accepted
answer.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from scrubjay.base.datafiles import Row, json_items
from scrubjay.base.errors import DatasetError, MissingExtraError
from scrubjay.bench.datasets import Case, Document, Question

_SUFFIXES = (".parquet", ".jsonl", ".json")
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+")
_ROWS_A_BATCH = 1


class MemoryAgentBench:
    """The rows of MemoryAgentBench files; one case per row, one document per chunk of its context.

    Args:
        path: a .parquet (needs `pyarrow`), .jsonl or .json file, or a folder of such files.
        chunk_words: a chunk ends with the sentence or line that reaches this number of words. (The project cuts by
            tokens: 4,096, or 512 for texts that are looked up.)
        sources: only rows whose `metadata.source` begins with one of these; None: all.
    """

    name = "memoryagentbench"

    def __init__(
        self, path: str | Path, *, chunk_words: int = 400, sources: Sequence[str] | None = None
    ) -> None:
        if chunk_words < 1:
            raise ValueError(f"chunk_words: expected 1 or more, got {chunk_words}")
        self.path, self._chunk_words = Path(path), chunk_words
        self._sources = None if sources is None else tuple(sources)

    def __iter__(self) -> Iterator[Case]:
        for file in self._files():
            for number, row in enumerate(_rows(file)):
                metadata = row.row("metadata")
                source = metadata.text("source")
                if self._sources is None or source.startswith(self._sources):
                    yield self._case(f"{file.stem}/{number}", row, metadata, source)

    def _files(self) -> list[Path]:
        if not self.path.is_dir():
            return [self.path]
        files = sorted(file for file in self.path.rglob("*") if file.suffix in _SUFFIXES)
        if not files:
            raise DatasetError(f"expected a folder with {', '.join(_SUFFIXES)} files, it has none", self.path)
        return files

    def _case(self, name: str, row: Row, metadata: Row, source: str) -> Case:
        texts, answers = row.texts("questions"), row.items("answers")
        if len(answers) != len(texts):
            raise row.error("answers", f"{len(texts)} items, as questions has", f"{len(answers)}")
        kinds, ids = (_as_many(metadata, field, texts) for field in ("question_types", "qa_pair_ids"))
        questions = tuple(
            Question(
                ids[number] or f"{name}/q{number}",
                text,
                f"{source}, {kinds[number]}" if kinds[number] else source,
                answers=_accepted(row, f"answers[{number}]", answers[number]),
            )
            for number, text in enumerate(texts)
        )
        documents = [
            Document(f"{number:06}", chunk, metadata={"run": name, "position": number, "speaker": source})
            for number, chunk in enumerate(chunks(row.text("context"), self._chunk_words))
        ]
        return Case(name, documents, questions)


def chunks(text: str, n_words: int) -> Iterator[str]:
    """Yield pieces of a text that end with a sentence or line, each of at least `n_words` words except the last.

    >>> list(chunks("One two. Three four. Five.", 3))
    ['One two. Three four.', 'Five.']
    """
    start, end, words = 0, 0, 0
    for match in _SENTENCE.finditer(text):
        words += len(text[end : match.start()].split())
        end = match.end()
        if words >= n_words:
            yield text[start : match.start()]
            start, words = end, 0
    if text[start:].strip():
        yield text[start:].strip()


def _accepted(row: Row, field: str, given: Any) -> tuple[str, ...]:
    several = given if isinstance(given, list) else [given]
    flat = [item for entry in several for item in (entry if isinstance(entry, list) else [entry])]
    if any(not isinstance(item, (str, int, float)) for item in flat):
        raise row.error(field, "a str or a list of str", given)
    return tuple(str(item) for item in flat)


def _as_many(metadata: Row, field: str, questions: list[str]) -> list[Any]:
    """Return a list of the metadata with an item per question; Nones if the row has no such list."""
    items = metadata.optional_items(field)
    if not items:
        return [None] * len(questions)
    if len(items) != len(questions):
        raise metadata.error(field, f"{len(questions)} items, as questions has", f"{len(items)}")
    return items


def _rows(file: Path) -> Iterator[Row]:
    if file.suffix != ".parquet":
        yield from json_items(file)
        return
    try:
        parquet = importlib.import_module("pyarrow.parquet")
        arrow = importlib.import_module("pyarrow")
    except ImportError:
        raise MissingExtraError("reading .parquet files", "readers", "pyarrow") from None
    try:
        number = 0
        with parquet.ParquetFile(file) as opened:
            for batch in opened.iter_batches(batch_size=_ROWS_A_BATCH):
                for value in batch.to_pylist():
                    number += 1
                    yield Row(value, file, number)
    except arrow.ArrowException as error:
        raise DatasetError(f"expected Parquet: {error}", file) from None

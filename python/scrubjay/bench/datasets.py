"""The model of a data set: cases, each with documents to search and questions about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]


@dataclass(frozen=True)
class Document:
    """One document of a case.

    Attributes:
        id: unique within its case.
        created_at: its time, in ISO 8601; None: unknown.
        metadata: further properties. `run`, `position` and `speaker` identify its turn in a conversation
            (:class:`scrubjay.Neighbours`).
        vector: in place of an embedding of the text.
    """

    id: str
    text: str
    created_at: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    vector: Vector | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Question:
    """One question of a case.

    Attributes:
        category: the kind of question, as the data set names it.
        relevant: id of each document that answers it -> its grade, above 0. Empty: not judged, and the question is not
            part of recall, nDCG and MRR.
        answers: the accepted answers; empty: unknown.
        asked_at: the time of the question, in ISO 8601.
        vector: in place of an embedding of the text.
    """

    id: str
    text: str
    category: str = ""
    relevant: Mapping[str, float] = field(default_factory=dict)
    answers: tuple[str, ...] = ()
    asked_at: str | None = None
    vector: Vector | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Case:
    """One history, conversation or corpus, with the questions about it. No document of another case is visible.

    Attributes:
        name: unique within the data set.
        documents: an iterable that can be iterated more than once, and reads large data sets from the file.
        questions: the questions about the documents.
    """

    name: str
    documents: Iterable[Document]
    questions: tuple[Question, ...]


class Dataset(Protocol):
    """A data set; any object with these members is one."""

    @property
    def name(self) -> str:
        """The name in reports."""
        ...

    def __iter__(self) -> Iterator[Case]:
        """Yield the cases, one in memory at a time.

        Raises:
            DatasetError: a file violates the format.
        """
        ...

"""What a data set of questions is made of: cases, each with documents that are searched and questions about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]


@dataclass(frozen=True)
class Document:
    """One text that can be found.

    Attributes:
        id: unique within its case.
        created_at: when it was said, in ISO 8601; None: the data set does not say.
        metadata: what else is known of it. `run`, `position` and `speaker` say which turn of a conversation it is
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
    """One question to a case.

    Attributes:
        category: the kind of question, by the name that the data set gives it.
        relevant: id of each document that answers it -> its grade, above 0. Empty: nothing is judged, and the question
            has no part in recall, nDCG and MRR.
        answers: what counts as a right answer; empty: the data set does not say.
        asked_at: when it is asked, in ISO 8601.
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
    """One history, conversation or corpus, and what is asked about it. No document of another case is visible.

    Attributes:
        name: unique within the data set.
        documents: read as they are walked through, from the file where the data set is large; may be walked through
            more than once.
        questions: what is asked about the documents.
    """

    name: str
    documents: Iterable[Document]
    questions: tuple[Question, ...]


class Dataset(Protocol):
    """A data set; anything with these members is one."""

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    def __iter__(self) -> Iterator[Case]:
        """Yield the cases, one in memory at a time.

        Raises:
            DatasetError: a file is not what the format says.
        """
        ...

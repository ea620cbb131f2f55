"""Answerers, and the comparison of their answers with the accepted ones.

An answerer is any callable: a language model behind an API, an extractor, a person. This package has none. The measures
are those that need no judge: token F1 and exact match as in SQuAD and LoCoMo, and whether the answer contains an
accepted one, as in MemoryAgentBench. LongMemEval is judged by a model: write the answers with :func:`write_hypotheses`
and pass them to the project's own script.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scrubjay.base.whole_files import whole_file
from scrubjay.bench.datasets import Question

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_UNSPACED = re.compile(
    r"([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff])"
)
"""Letters of scripts without spaces between words: each counts as a word."""


@dataclass(frozen=True)
class Asked:
    """A question, and the ids and texts that were found for it, best first."""

    question: Question
    ids: tuple[str, ...]
    texts: tuple[str, ...]


Answerer = Callable[[Asked], str]
"""Returns the answer to a question."""


def normalised(text: str) -> str:
    """Return a text in lower case, without punctuation and English articles, with single spaces between words.

    >>> normalised("The  Café-Bar!"), normalised("東京へ")
    ('café bar', '東 京 へ')
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    words = "".join(c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in folded)
    return " ".join(_ARTICLES.sub(" ", _UNSPACED.sub(r" \1 ", words)).split())


def answer_scores(answer: str, accepted: Sequence[str]) -> dict[str, float]:
    """Return f1, exact and contains of `answer`, 0 to 1: the best over the accepted answers; empty without any.

    >>> answer_scores("On 7 May 2023.", ["7 May 2023", "yesterday"])
    {'f1': 0.8571428571428571, 'exact': 0.0, 'contains': 1.0}
    """
    if not accepted:
        return {}
    text = normalised(answer)
    forms = [normalised(form) for form in accepted]
    return {
        "f1": max(_f1(text.split(), form.split()) for form in forms),
        "exact": float(text in forms),
        "contains": float(any(_contains(text, form) for form in forms)),
    }


def holds_answer(texts: Iterable[str], accepted: Sequence[str]) -> bool:
    """Return whether one of the texts contains an accepted answer as whole words, after normalisation."""
    forms = [normalised(form) for form in accepted]
    return any(_contains(normalised(text), form) for text in texts for form in forms)


def write_hypotheses(
    path: str | Path, answers: Iterable[Mapping[str, str]], *, replace: bool = False
) -> None:
    """Write answers as JSON Lines of `question_id` and `hypothesis`, which LongMemEval's evaluation reads.

    Args:
        path: the new file.
        answers: mappings with the two fields.
        replace: whether to overwrite an existing file.

    Raises:
        FileExistsError: the file exists and `replace` is False.
    """
    with whole_file(path, replace=replace) as file:
        for answer in answers:
            row = {"question_id": answer["question_id"], "hypothesis": answer["hypothesis"]}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _contains(text: str, part: str) -> bool:
    return bool(part) and f" {part} " in f" {text} "


def _f1(given: Sequence[str], wanted: Sequence[str]) -> float:
    common = sum((Counter(given) & Counter(wanted)).values())
    if common == 0:
        return float(not given and not wanted)
    precision, recall = common / len(given), common / len(wanted)
    return 2 * precision * recall / (precision + recall)

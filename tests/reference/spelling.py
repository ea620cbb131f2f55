"""What is a misspelt word read as? The twin of `cpp/src/text/spelling.hpp` and `cpp/src/engine/spelling.hpp`."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence

from tests.reference.function_words import WORDS

LEAST, MOST = 4, 24
"""Letters of a word that may be misspelt."""
LEAST_TERM = 2
MOST_WORDS = 16
MOST_BYTES = 4096

Correction = tuple[str, str, str, str]
"""What was typed, its term, the known word, its term."""

DATES = frozenset(
    """january february march april may june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday""".split()
)
WORD = "(?:[A-Za-z0-9_]|(?![\u2000-\u203f])[\x80-\U0010ffff])"
JOINERS = r"[-_.@/:+#']+"


def spelled_words(text: str) -> list[str]:
    """The words of a text that may be misspelt, as they stand there."""
    any_small = re.search("[a-z]", text) is not None
    return [
        word[0]
        for word in re.finditer("[A-Za-z]+", text)
        if not _quoted(text, word.start())
        and not _joined_before(text[: word.start()])
        and not _joined_after(text[word.end() :])
        and _may_be_misspelt(word[0], any_small)
    ]


def edits(word: str) -> set[str]:
    """All words at one edit: a letter less, another, one more, or two neighbours exchanged."""
    cuts = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    return {
        *(left + right[1:] for left, right in cuts if right),
        *(left + right[1] + right[0] + right[2:] for left, right in cuts if len(right) > 1),
        *(left + letter + right[1:] for left, right in cuts if right for letter in string.ascii_lowercase),
        *(left + letter + right for left, right in cuts for letter in string.ascii_lowercase),
    } - {word, ""}


def nearest(
    word: str, document_frequency: Mapping[str, int], stem: Callable[[str], str]
) -> tuple[str, str] | None:
    """The known word that is meant, and its term."""
    if re.fullmatch("[a-z]+", word) is None:
        return None
    known = [
        (other, term)
        for other in sorted(edits(word), reverse=True)
        if document_frequency.get(term := stem(other), 0) > 0 and len(term.encode()) >= LEAST_TERM
    ]
    return min(
        known, key=lambda one: (one[0][0] != word[0], -document_frequency[one[1]], one[1]), default=None
    )


def corrections(
    text: str,
    tokens: Sequence[tuple[str, str]],
    document_frequency: Mapping[str, int],
    term_of: Callable[[str], str],
    stem: Callable[[str], str] | None,
) -> list[Correction]:
    """Each misspelt word of a query, in order.

    `stem` is None where it is the caller's: then terms are compared instead of words.
    """
    meant: dict[str, tuple[str, str] | None] = {}
    found = []
    for typed in spelled_words(text):
        term = term_of(typed)
        kinds = {kind for other, kind in tokens if other == term}
        if kinds != {"word"} or document_frequency.get(term, 0) > 0:
            continue
        if term not in meant:
            if len(meant) == MOST_WORDS:
                continue
            word = term if stem is None else typed.lower()
            meant[term] = nearest(word, document_frequency, stem or (lambda other: other))
        if (best := meant[term]) is not None:
            found.append((typed, term, *best))
    return found


def _quoted(text: str, place: int) -> bool:
    quoted = False
    for at in range(place):
        if text[at] == '"':
            quoted = not quoted and '"' in text[at + 1 :]
        elif text[at] == "\u201c":
            quoted = "\u201d" in text[at:]
        elif text[at] == "\u201d":
            quoted = False
    return quoted


def _joined_after(rest: str) -> bool:
    if re.match(WORD, rest):
        return True
    if re.match("['\u2019]", rest):
        possessive = re.match(f"['\u2019][sS](?!{WORD})", rest)
        return re.match(f"['\u2019]{WORD}", rest) is not None and not possessive
    joiners = re.match(JOINERS, rest)
    return joiners is not None and (re.match(WORD, rest[joiners.end() :]) is not None or rest[0] in "#+")


def _joined_before(head: str) -> bool:
    if re.search(rf"{WORD}\Z", head):
        return True
    if head.endswith("\u2019"):
        return re.search(rf"{WORD}\u2019\Z", head) is not None
    joiners = re.search(rf"{JOINERS}\Z", head)
    if joiners is None:
        return False
    return re.search(rf"{WORD}\Z", head[: joiners.start()]) is not None or head[-1] in "#@/"


def _may_be_misspelt(word: str, any_small: bool) -> bool:
    if not LEAST <= len(word) <= MOST or (word.isupper() and any_small):
        return False
    inner_capitals = not word.isupper() and word[1:] != word[1:].lower()
    return not inner_capitals and word.lower() not in WORDS | DATES

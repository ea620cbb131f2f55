"""Names of entities in memories and questions, and their normal form.

Names are compared in one form: NFKC, case folded, runs of white space as one space, no punctuation at the ends of
words. Memories store their entities in the metadata under `entities`, so filters can test them as well.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["FIELD", "mentioned", "mentions", "names", "normalise_name", "with_entities"]

FIELD = "entities"
LONGEST = 4
"""The maximum number of words of a name in a question."""
MOST = 64
"""The maximum number of names of one question; further ones are ignored."""


def normalise_name(name: str) -> str:
    """Return the normal form of a name, in which it is stored and compared.

    >>> normalise_name("  Zoë  Müller-Lüdenscheidt, ")
    'zoë müller-lüdenscheidt'
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return " ".join(filter(None, (_stripped(word) for word in folded.split())))


def names(given: Sequence[str], argument: str = FIELD) -> list[str]:
    """Return the distinct normal forms of names, in the given order.

    Raises:
        TypeError, ValueError: not a sequence of str, or one of them is empty.
    """
    if isinstance(given, (str, bytes)) or not isinstance(given, (Sequence, set, frozenset)):
        raise TypeError(f"{argument}: expected a sequence of str, got {type(given).__name__} {given!r}")
    normals: dict[str, None] = {}
    for place, name in enumerate(given):
        if not isinstance(name, str):
            raise TypeError(f"{argument}[{place}]: expected a str, got {type(name).__name__} {name!r}")
        normal = normalise_name(name)
        if not normal:
            raise ValueError(f"{argument}[{place}]: expected a name, got {name!r}")
        normals[normal] = None
    return list(normals)


def mentions(text: str) -> list[str]:
    """Return every run of one to four words of a text as a candidate; the index knows which are names.

    >>> mentions("Is New York far?")
    ['is', 'is new', 'is new york', 'is new york far', 'new', 'new york', 'new york far', 'york', 'york far', 'far']
    """
    words = normalise_name(text).split()
    phrases: dict[str, None] = {}
    for first in range(len(words)):
        for last in range(first + 1, min(first + LONGEST, len(words)) + 1):
            phrases[" ".join(words[first:last])] = None
            if len(phrases) == MOST:
                return list(phrases)
    return list(phrases)


def mentioned(*texts: str | bytes | None) -> list[str]:
    """Return the candidates for names in the texts of a question; see :func:`mentions`."""
    strings = (text.decode("utf-8", "replace") if isinstance(text, bytes) else text for text in texts)
    return mentions(" ".join(filter(None, strings)))


def with_entities(metadata: Any, entities: Sequence[str] | None) -> Any:
    """Return metadata with entities added.

    Raises:
        ValueError: the metadata already have a field of this name.
    """
    if entities is None:
        return metadata
    normals = names(entities)
    if metadata is None:
        return {FIELD: normals}
    if not isinstance(metadata, Mapping):
        return metadata  # the check of the metadata reports the error
    if FIELD in metadata:
        raise ValueError(f"{FIELD}: expected them once, got the argument and metadata[{FIELD!r}]")
    return {**metadata, FIELD: normals}


def _stripped(word: str) -> str:
    """Return a word without punctuation at its ends."""
    first, last = 0, len(word)
    while first < last and not word[first].isalnum():
        first += 1
    while last > first and not word[last - 1].isalnum():
        last -= 1
    return word[first:last]

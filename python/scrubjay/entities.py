"""Names of entities in memories and questions, normalised.

A name is compared in one form: NFKC, case folded, runs of white space as one space, no punctuation at the ends of its
words. Memories carry their entities in the metadata under `entities`, so filters can ask about them as well.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["FIELD", "mentioned", "mentions", "names", "normalise_name", "with_entities"]

FIELD = "entities"
LONGEST = 4
"""Words of a name that a question is searched for."""
MOST = 64
"""Names of one question; a longer text names no more."""


def normalise_name(name: str) -> str:
    """Return a name in the form that is stored and compared.

    >>> normalise_name("  Zoë  Müller-Lüdenscheidt, ")
    'zoë müller-lüdenscheidt'
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return " ".join(filter(None, (_bare(word) for word in folded.split())))


def names(given: Sequence[str], argument: str = FIELD) -> list[str]:
    """Return distinct names in the order given, as they are compared.

    Raises:
        TypeError, ValueError: it is not a sequence of str, or one of them holds nothing.
    """
    if isinstance(given, (str, bytes)) or not isinstance(given, (Sequence, set, frozenset)):
        raise TypeError(f"{argument}: expected a sequence of str, got {type(given).__name__} {given!r}")
    found: dict[str, None] = {}
    for place, name in enumerate(given):
        if not isinstance(name, str):
            raise TypeError(f"{argument}[{place}]: expected a str, got {type(name).__name__} {name!r}")
        normal = normalise_name(name)
        if not normal:
            raise ValueError(f"{argument}[{place}]: expected a name, got {name!r}")
        found[normal] = None
    return list(found)


def mentions(text: str) -> list[str]:
    """Return every run of one to four words of a text, as names: which of them are names, the index knows.

    >>> mentions("Is New York far?")
    ['is', 'is new', 'is new york', 'is new york far', 'new', 'new york', 'new york far', 'york', 'york far', 'far']
    """
    words = normalise_name(text).split()
    found: dict[str, None] = {}
    for first in range(len(words)):
        for last in range(first + 1, min(first + LONGEST, len(words)) + 1):
            found[" ".join(words[first:last])] = None
            if len(found) == MOST:
                return list(found)
    return list(found)


def mentioned(*texts: str | bytes | None) -> list[str]:
    """Return the names that a question with these texts may be about; see :func:`mentions`."""
    asked = (text.decode("utf-8", "replace") if isinstance(text, bytes) else text for text in texts)
    return mentions(" ".join(filter(None, asked)))


def with_entities(metadata: Any, entities: Sequence[str] | None) -> Any:
    """Return metadata that carry entities as well.

    Raises:
        ValueError: the metadata have a field of this name already.
    """
    if entities is None:
        return metadata
    found = names(entities)
    if metadata is None:
        return {FIELD: found}
    if not isinstance(metadata, Mapping):
        return metadata  # reading the metadata reports what is wrong with it
    if FIELD in metadata:
        raise ValueError(f"{FIELD}: expected them once, got the argument and metadata[{FIELD!r}]")
    return {**metadata, FIELD: found}


def _bare(word: str) -> str:
    """Without punctuation at its ends."""
    first, last = 0, len(word)
    while first < last and not word[first].isalnum():
        first += 1
    while last > first and not word[last - 1].isalnum():
        last -= 1
    return word[first:last]

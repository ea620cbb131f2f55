"""Stemmers for languages other than English."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from scrubjay.errors import MissingExtraError

__all__ = ["snowball", "stemmer_of"]

# libstemmer's, but for English, which is built in.
_LANGUAGES = frozenset(
    """arabic armenian basque catalan czech danish dutch esperanto estonian finnish french german greek hindi hungarian
    indonesian irish italian lithuanian nepali norwegian persian polish portuguese romanian russian serbian spanish
    swedish tamil turkish yiddish""".split()
)


def snowball(language: str) -> Callable[[str], str]:
    """Return the Snowball stemmer of `language` ("german", "french", ...) by PyStemmer (extra "stemmers").

    `Index(analyzer="german")` uses it by itself; give it as `stemmer` with an analyzer of another name. The result may
    be called from any thread.

    Raises:
        MissingExtraError: PyStemmer is not installed.
        ValueError: there is no such language; the message lists those that are.
    """
    try:
        import Stemmer
    except ImportError:
        raise MissingExtraError("snowball", "stemmers", "PyStemmer") from None
    if language not in Stemmer.algorithms():
        raise ValueError(f"language: expected one of {', '.join(Stemmer.algorithms())}, got {language!r}")
    of_thread = threading.local()  # a Stemmer object holds a buffer and must not be shared

    def stem(word: str) -> str:
        stemmer: Any = getattr(of_thread, "stemmer", None)
        if stemmer is None:
            stemmer = of_thread.stemmer = Stemmer.Stemmer(language)
        stemmed: str = stemmer.stemWord(word)
        return stemmed

    return stem


def stemmer_of(analyzer: str, stemmer: Callable[[str], str] | None) -> Callable[[str], str] | None:
    """Return the stemmer of an index: the caller's, or else that of the language that the analyzer is named for.

    Raises:
        MissingExtraError: it is a language, and PyStemmer is not installed.

    >>> stemmer_of("english", None) is None, stemmer_of("german", str.lower) is str.lower
    (True, True)
    """
    return snowball(analyzer) if stemmer is None and analyzer in _LANGUAGES else stemmer

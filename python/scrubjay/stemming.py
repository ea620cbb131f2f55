"""Stemmers for languages other than English."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from scrubjay.errors import MissingExtraError

__all__ = ["snowball"]


def snowball(language: str) -> Callable[[str], str]:
    """Return the Snowball stemmer of `language` ("german", "french", ...) by PyStemmer (extra "stemmers").

    For `Index(analyzer="german", stemmer=scrubjay.snowball("german"))`. The result may be called from any thread.

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

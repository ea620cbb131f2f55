"""Normalisation of contents, which decides when two are equal, and checks of texts to be stored."""

from __future__ import annotations

import hashlib
import json
import math
import unicodedata
from collections.abc import Sequence
from json.encoder import encode_basestring_ascii
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.arguments import is_number
from scrubjay.documents.records import as_text
from scrubjay.store.rows.scopes import names_of

MAX_CHARS = 20_000
"""Maximum length of a content, summary or policy."""
MAX_NAME_CHARS = 500
"""Maximum length of a key, subject, predicate, run, author and the like."""


def normalised(text: str) -> str:
    """Return the normal form of a text, equal for texts that differ only in compatibility forms, case, spaces and
    final punctuation.

    >>> normalised("  Lives in  ＯＳＬＯ. ") == normalised("lives in Oslo")
    True
    >>> normalised("Lives in Oslo?") == normalised("Lives in Oslo")
    False
    """
    if text.isascii():  # ASCII is its own compatibility form
        folded = text.lower()
    else:
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    if folded.isprintable() and folded.isascii() and "  " not in folded:  # the fast path, nearly always taken
        folded = folded.strip(" ")
    else:
        folded = " ".join(folded.split())
    return folded.rstrip(".!… ") or folded


def digest(scope: Scope, text: str) -> bytes:
    """Return the SHA-256 of a scope and the normalised text."""
    return digest_in(names_of(scope), text)


def digest_in(names: Sequence[str], text: str) -> bytes:
    """Return the same for a scope in the form of a row: tenant, user and agent, '' for a missing name."""
    return _sha256(*names, normalised(text))


def topic(subject: str, predicate: str) -> bytes:
    """Return the topic of facts that may contradict each other; empty if subject or predicate is empty."""
    subject_words, predicate_words = normalised(subject), normalised(predicate)
    return _sha256(subject_words, predicate_words) if subject_words and predicate_words else b""


def value_words(value: Any) -> str:
    """Return the form in which values of a slot are compared: a text normalised, any other value as JSON.

    >>> value_words("Oslo.") == value_words(" OSLO"), value_words({"b": 1, "a": True})
    (True, '{"a": true, "b": 1}')
    """
    return normalised(value) if isinstance(value, str) else json.dumps(value, sort_keys=True)


def value_digest(value: Any) -> bytes:
    """Return the SHA-256 by which equal values of a slot are looked up."""
    return _sha256("value", value_words(value))


def _sha256(*parts: str) -> bytes:
    """Hash texts as a JSON array: the bytes of `json.dumps`, without the encoder that it constructs for each call."""
    array = f"[{', '.join(map(encode_basestring_ascii, parts))}]"
    return hashlib.sha256(array.encode()).digest()


def checked_str(value: Any, name: str, *, optional: bool = False) -> str:
    """Return a text that UTF-8 can express, stripped of surrounding space.

    Raises:
        TypeError: not a str.
    """
    if value is None and optional:
        return ""
    if not isinstance(value, str):
        raise TypeError(f"{name}: expected a str, got {type(value).__name__}")
    return value.strip() if value.isascii() else as_text(value).strip()


def named(value: Any, name: str) -> str:
    """Return a valid name or reason.

    Raises:
        TypeError, ValueError: not a str of 1 to 1,000 characters.
    """
    text = checked_str(value, name)
    if not 1 <= len(text) <= 1000:
        raise ValueError(f"{name}: expected 1 to 1,000 characters, got {len(text)}")
    return text


def as_kept(value: Any) -> str:
    """Return the beginning of a rejected text, or of any value, in a form that a row can hold."""
    return as_text(value if isinstance(value, str) else repr(value))[:MAX_CHARS]


def number_in(value: Any, name: str) -> float:
    """Return a number from 0 to 1, or NaN if it is out of range.

    Raises:
        TypeError: not a number.
    """
    if not is_number(value):
        raise TypeError(f"{name}: expected a number, got {type(value).__name__}")
    return float(value) if 0 <= value <= 1 else math.nan

"""Normalised contents (when two are equal), and the texts that can be stored."""

from __future__ import annotations

import hashlib
import json
import math
import unicodedata
from collections.abc import Sequence
from json.encoder import encode_basestring_ascii
from typing import Any

from scrubjay._native import Scope
from scrubjay.records import as_text
from scrubjay.store.rows.scopes import names_of

MAX_CHARS = 20_000
"""Of a content, summary or policy."""
MAX_NAME_CHARS = 500
"""Of a key, subject, predicate, run, author and the like."""


def normalised(text: str) -> str:
    """Return what two texts share that say the same: compatibility forms, case, spaces and the full stop aside.

    >>> normalised("  Lives in  ＯＳＬＯ. ") == normalised("lives in Oslo")
    True
    >>> normalised("Lives in Oslo?") == normalised("Lives in Oslo")
    False
    """
    if text.isascii():  # its own compatibility form
        folded = text.lower()
    else:
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    if folded.isprintable() and folded.isascii() and "  " not in folded:  # as nearly all are
        folded = folded.strip(" ")
    else:
        folded = " ".join(folded.split())
    return folded.rstrip(".!… ") or folded


def digest(scope: Scope, text: str) -> bytes:
    """Return the SHA-256 of a scope and the normalised text."""
    return digest_in(names_of(scope), text)


def digest_in(names: Sequence[str], text: str) -> bytes:
    """Return the same for a scope as a row has it: tenant, user and agent, '' where there is none."""
    return _sha256(*names, normalised(text))


def topic(subject: str, predicate: str) -> bytes:
    """Return what facts have in common that may contradict each other; empty if subject or predicate is."""
    about, what = normalised(subject), normalised(predicate)
    return _sha256(about, what) if about and what else b""


def value_words(value: Any) -> str:
    """Return a value of a slot as it is compared: of a text what :func:`normalised` leaves, else its JSON.

    >>> value_words("Oslo.") == value_words(" OSLO"), value_words({"b": 1, "a": True})
    (True, '{"a": true, "b": 1}')
    """
    return normalised(value) if isinstance(value, str) else json.dumps(value, sort_keys=True)


def value_digest(value: Any) -> bytes:
    """Return the SHA-256 by which equal values of a slot are found."""
    return _sha256("value", value_words(value))


def _sha256(*parts: str) -> bytes:
    """Of the texts as a JSON array, written as `json.dumps` does, which makes an encoder for each call."""
    array = f"[{', '.join(map(encode_basestring_ascii, parts))}]"
    return hashlib.sha256(array.encode()).digest()


def checked_str(value: Any, name: str, *, optional: bool = False) -> str:
    """Return a text that UTF-8 can express, without the space around it.

    Raises:
        TypeError: it is not a str.
    """
    if value is None and optional:
        return ""
    if not isinstance(value, str):
        raise TypeError(f"{name}: expected a str, got {type(value).__name__}")
    return value.strip() if value.isascii() else as_text(value).strip()


def named(value: Any, name: str) -> str:
    """Return a name or a reason.

    Raises:
        TypeError, ValueError: it is not a str of 1 to 1,000 characters.
    """
    text = checked_str(value, name)
    if not 1 <= len(text) <= 1000:
        raise ValueError(f"{name}: expected 1 to 1,000 characters, got {len(text)}")
    return text


def as_kept(value: Any) -> str:
    """Return the beginning of a refused text, whatever it was, as a row can hold it."""
    return as_text(value if isinstance(value, str) else repr(value))[:MAX_CHARS]


def number_in(value: Any, name: str) -> float:
    """Return a number from 0 to 1, or NaN if it is another one.

    Raises:
        TypeError: it is not a number.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name}: expected a number, got {type(value).__name__}")
    return float(value) if 0 <= value <= 1 else math.nan

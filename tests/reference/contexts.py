"""The context of a document: words indexed with its text. The twin of `cpp/src/engine/context.hpp`."""

from __future__ import annotations

from json.decoder import scanstring

PREFIX = '{"context":"'
MOST_BYTES = 65_536


def context_of(payload: bytes | None) -> str:
    """Return the context at the beginning of a payload; "" if it has none, or one that is too long."""
    text = "" if payload is None else payload.decode("utf-8", "surrogateescape")
    if not text.startswith(PREFIX):
        return ""
    try:
        context, _ = scanstring(text, len(PREFIX), False)
    except ValueError:
        return ""
    data = context.encode("utf-8", "surrogatepass")
    return data.decode("utf-8", "replace") if len(data) <= MOST_BYTES else ""

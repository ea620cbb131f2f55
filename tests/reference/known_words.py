"""Common English words. The twin of `cpp/src/text/known_words.hpp`: the list from which its table is made."""

from __future__ import annotations

from functools import cache
from pathlib import Path

LIST = Path(__file__).parent.parent.parent / "cpp" / "src" / "text" / "known_words.txt"


@cache
def known_words() -> frozenset[str]:
    return frozenset(LIST.read_text(encoding="ascii").split())

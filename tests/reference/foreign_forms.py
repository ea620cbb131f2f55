"""Irregular forms, with other stems, in other languages. The twin of `cpp/src/text/foreign_forms.hpp`."""

from __future__ import annotations

from functools import cache

from tests.reference.analyzer import Oracle, stem_of_language
from tests.reference.foreign_form_groups import GROUPS


@cache
def forms_of(language: str) -> dict[str, set[str]]:
    """Return, for each term, the terms of its other forms."""
    if language not in GROUPS:
        return {}
    word = Oracle(stem_of_language(language)).word
    forms: dict[str, set[str]] = {}
    for group in GROUPS[language].split(";"):
        base, _, prefixes = group.partition("+")
        words = base.split()
        for some in (words, *(_prefixed(prefix, words, language) for prefix in prefixes.split())):
            terms = {word(one) for one in some}
            for term in terms:
                forms.setdefault(term, set()).update(terms - {term})
    return {term: others for term, others in forms.items() if others}


def _prefixed(prefix: str, words: list[str], language: str) -> list[str]:
    infinitive = [f"{prefix}zu{words[0]}"] if language == "german" else []
    return [*(prefix + one for one in words), *infinitive]

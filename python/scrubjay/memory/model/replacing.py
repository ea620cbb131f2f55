"""Phrases by which a statement replaces an earlier one, whatever its predicate.

"She switched to tea", "from now on it is 28 days", "Tobias took over": such phrases say that the earlier state is over.
Words that only announce something new ("now", "took up", "my new client is") do not: the new value may be an addition.
"""

from __future__ import annotations

import re

from scrubjay.memory.model.content import normalised

_IN_PLACE = re.compile(
    r"\b(?:switched|switches|migrated|converted|replaced|replaces|swapped|traded|exchanged|upgraded|downgraded|renamed|"
    r"bumped|rescheduled|postponed|brought forward|slipped|from now on|"
    r"as of (?:now|today|this)|with immediate effect|instead|rather than|got (?:engaged|married|divorced)|broke up|"
    r"split up|(?:has|have|is|was|were|been) changed|changed (?:\S+ ){0,3}?(?:to|from)|"
    r"(?:moved|raised|lowered|increased|reduced|cut|extended|shortened|went (?:up|down)|(?:is|am|are) (?:up|down)|rose|"
    r"fell|dropped) (?:\S+ ){0,4}?to|"
    r"(?:left|ditched|dropped|abandoned|sold|gave up|quit) (?:\S+ ){1,4}?"
    r"(?:for|and (?:started|began|bought|got|now|am|is|took|use|uses|moved|joined))|"
    r"gewechselt|umgestellt|umgestiegen|ersetzt|geändert|umbenannt|verschoben|ab sofort|von nun an|stattdessen|statt|"
    r"erhöht|gesenkt|gestiegen|gesunken|"
    r"remplac\w+|renomm\w+|désormais|dorénavant|au lieu|plut[oô]t|reporté\w*|passé\w* (?:de|à)|changé \w+|"
    r"reemplaz\w+|renombr\w+|desde ahora|a partir de (?:ahora|hoy|agora|hoje)|en lugar|en vez|aplaz\w+|cambi[oóaé]\w*|"
    r"sostituit\w+|rinominat\w+|d'ora in poi|invece|passat\w+ a|"
    r"substitu\w+|renome\w+|em vez|troc(?:ou|uei|amos)|adiad\w+|"
    r"overgestapt|vervangen|hernoemd|gewijzigd|voortaan|in plaats van)\b"
)
_IN_PLACE_OF = re.compile(
    r"\b(?:instead of|rather than|anstelle|anstatt|statt|au lieu de|plut[oô]t que|en lugar de|en vez de|invece di|"
    r"em vez de|in plaats van)\b|\bfrom \S+(?: \S+){0,3} to \S"
)
_NOW = r"(?:now|these days|nowadays|at present|jetzt|nun|maintenant|ahora|adesso|agora|nu)"
_DEFINITE = (
    r"(?:\b(?:the|my|our|your|his|her|its|their|der|die|das|mein\w*|unser\w*|le|la|mon|ma|el|mi|il|mio|mia|o|meu|minha|"
    r"de|het|mijn)|'s|’s) (?:\S+ ){0,2}?%s (?:is|are|ist|est|es|è|é)\b"
)


def says_in_place(text: str) -> bool:
    """Whether a text says that it replaces an earlier state.

    >>> says_in_place("She switched to tea"), says_in_place("We migrated from npm to pnpm")
    (True, True)
    >>> says_in_place("She has taken up rowing"), says_in_place("She knits now")
    (False, False)
    """
    return _IN_PLACE.search(normalised(text)) is not None


def in_place_of(text: str) -> bool:
    """Whether a text names what it replaces: "tea instead of coffee", "from 9 to 10".

    >>> in_place_of("Tea instead of coffee"), in_place_of("She switched to tea")
    (True, False)
    """
    return _IN_PLACE_OF.search(normalised(text)) is not None


def is_now(text: str, noun: str) -> bool:
    """Whether a text states the present value of the single thing that a noun names.

    >>> is_now("My resting heart rate is 64 now", "rate"), is_now("The importer now needs lxml", "dependency")
    (True, False)
    """
    folded = normalised(text)
    if not noun or not re.search(rf"\b{_NOW}\b", folded):
        return False
    return re.search(_DEFINITE % re.escape(noun), folded) is not None


def is_number_now(text: str) -> bool:
    """Whether a text states a number that is true now.

    >>> is_number_now("We are four at home now"), is_number_now("There are 4 of us now"), is_number_now("I am 4th")
    (False, True, False)
    """
    return any(sign.isdigit() for sign in text) and re.search(rf"\b{_NOW}\b", normalised(text)) is not None

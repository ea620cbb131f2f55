"""Words that are a relative date in one language and something else in others: "hier" is "yesterday" in French, and
"here" in German and Dutch. The function words of the sentence decide which.
"""

from __future__ import annotations

import re

_FRIENDS = {
    ("fr", "hier"): ("de", "nl"),
    ("hu", "ma"): ("fr", "it", "pt", "ro", "es"),
}
"""(language, word) -> the languages in which it means something else."""

_LITTLE = {
    "de": "ich du er sie es wir ihr mir mich dir uns der die das den dem des ein eine einen ist sind war waren bin hat "
    "habe haben wird und oder aber nicht auch noch nur seit bei mit von zu im in am auf für aus nach wie was wo gibt",
    "es": "yo tú él ella nosotros el la los las un una es son era está y o pero no de del en con por para que mi su",
    "fr": "je j tu il elle on nous vous ils elles le la les l un une des du de d est sont était étais c ce et ou mais "
    "ne n pas que qu s se à au aux dans pour avec sur chez mon ma mes ai as a avons ont suis m y en",
    "hu": "én te ő mi ti ők a az egy és vagy de nem is van volt vagyok hogy már még csak ez itt ott",
    "it": "io tu lui lei noi il lo la gli le un una è sono era e o non di del in con per che mi si mio mia ho ha",
    "nl": "ik je jij hij zij ze wij we het de een is zijn was waren ben heb heeft en of maar niet ook nog sinds bij "
    "met van te in op aan voor uit naar er dit dat die wat waar mijn",
    "pt": "eu ele ela nós o a os as um uma é são era está e ou mas não de do da em no na com por para que meu minha",
    "ro": "eu tu el ea noi un o este sunt era și sau dar nu de în cu la pe pentru că mi se",
}
_WORD = re.compile(r"[^\W\d_]+")
_ENDS = ".!?;:\n"


def is_of_another_language(language: str, text: str, start: int, end: int) -> bool:
    """Whether a word that is a relative date in `language` is in a sentence of another language, where it is not.

    >>> is_of_another_language("fr", "Ich wohne hier seit Jahren", 10, 14)
    True
    >>> is_of_another_language("fr", "Je l'ai vu hier", 11, 15)
    False
    """
    others = _FRIENDS.get((language, text[start:end].casefold()))
    if others is None:
        return False
    first = max(text.rfind(mark, 0, start) for mark in _ENDS) + 1
    last = min((at for mark in _ENDS if (at := text.find(mark, end)) >= 0), default=len(text))
    words = [word.casefold() for word in _WORD.findall(f"{text[first:start]} {text[end:last]}")]

    def evidence(of: str) -> int:
        little = _LITTLE[of].split()
        return sum(word in little for word in words)

    return max(map(evidence, others)) > evidence(language)

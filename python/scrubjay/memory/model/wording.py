"""The words of a statement: its content words in order, and the words that negate or limit it.

Content words are the stems of the analyzer, without the function words of English and those below. Words that negate or
limit ("not", "never", "may", "only") are kept apart from them, because they reverse a statement: two texts that differ
in one of these never say the same. They are listed for the languages that the analyzer stems; affixes that negate
("unmarried") make a different content word.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from scrubjay._native import query_terms
from scrubjay.memory.model.content import normalised

LIMITING = frozenset(
    """
    not no never none nothing nobody neither nor cannot without hardly barely rarely seldom scarcely only almost
    nearly may might must should could would can ought shall except unless former formerly ex stopped quit sometimes
    nicht kein keine keinen keiner keinem keines nie niemals ohne kaum nur selten darf dürfen durfte soll
    sollte muss musste kann könnte mag möchte würde früher ehemals fast außer ausser weder niemand nichts nirgends
    ne n pas jamais aucun aucune sans rien personne guère seulement rarement peut doit devrait pourrait plus ni sauf
    nunca jamás sin nada nadie ningún ninguno ninguna tampoco apenas solo sólo solamente puede debe debería podría
    non mai senza nessuno nessuna nessun niente nulla neanche nemmeno appena soltanto può deve dovrebbe potrebbe
    raramente né tranne não jamais sem ninguém nenhum nenhuma nem só somente pode deveria poderia exceto niet geen
    nooit zonder nauwelijks alleen slechts moet kan zou zelden niets noch behalve sense cap ningú res només inte ej
    aldrig utan knappt bara endast får måste ska bör ingen inget inga sällan ikke uden næppe kun må skal bør intet
    sjældent aldri uten neppe sjelden ei en et emme ette eivät älä ilman tuskin vain koskaan saa täytyy voi harvoin
    nem soha sohasem nélkül alig csak nincs lehet kell szabad ritkán nie nigdy bez żaden żadna żadne ledwo tylko
    może musi powinien wolno rzadko ani nic nikt nikdy sotva jen pouze může musí smí málokdy nikdo žádný не нет
    никогда без едва только может должен должна нельзя редко ни ничего никто nije nisu nikad nikada jedva samo može
    mora sme retko није никад никада само може мора nu niciodată fără abia doar numai poate trebuie rar nici nimic
    nimeni δεν δε μην μη ποτέ χωρίς μόλις μόνο μπορεί πρέπει σπάνια ούτε όχι τίποτα κανείς değil yok asla hiç
    olmadan sadece yalnız hayır لا لم لن ليس ليست ما غير بدون بلا أبدا فقط قد يجب يمكن نه نیست هرگز شاید باید नहीं न
    मत कभी बिना केवल सिर्फ शायद चाहिए छैन होइन कहिल्यै मात्र இல்லை அல்ல ஒருபோதும் மட்டும் இல்லாமல் tidak bukan
    jangan tanpa belum tak hanya boleh harus mungkin bisa jarang ní nach gan riamh níl ez inoiz gabe bakarrik չի ոչ
    երբեք առանց միայն mitte kunagi vaevalt ainult võib peab harva niekada tik gali turi retai nėra neniam sen apenaŭ
    nur povas devas ניט נישט קיין קיינמאל נאָר haho feela ntle
    """.split()
)
"""Words that negate or limit a statement; two texts that differ in one of these say different things."""

_LIGHT = frozenset(
    """
    actually still currently now really also too again already yet anymore longer mine s der die das den dem des ein
    eine einen einem einer ich du er sie es wir ihr mein meine meinen meiner sein seine ist bin sind war hat habe
    haben und oder in im am an auf bei zu zum zur von vom mit für nach jetzt nun le la les l un une des du de d je j
    tu il elle on nous vous ils elles mon ma mes son sa ses est suis sont a ai et ou à au aux en dans chez par pour
    avec sur maintenant que qui se el los las uno una unos unas del al yo tú él ella nosotros mi mis su sus es soy
    está estoy son ha he y o con por para ahora lo i gli uno io lei lui mio mia miei mie suo sua è sono ho hanno e
    di del della dello dei delle da dal dalla nel nella per adesso ora o os as um uma eu ele ela meu minha seu sua
    sou estou é tem tenho do dos das no na nos nas em agora het een ik jij hij zij wij mijn zijn haar ben heeft heb
    hebben op bij naar voor met van te nu
    """.split()
)
"""Words without content: of the languages most often mixed with English, and "now" and the like."""

_WORD = re.compile(r"[^\W_]+")


class Wording(NamedTuple):
    """The words of a text."""

    stems: tuple[str, ...]
    """Its content words in order, stemmed, without duplicates."""
    limiting: frozenset[str]
    """Its words of :data:`LIMITING`."""


@lru_cache(maxsize=4096)  # each write to a slot projects all of its statements again
def wording(text: str) -> Wording:
    """Return the words of a text.

    >>> wording("Noor is not allergic to nuts any more")
    Wording(stems=('noor', 'allerg', 'nut'), limiting=frozenset({'not'}))
    """
    words = _WORD.findall(normalised(text).replace("n't", " not").replace("n’t", " not"))
    limiting = LIMITING.intersection(words)
    content = " ".join(word for word in words if word not in _LIGHT and word not in limiting)
    return Wording(tuple(dict.fromkeys(query_terms(content))) if content else (), limiting)


def stems(*texts: str) -> frozenset[str]:
    """Return the content words of some texts, stemmed.

    >>> stems("peanut") == stems("Peanuts.")
    True
    """
    return frozenset(stem for text in texts for stem in wording(text).stems)


def changes_meaning(one: str, other: str) -> bool:
    """Whether the words in which two texts differ make them say different things.

    They do if one negates or limits what the other does not; if both have content words of their own; or if their
    common words come in a different order, as in "Ada called Bob".

    >>> changes_meaning("Ada may travel alone", "Ada may never travel alone")
    True
    >>> changes_meaning("Ada called Bob", "Bob called Ada"), changes_meaning("Ada called Bob", "Ada called Bob today")
    (True, False)
    """
    first, second = wording(one), wording(other)
    if first.limiting != second.limiting:
        return True
    shared = set(first.stems) & set(second.stems)
    if len(shared) < min(len(first.stems), len(second.stems)):
        return True
    return [stem for stem in first.stems if stem in shared] != [
        stem for stem in second.stems if stem in shared
    ]


def adds_to(known: str, said: str, beside: frozenset[str] = frozenset()) -> bool | None:
    """Whether a text about the same value says more than a known one: False if it says nothing new, True if it says all
    that is known and more, None if it says something else.

    Args:
        known, said: the texts.
        beside: stems that add nothing: those of the value, the subject and the predicate.

    >>> adds_to("Jane lives in Oslo", "Jane's home is Oslo, near the opera", stems("Jane lives in Oslo home"))
    True
    >>> adds_to("Noor has a son, Ali", "Noor has a son, Karim", stems("Noor son child")) is None
    True
    """
    before, after = wording(known), wording(said)
    if before.limiting != after.limiting:
        return None
    old, new = set(before.stems) - beside, set(after.stems) - beside
    if new <= old:
        return False
    return True if old <= new else None

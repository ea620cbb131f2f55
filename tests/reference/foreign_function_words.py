"""Function words in questions of other languages. The twin of `cpp/src/text/foreign_function_words.hpp`."""

from __future__ import annotations

import re
from collections.abc import Collection

from tests.reference.analyzer import stem_english

LANGUAGES = {
    name: frozenset(words.split())
    for name, words in {
        "German": """
            der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner und
            oder aber wenn weil dass ob als wie wo wann warum wieso wer wen wem was welche welcher welches
            welchen welchem wohin woher ich du er sie es wir ihr mich mir dich dir ihn ihm ihnen uns euch
            sich mein meine meinen meinem meiner dein deine seine seinen seinem seiner sein ihre ihren ihrem
            ihrer unser unsere ist sind war waren wird werden wurde wurden bin bist hat haben hatte hatten
            habe kann konnen konnte soll sollen muss mussen musste darf will wollen nicht auch nur noch
            schon sehr mehr so da hier dort dann man mit von vom zu zum zur in im ins an am ans auf aus bei
            beim bis durch fur gegen ohne um unter uber vor nach seit zwischen dieser diese dieses diesen
            diesem jede jeder jedes
        """,
        "French": """
            le la les l un une des du de d au aux et ou mais si que qu qui quoi quel quelle quels quelles
            dont quand comment pourquoi combien je j tu il elle on nous vous ils elles me m te t se s moi
            toi lui leur leurs mon ma mes ton ta tes son sa ses notre nos votre vos ce c cet cette ces cela
            ca est sont etait etaient etre ete sera suis es sommes etes ai as a avons avez ont avait avaient
            avoir eu fait peut peuvent doit ne n pas plus y en dans par pour sur sous avec sans chez vers
            entre avant apres pendant depuis comme tres aussi tout tous toute toutes meme
        """,
        "Spanish": """
            el la los las lo un una unos unas de del al y e o u pero si que quien quienes cual cuales cuando
            como donde adonde cuanto cuanta cuantos por porque para con sin sobre entre hasta desde en a
            ante tras durante yo tu usted ella nosotros ellos ellas me te se nos le les mi mis tus su sus
            nuestro nuestra este esta estos estas ese esa eso esos esas aquel es son era eran fue fueron ser
            sido estan estaba ha han he hay habia haber tiene tienen no ni ya muy mas tambien hacia puede
            pueden debe deben todo toda todos todas
        """,
        "Italian": """
            il lo la i gli le l un uno una di del dello della dei degli delle d a al allo alla ai agli alle
            da dal dalla dai in nel nello nella nei negli nelle con su sul sulla sui per tra fra e ed o ma
            se che chi cui quale quali quando come dove perche quanto quanta io tu egli lui lei noi voi loro
            mi ti si ci vi ne mio mia miei tuo tua suo sua suoi sue nostro nostra questo questa questi
            queste quello quella quelli sono era erano essere stato stata ha hanno aveva avere ho non piu
            anche gia molto puo possono deve sia
        """,
        "Portuguese": """
            o a os as um uma uns umas de do da dos das em no na nos nas ao aos pelo pela pelos pelas por
            para com sem sobre entre ate desde e ou mas se que quem qual quais quando como onde porque
            quanto eu tu ele ela eles elas voce voces me te lhe meu minha meus seu sua seus suas nosso nossa
            este esta estes estas esse essa isso aquele sao era eram foi foram ser sido estao tem tinha ha
            nao mais muito tambem ja pode podem deve
        """,
        "Dutch": """
            de het een en of maar als dat die dit deze wie wat welke wanneer waar waarom hoe ik jij je hij
            zij ze wij we jullie hen hun mij me jou zich mijn jouw zijn haar ons onze is was waren ben bent
            wordt worden werd heeft hebben had kan kunnen moet moeten zal zullen mag wil niet geen ook nog
            wel al er in op aan van voor met bij door naar om over uit tot te tegen zonder onder tussen na
        """,
        "Scandinavian": """
            och att og at det som en ett et den de i pa av af for med til till om ar er var vara vaere har
            hade havde inte ikke jag jeg du han hun hon vi ni dem sig seg sin sitt sit sina sine min mitt
            mit din hans hennes hendes vad hvad hva vem hvem vilken hvilken vilket hvilket vilka hvilke nar
            hur hvordan varfor hvorfor hvor dar fran fra eller men kan ska skal skulle blir bliver blev
            mycket meget over under vid ved efter etter
        """,
    }.items()
}
TELL_NOTHING = frozenset(
    """die man war hat bin was will er so an am in on me no do dos as us to es son sin pour plus ton come per for
    over under had men min has ai au ed era sera hay con sur tout dove met wit dit pas mag om dem den sit mit
    dig van al door bent ben com os um uns ate tem sem ha ho he ne ni vi var hans en ja mi ti si sia lui lei
    io da dai nos les est dans aux sans bis ins till also ma mes ou et un is we i a c d e j l m n o s t u y""".split()
)
"""Those of the words above that are also English words or names."""


def _stems(words: Collection[str]) -> frozenset[str]:
    return frozenset(map(stem_english, words))


OF_LANGUAGE = {name: _stems(words) for name, words in LANGUAGES.items()}
TELL_NOTHING_STEMS = _stems(TELL_NOTHING)


def foreign_function_words(text: str, terms: Collection[str], english: Collection[str]) -> set[str]:
    """Return those distinct terms of a text that are function words of the language with the most of them in the text
    (of several languages, if they tie). `english`: the function words of English, as terms."""
    told = {
        name: len((stems - set(english) - TELL_NOTHING_STEMS) & set(terms))
        for name, stems in OF_LANGUAGE.items()
    }
    of_english = set(english) - frozenset().union(*OF_LANGUAGE.values()) - TELL_NOTHING_STEMS
    most = max(told.values())
    if most < 2 or most <= len(of_english & set(terms)):
        return set()
    own = frozenset().union(*(OF_LANGUAGE[name] for name, n in told.items() if n == most))
    names: set[str] = set()
    if re.search("[a-z]", text):
        words = re.findall(r"[A-Za-z0-9_'\x80-\U0010ffff]+", text)
        names = {stem_english(word.lower()) for word in words if re.fullmatch("[A-Z]{2,7}", word)}
    return (set(terms) & own) - names

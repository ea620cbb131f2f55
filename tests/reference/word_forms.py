"""Which words have another form with another stem? The twin of `cpp/src/text/word_forms.hpp`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tests.reference.analyzer import stem_english

GROUPS = """
    knife knives; wife wives; leaf leaves; loaf loaves; half halves; shelf shelves; thief thieves; wolf wolves;
    calf calves; scarf scarves; elf elves; hoof hooves; mouse mice; louse lice; goose geese; tooth teeth;
    foot feet; man men; woman women; child children; ox oxen; penny pence; analysis analyses; crisis crises;
    hypothesis hypotheses; axis axes; diagnosis diagnoses; oasis oases; parenthesis parentheses;
    synthesis syntheses; emphasis emphases; ellipsis ellipses; neurosis neuroses; metamorphosis metamorphoses;
    criterion criteria; phenomenon phenomena; matrix matrices; vortex vortices; appendix appendices;
    bacterium bacteria; curriculum curricula; memorandum memoranda; stimulus stimuli; cactus cacti; fungus fungi;
    nucleus nuclei; alumnus alumni; radius radii; locus loci; colour color; favour favor; favourite favorite;
    honour honor; labour labor; neighbour neighbor; neighbourhood neighborhood; behaviour behavior; humour humor;
    rumour rumor; harbour harbor; flavour flavor; armour armor; odour odor; vapour vapor; vigour vigor;
    parlour parlor; savour savor; tumour tumor; glamour glamor; endeavour endeavor; candour candor; rigour rigor;
    splendour splendor; centre center; theatre theater; metre meter; litre liter; fibre fiber; calibre caliber;
    lustre luster; sabre saber; spectre specter; tyre tire; grey gray; plough plow; programme program;
    catalogue catalog; dialogue dialog; analogue analog; defence defense; offence offense; pretence pretense;
    jewellery jewelry; aluminium aluminum; aeroplane airplane; moustache mustache; pyjamas pajamas;
    sceptical skeptical; sulphur sulfur; manoeuvre maneuver; anaesthesia anesthesia; anaemia anemia;
    paediatric pediatric; orthopaedic orthopedic; haemoglobin hemoglobin; leukaemia leukemia; diarrhoea diarrhea;
    oestrogen estrogen; foetus fetus; encyclopaedia encyclopedia; fuelled fueled; woollen woolen;
    skilful skillful; mould mold; smoulder smolder; cosy cozy; mum mom
"""


def _others() -> dict[str, set[str]]:
    others: dict[str, set[str]] = {}
    for group in GROUPS.split(";"):
        terms = {stem_english(word) for word in group.split()}
        for term in terms:
            others.setdefault(term, set()).update(terms - {term})
    return others


OTHERS = _others()


def with_forms(
    tokens: Sequence[tuple[str, str]], document_frequency: Mapping[str, int]
) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """What unknown terms of a query become, and further tokens: the other forms that are known, most frequent first."""
    becomes: dict[str, str] = {}
    further: list[tuple[str, int]] = []
    for term, count in Counter(term for term, _ in tokens).items():
        if any(kind != "word" for other, kind in tokens if other == term):
            continue
        known = [other for other in OTHERS.get(term, ()) if document_frequency.get(other, 0) > 0]
        known.sort(key=lambda other: (-document_frequency[other], other))
        if known and document_frequency.get(term, 0) == 0:
            becomes[term] = known.pop(0)
        further += [(other, count) for other in known]
    present = {becomes.get(term, term) for term, _ in tokens}
    added: list[tuple[str, str]] = []
    for other, count in further:
        if other not in present:
            present.add(other)
            added += [(other, "joined")] * count
    return becomes, added

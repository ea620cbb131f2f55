"""Irregular forms of English words, with other stems. The twin of `cpp/src/text/word_forms.hpp`."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.reference.analyzer import stem_english
from tests.reference.digraphs import digraphs
from tests.reference.foreign_forms import forms_of
from tests.reference.script_forms import script_forms

GROUPS = """
    knife knives; wife wives; leaf leaves!; loaf loaves; half halves; shelf shelves!; thief thieves; wolf
    wolves; calf calves!; scarf scarves; elf elves; hoof hooves; mouse mice; louse lice; goose geese; tooth
    teeth; foot feet; man men; woman women; child children; ox oxen; penny pence; analysis analyses; crisis
    crises; hypothesis hypotheses; axis axes!; diagnosis diagnoses; oasis oases; parenthesis parentheses;
    synthesis syntheses; emphasis emphases; ellipsis ellipses; neurosis neuroses; metamorphosis metamorphoses;
    criterion criteria; phenomenon phenomena; matrix matrices; vortex vortices; appendix appendices; bacterium
    bacteria; curriculum curricula; memorandum memoranda; stimulus stimuli; cactus cacti; fungus fungi; nucleus
    nuclei; alumnus alumni; radius radii; locus loci; colour color; favour favor; favourite favorite; honour
    honor; labour labor; neighbour neighbor; neighbourhood neighborhood; behaviour behavior; humour humor;
    rumour rumor; harbour harbor; flavour flavor; armour armor; odour odor; vapour vapor; vigour vigor; parlour
    parlor; savour savor; tumour tumor; glamour glamor; endeavour endeavor; candour candor; rigour rigor;
    splendour splendor; centre center; theatre theater; metre meter; litre liter; fibre fiber; calibre caliber;
    lustre luster; sabre saber; spectre specter; tyre tire; grey gray; plough plow; programme program; catalogue
    catalog; dialogue dialog; analogue analog; defence defense; offence offense; pretence pretense; jewellery
    jewelry; aluminium aluminum; aeroplane airplane; moustache mustache; pyjamas pajamas; sceptical skeptical;
    sulphur sulfur; manoeuvre maneuver; anaesthesia anesthesia; anaemia anemia; paediatric pediatric;
    orthopaedic orthopedic; haemoglobin hemoglobin; leukaemia leukemia; diarrhoea diarrhea; oestrogen estrogen;
    foetus fetus; encyclopaedia encyclopedia; fuelled fueled; woollen woolen; skilful skillful; mould mold;
    smoulder smolder; cosy cozy; mum mom; thesis theses; quiz quizzes; index indices; person people; stadium
    stadia; syllabus syllabi; focus foci; octopus octopi; genus genera; corpus corpora; vertex vertices; apex
    apices; codex codices; dwarf dwarves; passerby passersby; schema schemata; stigma stigmata; automaton
    automata; millennium millennia; symposium symposia; aquarium aquaria; addendum addenda; erratum errata; ovum
    ova; stratum strata; spectrum spectra; datum data; bureau bureaux; plateau plateaux; tableau tableaux;
    judgement judgment; licence license; practise practice; cheque check; kerb curb; artefact artifact; draught
    draft; archaeology archeology; archaeologist archeologist; gynaecologist gynecologist; gynaecology
    gynecology; foetal fetal; oesophagus esophagus; caesium cesium; mediaeval medieval; aesthetic esthetic;
    kilometre kilometer; centimetre centimeter; millimetre millimeter; millilitre milliliter; counsellor
    counselor; whisky whiskey; yoghurt yogurt; doughnut donut; dial dialled; wilful willful; disc disk;
    acknowledgement acknowledgment; go went gone; come came; see saw! seen; give gave given; take took taken;
    get got gotten; make made; know knew known; think thought; say said; tell told; buy bought; bring brought;
    sell sold; send sent; spend spent; build built; lose lost; sleep slept; sweep swept; weep wept; keep kept;
    deal dealt; dream dreamt; learn learnt; burn burnt; mean meant; feel felt!; leave left; meet met; feed fed;
    lead led; breed bred; flee fled; speed sped; hear heard; hold held; stand stood; understand understood; sit
    sat; win won; hang hung; stick stuck; strike struck; dig dug; swing swung; spin spun; shine shone; shoot
    shot; light lit; slide slid; hide hid hidden; bite bitten; begin began begun; drink drank drunk; sing sang
    sung; swim swam swum; ring rang rung; sink sank sunk; shrink shrank shrunk; drive drove driven; write wrote
    written; ride rode ridden; break broke broken; choose chose chosen; freeze froze frozen; steal stole stolen;
    speak spoke spoken; wake woke woken; wear wore worn; tear tore torn; swear swore sworn; fly flew flown; grow
    grew grown; throw threw thrown; draw drew drawn; blow blew blown; eat ate eaten; fall fell! fallen; pay
    paid; catch caught; teach taught; fight fought; seek sought; become became; forget forgot forgotten; forgive
    forgave forgiven; shake shook shaken; mistake mistook mistaken; find found!; lend lent; bend bent; weave
    wove woven; creep crept; kneel knelt; leap leapt; cling clung; sting stung; sew sewn; show shown; prove
    proven; spill spilt; spoil spoilt; spell spelt; smell smelt; overcome overcame; undergo underwent undergone;
    withdraw withdrew withdrawn; undertake undertook undertaken; overhear overheard; rebuild rebuilt; repay
    repaid; rewrite rewrote rewritten; resell resold; retell retold; rethink rethought; outgrow outgrew
    outgrown; babysit babysat; foresee foresaw foreseen; oversee oversaw overseen; arise arose arisen; awake
    awoke awoken; beat beaten; swell swollen; tread trod trodden; strive strove striven; forbid forbade
    forbidden; overthrow overthrew overthrown; misunderstand misunderstood; lay laid; outdo outdid outdone;
    withstand withstood; uphold upheld; amt amter; bild bilder; blatt blatter; brett bretter; buch bucher; dach
    dacher; denkmal denkmaler; dorf dorfer; ei eier; fach facher; fass fasser; feld felder; gehalt gehalter;
    geschlecht geschlechter; gesicht gesichter; glas glaser; glied glieder; gott gotter; haus hauser; huhn
    huhner; irrtum irrtumer; kalb kalber; kind kinder; kleid kleider; korn korner; krankenhaus krankenhauser;
    kraut krauter; lamm lammer; licht lichter; lied lieder; loch locher; mitglied mitglieder; rathaus rathauser;
    reichtum reichtumer; rind rinder; schloss schlosser; schwert schwerter; strauch straucher; tuch tucher; volk
    volker; wald walder; wort worter; worterbuch worterbucher; wurm wurmer
"""


def _groups() -> dict[str, list[tuple[str, set[str]]]]:
    """Return, for each term, its groups: the required spelling ("": any), and the other terms."""
    groups: dict[str, list[tuple[str, set[str]]]] = {}
    for group in GROUPS.split(";"):
        forms = [(stem_english(word.removesuffix("!")), word) for word in group.split()]
        for term, word in forms:
            written = word.removesuffix("!") if word.endswith("!") else ""
            groups.setdefault(term, []).append((written, {other for other, _ in forms} - {term}))
    return groups


GROUPS_OF = _groups()
LONGEST_PIECE = 24


def other_forms(term: str, text: str) -> set[str]:
    """Return the terms of the other forms of a term of the text."""
    if term not in GROUPS_OF:
        return script_forms(term)
    pieces = [piece for piece in re.findall("[A-Za-z]+", text) if len(piece) <= LONGEST_PIECE]
    pieces = [piece for piece in pieces if stem_english(piece.lower()) == term]
    any_small = re.search("[a-z]", text) is not None
    said = {piece.lower() for piece in pieces if not (any_small and len(piece) > 1 and piece.isupper())}
    forms: set[str] = set()
    for written, others in GROUPS_OF[term]:
        if not pieces or (written in said if written else said):
            forms |= others
    return forms


@dataclass(frozen=True)
class StandsFor:
    """The query's term for which a related term stands, and the related term's share of the smaller idf."""

    term: str
    share: float = 1.0

    def worth(self, own: float, other: float | None) -> float:
        """Return the idf to use; `other`: the idf of the query's term; None: it occurs in no document."""
        return self.share * (own if other is None else min(own, other))


CANNOT = ("can", "not")
"""The two words that equal "cannot"."""


def with_forms(
    text: str,
    tokens: Sequence[tuple[str, str]],
    document_frequency: Mapping[str, int],
    analyzer: str = "english",
) -> tuple[dict[str, str], list[tuple[str, str]], dict[str, str]]:
    """Return replacements for unknown terms of a query; additional tokens: the other known forms, most frequent
    first; and the term of the query to which each of them belongs."""
    english = analyzer == "english"
    otherwise_written = digraphs(text, analyzer)
    becomes: dict[str, str] = {}
    further: list[tuple[str, int, str | None]] = []
    for term, count in Counter(term for term, _ in tokens).items():
        if any(kind != "word" for other, kind in tokens if other == term):
            continue
        if analyzer == "arabic":
            others = script_forms(term)
        else:
            others = other_forms(term, text) if english else forms_of(analyzer).get(term, set())
        is_unknown = document_frequency.get(term, 0) == 0
        others = others | {
            other for other, if_unknown in otherwise_written.get(term, ()) if is_unknown or not if_unknown
        }
        if english and term == "cannot" and document_frequency.get(term, 0) == 0:
            others = set(CANNOT)
        known = [other for other in others if document_frequency.get(other, 0) > 0]
        known.sort(key=lambda other: (-document_frequency[other], other))
        if known and document_frequency.get(term, 0) == 0:
            becomes[term] = known.pop(0)
        further += [(other, count, term) for other in known]
    if english and _says_can_not(tokens) and document_frequency.get("cannot", 0) > 0:
        further.append(("cannot", 1, None))
    present = {becomes.get(term, term) for term, _ in tokens}
    added: list[tuple[str, str]] = []
    form_of: dict[str, str] = {}
    for other, count, of in further:
        if other not in present:
            present.add(other)
            added += [(other, "joined")] * count
            if of is not None:
                form_of[other] = of
    return becomes, added, form_of


def cannot_meant(
    tokens: Sequence[tuple[str, str]], becomes: Mapping[str, str], further: Sequence[tuple[str, str]]
) -> set[str]:
    """Return the terms that weigh as little as function words because "cannot" and "can not" stand for each other."""
    if "cannot" in becomes and becomes["cannot"] in CANNOT:
        return {*CANNOT, "cannot"}
    return {*CANNOT, "cannot"} if ("cannot", "joined") in further and _says_can_not(tokens) else set()


def _says_can_not(tokens: Sequence[tuple[str, str]]) -> bool:
    return any(pair == tuple((word, "word") for word in CANNOT) for pair in itertools.pairwise(tokens))

"""Relative dates in other languages: the meaning of each phrase, and phrases that are not dates."""

from __future__ import annotations

import builtins
import itertools
import sys
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("dateparser")

from scrubjay import Index, MissingExtraError, Scope
from scrubjay.memory import Memory
from scrubjay.memory.intake.relative_dates import LANGUAGES, language_of, phrases_of
from scrubjay.memory.intake.transcripts import stabilise, with_dates
from scrubjay.memory.ledger.trace import TraceEvent

DAY = date(2023, 5, 8)  # a Monday
JANE = Scope("acme", user="jane")
WEEK, NEXT_WEEK = "week of 2023-05-01", "week of 2023-05-15"

MEANT: dict[str, list[tuple[str, str, str]]] = {
    "de": [
        ("Wir haben uns gestern getroffen.", "gestern", "2023-05-07"),
        ("Vor zwei Wochen war ich in Berlin.", "Vor zwei Wochen", "2023-04-24"),
        ("Letzten Freitag kam sie.", "Letzten Freitag", "2023-05-05"),
        ("Sie kommt nächsten Montag", "nächsten Montag", "2023-05-15"),
        ("Nächste Woche geht es los", "Nächste Woche", NEXT_WEEK),
        ("vorgestern", "vorgestern", "2023-05-06"),
        ("Morgen fahre ich", "Morgen", "2023-05-09"),
        ("Ich fahre morgen", "morgen", "2023-05-09"),
        ("übermorgen", "übermorgen", "2023-05-10"),
        ("letztes Jahr", "letztes Jahr", "2022"),
        ("letzten Monat", "letzten Monat", "2023-04"),
        ("vor 3 Tagen", "vor 3 Tagen", "2023-05-05"),
        ("vor einem Jahr gebaut", "vor einem Jahr", "2022"),
        ("heute Morgen", "heute", "2023-05-08"),
    ],
    "fr": [
        ("Je l'ai vu hier.", "hier", "2023-05-07"),
        ("C'était il y a deux semaines.", "il y a deux semaines", "2023-04-24"),
        ("vendredi dernier", "vendredi dernier", "2023-05-05"),
        ("La semaine prochaine je pars", "La semaine prochaine", NEXT_WEEK),
        ("la semaine dernière", "la semaine dernière", WEEK),
        ("avant-hier", "avant-hier", "2023-05-06"),
        ("On se voit demain", "demain", "2023-05-09"),
        ("après-demain", "après-demain", "2023-05-10"),
        ("L'année dernière", "L'année dernière", "2022"),
        ("le mois dernier", "le mois dernier", "2023-04"),
        ("il y a 3 jours", "il y a 3 jours", "2023-05-05"),
        ("aujourd’hui", "aujourd’hui", "2023-05-08"),
    ],
    "es": [
        ("el mes que viene", "mes que viene", "2023-06"),
        ("Viene la semana que viene", "semana que viene", NEXT_WEEK),
        ("el año que viene me caso", "año que viene", "2024"),
        ("Lo vi ayer", "ayer", "2023-05-07"),
        ("Hace dos semanas", "Hace dos semanas", "2023-04-24"),
        ("el viernes pasado", "viernes pasado", "2023-05-05"),
        ("La próxima semana", "La próxima semana", NEXT_WEEK),
        ("la semana pasada", "la semana pasada", WEEK),
        ("anteayer", "anteayer", "2023-05-06"),
        ("Mañana vuelo a Roma", "Mañana", "2023-05-09"),
        ("Llega pasado mañana", "pasado mañana", "2023-05-10"),
        ("anoche no dormí", "anoche", "2023-05-07"),
        ("el año pasado", "el año pasado", "2022"),
        ("el mes pasado", "el mes pasado", "2023-04"),
        ("hace 3 días", "hace 3 días", "2023-05-05"),
    ],
    "it": [
        ("L'ho visto ieri", "ieri", "2023-05-07"),
        ("Due settimane fa", "Due settimane fa", "2023-04-24"),
        ("venerdì scorso", "venerdì scorso", "2023-05-05"),
        ("la settimana prossima", "settimana prossima", NEXT_WEEK),
        ("l'altro ieri", "altro ieri", "2023-05-06"),
        ("Parto domani", "domani", "2023-05-09"),
        ("dopodomani", "dopodomani", "2023-05-10"),
        ("l'anno scorso", "anno scorso", "2022"),
        ("il mese scorso", "mese scorso", "2023-04"),
        ("3 giorni fa", "3 giorni fa", "2023-05-05"),
    ],
    "pt": [
        ("Vi-o ontem", "ontem", "2023-05-07"),
        ("Há duas semanas", "Há duas semanas", "2023-04-24"),
        ("na sexta-feira passada", "sexta-feira passada", "2023-05-05"),
        ("na próxima semana", "próxima semana", NEXT_WEEK),
        ("anteontem", "anteontem", "2023-05-06"),
        ("Viajo amanhã", "amanhã", "2023-05-09"),
        ("depois de amanhã", "depois de amanhã", "2023-05-10"),
        ("no ano passado", "ano passado", "2022"),
        ("no mês passado", "mês passado", "2023-04"),
        ("há 3 dias", "há 3 dias", "2023-05-05"),
    ],
    "nl": [
        ("Ik vertrek over drie dagen", "over drie dagen", "2023-05-11"),
        ("over een maand", "over een maand", "2023-06"),
        ("Ik zag hem gisteren", "gisteren", "2023-05-07"),
        ("Twee weken geleden", "Twee weken geleden", "2023-04-24"),
        ("afgelopen vrijdag", "afgelopen vrijdag", "2023-05-05"),
        ("volgende week", "volgende week", NEXT_WEEK),
        ("eergisteren", "eergisteren", "2023-05-06"),
        ("Ik ga morgen", "morgen", "2023-05-09"),
        ("overmorgen", "overmorgen", "2023-05-10"),
        ("vorig jaar", "vorig jaar", "2022"),
        ("vorige maand", "vorige maand", "2023-04"),
        ("3 dagen geleden", "3 dagen geleden", "2023-05-05"),
    ],
    "ru": [
        ("Я видел его вчера", "вчера", "2023-05-07"),
        ("Две недели назад", "Две недели назад", "2023-04-24"),
        ("в прошлую пятницу", "прошлую пятницу", "2023-05-05"),
        ("на следующей неделе", "на следующей неделе", NEXT_WEEK),
        ("позавчера", "позавчера", "2023-05-06"),
        ("Завтра еду", "Завтра", "2023-05-09"),
        ("послезавтра", "послезавтра", "2023-05-10"),
        ("в прошлом году", "в прошлом году", "2022"),
        ("в прошлом месяце", "в прошлом месяце", "2023-04"),
        ("3 дня назад", "3 дня назад", "2023-05-05"),
    ],
}

UNCHANGED: dict[str, list[str]] = {
    "de": [
        "Guten Morgen, Anna", "am Morgen", "Der Morgen war schön", "jeden Morgen um 7", "Ich habe 3 Katzen und 2 Hunde",
        "im Mai", "in 3 Tagen geschafft", "3 Tage", "am Montag", "Sa und So", "von heute auf morgen", "Version 1.2.20",
        "Wir sind zu zweit", "das letzte Stück", "die nächste Station", "Dez, Jan und Mo",
    ],
    "fr": [
        "J'ai 3 chats", "Je pense que oui", "en mai", "3 jours", "mar et jeu", "dans 3 jours", "le dernier train",
        "la prochaine fois", "il y a deux chats", "sa mer", "le 5", "dim sum",
    ],
    "es": [
        "Tengo 3 gatos", "por la mañana", "cada mañana", "en 3 días", "3 días", "vi a Ana", "el pasado", "mi mar",
        "hace frío", "hoy en día", "dos veces", "la próxima vez", "esta mañana",
    ],
    "it": [
        "Ho 3 gatti", "3 giorni", "in 3 giorni", "un domani migliore", "sei gatti", "la prossima volta", "fa freddo",
        "mar e sab", "il mio", "l'ultimo", "due anni",
    ],
    "pt": [
        "Tenho 3 gatos", "3 dias", "em 3 dias", "a segunda vez", "hoje em dia", "o amanhã", "há gatos", "a próxima vez",
        "um dia", "mar e sol",
    ],
    "nl": [
        "Ik heb 3 katten", "Goede morgen", "'s morgens", "3 dagen", "Het gaat over 3 dagen", "de morgen",
        "vandaag of morgen", "de volgende keer", "zo is het", "ma en pa", "vorige keer", "mei",
    ],
    "ru": [
        "У меня 3 кота", "3 дня", "через 3 дня", "завтрак", "неделя", "в прошлом", "следующий раз", "ср и чт", "май",
        "два кота",
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("said", "languages"),
    [
        ("Ich wohne hier seit Jahren", ["de", "fr"]),
        ("Hier ist es schön.", ["fr"]),
        ("Wij wonen hier al lang.", ["nl", "fr"]),
        ("Non so, ma è vero", ["it", "hu"]),
    ],
)
def test_a_word_of_another_language_is_no_date(said: str, languages: builtins.list[str]) -> None:
    assert with_dates(said, DAY, languages) == said


def test_a_sentence_decides_for_itself() -> None:
    said = "Ich war hier. Hier, nous étions malades."
    assert with_dates(said, DAY, ["de", "fr"]) == "Ich war hier. Hier (2023-05-07), nous étions malades."


@pytest.mark.parametrize(
    ("language", "said", "phrase", "meant"),
    [(language, *one) for language, all in MEANT.items() for one in all],
)
def test_a_phrase_gets_its_date(language: str, said: str, phrase: str, meant: str) -> None:
    assert with_dates(said, DAY, [language]) == said.replace(phrase, f"{phrase} ({meant})", 1)
    (found,) = phrases_of(said, language)
    assert phrase.endswith(said[found.start : found.end])
    assert with_dates(said, DAY) == said  # English alone recognises none of them


@pytest.mark.parametrize(
    ("language", "said"), [(language, said) for language, all in UNCHANGED.items() for said in all]
)
def test_texts_without_relative_dates_are_unchanged(language: str, said: str) -> None:
    assert with_dates(said, DAY, [language]) == said
    assert with_dates(f"Anna: {said}.", DAY, [language]) == f"Anna: {said}."


@pytest.mark.parametrize("language", [*MEANT])
def test_english_text_is_read_as_before(language: str) -> None:
    for said in (
        "We met two weeks ago, and again last Friday.",
        "The vi editor, a sun hat, may, sat, March of Dimes and 3 cats.",
        "I will go in a die mar van.",
    ):
        assert with_dates(said, DAY, [language]) == with_dates(said, DAY)


def test_dates_are_written_once_and_at_the_edges_of_time() -> None:
    once = with_dates("gestern und vor 2 Wochen", DAY, ["de"])
    assert once == "gestern (2023-05-07) und vor 2 Wochen (2023-04-24)"
    assert with_dates(once, DAY, ["de"]) == once
    assert with_dates("gestern", date(1, 1, 1), ["de"]) == "gestern (long ago)"
    assert with_dates("hier, gestern", DAY, ["de", "fr"]) == "hier (2023-05-07), gestern (2023-05-07)"


@given(st.text(alphabet="abcdefghi äöü'-.0123vgstrnm", max_size=60), st.sampled_from([*MEANT]))
def test_any_text_is_read(text: str, language: str) -> None:
    places = [(phrase.start, phrase.end) for phrase in phrases_of(text, language)]
    assert places == sorted(places) and all(a < b <= len(text) for a, b in places)
    assert all(one[1] <= two[0] for one, two in itertools.pairwise(places))


def test_the_analyzer_says_the_language(tmp_path: Path) -> None:
    seen: list[str] = []

    def extractor(transcript: Any) -> list[Any]:
        seen.append(transcript.utterances[0].text)
        return []

    def told(memory: Memory, run: str) -> str:
        at = datetime(2023, 5, 8, tzinfo=timezone.utc)
        memory.session(JANE, run).extend([{"kind": "user", "content": "Ich war gestern da", "at": at}])
        memory.distil(run, extractor, scope=JANE)
        return seen[-1]

    dated = "Ich war gestern (2023-05-07) da"
    with Memory.open(tmp_path / "de.scrubjay", analyzer="german") as memory:
        assert told(memory, "r") == dated
    with Memory.open(tmp_path / "de.scrubjay", dates=[]) as memory:
        assert told(memory, "r2") == "Ich war gestern da"
    with Memory.open(tmp_path / "en.scrubjay") as memory:
        assert told(memory, "r") == "Ich war gestern da"
    with Memory.open(tmp_path / "en.scrubjay", dates=["fr", "de", "en"]) as memory:
        assert told(memory, "r2") == dated
    with Index.open(tmp_path / "en.scrubjay") as index, Memory(index, dates=("de",)) as memory:
        assert told(memory, "r3") == dated


def test_invalid_languages_are_refused(tmp_path: Path) -> None:
    for bad, error, said in (
        ("de", TypeError, "dates: expected a sequence of languages"),
        ([7], TypeError, "dates: expected languages as str"),
        (["klingon"], ValueError, "dates: expected languages that dateparser knows, got 'klingon'"),
        (["de/../../x"], ValueError, "dates: expected languages that dateparser knows"),
    ):
        with pytest.raises(error, match=said):
            Memory.open(tmp_path / "m.scrubjay", dates=bad)  # type: ignore[arg-type]


def test_a_missing_dateparser_matters_only_if_requested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its absence matters only if it is requested."""
    from scrubjay.memory.intake import relative_dates

    relative_dates._locale.cache_clear()
    monkeypatch.setitem(sys.modules, "dateparser", None)
    assert relative_dates.usable(["de"]) == ()
    with pytest.raises(MissingExtraError, match=r"scrubjay\[dates\]"):
        Memory.open(tmp_path / "m.scrubjay", dates=["de"])
    Memory.open(tmp_path / "n.scrubjay").close()


def test_languages_of_analyzers() -> None:
    assert (
        language_of("russian-1") == "ru"
        and language_of("english-1") is None
        and language_of("plain-1") is None
    )
    events = [TraceEvent(1, 1, datetime(2023, 5, 8, tzinfo=timezone.utc), "user", "Jane", "сегодня")]
    assert stabilise("r", events, languages=["ru"]).utterances[0].text == "сегодня (2023-05-08)"
    for language in LANGUAGES.values():
        assert phrases_of("3", language) == []

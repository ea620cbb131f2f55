"""Our Porter2 compared with the PyStemmer wheel, on all available words and on a large product of affixes."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable
from pathlib import Path

import pytest
import Stemmer

from scrubjay import _native

# Snowball's English changed over the years (3.0 and 3.1 both did): this version is the reference.
JUDGE = "3.1.0"

PREFIXES = ["", "re", "un", "inter", "over", "y", "ex", "'"]
STEMS = """
    a ab add agr arsen bat bl cann car cat com commun dent dy earr egg emerg even exc fam gener gly hap
    herr hop inn inter ion ist late later log min mov nat off ol om organ out past pol proc ran sens
    sing sk skat stat succ sy t tru univers ut war x y yes yy z
""".split()
SUFFIXES = """
    's ' 's' s es ed edly ing ingly eed eedly y ly al ally ational tional tion ation ator alism aliti
    ality alize ate ative atively ance anci ancy ence enci able ably abli ible bly bli bility biliti
    ement ment ent ently entli er ers ful fully fulli fulness ic ical ically icate iciti ies ied ism ist
    ogist ogi ogy ion ous ously ousli ousness less lessly lessli ness sses ss us l ll lle e ee i li ive
    iveness iviti ize izer ization bbing dded tting ying
""".split()


@pytest.fixture(scope="module")
def judge() -> Stemmer.Stemmer:
    if Stemmer.version() != JUDGE:
        pytest.skip(f"PyStemmer {Stemmer.version()} is installed, the judge is {JUDGE}")
    return Stemmer.Stemmer("english")


def disagreements(words: Iterable[str], judge: Stemmer.Stemmer) -> list[tuple[str, str, str]]:
    judge.maxCacheSize = 0
    pairs = ((word, _native.porter2(word), judge.stemWord(word)) for word in sorted(set(words)))
    return [(word, ours, theirs) for word, ours, theirs in pairs if ours != theirs][:20]


def test_affix_products(judge: Stemmer.Stemmer) -> None:
    words = {p + s + x for p in PREFIXES for s in STEMS for x in ["", *SUFFIXES]}
    words |= {s + x + y for s in STEMS for x in SUFFIXES for y in SUFFIXES}
    assert len(words) > 300_000
    assert disagreements(words, judge) == []


def test_every_short_word_of_a_small_alphabet(judge: Stemmer.Stemmer) -> None:
    words = {"".join(letters) for n in range(1, 5) for letters in itertools.product("aebsylidgn'", repeat=n)}
    assert disagreements(words, judge) == []


def test_words_of_the_judged_sets(judge: Stemmer.Stemmer, judged_data: Path) -> None:
    words: set[str] = set()
    for corpus in sorted(judged_data.glob("*/corpus.jsonl")):
        with corpus.open(encoding="utf-8") as lines:
            for line in lines:
                words.update(re.findall(r"[a-z']+", json.loads(line)["text"].lower()))
    assert len(words) > 10_000
    assert disagreements(words, judge) == []


def test_words_of_the_source_tree(judge: Stemmer.Stemmer) -> None:
    root = Path(__file__).resolve().parents[2]
    patterns = ("*.md", "cpp/src/**/*.hpp", "python/**/*.py", "tests/**/*.py")
    files = [file for pattern in patterns for file in root.glob(pattern)]
    words = {w for file in files for w in re.findall(r"[a-z']+", file.read_text(encoding="utf-8").lower())}
    assert len(words) > 1_000
    assert disagreements(words, judge) == []

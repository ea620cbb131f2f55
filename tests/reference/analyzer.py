"""Analysis of a text into terms. The slow, obvious twin of `cpp/src/text`.

Whole-text normalisation, one regular expression per idea, no caches and no fast paths. Word boundaries come from
`uniseg` (UAX #29), stems from PyStemmer, normalisation and case folding from `unicodedata` / `str`: the native analyzer
uses none of this code. The two agree on code points that are assigned in every Unicode version involved
(`unicodedata.unidata_version` is the oldest).
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache

import Stemmer
from uniseg.wordbreak import word_break, words  # type: ignore[import-untyped]

Token = tuple[str, str]

MAX_TERM_BYTES = 255
MAX_PARTS = 32  # a compound of more parts is not an identifier: its parts are plain words
MAX_TOKENS = 1 << 23  # per text; the limit of 1 << 26 bytes between ASCII separators is not checked here
MAX_PIECES = 8  # a part that would be cut into more pieces (a hash, base64) stays whole
MAX_DIGIT_CHANGES = 3  # as does one that changes more often between letters and digits (hexadecimal)
MIN_JOINED_DIGITS = 6  # 555-1234 is also 5551234, but 5-10 is not 510

JOINERS = "-_.@/:+#'"

# Scripts without spaces between words, and Hangul, whose words include their particles: overlapping bigrams.
BIGRAM_RANGES = [
    (0x0E01, 0x0E3A), (0x0E40, 0x0E4E),  # Thai
    (0x0E81, 0x0ECE), (0x0EDC, 0x0EDF),  # Lao
    (0x1000, 0x103F), (0x1050, 0x108F), (0x109A, 0x109D),  # Myanmar
    (0x1100, 0x11FF),  # Hangul jamo
    (0x1780, 0x17B3), (0x17B6, 0x17D3), (0x17D7, 0x17D7), (0x17DC, 0x17DD),  # Khmer
    (0x1950, 0x1974), (0x1980, 0x19C9), (0x1A20, 0x1A7C), (0x1AA7, 0x1AA7),  # Tai Le, New Tai Lue, Tai Tham
    (0x2E80, 0x2FD5), (0x3005, 0x3007), (0x3021, 0x302F), (0x3031, 0x3035), (0x3038, 0x303B),  # Han
    (0x3041, 0x3096), (0x309D, 0x309F), (0x30A1, 0x30FA), (0x30FC, 0x30FF),  # Hiragana, Katakana
    (0x3105, 0x312F), (0x3131, 0x318E), (0x31A0, 0x31BF), (0x31F0, 0x31FF),  # Bopomofo, jamo, Katakana
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF),  # Han
    (0xA960, 0xA97C), (0xA9E0, 0xA9EF), (0xA9FA, 0xA9FE), (0xAA60, 0xAA76), (0xAA7A, 0xAA7F),  # Hangul, Myanmar
    (0xAA80, 0xAADD), (0xAC00, 0xD7FB), (0xF900, 0xFAD9),  # Tai Viet, Hangul, Han
    (0x1AFF0, 0x1AFFE), (0x1B000, 0x1B167), (0x20000, 0x33479),  # Kana, Han
]  # fmt: skip

# Marks that folding removes: diacritics of Latin, Greek, Cyrillic and symbols, Hebrew points, Arabic vowel signs and
# tatweel, and characters without a glyph of their own. Vowel signs of Indic scripts and the dakuten stay.
STRIPPED_RANGES = [
    (0x00AD, 0x00AD), (0x0300, 0x036F), (0x0483, 0x0489), (0x0591, 0x05BD), (0x05BF, 0x05BF), (0x05C1, 0x05C2),
    (0x05C4, 0x05C5), (0x05C7, 0x05C7), (0x0610, 0x061A), (0x061C, 0x061C), (0x0640, 0x0640), (0x064B, 0x0652),
    (0x0670, 0x0670), (0x1AB0, 0x1ACE), (0x1DC0, 0x1DFF), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F),
    (0x20D0, 0x20F0), (0xFE00, 0xFE0F), (0xFE20, 0xFE2F), (0xFEFF, 0xFEFF), (0xE0100, 0xE01EF),
]  # fmt: skip
STRIPPED = {chr(code) for first, last in STRIPPED_RANGES for code in range(first, last + 1)}

# Latin letters with a stroke or ligature that Unicode does not decompose.
PLAIN_LETTERS = dict(zip("øłđħŧıæœðþ", ["o", "l", "d", "h", "t", "i", "ae", "oe", "d", "th"], strict=True))


def in_ranges(character: str, ranges: list[tuple[int, int]]) -> bool:
    return any(first <= ord(character) <= last for first, last in ranges)


def normalise(text: str) -> str:
    """Normalise compatibility forms, keeping case; curly apostrophes and hyphens become ASCII."""
    text = unicodedata.normalize("NFKC", re.sub("[\u2120\u2122]", " ", text))
    text = text.replace("\u2019", "'").replace("\u2010", "-")

    def group(match: re.Match[str]) -> str:
        thousands = re.fullmatch(r"[0-9]{1,3}(?:,[0-9]{3})+", match[0])
        return match[0].replace(",", "") if thousands else match[0]

    return re.sub(r"[0-9]+(?:,[0-9]+)+", group, text)


def casefold(word: str) -> str:
    return unicodedata.normalize("NFKC", word.casefold())


def fold(word: str) -> str:
    """Remove case and accents."""
    word = unicodedata.normalize("NFKD", word.casefold())
    word = "".join(PLAIN_LETTERS.get(c, c) for c in word if c not in STRIPPED)
    return unicodedata.normalize("NFKC", word)


def cut(term: str) -> str:
    return term.encode()[:MAX_TERM_BYTES].decode(errors="ignore")


# ---- from text to words, joiners and runs of unspaced script --------------------------------------------------------


def word_class(character: str) -> str:
    """Return the class of a character by the word boundary rules."""
    name = word_break(character).name
    if name in ("ALETTER", "HEBREW_LETTER", "NUMERIC"):
        return "letter"
    if name in ("EXTEND", "FORMAT", "ZWJ"):
        return "extends"
    if name in (
        "EXTENDNUMLET",
        "MIDLETTER",
        "MIDNUM",
        "MIDNUMLET",
        "SINGLE_QUOTE",
        "DOUBLE_QUOTE",
        "KATAKANA",
    ):
        return "connects"
    return "other"


@dataclass
class Atom:
    kind: str  # "word", "joiner", "bigrams", "break"
    text: str = ""


def atoms(text: str) -> Iterator[Atom]:
    """Yield the normalised text as atoms: `kind` and the characters."""
    for run in re.finditer(r"[0-9A-Za-z\x80-\U0010ffff]+|[-_.@/:+#']+|.", text, re.DOTALL):
        if run[0][0] in JOINERS:
            yield Atom("joiner", run[0])
        elif run[0].isascii():
            yield Atom("word", run[0]) if run[0][0].isalnum() else Atom("break")
        else:
            yield from piece_atoms(run[0])


def piece_atoms(piece: str) -> Iterator[Atom]:
    """Yield a piece (ASCII letters and digits, and all non-ASCII characters) as words, bigram runs and breaks."""
    stretches: list[tuple[bool, str]] = []
    for character in piece:
        extends = word_class(character) == "extends"
        bigram = in_ranges(character, BIGRAM_RANGES) and not extends
        if stretches and (bigram == stretches[-1][0] or extends):
            stretches[-1] = (stretches[-1][0], stretches[-1][1] + character)
        else:
            stretches.append((bigram, character))
    for bigram, stretch in stretches:
        if bigram:
            yield Atom("bigrams", stretch)
            continue
        for segment in words(stretch):
            # An emoji that a zero-width joiner ties to a word (rule WB3c) does not belong to the word.
            end = next((i for i, c in enumerate(segment) if word_class(c) == "other"), len(segment))
            if any(word_class(c) == "letter" for c in segment[:end]):
                yield Atom("word", segment[:end])
            if end < len(segment) or not any(word_class(c) == "letter" for c in segment):
                yield Atom("break")


@dataclass
class Compound:
    """Words joined without a space: parts[0] joiners[0] parts[1] ..."""

    parts: list[str]
    joiners: list[str] = field(default_factory=list)
    before: str = ""  # the joiners directly before the first part
    after: str = ""  # and directly after the last


def joins(joiner: str) -> bool:
    return len(joiner) == 1 or joiner == "::" or set(joiner) == {"_"}


def compounds(text: str) -> Iterator[Compound | Atom]:
    """Yield compounds and bigram runs in order."""
    current: Compound | None = None
    before = ""
    pending = ""
    for atom in [*atoms(text), Atom("break")]:
        if atom.kind == "joiner":
            pending = atom.text
            continue
        if atom.kind == "word" and current is not None and pending and joins(pending):
            current.joiners.append(pending)
            current.parts.append(atom.text)
            pending = ""
            continue
        if current is not None:
            current.after = pending
            yield current
            current = None
        before, pending = pending, ""
        if atom.kind == "word":
            current = Compound([atom.text], before=before)
        elif atom.kind == "bigrams":
            yield atom


# ---- from compounds to tokens ---------------------------------------------------------------------------------------


def pieces(part: str) -> list[str]:
    """Cut a part where letters meet digits and at inner capitals; one piece if there are no such places, or too
    many."""
    if re.fullmatch(r"[A-Z]{2,}s", part):  # the plural of an acronym is one word
        return [part]
    ends_like_number = re.fullmatch(r"([0-9]+)(?:st|nd|rd|th|s)", part, re.IGNORECASE | re.ASCII)
    if ends_like_number:  # 20th, 1990s: only the number
        return [ends_like_number[1]]
    digit_changes = len(re.findall(r"(?<=[0-9])(?=[^0-9])|(?<=[^0-9])(?=[0-9])", part))
    found = re.split(
        r"(?<=[0-9])(?=[^0-9])|(?<=[^0-9])(?=[0-9])|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", part
    )
    return found if digit_changes <= MAX_DIGIT_CHANGES and len(found) <= MAX_PIECES else [part]


def is_composed(part: str) -> bool:
    return pieces(part) != [part]


def has_digit(text: str) -> bool:
    return re.search("[0-9]", text) is not None


def apply_apostrophes(compound: Compound) -> None:
    """Resolve apostrophes: user's -> user, we'll -> we, don't -> dont; others stay joiners, like hyphens."""
    i = 0
    while i < len(compound.joiners):
        left, right = compound.parts[i], compound.parts[i + 1].lower()
        if compound.joiners[i] == "'" and right == "t" and left[-1] in "nN":
            compound.parts[i] = left + compound.parts[i + 1]
        elif not (compound.joiners[i] == "'" and right in ("s", "m", "re", "ve", "ll", "d")):
            i += 1
            continue
        del compound.parts[i + 1], compound.joiners[i]


class Oracle:
    def __init__(self, stem: Callable[[str], str]) -> None:
        self.stem = stem  # takes a case-folded word

    def word(self, text: str) -> str:
        """Return the term of a word or part; alphabetic ones are stemmed."""
        if re.fullmatch(r"[A-Z]{2,}s", text):
            text = text[:-1]
        return cut(fold(text) if has_digit(text) else fold(self.stem(casefold(text))))

    def analyze(self, text: str) -> list[Token]:
        out: list[Token] = []
        for found in compounds(normalise(text)):
            if isinstance(found, Atom):
                out += bigrams(found.text)
            elif len(found.parts) > MAX_PARTS:
                out += [(self.word(part), "word") for part in found.parts]
            else:
                apply_apostrophes(found)
                out += self.compound_tokens(found)
        tokens = [(term, kind) for term, kind in out if term]
        if len(tokens) > MAX_TOKENS:
            raise ValueError(f"text: expected at most {MAX_TOKENS} tokens, got {len(tokens)}")
        return tokens

    def compound_tokens(self, compound: Compound) -> list[Token]:
        if is_acronym(compound):
            letters = "".join(compound.parts)
            return [(fold(".".join(compound.parts)), "whole"), (self.word(letters), "word")]
        if is_identifier(compound):
            return self.identifier_tokens(compound)
        groups = split_at(compound, "/:+#")
        return [token for group in groups for token in self.plain_tokens(group)]

    def plain_tokens(self, group: Compound) -> list[Token]:
        """Return the tokens of words joined by hyphens or apostrophes only."""
        sigils = [(cut(form), "whole") for form in sigil_forms(group)]
        if len(group.parts) == 1:
            return [*sigils, (self.word(group.parts[0]), "word")]
        parts = [(self.word(part), "part") for part in group.parts]
        return without_repeats([*sigils, *parts, (self.word("".join(group.parts)), "joined")])

    def identifier_tokens(self, compound: Compound) -> list[Token]:
        wholes = [(cut(form), "whole") for form in sigil_forms(compound)]
        joined: list[Token] = []
        for range_ in ranges(compound, 0):
            if is_identifier(range_):
                whole = fold(written(range_))
                wholes.append((cut(whole), "whole"))
                if re.match(r"[vV][0-9]+\.", written(range_)):  # v2.1.3 is also 2.1.3
                    wholes.append((cut(whole[1:]), "whole"))
            if may_join(range_):
                joined.append((self.word("".join(range_.parts)), "joined"))
        inner = [self.word(piece) for part in compound.parts for piece in pieces(part)]
        kind = "word" if len(inner) == 1 else "part"
        return without_repeats([*wholes, *((term, kind) for term in inner), *joined])


def written(compound: Compound) -> str:
    return "".join(p + j for p, j in zip(compound.parts, [*compound.joiners, ""], strict=True))


def is_acronym(compound: Compound) -> bool:
    """Whether a compound is an acronym with dots: U.S., e.g."""
    return (
        len(compound.parts) > 1
        and all(re.fullmatch("[A-Za-z]", part) for part in compound.parts)
        and set(compound.joiners) == {"."}
    )


def is_identifier(compound: Compound) -> bool:
    return (
        any(has_digit(part) or is_composed(part) for part in compound.parts)
        or any(joiner in ("@", ".", "::") or "_" in joiner for joiner in compound.joiners)
        or compound.joiners.count("/") >= 2
        or ("/" in compound.joiners and compound.before.endswith("/"))
    )


def sigil_forms(compound: Compound) -> list[str]:
    """Return the forms with adjacent sigils: #4711, @jane, C++, C#, 18+, __init__."""
    whole = fold(written(compound))
    first = compound.before[-1:] if compound.before[-1:] in ("#", "@") else ""
    last_match = re.match(r"\+{1,2}(?!\+)|#(?!#)", compound.after)
    last = last_match[0] if last_match else ""
    forms = [first + whole + last] if first or last else []
    if first and last:
        forms.append(whole + last)
    if compound.before.endswith("__") and compound.after.startswith("__"):
        forms.append("__" + whole + "__")
    return forms


def split_at(compound: Compound, separators: str) -> list[Compound]:
    groups = [Compound([compound.parts[0]], before=compound.before)]
    for joiner, part in zip(compound.joiners, compound.parts[1:], strict=True):
        if joiner[0] in separators:
            groups.append(Compound([part]))
        else:
            groups[-1].joiners.append(joiner)
            groups[-1].parts.append(part)
    groups[-1].after = compound.after
    return groups


LEVELS = ["/", ":@#+", ".", "-_'"]


def ranges(compound: Compound, level: int) -> Iterator[Compound]:
    """Yield the compound, then its components: path segments, host and port, name and extension, parts."""
    yield compound
    for deeper, separators in enumerate(LEVELS[level:], level + 1):
        groups = split_at(compound, separators)
        if len(groups) > 1:
            for group in groups:
                group.before = group.after = ""
                yield from ranges(group, deeper)
            return


def may_join(compound: Compound) -> bool:
    """Whether a compound has a form without joiners: not a single plain part, not a path of words, and numbers only if
    long and hyphenated."""
    if len(compound.parts) == 1:
        return is_composed(compound.parts[0])
    if all(re.fullmatch("[0-9]+", part) for part in compound.parts):
        n_digits = sum(map(len, compound.parts))
        return n_digits >= MIN_JOINED_DIGITS and all(joiner[0] in "-_+#" for joiner in compound.joiners)
    return is_identifier(compound) or all(joiner in "-'" for joiner in compound.joiners)


def without_repeats(tokens: list[Token]) -> list[Token]:
    """Remove duplicate forms, and forms that equal a part.

    One exception: the joined form of an identifier with digits stays even if it equals the whole, so that E712 in a
    document or query weighs as much as TS-712 (and more than the words around it).
    """
    counting = {term for term, kind in tokens if kind in ("word", "part")}
    wholes = {term for term, kind in tokens if kind == "whole"}
    out: list[Token] = []
    for term, kind in tokens:
        if kind not in ("word", "part"):
            if term in counting or (term, kind) in out:
                continue
            if kind == "joined" and term in wholes and not has_digit(term):
                continue
        out.append((term, kind))
    return out


def bigrams(run: str) -> list[Token]:
    units: list[str] = []
    for character in fold(run):
        if units and word_class(character) == "extends":
            units[-1] += character
        else:
            units.append(character)
    if len(units) == 1:
        return [(cut(units[0]), "word")]
    return [(cut(left + right), "word") for left, right in itertools.pairwise(units)]


_english = Stemmer.Stemmer("english")


def stem_english(word: str) -> str:
    folded = fold(word)
    return _english.stemWord(folded) if re.fullmatch("[a-z]+", folded) else word


@cache
def stem_of_language(language: str) -> Callable[[str], str]:
    """Return Snowball's stemmer for an analyzer named after a language. Its input still has accents."""
    stemmer = Stemmer.Stemmer(language)

    def stem(word: str) -> str:
        return stemmer.stemWord(word) if len(word.encode()) <= 1024 else word

    return stem


def analyze(text: str, name: str = "english", stemmer: Callable[[str], str] | None = None) -> list[Token]:
    """Return the terms with their kinds ("word", "part", "whole", "joined") that the native analyzer of that name
    finds."""
    if stemmer is None:
        of_ours = {"english": stem_english, "plain": lambda word: word}
        stemmer = of_ours.get(name) or stem_of_language(name)
    return Oracle(stemmer).analyze(text)

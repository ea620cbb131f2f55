"""Spelling correction. The twin of `cpp/src/text/spelling.hpp` and `cpp/src/engine/spelling.hpp`."""

from __future__ import annotations

import functools
import itertools
import re
import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from tests.reference.analyzer import fold
from tests.reference.function_words import WORDS
from tests.reference.known_words import known_words

LEAST, MOST = 4, 24
"""Minimum and maximum number of letters of a word that may be misspelt."""
LEAST_TERM = 2
LEAST_LONG, LEAST_STEM_WITH_ENDING, MOST_ENDING = 8, 5, 7
"""For two edits: letters of the typed and the corrected word; of a stem behind which there may be an error,
and of what follows it."""
MOST_WORDS = 16
MOST_BYTES = 4096
MOST_TRIED = 8
"""Maximum number of candidate terms; for each, MOST_READ documents and MOST_READ_BYTES of their texts are read."""
MOST_READ = 32
MOST_READ_BYTES = 65536

Correction = tuple[str, str, str, str]
"""Typed word, its term, known word, its term."""

DATES = frozenset(
    """january february march april may june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday""".split()
)
WORD = "(?:[A-Za-z0-9_]|(?![\u2000-\u203f])[\x80-\U0010ffff])"
JOINERS = r"[-_.@/:+#']+"


def spelled_words(text: str) -> list[str]:
    """Return the words of a text that may be misspelt, as written."""
    any_small = re.search("[a-z]", text) is not None
    return [
        word[0]
        for word in re.finditer("[A-Za-z]+", text)
        if not _quoted(text, word.start())
        and not _joined_before(text[: word.start()])
        and not _joined_after(text[word.end() :])
        and _may_be_misspelt(word[0], any_small)
    ]


def edits(word: str) -> set[str]:
    """Return all words at edit distance one: a letter removed, replaced, inserted, or two neighbours exchanged."""
    cuts = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    return {
        *(left + right[1:] for left, right in cuts if right),
        *(left + right[1] + right[0] + right[2:] for left, right in cuts if len(right) > 1),
        *(left + letter + right[1:] for left, right in cuts if right for letter in string.ascii_lowercase),
        *(left + letter + right for left, right in cuts for letter in string.ascii_lowercase),
    } - {word, ""}


def surface_words(text: str) -> Iterator[str]:
    """Yield the words of a text without case and accents; joined ones also as one word."""
    joined = "(?:(?:['\u2019](?!(?:s|m|re|ve|ll|d)(?![a-z]))|[-\u2010])[a-z]+)*"
    for compound in re.findall(f"[a-z]+{joined}", fold(text)):
        words = re.findall("[a-z]+", compound)
        yield from words
        if len(words) > 1:
            yield "".join(words)


def standing_word(texts: Iterable[tuple[str, ...]], meant: Callable[[str], bool]) -> str | None:
    """Return the first word that `meant` accepts in the texts of the first documents, within the limits."""
    bytes_left = MOST_READ_BYTES
    for parts in itertools.islice(texts, MOST_READ):
        for text in parts:
            encoded = text.encode("utf-8", "replace")
            for word in surface_words(encoded[:bytes_left].decode(errors="ignore")):
                if meant(word):
                    return word
            bytes_left -= min(len(encoded), bytes_left)
    return None


def nearest(
    typed: str,
    compared: str,
    document_frequency: Mapping[str, int],
    stem: Callable[[str], str] | None,
    texts_of: Callable[[str], Iterable[tuple[str, ...]]],
) -> tuple[str, str] | None:
    """Return the known word that is meant, and its term; `compared` is the word, or its term if there is no `stem`."""
    if re.fullmatch("[a-z]+", compared) is None:
        return None
    words: dict[tuple[bool, int, str], list[str]] = {}
    for other in edits(compared):
        term = other if stem is None else stem(other)
        if document_frequency.get(term, 0) > 0 and len(term.encode()) >= LEAST_TERM:
            words.setdefault((other[0] != compared[0], -document_frequency[term], term), []).append(other)
    near = edits(typed)
    for key in sorted(words)[:MOST_TRIED]:
        meant = near if stem is None else words[key]
        if (found := standing_word(texts_of(key[2]), meant.__contains__)) is not None:
            return found, key[2]
    return nearest_at_two_edits(typed, compared, document_frequency, stem, texts_of)


def nearest_at_two_edits(
    typed: str,
    compared: str,
    document_frequency: Mapping[str, int],
    stem: Callable[[str], str] | None,
    texts_of: Callable[[str], Iterable[tuple[str, ...]]],
) -> tuple[str, str] | None:
    """The same for a long word without a known word at one edit."""
    if min(len(typed), len(compared)) < LEAST_LONG or len(compared) > MOST:
        return None
    terms = [term for term, n in document_frequency.items() if n > 0 and may_mean_term(compared, term, stem)]

    def is_meant(word: str) -> bool:
        return len(word) >= LEAST_LONG and word[0] == typed[0] and distance(word, typed) <= 2

    for term in sorted(terms, key=lambda term: (-document_frequency[term], term))[:MOST_TRIED]:
        if (found := standing_word(texts_of(term), is_meant)) is not None:
            return found, term
    return None


def may_mean_term(word: str, term: str, stem: Callable[[str], str] | None) -> bool:
    """Whether a long word with two edits may have meant a word with this term."""
    if not re.fullmatch("[a-z]{4,48}", term) or term[0] != word[0]:
        return False
    if stem is None or stem("running") == "running":
        return distance(term, word) <= 2
    for written in {term, re.sub("i$", "y", term)}:
        for end in range(1, len(word) + 1):
            behind, n_edits = word[end:], distance(written, word[:end])
            if n_edits < 2 and len(term) >= LEAST_STEM_WITH_ENDING and len(behind) <= MOST_ENDING:
                return True
            if n_edits == 2 and stem(written + behind) == term:
                return True
    return False


@functools.lru_cache(65536)
def distance(a: str, b: str) -> int:
    """Return the number of edits by optimal string alignment."""
    rows = [list(range(len(b) + 1))]
    for i in range(1, len(a) + 1):
        row = [i]
        for j in range(1, len(b) + 1):
            least = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (a[i - 1] != b[j - 1]))
            if i > 1 and j > 1 and a[i - 2 : i] == b[j - 2 : j][::-1]:
                least = min(least, rows[-2][j - 2] + 1)
            row.append(least)
        rows.append(row)
    return rows[-1][-1]


def other_spelling(word: str) -> str:
    """Return the British spelling of an American one, or vice versa: organise, organization, analyzed."""
    places = [at for at in range(4, len(word) - 1) if word[at] in "sz" and word[at - 1] in "iy"]
    if not places:
        return ""
    at = places[-1]
    return word[:at] + ("z" if word[at] == "s" else "s") + word[at + 1 :]


def other_spellings(
    text: str,
    tokens: Sequence[tuple[str, str]],
    document_frequency: Mapping[str, int],
    term_of: Callable[[str], str],
) -> dict[str, str]:
    """Return replacements for unknown terms of known words whose other spelling occurs in documents."""
    becomes: dict[str, str] = {}
    for typed in spelled_words(text):
        term, other = term_of(typed), other_spelling(typed.lower())
        kinds = {kind for one, kind in tokens if one == term}
        if kinds != {"word"} or document_frequency.get(term, 0) > 0 or term in becomes:
            continue
        if {typed.lower(), other} <= known_words() and document_frequency.get(term_of(other), 0) > 0:
            becomes[term] = term_of(other)
    return becomes


def corrections(
    text: str,
    tokens: Sequence[tuple[str, str]],
    document_frequency: Mapping[str, int],
    term_of: Callable[[str], str],
    stem: Callable[[str], str] | None,
    texts_of: Callable[[str], Iterable[tuple[str, ...]]],
) -> list[Correction]:
    """Return a correction for each misspelt word of a query, in order.

    `stem` is None for a caller's stemmer: then terms are compared instead of words. `texts_of(term)` returns the
    texts of each document with the term.
    """
    unknown = []
    for typed in spelled_words(text):
        term = term_of(typed)
        kinds = {kind for other, kind in tokens if other == term}
        if kinds == {"word"} and document_frequency.get(term, 0) == 0:
            unknown.append((typed, term))
    left_alone = {term for typed, term in unknown if typed.lower() in known_words()}
    meant: dict[str, tuple[str, str] | None] = {}
    found = []
    for typed, term in unknown:
        if term in left_alone:
            continue
        if term not in meant:
            if len(meant) == MOST_WORDS:
                continue
            word = typed.lower()
            meant[term] = nearest(word, word if stem else term, document_frequency, stem, texts_of)
        if (best := meant[term]) is not None:
            found.append((typed, term, *best))
    return found


def _quoted(text: str, place: int) -> bool:
    quoted = False
    for at in range(place):
        if text[at] == '"':
            quoted = not quoted and '"' in text[at + 1 :]
        elif text[at] == "\u201c":
            quoted = "\u201d" in text[at:]
        elif text[at] == "\u201d":
            quoted = False
    return quoted


def _joined_after(rest: str) -> bool:
    if re.match(WORD, rest):
        return True
    if re.match("['\u2019]", rest):
        possessive = re.match(f"['\u2019][sS](?!{WORD})", rest)
        return re.match(f"['\u2019]{WORD}", rest) is not None and not possessive
    joiners = re.match(JOINERS, rest)
    return joiners is not None and (re.match(WORD, rest[joiners.end() :]) is not None or rest[0] in "#+")


def _joined_before(head: str) -> bool:
    if re.search(rf"{WORD}\Z", head):
        return True
    if head.endswith("\u2019"):
        return re.search(rf"{WORD}\u2019\Z", head) is not None
    joiners = re.search(rf"{JOINERS}\Z", head)
    if joiners is None:
        return False
    return re.search(rf"{WORD}\Z", head[: joiners.start()]) is not None or head[-1] in "#@/"


def _may_be_misspelt(word: str, any_small: bool) -> bool:
    if not LEAST <= len(word) <= MOST or (word.isupper() and any_small):
        return False
    inner_capitals = not word.isupper() and word[1:] != word[1:].lower()
    return not inner_capitals and word.lower() not in WORDS | DATES

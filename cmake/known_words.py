"""Packs the list of known English words into C++ (CMake runs it: core.cmake).

    known_words.py --to FILE.cpp       packs cpp/src/text/known_words.txt
    known_words.py --scowl DIR         rebuilds that list from the word lists of SCOWL (its folder `final`)

The list: SCOWL 2020.12.07 (NOTICE), sizes 10 to 50, all countries and variants, including names and words in capitals;
those of 4 to 24 letters a to z only, in lower case, sorted.

The table: sorted words in blocks of BLOCK, each word as one byte and its letters, the last one with the bit LAST. The
five low bits of the byte are the number of letters shared with the previous word (0 for the first of a block), the
three high bits are the known forms of the word: FORMS. A word that is a form of another one has no entry, unless it has
such forms itself. Standard library only: this runs in bare build environments. An unchanged file is not rewritten.
"""

from __future__ import annotations

import argparse
import re
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from string import ascii_lowercase

LIST = Path(__file__).resolve().parent.parent / "cpp" / "src" / "text" / "known_words.txt"
SIZES = {10, 20, 35, 40, 50}
KINDS = {"words", "upper", "proper-names", "contractions"}
WORD = re.compile("[a-z]{4,24}")
BLOCK = 16
LAST = 0x80
FORMS = ((0x20, "s"), (0x40, "ed"), (0x80, "ing"))
"""A bit and its ending; before "ed" and "ing" the word loses its final e."""


def form(word: str, ending: str) -> str:
    return (word[:-1] if ending != "s" and word.endswith("e") else word) + ending


def words_of_scowl(folder: Path) -> list[str]:
    found = set()
    for path in folder.iterdir():
        name = re.fullmatch(r"[a-z]+(?:_variant_[12])?-([a-z-]+)\.([0-9]+)", path.name)
        if (
            name is None
            or name[1] not in KINDS
            or int(name[2]) not in SIZES
            or path.name.startswith("special")
        ):
            continue
        found |= {line.lower() for line in path.read_text(encoding="latin-1").split()}
    return sorted(word for word in found if WORD.fullmatch(word))


def entries(words: Sequence[str]) -> list[tuple[str, int]]:
    """The words with entries in the table, and the known forms of each."""
    known = set(words)
    bits = {word: sum(bit for bit, ending in FORMS if form(word, ending) in known) for word in words}
    forms = {form(word, ending) for word in words for bit, ending in FORMS if bits[word] & bit}
    return [(word, bits[word]) for word in words if word not in forms or bits[word]]


def packed(table: Sequence[tuple[str, int]]) -> tuple[bytes, list[int]]:
    """The bytes of the words, and the offset of each block."""
    out, blocks, before = bytearray(), [], ""
    for place, (word, bits) in enumerate(table):
        if place % BLOCK == 0:
            blocks.append(len(out))
            before = ""
        shared = 0
        while shared < min(len(word), len(before)) and word[shared] == before[shared]:
            shared += 1
        out.append(bits | shared)
        out += word[shared:-1].encode()
        out.append(LAST | ord(word[-1]))
        before = word
    return bytes(out), blocks


def numbers(values: Sequence[int]) -> str:
    rows = (values[at : at + 32] for at in range(0, len(values), 32))
    return ",\n".join(",".join(map(str, row)) for row in rows)


def source(words: Sequence[str]) -> str:
    table = entries(words)
    data, blocks = packed(table)
    firsts = [word for word, _ in table[::BLOCK]]
    pairs = [bisect_left(firsts, a + b) for a in ascii_lowercase for b in ascii_lowercase]
    return (
        "// Written by cmake/known_words.py.\n"
        '#include "text/known_words.hpp"\n\n'
        "namespace scrubjay::text::known_words {\n\n"
        f"const uint32_t kBlocks[] = {{\n{numbers(blocks)}}};\n"
        f"const size_t kNumberOfBlocks = {len(blocks)};\n"
        f"const uint16_t kBlocksBefore[] = {{\n{numbers([*pairs, len(blocks)])}}};\n\n"
        f"const unsigned char kBytes[] = {{\n{numbers(data)}}};\n"
        f"const size_t kNumberOfBytes = {len(data)};\n\n"
        "}  // namespace scrubjay::text::known_words\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--to", type=Path)
    parser.add_argument("--scowl", type=Path)
    arguments = parser.parse_args()
    if arguments.scowl is not None:
        LIST.write_text("\n".join(words_of_scowl(arguments.scowl)) + "\n", encoding="ascii", newline="\n")
    if arguments.to is not None:
        written = source(LIST.read_text(encoding="ascii").split())
        if not arguments.to.exists() or arguments.to.read_text(encoding="ascii") != written:
            arguments.to.parent.mkdir(parents=True, exist_ok=True)
            arguments.to.write_text(written, encoding="ascii", newline="\n")


if __name__ == "__main__":
    main()

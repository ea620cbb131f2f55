"""The table of known words (packed by cmake/known_words.py) holds exactly the words of the list."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from tests.reference import known_words as twin

SCRIPT = Path(__file__).parent.parent.parent / "cmake" / "known_words.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pack_known_words", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def unpacked(script: ModuleType, data: bytes, blocks: list[int]) -> set[str]:
    words: set[str] = set()
    word, at, n = "", 0, 0
    while at < len(data):
        head, at = data[at], at + 1
        if n % script.BLOCK == 0:
            assert blocks[n // script.BLOCK] == at - 1 and head & 0x1F == 0
        word, n = word[: head & 0x1F], n + 1
        while True:
            word, at = word + chr(data[at] & 0x7F), at + 1
            if data[at - 1] & script.LAST:
                break
        words |= {word} | {script.form(word, ending) for bit, ending in script.FORMS if head & bit}
    return words


def test_the_table_holds_the_words_of_the_list(script: ModuleType) -> None:
    words = script.LIST.read_text(encoding="ascii").split()
    assert script.LIST.resolve() == twin.LIST.resolve()
    assert words == sorted(set(words)) and all(re.fullmatch("[a-z]{4,24}", word) for word in words)
    data, blocks = script.packed(script.entries(words))
    assert unpacked(script, data, blocks) == set(words) == twin.known_words()
    assert len(data) + 4 * len(blocks) < 210_000
    assert {"boss", "would", "sports", "wedding", "organization", "organisation"} <= set(words)
    assert not {"movee", "soed", "eate", "noed", "recieve", "databse"} & set(words)


def test_forms_have_no_entry(script: ModuleType) -> None:
    words = ["bake", "baked", "bakes", "baking", "baker"]
    table = script.entries(sorted(words))
    assert table == [("bake", 0xE0), ("baker", 0)]
    assert unpacked(script, *script.packed(table)) == set(words)
    assert "kNumberOfBlocks = 1" in script.source(sorted(words))

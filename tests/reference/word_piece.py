"""A second implementation of the native static embedder: file, word pieces and vectors, in plain Python and NumPy."""

from __future__ import annotations

import string
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tests.reference.analyzer import BIGRAM_RANGES, fold, in_ranges, word_class

MOST_WORD_BYTES = 100
MASK = (1 << 64) - 1


@dataclass
class Table:
    """The content of a file."""

    name: str
    tokens: list[str]
    factors: NDArray[np.float32]
    rows: NDArray[np.int8]

    @property
    def ids(self) -> dict[str, int]:
        """The first id of each token."""
        return {token: id for id, token in reversed(list(enumerate(self.tokens)))}


def hash64(data: bytes) -> int:
    """Return the hash of `cpp/src/base/hash.hpp`."""

    def mix(a: int, b: int) -> int:
        product = a * b
        return (product & MASK) ^ (product >> 64)

    secrets = 0xA0761D6478BD642F, 0xE7037ED1A0B428DB
    state = secrets[0] ^ mix(len(data) ^ secrets[0], secrets[1])
    at = 0
    while len(data) - at > 8:
        state = mix(int.from_bytes(data[at : at + 8], "little") ^ secrets[1], state)
        at += 8
    return mix(mix(int.from_bytes(data[at:], "little") ^ secrets[1], state), secrets[0])


def write(table: Table, bits: int) -> bytes:
    """Return the file of a table whose values fit into `bits` bits."""
    name, strings = table.name.encode(), "".join(token + "\n" for token in table.tokens).encode()
    n, dim = table.rows.shape
    data = b"SJSTATIC" + struct.pack("<6I", 1, dim, n, bits, len(name), len(strings)) + name + strings
    data += table.factors.astype("<f4").tobytes()
    if bits == 8:
        data += table.rows.astype(np.int8).tobytes()
    else:
        nibbles = (table.rows + 8).astype(np.uint8)
        data += (nibbles[:, ::2] | nibbles[:, 1::2] << 4).tobytes()
    return data + struct.pack("<Q", hash64(data))


def read(data: bytes) -> Table:
    """Return the table of an intact file."""
    assert data[:8] == b"SJSTATIC"
    form, dim, n, bits, n_name, n_strings = struct.unpack_from("<6I", data, 8)
    assert form == 1
    at = 32 + n_name + n_strings
    factors = np.frombuffer(data, "<f4", n, at).astype(np.float32)
    packed = np.frombuffer(data, np.uint8, n * dim * bits // 8, at + 4 * n).reshape(n, -1)
    if bits == 8:
        rows = packed.view(np.int8)
    else:
        rows = np.stack([packed & 15, packed >> 4], axis=-1).reshape(n, dim).astype(np.int8) - np.int8(8)
    tokens = data[32 + n_name : at].decode().split("\n")[:-1]
    return Table(data[32 : 32 + n_name].decode(), tokens, factors, rows)


def split_ascii(text: str) -> Iterator[str]:
    """Yield the texts between ASCII spaces, with each ASCII punctuation mark by itself."""
    word = ""
    for character in text + " ":
        if character > "\x7f" or (character.isascii() and character.isalnum()):
            word += character
            continue
        if word:
            yield word
        word = ""
        if character in string.punctuation:
            yield character


def words(text: str) -> Iterator[str]:
    """Yield the words, folded."""
    for run in split_ascii(text):
        if run.isascii():
            yield run.lower()
            continue
        for part in split_ascii(fold(run)):
            word = ""
            for character in part:
                alone = in_ranges(character, BIGRAM_RANGES) or word_class(character) not in (
                    "letter",
                    "extends",
                )
                if character > "\x7f" and alone:
                    yield from filter(None, (word, character))
                    word = ""
                else:
                    word += character
            if word:
                yield word


def tokenize(text: str, vocabulary: dict[str, int]) -> list[int]:
    """Return the token ids of a text."""
    found: list[int] = []
    for word in words(text):
        rest, prefix = word.encode()[:MOST_WORD_BYTES].decode(errors="ignore"), ""
        while rest:
            end = next((end for end in range(len(rest), 0, -1) if prefix + rest[:end] in vocabulary), 0)
            if end:
                found.append(vocabulary[prefix + rest[:end]])
            rest, prefix = rest[end or 1 :], "##"
    return found


def embed(ids: Sequence[int], table: Table) -> NDArray[np.float32]:
    """Return the unit vector in the direction of the sum of the tokens' rows; zeros if the sum is zero."""
    rows = table.factors[list(ids), None].astype(np.float64) * table.rows[list(ids)]
    total = rows.sum(axis=0) if len(ids) else np.zeros(table.rows.shape[1])
    length = np.linalg.norm(total)
    return (total / length if length > 0 else total).astype(np.float32)

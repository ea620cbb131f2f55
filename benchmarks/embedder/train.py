"""Training of the table: a row for each word piece, so that the sum over a text approximates the teacher's vector.

    python -m benchmarks.embedder.train FOLDER OUT [--dim 384] [--bits 4] [--epochs 3]

Reads the output of `benchmarks.embedder.teacher`. The teacher's vectors are centred and rotated to their principal
components, of which `dim` are kept. The rows begin as the teacher's vectors of the word pieces, weighted by rarity
(SIF, Arora et al. 2017), and are trained by Adam: 1 - cosine, and the squared differences of the similarities within a
batch. A part of the initial rows is added at the end, since many pieces occur in few lines or none. NumPy only; the
same input gives the same table on one machine.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.embedder import teacher

Floats = NDArray[np.float32]
NAME = "en-1"
RARITY = 1e-3
KEPT_OF_BEGINNING = 0.3
BATCH, LEARNING_RATE, SIMILARITY_WEIGHT, SEED = 2_048, 1e-2, 16.0, 5
TRANSLATIONS_STEP = 3
"""Use every third translation, so that messages of programs do not dominate the lines."""
FIRST_DECAY, SECOND_DECAY = 0.9, 0.98


@dataclass
class Lines:
    """Concatenated tokens of lines, and the teacher's vector of each line (by number: translations share them)."""

    tokens: NDArray[np.int64]
    begins: NDArray[np.int64]
    """One entry more than there are lines."""
    target: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.target)

    def batch(self, numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the tokens of these lines, and for each token the index of its line among them."""
        lengths = self.begins[numbers + 1] - self.begins[numbers]
        line = np.repeat(np.arange(len(numbers)), lengths)
        offset = np.arange(len(line)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return self.tokens[self.begins[numbers][line] + offset], line


def unit(vectors: Floats) -> Floats:
    """Return rows scaled to length 1; zero rows are kept."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def summed(values: Floats, of: NDArray[np.int64], n: int) -> Floats:
    """Return the sums of the values with equal numbers, which are sorted; shape (n, dim)."""
    out = np.zeros((n, values.shape[1]), np.float32)
    if len(of):
        begins = np.flatnonzero(np.r_[True, of[1:] != of[:-1]])
        out[of[begins]] = np.add.reduceat(values, begins, axis=0)
    return out


def beginning(pieces: Floats, components: Floats, counts: NDArray[np.int64], tokens: list[str]) -> Floats:
    """Return the rows before training.

    The teacher was trained on English: it gives letters of other scripts similar vectors, which would make all texts of
    a language alike. So the mean of the pieces of each script is subtracted first.
    """
    centred = pieces.copy()
    kinds = np.array([_script(token) for token in tokens])
    for kind in np.unique(kinds):
        centred[kinds == kind] -= centred[kinds == kind].mean(axis=0)
    share = (counts + 0.5) / (counts.sum() + 0.5 * len(counts))
    return unit(centred @ components) * (RARITY / (RARITY + share)).astype(np.float32)[:, None]


def _script(token: str) -> int:
    """Return a coarse class of scripts: Latin, or a block of 512 code points (Han is one class)."""
    code = ord(token.removeprefix("##")[:1] or "#")
    if code < 0x250:
        return 0
    return 1 if 0x2E80 <= code < 0xA000 and not 0x3040 <= code < 0x3100 else 2 + code // 512


def train(rows: Floats, lines: Lines, targets: Floats, epochs: int) -> Floats:
    """Return trained rows, by Adam with a learning rate that falls linearly to zero."""
    chance = np.random.default_rng(SEED)
    rows, first, second, spare = rows.copy(), np.zeros_like(rows), np.zeros_like(rows), np.empty_like(rows)
    n_batches = len(lines) // BATCH
    begin = time.monotonic()
    for step in range(epochs * n_batches):
        if step % n_batches == 0:
            order, cosines = chance.permutation(len(lines)), []
        place = step % n_batches
        numbers = order[place * BATCH : (place + 1) * BATCH]
        tokens, line = lines.batch(numbers)
        target = targets[lines.target[numbers]]
        sums = summed(rows[tokens], line, len(numbers))
        lengths = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-6)
        vectors = sums / lengths
        cosines.append(float((vectors * target).sum(axis=1).mean()))
        difference = vectors @ vectors.T - target @ target.T
        gradient = SIMILARITY_WEIGHT * 4 / BATCH**2 * (difference @ vectors) - target / BATCH
        gradient = (gradient - vectors * (vectors * gradient).sum(axis=1, keepdims=True)) / lengths
        by_token = np.argsort(tokens, kind="stable")
        of_rows = summed(gradient[line[by_token]], tokens[by_token], len(rows))
        rate = LEARNING_RATE * min(1.0, (step + 1) / 20) * max(0.02, 1 - (step + 1) / (epochs * n_batches))
        rate *= np.sqrt(1 - SECOND_DECAY ** (step + 1)) / (1 - FIRST_DECAY ** (step + 1))
        # in place: these arrays are larger than everything else
        first *= FIRST_DECAY
        first += np.multiply(of_rows, 1 - FIRST_DECAY, out=spare)
        second *= SECOND_DECAY
        second += np.multiply(np.square(of_rows, out=of_rows), 1 - SECOND_DECAY, out=of_rows)
        np.add(np.sqrt(second, out=spare), 1e-9, out=spare)
        rows -= np.multiply(np.divide(first, spare, out=spare), np.float32(rate), out=spare)
        if place == n_batches - 1:
            print(f"cosine {np.mean(cosines):.4f}, {time.monotonic() - begin:.0f} s", flush=True)
    return rows


def quantised(rows: Floats, bits: int) -> tuple[NDArray[np.int8], Floats]:
    """Return integers and a factor for each row, from a few factors the one with the smallest error."""
    greatest = 2 ** (bits - 1) - 1
    full = np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1e-12) / greatest
    best = np.full(len(rows), np.inf)
    numbers, factors = np.zeros(rows.shape, np.int8), np.zeros((len(rows), 1), np.float32)
    for share in (1.0,) if bits == 8 else (0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 1.0):
        tried = np.clip(np.rint(rows / (full * share)), -greatest - 1, greatest)
        # the factor that fits these numbers best, by least squares
        fitting = (tried * rows).sum(axis=1, keepdims=True) / np.maximum(
            (tried * tried).sum(axis=1, keepdims=True), 1e-12
        )
        fitting = np.maximum(fitting, 0)
        error = ((tried * fitting - rows) ** 2).sum(axis=1)
        better = error < best
        numbers[better], factors[better], best[better] = tried[better], fitting[better], error[better]
    return numbers, factors[:, 0].astype(np.float32)


def written(tokens: list[str], rows: Floats, bits: int) -> bytes:
    """Return the file of the table."""
    from tests.reference.word_piece import Table, write

    numbers, factors = quantised(rows, bits)
    return write(Table(NAME, tokens, factors, numbers), bits)


def read_lines(folder: Path, tokens: list[str]) -> tuple[Lines, Floats]:
    """Return the lines and translations that the teacher embedded, tokenised natively, and their vectors."""
    from scrubjay import StaticEmbedder

    plain = StaticEmbedder.read(written(tokens, np.ones((len(tokens), 16), np.float32), 8))
    shards = sorted((folder / "vectors").glob("lines.*.npy"))
    vectors = np.concatenate([np.load(folder / "vectors" / "english.npy"), *map(np.load, shards)])
    translations, of, english = teacher.translations(folder)
    every = [text for _, text in teacher.lines(folder)]
    size = teacher.SHARD_LINES
    texts = [text for path in shards for text in every[int(path.stem[6:]) * size :][:size]]
    translations, of = translations[::TRANSLATIONS_STEP], of[::TRANSLATIONS_STEP]
    ids = [plain.tokenize(text) for text in (*texts, *english, *translations)]
    target = [*range(len(english), len(vectors)), *range(len(english)), *of]
    whole = [(one, number) for one, number in zip(ids, target, strict=True) if one]
    begins = np.cumsum([0, *(len(one) for one, _ in whole)])
    found = Lines(
        np.concatenate([np.array(one, np.int64) for one, _ in whole]),
        begins,
        np.array([number for _, number in whole], np.int64),
    )
    return found, vectors.astype(np.float32)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.embedder.train", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path, help="the file of the table")
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--bits", type=int, default=4, choices=(4, 8))
    parser.add_argument("--epochs", type=int, default=3)
    options = parser.parse_args(arguments)
    tokens = teacher.vocabulary(options.folder)
    pieces = np.load(options.folder / "vectors" / "pieces.npy").astype(np.float32)
    wanted = np.array(
        [not (token.startswith("[") and token.endswith("]")) or len(token) < 4 for token in tokens]
    )
    tokens, pieces = (
        [token for token, is_wanted in zip(tokens, wanted, strict=True) if is_wanted],
        pieces[wanted],
    )
    lines, vectors = read_lines(options.folder, tokens)
    print(f"{len(lines):,} lines, {len(lines.tokens):,} tokens", flush=True)
    mean = vectors.mean(axis=0)
    _, directions = np.linalg.eigh(np.cov((vectors - mean).T))
    components = np.ascontiguousarray(directions[:, ::-1][:, : options.dim], dtype=np.float32)
    targets = unit((vectors - mean) @ components)
    counts = np.bincount(lines.tokens, minlength=len(tokens))
    start = beginning(pieces, components, counts, tokens)
    rows = train(start, lines, targets, options.epochs) + KEPT_OF_BEGINNING * start
    options.out.write_bytes(written(tokens, rows, options.bits))
    print(f"{options.out}: {options.out.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())

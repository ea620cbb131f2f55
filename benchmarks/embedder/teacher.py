"""The teacher's vectors of the WordPieces and the lines.

    python -m benchmarks.embedder.teacher FOLDER [--minutes 25]

Reads `FOLDER/lines.jsonl` and `FOLDER/translations.jsonl`; writes `FOLDER/vectors/pieces.npy`, `english.npy` (the
distinct originals of the translations, in order) and shards `FOLDER/vectors/lines.00000.npy` of 2,048 lines, float16
unit vectors, until the time is over; a second run continues where the first stopped. Single-threaded.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.embedder.prose import PASSAGE_SHORTEST
from benchmarks.embedder.sources import TEACHER_FOLDER

MOST_TOKENS = 256
SHARD_LINES = 2_048
BATCH_TOKENS = 2_048


class Teacher:
    """bge-small-en-v1.5, int8, by onnxruntime: the first token's last state, scaled to length 1."""

    def __init__(self, folder: Path) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        model = folder / "teacher" / TEACHER_FOLDER
        self._session: Any = onnxruntime.InferenceSession(
            str(model / "model.onnx"), options, providers=["CPUExecutionProvider"]
        )
        self.tokenizer: Any = Tokenizer.from_file(str(model / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(MOST_TOKENS)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float16]:
        """Return unit vectors, shape (n, 384). Texts of similar length share a batch, to minimise padding."""
        encoded = [encoding.ids for encoding in self.tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(texts)), key=lambda i: len(encoded[i]))
        out = np.zeros((len(texts), 384), np.float32)
        begin = 0
        while begin < len(order):
            end = begin + 1
            while end < len(order) and (end + 1 - begin) * len(encoded[order[end]]) <= BATCH_TOKENS:
                end += 1
            rows = order[begin:end]
            ids = np.zeros((len(rows), max(len(encoded[i]) for i in rows)), np.int64)
            for row, i in enumerate(rows):
                ids[row, : len(encoded[i])] = encoded[i]
            mask = (np.arange(ids.shape[1]) < np.array([[len(encoded[i])] for i in rows])).astype(np.int64)
            given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            out[rows] = self._session.run(None, given)[0][:, 0]
            begin = end
        out /= np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-9)
        return out.astype(np.float16)


def vocabulary(folder: Path) -> list[str]:
    """Return the teacher's WordPieces by id."""
    file = folder / "teacher" / TEACHER_FOLDER / "vocab.txt"
    return file.read_text(encoding="utf-8").splitlines()


def lines(folder: Path) -> list[tuple[str, str]]:
    """Return source and text of each line, in order, with only every third passage, because passages cost the most."""
    with (folder / "lines.jsonl").open(encoding="utf-8") as file:
        found = [(row["source"], row["text"]) for row in map(json.loads, file)]
    n_passages, kept = 0, []
    for source, text in found:
        if len(text) >= PASSAGE_SHORTEST:
            n_passages += 1
            if n_passages % 3:
                continue
        kept.append((source, text))
    return kept


def translations(folder: Path) -> tuple[list[str], list[int], list[str]]:
    """Return the translations, the number of the English original of each, and the originals."""
    with (folder / "translations.jsonl").open(encoding="utf-8") as file:
        rows = list(map(json.loads, file))
    numbers: dict[str, int] = {}
    of = [numbers.setdefault(row["english"], len(numbers)) for row in rows]
    return [row["text"] for row in rows], of, list(numbers)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.embedder.teacher", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--minutes", type=float, default=25.0, help="stop after so long")
    options = parser.parse_args(arguments)
    end = time.monotonic() + 60 * options.minutes
    teacher, out = Teacher(options.folder), options.folder / "vectors"
    out.mkdir(exist_ok=True)
    if not (out / "pieces.npy").exists():
        pieces = [piece.removeprefix("##") for piece in vocabulary(options.folder)]
        np.save(out / "pieces.npy", teacher.embed(pieces))
        print("pieces", flush=True)
    if not (out / "english.npy").exists():
        np.save(out / "english.npy", teacher.embed(translations(options.folder)[2]))
        print("english", flush=True)
    texts = [text for _, text in lines(options.folder)]
    for shard in range(-(-len(texts) // SHARD_LINES)):
        path = out / f"lines.{shard:05}.npy"
        if path.exists():
            continue
        if time.monotonic() > end:
            break
        np.save(path, teacher.embed(texts[shard * SHARD_LINES : (shard + 1) * SHARD_LINES]))
        print(f"{(shard + 1) * SHARD_LINES:,} lines", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

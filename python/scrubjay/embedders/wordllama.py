"""The offline default: static token vectors from the `wordllama` wheel, mean pooled.

Only that wheel's two data files are read (weights and tokenizer), from its own folder. Its Python code is not imported:
that takes 0.2 s, configures the root logger and would ask the network for files that it looks for in another folder.
A test holds the result to its own `embed`.
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from scrubjay.embedders.protocol import Vectors, as_list
from scrubjay.errors import MissingExtraError

__all__ = ["WordLlama", "default"]

_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_BATCH = 512


class WordLlama:
    """WordLlama l2_supercat, 256 dimensions, unit vectors. English; about 40 us a query, no network, 33 MB of memory.

    A text without any token (an empty one) gets the zero vector. Thread-safe.

    Raises:
        MissingExtraError: the `wordllama` wheel, or `tokenizers` which it brings, is not installed.
    """

    name = "wordllama/l2_supercat-256"
    dim = 256

    def __init__(self) -> None:
        folder = _wheel_folder()
        try:
            from tokenizers import Tokenizer
        except ImportError:
            raise MissingExtraError("the default embedder", None, "tokenizers") from None
        tokenizer: Any = Tokenizer.from_file(str(folder / _TOKENIZER))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        # without offsets where this version of tokenizers can leave them out
        self._tokenize: Any = getattr(tokenizer, "encode_batch_fast", tokenizer.encode_batch)
        self._table = _read_table(folder / _WEIGHTS)

    def embed_documents(self, texts: list[str]) -> Vectors:
        """Return unit vectors, float32 of shape (n, 256)."""
        texts = as_list(texts)
        vectors = np.zeros((len(texts), self.dim), dtype=np.float32)
        for start in range(0, len(texts), _BATCH):
            for row, encoding in enumerate(
                self._tokenize(texts[start : start + _BATCH], add_special_tokens=False)
            ):
                self._pool(encoding.ids, out=vectors[start + row])
        return vectors

    def embed_query(self, text: str) -> Vectors:
        """Return one unit vector, float32 of shape (256,)."""
        vector = np.zeros(self.dim, dtype=np.float32)
        self._pool(self._tokenize([text], add_special_tokens=False)[0].ids, out=vector)
        return vector

    def _pool(self, token_ids: list[int], out: Vectors) -> None:
        if not token_ids:
            return
        # the sum has the direction of the mean
        self._table[token_ids].sum(axis=0, out=out)
        length = np.sqrt(out @ out)
        if length > 0:
            out /= length

    def __repr__(self) -> str:
        return f"<scrubjay.embedders.WordLlama {self.name!r}>"


@lru_cache(maxsize=1)
def default() -> WordLlama:
    """Return the embedder that works without any download or configuration; one object for the whole process.

    >>> embedder = default()
    >>> embedder.embed_documents(["the staging key", "a walk in the park"]).shape
    (2, 256)
    """
    return WordLlama()


def _wheel_folder() -> Path:
    spec = find_spec("wordllama")
    for folder in (spec.submodule_search_locations or []) if spec is not None else []:
        if (Path(folder) / _WEIGHTS).is_file() and (Path(folder) / _TOKENIZER).is_file():
            return Path(folder)
    raise MissingExtraError("the default embedder", None, "wordllama")


def _read_table(path: Path) -> Vectors:
    """Read the one float16 matrix of a safetensors file: a length, a JSON header, the numbers."""
    with path.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))["embedding.weight"]
        file.seek(header["data_offsets"][0], 1)
        n_rows, dim = header["shape"]
        if header["dtype"] != "F16" or dim != WordLlama.dim:
            raise ValueError(
                f"{path}: expected F16 rows of {WordLlama.dim}, got {header['dtype']} rows of {dim}"
            )
        return np.fromfile(file, dtype="<f2", count=n_rows * dim).reshape(n_rows, dim).astype(np.float32)

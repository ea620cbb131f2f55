"""A second implementation of the offline default embedder: `tokenizers` reads the text, NumPy computes the mean."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer


def folder() -> Path:
    """Return the folder of the `wordllama` wheel's files."""
    spec = find_spec("wordllama")
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0])


@lru_cache(maxsize=1)
def tokenizer() -> Any:
    """Return the tokenizer from its file, without padding and truncation."""
    read: Any = Tokenizer.from_file(str(folder() / "tokenizers/l2_supercat_tokenizer_config.json"))
    read.no_padding()
    read.no_truncation()
    return read


@lru_cache(maxsize=1)
def table() -> NDArray[np.float32]:
    """Return the embedding table, a row for each token."""
    path = folder() / "weights/l2_supercat_256.safetensors"
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])["embedding.weight"]
    begin, end = (8 + length + offset for offset in header["data_offsets"])
    return np.frombuffer(data[begin:end], dtype="<f2").reshape(header["shape"]).astype(np.float32)


def tokenize(text: str) -> list[int]:
    """Return the token ids, in order."""
    ids: list[int] = tokenizer().encode(text, add_special_tokens=False).ids
    return ids


def embed(text: str) -> NDArray[np.float32]:
    """Return the unit vector in the direction of the mean of the tokens' rows; zeros without tokens."""
    ids = tokenize(text)
    if not ids:
        return np.zeros(table().shape[1], dtype=np.float32)
    mean = table()[ids].astype(np.float64).mean(axis=0)
    unit: NDArray[np.float32] = (mean / np.linalg.norm(mean)).astype(np.float32)
    return unit

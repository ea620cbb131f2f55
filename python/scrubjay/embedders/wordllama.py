"""The offline default: static token vectors from the `wordllama` wheel, mean pooled in native code.

Only the wheel's two data files (weights and tokenizer) are read, from its own folder. Its Python code is not imported:
that takes 0.2 s, configures the root logger and would request files from the network that it looks for in another
folder. Tests compare the result with its own `embed`, and with the `tokenizers` library and means by NumPy.
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrubjay._native import StaticEmbedder
from scrubjay.base.errors import MissingExtraError
from scrubjay.embedders.batches import usable_cores
from scrubjay.embedders.protocol import Vectors, as_list, checked_chars

_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_MARKER = "\u2581"
# The configuration that the native tokenizer implements; any other is refused.
_NORMALIZERS = [
    {"type": "Prepend", "prepend": _MARKER},
    {"type": "Replace", "pattern": {"String": " "}, "content": _MARKER},
]
_MODEL = {"type": "BPE", "dropout": None, "byte_fallback": True, "ignore_merges": False}


class WordLlama:
    """WordLlama l2_supercat, 256 dimensions, unit vectors. English; microseconds per query, no network, 16 MB of memory
    shared between processes.

    A text without tokens (an empty one) gets the zero vector. Thread-safe; releases the GIL.

    Args:
        passage_chars, whole_chars: a vector is the mean over all tokens, in which a single sentence of a long text is
            lost: of texts longer than `whole_chars` an index embeds passages of at most `passage_chars` characters,
            both 50 or more. `passage_chars` None: embed all texts as a whole. docs/documents.md compares the choices.

    Raises:
        TypeError, ValueError: `passage_chars` or `whole_chars` is not an int >= 50.
        MissingExtraError: the `wordllama` wheel is not installed.
    """

    name = "wordllama/l2_supercat-256"
    dim = 256

    def __init__(self, *, passage_chars: int | None = 700, whole_chars: int = 16_000) -> None:
        self.passage_chars, self.whole_chars = checked_chars(passage_chars, whole_chars)
        folder = _wheel_folder()
        self.native = _make_native(folder / _TOKENIZER, _map_table(folder / _WEIGHTS))

    @property
    def parallel_batches(self) -> int:
        """The number of cores that this process may use."""
        return usable_cores()

    def embed_documents(self, texts: list[str]) -> Vectors:
        """Return the unit vectors of `texts`, float32 of shape (n, 256)."""
        return self.native.embed(as_list(texts))

    def embed_queries(self, texts: list[str]) -> Vectors:
        """Return the unit vectors of `texts`, float32 of shape (n, 256): a query is embedded like a document."""
        return self.native.embed(as_list(texts))

    def embed_query(self, text: str) -> Vectors:
        """Return the unit vector of `text`, float32 of shape (256,)."""
        return self.native.embed_query(text)

    def __repr__(self) -> str:
        return f"<scrubjay.embedders.WordLlama {self.name!r}>"


@lru_cache(maxsize=1)
def default() -> WordLlama:
    """Return the embedder that needs no download or configuration; one object per process.

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
    raise MissingExtraError('the default embedder (unlike "static" and "none")', "wordllama", "wordllama")


def _make_native(path: Path, table: NDArray[np.float16]) -> StaticEmbedder:
    """Read a tokenizer.json of the one kind that the native tokenizer implements."""
    with path.open(encoding="utf-8") as file:
        config: dict[str, Any] = json.load(file)
    model = config["model"]
    kind = {key: model.get(key) for key in _MODEL}
    normalizers = (config.get("normalizer") or {}).get("normalizers")
    if kind != _MODEL or normalizers != _NORMALIZERS or config.get("pre_tokenizer") is not None:
        raise ValueError(f"{path}: expected byte pair encoding as of Llama, got another tokenizer")
    vocabulary: dict[str, int] = model["vocab"]
    # flat lists: this loop is a third of the load time of the default embedder
    parts = " ".join(model["merges"]).split(" ")
    n_merges = len(model["merges"])
    merges = np.empty((n_merges, 3), dtype=np.uint32)
    merges[:, :2] = np.fromiter(map(vocabulary.__getitem__, parts), np.uint32, 2 * n_merges).reshape(-1, 2)
    sums = map(str.__add__, parts[::2], parts[1::2])
    merges[:, 2] = np.fromiter(map(vocabulary.__getitem__, sums), np.uint32, n_merges)
    added = [(token["content"], token["id"]) for token in config["added_tokens"]]
    return StaticEmbedder(table, sorted(vocabulary, key=vocabulary.__getitem__), merges, added)


def _map_table(path: Path) -> NDArray[np.float16]:
    """Map the single float16 matrix of a safetensors file: a length, a JSON header, the numbers."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))["embedding.weight"]
    n_rows, dim = header["shape"]
    if header["dtype"] != "F16" or dim != WordLlama.dim:
        raise ValueError(f"{path}: expected F16 rows of {WordLlama.dim}, got {header['dtype']} rows of {dim}")
    begin = 8 + length + header["data_offsets"][0]
    table = np.memmap(path, dtype="<f2", mode="r", offset=begin, shape=(n_rows, dim))
    return np.require(table, requirements=["C", "A"])  # copied if a header of odd length precedes it

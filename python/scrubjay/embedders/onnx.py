"""Encoders from a folder with `model.onnx` and `tokenizer.json`, the usual export format, run by onnxruntime."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrubjay.base.extras import imported
from scrubjay.embedders.protocol import Vectors, as_list, model_identity

_MODEL_FILES = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")


class OnnxFolder:
    """An encoder from a local folder (extra "onnx"); vectors have unit length unless `normalize` is False.

    Args:
        folder: contains `tokenizer.json` and the model.
        model_file: its name in the folder; by default `model.onnx`, or where exporters usually put it.
        pooling: "cls" (bge), "mean" (MiniLM, e5, gte), or None: as in `1_Pooling/config.json`, otherwise "mean".
            Ignored for a model whose output is already one vector per text.
        query_prefix, document_prefix: prepended to the texts; bge needs "Represent this sentence for searching relevant
            passages: " before queries, e5 "query: " and "passage: ".
        max_length: maximum number of tokens; longer texts are truncated.
        batch_size: texts per run, sorted by length to minimise padding. With 1, a text always has the same vector; a
            model with dynamic quantisation gives it another one (cosine .98) in another batch, and on a CPU larger
            batches were not faster.
        threads: of onnxruntime for one run; None: onnxruntime decides.
        name: the model's name for the index; by default "onnx/" and the folder's name, the pooling and the document
            prefix.

    Raises:
        FileNotFoundError: the folder lacks one of the files.
        MissingExtraError: `onnxruntime` or `tokenizers` is not installed.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        model_file: str | None = None,
        pooling: str | None = None,
        query_prefix: str = "",
        document_prefix: str = "",
        max_length: int = 512,
        batch_size: int = 1,
        normalize: bool = True,
        threads: int | None = None,
        name: str | None = None,
    ) -> None:
        path = Path(folder)
        if pooling not in (None, "cls", "mean"):
            raise ValueError(f"pooling: expected 'cls', 'mean' or None, got {pooling!r}")
        if max_length < 1 or batch_size < 1:
            raise ValueError(f"max_length, batch_size: expected 1 or more, got {max_length}, {batch_size}")
        model_path = _find(path, (model_file,) if model_file else _MODEL_FILES)
        tokenizer_path = _find(path, ("tokenizer.json",))
        onnxruntime = imported("onnxruntime", "OnnxFolder", "onnx")
        tokenizers = imported("tokenizers", "OnnxFolder", "onnx")

        tokenizer: Any = tokenizers.Tokenizer.from_file(str(tokenizer_path))
        tokenizer.no_padding()
        tokenizer.enable_truncation(max_length)
        self._tokenize: Any = tokenizer.encode_batch
        options = onnxruntime.SessionOptions()
        if threads is not None:
            options.intra_op_num_threads = threads
        self._session: Any = onnxruntime.InferenceSession(
            str(model_path), sess_options=options, providers=["CPUExecutionProvider"]
        )
        self._inputs = {node.name for node in self._session.get_inputs()}
        self._output = _pick_output([node.name for node in self._session.get_outputs()])
        self._pooling = pooling or _configured_pooling(path)
        self._query_prefix = query_prefix
        self._document_prefix = document_prefix
        self._batch_size = batch_size
        self._normalize = normalize
        self.name = name or model_identity(f"onnx/{path.resolve().name}:{self._pooling}", document_prefix)
        self.dim = int(self._run(["dimension"]).shape[1])

    def embed_documents(self, texts: list[str]) -> Vectors:
        """Return the vectors of `texts`, float32 (n, dim)."""
        return self._embed([self._document_prefix + text for text in as_list(texts)])

    def embed_queries(self, texts: list[str]) -> Vectors:
        """Return the vectors of `texts`, float32 (n, dim)."""
        return self._embed([self._query_prefix + text for text in as_list(texts)])

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of `text`, float32 (dim,)."""
        vector: Vectors = self._run([self._query_prefix + text])[0]
        return vector

    def __repr__(self) -> str:
        return f"<scrubjay.embedders.OnnxFolder {self.name!r}, dim {self.dim}>"

    def _embed(self, texts: list[str]) -> Vectors:
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        by_length = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        for start in range(0, len(texts), self._batch_size):
            rows = by_length[start : start + self._batch_size]
            vectors[rows] = self._run([texts[i] for i in rows])
        return vectors

    def _run(self, texts: list[str]) -> Vectors:
        encodings = self._tokenize(texts)
        width = max(1, max(len(encoding.ids) for encoding in encodings))
        token_ids = np.zeros((len(texts), width), dtype=np.int64)
        mask = np.zeros_like(token_ids)
        for row, encoding in enumerate(encodings):
            token_ids[row, : len(encoding.ids)] = encoding.ids
            mask[row, : len(encoding.ids)] = 1
        feed = {"input_ids": token_ids, "attention_mask": mask, "token_type_ids": np.zeros_like(token_ids)}
        feed = {name: array for name, array in feed.items() if name in self._inputs}
        (output,) = self._session.run([self._output], feed)
        pooled: NDArray[Any] = _pool(np.asarray(output, dtype=np.float32), mask, self._pooling)
        if self._normalize:
            lengths = np.linalg.norm(pooled, axis=1, keepdims=True)
            pooled = pooled / np.where(lengths > 0, lengths, 1)
        return np.ascontiguousarray(pooled, dtype=np.float32)


def _pool(output: Vectors, mask: NDArray[np.int64], pooling: str) -> Vectors:
    """Pool (n, width, dim) to (n, dim); output of shape (n, dim) is returned unchanged."""
    if output.ndim == 2:
        return output
    if pooling == "cls":
        return output[:, 0]
    weights = mask[:, :, None].astype(np.float32)
    mean: Vectors = (output * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1)
    return mean


def _pick_output(names: list[str]) -> str:
    """Return the output named as pooled, otherwise the first."""
    return "sentence_embedding" if "sentence_embedding" in names else names[0]


def _configured_pooling(folder: Path) -> str:
    path = folder / "1_Pooling" / "config.json"
    if path.is_file() and json.loads(path.read_text(encoding="utf-8")).get("pooling_mode_cls_token"):
        return "cls"
    return "mean"


def _find(folder: Path, names: tuple[str, ...]) -> Path:
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise FileNotFoundError(f"{folder}: expected {' or '.join(names)} in this folder")

"""The ONNX folder, with a tiny model that the test creates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrubjay.embedders import OnnxFolder

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "query", "red", "green", "blue"]
TABLE = np.random.default_rng(7).normal(size=(len(WORDS), 4)).astype(np.float32)


def make_folder(folder: Path, *, pooled: bool = False) -> Path:
    """A model that looks its tokens up in TABLE; with `pooled` it returns one vector per text itself."""
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    helper, types = onnx.helper, onnx.TensorProto
    inputs = [
        helper.make_tensor_value_info(name, types.INT64, ["batch", "width"])
        for name in ("input_ids", "attention_mask")
    ]
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])]
    output = helper.make_tensor_value_info("last_hidden_state", types.FLOAT, ["batch", "width", 4])
    if pooled:
        nodes.append(
            helper.make_node("ReduceMax", ["last_hidden_state"], ["sentence_embedding"], axes=[1], keepdims=0)
        )
        output = helper.make_tensor_value_info("sentence_embedding", types.FLOAT, ["batch", 4])
    graph = helper.make_graph(nodes, "tiny", inputs, [output], [onnx.numpy_helper.from_array(TABLE, "table")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(folder / "model.onnx"))
    vocabulary = {word: i for i, word in enumerate(WORDS)}
    tokenizer: Any = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.enable_padding()  # as in many shipped files; it must not affect the pooling
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def expected(words: list[str], pooling: str) -> Any:
    rows = TABLE[[WORDS.index(word) for word in ["[CLS]", *words, "[SEP]"]]]
    vector = rows[0] if pooling == "cls" else rows.mean(axis=0)
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_pooling_and_prefixes(tmp_path: Path, pooling: str) -> None:
    folder = make_folder(tmp_path / "tiny")
    embedder = OnnxFolder(folder, pooling=pooling, query_prefix="query ", batch_size=2, threads=1)
    assert (embedder.dim, embedder.name) == (4, f"onnx/tiny:{pooling}")
    vectors = embedder.embed_documents(["red green blue", "red", "green blue"])
    assert vectors.dtype == np.float32
    for vector, words in zip(vectors, (["red", "green", "blue"], ["red"], ["green", "blue"]), strict=True):
        np.testing.assert_allclose(vector, expected(words, pooling), atol=1e-6)
    np.testing.assert_allclose(embedder.embed_query("red"), expected(["query", "red"], pooling), atol=1e-6)
    assert embedder.embed_documents([]).shape == (0, 4)


def test_the_folder_may_say_how_to_pool(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    assert OnnxFolder(folder).name.endswith(":mean")
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    embedder = OnnxFolder(folder, document_prefix="passage: ")
    assert embedder.name.endswith(":cls:passage:")
    np.testing.assert_allclose(OnnxFolder(folder).embed_query("red"), expected(["red"], "cls"), atol=1e-6)


def test_a_model_that_pools_itself(tmp_path: Path) -> None:
    embedder = OnnxFolder(make_folder(tmp_path, pooled=True), normalize=False)
    np.testing.assert_allclose(embedder.embed_query("red"), TABLE[[2, 5, 3]].max(axis=0), atol=1e-6)


def test_long_texts_are_cut(tmp_path: Path) -> None:
    embedder = OnnxFolder(make_folder(tmp_path), pooling="mean", max_length=3)
    np.testing.assert_allclose(embedder.embed_query("red green blue"), expected(["red"], "mean"), atol=1e-6)


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"expected model\.onnx or onnx/model\.onnx"):
        OnnxFolder(tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"")
    with pytest.raises(FileNotFoundError, match=r"expected tokenizer\.json"):
        OnnxFolder(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"expected other\.onnx"):
        OnnxFolder(tmp_path, model_file="other.onnx")
    with pytest.raises(ValueError, match="pooling: expected 'cls', 'mean' or None, got 'max'"):
        OnnxFolder(tmp_path, pooling="max")

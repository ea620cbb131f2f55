"""The offline default."""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrubjay import Index, Scope
from scrubjay.base.errors import MissingExtraError
from scrubjay.embedders import default, wordllama
from tests.reference import static_embedder

TEXTS = [
    "The staging API key prefix is sk-stg-0041.",
    "Prefers trains to planes.",
    "a",
    "東京へ行きました \U0001f426",
    "word " * 3000,
]


def test_vectors_have_unit_length_and_stand_in_order() -> None:
    embedder = default()
    vectors = embedder.embed_documents(TEXTS)
    assert vectors.shape == (len(TEXTS), embedder.dim)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    for text, vector in zip(TEXTS, vectors, strict=True):
        np.testing.assert_array_equal(embedder.embed_query(text), vector)


def test_meaning_is_nearer_than_letters() -> None:
    query, near, far = default().embed_documents(["travel by railway", "a train journey", "a raincoat"])
    assert query @ near > query @ far + 0.1


def test_no_texts_give_no_vectors() -> None:
    assert default().embed_documents([]).shape == (0, 256)
    assert default().embed_queries([]).shape == (0, 256)
    with pytest.raises(TypeError, match="one str"):
        default().embed_documents("a text")  # type: ignore[arg-type]


def test_an_empty_text_has_the_zero_vector() -> None:
    assert not default().embed_query("").any()
    index = Index(default())
    index.upsert("empty", "", scope=Scope("acme"))
    record = index.get("empty", scope=Scope("acme"))
    assert record is not None
    assert record.vector is None


def test_vectors_equal_those_of_the_wordllama_package() -> None:
    spec = importlib.util.find_spec("wordllama")
    assert spec is not None
    assert spec.submodule_search_locations
    handlers = list(logging.getLogger().handlers)  # importing the package configures the root logger
    try:
        from wordllama import WordLlama
    finally:
        logging.getLogger().handlers[:] = handlers
    folder = Path(spec.submodule_search_locations[0])
    theirs: Any = WordLlama.load(cache_dir=folder, disable_download=True)
    np.testing.assert_allclose(default().embed_documents(TEXTS), theirs.embed(TEXTS, norm=True), atol=2e-6)


def test_wordllama_needs_no_network_and_no_home(tmp_path: Path) -> None:
    code = """
import socket
def refuse(*args, **kwargs):
    raise AssertionError("network")
socket.socket.connect = socket.getaddrinfo = socket.create_connection = refuse
import scrubjay
print(scrubjay.embedders.default().embed_documents(["a", "b"]).shape)
"""
    environment = {**os.environ, "HOME": str(tmp_path / "none")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "(2, 256)"), done.stderr
    assert not (tmp_path / "none").exists()


def test_without_the_wheel_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordllama, "find_spec", lambda name: None)
    with pytest.raises(
        MissingExtraError, match=r'unlike "static" and "none".*pip install "scrubjay\[wordllama\]"'
    ):
        wordllama.WordLlama()


def test_vectors_equal_those_stored_with_the_judged_sets(judged_data: Path) -> None:
    stored = np.load(judged_data / "locomo_dev" / "wordllama256.docs.npy", mmap_mode="r")[:200].astype(
        np.float32
    )
    with (judged_data / "locomo_dev" / "corpus.jsonl").open(encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line, _ in zip(file, range(200), strict=False)]
    np.testing.assert_allclose(default().embed_documents(texts), stored, atol=1e-3)


@pytest.mark.parametrize(
    "change",
    [
        lambda config: config.update(normalizer={"type": "NFKC"}),
        lambda config: config.update(pre_tokenizer={"type": "Whitespace"}),
        lambda config: config["model"].update(type="Unigram"),
        lambda config: config["model"].update(byte_fallback=False),
    ],
)
def test_another_kind_of_tokenizer_is_refused(tmp_path: Path, change: Any) -> None:
    table = wordllama._map_table(static_embedder.folder() / wordllama._WEIGHTS)
    source = static_embedder.folder() / wordllama._TOKENIZER
    config = json.loads(source.read_text(encoding="utf-8"))
    change(config)
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ValueError, match="byte pair encoding as of Llama"):
        wordllama._make_native(path, table)

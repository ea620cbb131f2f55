"""The embedder protocol, its checks, the query cache, and lazy imports."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

from scrubjay import embedders
from scrubjay.base.errors import EmbedderError, MissingExtraError
from scrubjay.embedders import Embedder, Function, QueryCache, from_spec
from scrubjay.embedders.protocol import checked_matrix, checked_vector, embed_queries


def ones(texts: list[str]) -> Any:
    return np.ones((len(texts), 2), dtype=np.float32)


TWO = Function(ones, dim=2, name="two")


def test_the_protocol_is_met_without_inheriting() -> None:
    assert isinstance(TWO, Embedder)
    assert not isinstance(object(), Embedder)


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (np.ones((1, 2)), r"shape \(2, 2\), got \(1, 2\)"),
        (np.ones((2, 3)), r"shape \(2, 2\), got \(2, 3\)"),
        (np.ones(2), r"shape \(2, 2\), got \(2,\)"),
        ([["a", "b"]] * 2, "float32 vectors, got dtype <U1"),
        (np.ones((2, 2), dtype=complex), "float32 vectors, got dtype complex128"),
        ([[1.0], [1.0, 2.0]], "got .*inhomogeneous"),
        ([[1.0, 1.0], [np.nan, 1.0]], "NaN or infinity in row 1"),
        ([[np.inf, -np.inf], [1.0, 1.0]], "NaN or infinity in row 0"),
        (
            np.ma.array([[1.0, 1.0], [1.0, 1.0]], mask=[[0, 0], [0, 1]]),
            "expected numbers, got an array with masked ones",
        ),
        (None, "got dtype object"),
    ],
)
def test_bad_output_is_named(output: Any, message: str) -> None:
    with pytest.raises(EmbedderError, match=f"^embedder 'two': .*{message}"):
        checked_matrix(output, 2, TWO)


def test_good_output_becomes_contiguous_float32() -> None:
    matrix = checked_matrix(np.asfortranarray(np.arange(4).reshape(2, 2)), 2, TWO)
    assert matrix.dtype == np.float32
    assert matrix.flags.c_contiguous
    assert checked_vector(np.float32([3e38, 3e38]), TWO).shape == (2,)


def test_queries_are_embedded_one_by_one_where_there_is_no_batch() -> None:
    class Single:
        name, dim = "single", 2

        def embed_documents(self, texts: list[str]) -> Any:
            raise AssertionError

        def embed_query(self, text: str) -> Any:
            return np.float32([len(text), 1])

    np.testing.assert_array_equal(embed_queries(Single(), ["a", "bb"]), [[1, 1], [2, 1]])


def test_a_function_for_queries_of_its_own() -> None:
    embedder = Function(
        lambda texts: [[1.0]] * len(texts), query=lambda texts: [[2.0]] * len(texts), dim=1, name="f"
    )
    assert embedder.embed_documents(["a"]).tolist() == [[1.0]]
    assert embedder.embed_query("a").tolist() == [2.0]
    with pytest.raises(TypeError, match="texts: expected a sequence of str, got one str"):
        embedder.embed_documents("a")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"documents": 1, "dim": 1}, TypeError),
        ({"documents": ones, "dim": 0}, ValueError),
        ({"documents": ones, "dim": 2.0}, TypeError),
        ({"documents": ones, "dim": True}, TypeError),
        ({"documents": ones, "dim": 2, "query": 1}, TypeError),
    ],
)
def test_a_function_checks_its_arguments(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        Function(name="f", **arguments)


def test_the_cache_forgets_the_least_recently_used() -> None:
    cache = QueryCache(2)
    for text in "ab":
        cache.put(text, np.float32([1]))
    assert cache.get("a") is not None
    cache.put("c", np.float32([1]))
    assert cache.get("b") is None
    assert cache.get("a") is not None
    assert len(cache) == 2
    assert cache.stats() == {"hits": 2, "misses": 1, "entries": 2, "size": 2}
    cache.clear()
    assert cache.get("a") is None


def test_cached_vectors_cannot_be_changed() -> None:
    cache = QueryCache(1)
    cache.put("a", np.ones(2, dtype=np.float32))
    vector = cache.get("a")
    assert vector is not None
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 2


def test_a_cache_of_size_0_keeps_nothing() -> None:
    cache = QueryCache(0)
    cache.put("a", np.ones(2, dtype=np.float32))
    assert cache.get("a") is None
    for size, error in ((-1, ValueError), (1.5, TypeError), (True, TypeError)):
        with pytest.raises(error, match=r"^size: expected"):
            QueryCache(size)  # type: ignore[arg-type]


def test_the_cache_may_be_used_from_many_threads() -> None:
    cache = QueryCache(16)
    wrong: list[str] = []

    def work(seed: int) -> None:
        for i in range(3000):
            key = (i * seed) % 40
            vector = cache.get(str(key))
            if vector is None:
                cache.put(str(key), np.float32([key]))
            elif vector[0] != key:
                wrong.append(f"{key}: {vector}")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 3, 7, 11)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    stats = cache.stats()
    assert stats["hits"] + stats["misses"] == 12000
    assert stats["entries"] <= 16


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("word2vec", "expected default, none, static"),
        ("onnx", "expected onnx:NAME, got 'onnx'"),
        ("default:x", "takes no argument"),
        ("", "expected default"),
    ],
)
def test_a_bad_spec_is_named(spec: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_spec(spec)


def test_specs_name_embedders() -> None:
    assert from_spec("none") is None
    assert from_spec("default") is embedders.default()
    remote = from_spec("openai:nomic-embed@http://127.0.0.1:11434/v1")
    assert repr(remote).endswith("'openai/nomic-embed' at 'http://127.0.0.1:11434/v1/embeddings'>")
    with pytest.raises(FileNotFoundError):
        from_spec("onnx:no/such/folder")


@pytest.mark.parametrize(
    ("make", "package", "extra"),
    [
        (lambda: embedders.Model2Vec("x"), "model2vec", "model2vec"),
        (lambda: embedders.SentenceTransformers("x"), "sentence_transformers", "sentence-transformers"),
        (lambda: embedders.FastEmbed("x"), "fastembed", "fastembed"),
    ],
)
def test_a_missing_library_names_its_extra(
    make: Any, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf'pip install "scrubjay\[{extra}\]"') as caught:
        make()
    assert isinstance(caught.value, ImportError)


def test_importing_scrubjay_imports_nothing_heavy() -> None:
    code = (
        "import sys, scrubjay; from scrubjay.embedders import *\n"
        "print([name for name in sys.argv[1].split() if name in sys.modules])"
    )
    heavy = "wordllama tokenizers onnxruntime requests torch model2vec fastembed sentence_transformers tqdm Stemmer"
    done = subprocess.run([sys.executable, "-c", code, heavy], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    code = code.replace("; from scrubjay.embedders import *", "")
    done = subprocess.run(
        [sys.executable, "-c", code, "urllib.request ssl asyncio cryptography scrubjay.memory"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"

"""Rerankers with their own arithmetic: late interaction, and an ONNX cross-encoder with reproducible scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay import Index, Scope
from scrubjay.retrieval import LateInteractionReranker, OnnxReranker, Retriever

JANE = Scope("acme", user="jane")
WORDS = ["oak", "jay", "acorn", "cache", "winter", "north"]
TABLE = dict(
    zip(WORDS, np.random.default_rng(3).normal(size=(len(WORDS), 5)).astype(np.float32), strict=True)
)


class Words:
    """A model with one vector per word, which counts its inputs."""

    def __init__(self) -> None:
        self.asked: list[tuple[tuple[str, ...], bool]] = []

    def __call__(self, texts: list[str], is_query: bool) -> list[Any]:
        self.asked.append((tuple(texts), is_query))
        return [
            np.array([TABLE[w] for w in text.split() if w in TABLE], dtype=np.float32).reshape(-1, 5)
            for text in texts
        ]


def max_sim(query: str, text: str) -> float:
    """The formula of the paper."""
    held = [TABLE[word] for word in text.split() if word in TABLE]
    if not held:
        return 0.0
    return float(sum(max(float(TABLE[q] @ t) for t in held) for q in query.split() if q in TABLE))


sentence = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


@given(sentence, st.lists(sentence, max_size=6))
def test_scores_are_those_of_the_formula(query: str, texts: list[str]) -> None:
    reranker = LateInteractionReranker(Words())
    for _ in range(2):  # computed, then cached
        scores = reranker.score(query, texts)
        assert scores.dtype == np.float32
        assert scores.tolist() == pytest.approx([max_sim(query, text) for text in texts], abs=1e-4)


def test_a_text_is_as_good_as_its_best_passage() -> None:
    filler = "The weather was as it is. " * 60
    long = f"{filler}The oak winter cache it was. {filler}"
    reranker = LateInteractionReranker(Words(), max_chars=200, overlap=40)
    scores = reranker.score("oak winter cache", ["jay", long, filler, ""])
    assert scores[1] == pytest.approx(max_sim("oak winter cache", "oak winter cache"), abs=1e-4)
    assert scores[1] > scores[0] and scores[2] == scores[3] == 0.0


def test_passages_are_encoded_once_and_the_oldest_go() -> None:
    model = Words()
    reranker = LateInteractionReranker(model)
    reranker.score("oak", ["jay", "acorn", "jay"])
    reranker.score("jay", ["acorn", "north", "jay"])
    assert [texts for texts, is_query in model.asked if not is_query] == [("jay", "acorn"), ("north",)]
    small = LateInteractionReranker(model, cache_mb=2 * 20 / 2**20)  # room for two words of five numbers
    model.asked.clear()
    for text in ("oak", "jay", "oak", "acorn", "oak", "jay"):
        small.score("north", [text])
    assert [texts[0] for texts, is_query in model.asked if not is_query] == ["oak", "jay", "acorn", "jay"]
    none = LateInteractionReranker(model, cache_mb=0)
    model.asked.clear()
    none.score("oak", ["jay"])
    none.score("oak", ["jay"])
    assert len(model.asked) == 4


def test_the_models_of_two_libraries_are_known_by_their_methods() -> None:
    class Fastembed:
        def query_embed(self, texts: list[str]) -> Any:
            return iter(Words()(texts, True))

        def passage_embed(self, texts: list[str]) -> Any:
            return iter(Words()(texts, False))

    class Pylate:
        def encode(self, texts: list[str], *, is_query: bool, show_progress_bar: bool) -> Any:
            assert not show_progress_bar
            return Words()(texts, is_query)

    for model in (Fastembed(), Pylate()):
        reranker = LateInteractionReranker(model)
        assert reranker.name == f"late-interaction/{type(model).__name__}"
        assert reranker.score("oak", ["jay"]).tolist() == pytest.approx([max_sim("oak", "jay")], abs=1e-5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LateInteractionReranker(3), "model: expected a late interaction model or a function"),
        (
            lambda: LateInteractionReranker("a-model"),
            "model: expected a late interaction model or a function .*, got str",
        ),
        (lambda: LateInteractionReranker(Words(), max_chars=10), "max_chars: expected 50 or more, got 10"),
        (lambda: LateInteractionReranker(Words(), overlap=900), "overlap: expected 0 to half"),
        (lambda: LateInteractionReranker(Words(), cache_mb=-1), "cache_mb: expected 0 or more, got -1"),
        (
            lambda: LateInteractionReranker(lambda texts, _: [np.zeros(4)] * len(texts)).score("q", ["a"]),
            r"model: expected 1 arrays of shape \(tokens, dim\), got 1: \(4,\)",
        ),
        (
            lambda: LateInteractionReranker(
                lambda texts, is_query: [np.zeros((1, 4 + is_query))] * len(texts)
            ).score("q", ["a"]),
            "model: expected one dim, got 5 and 4",
        ),
    ],
)
def test_what_is_wrong_is_named(make: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def test_in_a_retriever() -> None:
    index = Index()
    for i, text in enumerate(("jay acorn", "oak acorn winter", "oak north")):
        index.upsert(i, text, scope=JANE)
    found = Retriever(index, reranker=LateInteractionReranker(Words()), rerank=300).search(
        "oak acorn", scope=JANE
    )
    expected = sorted(
        ("jay acorn", "oak acorn winter", "oak north"), key=lambda text: -max_sim("oak acorn", text)
    )
    assert [hit.text for hit in found] == expected
    assert found.trace.stages[-2].details == {"reranker": "late-interaction/Words"}


# ---- a cross-encoder -------------------------------------------------------------------------------------------------


def quantized_folder(folder: Path) -> Path:
    """A model whose numbers are quantised by the greatest of the batch, as in int8 models."""
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    helper, types = onnx.helper, onnx.TensorProto
    table = np.geomspace(0.01, 90.0, 8).astype(np.float32).reshape(8, 1)
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
        helper.make_node("DynamicQuantizeLinear", ["rows"], ["small", "scale", "zero"]),
        helper.make_node("DequantizeLinear", ["small", "scale", "zero"], ["rough"]),
        helper.make_node("ReduceSum", ["rough", "axis"], ["logits"], keepdims=0),
    ]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info("input_ids", types.INT64, ["batch", "width"])],
        [helper.make_tensor_value_info("logits", types.FLOAT, ["batch", 1])],
        [
            onnx.numpy_helper.from_array(table, "table"),
            onnx.numpy_helper.from_array(np.array([1], dtype=np.int64), "axis"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(folder / "model.onnx"))
    words = {word: i for i, word in enumerate(["[PAD]", "[UNK]", *WORDS])}
    tokenizer: Any = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.enable_padding()
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def test_a_pair_has_one_score_in_any_company(tmp_path: Path) -> None:
    reranker = OnnxReranker(quantized_folder(tmp_path / "tiny"), threads=1)
    texts = ["oak", "oak jay", "north", "winter oak acorn", "jay " * 30]
    alone = [reranker.score("oak", [text])[0] for text in texts]
    assert len(set(alone)) > 3
    assert reranker.score("oak", texts).tolist() == alone
    assert reranker.score("oak", texts[::-1]).tolist() == alone[::-1]
    assert reranker.score("oak", []).shape == (0,)

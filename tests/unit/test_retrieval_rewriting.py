"""Answers of rewriters are parsed in the forms that models return."""

from __future__ import annotations

import pytest

from scrubjay.retrieval.rewriting import Rewritten, as_rewritten


@pytest.mark.parametrize(
    ("answer", "rewritten"),
    [
        (
            {"keywords": ["Oslo", "trip"], "searchQuery": "Jane travels"},
            Rewritten("Oslo trip", "Jane travels"),
        ),
        ({"keywords": "Oslo trip", "search_query": "Jane travels"}, Rewritten("Oslo trip", "Jane travels")),
        ({"keywords": [], "query": ["Jane travels"]}, Rewritten("", "Jane travels")),
        ({"semantic": "a", "searchQuery": "b", "queries": ["c"]}, Rewritten("", "a", ("c",))),
        ({"expansions": "one alone"}, Rewritten(expansions=("one alone",))),
        ({"keywords": None, "semantic": None, "expansions": None}, Rewritten()),
        (["a", "", "b"], Rewritten(expansions=("a", "b"))),
        ({}, Rewritten()),
    ],
)
def test_the_shapes_in_which_models_answer(answer: object, rewritten: Rewritten) -> None:
    assert as_rewritten(lambda _: answer, "where did she go?") == rewritten


def test_an_answer_of_other_names_is_no_silent_nothing() -> None:
    with pytest.raises(ValueError, match=r"rewriter: expected some of keywords, semantic, .*, got terms"):
        as_rewritten(lambda _: {"terms": ["Oslo"]}, "where?")
    with pytest.raises(TypeError, match="rewriter: expected Rewritten, a mapping or a list, got int"):
        as_rewritten(lambda _: 3, "where?")

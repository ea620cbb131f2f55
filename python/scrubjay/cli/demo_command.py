"""`scrubjay demo`: one question answered by keywords alone, vectors alone and their fusion, side by side."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

from scrubjay import demo
from scrubjay.base.errors import MissingExtraError
from scrubjay.cli.hit_output import evidence, ranks
from scrubjay.cli.options import scope_of
from scrubjay.cli.terminal import bold, clean, dim, fit, green, mark, terminal_width, width_of
from scrubjay.embedders.protocol import Embedder
from scrubjay.embedders.spec import from_spec
from scrubjay.index import Index

_NAMES = {"lexical": "keywords alone", "vector": "vectors alone", "hybrid": "both, fused"}


def run(arguments: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    start = time.perf_counter()
    embedder, is_instead = _embedder(arguments.embedder)
    loaded_s = time.perf_counter() - start
    start = time.perf_counter()
    index = demo.make_index(embedder, progress=False if arguments.no_progress else None)
    indexed_s = time.perf_counter() - start
    if arguments.ask is None:
        questions = demo.load_questions()
    else:
        questions = [demo.Question("Your question", arguments.ask, scope_of(arguments))]

    has_hits = False
    report: list[dict[str, Any]] = []
    if not arguments.json:
        print(bold(f"{len(index)} memories of two organisations") + f", indexed in {indexed_s * 1000:.0f} ms")
        model = (
            "no embedder: keywords only"
            if embedder is None
            else f"{embedder.name}, loaded in {loaded_s * 1000:.0f} ms"
        )
        if is_instead:
            model += ' (the default one: pip install "scrubjay[wordllama]")'
        print(dim(f"{model}; times are medians of single calls from Python; {mark()} answers the question"))
    for number, question in enumerate(questions, start=1):
        answers, embed_us = demo.ask(index, question, k=arguments.k)
        has_hits = has_hits or any(len(answer.hits) for answer in answers)
        if arguments.json:
            report.append(_as_json(question, answers, embed_us))
        else:
            _print(number, index, question, answers, embed_us)
    if arguments.json:
        json.dump({"memories": len(index), "questions": report}, sys.stdout, ensure_ascii=False, indent=2)
        print()
    elif arguments.ask is None:
        print(dim('\nAsk your own: scrubjay demo --ask "who may sign a discount?" --user marco'))
    return 0 if has_hits else 1


def _embedder(spec: str) -> tuple[Embedder | None, bool]:
    """Return the embedder, and whether it is the packaged one because the default is not installed."""
    if spec != "auto":
        return from_spec(spec), False
    try:
        return from_spec("default"), False
    except MissingExtraError:
        return from_spec("static"), True


def _print(
    number: int, index: Index, question: demo.Question, answers: list[demo.Answer], embed_us: float | None
) -> None:
    width = terminal_width()
    visible = index.count(question.scope)
    print(f"\n{bold(f'{number}. {question.title}: {clean(question.text)!r}')}")
    print(dim(f"   asked by {question.scope!r}, from which {visible} of {len(index)} memories are visible"))
    if question.shows:
        print(f"   {question.shows}")
    if embed_us is not None:
        print(dim(f"   the question's vector takes {embed_us:.0f} us (warm), then:"))
    for answer in answers:
        note = f", {answer.hits.degraded[0].partition(':')[0]}" if answer.hits.degraded else ""
        label = _NAMES[answer.mode] + (
            f" (ran: {answer.hits.mode}{note})" if answer.hits.mode != answer.mode else ""
        )
        print(f"   {label:<16}{answer.search_us:>6.0f} us")
        if not len(answer.hits):
            print(dim("        nothing"))
        for rank, hit in enumerate(answer.hits, start=1):
            tick = green(mark()) if hit.id in question.answers else " "
            why = ranks(hit) if answer.hits.mode == "hybrid" else clean(evidence(hit, answer.hits.mode))
            room = width - 9
            text_width = max(20, room - len(why) - 2 if len(why) < room // 2 else room // 2)
            text = fit(clean(hit.text), text_width)
            gap = " " * (text_width - width_of(text) + 2)
            print(f"     {rank} {tick} {text}{gap}{dim(fit(why, room - text_width - 2))}")


def _as_json(question: demo.Question, answers: list[demo.Answer], embed_us: float | None) -> dict[str, Any]:
    scope = question.scope
    return {
        "title": question.title,
        "text": question.text,
        "scope": {"tenant": scope.tenant, "user": scope.user, "agent": scope.agent},
        "answers": list(question.answers),
        "embed_us": embed_us,
        "results": [
            {
                "asked": answer.mode,
                "ran": answer.hits.mode,
                "degraded": list(answer.hits.degraded),
                "search_us": answer.search_us,
                "hits": answer.hits.to_dicts(),
            }
            for answer in answers
        ],
    }

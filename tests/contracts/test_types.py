"""A type checker finds the mistakes of a user, and accepts correct programs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

RIGHT = """\
import asyncio
import numpy as np
import scrubjay
from scrubjay import Engine, Index, Query, Scope, Weighted
from scrubjay.memory import FactCandidate, Memory


def embed(texts: list[str]) -> list[list[float]]:
    return [[1.0, float(len(text))] for text in texts]


jane = Scope("acme", user="jane")
index = Index(embed, metric="cosine")
index = Index(scrubjay.embedders.default())
index.upsert("m1", "oak", scope=jane, metadata={"n": 1}, vector=np.ones(256))
hits = index.search("oak", scope=jane, query=Query("rrf", mode="lexical", relevance="low"))
first: str = hits[0].text
asyncio.run(index.asearch("oak", scope=jane, k=3))
engine = Engine(2)
engine.upsert(1, "oak", scope=jane, vector=[1.0, 0.0])
engine.upsert_many([1, 2], ["oak", "elm"], scope=[jane, jane])
engine.search("oak", scope=jane, k=np.int64(3))
view = index.scope("acme", user="jane")
view.upsert("m1", "oak", metadata={"n": 1}, ttl=60, entities=["Ann"], version=0, context="trees")
view.upsert_many([{"id": "m2", "text": "elm"}], progress=False)
view.patch("m1", metadata={"n": None}, created_at=None, vector=None, version=1)
view.list(filter={"n": 1}, ids=["m1"], order="oldest", limit=None)
view.scroll(limit=3, cursor=view.scroll().cursor, order_by="created_at", descending=True)
view.search_batch(["oak", None], k=3, query=[Query(), None], threads=1)
counted: int = view.count(exclude=["m1"]) + view.delete_many(filter={"n": 1}, reason="old") + view.erase(exact=True)
view.values("n", limit=None, exact=True)
Weighted((0.3, 0.7), normalise="max")
index.collection("b", metric="l2", dtype="f32")
memory = Memory.open("m.scrubjay")
memory.add("Jane lives in Oslo.", scope=jane, kind="fact")
memory.recall("Oslo?", jane, kinds=["fact", "note"], k=3).texts
memory.list(jane, kinds=("policy", "episode"))
memory.assemble("Oslo?", jane, 500, floor="none", kinds=["fact"]).text
memory.session(jane, "r1", retention="long")
fact = FactCandidate("x", relation="ends", valid_from="2026-01-01")
memory.propose(fact, scope=jane, source="r", raise_if_rejected=True)
"""
MISTAKES = (
    'Query(mode="keywordz")',
    'Query(fusion="rff")',
    'index.asearch("oak", scope=jane, kk=3)',
    'engine.upsert(1, 2, scope="no")',
    'engine.search("oak", scope=jane, k="three")',
    'index.search("oak", scope="acme")',
    'index.scope("acme").search("oak", kk=3)',
    'Index(metric="cosin")',
    "Scope(7)",
    "engine.search('oak')",
    'view.upsert("a", "b", metdata={})',
    'view.upsert("a", "b", metadata=[1])',
    "view.upsert_many([], scop=jane)",
    "view.list(limt=3)",
    'view.list(order="price")',
    'view.scroll(limit="x")',
    "view.count(fliter={})",
    "view.delete_many(filtr={})",
    'view.delete("a", why="x")',
    'view.patch("a", text="x")',
    'view.search_batch(["a"], kk=1)',
    'view.values("n", limit="all")',
    "view.erase(exakt=True)",
    'Weighted(normalise="softmax")',
    'index.collection("x", metric="dot")',
    'memory.add("Jane lives in Oslo.", scope=jane, kind="facts")',
    'memory.recall("Oslo?", jane, kinds=["policy"])',
    'memory.recall("Oslo?", jane, kinds=["facts"])',
    'memory.list(jane, kinds=["note"])',
    'memory.assemble("Oslo?", jane, floor="medium")',
    'memory.session(jane, "r1", retention="forever")',
    'FactCandidate("x", relation="end")',
    'memory.propose(FactCandidate("x", valid_form="2026-01-01"), scope=jane, source="r")',
)


def errors_of(program: Path) -> dict[int, str]:
    """Return mypy --strict's messages about a program, by line."""
    pytest.importorskip("mypy", reason="mypy is not installed (extra: dev)")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file", "", "--no-incremental", "--no-error-summary",
         "--follow-imports=silent", "--python-version", "3.10", str(program)],
        capture_output=True, text=True, check=False, cwd=program.parent,
        env={**__import__("os").environ, "MYPYPATH": str(ROOT / "python")},
    )  # fmt: skip
    assert done.stderr == "", done.stderr
    found: dict[int, str] = {}
    for line in done.stdout.splitlines():
        file, number, kind, said = line.split(":", 3)
        if kind.strip() == "error":
            assert Path(file).name == program.name, line  # our own types are complete
            found.setdefault(int(number), said.strip())
    return found


@pytest.mark.slow
def test_mypy_finds_every_mistake_and_nothing_else(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(RIGHT + "\n".join(MISTAKES) + "\n")
    found = errors_of(program)
    first = RIGHT.count("\n") + 1
    assert sorted(found) == list(range(first, first + len(MISTAKES))), found


@pytest.mark.slow
def test_pyright_finds_every_mistake_and_nothing_else(tmp_path: Path) -> None:
    """pyright, which editors use. Its distribution basedpyright includes Node.js, and has pyright's rules."""
    pytest.importorskip("basedpyright", reason="basedpyright is not installed")
    program = tmp_path / "program.py"
    program.write_text(RIGHT + "\n".join(MISTAKES) + "\n")
    settings = {"typeCheckingMode": "standard", "pythonVersion": "3.10", "extraPaths": [str(ROOT / "python")]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    done = subprocess.run(
        [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, "--outputjson", str(program)],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    said = json.loads(done.stdout)["generalDiagnostics"]
    found = {one["range"]["start"]["line"] + 1 for one in said}
    first = RIGHT.count("\n") + 1
    assert sorted(found) == list(range(first, first + len(MISTAKES))), said

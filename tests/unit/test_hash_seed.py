"""The seed of the hashes has no visible effect: images, digests, results and figures are the same with any seed."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from scrubjay import Engine, Query, Scope

GOLDEN = Path(__file__).resolve().parents[1] / "data" / "golden"

# A few chunks with and without a dictionary, replaced, deleted and compacted documents, metadata, several scopes.
SCRIPT = r"""
import hashlib, json, random
from scrubjay import Engine, Index, Query, Scope

random.seed(5)
words = [f"w{i}" for i in range(300)] + [f"a-rather-long-word-{i}" for i in range(300)] + ["naïve", "鸟の巣"]
scopes = [Scope("acme"), Scope("acme", user="jane"), Scope("acme", user="jane", agent="helper")]
engine = Engine(dim=2, background=False)
names = [f"document-{i}" for i in range(900)]
for i, name in enumerate(names + names[:90]):
    payload = json.dumps({"metadata": {"k": f"v{i % 40}", f"f{i % 9}": i}}).encode()
    engine.upsert(name, " ".join(random.choices(words, k=12)), scope=scopes[i % 90 % 3],
                  vector=[1.0, i % 17 - 8.0], payload=payload)
engine.upsert_many(names[:90], ["w1 w2 in another scope"] * 90, scope=[scopes[(i + 1) % 3] for i in range(90)])
engine.upsert("tiny", "one a-rather-long-word-7 two", scope=Scope("tiny"))
engine.delete_many(names[5:300:7], scope=[scopes[i % 90 % 3] for i in range(5, 300, 7)])
found = [
    hashlib.sha256(b"".join(engine.save_partition(scope))).hexdigest() for scope in [*scopes, Scope("tiny")]
]
found += [engine.digest(scope) for scope in scopes]
for query in ("w1 w2 w3", "a-rather-long-word-7 a-rather-long-word-8", "w5"):
    for options in (
        {}, {"filter": {"k": {"$in": ["v1", "v7", "v9"]}}}, {"query": Query(ids=names[:300])},
        {"query": Query(rankings=[names[40:120]])},
    ):
        hits = engine.search(query, vector=[1.0, 0.5], scope=scopes[2], k=50, explain=True, **options)
        homes = [str(hits.scope(i)) for i in range(len(hits))]
        found.append([list(hits.ids), homes, [float(score) for score in hits.scores], str(hits.matched_terms)])
found.append(engine.stats())
engine.compact()
found += [hashlib.sha256(b"".join(engine.save_partition(scope))).hexdigest() for scope in scopes]
other = Engine(dim=2, background=False)
for scope in scopes:
    other.load_partition(scope, engine.save_partition(scope))
found += [hashlib.sha256(b"".join(other.save_partition(scope))).hexdigest() for scope in scopes]
index = Index()
for i in range(40):
    index.upsert(i, f"note {i} of the oak", scope=scopes[i % 3], metadata={"k": i % 4})
    index.upsert(i, f"another note {i}", scope=scopes[(i + i % 2) % 3])
found.append([(str(record.scope), record.id) for record in index.list(scopes[2])])
print(json.dumps(found, sort_keys=True, default=str))
"""


def printed(seed: str | None) -> str:
    """Return the output of the script in its own process; None: a random seed."""
    environment = {name: value for name, value in os.environ.items() if name != "SCRUBJAY_HASH_SEED"}
    if seed is not None:
        environment["SCRUBJAY_HASH_SEED"] = seed
    finished = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def test_no_answer_depends_on_the_hash_seed() -> None:
    first = printed(None)
    assert len(first) > 2_000
    assert first == printed(None) == printed("1") == printed("any text")


def test_the_seed_is_another_one_in_each_process() -> None:
    command = [sys.executable, "-c", "from scrubjay import Scope; print(hash(Scope('acme')))"]

    def hashes(seed: str) -> set[bytes]:  # an empty seed is random
        environment = {**os.environ, "SCRUBJAY_HASH_SEED": seed}
        return {subprocess.check_output(command, env=environment) for _ in range(3)}

    assert len(hashes("")) == 3
    assert len(hashes("7")) == 1
    assert hashes("7") != hashes("8")


@pytest.mark.parametrize("name", ["format-1.scrubjay", "format-2.scrubjay"])
def test_an_image_with_its_terms_in_another_order_is_read(name: str) -> None:
    """Earlier versions wrote images in the order of their tables. The digests are those versions', too."""
    connection = sqlite3.connect(f"file:{GOLDEN / name}?immutable=1", uri=True)
    images = [bytes(data) for (data,) in connection.execute("SELECT data FROM image ORDER BY scope")]
    connection.close()
    engine = Engine(dim=4, background=False)
    scopes = Scope("acme"), Scope("acme", user="jane")
    for scope, image in zip(scopes, images, strict=True):
        assert engine.load_partition(scope, [image]) == 6
    digests = [engine.digest(scope) for scope in scopes]
    assert [digest["n_postings"] for digest in digests] == [72, 72]
    assert [digest["documents"] for digest in digests] == [1395830566228570777, 9075879003641934937]
    assert [digest["postings"] for digest in digests] == [1853233351158008588, 13205233781973398586]
    assert list(engine.search("skstg0007", scope=scopes[1], query=Query(mode="lexical"), k=1).ids) == ["m7"]

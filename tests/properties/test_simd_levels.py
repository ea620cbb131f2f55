"""All SIMD levels of this CPU give the results of the oracle, bit-identical to each other.

The level is chosen when the native module is loaded, so each runs in its own process: the property tests again, with
fewer examples, and a fixed workload whose answers are compared byte for byte.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from scrubjay import _native
from tests.data.engines import Kit, engine_kit
from tests.data.strategies import IDENTIFIERS, WORDS
from tests.reference import judge

ROOT = Path(__file__).resolve().parent.parent.parent
LEVELS = ("baseline", "avx2", "avx512", "avx512-gather")
SELECTION = "not long_documents and not saturate"  # lengths do not depend on SIMD, and these take longest
PROPERTIES = ("test_lexical.py", "test_vector.py", "test_hybrid.py")


def in_process(level: str, *command: str, timeout: float = 600) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SCRUBJAY_SIMD": level, "SCRUBJAY_TEST_PROFILE": "tiny"}
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
    )


@lru_cache(maxsize=len(LEVELS))
def refusal(level: str) -> str | None:
    """Return why the level cannot run here, or None. Only a CPU without it is a reason."""
    code = "from scrubjay import _native; print(_native.show_config_dict()['simd_active'])"
    finished = in_process(level, "-c", code)
    if finished.returncode == 0:
        assert finished.stdout.split()[-1] == level, f"asked for {level}, got {finished.stdout}"
        return None
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").is_file() else ""
    needed = {"avx2": "avx2", "avx512": "avx512bw", "avx512-gather": "avx512bw"}.get(level)
    assert needed is not None and f" {needed} " not in flags, finished.stderr[-2000:]
    return f"this CPU has no {level}"


def require(kit: Kit, level: str) -> None:
    if not kit.is_native:
        pytest.skip("the model has no SIMD levels")
    if (reason := refusal(level)) is not None:
        pytest.skip(reason)


@pytest.mark.parametrize("level", LEVELS)
def test_the_properties_hold_at_every_level(kit: Kit, level: str) -> None:
    require(kit, level)
    if level == _native.show_config_dict()["simd_active"]:
        pytest.skip("the tests of this process run at this level, with more examples")
    tests = [f"tests/properties/{name}" for name in PROPERTIES]
    finished = in_process(
        level, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-x", "-k", SELECTION, *tests
    )
    assert finished.returncode == 0, finished.stdout[-5000:]
    assert " passed" in finished.stdout


def answers() -> str:
    """Return the digest of all bits of a fixed workload's answers, in all modes, metrics and stored types."""
    kit = engine_kit()
    random = np.random.default_rng(99)
    texts = [" ".join(random.choice(WORDS + IDENTIFIERS, size=random.integers(0, 40))) for _ in range(700)]
    queries = [" ".join(random.choice(WORDS + IDENTIFIERS, size=random.integers(1, 12))) for _ in range(60)]
    home, digest = kit.Scope("acme", "jane"), hashlib.sha256()
    homes = [kit.Scope("acme"), home]
    for dim in (3, 16, 100, 257):
        for metric in ("cosine", "ip", "l2"):
            for dtype in ("f16", "f32", "i8"):
                engine = kit.Engine(dim, metric, dtype=dtype)
                rows = random.normal(size=(len(texts), dim)).astype(np.float32)
                ids = [number // 2 for number in range(len(texts))]
                engine.upsert_many(
                    ids, texts, scope=[homes[number % 2] for number in range(len(texts))], vectors=rows
                )
                for query in queries:
                    vector = random.normal(size=dim)
                    for result in (
                        engine.search(query, scope=home, k=50),
                        engine.search(vector=vector, scope=home, k=50),
                        engine.search(query, vector=vector, scope=home, k=50),
                    ):
                        digest.update(repr(judge.keys(result)).encode())
                        digest.update(result.scores.tobytes())
    many_wide_vectors(kit, digest)
    return digest.hexdigest()


def many_wide_vectors(kit: Kit, digest: hashlib._Hash) -> None:
    """Add answers for which signs select the candidates, and the amount of work."""
    random, home, n, dim = np.random.default_rng(98), kit.Scope("acme"), 2_700, 400
    centres = random.normal(size=(100, dim))
    for metric in ("cosine", "ip", "l2"):
        engine = kit.Engine(dim, metric)
        rows = centres[random.integers(100, size=n)] + 0.7 * random.normal(size=(n, dim))
        engine.upsert_many(list(range(n)), [""] * n, scope=home, vectors=rows.astype(np.float32))
        for row in rows[::90]:
            result = engine.search(vector=row + 0.4 * random.normal(size=dim), scope=home, k=10)
            digest.update(repr((judge.keys(result), result.vector_work)).encode())
            digest.update(result.scores.tobytes())


def test_all_levels_give_the_same_bits(kit: Kit) -> None:
    """Invariant 8 of the design: the same result on every CPU."""
    require(kit, "baseline")
    code = "from tests.properties.test_simd_levels import answers; print(answers())"
    digests = {}
    for level in LEVELS:
        if refusal(level) is None:
            finished = in_process(level, "-c", code)
            assert finished.returncode == 0, finished.stderr[-2000:]
            digests[level] = finished.stdout.split()[-1]
    assert len(set(digests.values())) == 1, digests

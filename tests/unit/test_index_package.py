"""The package around the index: import, version, configuration, analysis, stemmers."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scrubjay
from scrubjay import Index, Record, Scope

ACME = Scope("acme")


def test_without_the_native_part_the_import_says_what_to_run(tmp_path: Path) -> None:
    source = Path(scrubjay.__file__).parent
    shutil.copytree(
        source, tmp_path / "scrubjay", ignore=shutil.ignore_patterns("_native*.so", "__pycache__")
    )
    # -S and -I exclude installed import hooks and the installed package
    paths = [str(tmp_path), *(path for path in sys.path if path.endswith("site-packages"))]
    code = f"import sys; sys.path[:0] = {paths!r}\nimport scrubjay"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: scrubjay's native part cannot be imported")
    assert "pip install ." in last


def test_an_import_that_is_interrupted_says_nothing_of_installing(tmp_path: Path) -> None:
    (tmp_path / "numpy").mkdir()
    (tmp_path / "numpy" / "__init__.py").write_text("raise KeyboardInterrupt")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nimport scrubjay"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip().splitlines()[-1] == "KeyboardInterrupt", done.stderr


def test_the_version_is_that_of_the_installed_package() -> None:
    try:
        installed = version("scrubjay")
    except PackageNotFoundError:
        pytest.skip("scrubjay is imported from a source tree, not installed")
    assert scrubjay.__version__ == installed


def test_show_config_prints_what_it_returns(capsys: pytest.CaptureFixture[str]) -> None:
    config = scrubjay.show_config(as_dict=True)
    assert {"version", "compiler", "simd_levels", "simd_active", "analyzer", "python", "numpy"} <= set(config)
    scrubjay.show_config()
    out = capsys.readouterr().out
    assert len(out.splitlines()) == len(config)
    assert config["compiler"] in out
    assert "simd active" in out


def test_every_name_of_the_package_is_there() -> None:
    for name in scrubjay.__all__:
        assert getattr(scrubjay, name) is not None
    for name in scrubjay.embedders.__all__:
        assert getattr(scrubjay.embedders, name) is not None
    with pytest.raises(AttributeError):
        _ = scrubjay.embedders.Word2Vec  # type: ignore[attr-defined]


def test_analyze_shows_the_terms_of_an_identifier() -> None:
    assert [term for term, _ in scrubjay.analyze("sk-stg-0041")] == [
        "sk-stg-0041",
        "sk",
        "stg",
        "0041",
        "skstg0041",
    ]
    with pytest.raises(ValueError, match="analyzer"):
        scrubjay.analyze("text", "klingon")


def test_another_language() -> None:
    index = Index(analyzer="german")
    index.upsert_many([Record(1, "Die Häuser am See", ACME), Record(2, "Der Wald", ACME)])
    assert list(index.search("Haus", scope=ACME).ids) == [1]
    assert list(index.search("Seen Häusern", scope=ACME).ids) == [1]
    assert index.search("Häusern", scope=ACME)[0].highlights() == [(4, 10)]


@pytest.mark.parametrize("name", ["german", "own"])
def test_a_stemmer_of_the_callers_goes_before_that_of_a_language(name: str) -> None:
    index = Index(analyzer=name, stemmer=lambda word: word[:4])
    index.upsert("m1", "Wandern", scope=ACME)
    assert list(index.search("Wand", scope=ACME).ids) == ["m1"]


def test_a_language_needs_no_stemmer(tmp_path: Path) -> None:
    for index in (Index(analyzer="german"), Index.open(tmp_path / "de.db", analyzer="german")):
        index.upsert("m1", "Sie mag lange Wanderungen.", scope=Scope("acme"))
        assert list(index.search("Wanderung", scope=Scope("acme")).ids) == ["m1"]
        index.close()
    with Index.open(tmp_path / "de.db") as again:
        assert list(again.search("Wanderungen", scope=Scope("acme")).ids) == ["m1"]
    wrong: Any
    for name, wrong in (("analyzer", 3), ("analyzer", None), ("k1", "a"), ("b", [1])):
        with pytest.raises(TypeError, match=f"^{name}: expected a"):
            Index(**{name: wrong})
    assert Index(k1=np.float32(1.0), b=np.float64(0.5)) is not None
    with pytest.raises(ValueError, match="klingon"):
        Index(analyzer="klingon")


def test_a_language_is_stemmed_in_many_threads() -> None:
    """Threads share no mutable state of a stemmer: each analyses on its own, and all get the same results."""
    words = ["wanderungen", "häuser", "bücherschränken", "freundlichkeiten"] * 50
    expected = [term for term, _ in scrubjay.analyze(" ".join(words), "german")]
    wrong: list[int] = []

    def work(thread: int) -> None:
        for _ in range(20):
            if [term for term, _ in scrubjay.analyze(" ".join(words), "german")] != expected:
                wrong.append(thread)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_languages_are_those_of_the_documentation() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "embedders.md").read_text(encoding="utf-8")
    listed = text.partition("languages are ")[2].partition(" are older stemmers")[0]
    named = set(re.findall(r"[a-z_]+", listed)) - {"and"}
    assert named == set(scrubjay.languages())
    for language in scrubjay.languages():
        assert scrubjay.analyze("word", language)


def test_an_index_may_be_used_from_many_threads() -> None:
    index = Index(scrubjay.embedders.default())
    failures: list[BaseException] = []

    def write(thread: int) -> None:
        for i in range(50):
            index.upsert(f"{thread}/{i}", f"memory {i} of thread {thread}", scope=ACME)

    def read() -> None:
        for i in range(200):
            for hit in index.search(f"memory {i % 20}", scope=ACME, k=3):
                assert hit.text.startswith("memory")

    def guarded(work: object, *arguments: int) -> None:
        try:
            work(*arguments)  # type: ignore[operator]
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(write, i)) for i in range(2)]
    threads += [threading.Thread(target=guarded, args=(read,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(index) == 100

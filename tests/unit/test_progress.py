"""The progress of long calls: a bar with tqdm, a line without, nothing without a terminal."""

from __future__ import annotations

import io
import subprocess
import sys
from typing import Any

import pytest

from scrubjay.base import progress
from scrubjay.base.progress import open_progress


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A test clock, and no tqdm."""
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    monkeypatch.setitem(sys.modules, "tqdm", None)
    return clock


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_without_tqdm_a_line_is_rewritten_after_a_second(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    bar = open_progress(None, total=200, what="embedding", unit="texts")
    clock.now += 0.9
    bar.update(50)
    assert terminal.getvalue() == ""
    clock.now += 0.1
    bar.update(50)
    bar.update(1)  # too soon after the last one
    assert terminal.getvalue() == "\rembedding: 50% of 200 texts, 100 a second, 1 s left"
    bar.close()
    assert terminal.getvalue().endswith("\r" + " " * 51 + "\r")


def test_an_unknown_total_is_counted(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    bar = open_progress(True, total=None, what="adding", unit="memories")
    clock.now += 2
    bar.update(1000)
    assert terminal.getvalue() == "\radding: 1,000 memories, 500 a second"


def test_a_terminal_that_is_gone_stops_nothing(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(Terminal):
        def write(self, text: str) -> int:
            raise OSError("gone")

    monkeypatch.setattr(sys, "stderr", Gone())
    bar = open_progress(None, total=10, what="x", unit="y")
    clock.now += 5
    bar.update(5)
    bar.close()


@pytest.mark.parametrize(("wanted", "total"), [(None, 10), (False, 10), (True, 0)])
def test_no_progress_bar_without_a_terminal(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, wanted: bool | None, total: int
) -> None:
    monkeypatch.setattr(sys, "stderr", stream := io.StringIO() if wanted is None else Terminal())
    bar = open_progress(wanted, total=total, what="x", unit="y")
    clock.now += 5
    bar.update(5)
    bar.close()
    assert stream.getvalue() == ""


@pytest.mark.usefixtures("temporary_folder")
def test_scrubjay_works_without_optional_packages() -> None:
    """An index, a memory and a search import nothing but NumPy."""
    program = """
import builtins, tempfile
real = builtins.__import__
def only(name, *rest):
    if name.partition(".")[0] in ("tqdm", "wordllama", "pandas", "pyarrow", "pypdf", "docx", "fastapi", "cryptography"):
        raise ImportError(name)
    return real(name, *rest)
builtins.__import__ = only
import scrubjay
folder = tempfile.mkdtemp()
jane = scrubjay.Scope("acme", user="jane")
with scrubjay.Index.open(folder + "/m") as index:
    index.upsert_many([{"id": 1, "text": "oak"}], scope=jane, progress=True)
    assert len(index.search("oak", scope=jane)) == 1
    index.admin.check(progress=True)
with scrubjay.Memory.open(folder + "/m") as memory:
    memory.prefer("tone", "Briefly.", scope=jane)
assert scrubjay.Index().search("x", scope=jane).mode
try:
    import importlib.util
    importlib.util.find_spec = lambda name, package=None: None
    import scrubjay.embedders.wordllama as module
    module.find_spec = importlib.util.find_spec
    scrubjay.embedders.WordLlama()
except scrubjay.MissingExtraError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert 'pip install "scrubjay[wordllama]"' in done.stdout


def test_with_tqdm_it_is_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tqdm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    bar: Any = open_progress(None, total=3, what="x", unit="y")
    assert type(bar).__name__ == "tqdm" and bar.total == 3
    bar.close()

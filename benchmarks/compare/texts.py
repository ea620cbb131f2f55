"""Real texts of this machine, as passages of the length of a memory.

A passage is a run of whole sentences of one package description, up to 40 words. Long descriptions come from the
translations of the package lists if a machine has them (`--fetch-descriptions` downloads them into the cache);
otherwise the one-line descriptions are used, which have about 6 words: `Source.kind` says which, and results are
comparable only between equal kinds. Everything is cached outside the repository and never committed.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.corpus import Corpus, descriptions

MAX_WORDS = 40
MIN_WORDS = 8
MIN_PASSAGES = 5_000
FORMAT = 2
"""Part of every cache name: increment it when the same source gives other passages."""

DOCUMENTATION = Path("/usr/share/doc")
CHANGELOG_WORDS = (10, 60)
APT_LISTS = Path("/var/lib/apt/lists")
APT_READER = Path("/usr/lib/apt/apt-helper")


@dataclass(frozen=True)
class Source:
    """Distinct passages in a fixed order, and their origin."""

    kind: str
    passages: tuple[str, ...]

    @property
    def fingerprint(self) -> str:
        """A hash of all passages; part of every cache name."""
        return hashlib.sha256("\n".join((self.kind, *self.passages)).encode()).hexdigest()[:16]


def cache_folder() -> Path:
    """Return $SCRUBJAY_BENCHMARK_CACHE, or a folder of the user's cache; created if absent."""
    given = os.environ.get("SCRUBJAY_BENCHMARK_CACHE")
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = Path(given) if given else base / "scrubjay-benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def fetch_descriptions() -> None:
    """Download the lists with long descriptions into the cache, beside the system's own (needs apt-get and network)."""
    lists = cache_folder() / "lists"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    command = ["apt-get", "update", "-q", "-o", "Acquire::Languages=en", "-o", f"Dir::State::lists={lists}"]
    command += ["-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache=", "-o", "Debug::NoLocking=1"]
    subprocess.run(command, check=True)


def source(*, use_system: bool = True) -> Source:
    """Return the passages of this machine, or of the built-in vocabulary if it has none."""
    if use_system:
        cached = cache_folder() / f"passages-{FORMAT}.txt"
        if cached.is_file():
            kind, *passages = cached.read_text(encoding="utf-8").splitlines()
            return Source(kind, tuple(passages))
        for kind, found in (
            ("long package descriptions", long_descriptions()),
            ("one-line package descriptions", descriptions()),
        ):
            distinct = tuple(dict.fromkeys(passage for one in found for passage in passages_of(one)))
            if len(distinct) >= MIN_PASSAGES:
                cached.write_text("\n".join((kind, *distinct)) + "\n", encoding="utf-8")
                return Source(kind, distinct)
    corpus = Corpus(seed=0, use_system=False)
    return Source(corpus.source, tuple(dict.fromkeys(corpus.texts(20_000))))


def changelogs() -> Source:
    """Return the entries of the changelogs of a Debian machine: short, with names of files and functions."""
    cached = cache_folder() / f"changelogs-{FORMAT}.txt"
    if cached.is_file():
        return Source("changelogs", tuple(cached.read_text(encoding="utf-8").splitlines()))
    found: dict[str, None] = {}
    for file in sorted(DOCUMENTATION.glob("*/changelog*.gz")):
        try:
            text = gzip.decompress(file.read_bytes()).decode("utf-8", errors="replace")
        except (OSError, EOFError, gzip.BadGzipFile):
            continue
        found.update(dict.fromkeys(entries_of(text)))
    cached.write_text("".join(entry + "\n" for entry in found), encoding="utf-8")
    return Source("changelogs", tuple(found))


def entries_of(changelog: str) -> Iterator[str]:
    """Yield the list items of a changelog with CHANGELOG_WORDS, each on one line."""
    for block in re.split(r"\n\s*\n|^(?=\s{0,4}[*+-] )", changelog, flags=re.MULTILINE):
        if item := re.match(r"\s{0,4}[*+-] (.*)", block, re.DOTALL):
            words = item[1].split()
            if CHANGELOG_WORDS[0] <= len(words) <= CHANGELOG_WORDS[1]:
                yield " ".join(words)


def judged(name: str) -> Source:
    """Return the texts of a judged set below $SCRUBJAY_DATA."""
    folder = Path(os.environ["SCRUBJAY_DATA"]) / name
    with (folder / "corpus.jsonl").open(encoding="utf-8") as lines:
        texts = (" ".join(json.loads(line)["text"].split()) for line in lines)
        return Source(name, tuple(dict.fromkeys(text for text in texts if text)))


def long_descriptions() -> Iterator[str]:
    """Yield synopsis and body of each package, from the translation lists of the cache or the system."""
    for folder in (cache_folder() / "lists", APT_LISTS):
        files = sorted(folder.glob("*_Translation-en*")) if folder.is_dir() else []
        for file in files:
            for match in re.finditer(r"^Description-en: (.*\n(?: .*\n)*)", read_list(file), re.MULTILINE):
                yield "\n".join("" if line.strip() == "." else line.strip() for line in match[1].splitlines())
        if files:
            return


def read_list(file: Path) -> str:
    """Return the content of a package list, decompressed."""
    if APT_READER.is_file():
        command = [str(APT_READER), "cat-file", str(file)]
    elif file.suffix in {".lz4", ".xz", ".gz", ".zst"} and shutil.which(file.suffix[1:]):
        command = [file.suffix[1:], "-dc", str(file)]
    else:
        return file.read_text(encoding="utf-8", errors="replace") if file.suffix == "" else ""
    return subprocess.run(command, capture_output=True, check=True, encoding="utf-8", errors="replace").stdout


def passages_of(description: str) -> Iterator[str]:
    """Yield whole sentences packed into passages of at most 40 words; a longer sentence is cut."""
    words: list[str] = []
    for sentence in sentences_of(description):
        if words and len(words) + len(sentence) > MAX_WORDS:
            yield from long_enough(words)
            words = []
        words = words + sentence
        while len(words) > MAX_WORDS:
            yield " ".join(words[:MAX_WORDS])
            words = words[MAX_WORDS:]
    yield from long_enough(words)


def long_enough(words: list[str]) -> Iterable[str]:
    return (" ".join(words),) if len(words) >= MIN_WORDS else ()


def sentences_of(description: str) -> Iterator[list[str]]:
    """Yield the sentences of a description; its first line, a paragraph or a list item ends one as well."""
    first, _, body = description.partition("\n")
    parts = [first, *re.split(r"\n\n|\n(?=[*+-] )", body)]
    for part in parts:
        for sentence in re.split(r"(?<=[.!?;:])\s+", part):
            words = sentence.split()
            if words:
                yield words

"""Judged sets from texts that every Debian machine has, so that no constant was tuned on them.

Each is a known-item search: the summary of a text finds the text, which does not contain the summary.

- `manual pages`: the line under NAME finds the first section after the synopsis
- `manual pages, languages`: the same in other languages, one scope for each
- `packages`: the synopsis of an installed package finds its description; if apt has files of translated descriptions,
  those of each language, one scope for each
- `changes`: a bug, a CVE or a version finds its entries in the changelogs of Debian; identifiers
- `docstrings`: the first paragraph of a docstring of the standard library finds the rest

Texts are drawn with a fixed seed; a machine with other packages has other texts.
"""

from __future__ import annotations

import ast
import gzip
import random
import re
import sysconfig
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

MOST_DOCUMENTS, MOST_QUESTIONS = 1500, 400
MOST_OF_LANGUAGE, MOST_QUESTIONS_OF_LANGUAGE = 160, 50
LEAST_OF_LANGUAGE = 20
MOST_CHARACTERS = 1200
LEAST_CHARACTERS = 80
WHOLE = "all"


class Document(NamedTuple):
    id: str
    text: str
    scope: str = WHOLE


class Question(NamedTuple):
    text: str
    relevant: frozenset[str]
    scope: str = WHOLE


class MachineSet(NamedTuple):
    name: str
    documents: list[Document]
    questions: list[Question]


class Pair(NamedTuple):
    """A summary and its text."""

    summary: str
    text: str


def machine_sets(root: Path = Path("/"), library: Path | None = None) -> Iterator[MachineSet]:
    """Yield the sets whose texts exist below `root`; `library`: a folder in place of the standard library."""
    manual = root / "usr/share/man"
    changelogs = sorted((root / "usr/share/doc").glob("*/changelog.Debian.gz"))
    modules = sorted((library or Path(sysconfig.get_paths()["stdlib"])).rglob("*.py"))
    made: list[Callable[[], MachineSet]] = [
        lambda: of_pairs("manual pages", {WHOLE: manual_pages(manual)}),
        lambda: of_pairs("manual pages, languages", {
            folder.name: manual_pages(folder) for folder in sorted(manual.glob("*"))
            if not folder.name.startswith("man") and (folder / "man1").is_dir()
        }),
        lambda: of_pairs("packages", packages(root)),
        lambda: changes(changelogs),
        lambda: of_pairs("docstrings", {WHOLE: docstrings(modules)}),
    ]  # fmt: skip
    for make in made:
        found = make()
        if found.questions:
            yield found


def of_pairs(name: str, scopes: dict[str, Iterable[Pair]]) -> MachineSet:
    """Use texts as documents and summaries as questions; take fewer for each of several scopes, and skip small ones."""
    chance = random.Random(name)
    many = len(scopes) > 1
    most = (MOST_OF_LANGUAGE, MOST_QUESTIONS_OF_LANGUAGE) if many else (MOST_DOCUMENTS, MOST_QUESTIONS)
    documents, questions = [], []
    for scope, given in scopes.items():
        pairs = list({pair.text: pair for pair in {pair.summary: pair for pair in given}.values()}.values())
        if len(pairs) < LEAST_OF_LANGUAGE:
            continue
        chance.shuffle(pairs)
        for number, pair in enumerate(pairs[: most[0]]):
            id = f"{scope} {number}"
            documents.append(Document(id, pair.text[:MOST_CHARACTERS], scope))
            if number < most[1]:
                questions.append(Question(pair.summary, frozenset([id]), scope))
    return MachineSet(name, documents, questions)


def manual_pages(folder: Path) -> Iterator[Pair]:
    """Yield pairs of the sections 1, 5, 7 and 8 of one language."""
    for section in "1578":
        for path in sorted((folder / f"man{section}").glob("*.gz")):
            if path.is_symlink():
                continue
            with gzip.open(path, "rt", encoding="utf-8", errors="replace") as file:
                pair = manual_page(file.read())
            if pair is not None:
                yield pair


def manual_page(source: str) -> Pair | None:
    """Return the summary, and the text of the first section after name and synopsis, or None."""
    sections = [[_plain(line) for line in part.split("\n")] for part in re.split(r"\n\.S[Hh]\b", source)[1:]]
    if len(sections) < 3:
        return None
    name, *others = (" ".join(" ".join(filter(None, section[1:])).split()) for section in sections)
    summary = re.match(r".{1,80}?\s+[-\u2013\u2014]+\s+(.+)", name)
    text = next((text for text in others[1:] if len(text) >= LEAST_CHARACTERS), None)
    if summary is None or text is None or len(summary[1]) < 5:
        return None
    return Pair(summary[1][:200], text)


_WORDS = {"B", "I", "BR", "IR", "RB", "RI", "BI", "IB", "SM", "Nm", "Nd", "Ar", "Fl", "Pa", "Xr", "Em", "Sy"}
"""Requests that are followed by words."""
_ESCAPES = [(r"\\f(?:\[\w*\]|\(..|.)", ""), (r"\\[&|^%]", ""), (r"\\\(aq", "'"), (r"\\-", "-"), (r"\\\(..", " "),
            (r"\\\[[^]]*\]", ""), (r"\\s[-+]?\d", ""), (r"\\ ", " ")]  # fmt: skip


def _plain(line: str) -> str:
    """Return the words of a line of troff."""
    if line.startswith((".", "'")):
        request, _, words = line[1:].strip().partition(" ")
        if request not in _WORDS:
            return ""
        line = ("- " if request == "Nd" else "") + words.replace('"', "")
    for pattern, plain in _ESCAPES:
        line = re.sub(pattern, plain, line)
    return line


def packages(root: Path) -> dict[str, Iterable[Pair]]:
    """Return pairs of installed packages, or, if apt has translated descriptions, those of each language."""
    lists = sorted((root / "var/lib/apt/lists").glob("*_Translation-*"))
    of_language = {re.sub(".*Translation-", "", path.name): path for path in lists}
    # Skip compressed files.
    translated = {name: path for name, path in of_language.items() if re.fullmatch(r"\w+", name)}
    if translated:
        return {language: descriptions(path) for language, path in translated.items()}
    return {WHOLE: descriptions(root / "var/lib/dpkg/status")}


def descriptions(path: Path) -> Iterator[Pair]:
    """Yield synopsis and description of each stanza of Debian's control format."""
    if not path.is_file():
        return
    stanzas = path.read_text(encoding="utf-8", errors="replace").split("\n\n")
    for stanza in stanzas:
        found = re.search(r"^Description(?:-\w+)?: (.+)\n((?: .*(?:\n|$))+)", stanza, re.MULTILINE)
        if found is None:
            continue
        text = " ".join(line for line in found[2].split() if line != ".")
        if len(text) >= LEAST_CHARACTERS:
            yield Pair(found[1].strip(), text)


def changes(paths: Sequence[Path]) -> MachineSet:
    """Return entries of changelogs, at most 40 of each, with questions for what they name."""
    chance = random.Random("changes")
    documents: list[Document] = []
    named: dict[str, set[str]] = {}
    forms = {
        "bug": "which change closed bug #{}?",
        "cve": "when did we fix {}?",
        "version": "what changed in {}?",
    }
    for path in chance.sample(paths, min(len(paths), 100)):
        with gzip.open(path, "rt", encoding="utf-8", errors="replace") as file:
            entries = list(changelog_entries(file.read()))
        for package, version, text in entries[:40]:
            id = str(len(documents))
            documents.append(Document(id, f"{package} {version}: {text}"[:MOST_CHARACTERS]))
            shown = documents[-1].text
            for kind, names in (
                ("bug", re.findall(r"#(\d{5,7})\b", shown)),
                ("cve", re.findall(r"CVE-\d{4}-\d+", shown)),
                ("version", [f"{package} {version}"]),
            ):
                for one in names:
                    named.setdefault(forms[kind].format(one), set()).add(id)
    asked = sorted((text, frozenset(ids)) for text, ids in named.items() if len(ids) <= 4)
    chosen = chance.sample(asked, min(len(asked), MOST_QUESTIONS))
    return MachineSet("changes", documents, [Question(text, ids) for text, ids in chosen])


def changelog_entries(source: str) -> Iterator[tuple[str, str, str]]:
    """Yield package, version and text of each entry of at least 25 characters."""
    for release in re.finditer(r"^(\S+) \((\S+)\) .*\n((?:(?:  .*)?\n)+?) -- ", source, re.MULTILINE):
        for entry in re.split(r"\n  \* ", "\n" + release[3].strip("\n"))[1:]:
            text = " ".join(entry.split())
            if len(text) >= 25:
                yield release[1], release[2], text


def docstrings(paths: Iterable[Path]) -> Iterator[Pair]:
    """Yield first paragraph and rest of docstrings of functions and classes, without tests."""
    for path in paths:
        if {"test", "tests", "site-packages", "idlelib"} & set(path.parts):
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                continue
            summary, _, rest = (ast.get_docstring(node) or "").partition("\n\n")
            text = " ".join(rest.split())
            if len(summary.split()) >= 4 and len(text) >= LEAST_CHARACTERS:
                yield Pair(" ".join(summary.split())[:200], text)

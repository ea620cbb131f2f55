"""The lines for the teacher: short ones and passages, shuffled, each with its source.

    python -m benchmarks.embedder.texts FOLDER

Writes `FOLDER/lines.jsonl` (`source`, `text`) and `FOLDER/translations.jsonl` (`language`, `text`, `english`). The same
downloads and seed give the same files.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.embedder import prose, translations, wordnet
from benchmarks.embedder.sources import CATALOGUES, DEBIAN, WHEELS, Source, fetch, wheel_of
from benchmarks.embedder.templates import Templates

SEED = 20_261
N_NOTES, N_QUESTIONS = 14_000, 9_000
COMMON_GLOSSES = 30_000
SCIENTIFIC = ("animal", "body", "plant", "process", "phenomenon", "state", "substance")
"""Categories of WordNet whose glosses are taken first: names of diseases, tissues, compounds, species."""


def build(folder: Path) -> dict[str, int]:
    """Write `lines.jsonl` and return the number of lines from each source."""
    choose = random.Random(SEED)
    chosen: list[tuple[str, str]] = []
    seen: set[str] = set()

    def take(source: str, texts: Iterator[str] | list[str], most: int) -> None:
        fresh = [text for text in dict.fromkeys(texts) if text not in seen]
        seen.update(fresh)
        if len(fresh) > most:
            fresh = choose.sample(fresh, most)
        chosen.extend((source, text) for text in fresh)

    words = wordnet.read(folder / "debian" / "wordnet-base")
    glosses = [(by, kind, f"{spoken}: {definition}") for by, kind, spoken, definition in words.glosses]
    common = sorted(glosses, key=lambda gloss: -gloss[0])[:COMMON_GLOSSES]
    take("wordnet-base", words.examples, 48_000)
    take("wordnet-base", [text for _, _, text in common], COMMON_GLOSSES)
    take("wordnet-base", [text for _, kind, text in glosses if kind in SCIENTIFIC], 22_000)
    templates = Templates(words.words, SEED)
    take("templates", [templates.note() for _ in range(N_NOTES)], N_NOTES)
    take("templates", [templates.question() for _ in range(N_QUESTIONS)], N_QUESTIONS)
    for source in DEBIAN[1:]:
        documents = list(_debian(folder / "debian" / source.package, source.package))
        _take_documents(take, source, documents)
    for source in WHEELS:
        wheel = wheel_of(folder, source)
        if wheel is None:
            raise FileNotFoundError(f"{source.requirement}: expected its wheel in {folder / 'wheels'}")
        _take_documents(take, source, list(_wheel(wheel)))
    choose.shuffle(chosen)
    counts: dict[str, int] = {}
    with (folder / "lines.jsonl").open("w", encoding="utf-8") as file:
        for name, text in chosen:
            counts[name] = counts.get(name, 0) + 1
            file.write(json.dumps({"source": name, "text": text}, ensure_ascii=False) + "\n")
    return counts


def build_translations(folder: Path) -> int:
    """Write `translations.jsonl` and return their number."""
    found = dict.fromkeys(
        pair
        for source in CATALOGUES
        if (wheel := wheel_of(folder, source)) is not None
        for pair in translations.pairs(wheel)
    )
    with (folder / "translations.jsonl").open("w", encoding="utf-8") as file:
        for language, text, english in found:
            row = {"language": language, "text": text, "english": english}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return len(found)


def _take_documents(take, source: Source, documents: list[list[str]]) -> None:  # type: ignore[no-untyped-def]
    take(source.package, [p for parts in documents for p in prose.passages(parts)], source.most_passages)
    take(
        source.package,
        [line for parts in documents for part in parts for line in prose.sentences(part)],
        source.most_lines,
    )


def _wheel(path: Path) -> Iterator[list[str]]:
    """Yield the paragraphs of each docstring, string or description of a wheel."""
    with zipfile.ZipFile(path) as archive:
        for name in sorted(archive.namelist()):
            if ".dist-info/" in name or "/tests/" in name or "/_vendor/" in name or "/externals/" in name:
                continue
            if name.endswith(".py"):
                for text in prose.python_texts(archive.read(name).decode("utf-8", "replace")):
                    yield list(prose.paragraphs(text))
            elif name.endswith(".rst"):
                yield list(prose.paragraphs(archive.read(name).decode("utf-8", "replace")))
            elif name.endswith("service-2.json.gz"):
                for text in _descriptions(json.loads(gzip.decompress(archive.read(name)))):
                    yield list(prose.html_paragraphs(text))
            elif name.endswith((".json", ".yaml")) and ("bioregistry" in name or "biolink" in name):
                text = archive.read(name).decode("utf-8", "replace")
                for description in re.findall(r'"?(?:description|definition)"?: *"?([^"\n]{40,})', text):
                    yield list(prose.paragraphs(description))


def _descriptions(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "documentation" and isinstance(inner, str):
                yield inner
            else:
                yield from _descriptions(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _descriptions(inner)


def _debian(folder: Path, package: str) -> Iterator[list[str]]:
    if package == "python3.11-doc":
        for path in sorted(folder.glob("usr/share/doc/python3.11/html/**/*.html")):
            if not any(word in path.name for word in ("genindex", "contents", "license", "copyright")):
                yield list(prose.html_paragraphs(path.read_text(encoding="utf-8", errors="replace")))
    else:
        data = gzip.decompress((folder / "usr/share/dictd/jargon.dict.dz").read_bytes()).decode("utf-8")
        for entry in re.split(r"\n(?=\S)", data):
            yield list(prose.paragraphs(entry))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.embedder.texts", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the downloads are and the lines are written")
    options = parser.parse_args(arguments)
    fetch(options.folder)
    counts = build(options.folder)
    for name, n in sorted(counts.items(), key=lambda item: -item[1]):
        print(f"{n:8,}  {name}")
    print(f"{sum(counts.values()):8,}  lines")
    print(f"{build_translations(options.folder):8,}  translations")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Machine texts are parsed into summaries and the texts they summarise, and the default is compared fairly."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.quality import known_items, machine_sets
from benchmarks.quality.acceptance import MOST_BELOW

PAGE = r""".TH JAY 1
.SH NAME
jay \- cache \fIacorns\fR for the winter
.SH SYNOPSIS
.B jay
[\-\-deep]
.SH DESCRIPTION
.\" a comment
.PP
The
.B jay
command buries what it is given, and writes down where it was buried and when, so that nothing is lost.
"""

STANZAS = """Package: jay
Status: install ok installed
Description: keeper of acorns
 This program remembers where every single acorn was buried,
 .
 and when it was, which is more than most people can say.

Package: empty
Description: nothing else
 Short.
"""

CHANGES = """jay (1.2-3) unstable; urgency=medium

  * Dig deeper holes, as the ground freezes.
    (Closes: #123456)
  * Fix CVE-2020-1234, an overflow of the cache.

 -- A Maintainer <a@example.org>  Thu, 25 May 2023 16:11:37 +0200
"""


MODULE = """def bury{n}(acorn):
    \"\"\"Put acorn number {n} under the ground.

    Raises an error if the ground is frozen to a depth of {n} fingers, and remembers the place in any case.
    \"\"\"
"""


def packed(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write(text)
    return path


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """Thirty manual pages, packages and changes that differ in a number."""
    for number in range(30):
        page = PAGE.replace("acorns", f"acorns number{number}").replace("lost", f"lost{number}")
        packed(tmp_path / f"usr/share/man/man1/jay{number}.1.gz", page)
        packed(tmp_path / f"usr/share/man/de/man1/jay{number}.1.gz", page)
        changes = CHANGES.replace("jay", f"jay{number}").replace("123456", f"{123456 + number}")
        packed(tmp_path / f"usr/share/doc/jay{number}/changelog.Debian.gz", changes)
    status = tmp_path / "var/lib/dpkg/status"
    status.parent.mkdir(parents=True)
    status.write_text(
        "\n".join(
            STANZAS.replace("acorns", f"acorns {n}").replace("acorn was", f"acorn{n} was") for n in range(30)
        )
    )
    library = tmp_path / "library"
    library.mkdir()
    (library / "jays.py").write_text("\n".join(MODULE.format(n=n) for n in range(30)))
    (library / "broken.py").write_text("def")
    return tmp_path


def test_a_manual_page_is_its_summary_and_its_first_section() -> None:
    pair = machine_sets.manual_page(PAGE)
    assert pair is not None
    assert pair.summary == "cache acorns for the winter"
    assert pair.text == (
        "The jay command buries what it is given, and writes down where it was buried and when, so that "
        "nothing is lost."
    )
    assert machine_sets.manual_page(".so man1/other.1") is None


def test_a_description_is_its_synopsis_and_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "status"
    path.write_text(STANZAS)
    assert list(machine_sets.descriptions(path)) == [
        (
            "keeper of acorns",
            "This program remembers where every single acorn was buried, and when it was, which is more than most "
            "people can say.",
        )
    ]
    path.write_text(STANZAS.replace("Description:", "Description-de:"))
    assert next(machine_sets.descriptions(path)).summary == "keeper of acorns"
    assert list(machine_sets.descriptions(tmp_path / "absent")) == []


def test_translated_descriptions_are_a_scope_each(machine: Path) -> None:
    lists = machine / "var/lib/apt/lists"
    lists.mkdir(parents=True)
    (lists / "host_main_i18n_Translation-de").write_text(STANZAS)
    (lists / "host_main_i18n_Translation-fr.xz").write_bytes(b"packed")
    assert list(machine_sets.packages(machine)) == ["de"]


def test_changelog_entries_are_queried_by_the_names_in_them() -> None:
    assert list(machine_sets.changelog_entries(CHANGES)) == [
        ("jay", "1.2-3", "Dig deeper holes, as the ground freezes. (Closes: #123456)"),
        ("jay", "1.2-3", "Fix CVE-2020-1234, an overflow of the cache."),
    ]


def test_every_question_has_its_text_in_its_scope(machine: Path) -> None:
    sets = {judged.name: judged for judged in machine_sets.machine_sets(machine, machine / "library")}
    assert set(sets) == {"manual pages", "manual pages, languages", "packages", "changes", "docstrings"}
    for judged in sets.values():
        scope_of = {document.id: document.scope for document in judged.documents}
        assert len(scope_of) == len(judged.documents) <= 4000
        for question in judged.questions:
            assert question.relevant and {scope_of[id] for id in question.relevant} == {question.scope}
    assert {document.scope for document in sets["manual pages, languages"].documents} == {"de"}
    assert sets["docstrings"].questions[0].text.startswith("Put acorn number ")
    asked = {question.text: question.relevant for question in sets["changes"].questions}
    (bug,) = asked["which change closed bug #123460?"]
    texts = {document.id: document.text for document in sets["changes"].documents}
    assert texts[bug].startswith("jay4 1.2-3: Dig deeper holes")
    assert len(asked["what changed in jay4 1.2-3?"]) == 2
    again = {judged.name: judged for judged in machine_sets.machine_sets(machine, machine / "library")}
    assert again == sets


def test_a_gap_is_distinguished_from_noise() -> None:
    rng = np.random.default_rng(1)
    figures = {name: np.full((200, 3), 0.5) for name in ("default", "BM25", "RRF(60)")}
    noise = rng.normal(0, 0.3, (200, 1))
    figures["BM25"][:, :1] += 0.02 + noise - noise.mean()  # better, but within chance
    figures["RRF(60)"][:, 1:] += 0.1
    found = known_items.compared(figures)
    assert list(found) == list(MOST_BELOW)
    assert found["ndcg@10"]["held to"] == "BM25" and not found["ndcg@10"]["below"]
    assert found["ndcg@10"]["by"] == pytest.approx(-0.02)
    low, high = found["ndcg@10"]["interval"]
    assert low < -0.02 < high
    for figure in ("recall@10", "recall@100"):
        assert found[figure]["held to"] == "RRF(60)" and found[figure]["below"]
    figures["default"][:, 1:] += 0.1
    assert not any(each["below"] for each in known_items.compared(figures).values())


def test_one_command_compares_every_set(
    machine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Letters:
        def embed_documents(self, texts: list[str]) -> Any:
            return np.array([[text.count(letter) for letter in "abcdefgh"] for text in texts], np.float32)

        embed_queries = embed_documents

    monkeypatch.setattr(known_items, "chosen_embedders", lambda transformer: {"letters": Letters()})
    found = list(machine_sets.machine_sets(machine, machine / "library"))
    monkeypatch.setattr(known_items, "machine_sets", lambda root: iter(found))
    written = tmp_path / "known.json"
    assert known_items.main(["--root", str(machine), "--json", str(written)]) == 0
    report = json.loads(written.read_text())
    assert set(report) == {f"{judged.name}, letters" for judged in found}
    for pair in report.values():
        assert set(pair["means"]) == set(known_items.searches())
        assert set(pair["compared"]) == set(MOST_BELOW)
        held_to = pair["compared"]["ndcg@10"]["held to"]
        by = pair["means"]["default"][0] - pair["means"][held_to][0]
        assert pair["compared"]["ndcg@10"]["by"] == pytest.approx(by)
        best = max(means[0] for name, means in pair["means"].items() if name != "default")
        assert pair["means"][held_to][0] == best
    assert report["changes, letters"]["means"]["default"][1] == 1.0
    assert "mean of all pairs" in capsys.readouterr().out

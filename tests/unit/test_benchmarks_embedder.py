"""The recipe of the static embedder: its texts, its training, its test."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from benchmarks.embedder import evaluate, prose, sources, teacher, templates, train
from benchmarks.embedder.sources import TEACHER_FOLDER

from scrubjay import StaticEmbedder
from scrubjay.embedders import Static
from tests.reference import word_piece

CLEAN = re.compile(r"MIT|BSD|Apache|Python Software Foundation|CC0|WordNet|Biopython|public domain")


def test_every_source_has_a_clean_licence() -> None:
    for source in (*sources.WHEELS, *sources.CATALOGUES, *sources.DEBIAN):
        assert CLEAN.search(source.licence), source
        assert not re.search(r"GPL|NC|SA", source.licence), source


def test_markup_is_taken_off() -> None:
    text = """
    Return the :func:`numpy.mean` of ``values``, see `the manual <manual.html>`_.

    >>> mean([1])
    1

    Parameters
    ----------
    :param values: nothing of this is kept, since it is a field.
    """
    (paragraph, *rest) = prose.paragraphs(text)
    assert paragraph == "Return the numpy.mean of values, see the manual."
    assert rest == []


def test_passages_are_as_long_as_said_and_lose_no_order() -> None:
    parts = [
        f"This is sentence number {number} of a long text. It goes on for a while." for number in range(60)
    ]
    found = list(prose.passages(parts))
    assert found and all(prose.PASSAGE_SHORTEST <= len(one) <= prose.PASSAGE_LONGEST for one in found)
    numbers = [int(number) for number in re.findall(r"number (\d+)", " ".join(found))]
    assert numbers == sorted(numbers)


def test_templates_are_filled_and_repeat_with_their_seed() -> None:
    kinds = set(re.findall(r"\{(\w+)\}", " ".join((*templates.NOTES, *templates.QUESTIONS))))
    words = {kind: [f"{kind}{number}" for number in range(9)] for kind in kinds}
    first, second = (templates.Templates(words, 4) for _ in range(2))
    notes = [first.note() for _ in range(200)] + [first.question() for _ in range(200)]
    assert notes == [second.note() for _ in range(200)] + [second.question() for _ in range(200)]
    assert not any("{" in note for note in notes)


def test_training_brings_a_line_to_its_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train, "BATCH", 128)
    chance = np.random.default_rng(2)
    n_lines, n_tokens, dim = 3 * train.BATCH, 60, 16
    lengths = chance.integers(1, 6, n_lines)
    tokens = chance.integers(0, n_tokens, lengths.sum())
    lines = train.Lines(tokens, np.cumsum([0, *lengths]), np.arange(n_lines))
    truth = chance.normal(size=(n_tokens, dim)).astype(np.float32)
    of_line = np.repeat(np.arange(n_lines), lengths)
    targets = train.unit(train.summed(truth[tokens], of_line, n_lines))
    start = 0.05 * chance.normal(size=(n_tokens, dim)).astype(np.float32)
    rows = train.train(start, lines, targets, epochs=40)
    before, after = (
        (train.unit(train.summed(one[tokens], of_line, n_lines)) * targets).sum(axis=1).mean()
        for one in (start, rows)
    )
    assert before < 0.3 and after > 0.9


@pytest.mark.parametrize(("bits", "most"), [(4, 0.15), (8, 0.01)])
def test_a_row_is_near_its_whole_numbers(bits: int, most: float) -> None:
    rows = np.random.default_rng(1).normal(size=(50, 64)).astype(np.float32)
    rows[7] = 0
    numbers, factors = train.quantised(rows, bits)
    error = np.linalg.norm(numbers * factors[:, None] - rows, axis=1)
    assert (error <= most * np.linalg.norm(rows, axis=1) + 1e-9).all()
    data = train.written([f"t{number}" for number in range(50)], rows, bits)
    assert StaticEmbedder.read(data).dim == 64
    np.testing.assert_array_equal(word_piece.read(data).rows, numbers)


def test_a_loss_is_reported_only_beyond_chance() -> None:
    chance = np.random.default_rng(3)
    assert evaluate.p_value(np.zeros(9)) == 1.0
    assert evaluate.p_value(chance.normal(0, 1, 300)) > 0.05
    assert evaluate.p_value(chance.normal(-0.3, 1, 300)) < 0.01
    better, worse = np.full((80, 2), 0.9), np.full((80, 2), 0.5)
    low = {"vector": better, "default": worse}
    high = {"vector": worse, "default": better}
    assert evaluate.losses(evaluate.compared(low, high)) == ["nDCG@10", "recall@10"]
    assert evaluate.losses(evaluate.compared(high, low)) == []


def test_missing_judged_sets_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluate.main([str(tmp_path / "table"), "--data", str(tmp_path)]) == 2
    assert "no judged sets" in capsys.readouterr().err


def test_a_table_is_made_of_what_the_teacher_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A teacher that knows two subjects: a line is about one of them, and so is its translation."""
    monkeypatch.setattr(train, "BATCH", 64)
    monkeypatch.setattr(teacher, "SHARD_LINES", 200)
    chance = np.random.default_rng(6)
    subjects = {"tree": ["oak", "ash", "elm", "fir"], "bird": ["jay", "owl", "kite", "wren"]}
    translated = {"oak": "eiche", "ash": "esche", "jay": "häher", "owl": "eule"}
    plain = [word for words in subjects.values() for word in words]
    vocabulary = ["[PAD]", *plain, "eiche", "esche", "haher", "eule", "##s", "."]
    subject_vectors = chance.normal(size=(2, 384))

    def taught(text: str) -> list[float]:
        counts = [sum(text.count(word) for word in words) for words in subjects.values()]
        vector = np.array(counts) @ subject_vectors + 0.3 * chance.normal(size=384)
        return [*(vector / np.linalg.norm(vector))]

    (tmp_path / "teacher" / TEACHER_FOLDER).mkdir(parents=True)
    (tmp_path / "teacher" / TEACHER_FOLDER / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    texts = [" ".join(chance.choice(subjects[chance.choice([*subjects])], 3)) + "." for _ in range(500)]
    (tmp_path / "lines.jsonl").write_text(
        "".join(json.dumps({"source": "s", "text": one}) + "\n" for one in texts)
    )
    rows = [{"language": "de", "text": other, "english": word} for word, other in translated.items()]
    (tmp_path / "translations.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "vectors").mkdir()
    np.save(tmp_path / "vectors" / "pieces.npy", chance.normal(size=(len(vocabulary), 384)))
    np.save(tmp_path / "vectors" / "english.npy", [taught(word) for word in translated])
    for shard in (0, 2):  # the one in between does not exist yet
        part = texts[shard * 200 : (shard + 1) * 200]
        np.save(tmp_path / "vectors" / f"lines.{shard:05}.npy", [taught(one) for one in part])
    assert train.main([str(tmp_path), str(tmp_path / "table"), "--dim", "16", "--epochs", "30"]) == 0
    embedder = Static(tmp_path / "table")
    assert "[PAD]" not in word_piece.read((tmp_path / "table").read_bytes()).tokens
    oak, elm, owl, eule = embedder.embed_documents(["oak", "an elm", "owls", "Eule."])
    assert oak @ elm > oak @ owl + 0.3
    assert owl @ eule > oak @ eule + 0.3

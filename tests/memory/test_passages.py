"""Long records of a memory must be embedded in passages, whenever and by whatever they are embedded."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrubjay import Index, PassageVectors, Query, embedders
from scrubjay.memory import EpisodeCandidate, FactCandidate, Memory
from scrubjay.memory.model.content import MAX_CHARS
from tests.data.flaky import Flaky
from tests.memory.setting import JANE

MIDDLE = "If the nightly backups fail three times in a row, page Ada before touching the replica."
ASKED = "whom do we inform when saving our data goes wrong again and again?"


def upkeep(n_sentences: int) -> str:
    """Return a long text with one sentence about another subject in its middle."""
    said = [
        f"Section {i} is about the upkeep of pumps, valves and pipes in hall {i % 7}."
        for i in range(n_sentences)
    ]
    return " ".join([*said[: n_sentences // 2], MIDDLE, *said[n_sentences // 2 :]])


class Letters(Flaky):
    """Counts letters; embeds texts longer than 60 characters in passages, unless configured otherwise."""

    def __init__(self, name: str = "letters", passage_chars: int | None = 60) -> None:
        super().__init__(name, "abcde")
        self.passage_chars = passage_chars


pytestmark = pytest.mark.usefixtures("no_background_embedding")


@contextlib.contextmanager
def opened(embedder: Any) -> Iterator[Memory]:
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory.open(Path(folder) / "m.scrubjay", embedder, durability="normal") as memory,
    ):
        yield memory


def tell(memory: Memory, contents: list[str], summaries: list[str]) -> None:
    """Propose facts and episodes."""
    candidates = [
        *(FactCandidate(text, "Jane", f"said {place}") for place, text in enumerate(contents)),
        *(EpisodeCandidate(text, "success", f"task {place}") for place, text in enumerate(summaries)),
    ]
    for candidate in candidates:
        assert memory.propose(candidate, scope=JANE, source="r").status in ("written", "deduplicated")


def embeddings_by_text(memory: Memory) -> dict[str, Any]:
    """Return the embeddings of the documents by text: None, a vector, or vectors with the spans of their passages."""
    found = {}
    for record in memory.documents.scroll(scope=JANE, exact=True, vectors=True):
        assert not record.pending
        vector = record.vector
        if isinstance(vector, PassageVectors):
            found[record.text] = (vector.rows.tolist(), vector.spans.tolist())
        else:
            found[record.text] = None if vector is None else np.asarray(vector).tolist()
    return found


sentences = st.text("abcdexyz ", min_size=1, max_size=30).map(lambda text: f"{text.strip() or 'x'}. ")
passages = st.lists(sentences, min_size=1, max_size=12).map(lambda parts: "".join(parts).strip())


@given(st.lists(passages, max_size=3, unique=True), st.lists(passages, max_size=3, unique=True))
@settings(max_examples=15, deadline=None)
def test_written_backfilled_and_reembedded_records_have_the_same_vectors(
    contents: list[str], summaries: list[str]
) -> None:
    with opened(Letters()) as memory:
        tell(memory, contents, summaries)
        written = embeddings_by_text(memory)
    for text, vector in written.items():
        if vector is not None and len(text) > 200:
            assert isinstance(vector, tuple) and len(vector[1]) > 1
    away = Letters()
    with opened(away) as memory:
        away.is_up = False
        tell(memory, contents, summaries)
        away.is_up = True
        memory.documents.admin.backfill(progress=False)
        assert embeddings_by_text(memory) == written
    with opened(Letters("whole", passage_chars=None)) as memory:
        tell(memory, contents, summaries)
        memory.documents.admin.reembed(Letters(), progress=False)
        assert embeddings_by_text(memory) == written


def test_changed_confirmed_imported_and_reindexed_records_keep_their_passages(tmp_path: Path) -> None:
    long = "aaaa aaaa aaaa aaaa aaaa aaaa. bbbb bbbb bbbb bbbb bbbb bbbb. cccc cccc cccc cccc cccc cccc."
    with Memory.open(tmp_path / "m.scrubjay", Letters()) as memory:
        outcome = memory.propose(FactCandidate(long, "Jane", "wrote"), scope=JANE, source="r")
        (expected,) = embeddings_by_text(memory).values()
        assert [list(span) for span in expected[1]] == [[0, 30], [31, 61], [62, 92]]
        memory.propose(FactCandidate(long, "Jane", "wrote", confidence=1.0), scope=JANE, source="r2")
        assert embeddings_by_text(memory) == {long: expected}  # rewritten with the same vectors
        memory.update(str(outcome.id), scope=JANE, metadata={"n": 1})
        assert embeddings_by_text(memory) == {long: expected}
        memory.update(str(outcome.id), scope=JANE, content=f"dddd. {long}")
        both = embeddings_by_text(memory)  # including the version from before the edit
        assert set(both) == {long, f"dddd. {long}"} and both[long] == expected
        assert len(both[f"dddd. {long}"][1]) > 2
        memory.files.export(tmp_path / "all.jsonl", scope=JANE)
        with Memory.open(tmp_path / "other.scrubjay", Letters()) as other:
            other.files.import_(tmp_path / "all.jsonl", scope=JANE)
            assert embeddings_by_text(other) == both
            assert other.admin.check() == []


def test_a_sentence_amid_a_long_episode_and_note_is_recalled_by_meaning(tmp_path: Path) -> None:
    summary, note = upkeep(280), upkeep(540)
    assert len(note) > 36_000 and MAX_CHARS * 0.9 < len(summary) <= MAX_CHARS
    by_meaning = Query(mode="vector")
    with Index.open(tmp_path / "m.scrubjay", embedders.default()) as index, Memory(index) as memory:
        for number in range(20):
            text = f"Swept hall {number % 7} for the {number}th time, nothing else."
            memory.propose(EpisodeCandidate(text, "success"), scope=JANE, source=f"r{number}")
        outcome = memory.propose(EpisodeCandidate(summary, "success"), scope=JANE, source="r")
        for kinds, text in ((("episode",), summary), (("note",), note)):
            if text is note:
                index.upsert("manual", note, scope=JANE)
                for number in range(20):
                    index.upsert(f"n{number}", f"Hall {number} was swept.", scope=JANE)
            recalled = memory.recall(ASKED, JANE, kinds=kinds, query=by_meaning)
            assert recalled[0].text == text
            passage = recalled[0].passage
            assert passage is not None and passage == recalled[0].hit.passage
            assert MIDDLE in text[slice(*passage)] and passage[1] - passage[0] <= 700
            assert "page Ada" in recalled[0].snippet().text
            assert [one.passage for one in recalled[1:3]] == [None, None]  # embedded whole
        assert {hit.kind for hit in memory.recall(ASKED, JANE, query=by_meaning)[:2]} == {"episode", "note"}
        assert memory.recall(ASKED, JANE, kinds=("episode",), query=by_meaning)[0].id == outcome.id
